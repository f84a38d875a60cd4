"""Rounds of a state's blocks, in threads.

A worker is what a thread needs beside the state: the compiled method bound to a block's arrays, with its scratch memory.
Workers are made when they are first needed and belong to no state, so they are neither copied nor pickled.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from joblib import Parallel, delayed

from . import _margins, _recipe
from ._kernels import _rounds
from ._rows import make_rows

_methods = WeakKeyDictionary()  # block → compiled method


class Outcome(NamedTuple):
    """What came of some rounds."""

    loss: float  # total
    weight: float  # total
    rounds: int  # played
    status: int
    structure: object  # that failed, if one did


def method_of(block):
    """The compiled method bound to a block's arrays."""
    method = _methods.get(block)
    if method is None:
        block.make_writeable()
        kernel = _recipe.structure_class(block.recipe)
        if hasattr(kernel, "lay_out"):
            kernel.lay_out(block.arrays, block.recipe.sparse)
        method = _methods[block] = _recipe.method_kernel(block.recipe, block.arrays)
    return method


def published(state):
    """Coefficients (lanes, d) and intercepts (lanes,) of the fitted model."""
    weights = np.concatenate([method_of(block).published() for block in state.blocks])
    d = state.recipe.d
    intercepts = weights[:, d] if state.recipe.intercept else np.zeros(len(weights))
    return np.ascontiguousarray(weights[:, :d]), np.array(intercepts)


def mean_loss(state, X, targets, weights):
    """The weighted mean loss of the fitted model on rows that it does not learn from."""
    coef, intercept = published(state)
    margins = np.ascontiguousarray(_margins.margins(X, coef, intercept))
    units = _residual_units(state)
    if state.recipe.relative:  # the loss is ρ^degree times the loss of residuals in units of ρ
        margins, targets = (margins - targets) / units, np.zeros_like(targets)
    # one kernel for each target, one for all lanes that read the same
    lanes = range(targets.shape[1])
    parts = [margins] if len(lanes) == 1 else [margins[:, [lane]] for lane in lanes]
    kernel = _recipe.loss_kernel(state.recipe)
    losses = np.zeros(len(margins))
    for lane, own in zip(lanes, parts, strict=True):
        values = [kernel(m, y)[0] for m, y in zip(own, targets[:, [lane]], strict=True)]
        losses += np.array(values) * units[lane] ** state.recipe.degree
    return float(np.average(losses, weights=weights if len(weights) else None))


def _residual_units(state):
    """The root mean square ρ of the residuals so far, per lane; 1 where residuals have no unit of their own."""
    units = np.ones(state.recipe.lanes)
    if state.recipe.relative:
        for block in state.blocks:
            of_stack = block.recipe.method == "stack"  # of its combined margins
            squares = block.arrays["stack_residuals" if of_stack else "residuals"]
            rho = np.sqrt(squares / block.arrays["weight"])
            units[block.lanes()] = np.where(rho > 0, rho, 1.0)
    return units


def rows_of(state, X):
    """The rows of X as each block reads them."""
    return [make_rows(X, block.recipe) for block in state.blocks]


def play(state, rows, order, targets, weights, new=True, n_jobs=None):
    """One round for each row number in ``order``.

    ``new`` says that these rows were never learnt from: a stack learns only from margins that are progressive. Blocks learn in
    threads. If one fails, all go back and play the rounds before the failure.
    """
    state.publication = None
    if len(state.blocks) == 1:
        [block] = state.blocks
        tally = _play_block(block, rows[0], order, targets, weights, new)
        return Outcome(
            tally.loss, tally.weight, tally.rounds, tally.status, method_of(block).structure
        )
    before = [block.copy() for block in state.blocks]
    tallies = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_play_block)(block, own, order, targets, weights, new)
        for block, own in zip(state.blocks, rows, strict=True)
    )
    first = min(range(len(tallies)), key=lambda k: tallies[k].rounds)
    failed = tallies[first]
    if failed.status != _rounds.FINISHED:
        structure = method_of(state.blocks[first]).structure
        state.blocks = before
        short = play(state, rows, order[: failed.rounds], targets, weights, new, n_jobs)
        return Outcome(short.loss, short.weight, short.rounds, failed.status, structure)
    total = sum(tally.loss for tally in tallies)
    return Outcome(total, failed.weight, failed.rounds, failed.status, None)


def _play_block(block, rows, order, targets, weights, new):
    method, lanes = method_of(block), block.lanes()
    method.first_sight = new
    method.bind_loss(_recipe.loss_kernel(block.recipe, lanes.start))
    own_targets = targets if targets.shape[1] == 1 else np.ascontiguousarray(targets[:, lanes])
    return _rounds.run_rounds(method, rows, order, own_targets, weights)
