"""The candidates that the default learner combines, by name."""

import numpy as np

from ..model import _registry, _runtime


def names(recipe):
    """The names of the base candidates, in the order of the learner's arrays."""
    return [
        *(f"prior {prior:g}" for prior in np.ravel(recipe.epsilon)),
        *(f"memory {_rows(kept)}" for kept in recipe.kept[1:]),
        *(f"diagonal memory {_rows(kept)}" for kept in recipe.diagonal_kept),
        "constant",
    ]


def _rows(kept):
    """How many rows a memory has: 1/(1 − λ)."""
    return f"{1.0 / (1.0 - kept):.0f}"


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
