"""The weight vectors of a model that does not know all classes, put among those of all classes."""

from dataclasses import replace

import numpy as np

from ..estimators._new_classes import wider_learners
from ..model import _registry
from ..model._outputs import copy_known, output_axes
from ..model._state import State
from ..model._validation import shown


def check_classes(parts, classes):
    """Refuse to bring together models of which one has two classes and knows no others."""
    for part in parts:
        if len(part) == 2 < len(classes):
            raise ValueError(
                f"A model of the two classes {shown(part)} has one weight vector and cannot be merged with one of {shown(classes)}, "
                "which has one for each; pass all classes to the first partial_fit of every model."
            )


def with_classes(state, classes):
    """A state that knows these classes: those that are new to it have no evidence."""
    if state.classes is None or np.array_equal(state.classes, classes):
        return state
    places = np.searchsorted(classes, state.classes)
    grown = State(replace(state.recipe, n_outputs=len(classes)), classes)
    np.put(grown.class_counts, places, state.class_counts)
    grown.progress, grown.feature_transform, grown.beginning = (
        state.progress.copy(),
        state.feature_transform,
        state.beginning,
    )
    if _registry.METHODS[state.recipe.method].learner:
        grown.blocks = wider_learners(state, grown.recipe, places)
        return grown
    axes = output_axes(grown.recipe)
    for block in grown.blocks:
        copy_known(block, state.blocks, places, axes)
    return grown
