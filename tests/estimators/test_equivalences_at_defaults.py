"""Classes, targets, weights and threads with the parameters left as they come."""

import numpy as np
import pytest
from scipy import sparse
from support.data import STRUCTURES, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

NAMES = np.array(["ant", "bee", "cat"])
ONE_PASS = {"max_iter": 1, "shuffle": False}


def make(loss, structure="auto", **params):
    cls = AdaRegClassifier if loss in _registry.CLASSIFICATION_LOSSES else AdaRegRegressor
    return cls(structure=structure, loss=loss, **{**ONE_PASS, **params})


def data(loss, n=120):
    """Rows in units far apart, labels or three targets, and weights of which some are zero."""
    X, score = rows(0, n=n)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, size=n) / 2.0
    X = X * [1e-3, 1.0, 1e4, 10.0, 0.1]
    if loss in _registry.CLASSIFICATION_LOSSES:
        return X, NAMES[np.digitize(score, [-0.5, 2.0])], weight
    return X, np.column_stack([score, 1e3 * score**2, 1 - score]), weight


def first_call(loss):
    return {"classes": NAMES} if loss in _registry.CLASSIFICATION_LOSSES else {}


every_kind = pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
every_structure = pytest.mark.parametrize("structure", ["auto", *STRUCTURES])


def assert_same_model(found, expected, rtol=0.0):
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=rtol)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=rtol)
    assert found.t_ == expected.t_
    assert found.progressive_loss_ == pytest.approx(expected.progressive_loss_, rel=rtol, abs=0)


@every_kind
@every_structure
def test_rows_of_weight_zero_are_removed(structure, loss):
    X, y, weight = data(loss)
    keep = weight > 0
    params = {"max_iter": 3, "shuffle": True, "random_state": 0, "tol": None}
    found = make(loss, structure, **params).fit(X, y, weight)
    assert_same_model(found, make(loss, structure, **params).fit(X[keep], y[keep], weight[keep]))


@pytest.mark.parametrize("class_weight", [None, {"ant": 2.5, "bee": 0.0}, "balanced"])
@every_kind
@every_structure
def test_chunks_are_the_whole_to_the_bit(structure, loss, class_weight):
    X, y, weight = data(loss)
    weight = weight + 0.5
    factors = {"class_weight": class_weight} if first_call(loss) else {}
    whole = make(loss, structure, **factors)
    whole.partial_fit(X, y, sample_weight=weight, **first_call(loss))
    stream = make(loss, structure, **factors)
    for part in np.split(np.arange(len(X)), [1, 2, 50, 83]):
        stream.partial_fit(X[part], y[part], sample_weight=weight[part], **first_call(loss))
    np.testing.assert_array_equal(stream.coef_, whole.coef_)
    np.testing.assert_array_equal(stream.intercept_, whole.intercept_)
    assert stream.progressive_loss_ == pytest.approx(whole.progressive_loss_, rel=1e-12)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@every_structure
def test_weights_of_classes_are_weights_of_rows(structure, loss):
    X, y, weight = data(loss)
    factors = {"ant": 2.5, "cat": 0.25}
    each = weight * np.array([factors.get(label, 1.0) for label in y])
    by_class = make(loss, structure, class_weight=factors).fit(X, y, weight)
    assert_same_model(by_class, make(loss, structure).fit(X, y, each))


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@every_kind
@every_structure
def test_the_model_is_the_same_whatever_n_jobs(structure, loss, change):
    X, y, _ = data(loss)
    if first_call(loss):
        y = np.arange(len(y)) % 9
    one, *more = (make(loss, structure, max_iter=2, tol=None, n_jobs=n).fit(change(X), y) for n in (None, 2, 3))
    for model in more:
        assert_same_model(model, one)


@every_structure
def test_one_vs_rest_is_as_many_binary_models(structure):
    X, y, _ = data("hinge")
    model = make("hinge", structure).fit(X, y)
    for k, name in enumerate(NAMES):
        binary = make("hinge", structure).fit(X, y == name)
        np.testing.assert_allclose(model.coef_[k], binary.coef_[0], rtol=1e-8)
        np.testing.assert_allclose(model.intercept_[k], binary.intercept_[0], rtol=1e-8)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
@every_structure
def test_several_targets_are_as_many_regressions(structure, loss):
    X, Y, _ = data(loss)
    model = make(loss, structure).fit(X, Y)
    for k in range(3):
        alone = make(loss, structure).fit(X, Y[:, k])
        np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-8)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@every_structure
def test_permuting_the_classes_permutes_the_model(structure, loss):
    X, y, _ = data(loss)
    turn = np.array([2, 0, 1])
    model = make(loss, structure).fit(X, y)
    turned = make(loss, structure).fit(X, turn[np.searchsorted(NAMES, y)])
    np.testing.assert_allclose(turned.coef_[turn], model.coef_, rtol=1e-6)


@every_kind
@every_structure
def test_sparse_rows_give_the_dense_model(structure, loss):
    X, y, weight = data(loss)
    dense = make(loss, structure).fit(X, y, weight)
    compressed = make(loss, structure).fit(sparse.csr_array(X), y, weight)
    assert_same_model(compressed, dense, rtol=1e-7)


@every_kind
@every_structure
def test_units_of_the_features_do_not_matter(structure, loss):
    X, y, weight = data(loss)
    units = np.array([2.0**-12, 1.0, 2.0**9, 2.0**-3, 2.0**5])
    model = make(loss, structure).fit(X, y, weight)
    scaled = make(loss, structure).fit(X * units, y, weight)
    np.testing.assert_allclose(scaled.coef_ * units, model.coef_, rtol=1e-8)


def stream_of(loss, outputs=1, n=1300):
    """Rows past the beginning that is kept, of which the last follow another rule, and targets or labels of a loss."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 4)) * [1.0, 50.0, 0.1, 1.0] + [0.0, 300.0, 0.0, 0.0]
    score = (Z - Z.mean(axis=0)) / Z.std(axis=0) @ rng.normal(size=(4, outputs))
    score[n - 200 :] *= -1.0
    score += 0.5 * rng.normal(size=score.shape)
    if loss in _registry.CLASSIFICATION_LOSSES:
        return Z, score[:, 0] > 0 if outputs == 1 else score.argmax(axis=1)
    return Z, target(loss, score[:, 0] if outputs == 1 else score)


def learner_of(loss):
    cls = AdaRegClassifier if loss in _registry.CLASSIFICATION_LOSSES else AdaRegRegressor
    return cls(loss=loss)


EVERY_LOSS = [*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES]


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_calls_of_any_length_give_the_same_model_to_the_bit(loss, outputs):
    """Blocks end by the number of rows so far, not where a call ends or an interrupt is looked for."""
    Z, y = stream_of(loss, outputs)
    labels = {"classes": np.unique(y)} if loss in _registry.CLASSIFICATION_LOSSES else {}
    whole = learner_of(loss).partial_fit(Z, y, **labels)
    for ends in ([150, 500, 1100], [1, 2, 1023, 1024, 1025], range(7, 1300, 7)):
        parts = learner_of(loss)
        for part in np.split(np.arange(len(Z)), ends):
            parts.partial_fit(Z[part], y[part], **labels)
        np.testing.assert_array_equal(parts.coef_, whole.coef_)
        np.testing.assert_array_equal(parts.intercept_, whole.intercept_)


@pytest.mark.parametrize("params", [{}, {"alpha": 0.01}, {"alpha": 0.01, "l1_ratio": 1.0}], ids=str)
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("loss", [loss for loss in EVERY_LOSS if _registry.loss(loss).has_minimiser])
def test_each_row_is_predicted_by_what_was_published_before_it(loss, outputs, params):
    Z, y = stream_of(loss, outputs)
    labels = {"classes": np.unique(y)} if loss in _registry.CLASSIFICATION_LOSSES else {}
    method = {"method": "decision_function"} if labels else {}
    model = learner_of(loss).set_params(**params)
    said = model.partial_fit_predict(Z, y, **labels, **method)
    slow = learner_of(loss).set_params(**params).partial_fit(Z[:1], y[:1], **labels)
    assert model.method_ == "information"
    for i in range(1, len(Z)):
        expected = getattr(slow, method.get("method", "predict"))(Z[i : i + 1])[0]
        np.testing.assert_allclose(said[i], expected, rtol=1e-8, atol=1e-10)
        slow.partial_fit(Z[i : i + 1], y[i : i + 1])
    assert model.progressive_loss_ == pytest.approx(slow.progressive_loss_, rel=1e-9)


@pytest.mark.parametrize("loss", _registry.REGRESSION_LOSSES)
def test_each_of_many_targets_is_learnt_as_if_alone(loss):
    """Some of them share a block of weight vectors, as there are more targets than blocks."""
    Z, Y = stream_of(loss, 6)
    together = learner_of(loss).partial_fit(Z, Y)
    assert len(together._state.blocks) < 6
    for k in range(6):
        alone = learner_of(loss).partial_fit(Z, Y[:, k])
        np.testing.assert_allclose(together.coef_[k], alone.coef_, rtol=1e-7, atol=1e-12)
        for name, weight in alone.candidate_weights_.items():
            assert together.candidate_weights_[name][k] == pytest.approx(weight, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("loss", [n for n in _registry.CLASSIFICATION_LOSSES if n != "log_loss"])
def test_each_of_many_classes_is_learnt_as_if_alone_against_the_rest(loss):
    Z, y = stream_of(loss, 6)
    together = learner_of(loss).partial_fit(Z, y, classes=range(6))
    assert len(together._state.blocks) < 6
    for k in range(6):
        alone = learner_of(loss).partial_fit(Z, y == k, classes=[False, True])
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], rtol=1e-7, atol=1e-12)
