"""An L1 penalty gives zeros, and a default ``fit`` comes to the minimum of the penalised loss."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from reference.algorithm import LOSSES
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.estimators import _l1_finish
from sklearn_adareg.model import _auto, _registry

CURVED = [
    name
    for table in (_registry.CLASSIFICATION_LOSSES, _registry.REGRESSION_LOSSES)
    for name, entry in table.items()
    if entry.curved
]
UNITLESS = [name for name in CURVED if _registry.loss(name).degree == 0] + ["squared_error"]


def rows(d, n=400, informative=6, seed=0):
    """Features in units of their own, few of which matter, and their score."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d))
    X[rng.random(size=X.shape) < 0.3] = 0.0
    weights = np.zeros(d)
    weights[:informative] = rng.normal(size=informative) * 2
    score = X @ weights + 0.5
    return X, score + rng.normal(size=n) * score.std() / 3


def target(loss, score):
    if loss in _registry.CLASSIFICATION_LOSSES:
        return np.where(score > 0, 1, -1)
    if _registry.loss(loss).nonnegative_targets:
        return np.random.default_rng(0).poisson(np.exp(np.clip(score / score.std(), -3, 3)))
    return score


def model_of(loss, **params):
    cls = AdaRegRegressor if loss in _registry.REGRESSION_LOSSES else AdaRegClassifier
    return cls(loss=loss, random_state=0, **params)


def unmet(loss, X, y, model, alpha, l1_ratio, weight=1.0):
    """How far the model is from the optimality conditions, over alpha · l1_ratio."""
    X = X.toarray() if sparse.issparse(X) else X
    w, b = model.coef_.ravel(), model.intercept_.item()
    slopes = weight * np.array([LOSSES[loss](m, t, {})[1] for m, t in zip(X @ w + b, y, strict=True)])
    gradient = X.T @ slopes / len(y) + alpha * (1 - l1_ratio) * w
    l1 = alpha * l1_ratio
    off = np.where(w == 0, np.maximum(abs(gradient) - l1, 0), abs(gradient + l1 * np.sign(w)))
    return max(off.max(), abs(slopes.mean())) / l1


@pytest.mark.parametrize("d", [20, 120])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", UNITLESS)
def test_fit_meets_the_optimality_conditions(loss, form, d):
    X, score = rows(d)
    y = target(loss, score)
    weight = np.random.default_rng(1).integers(1, 3, size=len(y))
    for l1_ratio in (1.0, 0.7):
        params = {"alpha": 0.05, "l1_ratio": l1_ratio}
        model = model_of(loss, **params).fit(form(X), y, sample_weight=weight)
        assert unmet(loss, X, y, model, weight=weight, **params) < 0.05
        one_pass = model_of(loss, max_iter=1, **params).fit(form(X), y, sample_weight=weight)
        after_one = unmet(loss, X, y, one_pass, weight=weight, **params)
        assert after_one > 2 * unmet(loss, X, y, model, weight=weight, **params)
        assert 0 < np.count_nonzero(model.coef_) < d


@pytest.mark.parametrize("d", [20, 150, 400])
def test_fit_has_the_weights_of_lasso_and_elastic_net(d):
    X, y = rows(d)
    for dtype in (np.float64, np.float32):
        Z = X.astype(dtype)
        for peer, l1_ratio in ((Lasso, 1.0), (ElasticNet, 0.6)):
            extra = {} if peer is Lasso else {"l1_ratio": l1_ratio}
            best = peer(alpha=0.3, tol=1e-8, max_iter=100_000, **extra).fit(X, y)
            model = AdaRegRegressor(alpha=0.3, l1_ratio=l1_ratio).fit(Z, y)
            np.testing.assert_allclose(model.coef_, best.coef_, atol=2e-3 * abs(best.coef_).max())
            assert abs(np.count_nonzero(model.coef_) - np.count_nonzero(best.coef_)) <= 1


@pytest.mark.parametrize("d", [20, 150])
def test_fit_has_the_objective_and_the_support_of_saga(d):
    X, score = rows(d)
    y = np.digitize(score, np.quantile(score, [0.3, 0.7]))
    for labels in (y > 0, y):
        best = LogisticRegression(C=1 / (len(y) * 0.02), l1_ratio=1.0, solver="saga", tol=1e-6, max_iter=20_000).fit(
            X, labels
        )
        model = AdaRegClassifier(alpha=0.02, l1_ratio=1.0).fit(X, labels)

        def objective(of, labels=labels):
            p = of.predict_proba(X)[np.arange(len(y)), labels.astype(int)]
            return -np.log(p).mean() + 0.02 * np.abs(of.coef_).sum()

        assert objective(model) == pytest.approx(objective(best), rel=1e-3)
        nonzero = [np.count_nonzero(of.coef_) for of in (model, best)]
        assert nonzero[0] == pytest.approx(nonzero[1], rel=0.1, abs=2)


def test_fit_stays_in_a_domain_of_intervals():
    X, y = rows(150)
    free = Lasso(alpha=0.3, tol=1e-8).fit(X, y)
    positive = Lasso(alpha=0.3, positive=True, tol=1e-8).fit(X, y)
    assert np.any(free.coef_ < 0)
    for structure in ("full", "diag"):
        params = {"structure": structure, "alpha": 0.3, "l1_ratio": 1.0, "random_state": 0}
        model = AdaRegRegressor(domain="nonnegative", **params).fit(X, y)
        np.testing.assert_allclose(model.coef_, positive.coef_, atol=2e-3)
        radius = np.abs(free.coef_).max() / 2
        model = AdaRegRegressor(domain="box", radius=radius, **params).fit(X, y)
        assert np.abs(model.coef_).max() == pytest.approx(radius)


def test_several_targets_are_several_lassos():
    X, y = rows(30)
    Y = np.column_stack([y, y**2 / y.std()])
    model = AdaRegRegressor(alpha=0.3, l1_ratio=1.0).fit(X, Y)
    for k in range(2):
        best = Lasso(alpha=0.3, tol=1e-8).fit(X, Y[:, k])
        np.testing.assert_allclose(model.coef_[k], best.coef_, atol=2e-3 * abs(best.coef_).max())


@pytest.mark.parametrize("d", [20, 150])
@pytest.mark.parametrize("loss", CURVED)
def test_a_fitted_model_goes_on_from_where_it_is(loss, d):
    """Reading, saving and learning on start from the minimum that ``fit`` came to."""
    X, score = rows(d)
    y = target(loss, score)
    model = model_of(loss, alpha=0.05, l1_ratio=1.0).fit(X, y)
    coef, before = model.coef_.copy(), np.count_nonzero(model.coef_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coef_, coef)
    again.partial_fit(X[:50], y[:50])  # more than a block
    assert not np.array_equal(again.coef_, coef)
    assert np.abs(again.coef_ - coef).max() < 0.1 * np.abs(coef).max()
    assert np.count_nonzero(again.coef_) <= before + 0.2 * d
    assert again.t_ == model.t_ + 50


def test_a_number_of_passes_or_a_held_out_part_is_what_is_done():
    X, y = rows(150)
    params = {"alpha": 0.3, "l1_ratio": 1.0, "shuffle": False}
    once = AdaRegRegressor(max_iter=1, **params).fit(X, y)
    stream = AdaRegRegressor(**params).partial_fit(X, y)
    np.testing.assert_array_equal(once.coef_, stream.coef_)
    with pytest.warns(ConvergenceWarning):
        twice = AdaRegRegressor(max_iter=2, **params).fit(X, y)
    assert twice.t_ == 2 * len(y)
    held = AdaRegRegressor(early_stopping=True, **params).fit(X, y)
    best = Lasso(alpha=0.3).fit(X, y)
    assert np.abs(held.coef_ - best.coef_).max() > 0.01 * np.abs(best.coef_).max()


@pytest.mark.parametrize("average", [True, 2.0])
def test_a_given_average_is_not_changed(average):
    """An average of sparse iterates has the union of their supports."""
    X, y = rows(150)
    params = {"alpha": 0.3, "l1_ratio": 1.0, "random_state": 0}
    given = AdaRegRegressor(average=average, **params).fit(X, y)
    auto = AdaRegRegressor(**params).fit(X, y)
    assert np.count_nonzero(given.coef_) > 3 * np.count_nonzero(auto.coef_)


@pytest.mark.parametrize("d", [20, 150])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_one_pass_finds_most_zeros(loss, d):
    X, score = rows(d, n=4000)
    y = target(loss, score)
    classes = {} if loss == "squared_error" else {"classes": [-1, 1]}
    alpha = 0.02 if classes else 0.02 * score.std()
    fitted = model_of(loss, alpha=alpha, l1_ratio=1.0).fit(X, y)
    stream = model_of(loss, alpha=alpha, l1_ratio=1.0).partial_fit(X, y, **classes)
    zeros, found = fitted.coef_ == 0, stream.coef_ == 0
    assert zeros.mean() > 0.5
    assert np.mean(zeros == found) > 0.8


@pytest.mark.parametrize("structure", ["full", "diag"])
def test_an_l2_penalty_is_the_one_that_was_asked_for(structure):
    """A stack would undo it by its weights."""
    X, y = rows(10, n=4000)
    X = X / X.std(axis=0)
    for alpha in (0.1, 1.0):
        best = Ridge(alpha=len(y) * alpha).fit(X, y)
        model = AdaRegRegressor(structure=structure, alpha=alpha, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.coef_, best.coef_, atol=0.05 * np.abs(best.coef_).max())


@pytest.mark.parametrize("params", [{}, {"l1_ratio": 1.0}, {"l1_ratio": 0.5}], ids=str)
@pytest.mark.parametrize("structure", ["full", "diag", "iso"])
def test_the_model_tends_to_the_one_without_a_penalty(structure, params):
    X, y = rows(20)
    none = {}
    if params and structure == "full":  # then one candidate is published, so that there are zeros
        none = {"alpha": 1e-12, **params}
    free = AdaRegRegressor(structure=structure, random_state=0, max_iter=1, **none).fit(X, y)
    gaps = []
    for alpha in (1e-3, 1e-5, 1e-7):
        model = AdaRegRegressor(structure=structure, alpha=alpha, random_state=0, max_iter=1, **params).fit(X, y)
        assert model.method_ == free.method_
        gaps.append(np.abs(model.coef_ - free.coef_).max() / np.abs(free.coef_).max())
    assert gaps[1] < 0.1 * gaps[0]
    assert gaps[2] < 0.1 * gaps[1] or gaps[2] < 1e-8


def test_memories_that_forget_go_on_under_a_penalty():
    """A stream that drifts, learnt with a penalty that does nothing."""
    X, score = rows(10, n=600)
    score[300:] *= -1
    for y in (score > 0, score > 1.0):
        model, free = (
            AdaRegClassifier(**params).partial_fit(X, y, classes=np.unique(y)) for params in ({"alpha": 1e-10}, {})
        )
        assert model.method_ == free.method_ == "information"
        assert model.memory_ == pytest.approx(free.memory_, rel=1e-5)
        assert free.memory_ < 0.9 * free.t_
        np.testing.assert_allclose(model.predict_proba(X), free.predict_proba(X), atol=1e-6)


def test_a_stream_under_a_strong_penalty_follows_a_drift_and_has_zeros():
    X, score = rows(20, n=1200)
    score[600:] *= -1
    model = AdaRegRegressor(alpha=0.1 * score.std(), l1_ratio=1.0).partial_fit(X, score)
    late = Lasso(alpha=0.1 * score.std()).fit(X[600:], score[600:])
    assert np.corrcoef(model.coef_, late.coef_)[0, 1] > 0.95
    assert np.mean((model.coef_ != 0) == (late.coef_ != 0)) > 0.7


def test_a_sparse_model_is_stored_as_one():
    X, y = rows(400)
    model = AdaRegRegressor(alpha=1.0, l1_ratio=1.0).fit(X, y)
    dense = model.coef_.copy()
    model.sparsify()
    assert model.coef_.nnz == np.count_nonzero(dense) < 0.1 * len(dense)
    np.testing.assert_allclose(model.predict(X), X @ dense + model.intercept_)


def test_fit_says_when_it_does_not_come_to_the_minimum(monkeypatch):
    X, score = rows(30)
    monkeypatch.setattr(_l1_finish, "MOST_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="did not reach the minimum .* in 1 Newton steps"):
        AdaRegClassifier(structure="diag", alpha=0.001, l1_ratio=1.0).fit(X, score > 0)


@pytest.mark.filterwarnings("ignore:fit did not reach:sklearn.exceptions.ConvergenceWarning")
def test_numbers_beyond_all_measure_leave_a_finite_model():
    for size in (1e-200, 1e150, 1e200):
        X, y = rows(8)
        X[0] = size
        model = AdaRegRegressor(alpha=0.1, l1_ratio=1.0, structure="diag").fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict(X[1:])).all()


@pytest.mark.parametrize("d", [20, 300])
def test_a_penalty_that_does_nothing_does_not_make_fit_overfit(d):
    """The minimum of the loss alone is not what the model tends to as alpha goes to 0."""
    X, score = rows(d, n=200)
    y = score > 0
    free = AdaRegClassifier(random_state=0).fit(X, y)
    for l1_ratio in (0.0, 1.0) if d > 100 else (0.0,):  # with an L1 penalty the full structure publishes one candidate
        model = AdaRegClassifier(alpha=1e-9, l1_ratio=l1_ratio, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), free.predict_proba(X), atol=1e-4)


def test_large_working_sets_go_by_columns(monkeypatch):
    X, y = rows(150)
    whole = AdaRegRegressor(alpha=0.01, l1_ratio=1.0, random_state=0).fit(X, y)
    monkeypatch.setattr(_l1_finish, "SMALL_SET", 10)
    for form in (np.asarray, sparse.csr_array):
        columns = AdaRegRegressor(alpha=0.01, l1_ratio=1.0, random_state=0).fit(form(X), y)
        atol = 0.01 * np.abs(whole.coef_).max()
        np.testing.assert_allclose(columns.coef_, whole.coef_, atol=atol)


def test_entries_in_any_order_and_twice():
    X, y = rows(20)
    tidy = sparse.csr_array(X)
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(tidy.indptr)])
    data, index = np.repeat(tidy.data[order] / 2, 2), np.repeat(tidy.indices[order], 2)
    untidy = sparse.csr_array((data, index, 2 * tidy.indptr), shape=X.shape)
    given = untidy.data.copy()
    model = AdaRegRegressor(alpha=0.3, l1_ratio=1.0, random_state=0)
    first, second = (clone(model).fit(Z, y) for Z in (tidy, untidy))
    np.testing.assert_allclose(second.coef_, first.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(untidy.data, given)


def test_losses_with_kinks_make_passes_instead():
    X, score = rows(150, n=4000)
    model = AdaRegClassifier(loss="hinge", alpha=0.02, l1_ratio=1.0, random_state=0)
    model.fit(X, score > 0)
    assert model.n_iter_ == _auto.MORE_PASSES
    assert np.count_nonzero(model.coef_) < 75


def test_rows_that_are_fitted_exactly_are_no_warning():
    X = np.zeros((4, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        AdaRegRegressor(alpha=0.01, l1_ratio=0.5).fit(X, X[:, 0])
