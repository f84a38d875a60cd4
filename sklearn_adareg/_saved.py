"""Checks of a state that was read from a file, before a kernel sees its arrays."""

import numpy as np

from . import _frame, _recipe
from ._kernels import _records, _tracks

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
    what = _frame.mismatch(state.frame, recipe.d)
    if what is not None:
        return what
    what = _records.mismatch(state.progress.sums, state.progress.points)
    what = what or _tracks.mismatch(state.progress.tracks, recipe.lanes)
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


def _mismatch_of_memory(arrays, fresh, rounds):
    """What does not fit of a half-life: rounds, coordinates and factors that kernels trust."""
    for name in fresh:
        prefix, _, kind = name.rpartition(":")
        found = arrays[name]
        if kind == "charged" and not ((found >= 0) & (found <= rounds)).all():
            return f"its array {name!r} has rounds that were not played"
        if kind == "fade" and not ((found >= 0) & (found <= 1)).all():
            return f"its array {name!r} is not within 0 and 1"
        if kind == "turn":
            n = fresh[f"{prefix}:P" if prefix else "P"].shape[1]
            if not ((found >= 0) & (found < n) & (found % 1 == 0)).all():
                return f"its array {name!r} has numbers that are none of its {n} coordinates"
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
    what = _mismatch_of_memory(block.arrays, fresh, rounds)
    if what is not None:
        return what
    for name in fresh:
        what, most = _count(name, fresh)
        count = block.arrays[name]
        if what and not ((count >= 0) & (count <= most) & (count % 1 == 0)).all():
            return f"its count of {what} is {count.tolist()} and not within 0 and {most}"
    return None


def _count(name, fresh):
    """What an array of a structure counts, and how many there may be; None if it counts nothing."""
    kind = name.rpartition(":")[2]
    if kind == "count":
        return "pending updates", fresh[name.replace("count", "pending_g")].shape[1] - 1
    if kind in ("filled", "served"):
        return "rows", fresh["B"].shape[1]
    return None, 0
