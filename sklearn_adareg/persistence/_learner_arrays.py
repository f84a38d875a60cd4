"""Whether arrays that were read from a file are those of the method "information" (``_kernels/loop/_learner``).

Their shapes follow from the recipe, but for the room for rows that are kept: its kernel writes the next row behind those. So the
numbers by which it finds rows and their columns are held to what it would have made of them itself, and so is what it divides by:
counts, weights of candidates, sums of squares.
"""

import numpy as np

from .._kernels.aggregation._fixed_share import SCALES, positions
from .._kernels.loop import _learner
from ..model._state import rows_held

# of ``numbers``, before the schedule: for each memory when it is due, and how many of the rows it has absorbed
ROWS, BEGINNING, ANEW = -3, -2, -1
WAKE, DECIDE, LEVEL, SPREAD = 0, 1, 2, 3  # of ``rests``
SQUARES, ENTRIES, SIZE, LOW, HIGH, LEAST, MOST = 1, 3, 4, 5, 6, 7, 8  # rows of ``columns``
UNLIMITED = 1e300
MOST_ROWS = _learner.KEPT + _learner.MOST  # that there is room for
NONNEGATIVE = ("mass", "counts", "units", "diagonal_G", "shares", "share_layers", "row_weights")
ROUNDING = 1e-6  # of a sum of weights


def too_short(recipe, arrays):
    """Whether arrays have not the size that a recipe asks for, before as many are allocated."""
    s = _learner.Layout(recipe, recipe.n_outputs)
    sizes = {"G": s.P * s.memories * s.pairs * s.room**2, "x": s.P * s.room * s.V}
    return any(np.size(arrays.get(name)) != size for name, size in sizes.items())


def allocate(recipe, arrays):
    """Arrays with the shapes and dtypes that these should have: those of a new state, and as much room for rows as there is."""
    fresh = recipe.method_class.allocate(recipe, recipe.n_outputs)
    layout = _learner.Layout(recipe, recipe.n_outputs)
    capacity, width = _room(arrays.get("row_values"))
    return {**fresh, **recipe.method_class.rows_of(layout, capacity, min(width, layout.D))}


def _room(values):
    shape = np.shape(values)
    return (min(shape[0], MOST_ROWS), shape[1]) if len(shape) == 2 else (0, 0)


def mismatch(recipe, arrays, n_classes):
    """Why arrays of the expected shapes, of finite numbers, are none of a learner, in a clause; None if they are.

    ``n_classes`` is that of the whole model, 0 of a regressor.
    """
    layout = _learner.Layout(recipe, recipe.n_outputs)
    for name in NONNEGATIVE:
        if not (arrays[name] >= 0.0).all():
            return f"its array {name!r} has numbers below 0"
    if not (arrays["diagonal_scale"] > 0.0).all():
        return "its array 'diagonal_scale' has numbers that are not above 0"
    return (
        _wrong_schedule(layout, arrays)
        or _wrong_columns(arrays["columns"], layout.d)
        or _wrong_columns(arrays["target_columns"], layout.targets, targets=True)
        or _wrong_weights(layout, arrays)
        or _wrong_rows(recipe, layout, arrays, n_classes)
    )


def _wrong_schedule(layout, arrays):
    """Why the numbers of rows and of rounds to come are none, in a clause."""
    rounds, schedule = arrays["clock"][0], len(arrays["numbers"]) - 2 * layout.memories
    numbers, due, absorbed = np.split(arrays["numbers"], [schedule, schedule + layout.memories])
    held, begins = numbers[ROWS], numbers[BEGINNING]
    if begins not in (0.0, 1.0):
        return f"the mark of its beginning is {begins}"
    most = min(len(arrays["row_weights"]), (MOST_ROWS if begins else _learner.MOST) - 1, rounds)
    if not (held % 1 == 0 and 0 <= held <= most and (not begins or held == rounds)):
        return f"the number of rows that it has kept is {held}"
    if not ((absorbed % 1 == 0).all() and (absorbed >= 0).all() and (absorbed <= held).all()):
        return "the numbers of rows that its memories have absorbed are none"
    if not ((due >= 0).all() and (due <= rounds + _learner.MOST).all()):
        return "the rounds in which its memories are due are none"
    times, spread = arrays["rests"][:, [WAKE, DECIDE]], arrays["rests"][:, SPREAD]
    if not ((times >= 0).all() and (times <= rounds + _learner.CYCLE).all() and (spread >= 0).all()):
        return "the rounds in which its candidates rest are none"
    if not 0 <= numbers[ANEW] <= max(1.0, np.ceil(_learner.GROWTH * rounds)):
        return "the round in which it begins anew is none"
    return None


def _wrong_columns(table, n, targets=False):
    """Why what is known of n columns is nothing that rows could tell, in a clause."""
    if not (table[[SQUARES, ENTRIES, SIZE]] >= 0.0).all():
        return "the sums of squares of its columns are none"
    around = (table[LOW] <= table[HIGH]) if targets else (table[LOW] <= 0.0) & (table[HIGH] >= 0.0)
    if not around.all():
        return "the limits of its columns are none"
    if not (table[LEAST] <= table[MOST]).all():
        return "the ranges of its columns are none"
    behind = table[:, n:]
    if not (np.abs(behind[[LOW, HIGH]]) == UNLIMITED).all() or np.delete(behind, [LOW, HIGH], 0).any():
        return "it knows of columns that it has not"
    return None


def _wrong_weights(layout, arrays):
    """Why the weights of candidates are none, in a clause."""
    shares, layers = arrays["shares"], arrays["share_layers"]
    regressions = arrays["share_regressions"].shape[1] if "share_regressions" in arrays else 0
    n = len(SCALES) * layout.B + regressions
    if shares[:, :, n:].any() or np.abs(shares.sum(axis=2) - 1.0).max() > ROUNDING:
        return "the weights of its candidates do not add up to 1"
    if np.abs(layers.sum(axis=1) - 1.0).max() > ROUNDING:
        return "the weights of its layers do not add up to 1"
    always = np.ones(n, dtype=bool)
    waits = arrays["clock"][0] < _learner.ROWS_PER_WEIGHT * layout.D
    if len(layout.priors) > 1 and waits:
        weak = np.flatnonzero(layout.priors < _learner.WEAK)
        always[positions(layout.B, len(layout.priors))[:, weak]] = False
    if not (shares[:, :, :n] @ always > 0.0).all():
        return "all weight is on candidates that may not take part yet"
    return None


def _wrong_rows(recipe, layout, arrays, n_classes):
    """Why the rows that it has kept are none of its columns and targets, in a clause."""
    held = rows_held(recipe, arrays)
    values, index, length = (arrays[name][:held] for name in ("row_values", "row_index", "row_length"))
    targets, weights = arrays["row_targets"][:held], arrays["row_weights"][:held]
    if not np.isin(arrays["row_rests"][:held], (0.0, 1.0)).all():
        return "the marks of the rows that it has kept are none"
    if not (weights > 0.0).all():
        return "the rows that it has kept have weights that are not above 0"
    if not ((length >= 0).all() and (length <= (values.shape[1] if layout.sparse else layout.D)).all()):
        return "the rows that it has kept have other lengths than their values"
    if layout.sparse:
        there = np.arange(values.shape[1]) < length[:, None]
        if not ((index >= 0) & (index < layout.D))[there].all():
            return "the rows that it has kept have columns that it has not"
        if not (np.diff(index, axis=1) > 0)[there[:, 1:]].all():
            return "the columns of the rows that it has kept are not sorted"
    elif values[:, layout.D :].any():
        return "the rows that it has kept have values behind their columns"
    allowed = [-1.0, 1.0] if n_classes == 2 else np.arange(n_classes)
    if n_classes and not np.isin(targets, allowed).all():
        return "the rows that it has kept are of none of its classes"
    return None
