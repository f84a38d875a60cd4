"""What lives between calls: recipes (plain parameters) and the arrays of their structures. The only thing that is pickled."""

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from . import _registry
from ._kernels import _methods, _rounds, _stack
from ._kernels._setting import Setting
from ._rows import make_rows

FORMAT = 1
SETTING = (
    *("d", "lanes", "intercept", "start", "joint", "rates"),
    *("eta", "epsilon", "refresh", "average", "alpha", "l1_ratio"),
    *("scaled", "relative", "shifted", "degree", "lighter"),
)


class Block:
    """Weight vectors that read each row together, and the compiled structure bound to their arrays."""

    def __init__(self, recipe, first_lane, lanes):
        self.recipe = {**recipe, "lanes": lanes}
        self.first_lane = first_lane
        self.arrays = self._method_class().allocate(
            self._structure_class(), self._setting(), recipe["sparse"]
        )
        self._method = None

    def method(self):
        """The compiled method, bound when first asked for."""
        if self._method is None:
            recipe = self.recipe
            for name, value in self.arrays.items():
                # a memory-mapped pickle is read-only
                if isinstance(value, np.ndarray) and not value.flags.writeable:
                    self.arrays[name] = _copied(value)
            kernel, setting = self._structure_class(), self._setting()
            upgrade(self.arrays, setting)
            if hasattr(kernel, "lay_out"):
                kernel.lay_out(self.arrays, recipe["sparse"])
            potential = _registry.potential_kernel(recipe["potential"], recipe["p"])
            domain = _registry.DOMAINS[recipe["domain"]](recipe["d"], recipe["radius"] or 1.0)
            structure = kernel(setting, potential, domain, self.arrays)
            self._method = self._method_class()(structure)
        return self._method

    def lanes(self):
        """Which of the model's weight vectors these are."""
        return slice(self.first_lane, self.first_lane + self.recipe["lanes"])

    def copy(self):
        """An independent block that goes on from here."""
        twin = object.__new__(Block)
        twin.__setstate__(self.__getstate__())
        twin.arrays = {name: _copied(value) for name, value in self.arrays.items()}
        return twin

    def _setting(self):
        from types import SimpleNamespace

        recipe = {"refresh": 0.0, "degree": 0, "lighter": False, **self.recipe}
        return Setting(
            SimpleNamespace(**{k: v for k, v in recipe.items() if k != "counted"}, weights_as_rows=recipe["lighter"], counted=bool(recipe.get("counted"))), self.recipe["lanes"]
        )

    def _method_class(self):
        return _stack.Stack if self.recipe["rates"] > 1 else _methods.Method

    def _structure_class(self):
        return _registry.STRUCTURES[self.recipe["structure"]](self.recipe)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("_structure", "_method")}

    def __setstate__(self, kept):
        vars(self).update(kept, _method=None)


class State:
    """A model in the making.

    Parameters
    ----------
    recipe : dict
        The resolved parameters that decide which kernels run, with which numbers.
    classes : ndarray or None
        The labels of a classifier.
    """

    def __init__(self, recipe, classes=None):
        self.recipe = recipe
        self.classes = classes
        self.class_counts = None if classes is None else np.zeros(len(classes))
        self.blocks = [Block(recipe, part[0], len(part)) for part in split_lanes(recipe)]
        self.loss_total = 0.0  # weighted losses of rows at first sight
        self.weight_total = 0.0
        self.reported = (0.0, 0.0)  # those two when a stream's progress was last printed
        self.publication = None  # the fitted model as last shown, while it is current

    @property
    def rounds(self):
        """Rounds played so far."""
        return int(self.blocks[0].arrays["clock"][0])

    def at_first_sight(self, first):
        """Say whether the rows to come are new; a stack learns only from margins that are progressive."""
        for block in self.blocks:
            block.method().first_sight = first

    def rows_of(self, X):
        """The rows of X as each block reads them."""
        return [make_rows(X, block.recipe) for block in self.blocks]

    def play(self, rows, order, targets, weights, loss, n_jobs=None):
        """One round for each row number in ``order``: (total loss, total weight, rounds played, status, failed structure).

        Blocks learn in threads. When one fails, all go back and play the rounds before the failure.
        """
        self.publication = None
        if len(self.blocks) == 1:
            tally = _play_block(self.blocks[0], rows[0], order, targets, weights, loss)
            return tally.loss, tally.weight, tally.rounds, tally.status, self.blocks[0].method().structure
        before = [block.copy() for block in self.blocks]
        tallies = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(_play_block)(block, own, order, targets, weights, loss)
            for block, own in zip(self.blocks, rows, strict=True)
        )
        first = min(range(len(tallies)), key=lambda k: tallies[k].rounds)
        failed = tallies[first]
        if failed.status != _rounds.FINISHED:
            structure = self.blocks[first].method().structure
            self.blocks = before
            total, weight, rounds, *_ = self.play(
                rows, order[: failed.rounds], targets, weights, loss, n_jobs
            )
            return total, weight, rounds, failed.status, structure
        return (
            sum(tally.loss for tally in tallies),
            failed.weight,
            failed.rounds,
            failed.status,
            None,
        )

    def count_classes(self, targets, rows):
        """Note the classes of rows just learnt from, for weights that balance them in a stream."""
        if self.classes is None:
            return
        own = targets[:, 0] if len(rows) == len(targets) else targets[rows, 0]
        if len(self.classes) == 2:
            upper = np.count_nonzero(own > 0)
            counts = (len(own) - upper, upper)
        else:
            counts = np.bincount(class_numbers(own, self.classes), minlength=len(self.classes))
        self.class_counts = (
            self.class_counts + counts
        )  # not in place: it may lie in a read-only map

    def published(self):
        """Coefficients (lanes, d) and intercepts (lanes,) of the fitted model."""
        weights = np.concatenate([block.method().published() for block in self.blocks])
        d = self.recipe["d"]
        intercepts = weights[:, d] if self.recipe["intercept"] else np.zeros(len(weights))
        return np.ascontiguousarray(weights[:, :d]), np.array(intercepts)

    def copy(self):
        """An independent state that goes on from here."""
        twin = object.__new__(State)
        twin.__setstate__(self.__getstate__())
        twin.blocks = [block.copy() for block in self.blocks]
        twin.class_counts = None if self.class_counts is None else self.class_counts.copy()
        return twin

    def __getstate__(self):
        sparsified = (
            self.publication if self.publication and sparse.issparse(self.publication[0]) else None
        )
        return {"format": FORMAT, **vars(self), "publication": sparsified}

    def __setstate__(self, kept):
        kept = dict(kept)
        found = kept.pop("format")
        if found > FORMAT:
            raise ValueError(
                f"This model was saved in format {found} by a newer sklearn_adareg, which this version (format {FORMAT}) "
                "cannot read; upgrade sklearn_adareg."
            )
        vars(self).update(kept)


def class_numbers(encoded, classes):
    """0, 1, … from encoded targets, which are ±1 for two classes."""
    return (encoded > 0).astype(np.intp) if len(classes) == 2 else encoded.astype(np.intp)


def split_lanes(recipe):
    """Lanes that learn jointly stay together; independent ones are split evenly, whatever n_jobs, so that threads can share them."""
    lanes = recipe["lanes"]
    if recipe["joint"] or lanes == 1:
        return [range(lanes)]
    return np.array_split(np.arange(lanes), min(lanes, max(4, 2 * -(-lanes // 16))))


def _play_block(block, rows, order, targets, weights, loss):
    own_loss = loss(block.lanes())
    own_targets = (
        targets if targets.shape[1] == 1 else np.ascontiguousarray(targets[:, block.lanes()])
    )
    method = block.method()
    method.bind_loss(own_loss)
    return _rounds.run_rounds(method, rows, order, own_targets, weights)


def upgrade(arrays, setting):
    """Bring the arrays of version 0.1 to the present layout."""
    lanes = setting.L
    if "residuals" in arrays and len(arrays["residuals"]) != lanes:
        if "stack_v" in arrays:
            arrays["stack_residuals"] = arrays["residuals"][lanes:].copy()
        arrays["residuals"] = arrays["residuals"][:lanes].copy()
    if "columns" in arrays and arrays["columns"].shape[1] != 8 or arrays.get("columns", np.empty((9, 8))).shape == (6, 8):
        columns = np.zeros((arrays["columns"].shape[1], 8))
        columns[:, :6] = arrays["columns"].T
        columns[:, 6] = columns[:, 0] > 0
        arrays["columns"] = columns


def _copied(value):
    """A copy in the same memory layout."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
