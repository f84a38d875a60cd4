"""``coef_init`` and ``intercept_init``: fit begins at weights that are given, in raw units."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.estimators._starting import begin_at

X, y = make_classification(
    400, 6, n_informative=4, n_redundant=0, class_sep=1.5, n_clusters_per_class=1, random_state=0
)
X = X * np.array([1.0, 100.0, 0.01, 1.0, 5.0, 1.0]) + np.array([0.0, 300.0, 0.0, 0.0, 0.0, 0.0])
BATCH = LogisticRegression(C=1e3, max_iter=10000).fit(X, y)
STRUCTURES = ("auto", "full", "block", "sketch", "diag", "iso")


def test_nothing_learnt_gives_the_batch_model_back():
    """A step size that moves nothing: published weights are those that were given."""
    for structure in ("full", "block", "sketch", "diag", "iso"):
        for scaling in ("online", None):
            model = AdaRegClassifier("adagrad", structure, eta=1e-12, scaling=scaling, max_iter=1, tol=None)
            if structure == "block":
                model.set_params(blocks=2)
            model.fit(X, y, coef_init=BATCH.coef_, intercept_init=BATCH.intercept_)
            assert np.allclose(model.coef_, BATCH.coef_, rtol=1e-6)
            assert np.allclose(model.intercept_, BATCH.intercept_, rtol=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_rows_are_predicted_by_the_batch_model_from_the_first_on(structure, convert):
    rows = convert(X[:40])
    make = lambda: AdaRegClassifier(  # noqa: E731
        structure=structure, max_iter=1, random_state=0, **({"blocks": 2} if structure == "block" else {})
    )
    begun = make().fit(rows, y[:40], coef_init=BATCH.coef_, intercept_init=BATCH.intercept_)
    anew = make().fit(rows, y[:40])
    assert begun.progressive_loss_ < anew.progressive_loss_
    loss = np.mean(np.logaddexp(0, -(2 * y - 1) * begun.decision_function(X)))
    floor = np.mean(np.logaddexp(0, -(2 * y - 1) * BATCH.decision_function(X)))
    other = np.mean(np.logaddexp(0, -(2 * y - 1) * anew.decision_function(X)))
    assert loss - floor < 0.7 * (other - floor)
    begun.partial_fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("labels", [2, 3])
def test_all_candidates_begin_there_and_their_prior_is_centred_there(labels, fit_intercept):
    """Nothing else is published before the first row, and a strong prior keeps the model near it."""
    rng = np.random.default_rng(0)
    shape = (1 if labels == 2 else labels, X.shape[1])
    coef, intercept = rng.normal(size=shape) / X.std(axis=0), rng.normal(size=len(range(shape[0])))
    target = np.arange(len(X)) % labels
    model = AdaRegClassifier(fit_intercept=fit_intercept, epsilon=1e9, max_iter=1)
    given = {"coef_init": coef} | ({"intercept_init": intercept} if fit_intercept else {})
    state = model.partial_fit(X[:1], target[:1], classes=np.arange(labels), sample_weight=[0.0])._state
    begin_at(state, X, coef, intercept)
    state.snapshot = None
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, intercept * fit_intercept, rtol=1e-12)
    model.fit(X, target, **given)
    arrays = model._state.blocks[0].arrays
    candidate = arrays["x"][0, : X.shape[1], : shape[0]].T
    np.testing.assert_allclose(candidate, coef, rtol=0.05)
    np.testing.assert_array_equal(arrays["origin"][0, :, : X.shape[1]], coef)


@pytest.mark.parametrize("structure", ["auto", "full", "diag", "sketch"])
def test_regression_and_several_targets(structure):
    weights = np.array([1.0, 0.02, 50.0, 0.0, -0.3, 0.5])
    targets = np.column_stack([X @ weights + 1e5, X @ weights[::-1] - 3.0])
    for target in (targets[:, 0], targets):
        batch = LinearRegression().fit(X, target)
        model = AdaRegRegressor(structure=structure, max_iter=1, random_state=0).fit(
            X[:30], target[:30], coef_init=batch.coef_, intercept_init=batch.intercept_
        )
        error = np.abs(model.predict(X[:30]) - target[:30]).max(axis=0)
        # after t rows other candidates have about 1/t of the weight
        most = 2 / 30 if model.method_ == "information" else 1e-3
        assert np.all(error < most * np.std(target, axis=0))


def test_many_dense_features_and_several_classes():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(300, 120))
    labels = np.argmax(wide[:, :3], axis=1)
    batch = LogisticRegression(max_iter=1000).fit(wide, labels)
    model = AdaRegClassifier(max_iter=1).fit(
        wide[:50], labels[:50], coef_init=batch.coef_, intercept_init=batch.intercept_
    )
    assert model.score(wide, labels) > 0.95


def test_warm_start_begins_anew():
    model = AdaRegClassifier(warm_start=True, max_iter=1).fit(X, y)
    model.fit(X, y, coef_init=BATCH.coef_)
    assert model.t_ == len(y)


def test_losses_prove_nothing_where_units_are_those_of_all_rows():
    assert AdaRegClassifier(max_iter=1).fit(X, y, coef_init=np.ones((1, 6))).risk_certificate().loss
    model = AdaRegClassifier(structure="diag", max_iter=1).fit(X, y, coef_init=BATCH.coef_)
    with pytest.raises(ValueError, match="coef_init takes the units of the features from all rows"):
        model.risk_certificate()


def test_refusals():
    model = AdaRegClassifier(max_iter=1)
    with pytest.raises(ValueError, match=r"coef_init has shape \(1, 3\)"):
        model.fit(X, y, coef_init=np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"intercept_init has shape \(2,\)"):
        model.fit(X, y, intercept_init=[1.0, 2.0])
    with pytest.raises(ValueError, match="coef_init has values that are NaN"):
        model.fit(X, y, coef_init=np.full((1, 6), np.nan))
    with pytest.raises(ValueError, match="has no place with fit_intercept=False"):
        AdaRegClassifier(fit_intercept=False).fit(X, y, intercept_init=[1.0])
    with pytest.raises(ValueError, match="have no effect with update='dual_averaging'"):
        AdaRegClassifier(update="dual_averaging").fit(X, y, coef_init=BATCH.coef_)
    with pytest.raises(ValueError, match="coef_init is outside of domain='l2'"):
        AdaRegClassifier(domain="l2", radius=0.1).fit(X, y, coef_init=np.ones((1, 6)))
