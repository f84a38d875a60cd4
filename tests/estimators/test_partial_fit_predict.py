"""``partial_fit_predict`` returns, row by row, what the model published before the row predicts."""

import numpy as np
import pytest
from scipy import sparse
from support.data import STRUCTURES, UPDATES, blocks_of, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

N = 60


def stream(d=5, n=N):
    """Features in several units and with offsets; one jumps by 1000 in mid-stream, one is first seen there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d) + 3.0 * (np.arange(d) % 3 == 1)
    X *= rng.random((n, d)) > 0.2
    X[n // 2 :, 1] *= 1000.0
    X[: n // 2, 2] = 0.0
    return X, (X / X.std(axis=0)) @ rng.normal(size=d) + rng.normal(size=n)


X, SCORE = stream()
CLASSES = {"two": [0, 1], "three": [0, 1, 2]}
LABELS = {"two": (SCORE > 0).astype(int), "three": np.digitize(SCORE, [-1.0, 1.0])}


def row_by_row(model, X, y, weights=None, method="predict", **classes):
    """What ``method`` gives before each row is learnt from; None before the first."""
    said = []
    for i in range(X.shape[0]):
        row = slice(i, i + 1)
        said.append(getattr(model, method)(X[row])[0] if hasattr(model, "coef_") else None)
        model.partial_fit(X[row], y[row], sample_weight=None if weights is None else weights[row], **classes)
    return said


def assert_same(make, X, y, weights=None, **given):
    one, slow = make(), make()
    method = {"method": given.pop("method")} if "method" in given else {}
    found = one.partial_fit_predict(X, y, sample_weight=weights, **given, **method)
    expected = row_by_row(slow, X, y, weights, **given, **method)
    first = expected.index(None) + sum(each is None for each in expected)
    np.testing.assert_allclose(found[first:], np.array(expected[first:]), rtol=1e-9, atol=1e-9)
    if first == 1 and getattr(one, "domain", None) != "simplex":  # which does not contain 0
        np.testing.assert_array_equal(found[0], np.zeros_like(found[0]))
    np.testing.assert_allclose(one.coef_, slow.coef_, rtol=1e-9, atol=1e-12)
    assert one.progressive_loss_ == pytest.approx(slow.progressive_loss_, rel=1e-9)
    return one


PARAMETERS = (
    {},
    {"alpha": 0.01},
    {"domain": "l2", "radius": 1.0},
    {"domain": "box", "radius": 1.0},
    {"domain": "simplex", "radius": 1.0},
    {"scaling": None, "eta": 0.3},
    {"scaling": None, "eta": 0.3, "alpha": 0.01},
    {"half_life": 20.0},
)


@pytest.mark.parametrize("params", PARAMETERS, ids=str)
@pytest.mark.parametrize("average", ["auto", True, False])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_it_is_what_the_model_would_have_said(structure, update, average, params):
    params = {"update": update, "average": average, **blocks_of(structure), **params}
    played = 0
    for rows in (X, sparse.csr_array(X)):
        for potential in ("auto", "adagrad", "ons"):
            model = AdaRegClassifier(potential, structure, **params)
            y = LABELS["three" if structure == "kronecker" else "two"]
            classes = sorted(set(y.tolist()))
            try:
                model.partial_fit(X[:1], y[:1], classes=classes)
            except ValueError:
                continue  # a pair that is refused

            def make(potential=potential):
                return AdaRegClassifier(potential, structure, **params)

            assert_same(make, rows, y, classes=classes, method="decision_function")
            played += 1
    assert played or params.get("half_life")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
@pytest.mark.parametrize("classes", CLASSES)
def test_every_method_of_a_classifier(classes, method):
    one, slow = AdaRegClassifier(), AdaRegClassifier()
    given = {"classes": CLASSES[classes]}
    found = one.partial_fit_predict(X, LABELS[classes], **given, method=method)
    expected = row_by_row(slow, X, LABELS[classes], method=method, **given)
    np.testing.assert_allclose(found[1:], np.array(expected[1:]), rtol=1e-8, atol=1e-10)
    assert found.dtype == np.array(expected[1:]).dtype


@pytest.mark.parametrize("loss", _registry.CLASSIFICATION_LOSSES)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("classes", CLASSES)
def test_every_classification_loss(classes, wide, loss):
    rows = stream(120)[0] if wide else X
    given = {"classes": CLASSES[classes], "method": "decision_function"}
    assert_same(lambda: AdaRegClassifier(loss=loss), rows, LABELS[classes], **given)


@pytest.mark.parametrize("loss", _registry.REGRESSION_LOSSES)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_every_regression_loss(several, wide, loss):
    rows, y = stream(120)[0] if wide else X, target(loss, SCORE + 20.0)
    y = np.column_stack([y, 2 * y, y[::-1]]) if several else y
    make = {"loss": loss, "n_jobs": 2 if several else None}
    one, slow = AdaRegRegressor(**make), AdaRegRegressor(**make)
    found = one.partial_fit_predict(rows, y)
    expected = row_by_row(slow, rows, y)
    np.testing.assert_allclose(found[1:], np.array(expected[1:]), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(found[0], np.exp(0.0 * y[0]) if loss == "poisson" else 0.0 * y[0])


@pytest.mark.parametrize("params", [{}, {"loss": "hinge"}, {"structure": "diag"}], ids=str)
def test_rows_of_weight_zero_are_predicted_and_not_learnt_from(params):
    weights = np.random.default_rng(1).choice([0.0, 0.0, 0.5, 1.0, 3.0], N)
    weights[[0, 5]] = 1.0, 0.0
    y = LABELS["three"]
    given = {"classes": CLASSES["three"], "method": "decision_function"}
    model = assert_same(lambda: AdaRegClassifier(**params), X, y, weights, **given)
    assert model.t_ == np.count_nonzero(weights)
    begun_with_zeros = AdaRegClassifier(**params).partial_fit_predict(X, y, sample_weight=weights[::-1].copy(), **given)
    assert np.isfinite(begun_with_zeros).all()


def test_chunks_make_no_difference():
    whole, chunked = AdaRegClassifier(), AdaRegClassifier()
    y = LABELS["two"]
    found = whole.partial_fit_predict(X, y, classes=[0, 1], method="predict_proba")
    parts = [
        chunked.partial_fit_predict(X[part], y[part], classes=[0, 1], method="predict_proba")
        for part in (slice(0, 1), slice(1, 17), slice(17, 60))
    ]
    np.testing.assert_allclose(np.concatenate(parts), found, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AdaRegClassifier(),
        lambda: AdaRegClassifier(structure="diag"),
        lambda: AdaRegClassifier("adagrad", eta=0.5),
        lambda: AdaRegClassifier("ons", "full", epsilon=2.0),
        lambda: AdaRegClassifier("adagrad", "block", eta=0.5),
    ],
)
@pytest.mark.parametrize("classes", CLASSES)
def test_the_progressive_loss_is_the_loss_of_these_predictions(classes, make):
    model, y = make(), LABELS[classes]
    given = {"classes": CLASSES[classes], "method": "predict_log_proba"}
    P = model.partial_fit_predict(X, y, **given)
    assert model.progressive_loss_ == pytest.approx(-np.mean(P[np.arange(N), y]), rel=1e-8)
    assert model._state.progress.total("mistakes") == np.sum(P.argmax(axis=1) != y)
    if model.method_ == "algorithm1":  # and of an average that is asked for by name
        averaged = make().set_params(average=True)
        P = averaged.partial_fit_predict(X, y, **given)
        assert averaged.progressive_loss_ == pytest.approx(-np.mean(P[np.arange(N), y]), rel=1e-8)


@pytest.mark.parametrize("params", [{}, {"structure": "diag"}, {"loss": "absolute_error"}, {"epsilon": 1.0}], ids=str)
def test_so_it_is_for_numbers(params):
    model = AdaRegRegressor(**params)
    gap = model.partial_fit_predict(X, SCORE + 7.0) - (SCORE + 7.0)
    losses = np.abs(gap) if params.get("loss") else gap**2 / 2
    assert model.progressive_loss_ == pytest.approx(losses.mean(), rel=1e-9)


def test_a_method_that_there_is_not_is_refused_before_anything_is_learnt():
    model = AdaRegClassifier(loss="hinge")
    with pytest.raises(AttributeError, match="probability estimates are not available"):
        model.partial_fit_predict(X, LABELS["two"], [0, 1], method="predict_proba")
    with pytest.raises(
        ValueError, match="method='margin' is not something that a classifier predicts; pass one of 'predict'"
    ):
        model.partial_fit_predict(X, LABELS["two"], [0, 1], method="margin")
    assert not hasattr(model, "t_")


def test_the_parameters_of_a_loss_may_change_between_calls():
    """The compiled loss is kept from call to call as long as they do not."""
    params = {"loss": "quantile", "scaling": None, "eta": 0.3}
    model = AdaRegRegressor("adagrad", "diag", quantile=0.1, **params).partial_fit(X, SCORE)
    before = model.coef_.copy()
    other = AdaRegRegressor("adagrad", "diag", quantile=0.1, **params).partial_fit(X, SCORE)
    model.set_params(quantile=0.9).partial_fit(X, SCORE)
    other.partial_fit(X, SCORE)
    assert not np.allclose(model.coef_, other.coef_)
    assert not np.allclose(model.coef_, before)
