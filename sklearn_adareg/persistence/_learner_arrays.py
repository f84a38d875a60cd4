"""Whether arrays that were read from a file are those of the method "information" (``_kernels/loop/_learner``).

Their shapes follow from the recipe, but for the room for rows that are kept: its kernel writes the next row behind those. So the
numbers by which it finds rows and their columns are held to what it would have made of them itself, and so is what it divides by:
counts, weights of candidates, sums of squares.
"""

import numpy as np

from .._kernels.aggregation._fixed_share import SCALES, positions
from .._kernels.loop import _learner
from ..model._recipe import first_unmet
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
    layout, shape = _learner.Layout(recipe, recipe.n_outputs), np.shape(arrays.get("row_values"))
    capacity, width = shape if len(shape) == 2 else (0, 0)
    return {**fresh, **recipe.method_class.rows_of(layout, min(capacity, MOST_ROWS), min(width, layout.D))}


def mismatch(recipe, arrays, n_classes):
    """Why arrays of the expected shapes, of finite numbers, are none of a learner, in a clause; None if they are.

    ``n_classes`` is that of the whole model, 0 of a regressor.
    """
    return first_unmet(_conditions(recipe, arrays, n_classes))


def _conditions(recipe, arrays, n_classes):
    layout = _learner.Layout(recipe, recipe.n_outputs)
    for name in NONNEGATIVE:
        yield (arrays[name] >= 0.0).all(), f"its array {name!r} has numbers below 0"
    yield (arrays["diagonal_scale"] > 0.0).all(), "its array 'diagonal_scale' has numbers that are not above 0"
    yield from _of_schedule(layout, arrays)
    yield from _of_columns(arrays["columns"], layout.d)
    yield from _of_columns(arrays["target_columns"], layout.targets, targets=True)
    yield from _of_weights(layout, arrays)
    yield from _of_rows(recipe, layout, arrays, n_classes)


def _of_schedule(layout, arrays):
    """The numbers of rows and of rounds to come."""
    rounds, schedule = arrays["clock"][0], len(arrays["numbers"]) - 2 * layout.memories
    numbers, due, absorbed = np.split(arrays["numbers"], [schedule, schedule + layout.memories])
    held, begins = numbers[ROWS], numbers[BEGINNING]
    yield begins in (0.0, 1.0), f"the mark of its beginning is {begins}"
    most = min(len(arrays["row_weights"]), (MOST_ROWS if begins else _learner.MOST) - 1, rounds)
    kept = held % 1 == 0 and 0 <= held <= most and (not begins or held == rounds)
    yield kept, f"the number of rows that it has kept is {held}"
    counts = (absorbed % 1 == 0) & (absorbed >= 0) & (absorbed <= held)
    yield counts.all(), "the numbers of rows that its memories have absorbed are none"
    in_time = (due >= 0) & (due <= rounds + _learner.MOST)
    yield in_time.all(), "the rounds in which its memories are due are none"
    times, spread = arrays["rests"][:, [WAKE, DECIDE]], arrays["rests"][:, SPREAD]
    in_time = (times >= 0) & (times <= rounds + _learner.CYCLE)
    yield in_time.all() and (spread >= 0).all(), "the rounds in which its candidates rest are none"
    latest = max(1.0, np.ceil(_learner.GROWTH * rounds))
    yield 0 <= numbers[ANEW] <= latest, "the round in which it begins anew is none"


def _of_columns(table, n, targets=False):
    """What rows could tell of n columns."""
    yield (table[[SQUARES, ENTRIES, SIZE]] >= 0.0).all(), "the sums of squares of its columns are none"
    around = (table[LOW] <= table[HIGH]) if targets else (table[LOW] <= 0.0) & (table[HIGH] >= 0.0)
    yield around.all(), "the limits of its columns are none"
    yield (table[LEAST] <= table[MOST]).all(), "the ranges of its columns are none"
    limits, others = table[[LOW, HIGH], n:], np.delete(table[:, n:], [LOW, HIGH], 0)
    yield (np.abs(limits) == UNLIMITED).all() and not others.any(), "it knows of columns that it has not"


def _of_weights(layout, arrays):
    """The weights of candidates."""
    shares, layers = arrays["shares"], arrays["share_layers"]
    regressions = arrays["share_regressions"].shape[1] if "share_regressions" in arrays else 0
    n = len(SCALES) * layout.B + regressions
    adds_up = not shares[:, :, n:].any() and np.abs(shares.sum(axis=2) - 1.0).max() <= ROUNDING
    yield adds_up, "the weights of its candidates do not add up to 1"
    yield np.abs(layers.sum(axis=1) - 1.0).max() <= ROUNDING, "the weights of its layers do not add up to 1"
    always = np.ones(n, dtype=bool)
    waits = arrays["clock"][0] < _learner.ROWS_PER_WEIGHT * layout.D
    if len(layout.priors) > 1 and waits:
        weak = np.flatnonzero(layout.priors < _learner.WEAK)
        always[positions(layout.B, len(layout.priors))[:, weak]] = False
    yield (shares[:, :, :n] @ always > 0.0).all(), "all weight is on candidates that may not take part yet"


def _of_rows(recipe, layout, arrays, n_classes):
    """The rows that it has kept, of its columns and targets."""
    held = rows_held(recipe, arrays)
    values, index, length = (arrays[name][:held] for name in ("row_values", "row_index", "row_length"))
    targets, weights = arrays["row_targets"][:held], arrays["row_weights"][:held]
    yield np.isin(arrays["row_rests"][:held], (0.0, 1.0)).all(), "the marks of the rows that it has kept are none"
    yield (weights > 0.0).all(), "the rows that it has kept have weights that are not above 0"
    fits = (length >= 0) & (length <= (values.shape[1] if layout.sparse else layout.D))
    yield fits.all(), "the rows that it has kept have other lengths than their values"
    if layout.sparse:
        there = np.arange(values.shape[1]) < length[:, None]
        known = ((index >= 0) & (index < layout.D))[there]
        yield known.all(), "the rows that it has kept have columns that it has not"
        ascending = (np.diff(index, axis=1) > 0)[there[:, 1:]]
        yield ascending.all(), "the columns of the rows that it has kept are not sorted"
    else:
        yield not values[:, layout.D :].any(), "the rows that it has kept have values behind their columns"
    yield are_of_classes(targets, n_classes), "the rows that it has kept are of none of its classes"


def are_of_classes(targets, n_classes):
    """Whether targets, as kernels read them, are of these classes; all are where there are none."""
    allowed = [-1.0, 1.0] if n_classes == 2 else np.arange(n_classes)
    return not n_classes or np.isin(targets, allowed).all()
