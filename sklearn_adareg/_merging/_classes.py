"""The weight vectors of a model that does not know all classes, put among those of all classes."""

from dataclasses import replace

import numpy as np

from .._checks import shown
from .._lanes import copy_known, lane_axes
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
    axes = lane_axes(grown.recipe)
    for block in grown.blocks:
        copy_known(block, state.blocks, places, axes)
    return grown
