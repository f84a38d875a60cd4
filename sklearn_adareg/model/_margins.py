"""The margins of rows: what predictions start from."""

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from .._kernels.data import _small_arrays

FEW = 2_000  # products, up to which NumPy's machinery takes longer than the arithmetic
LARGEST = np.finfo(np.float64).max


def margins(X, coef, intercept, limits=None):
    """X·coef' + intercept, (n_rows, n_outputs); the largest double stands for what is beyond it.

    ``limits``, (2, d), are the least and the largest value of each feature that count: what is beyond counts as they do.
    """
    small = type(X) is np.ndarray and len(X) == 1 and type(coef) is np.ndarray and coef.size <= FEW
    if small and X.dtype == np.float64 and X.flags.c_contiguous and coef.flags.c_contiguous:
        result = _small_arrays.margins(X, coef, intercept, limits)
        if result is not None:
            return result
    if limits is not None:
        X = limited(X, limits)
    with np.errstate(over="ignore", invalid="ignore"):
        result = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
        if not np.isfinite(result.sum()):  # some margin, or only the sum
            for row in np.flatnonzero(~np.isfinite(result).all(axis=1)):
                result[row] = _bounded(X[[row]], coef, intercept)
    return result


def limited(X, limits):
    """X with each value moved to the nearest one within the limits; X itself where all are within. 0 always is."""
    low, high = limits
    if not sparse.issparse(X):
        within = ((low <= X) & (high >= X)).all()
        return X if within else np.clip(X, low, high)
    low, high = low[X.indices], high[X.indices]
    if ((X.data >= low) & (X.data <= high)).all():
        return X
    return type(X)((np.clip(X.data, low, high), X.indices, X.indptr), shape=X.shape)


def _bounded(row, coef, intercept):
    """The margins of a row whose terms overflow: from numbers of size 1, in a unit that is bounded at the end."""
    values = row.toarray()[0] if sparse.issparse(row) else row[0]
    weights = coef.toarray() if sparse.issparse(coef) else coef
    terms = np.append(values.astype(np.float64), 1.0)
    factors = np.column_stack([weights, np.broadcast_to(intercept, len(weights))])
    size, unit = np.abs(terms).max(), np.maximum(np.abs(factors).max(axis=1), 1.0)
    scaled = (factors / unit[:, None]) @ (terms / size)
    return np.clip(scaled * size * unit, -LARGEST, LARGEST)
