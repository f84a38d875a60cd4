"""Validation, and a way past its cost for arrays that need none: the same checks, without the general machinery."""

import numpy as np
from sklearn.utils.validation import validate_data

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def as_it_is(estimator, X):
    """Whether X can be taken as it is by a fitted estimator: a C-contiguous float array of the right width, all finite."""
    return (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and X.shape[0] > 0
        and X.flags.c_contiguous
        and X.shape[1] == estimator.n_features_in_
        and "feature_names_in_" not in vars(estimator)
        and bool(np.isfinite(X).all())
    )


def check_rows(estimator, X):
    """Rows to predict for."""
    if as_it_is(estimator, X):
        return X
    return validate_data(
        estimator,
        X,
        reset=False,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
    )


def check_rows_and_targets(estimator, X, y, *, reset, numeric):
    """Rows to learn from and their targets; C-contiguous or CSR, float64 or float32."""
    plain = type(y) is np.ndarray and y.ndim == 1 and type(X) is np.ndarray and len(y) == len(X)
    finite = plain and (y.dtype.kind in "iub" or (y.dtype.kind == "f" and np.isfinite(y).all()))
    if not reset and finite and as_it_is(estimator, X):
        return X, y
    return validate_data(
        estimator,
        X,
        y,
        reset=reset,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
        order="C",
        multi_output=True,
        y_numeric=numeric,
    )
