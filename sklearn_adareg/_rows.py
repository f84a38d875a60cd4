"""From a validated matrix to rows that the kernels read: the one fork between dense and sparse."""

import numpy as np
from scipy import sparse

from ._kernels._rows import DenseRows, SparseRows

LARGEST_INDEX = np.iinfo(np.int32).max - 1


def make_rows(X, recipe):
    """Rows of X as the state's structure needs them.

    A penalty is charged where a feature is not zero, and diagonal dual averaging in running units moves it
    there, so zeros are dropped then. A user's potential under a domain that moves the
    whole point is asked about all coordinates at once, so it gets dense rows.
    """
    waits = (
        recipe["scaled"] and recipe["update"] == "dual_averaging" and recipe["structure"] == "diag"
    )
    drop_zeros = waits or (bool(recipe["alpha"]) and recipe["structure"] != "full")
    if not sparse.issparse(X):
        wide = recipe["structure"] != "full" and recipe["lanes"] * recipe["rates"] >= 4
        return DenseRows(X, recipe["intercept"], drop_zeros, drop_many=wide)
    # a column twice in a row would be stepped twice from one gradient
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    as_dense = not isinstance(recipe["potential"], str) and recipe["domain"] in (
        "l2",
        "l1",
        "simplex",
    )
    return SparseRows(X, recipe["intercept"], drop_zeros, as_dense)


def largest_norm(X, order):
    """The largest ℓ_order norm of a row."""
    if not sparse.issparse(X):
        return float(np.linalg.norm(X, ord=order, axis=1).max(initial=0.0))
    return float(np.max(sparse.linalg.norm(X, ord=order, axis=1), initial=0.0))
