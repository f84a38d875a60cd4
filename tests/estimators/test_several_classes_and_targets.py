"""Several classes and several targets: softmax jointly, margin losses one against the rest."""

import numpy as np
import pytest
from reference.algorithm import POTENTIALS as PSI
from reference.algorithm import WeightVector, mean_iterate
from scipy import sparse
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.preprocessing import maxabs_scale
from sklearn_adareg._kernels.losses._losses import OneVsRest, Softmax
from support.data import POTENTIALS, RADIUS, STRUCTURES, UPDATES, estimator, rows, weights_of

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

MARGIN_LOSSES = [name for name in _registry.CLASSIFICATION_LOSSES if name != "log_loss"]
K = 3
PAIRS = ([0, 1], [2, 3])  # the blocks that streams makes of structure "block"


def labelled(seed=0, n=60, d=4, classes=K):
    """Rows with zeros in them, a label for each, and weights of which some are zero."""
    X, _ = rows(seed, n=n, d=d)
    rng = np.random.default_rng(seed)
    scores = X @ rng.normal(size=(d, classes)) + 0.5 * rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1), rng.integers(0, 4, size=n) / 2.0


# --- softmax: the loss ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("outputs", [2, 3, 10])
def test_softmax_slopes_are_the_derivatives_of_its_value(outputs, scale):
    rng = np.random.default_rng(outputs)
    loss, h = Softmax(), 1e-6
    for y in range(outputs):
        margins, target = scale * rng.normal(size=outputs), np.array([float(y)])
        value, slopes = loss(margins, target)
        assert value == pytest.approx(logsumexp(margins) - margins[y], rel=1e-12, abs=1e-14)
        numeric = [
            (loss(margins + h * e, target)[0] - loss(margins - h * e, target)[0]) / (2 * h) for e in np.eye(outputs)
        ]
        np.testing.assert_allclose(slopes, numeric, atol=1e-8)
        assert slopes.sum() == pytest.approx(0.0, abs=1e-15)


def test_softmax_is_finite_for_any_margins():
    margins = np.array([800.0, -800.0, 0.0])
    for y, expected in enumerate([0.0, 1600.0, 800.0]):
        value, slopes = Softmax()(margins, np.array([float(y)]))
        assert value == expected
        np.testing.assert_array_equal(slopes, np.eye(3)[0] - np.eye(3)[y])


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_one_against_the_rest_is_the_sum_of_its_outputs(loss):
    point = _registry.CLASSIFICATION_LOSSES[loss].kernel()
    margins = np.array([0.3, -2.0, 1.5])
    value, slopes = OneVsRest(point)(margins, np.array([1.0]))
    alone = [point(margins[[k]], np.array([1.0 if k == 1 else -1.0])) for k in range(3)]
    assert value == pytest.approx(sum(v for v, _ in alone), rel=1e-15)
    np.testing.assert_array_equal(slopes, np.concatenate([s for _, s in alone]))


# --- softmax: the rounds --------------------------------------------------------------------------


def softmax_reference(X, y, omega, potential, structure, update, average, domain, radius, alpha, eta, epsilon):
    """Algorithm 1 with one weight vector a class: (K, D) of the published model, and the mean loss."""
    Z = np.column_stack([X, np.ones(len(X))])
    D, d = Z.shape[1], X.shape[1]
    psi = PSI[potential](eta, 2.0)
    outputs = [
        WeightVector(D, d, psi, structure, epsilon, update, domain, radius, alpha, 0.0, PAIRS[: d // 2])
        for _ in range(K)
    ]
    losses = []
    for z, label, weight in zip(Z, y, omega, strict=True):
        if weight == 0:
            continue
        margins = np.array([z @ output.x[-1] for output in outputs])
        losses.append((weight, logsumexp(margins) - margins[label]))
        slopes = softmax(margins) - np.eye(K)[label]
        for output, slope in zip(outputs, slopes, strict=True):
            output.step(z, weight * slope)
    weights, losses = np.array(losses).T
    published = [
        output.last_iterate() if average is False else mean_iterate(np.array(output.x), average) for output in outputs
    ]
    return np.array(published), np.average(losses, weights=weights)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_softmax_equals_the_reference_with_one_output_a_class(potential, structure, update):
    X, y, omega = labelled(n=40)
    variations = [
        {"average": True, "domain": None, "alpha": 0.0},
        {"average": False, "domain": "l2", "alpha": 0.0},
        {"average": 2.0, "domain": "simplex", "alpha": 0.0},
        {"average": False, "domain": "box", "alpha": 0.05},
    ]
    for variation in variations:
        params = {**variation, "radius": RADIUS, "eta": 0.3, "epsilon": 0.05}
        expected, loss = softmax_reference(X, y, omega, potential, structure, update, **params)
        for rows_ in (X, sparse.csr_array(X)):
            model = estimator(potential, structure, update=update, **params)
            model.fit(rows_, y, sample_weight=omega)
            found = np.column_stack([model.coef_, model.intercept_])
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=str(params))
            assert model.loss_curve_ == [pytest.approx(loss, rel=1e-9)]
            assert model.t_ == np.count_nonzero(omega)


class TwoOutputs(AdaRegClassifier):
    """Two classes as a softmax of two weight vectors, where the package needs one."""

    def _encode(self, *args):
        return (super()._encode(*args) > 0).astype(float)

    def _shape_of_model(self, *args):
        return super()._shape_of_model(*args)._replace(n_outputs=2, outputs_are_classes=True)


@pytest.mark.parametrize("domain", [None, "l2", "box", "l1"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_softmax_of_two_classes_with_half_the_step_is_the_sigmoid(potential, structure, update, domain):
    """The weight vectors mirror each other, so both have the sigmoid's G; their difference is its x.

    Each takes half its step, hence eta / 2, and has half its length, hence radius / 2.
    """
    X, score = rows(3)
    y = score > 0
    params = {"update": update, "average": 2.0, "epsilon": 0.05, "domain": domain}
    sigmoid = estimator(potential, structure, eta=0.6, radius=RADIUS, **params).fit(X, y)
    common = estimator(potential, structure, eta=0.3, radius=RADIUS / 2, **params)
    pair = TwoOutputs(**common.get_params()).fit(X, y)
    lower, upper = np.column_stack([pair.coef_, pair.intercept_])
    np.testing.assert_allclose(upper - lower, weights_of(sigmoid), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(upper, -lower, rtol=1e-9, atol=1e-12)
    assert pair.progressive_loss_ == pytest.approx(sigmoid.progressive_loss_, rel=1e-12)
    np.testing.assert_allclose(pair.predict_proba(X), sigmoid.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", ["diag", "iso"])
@pytest.mark.parametrize(("l1_ratio", "factor"), [(0.0, 2.0), (1.0, 1.0)])
def test_the_penalty_of_two_outputs_is_the_sigmoids(structure, update, l1_ratio, factor):
    """prox with h/2 of half a vector: α‖x/2‖₁·2 = α‖x‖₁, but 2·α/2 ‖x/2‖² is half of α/2 ‖x‖²."""
    X, score = rows(3)
    y = score > 0
    params = {"update": update, "l1_ratio": l1_ratio, "average": False}
    sigmoid = estimator(structure=structure, eta=0.6, alpha=0.01, **params).fit(X, y)
    common = estimator(structure=structure, eta=0.3, alpha=0.01 * factor, **params)
    pair = TwoOutputs(**common.get_params()).fit(X, y)
    np.testing.assert_allclose(np.diff(pair.coef_, axis=0), sigmoid.coef_, rtol=1e-9, atol=1e-12)


def multinomial_objective(model, X, y, alpha):
    log_p = log_softmax(X @ model.coef_.T + model.intercept_, axis=1)
    return -np.mean(log_p[np.arange(len(y)), y]) + alpha / 2 * np.sum(model.coef_**2)


@pytest.mark.parametrize(
    ("load", "potential", "structure", "eta", "epochs"),
    [
        (load_digits, "adagrad", "diag", 0.3, 50),
        (load_digits, "adagrad", "iso", 0.3, 30),
        (load_digits, "ons", "full", 1.0, 10),
        (load_wine, "adagrad", "diag", 1.0, 300),
        (load_wine, "pnorm", "diag", 1.0, 300),
        (load_wine, "ons", "full", 1.0, 50),
        (load_iris, "adagrad", "diag", 1.0, 200),
        (load_iris, "adagrad", "full", 0.3, 100),
        (load_iris, "ons", "full", 1.0, 50),
    ],
)
def test_many_epochs_reach_the_optimum_of_multinomial_logistic_regression(load, potential, structure, eta, epochs):
    X, y = load(return_X_y=True)
    X, alpha = maxabs_scale(X), 0.01
    batch = LogisticRegression(C=1 / (len(y) * alpha), tol=1e-9, max_iter=10_000).fit(X, y)
    best = multinomial_objective(batch, X, y, alpha)
    model = AdaRegClassifier(
        potential,
        structure,
        eta=eta,
        epsilon=1.0,
        scaling=None,
        alpha=alpha,
        average=4.0,
        max_iter=epochs,
        tol=None,
        random_state=0,
    ).fit(X, y)
    gap = multinomial_objective(model, X, y, alpha) / best - 1
    assert -1e-8 < gap < 1e-3


# --- one against the rest -------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_one_vs_rest_is_as_many_binary_models(loss, structure):
    X, y, omega = labelled(classes=5)
    for rows_ in (X, sparse.csr_array(X)):
        model = estimator("ons", structure, loss=loss, max_iter=2).fit(rows_, y, omega)
        loss_total = 0.0
        for k in range(5):
            binary = estimator("ons", structure, loss=loss, max_iter=2).fit(rows_, y == k, omega)
            np.testing.assert_allclose(model.coef_[k], binary.coef_[0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(model.intercept_[k], binary.intercept_[0], rtol=1e-9)
            loss_total += binary.progressive_loss_
        assert model.progressive_loss_ == pytest.approx(loss_total, rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "modified_huber"])
def test_one_vs_rest_agrees_with_scikit_learns_wrapper(loss):
    X, y = load_iris(return_X_y=True)
    binary = estimator("ons", "full", loss=loss)
    ours, theirs = clone(binary).fit(X, y), OneVsRestClassifier(binary).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_the_model_is_the_same_whatever_n_jobs(loss, structure, change):
    X, y, _ = labelled(n=80, classes=9)
    if loss == "squared_error":
        y = np.eye(9)[y]
    models = [
        estimator("ons", structure, loss=loss, n_jobs=n_jobs, max_iter=2, shuffle=True)
        .set_params(random_state=0)
        .fit(change(X), y)
        for n_jobs in (None, 1, 2, 3, -1)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)
        assert model.progressive_loss_ == models[0].progressive_loss_


# --- the interface of a classifier ----------------------------------------------------------------


@pytest.mark.parametrize("loss", _registry.CLASSIFICATION_LOSSES)
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_shapes_of_what_is_fitted(classes, loss):
    X, y, _ = labelled(n=90, classes=classes)
    model = estimator(loss=loss).fit(X, y)
    rows_of_coef = 1 if classes == 2 else classes
    assert model.coef_.shape == (rows_of_coef, X.shape[1])
    assert model.intercept_.shape == (rows_of_coef,)
    assert model.decision_function(X).shape == ((len(X),) if classes == 2 else (len(X), classes))
    np.testing.assert_array_equal(model.classes_, np.arange(classes))
    no_intercept = estimator(loss=loss, fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(no_intercept.intercept_, np.zeros(rows_of_coef))


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
def test_probabilities_sum_to_one_and_rank_like_the_predictions(loss, classes):
    X, y, _ = labelled(n=90, classes=classes)
    model = estimator("ons", "full", loss=loss, eta=4.0).fit(X, y)
    wide = np.vstack([X, 50 * X])  # margins beyond what modified_huber tells apart
    p = model.predict_proba(wide)
    assert p.shape == (2 * len(X), classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert ((p >= 0) & (p <= 1)).all()
    chosen = p[np.arange(len(p)), np.searchsorted(model.classes_, model.predict(wide))]
    np.testing.assert_allclose(chosen, p.max(axis=1), rtol=1e-12)
    log_p = model.predict_log_proba(wide)
    np.testing.assert_allclose(log_p[p > 0], np.log(p[p > 0]), rtol=1e-9, atol=1e-12)
    assert (log_p[p == 0] < -700).all()


def test_log_probabilities_are_exact_where_probabilities_round_to_zero():
    X, y, _ = labelled(classes=3)
    model = estimator("ons", "full", eta=4.0).fit(X, y)
    far = 1e5 * X
    assert (model.predict_proba(far) == 0).any()
    assert np.isfinite(model.predict_log_proba(far)).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "perceptron"])
def test_losses_without_probabilities_offer_none(loss):
    model = estimator(loss=loss)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError) as refusal:
        _ = model.predict_proba
    assert f"not available for loss='{loss}'" in f"{refusal.value} {refusal.value.__cause__}"


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_partial_fit_learns_labels_that_its_first_rows_lack(loss):
    X, y, _ = labelled(n=90, classes=4)
    names = np.array(["ant", "bee", "cat", "dog"])
    order = np.argsort(y, kind="stable")  # one class after the other
    whole = estimator(loss=loss).partial_fit(X[order], names[y[order]], classes=names[::-1])
    stream = estimator(loss=loss).partial_fit(X[order[:5]], names[y[order[:5]]], classes=names)
    np.testing.assert_array_equal(stream.classes_, names)
    assert stream.coef_.shape == (4, X.shape[1])
    for i in order[5:]:
        stream.partial_fit(X[[i]], names[y[[i]]])
    np.testing.assert_array_equal(stream.coef_, whole.coef_)
    np.testing.assert_array_equal(stream.intercept_, whole.intercept_)
    assert stream.t_ == len(y)


def test_permuting_the_classes_permutes_the_model():
    X, y, _ = labelled(classes=4)
    turn = np.array([2, 0, 3, 1])
    model = estimator("ons", "full").fit(X, y)
    turned = estimator("ons", "full").fit(X, turn[y])
    np.testing.assert_allclose(turned.coef_[turn], model.coef_, rtol=1e-9, atol=1e-12)


# --- several targets ------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", _registry.REGRESSION_LOSSES)
def test_several_targets_are_as_many_regressions(loss, structure):
    X, score = rows(2, d=4)
    Y = np.abs(np.column_stack([score, 2 * score + 1, -score, score**2, np.ones_like(score)]))
    params = {"loss": loss, "eta": 0.1, "max_iter": 2}
    for rows_ in (X, sparse.csr_array(X)):
        model = estimator("adagrad", structure, **params).fit(rows_, Y)
        assert model.coef_.shape == (5, 4)
        assert model.intercept_.shape == (5,)
        assert model.predict(rows_).shape == Y.shape
        total = 0.0
        for k in range(5):
            alone = estimator("adagrad", structure, **params).fit(rows_, Y[:, k])
            assert alone.coef_.shape == (4,)
            assert alone.intercept_.shape == (1,)
            np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(model.predict(rows_)[:, k], alone.predict(rows_), rtol=1e-9, atol=1e-12)
            total += alone.progressive_loss_
        assert model.progressive_loss_ == pytest.approx(total, rel=1e-9)


def test_a_column_of_targets_is_a_model_with_one_row():
    X, score = rows(2)
    column = estimator(loss="squared_error").fit(X, score[:, None])
    flat = estimator(loss="squared_error").fit(X, score)
    assert column.coef_.shape == (1, X.shape[1])
    assert column.predict(X).shape == (len(X), 1)
    np.testing.assert_array_equal(column.coef_[0], flat.coef_)


def test_several_targets_natively_are_those_of_the_wrapper():
    X, score = rows(2)
    Y = np.column_stack([score, score**2])
    one = AdaRegRegressor("ons", "full", eta=1.0, epsilon=1.0, scaling=None, max_iter=3, tol=None)
    one.set_params(random_state=0)
    wrapped = MultiOutputRegressor(one).fit(X, Y)
    np.testing.assert_allclose(clone(one).fit(X, Y).predict(X), wrapped.predict(X), rtol=1e-9)


def test_multi_output_classification_through_the_wrapper():
    X, y, _ = labelled()
    Y = np.column_stack([y, y > 0])
    single = estimator("ons", "full")
    wrapped = MultiOutputClassifier(single).fit(X, Y)
    for k in range(2):
        alone = clone(single).fit(X, Y[:, k])
        np.testing.assert_array_equal(wrapped.predict(X)[:, k], alone.predict(X))
        np.testing.assert_array_equal(wrapped.predict_proba(X)[k], alone.predict_proba(X))
    stream = MultiOutputClassifier(single)
    stream.partial_fit(X[:20], Y[:20], classes=[np.arange(K), np.arange(2)])
    stream.partial_fit(X[20:], Y[20:])
    np.testing.assert_array_equal(stream.predict(X), wrapped.predict(X))


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, MultiOutputClassifier, ClassifierChain])
def test_multi_label_classification_through_wrappers(wrapper):
    X, Y = make_multilabel_classification(n_samples=300, n_labels=2, random_state=0)
    model = wrapper(estimator("ons", "full", eta=4.0, epsilon=1.0, max_iter=3)).fit(X, Y)
    found = np.asarray(model.predict(X))
    assert found.shape == Y.shape
    constant = np.mean(Y.mean(axis=0).round() == Y)
    assert np.mean(found == Y) > constant + 0.1
