"""What lives between calls: the recipe and the arrays of the structures. Pickled as plain arrays and numbers."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from . import _recipe, _registry
from ._prequential import Progress

# 1: version 0.1, whose recipes had other names and no loss; 2 and 3: 0.2.0.dev0, which had other names and pickled these classes;
# 4: 0.2.0.dev0, whose default was other methods
FORMAT = 5


class Runtime:
    """What only a running process has: compiled objects bound to arrays, made when they are first needed, and what was measured.

    It is neither copied nor pickled: a copy of a state makes its own.
    """

    method = None  # of a block: the compiled method
    reading = None  # of a block: how its structure reads rows
    records = None  # of a state: the compiled prequential records
    looked_up = (
        -1,
        0,
    )  # of a state: its rounds when columns were last published alone (−1: never), and how many were since
    pace = None  # of a state: seconds per round


class Block:
    """The arrays of weight vectors that read each row together."""

    def __init__(self, recipe, first_output, outputs):
        self.recipe = recipe if recipe.n_outputs == outputs else replace(recipe, n_outputs=outputs)
        self.first_output = first_output
        self.arrays = _recipe.allocate(recipe, outputs)
        self.runtime = Runtime()

    def outputs(self):
        """Which of the model's weight vectors these are."""
        return slice(self.first_output, self.first_output + self.recipe.n_outputs)

    def make_writeable(self):
        """Copy the arrays of a memory-mapped pickle, which are read-only."""
        for name, value in self.arrays.items():
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                self.arrays[name] = value.copy(order="K")

    def without_room(self):
        """The arrays, those of rows that are kept as long as these rows are many: no file has rows that are kept no more."""
        if not _registry.METHODS[self.recipe.method].learner:
            return self.arrays
        held = rows_held(self.recipe, self.arrays)
        return {name: array[:held] if name.startswith("row_") else array for name, array in self.arrays.items()}

    def forget_rows(self):
        """Keep no row, and nothing of rows kept before."""
        arrays = self.without_room().items()
        self.arrays = {name: array.copy() if name.startswith("row_") else array for name, array in arrays}
        self.runtime = Runtime()

    def copy(self):
        """An independent block that goes on from here."""
        twin = object.__new__(Block)
        vars(twin).update(vars(self), runtime=Runtime())
        arrays = self.arrays.items()
        twin.arrays = {name: a.copy(order="K") if isinstance(a, np.ndarray) else a for name, a in arrays}
        return twin


class Snapshot(NamedTuple):
    """The fitted model after so many rounds."""

    rounds: int
    coef: object  # an array, or a sparse matrix where the user asked for one
    intercept: np.ndarray
    limits: np.ndarray | None = None  # of the values that count in predictions


class State:
    """A model in the making, from its recipe and the labels of a classifier."""

    feature_transform = None  # the coordinates that the blocks learn in; None: those of the rows
    units_from_rows = False  # features got their units from rows before these were predicted
    one_run = True  # these weight vectors have played all rounds, one after the other
    beginning = None  # the first rows, while coordinates are to be chosen: (rows, targets, weights) of each part

    def __init__(self, recipe, classes=None):
        self.recipe, self.classes = recipe, classes
        self.class_counts = None if classes is None else np.zeros(len(classes))
        self.blocks = new_blocks(recipe)
        self.beginning = () if recipe.transformed else None
        numbers = recipe.loss in _registry.REGRESSION_LOSSES
        self.progress = Progress(recipe.n_outputs if numbers else 0)  # of the rows at first sight
        self.reported = (0.0, 0.0)  # losses and weights of what was last printed
        self.snapshot = None  # the fitted model as last shown
        self.runtime = Runtime()

    @property
    def rounds(self):
        """Rounds played so far."""
        return int(self.blocks[0].arrays["clock"][0])

    def set_loss_parameters(self, values):
        """Give the loss other parameter values."""
        self.recipe = replace(self.recipe, loss_parameters=values)
        for block in self.blocks:
            block.recipe = replace(block.recipe, loss_parameters=values)

    def copy(self):
        """An independent state that goes on from here."""
        twin = object.__new__(State)
        vars(twin).update(vars(self), runtime=Runtime())
        twin.snapshot = self._sparse_snapshot()
        twin.blocks = [block.copy() for block in self.blocks]
        twin.progress = self.progress.copy()
        twin.class_counts = None if self.class_counts is None else self.class_counts.copy()
        return twin

    def _sparse_snapshot(self):
        """The published model where the user made it sparse; a dense one is computed again."""
        shown = self.snapshot
        return shown if shown is not None and sparse.issparse(shown.coef) else None

    def to_plain(self):
        """A dict of plain arrays and numbers, which is what is pickled; ``persistence._states.read_state`` makes a state of it."""
        kept = {name: value for name, value in vars(self).items() if name != "runtime"}
        kept |= {name: getattr(self, name) for name in ("feature_transform", "units_from_rows", "one_run")}
        sparse_snapshot = self._sparse_snapshot()
        kept["snapshot"] = None if sparse_snapshot is None else tuple(sparse_snapshot)
        kept["recipe"] = _recipe.to_plain(self.recipe)
        kept["progress"] = self.progress.to_plain()
        kept["blocks"] = [{"n_outputs": own.recipe.n_outputs, "arrays": own.without_room()} for own in self.blocks]
        return {"format": FORMAT, **kept}


def rows_held(recipe, arrays):
    """How many rows a learner keeps, or waits to absorb: the number before two marks and the schedule of its memories."""
    return int(arrays["numbers"][len(arrays["numbers"]) - 2 * len(recipe.kept) - 3])


def new_blocks(recipe):
    """Blocks that have learnt nothing."""
    return [Block(recipe, part[0], len(part)) for part in split_outputs(recipe)]


def class_numbers(encoded, classes):
    """0, 1, … from encoded targets, which are ±1 for two classes."""
    return (encoded > 0).astype(np.intp) if len(classes) == 2 else encoded.astype(np.intp)


def is_one_block(recipe):
    """Whether a loss or an H joins all weight vectors."""
    return recipe.joint or _registry.STRUCTURES[recipe.structure].couples_outputs


def split_outputs(recipe):
    """Outputs of each block: all in one if they are joined, else split evenly, whatever n_jobs, for threads to share."""
    outputs = recipe.n_outputs
    if is_one_block(recipe) or outputs == 1:
        return [range(outputs)]
    return np.array_split(np.arange(outputs), min(outputs, max(4, 2 * -(-outputs // 16))))


# ---- weight vectors taken from one block to another that has more of them ----------------------------------------------


def output_axes(recipe):
    """For each array the axis that goes by weight vectors, and how many numbers each has along it: (axis, per weight vector).

    None for an array that belongs to no weight vector. Matrices over all weight vectors, whose two axes go by them, are left out.
    """
    few, more = (_recipe.allocate(recipe, outputs) for outputs in (3, 4))
    axes = {}
    for name, array in few.items():
        if isinstance(array, np.ndarray):
            growth = np.subtract(more[name].shape, array.shape)
            along = np.flatnonzero(growth)
            if len(along) < 2:
                axes[name] = (int(along[0]), int(growth[along[0]])) if len(along) else None
    return axes


def outputs_of(which, many, members):
    """Where the numbers of some of so many weight vectors are: member r of k is at r·many + k."""
    return (np.arange(members)[:, None] * many + which).ravel()


def copy_outputs(block, to, old, which, axes):
    """Give outputs ``to`` of a block what the outputs ``which`` of an older one have; and what belongs to no output."""
    for name, axis in axes.items():
        source, target = old.arrays[name], block.arrays[name]
        if axis is None:
            target[...] = source
            continue
        source, target = np.moveaxis(source, axis[0], 0), np.moveaxis(target, axis[0], 0)
        before, after = old.recipe.n_outputs, block.recipe.n_outputs
        target[outputs_of(to, after, axis[1])] = source[outputs_of(which, before, axis[1])]
        target[after * axis[1] :] = source[before * axis[1] :]  # numbers behind those of the weight vectors


def copy_known(block, blocks, places, axes):
    """Give a block what older ones know of its weight vectors, which are at these places among those of all blocks."""
    for old in blocks:
        own = places[old.outputs()] - block.first_output
        here = np.flatnonzero((own >= 0) & (own < block.recipe.n_outputs))
        copy_outputs(block, own[here], old, here, axes)
