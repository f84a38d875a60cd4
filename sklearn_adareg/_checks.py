"""Validation, and a way past its cost for arrays that need none: the same checks, without the general machinery."""

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
FEW = 10_000
CSR = (sparse.csr_matrix, sparse.csr_array)
CONVERSION = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
}


def as_it_is(X):
    """Whether X needs no conversion: rows and columns of floats, C-contiguous or CSR, and neither a subclass nor a container."""
    if type(X) is np.ndarray:
        fits = X.dtype in FLOATS and X.ndim == 2 and X.flags.c_contiguous
    else:
        fits = type(X) in CSR and X.dtype in FLOATS and X.ndim == 2
    return fits and X.shape[0] > 0 and X.shape[1] > 0


def known_shape(estimator, X):
    """Whether X is as wide as what the estimator was fitted on, and nobody asks for the names of its columns."""
    return X.shape[1] == estimator.n_features_in_ and "feature_names_in_" not in vars(estimator)


def check_finite(estimator, X):
    """Refuse rows that are not finite, in scikit-learn's words."""
    values = X.data if sparse.issparse(X) else X
    if values.size <= FEW:
        sound = np.isfinite(values).all()
    else:  # no array beside a large one: a sum tells, unless it overflows
        with np.errstate(over="ignore", invalid="ignore"):
            sound = np.isfinite(values.sum())
    if not sound:
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")


def check_columns(X):
    """Refuse column numbers that are none of X, which scipy takes unseen."""
    if sparse.issparse(X) and X.indices.size:
        low, high = X.indices.min(), X.indices.max()
        if low < 0 or high >= X.shape[1]:
            raise ValueError(
                f"X has the column number {low if low < 0 else high} and {X.shape[1]} columns; build the CSR matrix anew, its "
                "indices do not fit its shape."
            )


def check_rows(estimator, X):
    """Rows to predict for."""
    if as_it_is(X) and known_shape(estimator, X):
        check_finite(estimator, X)
        return X
    return validate_data(estimator, X, reset=False, **CONVERSION)


def check_rows_and_targets(estimator, X, y, *, reset, numeric, finite=True):
    """Rows to learn from and their targets; C-contiguous or CSR, float64 or float32.

    With ``finite=False`` the caller sees to it that the values of X are, and that its column numbers fit: the rounds stop at
    a row of which that is not true.
    """
    plain = as_it_is(X) and type(y) is np.ndarray and y.ndim == 1 and len(y) == X.shape[0]
    if plain and (y.dtype.kind in "iub" or (y.dtype.kind == "f" and np.isfinite(y).all())):
        if reset or not known_shape(estimator, X):
            X, y = validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        if finite:
            check_finite(estimator, X)
            check_columns(X)
        return X, y
    X, y = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        order="C",
        multi_output=True,
        y_numeric=numeric,
        ensure_all_finite=finite,
        **CONVERSION,
    )
    if finite:
        check_columns(X)
    return X, y
