"""The blocks of structure="block": which features belong together."""

from numbers import Integral

import numpy as np
from scipy import sparse

LARGEST_BLOCK = 32  # that "auto" makes
FEW_FEATURES = LARGEST_BLOCK  # so many are one block
MANY_FEATURES = 3000  # beyond, and for sparse rows, correlations are not worked out
CONTIGUOUS = 8  # features of a block where they are not
FEWEST_ROWS, MOST_ROWS = 50, 2000  # that correlations are taken from
NOISE = 4.0  # times 1/√rows: correlations below are not distinguished from 0
EDGES = 4096  # that are looked at together


def resolve(blocks, X, feature_names=None):
    """The number of each feature's block, as a tuple, for a value of the parameter ``blocks``; "auto" looks at the values of X, the
    rows of the first call."""
    automatic = isinstance(blocks, str)
    numbers = _from_rows(X) if automatic else block_numbers(blocks, X.shape[1], feature_names)
    return tuple(numbers.tolist())


def block_numbers(blocks, d, feature_names=None):
    """The number of the block of each of d coordinates, for a size or a list of groups."""
    return contiguous(d, int(blocks)) if isinstance(blocks, Integral) else from_groups(blocks, d, feature_names)


def contiguous(d, size):
    """Blocks of ``size`` features that follow one another."""
    return np.arange(d) // min(size, d)


def from_groups(groups, d, feature_names=None):
    """The numbers of the blocks that groups of indices, slices or names make; features in none are blocks of their own."""
    numbers = np.full(d, -1, dtype=np.intp)
    count = 0
    for group in groups:
        own = _members(group, d, feature_names)
        taken = [i for i in own if numbers[i] >= 0]
        if taken or len(set(own)) < len(own):
            twice = taken[0] if taken else next(i for i in own if own.count(i) > 1)
            name = twice if feature_names is None else repr(str(feature_names[twice]))
            raise ValueError(f"blocks has feature {name} twice, and a feature has one block; leave one of the two out.")
        if own:
            numbers[own] = count
            count += 1
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = count + np.arange(len(alone))
    return in_order(numbers)


def in_order(numbers):
    """The same blocks, numbered in the order of their first features."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.intp)
    ranks[np.argsort(first)] = np.arange(len(first))
    return ranks[inverse]


def _members(group, d, feature_names):
    """The indices of one group."""
    if isinstance(group, slice):
        return list(range(*group.indices(d)))
    if isinstance(group, str | Integral) or not np.iterable(group):
        raise ValueError(
            f"blocks has the element {group!r}, and each must be a group of features; put it in a list of its own, [{group!r}]."
        )
    return [_index(member, d, feature_names) for member in group]


def _index(member, d, feature_names):
    """The index of one feature."""
    if isinstance(member, str):
        if feature_names is None:
            raise ValueError(
                f"blocks names the feature {member!r}, and X has no feature names; pass a DataFrame, or indices."
            )
        found = np.flatnonzero(feature_names == member)
        if not len(found):
            raise ValueError(f"blocks names the feature {member!r}, and X has none of that name; check the spelling.")
        return int(found[0])
    if not isinstance(member, Integral) or isinstance(member, bool | np.bool_):
        raise ValueError(
            f"blocks has {member!r} for a feature; pass indices from 0 to {d - 1}, slices, or feature names."
        )
    if not -d <= member < d:
        raise ValueError(f"blocks has the index {int(member)}, and X has {d} features; pass indices from 0 to {d - 1}.")
    return int(member) % d


# ---- "auto" ----------------------------------------------------------------------------------------------------------


def _from_rows(X):
    """All features in one block if they are few; else blocks of correlated ones, or of neighbours.

    Neighbours where correlations are not to be had: columns that lie side by side often come from one source (the columns of
    a one-hot encoding, lags, powers), and a block of features that have nothing in common costs time, not accuracy.
    """
    rows, d = X.shape
    if d <= FEW_FEATURES:
        return contiguous(d, d)
    if sparse.issparse(X) or rows < FEWEST_ROWS or d > MANY_FEATURES:
        return contiguous(d, CONTIGUOUS)
    rows = min(rows, MOST_ROWS)
    return correlated(np.asarray(X[:rows], dtype=np.float64), NOISE / np.sqrt(rows))


def correlated(X, threshold):
    """Blocks of correlated columns, at most ``LARGEST_BLOCK`` each.

    The pairs whose correlation is above the threshold in size are gone through from the largest down; each joins the blocks of
    its two features if they fit into one (single linkage with a limit). Columns that are constant or not finite stay alone.
    """
    d = X.shape[1]
    with np.errstate(all="ignore"):
        X = X - X.mean(axis=0)
        X /= np.sqrt((X * X).sum(axis=0))
        X[:, ~np.isfinite(X).all(axis=0)] = 0.0
    i, j = np.triu_indices(d, 1)
    size = np.abs((X.T @ X)[i, j])
    edges = np.flatnonzero(size > threshold)
    edges = edges[np.argsort(-size[edges], kind="stable")]
    numbers, sizes = np.arange(d), np.ones(d, dtype=np.intp)
    for at in range(0, len(edges), EDGES):
        some = edges[at : at + EDGES]
        a, b = numbers[i[some]], numbers[j[some]]
        for edge in some[(a != b) & (sizes[a] + sizes[b] <= LARGEST_BLOCK)]:
            one, other = numbers[i[edge]], numbers[j[edge]]
            if one != other and sizes[one] + sizes[other] <= LARGEST_BLOCK:
                numbers[numbers == other] = one
                sizes[one] += sizes[other]
    return in_order(numbers)
