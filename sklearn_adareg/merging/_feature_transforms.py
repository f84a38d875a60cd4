"""Weights in the coordinates that another model has chosen (``_feature_transform``)."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from ..model import _feature_transform


def common_transform(states):
    """The coordinates of the model that has learnt most, among those that have chosen some; None if none has."""
    transformed = [state for state in states if state.feature_transform is not None]
    return max(transformed, key=lambda state: state.rounds).feature_transform if transformed else None


def in_coordinates_of(state, transform):
    """The state with its weights in other coordinates. The sums of squares, which are about each feature's own part, stay."""
    if state.feature_transform is transform or _same(state.feature_transform, transform):
        return state
    state = state.copy()
    for block in state.blocks:
        arrays, d = block.arrays, block.recipe.d
        scale = np.where(arrays["scale"] > 0.0, arrays["scale"], 1.0)
        for name in ("x", "u"):
            if name in arrays["fields"]:
                cells = arrays["cells"][arrays["fields"].index(name)]
                weights = cells.T / scale
                intercept = weights[:, d] if block.recipe.intercept else np.zeros(len(weights))
                coef, intercept = weights[:, :d], intercept
                if state.feature_transform is not None:
                    coef, intercept = _feature_transform.to_raw(state.feature_transform, coef, intercept)
                coef, intercept = from_raw(transform, coef, intercept)
                weights[:, :d] = coef
                if block.recipe.intercept:
                    weights[:, d] = intercept
                cells[:] = (weights * scale).T
    state.feature_transform = transform
    return state


def from_raw(transform, coef, intercept):
    """Weights of the features as weights in a transform: what ``to_raw`` undoes."""
    centre, start, partner, share = transform
    d = len(centre)
    intercept = intercept + coef @ centre
    map_ = sparse.eye_array(d, format="csc") - sparse.csr_array((share, partner, start), shape=(d, d)).T
    return np.atleast_2d(spsolve(map_.tocsc(), coef.T).T.reshape(coef.shape)), intercept


def _same(one, other):
    return one is not None and other is not None and all(map(np.array_equal, one, other))
