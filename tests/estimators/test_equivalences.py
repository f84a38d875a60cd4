"""How rows arrive does not matter: dense or sparse, whole or in chunks, in which numbers."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from support.data import POTENTIALS, RADIUS, STRUCTURES, UPDATES, FourthRoot, estimator, learn, rows, target, weights_of

from sklearn_adareg.model import _registry

# One variation at a time over all potentials, structures and updates, each with another average.
VARIATIONS = {
    "plain": {"average": True},
    "last iterate": {"average": False},
    "ball": {"domain": "l2", "radius": RADIUS, "average": 2.0},
    "box": {"domain": "box", "radius": RADIUS / 4, "average": 0.5},
    "l1": {"domain": "l1", "radius": RADIUS, "average": False},
    "simplex": {"domain": "simplex", "radius": RADIUS, "average": True},
    "nonnegative": {"domain": "nonnegative", "average": 2.0, "fit_intercept": False},
    "half-life": {"half_life": 6.0, "average": True},
    "half-life in a ball": {"half_life": 6.0, "domain": "l2", "radius": RADIUS, "average": 2.0},
    "half-life and ridge": {"half_life": 20.0, "alpha": 0.05, "average": False},
    "ridge": {"alpha": 0.05, "average": 2.0},
    "ridge, last": {"alpha": 0.05, "average": False, "loss": "hinge"},
    "elastic net": {"alpha": 0.05, "l1_ratio": 0.5, "average": True},
    "lasso in a box": {"alpha": 0.05, "l1_ratio": 1.0, "average": False, "domain": "box", "radius": RADIUS},
}
every_algorithm = [
    pytest.mark.parametrize("update", UPDATES),
    pytest.mark.parametrize("structure", STRUCTURES),
    pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot()], ids=[*POTENTIALS, "custom"]),
]


def for_every_algorithm(test):
    for mark in every_algorithm:
        test = mark(test)
    return test


def variations(structure):
    """Parameters to try; not every structure takes an L1 penalty."""
    for params in VARIATIONS.values():
        entry = _registry.STRUCTURES[structure]
        if (entry.takes_l1 or not params.get("l1_ratio")) and (entry.forgets or "half_life" not in params):
            yield params


def pair(potential, structure, update, params):
    """Two new estimators alike, and a stream for them."""
    X, score = rows(1, n=90)
    loss = params.get("loss", "squared_error")
    make = [estimator(potential, structure, **{"loss": loss, "update": update, **params}) for _ in range(2)]
    return *make, X, target(loss, score)


# --- dense and sparse -----------------------------------------------------------------------------


@for_every_algorithm
def test_sparse_rows_give_the_dense_model(potential, structure, update):
    for params in variations(structure):
        dense, compressed, X, y = pair(potential, structure, update, params)
        learn(dense, X, y)
        learn(compressed, sparse.csr_array(X), y)
        np.testing.assert_allclose(weights_of(compressed), weights_of(dense), rtol=1e-9, atol=1e-9, err_msg=str(params))
        assert compressed.progressive_loss_ == pytest.approx(dense.progressive_loss_, rel=1e-9)


def wide(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X):
    X = sparse.csr_array(X)
    for start, stop in pairwise(X.indptr):
        X.indices[start:stop] = X.indices[start:stop][::-1].copy()
        X.data[start:stop] = X.data[start:stop][::-1].copy()
    X.has_sorted_indices = False
    return X


def duplicated(X):
    """Every entry in two parts of itself, one behind the other."""
    X = sparse.csr_array(X)
    X = sparse.csr_array((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    X.data[::2] *= 0.25
    X.data[1::2] *= 0.75
    return X


def with_explicit_zeros(X):
    full = np.tile(np.arange(X.shape[1], dtype=np.int32), len(X))
    return sparse.csr_array((X.ravel().copy(), full, X.shape[1] * np.arange(len(X) + 1)), shape=X.shape)


FORMATS = {
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "int64 indices": wide,
    "unsorted": unsorted,
    "duplicates": duplicated,
    "explicit zeros": with_explicit_zeros,
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "list": lambda X: X.tolist(),
}


def test_the_formats_are_what_they_say():
    X, _ = rows(1, n=20)
    assert wide(X).indices.dtype == wide(X).indptr.dtype == np.int64
    assert not unsorted(X).has_sorted_indices
    assert duplicated(X).nnz == 2 * np.count_nonzero(X)
    assert with_explicit_zeros(X).nnz == X.size > np.count_nonzero(X)
    for change in FORMATS.values():
        same = change(X)
        np.testing.assert_array_equal(same.toarray() if sparse.issparse(same) else same, X)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_any_format_gives_the_dense_model(structure, update, form):
    for params in ({}, {"alpha": 0.05, "average": False}, {"domain": "l2", "radius": RADIUS}):
        dense, other, X, y = pair("pnorm", structure, update, params)
        learn(dense, X, y)
        learn(other, FORMATS[form](X), y)
        np.testing.assert_allclose(weights_of(other), weights_of(dense), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.predict(FORMATS[form](X)), dense.predict(X), rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_int32_indptr_beside_int64_indices_is_read_right(structure):
    dense, mixed, X, y = pair("adagrad", structure, "mirror_descent", {})
    other = wide(X)
    other.indptr = other.indptr.astype(np.int32)
    np.testing.assert_allclose(weights_of(learn(mixed, other, y)), weights_of(learn(dense, X, y)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_stream_may_change_between_dense_and_sparse(structure, update):
    for params in ({}, {"alpha": 0.05}, {"domain": "l1", "radius": RADIUS}):
        dense, mixed, X, y = pair("adagrad", structure, update, params)
        learn(dense, X, y)
        for start, change in ((0, sparse.csr_array), (30, np.asarray), (60, sparse.csr_matrix)):
            learn(mixed, change(X[start : start + 30]), y[start : start + 30])
        np.testing.assert_allclose(weights_of(mixed), weights_of(dense), rtol=1e-9, atol=1e-9)


# --- chunks ---------------------------------------------------------------------------------------


@for_every_algorithm
def test_chunks_give_the_model_of_the_whole_to_the_bit(potential, structure, update):
    """In ninety rounds rank-one updates are folded in twice, within chunks and at their ends."""
    cuts = [0, 1, 2, 31, 33, 40, 71, 90]
    for params in variations(structure):
        for change in (np.asarray, sparse.csr_array):
            whole, chunked, X, y = pair(potential, structure, update, params)
            X = change(X)
            learn(whole, X, y)
            for start, stop in pairwise(cuts):
                learn(chunked, X[start:stop], y[start:stop])
                _ = chunked.coef_  # publishing changes nothing
            np.testing.assert_array_equal(weights_of(chunked), weights_of(whole), err_msg=str(params))
            assert chunked.t_ == whole.t_ == 90
            assert chunked.progressive_loss_ == pytest.approx(whole.progressive_loss_, rel=1e-13)


@for_every_algorithm
def test_fit_without_shuffling_is_partial_fit_to_the_bit(potential, structure, update):
    for params in variations(structure):
        once, fitted, X, y = pair(potential, structure, update, params)
        weight = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
        learn(once, X, y, weight)
        fitted.fit(X, y, weight)
        np.testing.assert_array_equal(weights_of(fitted), weights_of(once), err_msg=str(params))
        assert fitted.progressive_loss_ == once.progressive_loss_


@pytest.mark.parametrize("structure", STRUCTURES)
def test_two_epochs_are_two_calls_of_partial_fit_to_the_bit(structure):
    twice, fitted, X, y = pair("ons", structure, "mirror_descent", {"average": 2.0})
    learn(learn(twice, X, y), X, y)
    fitted.set_params(max_iter=2).fit(X, y)
    np.testing.assert_array_equal(weights_of(fitted), weights_of(twice))


# --- the numbers ----------------------------------------------------------------------------------


@for_every_algorithm
def test_single_precision_rows_give_nearly_the_same_model(potential, structure, update):
    for params in (VARIATIONS["plain"], VARIATIONS["ball"], VARIATIONS["ridge, last"]):
        double, single, X, y = pair(potential, structure, update, params)
        learn(double, X, y)
        learn(single, X.astype(np.float32), y)
        np.testing.assert_allclose(weights_of(single), weights_of(double), rtol=1e-4, atol=1e-5)
        # The state is double in any case: rows that single precision holds agree to the bit.
        exact = np.round(X * 64) / 64
        double, single, _, _ = pair(potential, structure, update, params)
        learn(double, exact, y)
        learn(single, exact.astype(np.float32), y)
        np.testing.assert_array_equal(weights_of(single), weights_of(double))
        double, single, _, _ = pair(potential, structure, update, params)
        learn(double, sparse.csr_array(exact), y)
        learn(single, sparse.csr_array(exact.astype(np.float32)), y)
        np.testing.assert_array_equal(weights_of(single), weights_of(double))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_integer_rows_are_numbers_too(structure):
    whole, floating, X, y = pair("adagrad", structure, "mirror_descent", {})
    X = np.round(3 * X).astype(int)
    learn(whole, X, y)
    learn(floating, X.astype(float), y)
    np.testing.assert_array_equal(weights_of(whole), weights_of(floating))


# --- the input is read where it lies, and only read -----------------------------------------------


def frozen(X):
    for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        part.flags.writeable = False
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("change", [np.array, sparse.csr_array, wide], ids=["dense", "csr", "int64"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_read_only_rows_are_read(structure, change, dtype):
    writeable, readonly, X, y = pair("adagrad", structure, "mirror_descent", {"alpha": 0.01})
    learn(writeable, change(X.astype(dtype)), y)
    y.flags.writeable = False
    learn(readonly, frozen(change(X.astype(dtype))), y)
    readonly.fit(frozen(change(X.astype(dtype))), y, np.broadcast_to(1.0, len(y)))
    np.testing.assert_array_equal(weights_of(readonly), weights_of(writeable))


@pytest.mark.parametrize("form", ["csr", "dense", *FORMATS])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_input_is_never_modified(structure, form):
    X, score = rows(2, n=60)
    y = target("log_loss", score)
    given = {"csr": sparse.csr_array, "dense": np.array, **FORMATS}[form](X)
    weight = np.arange(60.0) % 3
    parts = [y, weight]
    if sparse.issparse(given):
        parts += [given.data] + [getattr(given, n) for n in ("indices", "indptr") if hasattr(given, n)]
    elif isinstance(given, np.ndarray):
        parts.append(given)
    before = [part.copy() for part in parts]
    for params in ({}, {"alpha": 0.1}, {"domain": "l2", "radius": 0.1}):
        model = learn(estimator("adagrad", structure, **params), given, y, weight)
        model.set_params(max_iter=2, shuffle=True).fit(given, y, weight)
        model.predict(given)
    for part, was in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, was)
    if form == "list":
        assert given == X.tolist()
    elif form == "duplicates":
        assert given.nnz == len(before[2])


N_BIG, D_BIG = 10_000, 100


def big(form, tmp_path):
    rng = np.random.default_rng(0)
    if "csr" in form:
        X = sparse.random(N_BIG, D_BIG, density=0.5, format="csr", random_state=rng)
        return frozen(wide(X) if form == "wide csr" else X)
    X = rng.normal(size=(N_BIG, D_BIG)).astype(np.float32 if form == "float32" else np.float64)
    if form == "memory map":
        np.save(tmp_path / "X.npy", X)
        return np.load(tmp_path / "X.npy", mmap_mode="r")
    return frozen(np.asfortranarray(X) if form == "Fortran" else X)


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("form", ["float64", "float32", "memory map", "csr", "wide csr", "Fortran"])
def test_rows_that_fit_are_not_copied(form, alpha, tmp_path):
    X = big(form, tmp_path)
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes
    y = np.resize([-1, 1], N_BIG)
    stream, batch = (estimator("adagrad", "diag", alpha=alpha, max_iter=2) for _ in range(2))
    learn(stream, X[:10], y[:10])  # whatever is imported late has been by now
    tracemalloc.start()
    try:
        learn(stream, X, y)
        batch.set_params(shuffle=True).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if form == "Fortran":  # which must be copied, and shows that a copy would be seen
        assert peak > size
    else:  # targets, their encoding, the order of the rows: some numbers a row
        assert peak < min(size / 2, 20 * 8 * N_BIG)
