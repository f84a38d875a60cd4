"""Classes that join a running model.

What the known classes have learnt stays as it is: weights, matrices, units and records. With K known classes after t rounds, the
margin of a new class begins as their mean less a constant, log(1 + t/K) for a softmax and 1 for a class against the rest. It is
below the largest margin, so no prediction changes, and a softmax gives it at most 1/(t + K + 1), Laplace's estimate for what did not
come in t rows. Its matrices begin as those of a new model, in the units that the features have now, so it learns as fast.
"""

from dataclasses import replace

import numpy as np

from . import _registry, _rules, _workers
from ._checks import shown
from ._lanes import copy_known, lane_axes, lanes_of
from ._state import Block, State, split_lanes

MARGIN = 1.0  # by which a class that is learnt against the rest begins on the other side


def check_growth(recipe, known, classes):
    """Refuse what cannot become more classes, in a sentence."""
    missing = known[~np.isin(known, classes)]
    if len(missing):
        raise ValueError(
            f"classes={shown(classes)} lacks {shown(missing[0])}, which this model has learnt; pass all known classes, "
            f"{shown(known)}, and the new ones, leave classes out, or start anew with fit."
        )
    why = None
    if len(known) == 2:
        why = "it learnt two classes with one weight vector, where more have one each"
    elif recipe.dual:
        why = "with update='dual_averaging' all its weights are those of the sums of gradients since the first row"
    elif recipe.domain is not None:
        why = f"domain={recipe.domain!r} confines weights that a new class would have to begin with"
    elif not _registry.STRUCTURES[recipe.structure].takes_more_lanes:
        why = f"structure={recipe.structure!r} has no room for another weight vector"
    if why is not None:
        raise ValueError(
            f"classes={shown(classes)} has labels that this model does not know, {shown(known)}, and it cannot take them in: {why}; "
            "pass three or more classes in the first call, those still to come among them, or start anew with fit."
        )


def with_more_classes(state, classes):
    """A state that goes on from this one with more classes, sorted."""
    check_growth(state.recipe, state.classes, classes)
    recipe = replace(state.recipe, lanes=len(classes))
    _rules.check_memory(recipe)
    places = np.searchsorted(classes, state.classes)
    twin = object.__new__(State)
    vars(twin).update(vars(state), recipe=recipe, classes=classes, publication=None, one_run=False)
    twin.class_counts = np.zeros(len(classes))
    twin.class_counts[places] = state.class_counts
    twin.progress = state.progress.copy()
    if state.early is not None:  # rows that are to be learnt anew
        twin.early = tuple(
            (rows, places[targets.astype(np.intp)].astype(np.float64), weights)
            for rows, targets, weights in state.early
        )
    twin.blocks = _wider_blocks(state, recipe, places)
    return twin


def _wider_blocks(state, recipe, places):
    """Blocks of all lanes: the known ones at their places among the classes, the others new."""
    known = len(places)
    axes = lane_axes(recipe)
    lowered = np.log1p(state.rounds / known) if recipe.joint else MARGIN
    start = _means(state.blocks, axes["cells"], known)
    blocks = []
    for part in split_lanes(recipe):
        block = Block(recipe, int(part[0]), len(part))
        copy_known(block, state.blocks, places, axes)
        new = np.setdiff1d(np.asarray(part), places) - part[0]
        _begin_lanes(block, new, axes["cells"], start, lowered)
        blocks.append(block)
    return blocks


def _means(blocks, axis, known):
    """The mean of the known lanes' numbers, for each field and member, (members, fields, D)."""
    total = 0.0
    for block in blocks:
        cells = np.moveaxis(block.arrays["cells"], axis[0], 0)
        total = total + cells.reshape(axis[1], block.recipe.lanes, *cells.shape[1:]).sum(axis=1)
    return total / known


def _begin_lanes(block, new, axis, start, lowered):
    """Lanes that know nothing begin at the mean of the others, with a lower intercept."""
    if not len(new):
        return
    cells = np.moveaxis(block.arrays["cells"], axis[0], 0)
    fields = block.arrays["fields"]
    for member in range(axis[1]):
        lanes = lanes_of(new, block.recipe.lanes, axis[1])[
            member * len(new) : (member + 1) * len(new)
        ]
        for name in ("x", "u"):
            if name in fields:
                cells[lanes, fields.index(name)] = start[member, fields.index(name)]
        if block.recipe.intercept:
            cells[lanes, fields.index("x"), -1] -= lowered
    _workers.method_of(block).structure.begin_lanes(lanes_of(new, block.recipe.lanes, axis[1]))
