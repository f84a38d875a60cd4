"""The default learner's candidates: their names and weights, and the sums of the longest memory that they are solved with.

Sums are about the means of the columns.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..model import _registry, _runtime

LEAST_RIDGE, MOST_RIDGE = 1e-13, 1e-3  # of a diagonal of 1, where a factor fails without


def names(recipe):
    """The names of the base candidates, in the order of the learner's arrays."""
    return [
        *(f"prior {prior:g}" for prior in np.ravel(recipe.epsilon)),
        *(f"memory {1.0 / (1.0 - kept):.0f}" for kept in recipe.kept[1:]),  # in rows
        *(f"diagonal memory {1.0 / (1.0 - kept):.0f}" for kept in recipe.diagonal_kept),
        "constant",
    ]


def weights_by_name(state):
    """What each candidate counts in the published model: a number, or an array with one for each output that learns by itself."""
    recipe = state.recipe
    if not _registry.METHODS[recipe.method].learner:
        raise AttributeError(
            f"candidate_weights_ is of models whose method_ is 'information', and this one's is {recipe.method!r}; leave eta='auto' "
            "with structure='full'."
        )
    weights = np.concatenate([_runtime.method_of(block).candidate_weights() for block in state.blocks])
    columns = weights.T if len(weights) > 1 else weights[0].tolist()
    return dict(zip(names(recipe), columns, strict=True))


class System(NamedTuple):
    """What a candidate of one problem is solved with, n rows: for each class those coordinates that have a part."""

    A: np.ndarray  # (n, n): G + R
    ridge: np.ndarray  # (n,): the diagonal of R
    coordinate: np.ndarray  # (n,)
    component: np.ndarray  # (n,): the class

    @property
    def G(self):
        """The sum of the rows alone."""
        return self.A - np.diag(self.ridge)


def absorbed(block):
    """The learner of a copy of a block, with all rows so far in its sums."""
    method = _runtime.method_of(block.copy())
    method.candidate_weights()  # which says what candidates take part
    method.forget_rows()
    return method


def systems(method, candidate):
    """The systems of a candidate of the longest memory, for each problem."""
    return [System(*own) for own in method.systems(candidate)]


def inverse(A):
    """Of a positive definite matrix, by a factor in coordinates with a diagonal of 1."""
    size = np.sqrt(np.diag(A))
    scaled, ridge = A / np.outer(size, size), 0.0
    while True:
        try:
            factor = cho_factor(scaled + ridge * np.eye(len(A)))
            return cho_solve(factor, np.eye(len(A))) / np.outer(size, size)
        except LinAlgError:
            ridge = max(10.0 * ridge, LEAST_RIDGE)
            if ridge > MOST_RIDGE:
                raise


def geometry(block):
    """Pairs of G, and H = (G + R)⁻¹ of the candidate that counts most, (D, D) each, for every weight vector of a block."""
    method, D = absorbed(block), block.recipe.D
    found = []
    shares = method.candidate_weights()
    for p, own in enumerate(shares):
        leading = systems(method, int(np.argmax(own[: np.size(block.recipe.epsilon)])))
        # one system of all classes of a softmax, or one for each
        several = len(leading) // len(shares)
        for system in leading[p * several : (p + 1) * several]:
            H = inverse(system.A)
            for c in np.unique(system.component):
                rows = np.flatnonzero(system.component == c)
                pair = np.zeros((2, D, D))
                at = np.ix_([0, 1], system.coordinate[rows], system.coordinate[rows])
                pair[at] = [A[np.ix_(rows, rows)] for A in (system.G, H)]
                found.append(tuple(pair))
    return found
