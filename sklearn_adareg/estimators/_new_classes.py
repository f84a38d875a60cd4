"""Classes that join a running model.

What the known classes have learnt stays as it is: weights, matrices, units and records. With K known classes after t rounds, the
margin of a new class begins as their mean less a constant, log(1 + t/K) for a softmax and 1 for a class against the rest. It is
below the largest margin, so no prediction changes, and a softmax gives it at most 1/(t + K + 1), Laplace's estimate for what did not
come in t rows. Its matrices begin as those of a new model, in the units that the features have now, so it learns as fast.

In the method "information" the rule holds for each candidate of a softmax, and for all candidates of a class against the rest. The
sums of a new class are 0. Rows that the model still keeps stay, and are rows of the other classes for the new one.
"""

from dataclasses import replace

import numpy as np

from .._kernels.loop._learner import Layout
from ..model import _auto, _registry, _rules, _runtime
from ..model._state import Block, State, copy_known, output_axes, outputs_of, split_outputs
from ..model._validation import shown
from ._starting import place_candidates

MARGIN = 1.0  # by which a class that is learnt against the rest begins on the other side
# Arrays of a learner that have an entry for each of its problems; the others are about rows and columns.
OF_PROBLEMS = (
    *("G", "r", "x", "origin", "diagonal_x", "diagonal_G", "counts", "levels", "units", "rests"),
    *("shares", "share_layers", "share_sums", "share_losses", "share_regressions"),
)


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
    elif not _registry.STRUCTURES[recipe.structure].takes_more_outputs:
        why = f"structure={recipe.structure!r} has no room for another weight vector"
    if why is not None:
        raise ValueError(
            f"classes={shown(classes)} has labels that this model does not know, {shown(known)}, and it cannot take them in: {why}; "
            "pass three or more classes in the first call, those still to come among them, or start anew with fit."
        )


def with_more_classes(state, classes):
    """A state that goes on from this one with more classes, sorted."""
    check_growth(state.recipe, state.classes, classes)
    recipe = replace(state.recipe, n_outputs=len(classes))
    if recipe.n_outputs * recipe.D > _auto.MOST_COUPLED:
        recipe = replace(recipe, coupled=False)
    _rules.check_memory(recipe)
    places = np.searchsorted(classes, state.classes)
    twin = object.__new__(State)
    vars(twin).update(vars(state), recipe=recipe, classes=classes, snapshot=None, one_run=False)
    twin.class_counts = np.zeros(len(classes))
    twin.class_counts[places] = state.class_counts
    twin.progress = state.progress.copy()
    if state.beginning is not None:  # rows that are to be learnt anew
        twin.beginning = tuple(
            (rows, places[targets.astype(np.intp)].astype(np.float64), weights)
            for rows, targets, weights in state.beginning
        )
    learner = _registry.METHODS[recipe.method].learner
    twin.blocks = (wider_learners if learner else _wider_blocks)(state, recipe, places)
    return twin


def _wider_blocks(state, recipe, places):
    """Blocks of all weight vectors: the known ones at their places among the classes, the others new."""
    known = len(places)
    axes = output_axes(recipe)
    lowered = np.log1p(state.rounds / known) if recipe.joint else MARGIN
    start = _means(state.blocks, axes["cells"], known)
    blocks = []
    for part in split_outputs(recipe):
        block = Block(recipe, int(part[0]), len(part))
        copy_known(block, state.blocks, places, axes)
        new = np.setdiff1d(np.asarray(part), places) - part[0]
        _begin_outputs(block, new, axes["cells"], start, lowered)
        blocks.append(block)
    return blocks


def _means(blocks, axis, known):
    """The mean of the known weight vectors' numbers, for each field and member, (members, fields, D)."""
    total = 0.0
    for block in blocks:
        cells = np.moveaxis(block.arrays["cells"], axis[0], 0)
        total = total + cells.reshape(axis[1], block.recipe.n_outputs, *cells.shape[1:]).sum(axis=1)
    return total / known


def _begin_outputs(block, new, axis, start, lowered):
    """Weight vectors that know nothing begin at the mean of the others, with a lower intercept."""
    if not len(new):
        return
    cells = np.moveaxis(block.arrays["cells"], axis[0], 0)
    fields = block.arrays["fields"]
    for member in range(axis[1]):
        outputs = outputs_of(new, block.recipe.n_outputs, axis[1])[member * len(new) : (member + 1) * len(new)]
        for name in ("x", "u"):
            if name in fields:
                cells[outputs, fields.index(name)] = start[member, fields.index(name)]
        if block.recipe.intercept:
            cells[outputs, fields.index("x"), -1] -= lowered


# ---- the method "information" ---------------------------------------------------------------------------------------


def wider_learners(state, recipe, places):
    """Blocks of all classes: what is known of some, at their places among them, and sums of 0 of the others."""
    if recipe.joint:
        return [_wider_softmax(state.blocks[0], recipe, places, state.rounds)]
    return _more_problems(state, recipe, places)


def _wider_softmax(old, recipe, places, rounds):
    """The block of a softmax with more classes; its candidates are combined as before."""
    block = Block(recipe, 0, recipe.n_outputs)
    before, after = Layout(old.recipe, old.recipe.n_outputs), Layout(recipe, recipe.n_outputs)
    known, arrays = old.arrays, block.arrays
    arrays.update(_about_rows(known, places))
    for name in OF_PROBLEMS[OF_PROBLEMS.index("levels") :]:
        if name in known:
            arrays[name] = known[name].copy()
    arrays["counts"][:, places] = known["counts"]
    arrays["r"][:, :, places] = known["r"]
    arrays["origin"] = _with_means(known["origin"].swapaxes(1, 2), 1, places, after.C, after.C)
    arrays["origin"] = np.ascontiguousarray(arrays["origin"].swapaxes(1, 2))
    whole, diagonals = after.whole, len(after.diagonals)
    rooms = {"x": (whole, after.V), "row_margins": (whole, after.V), "diagonal_x": (diagonals, after.W)}
    for name, (members, room) in rooms.items():
        arrays[name] = _with_means(known[name], members, places, after.C, room)
    lowered = np.log1p(rounds / before.C)
    new = np.setdiff1d(np.arange(after.C), places)
    of_new = (np.arange(whole)[:, None] * after.C + new).ravel()
    if after.intercept:
        arrays["row_margins"][:, of_new] -= lowered
        arrays["x"][:, after.d, of_new] -= lowered
    if diagonals:
        of_known = (np.arange(diagonals)[:, None] * after.C + places).ravel()
        last = diagonals * before.C
        arrays["diagonal_G"][:, :, of_known] = known["diagonal_G"][:, :, :last]
        factors = known["diagonal_scale"][:last].reshape(diagonals, before.C)
        arrays["diagonal_scale"] = np.ones(after.W)
        arrays["diagonal_scale"][: diagonals * after.C] = np.repeat(factors[:, 0], after.C)
    for c in range(before.C):
        for e in range(c, before.C if after.couples else c + 1):
            to, of = _pair(after, places[c], places[e]), _pair(before, c, e)
            arrays["G"][:, :, to] = known["G"][:, :, of]
    return block


def _pair(layout, c, e):
    """Where the matrix of the classes c ≤ e is."""
    return c * layout.C - c * (c - 1) // 2 + e - c if layout.couples else c


def _with_means(array, members, places, classes, room):
    """An array whose last axis goes by members and classes, with the mean of the known classes for each new one."""
    rest = array.shape[:-1]
    known = array[..., : members * len(places)].reshape(*rest, members, len(places))
    wider = np.empty((*rest, members, classes))
    wider[...] = known.mean(axis=-1, keepdims=True)
    wider[..., places] = known
    found = np.zeros((*rest, room))
    found[..., : members * classes] = wider.reshape(*rest, members * classes)
    return found


def _about_rows(known, places):
    """What is known of rows and columns, and the rows that are kept with the numbers that their classes have now."""
    arrays = {name: array.copy() for name, array in known.items() if name not in OF_PROBLEMS}
    held = arrays["row_targets"]
    held[...] = places[held.astype(np.intp)]
    return arrays


def _more_problems(state, recipe, places):
    """Blocks of all classes against the rest: the known ones at their places, the others as problems that begin now."""
    coef, intercept = (part.mean(axis=0) for part in _runtime.in_block_coordinates(state.blocks))
    names = [name for name in state.blocks[0].arrays if name in OF_PROBLEMS]
    known = {name: np.concatenate([block.arrays[name] for block in state.blocks]) for name in names}
    V = state.blocks[0].arrays["x"].shape[2]
    margins = np.concatenate([block.arrays["row_margins"] for block in state.blocks], axis=1)
    margins = margins.reshape(len(margins), len(places), V)
    rests = np.concatenate([block.arrays["row_rests"] for block in state.blocks], axis=1)
    about_rows = _about_rows(state.blocks[0].arrays, places)
    blocks = []
    for part in split_outputs(recipe):
        block = Block(recipe, int(part[0]), len(part))
        fresh = block.arrays
        fresh.update({name: array.copy() for name, array in about_rows.items()})
        layout, n = Layout(block.recipe, len(part)), len(part)
        place_candidates(fresh, layout, np.tile(coef, (n, 1)), np.repeat(intercept - MARGIN * layout.intercept, n))
        fresh["origin"][:] = 0.0
        fresh["counts"][:, 0] = known["counts"][0].sum()
        curvatures, sums, _ = known["levels"].T
        constants = np.divide(sums, curvatures, out=np.zeros_like(sums), where=curvatures > 0.0)
        fresh["levels"][:, 0] = curvatures.mean()
        fresh["levels"][:, 1] = curvatures.mean() * (constants.mean() - MARGIN)
        own = np.zeros((len(margins), n, V))
        own[:] = _margins_of_held(fresh, layout)[:, None]
        fresh["row_rests"] = np.zeros((len(rests), n))
        for here, output in enumerate(part):
            [found] = np.nonzero(places == output)
            for was in found:
                own[:, here], fresh["row_rests"][:, here] = margins[:, was], rests[:, was]
                for name, array in known.items():
                    fresh[name][here] = array[was]
        fresh["row_margins"] = own.reshape(len(margins), n * V)
        blocks.append(block)
    return blocks


def _margins_of_held(arrays, layout):
    """The margins of the rows that are kept at the candidates of the first problem, (rows, V)."""
    x = arrays["x"][0]
    if not layout.sparse:
        return (arrays["row_values"] - arrays["centre"]) @ x
    rows = np.zeros((len(arrays["row_values"]), x.shape[1]))
    for k, length in enumerate(arrays["row_length"]):
        rows[k] = arrays["row_values"][k, :length] @ x[arrays["row_index"][k, :length]]
    return rows
