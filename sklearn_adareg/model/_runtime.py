"""Rounds of a state's blocks, in threads.

What a thread needs beside the arrays, the compiled method with its scratch memory, is made when it is first needed, and kept in
``runtime`` of the block or the state (``_state.Runtime``).
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._kernels.data._small_arrays import sparse_margins
from .._kernels.loop import _rounds
from .._kernels.preconditioners._structures import Structure
from .._kernels.prequential._records import Records, Tracks, Transcript
from . import _feature_transform, _margins, _recipe, _registry
from ._interrupts import in_threads
from ._rows import make_rows, reading

SEGMENT, LONG_SEGMENT = 0.05, 0.2  # seconds between two looks at the keyboard
SLOWEST = 1e-8  # seconds per number that a round may read or write
SPARSER = 8  # rows with fewer numbers than this share of the columns are predicted without the other columns


REASONS = {
    _rounds.LOSS_OVERFLOW: "the loss is not finite",
    _rounds.GRADIENT_OVERFLOW: "the gradient is too large for its square to be represented",
    _rounds.STEP_OVERFLOW: "the step is too large, and a weight would not be finite",
    _rounds.POTENTIAL_FAILED: "the eigendecomposition did not converge",
    _rounds.PROJECTION_FAILED: "the projection onto the domain did not converge",
}


class Outcome(NamedTuple):
    """What came of some rounds."""

    loss: float  # total
    weight: float  # total
    rounds: int  # played
    status: int
    structure: Structure | None  # that failed, if one did

    def reason(self):
        """Why the rounds ended, in a clause; what a user's potential raised is raised."""
        if self.status == _rounds.POTENTIAL_FAILED and self.structure.potential.error is not None:
            raise self.structure.potential.error
        return REASONS[self.status]


def method_of(block):
    """The compiled method bound to a block's arrays."""
    method = block.runtime.method
    if method is None:
        block.make_writeable()
        method = block.runtime.method = _recipe.method_kernel(block.recipe, block.arrays)
        if _registry.METHODS[block.recipe.method].learner:  # whose constant prediction is the loss's
            method.bind_loss(_recipe.loss_kernel(block.recipe, block.first_output))
            method.bound_to = block.recipe
    return method


def reading_of(block):
    """How a block's structure reads rows."""
    runtime = block.runtime
    if runtime.reading is None:
        runtime.reading = reading(block.recipe)
    return runtime.reading


def records_of(state):
    """The compiled records bound to the arrays of a state's progress."""
    progress, bound = state.progress, state.runtime.records
    if bound is None or bound[0] is not progress:
        loss, tracks = _registry.loss(state.recipe.loss), None
        if len(progress.tracks):
            tracks = Tracks(progress.tracks, loss.link.logarithmic)
        classes = 0 if state.classes is None else len(state.classes)
        bound = progress, Records(progress.sums, progress.points, classes, *loss.clip, tracks)
        state.runtime.records = bound
    return bound[1]


def published(state):
    """Coefficients (n_outputs, d) and intercepts (n_outputs,) of the fitted model."""
    coef, intercepts = in_block_coordinates(state.blocks)
    if state.feature_transform is None:
        return coef, intercepts
    coef, intercepts = _feature_transform.to_raw(state.feature_transform, coef, intercepts)
    if _feature_transform.mixes(state.feature_transform) and state.recipe.domain is not None:
        domain = _recipe.domain_kernel(state.recipe)
        coef = np.array([domain.confine(output) for output in coef])
    return coef, intercepts


def limits(state):
    """The least and the largest value of each feature that count in predictions, (2, d), or None where every value counts."""
    block = state.blocks[0]
    return method_of(block).limits() if _registry.METHODS[block.recipe.method].learner else None


def in_block_coordinates(blocks):
    """Coefficients and intercepts in the coordinates that these blocks learn in."""
    weights, recipe = _published(blocks), blocks[0].recipe
    coef = weights[:, : recipe.d]
    intercepts = weights[:, recipe.d] if recipe.intercept else np.zeros(len(weights))
    if len(weights) > 1:  # contiguous, as a single row is anyway
        coef, intercepts = coef.copy(), intercepts.copy()
    return coef, intercepts


def _published(blocks, *at):
    """The weights of all blocks, (n_outputs, D)."""
    if len(blocks) == 1:
        return method_of(blocks[0]).published(*at)
    return np.concatenate([method_of(block).published(*at) for block in blocks])


def few_columns(state, X):
    """Whether to publish only the columns of these sparse rows: they are few, and few were asked for since the last round.

    Rows that come one by one without learning soon pay for the whole model, which is then there for all of them.
    """
    d = X.shape[1]
    if SPARSER * X.nnz > d or state.feature_transform is not None:
        return False
    if not all(method_of(block).structure.by_columns for block in state.blocks):
        return False
    rounds, columns = state.runtime.looked_up
    columns = X.nnz + (columns if rounds == state.rounds else 0)
    state.runtime.looked_up = (state.rounds, columns)
    return SPARSER * columns <= d


def margins_at(state, X):
    """The margins of a few sparse rows, (n_rows, n_outputs), as ``margins_now``, in O(nnz); None where they overflow."""
    pointers = np.ascontiguousarray(X.indptr, dtype=np.intp)
    at = X.indices[: pointers[-1]]
    if state.recipe.intercept:
        at = np.append(at, state.recipe.d)
    data = np.ascontiguousarray(X.data, dtype=np.float64)
    return sparse_margins(data, pointers, _published(state.blocks, at), state.recipe.intercept)


def memory(state):
    """The number of rows in use now, a mean over the weight vectors."""
    outputs = [block.recipe.n_outputs for block in state.blocks]
    return float(np.average([method_of(block).memory() for block in state.blocks], weights=outputs))


def margins_now(state, X):
    """The margins of rows, (n_rows, n_outputs), by the model as it is between two rounds."""
    return _margins.margins(X, *published(state), limits(state))


def mean_loss(state, X, targets, weights):
    """The weighted mean loss of the fitted model on rows that it does not learn from."""
    margins = np.ascontiguousarray(margins_now(state, X))
    units = residual_units(state)
    if state.recipe.degree > 0 and (
        state.recipe.relative or _registry.METHODS[state.recipe.method].learner
    ):  # the loss is ρ^degree times the loss of residuals in units of ρ
        margins, targets = (margins - targets) / units, np.zeros_like(targets)
    # one kernel for each target, one for all weight vectors that read the same
    outputs = range(targets.shape[1])
    parts = [margins] if len(outputs) == 1 else [margins[:, [output]] for output in outputs]
    kernel = _recipe.loss_kernel(state.recipe)
    losses = np.zeros(len(margins))
    for output, own in zip(outputs, parts, strict=True):
        values = [kernel(m, y)[0] for m, y in zip(own, targets[:, [output]], strict=True)]
        losses += np.array(values) * units[output] ** state.recipe.degree
    return float(np.average(losses, weights=weights if len(weights) else None))


def residual_units(state):
    """The root mean square ρ of the residuals so far, per weight vector; 1 where residuals have no unit of their own."""
    recipe, method = state.recipe, _registry.METHODS[state.recipe.method]
    units = np.ones(recipe.n_outputs)
    if recipe.relative or (method.learner and recipe.degree > 0):
        for block in state.blocks:
            of_steps = block.arrays.get(method.prefix + "residuals"), block.arrays.get("weight")
            squares, weights = block.arrays["units"].T if method.learner else of_steps
            rho = np.sqrt(squares / np.where(weights > 0, weights, 1.0))
            units[block.outputs()] = np.where(rho > 0, rho, 1.0)
    return units


def rows_of(state, X):
    """The rows of X as each block reads them."""
    return [make_rows(X, reading_of(block), state.feature_transform) for block in state.blocks]


def replay(blocks, transform, X, targets, weights):
    """Let new blocks learn rows that were played before, each row as if for the first time; the total loss, None if a round stops."""
    order, loss = np.arange(len(X)), 0.0
    for block in blocks:
        rows = make_rows(X, reading_of(block), transform)
        tally = _play_block(block, rows, order, targets, weights, True, None, None)
        if tally.status != _rounds.FINISHED:
            return None
        loss += tally.loss
    return loss


class Segments:
    """Parts of a pass, each so short that an interrupt is answered soon: Python looks at the keyboard between them.

    The first one is short by a generous estimate of what a round costs; after it the pace is known, also to the next call.
    """

    def __init__(self, state):
        self.runtime, recipe = state.runtime, state.recipe
        several = len(state.blocks) > 1  # blocks are copied before each segment
        self.seconds = LONG_SEGMENT if several else SEGMENT
        power = 1 if _registry.STRUCTURES[recipe.structure].memory is None else 3
        guess = SLOWEST * recipe.n_outputs * recipe.rates * recipe.D**power
        self.pace = self.runtime.pace or guess

    def length(self):
        """Rounds of the next segment."""
        return max(1, int(self.seconds / self.pace))

    def played(self, rounds, seconds):
        """Take in how long a segment took; the pace is trusted step by step."""
        if rounds:
            self.pace = max(seconds / rounds, self.pace / 8, 1e-9)
            self.runtime.pace = self.pace


def play(state, rows, order, targets, weights, new=True, n_jobs=None, margins=None):
    """One round for each row number in ``order``: all of them, or those before a failure, or none if interrupted.

    ``new`` says that these rows were never learnt from: a stack learns only from margins that are progressive. Blocks learn in
    threads. If one fails, all go back and play the rounds before the failure. ``margins``, (len(order), n_outputs), takes those the
    model published before each round would have given the row.
    """
    records, counts = (records_of(state), state.class_counts) if new else (None, None)
    if len(state.blocks) == 1:
        [block] = state.blocks
        transcript = None
        if margins is not None:
            transcript = Transcript(len(order), state.recipe.n_outputs, shown=True)
        tally = _play_block(block, rows[0], order, targets, weights, new, records, counts, transcript)
        if transcript is not None:
            margins[: tally.rounds] = transcript.shown[: tally.rounds]
        structure = None if tally.status == _rounds.FINISHED else method_of(block).structure
        return Outcome(tally.loss, tally.weight, tally.rounds, tally.status, structure)
    before = {
        "blocks": [block.copy() for block in state.blocks],
        "progress": state.progress.copy(),
        "class_counts": None if state.class_counts is None else state.class_counts.copy(),
    }
    try:
        shown = margins is not None
        transcripts = [Transcript(len(order), block.recipe.n_outputs, shown) if new else None for block in state.blocks]
        counts = [state.class_counts if new else None, *[None] * (len(state.blocks) - 1)]
        tasks = [
            partial(_play_block, block, own, order, targets, weights, new, None, count, transcript)
            for block, own, count, transcript in zip(state.blocks, rows, counts, transcripts, strict=True)
        ]
        tallies = in_threads(tasks, effective_n_jobs(n_jobs))
        first = min(range(len(tallies)), key=lambda k: tallies[k].rounds)
        failed = tallies[first]
        structure = method_of(state.blocks[first]).structure
        total = sum(tally.loss for tally in tallies)
        if failed.status != _rounds.FINISHED:
            vars(state).update(before)
        elif records is not None:
            records.note_all(_joined(transcripts), order, targets, weights)
            if margins is not None:
                np.concatenate([part.shown for part in transcripts if part], axis=1, out=margins)
    except BaseException:
        vars(state).update(before)  # in one step, which nothing can interrupt
        raise
    if failed.status == _rounds.FINISHED:
        return Outcome(total, failed.weight, failed.rounds, failed.status, None)
    played = order[: failed.rounds]
    margins = None if margins is None else margins[: failed.rounds]
    short = play(state, rows, played, targets, weights, new, n_jobs, margins)
    return Outcome(short.loss, short.weight, short.rounds, failed.status, structure)


def _play_block(block, rows, order, targets, weights, new, records, counts, transcript=None):
    method = block.runtime.method or method_of(block)
    method.first_sight = new
    shown = transcript is not None and transcript.shown is not None
    method.watch(shown, new)
    if method.bound_to is not block.recipe:  # which holds the parameters of the loss
        method.bind_loss(_recipe.loss_kernel(block.recipe, block.first_output))
        method.bound_to = block.recipe
    if targets.shape[1] > 1:
        targets = np.ascontiguousarray(targets[:, block.outputs()])
    if _registry.METHODS[block.recipe.method].learner:
        return method.play(rows, order, targets, weights, records, counts, transcript)
    return _rounds.run_rounds(method, rows, order, targets, weights, records, counts, transcript)


def _joined(transcripts):
    """What all weight vectors said together: the sum of their losses, and their margins side by side."""
    whole = Transcript(len(transcripts[0].values), sum(t.margins.shape[1] for t in transcripts))
    np.sum([transcript.values for transcript in transcripts], axis=0, out=np.asarray(whole.values))
    np.concatenate([transcript.margins for transcript in transcripts], axis=1, out=np.asarray(whole.margins))
    return whole
