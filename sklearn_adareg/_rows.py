"""From a validated matrix to rows that the kernels read: the one fork between dense and sparse."""

import numpy as np
from scipy import sparse

from . import _registry
from ._kernels._rows import DenseRows, SparseRows

LARGEST_INDEX = np.iinfo(np.int32).max - 1
WIDE = 4  # lanes from which on skipping the zeros of a dense row is worth the search for them


def make_rows(X, recipe, frame=None):
    """Rows of X as the state's structure reads them.

    Where a structure's rounds are sparse, a penalty applies in the rounds in which a feature is not zero, and so does dual
    averaging in running units, or with a half-life, where each coordinate has its own step size; zeros are dropped then.
    Otherwise dual averaging with a potential that varies with time moves all coordinates in every round, and gets dense rows; so
    does a user's potential with a domain that moves the whole point, since it is evaluated at all coordinates at once.
    ``frame``: the coordinates that rows are learnt in (``_frame``), and in which sparse ones are dense.
    """
    structure = _registry.STRUCTURES[recipe.structure]
    potential = _registry.potential(recipe.potential)
    projects_all = potential.in_python and not _registry.DOMAINS[recipe.domain].coordinatewise
    waits = structure.own_steps and recipe.dual and (recipe.scaled or recipe.half_life is not None)
    drop_zeros = not projects_all and (waits or (bool(recipe.alpha) and structure.sparse_rounds))
    moves_all = potential.time_varying and recipe.dual and not drop_zeros
    as_dense = projects_all or moves_all
    if not sparse.issparse(X):
        wide = not as_dense and structure.sparse_rounds and recipe.lanes * recipe.rates >= WIDE
        return DenseRows(
            X, recipe.intercept, drop_zeros, drop_many=wide and frame is None, frame=frame
        )
    # a column twice in a row would be stepped twice from one gradient
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return SparseRows(X, recipe.intercept, drop_zeros, as_dense, frame)


def largest_norm(X, order):
    """The largest ℓ_order norm of a row; infinite where it overflows."""
    norm = sparse.linalg.norm if sparse.issparse(X) else np.linalg.norm
    with np.errstate(over="ignore"):
        return float(np.max(norm(X, ord=order, axis=1), initial=0.0))
