"""From a validated matrix to rows that the kernels read: the one fork between dense and sparse."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._kernels.data._rows import DenseRows, SparseRows
from . import _registry

LARGEST_INDEX = np.iinfo(np.int32).max - 1
WIDE = 4  # weight vectors from which on skipping the zeros of a dense row is worth the search for them


class Reading(NamedTuple):
    """How the structure of a recipe reads rows."""

    intercept: bool
    drop_zeros: bool
    as_dense: bool  # rows that are sparse, too
    wide: bool  # the zeros of a dense row are skipped where there are many


def reading(recipe):
    """How rows are read.

    Where a structure's rounds are sparse, a penalty applies in the rounds in which a feature is not zero, and so does dual
    averaging in running units, or with a half-life, where each coordinate has its own step size; zeros are dropped then.
    Otherwise dual averaging with a potential that varies with time moves all coordinates in every round, and gets dense rows; so
    does a user's potential with a domain that moves the whole point, since it is evaluated at all coordinates at once.
    """
    structure = _registry.STRUCTURES[recipe.structure]
    potential = _registry.potential(recipe.potential)
    projects_all = potential.in_python and not _registry.DOMAINS[recipe.domain].coordinatewise
    waits = structure.own_steps and recipe.dual and (recipe.scaled or recipe.half_life is not None)
    drop_zeros = not projects_all and (waits or (bool(recipe.alpha) and structure.sparse_rounds))
    moves_all = potential.time_varying and recipe.dual and not drop_zeros
    learner = _registry.METHODS[recipe.method].learner  # which reads all rows as its first ones
    as_dense = not recipe.sparse if learner else projects_all or moves_all
    wide = not as_dense and not learner and structure.sparse_rounds and recipe.n_outputs * recipe.rates >= WIDE
    return Reading(bool(recipe.intercept), drop_zeros, as_dense, wide)


def make_rows(X, how, transform=None):
    """Rows of X, read as ``reading`` says; by a feature transform, of which sparse ones become dense."""
    if transform is not None:  # in which a 0 is a value like any other
        how = how._replace(drop_zeros=False, wide=False)
    if type(X) is np.ndarray or not sparse.issparse(X):
        return DenseRows(X, how.intercept, how.drop_zeros, drop_many=how.wide, transform=transform)
    # a column twice in a row would be stepped twice from one gradient
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return SparseRows(X, how.intercept, how.drop_zeros, how.as_dense, transform)


def largest_norm(X, order):
    """The largest ℓ_order norm of a row; infinite where it overflows."""
    norm = sparse.linalg.norm if sparse.issparse(X) else np.linalg.norm
    with np.errstate(over="ignore"):
        return float(np.max(norm(X, ord=order, axis=1), initial=0.0))


def most_parts(X, numbers):
    """Nonzero features of a row, those of one block counted once: the most there are. ``numbers``: the block of each feature."""
    values = sparse.csr_array(X)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(values.indptr))
    there = values.data != 0
    parts = sparse.coo_array(
        (np.ones(there.sum()), (rows[there], numbers[values.indices[there]])),
        shape=(X.shape[0], int(numbers.max(initial=0)) + 1),
    ).tocsr()  # which adds up what has one place
    return int(np.diff(parts.indptr).max(initial=0))
