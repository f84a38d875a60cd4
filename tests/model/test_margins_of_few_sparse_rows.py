"""A few sparse rows are predicted from their own columns; the whole ``coef_`` is computed when it is asked for."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _guard

D, N = 2000, 60
RNG = np.random.default_rng(0)
X = sparse.random_array((N, D), density=0.005, format="csr", rng=RNG, data_sampler=lambda size: RNG.normal(size=size))
SCORE = X @ RNG.normal(size=D)
FEW = X[:4]


def is_whole(model):
    """Whether all of ``coef_`` was computed since the last row."""
    shown = model._state.snapshot
    return shown is not None and shown.rounds == model.t_


def assert_same(model, rows, y, **given):
    """Before and after each of some rows, and in a copy that was asked for ``coef_`` first."""
    model.partial_fit(rows[: N // 2], y[: N // 2], **given)
    for i in range(N // 2, N // 2 + 5):
        model.partial_fit(rows[i : i + 1], y[i : i + 1])
        found = model.predict(FEW)
        margins = model._margins(FEW)
        assert not is_whole(model)
        whole = pickle.loads(pickle.dumps(model))
        expected = FEW @ np.atleast_2d(whole.coef_).T + whole.intercept_
        np.testing.assert_allclose(margins, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(found, whole.predict(FEW))
        assert is_whole(whole)


@pytest.mark.parametrize("update", ["mirror_descent", "dual_averaging"])
@pytest.mark.parametrize("structure", ["diag", "iso"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"eta": 0.3, "half_life": 20.0},
        {"eta": 0.3, "alpha": 0.01},
        {"eta": 0.3, "alpha": 0.01, "l1_ratio": 1.0, "average": False},
        {"eta": 0.3, "scaling": None, "average": False, "fit_intercept": False},
    ],
    ids=str,
)
def test_predictions_are_those_of_the_whole_model(params, structure, update):
    y = (SCORE > 0).astype(int)
    assert_same(AdaRegClassifier("adagrad", structure, update=update, **params), X, y, classes=[0, 1])


@pytest.mark.parametrize("kind", ["binary", "softmax", "one against the rest", "targets", "counts"])
def test_so_they_are_with_the_defaults_for_every_kind_of_target(kind):
    several = np.digitize(SCORE, [-1.0, 0.0, 1.0])
    if kind == "targets":
        assert_same(AdaRegRegressor(), X, np.column_stack([SCORE, 5 - SCORE]))
    elif kind == "counts":
        assert_same(AdaRegRegressor(loss="poisson"), X, np.round(np.abs(SCORE)))
    else:
        loss = "hinge" if kind == "one against the rest" else "log_loss"
        y = several if kind != "binary" else (several > 1).astype(int)
        assert_same(AdaRegClassifier(loss=loss), X, y, classes=np.unique(y))


def learnt():
    return AdaRegClassifier().partial_fit(X, SCORE > 0, classes=[False, True])


@pytest.mark.parametrize("change", ["float32", "int64", "twice", "unsorted", "empty", "spare"])
def test_rows_may_come_in_every_form(change):
    rows = FEW.copy()
    if change == "float32":
        rows = rows.astype(np.float32)
    elif change == "int64":
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    elif change == "twice":  # a column in two parts
        parts = np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr
        rows = sparse.csr_matrix(parts, shape=rows.shape)
    elif change == "unsorted":
        rows = sparse.csr_array((rows.data[::-1], rows.indices[::-1], [0, rows.nnz]), (1, D))
    elif change == "empty":
        rows = sparse.csr_array((2, D))
    elif change == "spare":  # room behind the last row
        rows.data, rows.indices = np.append(rows.data, 7.0), np.append(rows.indices, 3)
    model, whole = learnt(), learnt()
    found = model.decision_function(rows)
    assert not is_whole(model)
    expected = (rows @ np.atleast_2d(whole.coef_).T + whole.intercept_).ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_bad_columns_are_refused_as_before():
    rows = FEW.copy()
    rows.indices[0] = D
    with pytest.raises(ValueError, match=f"X has the column number {D}"):
        learnt().predict(rows)
    rows = FEW.copy()
    rows.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        learnt().predict(rows)


def test_a_model_that_only_predicts_is_soon_computed_whole():
    model = learnt()
    for _ in range(D):
        model.predict(FEW)
        if is_whole(model):
            return
    pytest.fail("every prediction looked its columns up")


def test_many_columns_dense_rows_and_domains_take_the_whole_model():
    for rows, params in ((X, {}), (FEW.toarray(), {}), (FEW, {"domain": "l2", "radius": 1.0})):
        model = AdaRegClassifier("adagrad", "diag", **params)
        model.partial_fit(X, SCORE > 0, classes=[False, True]).predict(rows)
        assert is_whole(model)


def test_margins_that_overflow_are_bounded():
    model = AdaRegRegressor("adagrad", "diag", eta=1e100, scaling=None)
    model.partial_fit(X[:1], [1.0])
    rows = FEW.copy()
    rows.data[:] = 1e300
    assert np.isfinite(model.predict(rows)).all()


def test_arrays_of_a_csr_matrix_need_not_be_contiguous():
    rows = sparse.csr_array((FEW.data[::-1], FEW.indices[::-1], [0, FEW.nnz]), (1, D))
    rows.has_canonical_format = True
    found = AdaRegRegressor().partial_fit(rows, [1.0]).coef_
    expected = AdaRegRegressor().partial_fit(sparse.csr_array(rows.toarray()), [1.0]).coef_
    np.testing.assert_allclose(found, expected)


def test_predictions_beside_learning_are_never_older_than_earlier_ones():
    """While rounds are played the model that was last shown predicts, unless columns of a later one were."""
    model = learnt()
    old = model.coef_.copy()
    model.partial_fit(X, SCORE > 0)
    newer = model.decision_function(FEW)  # by columns
    with _guard.guard_of(model).rounds:  # as if another thread were learning
        found = model.decision_function(FEW.toarray())
    np.testing.assert_allclose(found, newer, rtol=1e-9, atol=1e-12)
    assert not np.array_equal(model.coef_, old)
