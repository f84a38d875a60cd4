"""One state from several: sums add up, and so does evidence, whose precision-weighted mean the weights are elsewhere."""

from dataclasses import replace

import numpy as np

from ..model import _recipe, _registry, _runtime
from ..model._state import State
from ..model._validation import shown
from ._classes import check_classes, with_classes
from ._context import MergeContext
from ._feature_transforms import common_transform, in_coordinates_of
from ._information import merge_learners
from ._methods import merge_method, merge_units
from ._progress import merge_progress
from ._structures import merge_structure

MAY_DIFFER = ("sparse", "limits", "loss_parameters", "n_outputs", "outputs_are_classes")


def merge_states(states, base=None, finally_=True):
    """The state of all rows; what the states have from ``base``, which all went on from, counts once."""
    everyone = [*states] + ([] if base is None else [base])
    classes = states[0].classes
    if classes is not None:
        classes = np.unique(np.concatenate([state.classes for state in everyone]))
        check_classes([state.classes for state in everyone], classes)
    _check_alike(everyone)
    if len(states) == 1:
        return with_classes(states[0], classes).copy()
    everyone = [with_classes(state, classes) for state in everyone]
    transform = common_transform(everyone)
    if transform is not None:
        everyone = [in_coordinates_of(state, transform) for state in everyone]
    states = everyone[: len(states)]
    base = None if base is None else everyone[-1]
    merged = State(_common_recipe(states), classes)
    merged.feature_transform, merged.beginning, merged.one_run = transform, None, False
    merged.units_from_rows = any(state.units_from_rows for state in states)
    progresses = [state.progress for state in states]
    merged.progress = merge_progress(progresses, None if base is None else base.progress)
    begun = 0.0 if base is None else base.progress.total("rows")
    new_seen = np.array([progress.total("rows") - begun for progress in progresses])
    if classes is not None:
        merged.class_counts = sum(state.class_counts for state in states)
        if base is not None:
            merged.class_counts = merged.class_counts - (len(states) - 1) * base.class_counts
    learners = _registry.METHODS[merged.recipe.method].learner
    for number, block in enumerate(merged.blocks):
        if learners:
            own = None if base is None else base.blocks[number]
            merge_learners(block, [state.blocks[number] for state in states], own)
            continue
        new = _runtime.method_of(block)
        methods = [_runtime.method_of(state.blocks[number]) for state in states]
        own = None if base is None else _runtime.method_of(base.blocks[number])
        context = MergeContext(block.recipe, methods, own, new_seen, finally_)
        merge_units(context, new.arrays)
        merge_structure(context, new.structure)
        merge_method(context, new)
    return merged.copy()  # whose kernels are made anew, from the arrays as they are now


def _common_recipe(states):
    recipe = states[0].recipe
    limits = recipe.limits
    if limits is not None:
        limits = {name: max(each.recipe.limits[name] for each in states) for name in limits}
    return replace(recipe, sparse=any(state.recipe.sparse for state in states), limits=limits)


def _check_alike(states):
    """Refuse models whose matrices are about different things."""
    first = _recipe.to_plain(states[0].recipe)
    for state in states[1:]:
        values = _recipe.to_plain(state.recipe)
        for name in sorted(values, key=lambda name: name not in REASONS):  # the one that explains others first
            value = values[name]
            if name in MAY_DIFFER or _same(value, first[name]):
                continue
            why = REASONS.get(name, "give all models the same parameters, and let them learn in the same way")
            raise ValueError(
                f"These models cannot be merged, since {name} is {shown(first[name])} in one and {shown(value)} in another; {why}."
            )
    if states[0].classes is None:
        outputs = {state.recipe.n_outputs for state in states}
        if len(outputs) > 1:
            raise ValueError(
                f"These models cannot be merged, since they have {' and '.join(map(str, sorted(outputs)))} targets; merge models of "
                "the same targets."
            )


OTHER_CANDIDATES = (
    "learn with partial_fit in all of them or with a shuffled fit in all of them, which have other candidates"
)
REASONS = {
    "d": "merge models of the same features",
    "blocks": "pass blocks as groups of features, since blocks='auto' finds them in the first rows of each model",
    "coupled": "pass the same classes to the first partial_fit of every model, which decide whether these share a matrix",
    **dict.fromkeys(("kept", "epsilon", "eta", "diagonal_kept"), OTHER_CANDIDATES),
}


def _same(one, other):
    try:
        return bool(one == other)
    except ValueError:
        return np.array_equal(one, other)
