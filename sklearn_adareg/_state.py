"""What lives between calls: the recipe and the arrays of the structures. The only thing that is pickled."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from . import _recipe, _registry
from ._progress import Progress
from ._saved import UNREADABLE, DamagedState
from ._upgrade import upgrade_arrays, upgrade_recipe, upgrade_state

FORMAT = 2  # 1: version 0.1, whose recipes had other names and no loss


class Block:
    """The arrays of weight vectors that read each row together."""

    def __init__(self, recipe, first_lane, lanes):
        self.recipe = recipe if recipe.lanes == lanes else replace(recipe, lanes=lanes)
        self.first_lane = first_lane
        self.arrays = _recipe.allocate(recipe, lanes)

    def lanes(self):
        """Which of the model's weight vectors these are."""
        return slice(self.first_lane, self.first_lane + self.recipe.lanes)

    def make_writeable(self):
        """Copy the arrays of a memory-mapped pickle, which are read-only."""
        for name, value in self.arrays.items():
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                self.arrays[name] = _copied(value)

    def copy(self):
        """An independent block that goes on from here."""
        twin = object.__new__(Block)
        vars(twin).update(vars(self))
        twin.arrays = {name: _copied(value) for name, value in self.arrays.items()}
        return twin

    def __getstate__(self):
        return {**vars(self), "recipe": _recipe.to_plain(self.recipe)}

    def __setstate__(self, kept):
        try:
            old = "newton" in kept["recipe"]
            recipe = _recipe.from_plain(upgrade_recipe(kept["recipe"]))
            kept = dict(kept)
            if old:
                kept["arrays"] = upgrade_arrays(kept["arrays"], recipe.lanes, recipe.rates)
        except UNREADABLE as error:
            raise DamagedState("its recipe is incomplete") from error
        vars(self).update(kept, recipe=recipe)


class Publication(NamedTuple):
    """The fitted model after so many rounds."""

    rounds: int
    coef: object  # an array, or a sparse matrix where the user asked for one
    intercept: np.ndarray


class State:
    """A model in the making.

    Parameters
    ----------
    recipe : Recipe
        The resolved parameters that decide which kernels run, with which numbers.
    classes : ndarray or None
        The labels of a classifier.
    """

    frame = None  # the coordinates that the blocks learn in; None: those of the rows
    units_from_rows = False  # features got their units from rows before these were predicted
    one_run = True  # these weight vectors have played all rounds, one after the other
    early = None  # the first rows, while coordinates are to be chosen: (rows, targets, weights) of each part

    def __init__(self, recipe, classes=None):
        self.recipe = recipe
        self.classes = classes
        self.class_counts = None if classes is None else np.zeros(len(classes))
        self.blocks = new_blocks(recipe)
        self.early = () if recipe.framed else None
        numbers = recipe.loss in _registry.REGRESSION_LOSSES
        self.progress = Progress(recipe.lanes if numbers else 0)  # of the rows at first sight
        self.reported = (0.0, 0.0)  # losses and weights of what was last printed
        self.publication = None  # the fitted model as last shown

    @property
    def rounds(self):
        """Rounds played so far."""
        return int(self.blocks[0].arrays["clock"][0])

    def set_loss(self, loss, parameters, lanes_are_classes):
        """Complete a state of version 0.1, or give the loss other parameter values."""
        self.recipe = _recipe.with_loss(self.recipe, loss, parameters, lanes_are_classes)
        for block in self.blocks:
            block.recipe = _recipe.with_loss(block.recipe, loss, parameters, lanes_are_classes)

    def copy(self):
        """An independent state that goes on from here."""
        twin = object.__new__(State)
        vars(twin).update(vars(self))
        twin.publication = self._sparse_publication()
        twin.blocks = [block.copy() for block in self.blocks]
        twin.progress = self.progress.copy()
        twin.class_counts = None if self.class_counts is None else self.class_counts.copy()
        return twin

    def _sparse_publication(self):
        """The published model where the user made it sparse; a dense one is computed again."""
        shown = self.publication
        return shown if shown is not None and sparse.issparse(shown.coef) else None

    def __getstate__(self):
        sparse_publication = self._sparse_publication()
        kept = {**vars(self), "recipe": _recipe.to_plain(self.recipe)}
        kept["publication"] = None if sparse_publication is None else tuple(sparse_publication)
        kept["progress"] = self.progress.to_plain()
        return {"format": FORMAT, **kept}

    def __setstate__(self, kept):
        kept = dict(kept)
        found = kept.pop("format", None)
        if not isinstance(found, int) or found < 1:
            raise DamagedState(f"its format is {found!r}, which is not a format of sklearn_adareg")
        if found > FORMAT:
            raise ValueError(
                f"This model was saved in format {found} by a newer sklearn_adareg, which this version (format {FORMAT}) "
                "cannot read; upgrade sklearn_adareg."
            )
        try:
            if found == 1:
                kept = upgrade_state(kept)
            recipe = _recipe.from_plain(kept["recipe"])
            if "totals" in kept:  # before records were kept
                kept["progress"] = Progress.of_earlier_version(*kept.pop("totals"))
            else:
                kept["progress"] = Progress.from_plain(kept["progress"])
            shown = kept["publication"]
            kept["publication"] = None if shown is None else Publication(*shown)
        except UNREADABLE as error:
            raise DamagedState("its recipe is incomplete") from error
        vars(self).update(kept, recipe=recipe)
        self._make_writeable()

    def _make_writeable(self):
        """Copy the small arrays of a memory-mapped pickle, which are read-only."""
        if self.class_counts is not None:
            self.class_counts = np.array(self.class_counts, dtype=np.float64)


def new_blocks(recipe):
    """Blocks that have learnt nothing."""
    return [Block(recipe, part[0], len(part)) for part in split_lanes(recipe)]


def class_numbers(encoded, classes):
    """0, 1, … from encoded targets, which are ±1 for two classes."""
    return (encoded > 0).astype(np.intp) if len(classes) == 2 else encoded.astype(np.intp)


def split_lanes(recipe):
    """Lanes of each block: all in one if a loss or an H joins them, else split evenly, whatever n_jobs, for threads to share."""
    lanes = recipe.lanes
    coupled = _registry.STRUCTURES[recipe.structure].couples_lanes
    if recipe.joint or coupled or lanes == 1:
        return [range(lanes)]
    return np.array_split(np.arange(lanes), min(lanes, max(4, 2 * -(-lanes // 16))))


def _copied(value):
    """A copy in the same memory layout."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
