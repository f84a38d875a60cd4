"""Checks of a state that was read from a file, before a kernel sees its arrays."""

import numpy as np

from . import _recipe
from ._kernels import _records

UNREADABLE = (
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)


class DamagedState(ValueError):
    """A saved model whose parts do not fit together."""

    def __init__(self, what):
        super().__init__(
            f"This saved model cannot be read, since {what}; the file is damaged or was changed, so fit the model again."
        )


def check_state(state):
    """Refuse a state whose arrays do not fit its recipe."""
    try:
        what = _mismatch(state)
    except UNREADABLE as error:
        raise DamagedState("its recipe makes no model") from error
    if what is not None:
        raise DamagedState(what)


def _mismatch(state):
    """What does not fit, in a clause; None if all does."""
    recipe, next_lane = state.recipe, 0
    for block in state.blocks:
        if block.first_lane != next_lane or vars(block.recipe).keys() != vars(recipe).keys():
            return "its blocks do not follow one another"
        next_lane += block.recipe.lanes
        what = _mismatch_of_block(block)
        if what is not None:
            return what
    what = _records.mismatch(state.progress.sums, state.progress.points)
    if what is not None:
        return what
    if not state.blocks or next_lane != recipe.lanes:
        return f"it has {next_lane} weight vectors where its recipe has {recipe.lanes}"
    if state.classes is not None:
        n_classes = len(state.classes)
        if n_classes < 2 or recipe.lanes not in ((1, 2) if n_classes == 2 else (n_classes,)):
            return f"it has {recipe.lanes} weight vectors for {n_classes} classes"
        if len(state.class_counts) != n_classes:
            return "its counts do not fit its classes"
    elif recipe.lanes_are_classes:
        return "it has no classes"
    return None


def _mismatch_of_block(block):
    recipe = block.recipe
    fresh = _recipe.allocate(recipe, recipe.lanes)
    for name, expected in fresh.items():
        found = block.arrays.get(name)
        if not isinstance(expected, np.ndarray):
            if found != expected:
                return f"its {name!r} is {found!r} and not {expected!r}"
        elif not isinstance(found, np.ndarray):
            return f"its array {name!r} is missing"
        elif (found.shape, found.dtype) != (expected.shape, expected.dtype):
            return (
                f"its array {name!r} has shape {found.shape} and dtype {found.dtype} where its recipe asks for "
                f"{expected.shape} and {expected.dtype}"
            )
    rounds = block.arrays["clock"][0]
    if not 0 <= rounds < np.inf:
        return f"its number of rounds is {rounds}"
    for name in fresh:
        if name.rpartition(":")[2] != "count":
            continue
        count, most = block.arrays[name], fresh[name.replace("count", "pending_g")].shape[1] - 1
        if not ((count >= 0) & (count <= most) & (count % 1 == 0)).all():
            return f"its count of pending updates is {count.tolist()} and not within 0 and {most}"
    return None
