"""A state made from what a file holds: plain arrays and numbers, of which none is trusted.

Kernels run without bounds checks. So there is one recipe, which has to be one that parameters could have made (``_recipe_checks``);
blocks follow from it. Arrays have to have the names, shapes and dtypes of those that it allocates, and finite values; the numbers
among them by which kernels find their way are checked by the kernels' classes (``mismatch``).
"""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from scipy import sparse

from .._kernels.prequential import _records
from .._kernels.state._setting import Setting
from ..model import _feature_transform, _recipe, _registry, _rules
from ..model._prequential import Progress
from ..model._recipe import DamagedState, first_unmet
from ..model._state import FORMAT, Block, Runtime, Snapshot, State, is_one_block
from ..model._validation import FLOATS
from . import _learner_arrays, _recipe_checks, _upgrade

PARTS = {
    *("format", "recipe", "classes", "class_counts", "blocks", "feature_transform", "units_from_rows"),
    *("one_run", "beginning", "progress", "reported", "snapshot"),
}
ARRAYS = (np.ndarray, np.memmap)  # and no other subclass, which may have ways of its own
MOST_ROUNDS = 2.0**45  # whole numbers that kernels make of rounds are small enough


def read_state(kept, constraints, parameters=None):
    """The state of a file, or of a pickle of an earlier version; a ``DamagedState`` if it is none.

    Parameters
    ----------
    kept : dict or State
        What ``State.to_plain`` gave; in a pickle of an earlier version a State with what that version kept.
    constraints : dict
        Of the parameters of the estimator, among them the losses that it has.
    parameters : dict
        The parameters themselves, which a state of version 0.1 takes its loss from.
    """
    kept = vars(kept) if isinstance(kept, State) else kept
    found = kept.get("format") if isinstance(kept, dict) else None
    if type(found) is not int or found < 1:
        raise DamagedState(f"its format is {found!r}, which is not a format of sklearn_adareg")
    if found > FORMAT:
        raise ValueError(
            f"This model was saved in format {found} by a newer sklearn_adareg, which this version (format {FORMAT}) "
            "cannot read; upgrade sklearn_adareg."
        )
    try:
        if found < FORMAT:
            kept = _upgrade.upgrade_state(kept, parameters)
        return _made_of(kept, constraints)
    except DamagedState:
        raise
    except Exception as error:  # whatever its parts are, they are none of a state
        raise DamagedState("its parts are incomplete, or of other kinds") from error


def read_state_of(estimator):
    """The state that was read into an estimator, if it fits what else was read."""
    values = vars(estimator)
    state = read_state(values["_state"], estimator._parameter_constraints, values)
    begun_with, names = values.get("_begun_with"), values.get("feature_names_in_")
    if not isinstance(begun_with, dict) or not begun_with.keys() <= set(_rules.LASTING):
        raise DamagedState("the parameters that it began with are none")
    if values.get("n_features_in_") != state.recipe.d:
        raise DamagedState(f"it has not the {state.recipe.d} features of its recipe")
    if names is not None and (type(names) not in ARRAYS or names.shape != (state.recipe.d,)):
        raise DamagedState("the names of its features are none")
    return state


def _made_of(kept, constraints):
    strange = sorted(PARTS ^ kept.keys(), key=str)
    if strange:
        raise DamagedState(f"it lacks its {strange[0]}, or has one that it should not have")
    classes = kept["classes"]
    _refuse(first_unmet(_of_classes(classes, kept["class_counts"])))
    try:
        recipe = _recipe.from_plain(kept["recipe"])
    except TypeError as error:
        raise DamagedState("its recipe is incomplete") from error
    _refuse(_recipe_checks.mismatch(recipe, classes, constraints))
    state = object.__new__(State)
    state.runtime, state.recipe = Runtime(), recipe
    state.classes = None if classes is None else np.array(classes)
    state.class_counts = None if classes is None else np.array(kept["class_counts"])
    n_classes = 0 if classes is None else len(classes)
    state.blocks = _blocks(recipe, kept["blocks"], n_classes)
    state.feature_transform = kept["feature_transform"]
    if state.feature_transform is not None and not recipe.transformed:
        raise DamagedState("it has other coordinates than its recipe")
    _refuse(_feature_transform.mismatch(state.feature_transform, recipe.d))
    state.progress = Progress.from_plain(kept["progress"])
    targets = recipe.n_outputs if recipe.loss in _registry.REGRESSION_LOSSES else 0
    _refuse(_records.mismatch(state.progress.sums, state.progress.points))
    _refuse(_records.Tracks.mismatch(state.progress.tracks, targets))
    state.beginning = _beginning(state, kept["beginning"])
    state.snapshot = _snapshot(recipe, kept["snapshot"])
    if len(kept["reported"]) != 2 or not all(isinstance(value, Real) for value in kept["reported"]):
        raise DamagedState("what it has printed is not known")
    state.reported = tuple(map(float, kept["reported"]))
    state.units_from_rows, state.one_run = bool(kept["units_from_rows"]), bool(kept["one_run"])
    return state


def _refuse(what):
    if what is not None:
        raise DamagedState(what)


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _blocks(recipe, kept, n_classes):
    """The blocks of a state, each with the state's recipe for its weight vectors."""
    sizes = [each["n_outputs"] for each in kept]
    if not all(type(size) is int and size > 0 for size in sizes) or sum(sizes) != recipe.n_outputs:
        raise DamagedState(f"its blocks do not have the {recipe.n_outputs} weight vectors of its recipe")
    if len(sizes) > 1 and is_one_block(recipe):
        raise DamagedState("its weight vectors are in several blocks, and depend on each other")
    blocks, first, taken = [], 0, set()
    for size, each in zip(sizes, kept, strict=True):
        block = object.__new__(Block)
        block.recipe = recipe if size == recipe.n_outputs else replace(recipe, n_outputs=size)
        block.first_output, block.runtime = first, Runtime()
        block.arrays = {name: _own(value, taken) for name, value in each["arrays"].items()}
        _refuse(_mismatch_of_arrays(block.recipe, block.arrays, n_classes))
        block.arrays = block.without_room()
        blocks.append(block)
        first += size
    if len({float(block.arrays["clock"][0]) for block in blocks}) > 1:
        raise DamagedState("its blocks have played different numbers of rounds")
    if len({len(block.arrays.get("row_weights", ())) for block in blocks}) > 1:
        raise DamagedState("its blocks have kept different numbers of rows")
    return blocks


def _own(value, taken):
    """An array as kernels take it, a copy where another name has the very same one; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    again = id(value) in taken
    taken.add(id(value))
    return value.copy() if again else np.ascontiguousarray(value) if value.ndim else value


def _mismatch_of_arrays(recipe, arrays, n_classes):
    """Why these are not the arrays of a block with this recipe, in a clause; None if they are."""
    learner = _registry.METHODS[recipe.method].learner
    numbers = sum(value.size for value in arrays.values() if isinstance(value, np.ndarray))
    short = numbers < recipe.n_outputs * recipe.rates * recipe.D
    if short or (learner and _learner_arrays.too_short(recipe, arrays)):  # before as many are allocated
        return f"its arrays are too short for {recipe.n_outputs} weight vectors of {recipe.d} features"
    allocate = _learner_arrays.allocate if learner else _recipe.allocate
    fresh = allocate(recipe, arrays if learner else recipe.n_outputs)
    for name in sorted(fresh.keys() ^ arrays.keys(), key=str):
        return f"its array {name!r} is {'missing' if name in fresh else 'none of its recipe'}"
    for name, expected in fresh.items():
        found = arrays[name]
        if not isinstance(expected, np.ndarray):
            if type(found) is not type(expected) or found != expected:
                return f"its {name!r} is {found!r} and not {expected!r}"
        elif type(found) not in ARRAYS:
            return f"its array {name!r} is missing"
        elif (found.shape, found.dtype) != (expected.shape, expected.dtype):
            return (
                f"its array {name!r} has shape {found.shape} and dtype {found.dtype} where its recipe asks for "
                f"{expected.shape} and {expected.dtype}"
            )
        elif not np.isfinite(found).all():
            return f"its array {name!r} has numbers that are not finite"
    rounds, weight = arrays["clock"]
    if not (0 <= rounds <= MOST_ROUNDS and rounds % 1 == 0 and weight >= 0):
        return f"its number of rounds is {rounds}"
    if learner:
        return _learner_arrays.mismatch(recipe, arrays, n_classes)
    setting = Setting(recipe, recipe.n_outputs)
    return recipe.method_class.mismatch(recipe.structure_class, setting, arrays)


# ---- what a state has beside them ------------------------------------------------------------------------------------


def _of_classes(classes, counts):
    """What classes have to be with their counts, if there are any."""
    if not (classes is None and counts is None):
        labels = type(classes) in ARRAYS and classes.ndim == 1 and len(classes) > 1
        yield labels, "its classes are not a list of two or more labels"
        yield (classes[1:] > classes[:-1]).all(), "its classes are not sorted"
        yield _is_array(counts, (len(classes),)) and (counts >= 0).all(), "its counts do not fit its classes"


def _is_array(found, shape, dtypes=(np.float64,)):
    """Whether this is an array of this shape and one of these dtypes, with finite values."""
    fits = type(found) in ARRAYS and found.shape == shape and found.dtype in dtypes
    return fits and bool(np.isfinite(found).all())


def _beginning(state, kept):
    """The first rows of a model that is to choose its coordinates, without those that stopped a round; None if there are none."""
    if kept is None:
        return None
    if not state.recipe.transformed:
        raise DamagedState("it has kept its first rows, and has no use for them")
    n_classes = 0 if state.classes is None else len(state.classes)
    shapes = (state.recipe.d,), (1 if n_classes else state.recipe.n_outputs,), ()
    parts, ahead = [], state.rounds
    for arrays in kept:
        length = min(ahead, len(arrays[0]))
        rows, targets, weights = (array[:length] for array in arrays)
        fits = all(
            _is_array(array, (length, *shape), FLOATS if array is rows else FLOATS[:1])
            for array, shape in zip((rows, targets, weights), shapes, strict=True)
        )
        if not (fits and (weights > 0).all()):
            raise DamagedState("the first rows that it has kept are not rows, targets and weights")
        if not _learner_arrays.are_of_classes(targets, n_classes):
            raise DamagedState("the first rows that it has kept are of none of its classes")
        parts.append((rows, targets, weights))
        ahead -= length
    return tuple(parts)


def _snapshot(recipe, kept):
    """The published model where the user made it sparse."""
    if kept is None:
        return None
    rounds, coef, intercept, limits = kept
    if isinstance(rounds, Integral) and sparse.issparse(coef) and coef.format == "csr":
        coef.check_format(full_check=True)
        shapes = coef.shape == (recipe.n_outputs, recipe.d) and coef.dtype == np.float64
        allowed = limits is None or (
            _is_array(limits, (2, recipe.d)) and (limits[0] <= 0.0).all() and (limits[1] >= 0.0).all()
        )
        if shapes and allowed and _is_array(intercept, (recipe.n_outputs,)):
            return Snapshot(int(rounds), coef, intercept, limits)
    raise DamagedState("its sparse weights are none of its recipe")
