"""The weight vectors of a model that does not know all classes, put among those of all classes."""

from dataclasses import replace

import numpy as np

from .. import _recipe
from .._checks import shown
from .._state import State


def check_classes(parts, classes):
    """Refuse to bring together models of which one has two classes and knows no others."""
    for part in parts:
        if len(part) == 2 < len(classes):
            raise ValueError(
                f"A model of the two classes {shown(part)} has one weight vector and cannot be merged with one of {shown(classes)}, "
                "which has one for each; pass all classes to the first partial_fit of every model."
            )


def with_classes(state, classes):
    """A state that knows these classes: those that are new to it have weights of 0 and no evidence."""
    if state.classes is None or np.array_equal(state.classes, classes):
        return state
    places = np.searchsorted(classes, state.classes)
    grown = State(replace(state.recipe, lanes=len(classes)), classes)
    np.put(grown.class_counts, places, state.class_counts)
    grown.progress, grown.frame, grown.early = state.progress.copy(), state.frame, state.early
    for block in grown.blocks:
        axes = _axes_of_lanes(block.recipe)
        for name, array in block.arrays.items():
            if isinstance(array, np.ndarray) and name not in axes:
                array[...] = state.blocks[0].arrays[name]
        for own in state.blocks:
            for lane in range(own.recipe.lanes):
                place = places[own.first_lane + lane] - block.first_lane
                if 0 <= place < block.recipe.lanes:
                    _copy_lane(own, lane, block, place, axes)
    return grown


def _axes_of_lanes(recipe):
    """Which axes of which arrays count weight vectors: those that grow with them."""
    few, more = (_recipe.allocate(recipe, lanes) for lanes in (3, 4))
    axes = {}
    for name, array in few.items():
        if isinstance(array, np.ndarray):
            grown = [k for k in range(array.ndim) if array.shape[k] != more[name].shape[k]]
            if grown:
                axes[name] = grown
    return axes


def _copy_lane(own, lane, other, place, axes):
    """Numbers lie by member, block or step size, and then by weight vector."""
    for name, along in axes.items():
        old, new = own.arrays[name], other.arrays[name]
        if name == "committee_mean":
            new[place], new[-1] = old[lane], old[-1]
            continue
        if len(along) == 2:  # a matrix over weight vectors: rows and columns of all of them
            continue
        [axis] = along
        old, new = np.moveaxis(old, axis, 0), np.moveaxis(new, axis, 0)
        new[place :: other.recipe.lanes] = old[lane :: own.recipe.lanes]
