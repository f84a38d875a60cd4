"""The default learner: sums over rows, solved at the ends of blocks, and candidates combined by their losses.

For each memory λ of an output (a softmax is one output of C margins) the state has

    G = Σ λ^(t−s) h_s z_s z_sᵀ        r = Σ λ^(t−s) z_s (h_s m_s − g_s)

over the rows absorbed, z = (row − c, 1), m_s the margin at which row s was made a quadratic, g_s and h_s its slope and curvature.
A candidate with prior ε is the minimiser of ½xᵀGx − rᵀx + ½ Σ R_i (x_i − o_i)² over the domain, R = ε times the variance of each
feature, so that units, offsets and priors are read when it is solved, and nothing has to follow them.

A row: (1) its values are limited, all candidates predict, their combination is evaluated; (2) the weights of candidates learn from
their losses, diagonal candidates take their step, and the row waits. At the end of a block, which depends on t and D alone: (3) its
rows are absorbed, G ← λG + …, each at the margin of the candidate that leads its memory; (4) every candidate moves to its
new minimiser, halved until the loss of the rows judged does not grow.

Candidates that forget rest where they weigh less than ``REST_BELOW``: then rows neither join their sums nor are they evaluated, but
for ``TRIAL`` rows of every ``CYCLE``, and from a row on at which losses have risen.

The first ``KEPT`` rows are all kept. Each time they have grown by ``GROWTH`` the sums are those of all of them at the leading
candidate as it is now, which is a step of Newton's method on all rows: the model is the batch model. After that a row is a sum.
"""
from libc.math cimport ceil, exp, fabs, fmax, fmin, isfinite, log, sqrt
from libc.string cimport memcpy, memset

from ..aggregation._fixed_share cimport FixedShare
from ..data._rows cimport Row, Rows
from ..domains._domains cimport Domain, NoDomain
from ..information._columns cimport HIGH, LOW, MEAN, Columns
from ..information._information_loops cimport (
    add_products, centred, dense_margins, diagonal_step, limited, log_loss_sums, move_rows, probabilities, softmax,
    sparse_margins, subtract_rows, weigh_row)
from ..information._quadratic cimport Quadratic
from ..losses._losses cimport Loss, OneVsRest, PointLoss
from ..prequential._records cimport Records, Transcript
from ._rounds cimport FINISHED, GRADIENT_OVERFLOW, LOSS_OVERFLOW, STRAY_COLUMN, Tally

from ..aggregation import _fixed_share
from ..information import _columns

import numpy as np

# What Python asks for, too; kernels have these numbers as constants below.
KEPT = 1024                      # rows of the beginning
MOST = 256                       # rows of a block
GROWTH = 1.5                     # of the rows kept, between two linearisations of all of them
ROWS_PER_WEIGHT = 10             # before a weak prior takes part
WEAK = 0.1                       # a prior below is weak
CYCLE = 256                      # rows of a rest and of the trial after it
cdef Py_ssize_t MOST_KEPT = KEPT
cdef Py_ssize_t LONGEST = MOST
cdef double GROWING = GROWTH
cdef double PER_WEIGHT = ROWS_PER_WEIGHT
cdef double WEAK_PRIOR = WEAK
# blocks
cdef Py_ssize_t FRACTION = 40        # of the rows so far, in a block
cdef Py_ssize_t JOINT_FRACTION = 10  # the same of a softmax, whose systems are large
cdef Py_ssize_t PER_BLOCK = 25       # coordinates for each row that a block has at least
# priors, of what a feature is measured with
cdef double SHORT_PRIOR = 0.25       # of short memories at least, or ``PER_D_SHORT`` times D
cdef double PER_D_SHORT = 1.0
cdef double DIAGONAL_PRIOR = 0.5     # of diagonal candidates at least, or ``PER_D`` times D
cdef double PER_D = 2.0
cdef double INTERCEPT_PRIOR = 0.1
cdef double RARE = 0.25              # of the square of a feature's reach, which strong priors measure it with at least
# curvatures and proposals
cdef double LEAST_CURVATURE = 1e-5
cdef double DAMP = 0.05              # of the square of a slope, which is curvature of a row that is read once
cdef Py_ssize_t STEPS = 4            # of Newton's method on the rows kept, at most
cdef double SETTLED = 0.01           # nats, or units of the loss, of all rows: it ends where less is to be gained
cdef double SLACK = 1e-3             # a row: how much the loss of the rows judged may grow in one step
cdef double LEAST_STEP = 1e-3
cdef double JUMP = 100.0             # of a variance, after which a point is no start in its raw units
# residuals
cdef double OF_SQUARES = 4.0         # mean squares of residuals, in which squared losses are weighed
cdef double RECENT = 2.0             # a residual counts towards the scale as this power of its row's number
cdef double OF_LEVEL = 1e-9          # residuals below are rounding
# rests
cdef double REST_BELOW = 0.02        # weight of candidates that forget, below which they rest
cdef double TRIAL = 32               # rows of a trial, and half of those after a rise of the losses
cdef double REST = CYCLE - TRIAL
cdef double RISEN = 2.5              # standard deviations of the recent mean loss: a rise
cdef double RECENT_ROWS = 16         # of that mean
cdef double LEVEL_ROWS = 1024        # of the mean that it is compared with
cdef double EXTREME = 4.0            # standard deviations: no loss counts more in either
cdef double LARGEST_WATCHED = 1e140  # whose square is a number
# rounding and overflow
cdef double LARGEST = 1e290
cdef double LARGEST_EXPONENT = 300.0
cdef double ROUNDING = 1e-10         # of an objective, which is no growth
cdef double UNIT_ROUNDING = 1e-200
cdef enum:
    VECTOR = 4
cdef enum:
    ROWS, BEGINNING, ANEW, SCHEDULE      # in ``numbers``; then for each memory when it is due, and how many rows it has absorbed
    # in ``rests``: until when candidates rest, when that is decided, and mean, variance and recent mean of the losses published
    WAKE = 0, DECIDE, LEVEL, SPREAD, LATELY, OF_RESTS


def _rounded(n, width):
    return -(-n // width) * width


class Layout:
    """The sizes of a learner's arrays."""

    def __init__(self, recipe, outputs):
        self.d, self.intercept, self.sparse = recipe.d, bool(recipe.intercept), bool(recipe.sparse)
        self.D = self.d + self.intercept
        self.room = int(_columns.rounded(self.D))
        self.joint = bool(recipe.joint and outputs > 1)
        self.P, self.C = (1, outputs) if self.joint else (outputs, 1)
        self.targets = outputs if not recipe.outputs_are_classes and not recipe.joint else 1
        self.priors = np.ravel(np.asarray(recipe.epsilon, dtype=np.float64))
        self.kept, self.diagonals = recipe.kept, recipe.diagonal_kept
        self.memories = len(self.kept)
        self.whole = len(self.priors) + self.memories - 1        # candidates that are solved
        self.B = self.whole + len(self.diagonals) + 1            # and the constant
        self.V = _rounded(self.whole * self.C, VECTOR)
        self.W = _rounded(len(self.diagonals) * self.C, VECTOR)
        self.couples = bool(self.joint and recipe.coupled)       # classes share one matrix
        self.pairs = self.C * (self.C + 1) // 2 if self.couples else self.C


cdef inline double of_memory(double kept) noexcept nogil:
    """What the square of the largest distance is divided by: the limit of so many rows."""
    return 9.0 / fmax(4.0, 0.25 / (1.0 - kept))


cdef class Learner:
    """The learner bound to the arrays of one group of outputs."""

    cdef readonly object layout
    cdef readonly dict arrays
    cdef readonly object structure, potential
    cdef readonly bint evaluates_published, by_columns
    cdef public object bound_to
    cdef public bint first_sight
    cdef Py_ssize_t d, D, room, P, C, V, W, B, T, memories, priors, whole, diagonals, pairs
    cdef bint intercept, sparse, couples, softmax, regression
    cdef double l2, l1
    cdef Loss loss
    cdef PointLoss point
    cdef Py_ssize_t first_class
    cdef bint one_vs_rest, logistic, quadratic_loss
    cdef FixedShare share
    cdef Columns columns, target_columns
    cdef Quadratic quadratic
    cdef Domain domain
    cdef double[::1] clock, numbers, centre, mass, kept, epsilons, diagonal_kept, weights, diagonal_scale
    cdef double[:, :, :, :, ::1] G
    cdef double[:, :, :, ::1] r
    cdef double[:, :, ::1] x, origin, diagonal_x, diagonal_G
    cdef double[:, ::1] rests, row_rests, counts, units, levels, values, targets, margins
    cdef int[:, ::1] index
    cdef int[::1] length
    cdef double[::1] scratch, base, published_margins, slopes, ridge, proposal, losses
    cdef double[::1] Z, A, old, new
    cdef double[::1] step, steps, objective, before, gains
    cdef Py_ssize_t[::1] coordinate, component
    cdef double[:, ::1] diagonal_ridge
    cdef double[::1] diagonal_slopes, diagonal_room
    cdef double[::1] reaches, variances, shift, level, column, blended, row_scratch, P_rows
    cdef Py_ssize_t[::1] labels
    cdef bint shifts, damped, regresses, whole_matrix, jumped, beyond, may_rest, ready

    # ---- arrays -------------------------------------------------------------------------------------------------

    @classmethod
    def allocate(cls, recipe, outputs):
        """The arrays of a new state."""
        s = Layout(recipe, outputs)
        numbers = np.zeros(SCHEDULE + 2 * s.memories)
        numbers[BEGINNING], numbers[ANEW] = 1.0, 1.0
        numbers[SCHEDULE:SCHEDULE + s.memories] = 1.0
        arrays = {
            "clock": np.zeros(2),
            "numbers": numbers,
            "columns": _columns.Columns.allocate(s.d, s.room),
            "target_columns": _columns.Columns.allocate(s.targets, s.targets),
            "centre": np.zeros(s.room),
            "mass": np.zeros(s.memories),
            "G": np.zeros((s.P, s.memories, s.pairs, s.room, s.room)),
            "r": np.zeros((s.P, s.memories, s.C, s.room)),
            "x": np.zeros((s.P, s.room, s.V)),
            "origin": np.zeros((s.P, s.C, s.room)),
            "diagonal_x": np.zeros((s.P, s.room, s.W)),
            "diagonal_G": np.zeros((s.P, s.room, s.W)),
            "diagonal_scale": np.ones(max(s.W, 1)),
            "counts": np.zeros((s.P, max(s.C, 2))),
            "levels": np.zeros((s.P, 3)),
            "units": np.zeros((s.P, 2)),
            "rests": np.zeros((s.P, OF_RESTS)),
            **_fixed_share.FixedShare.allocate(s.P, s.B, s.C, s.memories > 1, len(s.diagonals) > 0, len(s.priors)),
            **cls.rows_of(s, 0, 0),
        }
        return arrays

    @staticmethod
    def rows_of(s, capacity, width):
        """Room for rows that wait, or are kept; dense ones are as wide as vectors make them."""
        width = width if s.sparse else s.room
        return {
            "row_values": np.zeros((capacity, width)),
            "row_index": np.zeros((capacity, width if s.sparse else 0), dtype=np.intc),
            "row_length": np.zeros(capacity, dtype=np.intc),
            "row_targets": np.zeros((capacity, s.targets)),
            "row_weights": np.zeros(capacity),
            "row_margins": np.zeros((capacity, s.P * s.V)),
            "row_rests": np.zeros((capacity, s.P)),          # 1 where candidates that forget did not read it
        }

    def __init__(self, recipe, dict arrays, Domain domain):
        s = self.layout = Layout(recipe, recipe.n_outputs)
        self.arrays, self.structure, self.potential = arrays, self, None
        self.evaluates_published, self.by_columns, self.first_sight = True, False, True
        self.d, self.D, self.room, self.intercept, self.sparse = s.d, s.D, s.room, s.intercept, s.sparse
        self.P, self.C, self.V, self.W, self.B, self.T = s.P, s.C, s.V, s.W, s.B, s.targets
        self.memories, self.priors, self.whole = s.memories, len(s.priors), s.whole
        self.diagonals, self.pairs, self.couples, self.softmax = len(s.diagonals), s.pairs, s.couples, s.joint
        self.l2, self.l1 = recipe.alpha * (1.0 - recipe.l1_ratio), recipe.alpha * recipe.l1_ratio
        self.kept = np.array(s.kept, dtype=np.float64)
        self.diagonal_kept = np.repeat(np.array(s.diagonals, dtype=np.float64), s.C) if self.diagonals else np.ones(1)
        self.epsilons = np.concatenate([s.priors, np.full(s.memories - 1, max(SHORT_PRIOR, PER_D_SHORT * s.D))])
        self.domain = domain
        names = ("clock", "numbers", "centre", "mass", "diagonal_scale", "G", "r", "x", "origin", "diagonal_x", "diagonal_G",
                 "counts", "levels", "units", "rests")
        (self.clock, self.numbers, self.centre, self.mass, self.diagonal_scale, self.G, self.r, self.x, self.origin, self.diagonal_x,
         self.diagonal_G, self.counts, self.levels, self.units, self.rests) = map(arrays.__getitem__, names)
        self.bind_rows()
        self.columns = Columns(arrays["columns"], s.d, s.intercept)
        self.target_columns = Columns(arrays["target_columns"], s.targets, True, True)
        system = self.C * self.D if self.couples else self.D
        self.quadratic = Quadratic(system, domain, self.l1 > 0.0)
        self.ridge = np.zeros(system)
        self.whole_matrix = self.quadratic.descends or self.quadratic.projects   # below the diagonal too
        self.coordinate, self.component = np.zeros(system, dtype=np.intp), np.zeros(system, dtype=np.intp)
        self.scratch = np.zeros(2 * self.room + self.V + self.W + 8)
        self.base, self.published_margins = np.zeros(self.P * self.B * self.C), np.zeros(self.P * self.C)
        self.slopes, self.losses = np.zeros(self.P * self.C), np.zeros(self.B + VECTOR)
        self.proposal = np.zeros(self.room * self.V)
        self.steps = np.zeros(self.V)
        self.step, self.objective, self.before = np.zeros(self.whole), np.zeros(self.whole), np.zeros(self.whole)
        self.reaches = np.zeros(self.room)
        self.diagonal_ridge = np.zeros((self.room, max(self.W, 1)))
        self.diagonal_slopes, self.diagonal_room = np.zeros(3 * self.W + 1), np.zeros(VECTOR * self.room)
        self.variances, self.shift, self.level = np.zeros(self.room), np.zeros(self.room), np.zeros(self.C)
        self.gains = np.zeros(self.whole)
        self.blended = np.zeros(self.room * self.V)
        self.shifts = self.sparse and self.intercept
        self.regresses = not recipe.outputs_are_classes and not s.joint and bool(recipe.degree)
        self.know_variances(self.clock[0] - (self.numbers[ROWS] - self.numbers[SCHEDULE + self.memories]))
        self.may_rest = self.memories > 1 or self.diagonals > 0
        self.share = None

    def bind_rows(self):
        """The arrays of rows, after these were made anew."""
        arrays = self.arrays
        self.values, self.index, self.length = arrays["row_values"], arrays["row_index"], arrays["row_length"]
        self.targets, self.weights, self.margins = arrays["row_targets"], arrays["row_weights"], arrays["row_margins"]
        self.row_rests = arrays["row_rests"]
        rows = max(len(arrays["row_weights"]), 1)
        self.Z, self.A = (np.zeros(1 if self.sparse else rows * self.room) for _ in range(2))
        self.old, self.new, self.column = np.zeros(rows * self.V), np.zeros(rows * self.V), np.zeros(rows)
        self.row_scratch = np.zeros(2 * rows * self.V)
        self.P_rows, self.labels = np.zeros(rows * (2 * self.C if self.softmax else 1)), np.zeros(rows, dtype=np.intp)

    def bind_loss(self, Loss loss):
        """The loss of the rows to come."""
        self.loss, self.point, self.one_vs_rest, self.first_class = loss, None, isinstance(loss, OneVsRest), 0
        if isinstance(loss, PointLoss):
            self.point = loss
        elif self.one_vs_rest:
            self.point, self.first_class = (<OneVsRest> loss).inner, (<OneVsRest> loss).first
        own = loss if self.point is None else self.point
        self.logistic = own.logistic
        self.regression = own.degree > 0 or own.log_link
        self.quadratic_loss = own.degree == 2 and own.constant_curvature
        if self.share is None:
            self.share = FixedShare(self.arrays, self.B, self.C, own, self.priors)
            self.ready = True        # as every candidate takes part in a new combination
        self.share.bind_loss(own)

    def watch(self, shown, recorded):
        """Rounds always tell what is published before them."""

    def make_room(self, Py_ssize_t rows, Py_ssize_t widest):
        """Room for the rows of a call, as far as they are to be kept at once."""
        cdef Py_ssize_t held = <Py_ssize_t> self.numbers[ROWS]
        begins = self.numbers[BEGINNING] != 0.0
        # one more than the call brings: that a call ends is no reason to end a block
        needed = min(held + rows + 1, MOST_KEPT + LONGEST) if begins else LONGEST
        capacity, width = self.values.shape[0], self.values.shape[1]
        wider = max(width, widest) if self.sparse else width
        if capacity >= needed and width >= wider and not (not begins and capacity > LONGEST):
            return
        needed = max(needed, min(2 * capacity, MOST_KEPT + LONGEST) if begins else 0)
        fresh = self.rows_of(self.layout, needed, wider)
        for name, array in fresh.items():
            own = self.arrays[name]
            if array.ndim == 1:
                array[:held] = own[:held]
            else:
                array[:held, :own.shape[1]] = own[:held]
        self.arrays.update(fresh)
        self.bind_rows()

    def forget_rows(self):
        """Absorb the rows that wait, and keep none."""
        with nogil:
            self.absorb_all(True)

    # ---- what is published --------------------------------------------------------------------------------------

    def candidate_weights(self):
        """What each base candidate counts in what is published, (P, B)."""
        out = np.zeros((self.P, self.B))
        cdef double[:, ::1] view = out
        cdef Py_ssize_t p
        self.awake()
        for p in range(self.P):
            self.share.rest(self.resting(p))
            if self.l1 > 0.0:
                view[p, self.share.heaviest(p, self.whole)] = 1.0
            else:
                self.share.shares(p, &view[p, 0])
        return out

    def candidates(self):
        """All base candidates in raw units, (P, B, C, D)."""
        s = self.layout
        found = np.zeros((self.P, self.B, self.C, self.D))
        x = np.asarray(self.x)[:, :self.D, :self.whole * self.C].reshape(self.P, self.D, self.whole, self.C)
        found[:, :self.whole] = x.transpose(0, 2, 3, 1)
        if self.diagonals:
            x = np.asarray(self.diagonal_x)[:, :self.D, :self.diagonals * self.C]
            found[:, self.whole:self.B - 1] = x.reshape(self.P, self.D, self.diagonals, self.C).transpose(0, 2, 3, 1)
            for p in range(self.P):
                found[p, self.whole:self.B - 1] += found[p, self.leader(p, 0)]
        if s.intercept:
            for p in range(self.P):
                self.constant(p, &self.base[0])
                found[p, self.B - 1, :, self.d] = np.asarray(self.base)[:self.C]
            found[..., self.d] -= found[..., :self.d] @ np.asarray(self.centre)[:self.d] * (np.arange(self.B) < self.B - 1)[:, None]
        return found

    def published(self):
        """The weights in raw units, (n_outputs, D)."""
        weights = np.zeros((self.P * self.C, self.D))
        cdef double[:, ::1] out = weights
        cdef Py_ssize_t p
        self.awake()
        for p in range(self.P):
            self.add_up(p, out)
        if not isinstance(self.domain, NoDomain):
            for vector in weights:
                vector[:self.d] = self.domain.confine(vector[:self.d])
        return weights

    cdef void add_up(self, Py_ssize_t p, double[:, ::1] out) noexcept nogil:
        """The combination of a problem's candidates in raw units."""
        cdef Py_ssize_t b, c, i, lead = self.leader(p, 0)
        cdef double* shares = &self.losses[0]
        cdef double own, of_diagonals = 0.0
        self.share.rest(self.resting(p))
        if self.l1 > 0.0:
            lead = self.share.heaviest(p, self.whole)
            for b in range(self.B):
                shares[b] = b == lead
        else:
            self.share.shares(p, shares)
        for b in range(self.diagonals):
            of_diagonals += shares[self.whole + b]
        self.constant(p, &self.base[0])
        for c in range(self.C):
            for b in range(self.whole):
                own = shares[b] + of_diagonals if b == lead else shares[b]
                for i in range(self.D):
                    out[p * self.C + c, i] += own * self.x[p, i, b * self.C + c]
            for b in range(self.diagonals):
                for i in range(self.D):
                    out[p * self.C + c, i] += shares[self.whole + b] * self.diagonal_x[p, i, b * self.C + c]
            if self.intercept:
                out[p * self.C + c, self.d] += shares[self.B - 1] * self.base[c]
                for i in range(self.d):
                    out[p * self.C + c, self.d] -= out[p * self.C + c, i] * self.centre[i]

    def limits(self):
        """What values are limited to in predictions, (2, d)."""
        return self.arrays["columns"][LOW:HIGH + 1, :self.d].copy()      # neighbours

    def memory(self):
        """The number of rows in use: those of each memory, weighed as its candidates are."""
        shares = np.abs(self.candidate_weights()).mean(axis=0)
        rows = float(self.clock[0])
        kept = np.concatenate([np.repeat(self.kept[0], self.priors), np.asarray(self.kept)[1:], self.layout.diagonals, [1.0]])
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(kept < 1.0, -np.expm1(rows * np.log(kept)) / (1.0 - kept), rows)
        total = shares.sum()
        return float(shares @ each / total) if total > 0.0 else rows

    # ---- a call -------------------------------------------------------------------------------------------------

    def play(self, Rows rows, const Py_ssize_t[::1] order, const double[:, ::1] targets, const double[::1] weights,
             Records records=None, double[::1] class_counts=None, Transcript transcript=None):
        """One round for each row number in ``order``; a Tally, as of ``run_rounds``."""
        cdef Tally tally = Tally()
        self.make_room(order.shape[0], rows.widest)
        with nogil:
            self.run(rows, order, targets, weights, records, transcript, tally)
        if class_counts is not None:
            own = np.asarray(targets)[np.asarray(order)[:tally.rounds], 0]
            numbers = own.astype(np.intp) if len(class_counts) > 2 else (own > 0).astype(np.intp)
            np.asarray(class_counts)[:] += np.bincount(numbers, minlength=len(class_counts))
        return tally

    cdef void run(self, Rows rows, const Py_ssize_t[::1] order, const double[:, ::1] targets, const double[::1] weights,
                  Records records, Transcript transcript, Tally tally) noexcept nogil:
        cdef Row row
        cdef Py_ssize_t i, k, n = order.shape[0]
        cdef double value, weight = 1.0, total_loss = 0.0, total_weight = 0.0
        if records is not None:
            records.begin()
        tally.status = FINISHED
        k = 0
        while k < n:
            i = order[k]
            rows.fetch(i, &row)
            if row.stray:
                tally.status = STRAY_COLUMN
                break
            if not row.norm2 < LARGEST:
                tally.status = GRADIENT_OVERFLOW
                break
            if weights.shape[0] > 0:
                weight = weights[i]
            self.enter(&row)
            self.predict()
            value = self.published_loss(&targets[i, 0])
            if not (isfinite(value) and value < LARGEST):
                tally.status = LOSS_OVERFLOW
                break
            if self.overflows(&targets[i, 0], weight, row.norm2, fabs(value)):
                tally.status = GRADIENT_OVERFLOW
                break
            self.learn(&targets[i, 0], weight)
            if records is not None:
                records.note(value, weight, &self.published_margins[0], &targets[i, 0])
                if records.tracks is not None:
                    records.tracks.follow(&self.published_margins[0], &targets[i, 0])
            if transcript is not None:
                transcript.values[k] = value
                memcpy(&transcript.margins[k, 0], &self.published_margins[0], self.P * self.C * sizeof(double))
                if transcript.shown is not None:
                    memcpy(&transcript.shown[k, 0], &self.published_margins[0], self.P * self.C * sizeof(double))
            total_loss += weight * value
            total_weight += weight
            k += 1
        if records is not None:
            records.add_up()
        tally.loss, tally.weight, tally.rounds = total_loss, total_weight, k

    # ---- a row ----------------------------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        """The row behind those that wait, and its limited and centred values in ``scratch``."""
        cdef Py_ssize_t i, j, n = 0, s = <Py_ssize_t> self.numbers[ROWS]
        cdef double* v = &self.values[s, 0]
        cdef double* z = &self.scratch[0]
        cdef double* low = self.columns.at + LOW * self.room
        cdef double* high = self.columns.at + HIGH * self.room
        cdef bint kept_whole = self.numbers[BEGINNING] != 0.0
        self.beyond = False
        if not self.sparse:
            memcpy(v, row.z, self.D * sizeof(double))
            limited(v, low, high, self.D, z)
            if not kept_whole:
                memcpy(v, z, self.D * sizeof(double))
            else:
                for j in range(self.d):
                    self.beyond = self.beyond or z[j] != v[j]
            for j in range(self.D):
                z[j] -= self.centre[j]
            self.length[s] = <int> self.D
            return
        for j in range(row.n):
            i = j if row.index == NULL else row.index[j]
            if row.z[j] == 0.0:
                continue
            self.index[s, n] = <int> i
            v[n] = z[n] = row.z[j]
            if i < self.d:
                z[n] = fmin(fmax(z[n], low[i]), high[i])
                self.beyond = self.beyond or kept_whole and z[n] != v[n]
                if not kept_whole:
                    v[n] = z[n]
            n += 1
        self.length[s] = <int> n

    cdef void constant(self, Py_ssize_t p, double* out) noexcept nogil:
        """The margins of the constant prediction."""
        cdef Py_ssize_t c
        cdef double total = 0.0
        if not self.intercept:
            memset(out, 0, self.C * sizeof(double))
        elif self.softmax:
            for c in range(self.C):
                total += self.counts[p, c] + 0.5
            for c in range(self.C):
                out[c] = log((self.counts[p, c] + 0.5) * self.C / total)
        elif self.logistic:
            out[0] = log((self.counts[p, 1] + 0.5) / (self.counts[p, 0] + 0.5))
        else:
            out[0] = 0.0
            if self.levels[p, 0] > 0.0:
                out[0] = self.levels[p, 1] / self.levels[p, 0]
                out[0] = -log(out[0]) if self.point.log_link else out[0]

    cdef void find_level(self, Py_ssize_t p, double y, double weight) noexcept nogil:
        """The constant prediction of numbers learns from a row: a mean, or from quadratics. All start from the first row."""
        cdef Py_ssize_t v
        cdef double level, g, h
        cdef bint begins = self.levels[p, 0] == 0.0
        if self.point.log_link:
            self.levels[p, 0] += weight * y      # e^level is the mean
            self.levels[p, 1] += weight
        elif begins:
            h = self.point.surrogate(y, y, self.scale_of_residuals(p), &g)
            h = h if h > 0.0 else 1.0
            self.levels[p, 0], self.levels[p, 1] = weight * h, weight * h * y
        else:
            self.constant(p, &level)
            h = self.point.surrogate(level, y, self.scale_of_residuals(p), &g)
            self.levels[p, 0] += weight * h
            self.levels[p, 1] += weight * (h * level - g)
        if begins and self.intercept and self.regression and self.levels[p, 0] > 0.0:
            self.constant(p, &level)
            for v in range(self.V):
                self.x[p, self.d, v] = self.margins[<Py_ssize_t> self.numbers[ROWS], p * self.V + v] = level

    cdef void awake(self) noexcept nogil:
        """Weak priors take part from so many rows a weight on."""
        cdef Py_ssize_t k
        cdef bint ready = self.priors == 1 or self.l1 > 0.0 or self.clock[0] >= PER_WEIGHT * self.D
        if ready == self.ready:
            return
        self.ready = ready
        for k in range(self.priors):
            if self.epsilons[k] < WEAK_PRIOR:
                self.share.take_part(k, ready)

    cdef inline bint resting(self, Py_ssize_t p) noexcept nogil:
        """Whether candidates that forget do not read the next row."""
        return self.clock[0] < self.rests[p, WAKE]

    cdef void predict(self) noexcept nogil:
        """The margins of all candidates at the row that was entered, and what is published."""
        cdef Py_ssize_t p, i, lead, s = <Py_ssize_t> self.numbers[ROWS]
        cdef double* margins
        cdef double* base
        cdef bint resting
        self.awake()
        for p in range(self.P):
            base = &self.base[p * self.B * self.C]
            margins = &self.margins[s, p * self.V]
            resting = self.resting(p)
            self.row_rests[s, p] = resting
            self.share.rest(resting)
            self.margins_at(&self.x[p, 0, 0], self.V, self.last_lane(self.priors) if resting else self.V, margins)
            memcpy(base, margins, self.whole * self.C * sizeof(double))
            if self.diagonals and not resting:
                lead = self.leader(p, 0)
                self.margins_at(&self.diagonal_x[p, 0, 0], self.W, self.W, &self.scratch[2 * self.room + self.V])
                for i in range(self.diagonals * self.C):
                    base[self.whole * self.C + i] = base[lead * self.C + i % self.C] + self.scratch[2 * self.room + self.V + i]
            self.constant(p, base + (self.B - 1) * self.C)
            self.combine(p)

    cdef inline void margins_at(self, const double* x, Py_ssize_t V, Py_ssize_t lanes, double* out) noexcept nogil:
        cdef Py_ssize_t s = <Py_ssize_t> self.numbers[ROWS]
        if self.sparse:
            sparse_margins(&self.scratch[0], &self.index[s, 0], self.length[s], x, V, lanes, out)
        else:
            dense_margins(&self.scratch[0], self.room, 1, self.D, x, V, lanes, out)

    cdef bint overflows(self, const double* target, double weight, double norm2, double value) noexcept nogil:
        """Whether squares of targets, and what weights make of them and of the row, are too large for sums of them."""
        cdef Py_ssize_t p
        cdef double y, squares = 0.0
        if self.regression:
            for p in range(self.P):
                y = target[p] if self.numbers[BEGINNING] != 0.0 else self.label(p, target)     # as it is kept
                squares += y * y
        return not squares < LARGEST or (weight > 1.0 and not weight * weight * (1.0 + norm2) * (1.0 + value + squares) < LARGEST)

    cdef double label(self, Py_ssize_t p, const double* target) noexcept nogil:
        """The target of a problem: of a regression limited, ±1 of a class against the rest."""
        cdef double y
        if self.one_vs_rest:
            return 1.0 if self.first_class + p == <Py_ssize_t> target[0] else -1.0
        if not self.regression:
            return target[0]
        y = target[p]
        return fmin(fmax(y, self.target_columns.at[LOW * self.T + p]), self.target_columns.at[HIGH * self.T + p])

    cdef inline void set_unit(self, Py_ssize_t p) noexcept nogil:
        """Parameters of a loss of residuals are in units of those of a problem."""
        if self.point is not None and self.point.degree > 0:
            self.point.unit = self.scale_of_residuals(p)

    cdef double published_loss(self, const double* targets) noexcept nogil:
        """The loss of what is published at the row that was entered."""
        cdef Py_ssize_t p
        cdef double value = 0.0
        if self.point is None or self.point.degree == 0:
            return self.loss.evaluate(&self.published_margins[0], targets, &self.slopes[0], self.P * self.C)
        for p in range(self.P):
            self.set_unit(p)
            value += self.point.point(self.published_margins[p], targets[p], &self.slopes[p])
        return value

    cdef void combine(self, Py_ssize_t p) noexcept nogil:
        """What is published, from the margins of base candidates."""
        cdef double* base = &self.base[p * self.B * self.C]
        cdef double* published = &self.published_margins[p * self.C]
        self.share.combine(p, base, published)
        if self.l1 > 0.0:            # a mean of sparse weights is not sparse: one candidate is what is published
            self.share.publish(base + self.share.heaviest(p, self.whole) * self.C, published)

    cdef double scale_of_residuals(self, Py_ssize_t p) noexcept nogil:
        """Their root mean square, of which recent ones count most; where all were 0, that of rounding."""
        cdef double level = 0.0
        if self.units[p, 0] > UNIT_ROUNDING and self.units[p, 1] > 0.0:
            return sqrt(self.units[p, 0] / self.units[p, 1])
        if self.units[p, 1] > 0.0:
            self.constant(p, &level)
        return fmax(OF_LEVEL * fabs(level), sqrt(UNIT_ROUNDING)) if level != 0.0 else 1.0     # its square divides

    cdef void learn(self, const double* target, double weight) noexcept nogil:
        """What a row changes at once: weights of candidates, diagonal candidates, counts; and the blocks that it ends."""
        cdef Py_ssize_t p, k, s = <Py_ssize_t> self.numbers[ROWS]
        cdef double y, unit, residual = 0.0, faded
        self.fade_diagonals()
        for p in range(self.P):
            y, unit = self.label(p, target), 1.0
            if self.regression and self.levels[p, 0] > 0.0:      # the first one says nothing of residuals
                residual = self.published_margins[p]
                residual = (exp(fmin(residual, LARGEST_EXPONENT)) if self.point.log_link else residual) - y
                faded = 1.0 - RECENT / (self.clock[0] + 1.0 + RECENT)
                self.units[p, 0] = faded * self.units[p, 0] + weight * residual * residual
                self.units[p, 1] = faded * self.units[p, 1] + weight
                unit = self.loss_unit(p)
                unit = OF_SQUARES * unit if self.point.degree == 2 else unit
            if self.P > 1:           # its margins have made room for those of the problems after it
                self.share.rest(self.resting(p))
                self.combine(p)
            self.set_unit(p)
            self.share.learn(p, &y, weight, unit, self.scale_of_residuals(p), self.clock[0] + 1.0)
            if self.diagonals and not self.share.resting and (not self.regression or self.levels[p, 0] > 0.0):
                self.step_diagonals(p, &y, weight)
            if self.softmax:
                self.counts[p, <Py_ssize_t> y] += weight
            elif self.logistic:
                self.counts[p, y > 0.0] += weight
            else:
                self.find_level(p, y, weight)
            if self.may_rest:
                # the one loss that is not that of residuals in some unit, and a constant
                self.consider_rest(p, fabs(residual) if self.point is not None and self.point.log_link else self.share.published_loss)
        for k in range(self.T):
            y = target[k]
            if self.regression and self.numbers[BEGINNING] == 0.0:
                y = fmin(fmax(y, self.target_columns.at[LOW * self.T + k]), self.target_columns.at[HIGH * self.T + k])
            self.targets[s, k] = y
        self.weights[s] = weight
        self.numbers[ROWS] = s + 1
        self.clock[0] += 1.0
        self.clock[1] += weight
        self.end_blocks()

    cdef void consider_rest(self, Py_ssize_t p, double loss) noexcept nogil:
        """Candidates that forget begin to rest, or wake, for their weight and for the losses of what is published."""
        cdef double t = self.clock[0] + 1.0, far, part = 1.0 / fmin(t, LEVEL_ROWS)
        cdef double* watched = &self.rests[p, 0]
        loss = fmin(loss, LARGEST_WATCHED)
        if self.numbers[BEGINNING] == 0.0:
            if watched[SPREAD] == 0.0:       # of merged models, or where all losses were the same
                watched[LEVEL], watched[SPREAD], watched[LATELY] = loss, loss * loss, loss
            far = watched[LEVEL] + EXTREME * sqrt(watched[SPREAD])
            loss = loss if loss < far else far
        watched[LATELY] += (loss - watched[LATELY]) / fmin(t, RECENT_ROWS)
        watched[LEVEL] += part * (loss - watched[LEVEL])
        watched[SPREAD] += part * ((loss - watched[LEVEL]) * (loss - watched[LEVEL]) - watched[SPREAD])
        if self.numbers[BEGINNING] != 0.0:
            return
        if self.resting(p):
            if watched[LATELY] - watched[LEVEL] > RISEN * sqrt(watched[SPREAD] / (2.0 * RECENT_ROWS - 1.0)):
                watched[WAKE], watched[DECIDE] = t, t + 2.0 * TRIAL
        elif t >= watched[DECIDE]:
            watched[DECIDE] = t + TRIAL
            if self.share.resting_part(p) < REST_BELOW:
                watched[WAKE], watched[DECIDE] = t + REST, t + REST + TRIAL

    cdef void step_diagonals(self, Py_ssize_t p, const double* target, double weight) noexcept nogil:
        """A Newton step of each diagonal candidate: x ← x − 2g H z / (1 + (h' + 2h) zᵀHz), H = 1 / (λ-sums of h' z² + prior)."""
        cdef Py_ssize_t v, k, c, W = self.W, s = <Py_ssize_t> self.numbers[ROWS]
        cdef double* m = &self.base[(p * self.B + self.whole) * self.C]
        cdef double* g = &self.diagonal_slopes[0]
        cdef double* h = g + W
        cdef double* own = g + 2 * W
        cdef const int* index = &self.index[s, 0] if self.sparse else NULL
        if self.softmax:
            for k in range(self.diagonals):
                softmax(m + k * self.C, self.C, <Py_ssize_t> target[0], h + k * self.C)
                for c in range(self.C):
                    v = k * self.C + c
                    g[v] = h[v] - (c == <Py_ssize_t> target[0])
                    h[v] *= 1.0 - h[v]
                    own[v] = 0.5 * (g[v] * g[v] + h[v])
        elif self.logistic:
            probabilities(m, self.diagonals, 1, h)
            for v in range(self.diagonals):
                g[v] = h[v] - (target[0] > 0.0)
                h[v] *= 1.0 - h[v]
                own[v] = 0.5 * (g[v] * g[v] + h[v])
        else:
            for v in range(self.diagonals):
                h[v] = self.point.surrogate(m[v], target[0], self.scale_of_residuals(p), &g[v])
                own[v] = h[v] if self.regression else 0.5 * (g[v] * g[v] + h[v])
        for k in range(W // VECTOR):
            v = k * VECTOR
            diagonal_step(&self.scratch[0], index, self.length[s], W, &self.diagonal_x[p, 0, v], &self.diagonal_G[p, 0, v],
                          &self.diagonal_ridge[0, v], &self.diagonal_scale[v], g + v, h + v, own + v, weight, &self.diagonal_room[0])

    cdef void fade_diagonals(self) noexcept nogil:
        """A row passes for the matrices of diagonal candidates, by a factor that they have in common until it is small."""
        cdef Py_ssize_t p, i, v
        for v in range(self.diagonals * self.C):
            self.diagonal_scale[v] *= self.diagonal_kept[v]
        if self.diagonals == 0 or self.diagonal_scale[self.diagonals * self.C - 1] >= 1e-60:     # of the shortest memory
            return
        for v in range(self.diagonals * self.C):
            for p in range(self.P):
                for i in range(self.room):
                    self.diagonal_G[p, i, v] *= self.diagonal_scale[v]
            self.diagonal_scale[v] = 1.0

    cdef void find_ridges(self) noexcept nogil:
        """The priors of diagonal candidates."""
        cdef Py_ssize_t i, v
        cdef double square
        for i in range(self.D):
            for v in range(self.diagonals * self.C):
                if i >= self.d:
                    self.diagonal_ridge[i, v] = DIAGONAL_PRIOR
                else:
                    square = self.variances[i]
                    if self.regresses:
                        square = fmax(square, self.reaches[i] * of_memory(self.diagonal_kept[v]))
                    self.diagonal_ridge[i, v] = fmax(DIAGONAL_PRIOR, PER_D * self.D) * square

    # ---- blocks -----------------------------------------------------------------------------------------------------

    cdef inline double due(self, Py_ssize_t l) noexcept nogil:
        return self.numbers[SCHEDULE + l]

    cdef inline Py_ssize_t absorbed(self, Py_ssize_t l) noexcept nogil:
        return <Py_ssize_t> self.numbers[SCHEDULE + self.memories + l]

    cdef Py_ssize_t period(self, Py_ssize_t l) noexcept nogil:
        """The rows of the next block of a memory."""
        cdef double t = self.clock[0], rows = 1.0 / (1.0 - self.kept[l]) if self.kept[l] < 1.0 else t
        cdef double part_of_all = fmin(t, rows) / (JOINT_FRACTION if self.softmax else FRACTION)
        cdef Py_ssize_t part
        if self.numbers[BEGINNING] != 0.0 and not self.softmax:       # where each solution is judged by all rows
            part_of_all *= 1.0 + t / MOST_KEPT
        part = max(<Py_ssize_t> part_of_all, self.D // PER_BLOCK)
        if l > 0:
            part = max(part, self.D // 2)
        return max(1, min(part, LONGEST))

    cdef void end_blocks(self) noexcept nogil:
        cdef Py_ssize_t l, p, most = MOST_KEPT + LONGEST if self.numbers[BEGINNING] != 0.0 else LONGEST
        # a row that is kept with a value beyond the limits ends its block: inside the range of the rows the model is linear
        if self.clock[0] >= self.due(0) or self.beyond or <Py_ssize_t> self.numbers[ROWS] >= most:
            self.absorb_all(False)
            return
        for l in range(1, self.memories):
            if self.clock[0] >= self.due(l):
                self.absorb(l)
                for p in range(self.P):
                    self.improve(p, l, self.absorbed(l), False)
                self.settle(l)

    cdef void settle(self, Py_ssize_t l) noexcept nogil:
        """All rows are absorbed by a memory; its next block."""
        self.numbers[SCHEDULE + self.memories + l] = self.numbers[ROWS]
        self.numbers[SCHEDULE + l] = self.clock[0] + self.period(l)

    cdef void absorb_all(self, bint to_the_end) noexcept nogil:
        """The end of a block of the longest memory: what is known of columns moves, and all candidates are solved."""
        cdef Py_ssize_t l, p, first = self.absorbed(0), n = <Py_ssize_t> self.numbers[ROWS]
        cdef bint begins = self.numbers[BEGINNING] != 0.0
        cdef bint ends = begins and (to_the_end or n >= MOST_KEPT)
        for l in range(self.memories):
            self.absorb(l)
        if n > first:
            self.describe(first, n)
        if begins and (ends or self.clock[0] >= self.numbers[ANEW]):
            if ends:
                self.limit_kept()
            self.centre_rows(0, n)
            for p in range(self.P):
                self.refit(p)
            if ends:
                for l in range(1, self.memories):
                    self.begin_memory(l)
            self.numbers[ANEW] = ceil(GROWING * self.clock[0])
            for l in range(1, self.memories):
                for p in range(self.P):
                    self.improve(p, l, self.absorbed(l), False)
        else:
            for l in range(self.memories):
                for p in range(self.P):
                    self.improve(p, l, 0 if begins and l == 0 else self.absorbed(l), begins and l == 0)
        if ends or not begins:
            self.numbers[BEGINNING], self.numbers[ROWS] = 0.0, 0.0
        for l in range(self.memories):
            self.settle(l)

    cdef void begin_memory(self, Py_ssize_t l) noexcept nogil:
        """The sums of a memory that forgets from all rows kept, which are limited now, at the point of the leading candidate."""
        cdef Py_ssize_t p, i, c, _s, lead, n = <Py_ssize_t> self.numbers[ROWS], k = self.priors + l - 1
        cdef double kept = 1.0
        self.mass[l] = 0.0
        for _s in range(n):
            self.mass[l] += kept
            kept *= self.kept[l]
        self.centre_rows(0, n)
        for p in range(self.P):
            lead = self.leader(p, 0)
            for i in range(self.D):
                for c in range(self.C):
                    self.x[p, i, k * self.C + c] = self.x[p, i, lead * self.C + c]
            memset(&self.G[p, l, 0, 0, 0], 0, self.pairs * self.room * self.room * sizeof(double))
            memset(&self.r[p, l, 0, 0], 0, self.C * self.room * sizeof(double))
            self.margins_of_rows(0, n, &self.x[p, 0, 0], &self.old[0])
            self.linearise(p, l, 0, n, &self.old[0], self.V, True)

    cdef void describe(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Means, variances and limits with the rows from ``first`` to n, and all points moved to the new centre."""
        cdef double t = self.clock[0], before = t - (n - first)
        if self.sparse:
            self.columns.add_sparse(&self.values[first, 0], &self.index[first, 0], &self.length[first], n - first,
                                    self.values.shape[1], before)
        else:
            self.columns.add(&self.values[first, 0], n - first, before)
        if self.regression:
            self.target_columns.add(&self.targets[first, 0], n - first, before)
        if self.numbers[BEGINNING] != 0.0:
            self.columns.set_range(t)
            self.limit_targets()
        else:
            self.columns.set_limits(t)
            if self.regression:
                self.target_columns.set_limits(t)
        self.know_variances(self.clock[0])
        self.move_centre()

    cdef void know_variances(self, double rows) noexcept nogil:
        """Of so many rows, which are described. Diagonal candidates keep their weights in units of deviations."""
        cdef Py_ssize_t i, p, v
        cdef double before, ratio
        self.jumped = False
        for i in range(self.d):
            before = self.variances[i]
            if before > 0.0 and rows > 0.0 and self.columns.scale2(i, rows) > JUMP * before:
                self.jumped = True   # Newton's method goes on from a margin of the size that it was
                ratio = sqrt(before / self.columns.scale2(i, rows))
                for p in range(self.P):
                    for v in range(self.V):
                        self.x[p, i, v] *= ratio
            before = self.reaches[i]
            self.variances[i] = self.columns.scale2(i, rows) if rows > 0.0 else 0.0
            self.reaches[i] = self.columns.reach2(i, self.variances[i]) if self.variances[i] > 0.0 else 0.0
            if self.diagonals and before > 0.0 and self.reaches[i] > before:      # where it shrinks, weights stay as they are
                ratio = sqrt(before / self.reaches[i])
                for p in range(self.P):
                    for v in range(self.W):
                        self.diagonal_x[p, i, v] *= ratio
                        self.diagonal_G[p, i, v] = fmin(self.diagonal_G[p, i, v] / ratio / ratio, LARGEST)
        self.find_ridges()

    cdef void move_centre(self) noexcept nogil:
        """To the means: z' = z + δ, so that G' = SGSᵀ and r' = Sr with S = I + δ e_bᵀ; a point's intercept moves the other way."""
        cdef Py_ssize_t p, l, q, i, j, c, v, b = self.d
        cdef double* delta = &self.scratch[self.room]
        cdef double* G
        cdef double* mean = self.columns.at + MEAN * self.room
        cdef bint moves = False
        if self.sparse or not self.intercept:
            return
        for i in range(self.d):
            delta[i] = self.centre[i] - mean[i]
            moves = moves or delta[i] != 0.0
            self.centre[i] = mean[i]
        if not moves:
            return
        for p in range(self.P):
            for l in range(self.memories):
                for q in range(self.pairs):
                    G = &self.G[p, l, q, 0, 0]
                    for i in range(self.d):
                        for j in range(i, self.d):
                            G[i * self.room + j] += delta[i] * G[j * self.room + b] + delta[j] * (
                                G[i * self.room + b] + delta[i] * G[b * self.room + b])
                    for i in range(self.d):
                        G[i * self.room + b] += delta[i] * G[b * self.room + b]
                for c in range(self.C):
                    for i in range(self.d):
                        self.r[p, l, c, i] += delta[i] * self.r[p, l, c, b]
            for i in range(self.d):
                for v in range(self.V):
                    self.x[p, b, v] -= delta[i] * self.x[p, i, v]
                for v in range(self.W):
                    self.diagonal_x[p, b, v] -= delta[i] * self.diagonal_x[p, i, v]

    cdef void limit_kept(self) noexcept nogil:
        """The beginning ends: limits from all rows kept, which are limited by them, and described anew."""
        cdef Py_ssize_t i, j, s, n = <Py_ssize_t> self.numbers[ROWS]
        cdef double* column = &self.column[0]
        cdef double low, high
        for i in range(self.d):
            if self.sparse:
                for s in range(n):
                    column[s] = 0.0
                    for j in range(self.length[s]):
                        if self.index[s, j] == i:
                            column[s] = self.values[s, j]
            else:
                for s in range(n):
                    column[s] = self.values[s, i]
            self.columns.limits_of_kept(i, column, n)
        for s in range(n):
            for j in range(self.length[s]):
                i = self.index[s, j] if self.sparse else j
                if i < self.d:
                    low, high = self.columns.at[LOW * self.room + i], self.columns.at[HIGH * self.room + i]
                    self.values[s, j] = fmin(fmax(self.values[s, j], low), high)
        self.columns.restart()
        if self.sparse:
            self.columns.add_sparse(&self.values[0, 0], &self.index[0, 0], &self.length[0], n, self.values.shape[1], 0.0)
        else:
            self.columns.add(&self.values[0, 0], n, 0.0)
        self.know_variances(self.clock[0])
        self.jumped = True           # margins are those of other values
        self.move_centre()
        if self.regression and n > 0:
            self.limit_targets()
            for i in range(self.T):
                low, high = self.target_columns.at[LOW * self.T + i], self.target_columns.at[HIGH * self.T + i]
                for s in range(n):
                    self.targets[s, i] = fmin(fmax(self.targets[s, i], low), high)
            self.target_columns.restart()
            self.target_columns.add(&self.targets[0, 0], n, 0.0)

    cdef void limit_targets(self) noexcept nogil:
        """Targets that are kept count as far as no one of them counts too much."""
        cdef Py_ssize_t k, s, n = <Py_ssize_t> self.numbers[ROWS]
        if not self.regression:
            return
        for k in range(self.T):
            for s in range(n):
                self.column[s] = self.targets[s, k]
            self.target_columns.limits_of_kept(k, &self.column[0], n)

    cdef void centre_rows(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Dense rows as z, in ``Z``."""
        if not self.sparse and n > first:
            centred(&self.values[first, 0], &self.centre[0], n - first, self.room, &self.Z[0])

    cdef void absorb(self, Py_ssize_t l) noexcept nogil:
        """The rows that wait for a memory join its sums, each at the margins that were predicted for it."""
        cdef Py_ssize_t p, _s, first = self.absorbed(l), n = <Py_ssize_t> self.numbers[ROWS]
        cdef double part = self.kept[l] ** (n - first), kept = 1.0
        cdef bint ready
        if n <= first:
            return
        self.mass[l] *= part
        for _s in range(n - first):
            self.mass[l] += kept     # a penalty is due once a row, whatever its weight
            kept *= self.kept[l]
        ready = False
        for p in range(self.P):
            if l > 0:
                part = self.kept[l] ** self.rows_read(p, first, n)
            if part != 1.0 or l == 0:
                if not ready:
                    self.centre_rows(first, n)
                    ready = True
                self.fade(p, l, part)
                self.linearise(p, l, first, n, &self.margins[first, p * self.V], self.P * self.V, False)

    cdef Py_ssize_t rows_read(self, Py_ssize_t p, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """How many of these rows the candidates that forget have read."""
        cdef Py_ssize_t s, read = 0
        for s in range(first, n):
            read += self.row_rests[s, p] == 0.0
        return read

    cdef void fade(self, Py_ssize_t p, Py_ssize_t l, double part) noexcept nogil:
        cdef Py_ssize_t i
        if part == 1.0:
            return
        for i in range(self.pairs * self.room * self.room):
            (&self.G[p, l, 0, 0, 0])[i] *= part
        for i in range(self.C * self.room):
            (&self.r[p, l, 0, 0])[i] *= part

    cdef Py_ssize_t leader(self, Py_ssize_t p, Py_ssize_t l) noexcept nogil:
        """The candidate of a memory at whose margins rows are linearised: the one whose losses are least."""
        cdef Py_ssize_t k, first = 0
        cdef const double* totals = self.share.totals + p * self.share.room
        if l > 0:
            return self.priors + l - 1
        first = -1
        for k in range(self.priors):
            if self.share.active[k] and (first < 0 or totals[k] < totals[first]):
                first = k
        return max(first, 0)

    cdef void linearise(self, Py_ssize_t p, Py_ssize_t l, Py_ssize_t first, Py_ssize_t n, const double* margins, Py_ssize_t stride,
                        bint batch) noexcept nogil:
        """Add the quadratics of rows, whose centred values are in ``Z``, at the margins of the leading candidate."""
        cdef Py_ssize_t s, c, e, i, j, a, k = self.leader(p, l) * self.C, rows = n - first, pair
        cdef const double* m
        cdef const double* z
        cdef double kept = 1.0, weight, g, h, y, f, scale = self.scale_of_residuals(p)
        cdef double* G
        cdef double* r
        self.set_unit(p)
        if self.logistic:
            probabilities(margins + k, rows, stride, &self.P_rows[0])
        for c in range(self.C):
            for e in range(c, self.C if self.couples else c + 1):
                pair = self.pair_of(c, e)
                G = &self.G[p, l, pair, 0, 0]
                r = &self.r[p, l, c, 0]
                kept = 1.0
                for s in range(rows - 1, -1, -1):
                    m = margins + s * stride + k
                    y = self.label(p, &self.targets[first + s, 0])
                    weight = kept * self.weights[first + s]
                    if l > 0 and self.row_rests[first + s, p] != 0.0:
                        weight = 0.0
                    else:
                        kept *= self.kept[l]
                    if self.softmax:
                        if c == 0 and e == 0:
                            self.softmax_at(s, m, <Py_ssize_t> y, batch)
                        h = weight * self.hessian_of(s, c, e)
                        f = weight * self.P_rows[s * (2 * self.C) + self.C + c]
                    else:
                        if self.logistic:
                            h = self.P_rows[s]
                            g = h - (y > 0.0)
                            h *= 1.0 - h
                            h = fmax(h, LEAST_CURVATURE) if batch else h + DAMP * g * g
                        else:
                            h = self.point.surrogate(m[0], y, scale, &g)
                        f = weight * (h * m[0] - g)
                        h *= weight
                    if self.sparse:
                        z = &self.values[first + s, 0]
                        for a in range(self.length[first + s]):
                            i = self.index[first + s, a]
                            if c == e:
                                r[i] += f * z[a]
                            for j in range(a, self.length[first + s]):
                                G[i * self.room + self.index[first + s, j]] += h * z[a] * z[j]
                    else:
                        weigh_row(&self.Z[s * self.room], h, f, self.room, &self.A[s * self.room], r if c == e else NULL)
                if not self.sparse:
                    add_products(&self.A[0], &self.Z[0], rows, self.room, G, self.room, 1)

    cdef inline Py_ssize_t pair_of(self, Py_ssize_t c, Py_ssize_t e) noexcept nogil:
        return c * self.C - c * (c - 1) // 2 + e - c if self.couples else c

    cdef void softmax_at(self, Py_ssize_t s, const double* m, Py_ssize_t y, bint batch) noexcept nogil:
        """The probabilities of a row, and Hm − g, in ``P_rows``; its damping."""
        cdef Py_ssize_t c
        cdef double* p = &self.P_rows[s * (2 * self.C)]
        cdef double* f = p + self.C
        cdef double mean = 0.0, along = 0.0, g, h
        softmax(m, self.C, y, p)
        for c in range(self.C):
            mean += p[c] * m[c]
            along += (p[c] - (c == y)) * m[c]
        for c in range(self.C):
            g = p[c] - (c == y)
            if not self.couples:
                mean, along = p[c] * m[c], g * m[c]
            h = p[c] * (m[c] - mean)
            f[c] = (h if batch else h + DAMP * g * along) + LEAST_CURVATURE * m[c] - g
        self.labels[s] = y
        self.damped = not batch

    cdef inline double hessian_of(self, Py_ssize_t s, Py_ssize_t c, Py_ssize_t e) noexcept nogil:
        cdef double* p = &self.P_rows[s * (2 * self.C)]
        cdef Py_ssize_t y = self.labels[s]
        cdef double h = p[c] * ((c == e) - p[e])
        if self.damped:
            h += DAMP * (p[c] - (c == y)) * (p[e] - (e == y))
        return h + LEAST_CURVATURE * (c == e)

    # ---- solutions ----------------------------------------------------------------------------------------------------

    cdef void propose(self, Py_ssize_t p, Py_ssize_t l) noexcept nogil:
        """The minimisers of all candidates of a memory, in ``proposal``; where there is none, the candidate as it is."""
        cdef Py_ssize_t k, first, last, q, a, i, c, n, v
        cdef double start
        memcpy(&self.proposal[0], &self.x[p, 0, 0], self.room * self.V * sizeof(double))
        first = 0 if l == 0 else self.priors + l - 1
        last = self.priors + l
        for k in range(first, last):
            self.gains[k] = 0.0
            for q in range(1 if self.couples else self.C):
                n = self.assemble(p, l, k, q)
                start = self.quadratic.value(n) if self.whole_matrix else 0.0
                if self.quadratic.minimise(n) != 0:
                    continue
                if self.whole_matrix:
                    self.gains[k] += start - self.quadratic.value(n)
                for c in range(self.C):
                    if self.couples or c == q:
                        for i in range(self.d):          # features without a part
                            self.proposal[i * self.V + k * self.C + c] = 0.0
                for a in range(n):
                    self.proposal[self.coordinate[a] * self.V + k * self.C + self.component[a]] = self.quadratic.x[a]
                if self.shifts:
                    for c in range(self.C):
                        if self.couples or c == q:
                            v = k * self.C + c
                            for i in range(self.d):
                                self.proposal[self.d * self.V + v] += self.shift[i] * self.proposal[i * self.V + v]

    cdef Py_ssize_t assemble(self, Py_ssize_t p, Py_ssize_t l, Py_ssize_t k, Py_ssize_t q) noexcept nogil:
        """The system of candidate k about the means: its matrix, right side and penalties; how many coordinates have a part."""
        cdef Py_ssize_t n = 0, a, b, c, e, i, j, v
        cdef double prior, unit, ridge
        cdef double* A = self.quadratic.A
        cdef double* G
        cdef double* right = self.quadratic.b
        cdef double* start = self.quadratic.x
        cdef Py_ssize_t lead = self.leader(p, 0) if l > 0 else -1
        cdef double* mean = self.columns.at + MEAN * self.room
        for c in range(self.C if self.couples else 1):
            e = c if self.couples else q
            for i in range(self.D):
                if i >= self.d or self.variances[i] > 0.0 or self.quadratic.projects:
                    self.coordinate[n], self.component[n] = i, e
                    n += 1
        for a in range(n):
            c, i = self.component[a], self.coordinate[a]
            if not self.couples:         # coordinates ascend
                G = &self.G[p, l, c, i, 0]
                for b in range(a, n):
                    A[a * n + b] = G[self.coordinate[b]]
            else:
                for b in range(a, n):
                    e, j = self.component[b], self.coordinate[b]
                    A[a * n + b] = self.G[p, l, self.pair_of(c, e), i, j] if i <= j else self.G[p, l, self.pair_of(c, e), j, i]
            right[a] = self.r[p, l, c, i]
        if self.whole_matrix or self.shifts:
            for a in range(n):
                for b in range(a):
                    A[a * n + b] = A[b * n + a]
        if self.shifts:
            for i in range(self.d):
                self.shift[i] = -mean[i]
            self.shift_system(n)
        prior = self.epsilons[k]
        unit = self.prior_unit(p)
        self.constant(p, &self.level[0])
        for a in range(n):
            c, i = self.component[a], self.coordinate[a]
            v = k * self.C + c
            if i < self.d:
                ridge = prior * unit * self.square_of(i, l, prior)
                A[a * n + a] += ridge + self.l2 * self.mass[l]
                if self.variances[i] == 0.0:             # a feature without a part, which a projection has to know
                    A[a * n + a] = 1.0
                right[a] += ridge * (self.origin[p, c, i] if lead < 0 else self.x[p, i, lead * self.C + c])
                self.quadratic.l1[a], self.quadratic.free[a] = self.l1 * self.mass[l], False
                self.quadratic.x[a] = self.x[p, i, v]
            else:
                ridge = INTERCEPT_PRIOR * unit
                A[a * n + a] += ridge
                right[a] += ridge * self.level[c]
                self.quadratic.l1[a], self.quadratic.free[a] = 0.0, True
                self.quadratic.x[a] = self.x[p, i, v]
                if self.shifts:
                    for j in range(self.d):
                        start[a] -= self.shift[j] * self.x[p, j, v]
            self.ridge[a] = ridge
        return n

    cdef inline double square_of(self, Py_ssize_t i, Py_ssize_t l, double prior) noexcept nogil:
        """What a candidate's prior measures a feature with."""
        if l > 0:
            return fmax(self.variances[i], self.reaches[i] * of_memory(self.kept[l])) if self.regresses else self.variances[i]
        return fmax(self.variances[i], self.reaches[i] * RARE) if prior >= WEAK_PRIOR else self.variances[i]

    cdef void shift_system(self, Py_ssize_t n) noexcept nogil:
        """A ← SASᵀ and b ← Sb with S = I + δ e_bᵀ, the intercept the last coordinate of each component."""
        cdef Py_ssize_t a, b, own
        cdef double* A = self.quadratic.A
        cdef double* right = self.quadratic.b
        for a in range(n):
            if self.coordinate[a] < self.d:
                own = self.intercept_of(a, n)
                for b in range(n):
                    A[a * n + b] += self.shift[self.coordinate[a]] * A[own * n + b]
                right[a] += self.shift[self.coordinate[a]] * right[own]
        for a in range(n):
            if self.coordinate[a] < self.d:
                own = self.intercept_of(a, n)
                for b in range(n):
                    A[b * n + a] += self.shift[self.coordinate[a]] * A[b * n + own]

    cdef inline Py_ssize_t intercept_of(self, Py_ssize_t a, Py_ssize_t n) noexcept nogil:
        while self.coordinate[a] < self.d:
            a += 1
        return a

    cdef void margins_of_rows(self, Py_ssize_t first, Py_ssize_t n, const double* x, double* out, Py_ssize_t begin=0,
                              Py_ssize_t end=-1) noexcept nogil:
        """Of rows whose centred values are in ``Z``, at V points, or at those of some candidates at least."""
        cdef Py_ssize_t s, low = self.first_lane(begin), high = self.V if end < 0 else self.last_lane(end)
        if not self.sparse:
            dense_margins(&self.Z[0], self.room, n - first, self.D, x + low, self.V, high - low, out + low)
        else:
            for s in range(first, n):
                sparse_margins(&self.values[s, 0], &self.index[s, 0], self.length[s], x, self.V, self.V, out + (s - first) * self.V)

    cdef double prior_of(self, Py_ssize_t p, Py_ssize_t k, const double* x) noexcept nogil:
        """Half the sum of squares that a candidate's prior and the penalty ask for at a point."""
        cdef Py_ssize_t i, c, v, l = 0 if k < self.priors else k - self.priors + 1
        cdef double total = 0.0, away, intercept, unit
        unit = self.prior_unit(p)
        self.constant(p, &self.level[0])
        for c in range(self.C):
            v = k * self.C + c
            for i in range(self.d):
                away = x[i * self.V + v] - self.origin[p, c, i]
                total += 0.5 * self.epsilons[k] * unit * self.square_of(i, l, self.epsilons[k]) * away * away
                total += self.mass[0] * (0.5 * self.l2 * x[i * self.V + v] ** 2 + self.l1 * fabs(x[i * self.V + v]))
            if self.intercept:
                intercept = x[self.d * self.V + v]
                if self.shifts:
                    for i in range(self.d):
                        intercept += self.columns.at[MEAN * self.room + i] * x[i * self.V + v]
                intercept -= self.level[c]
                total += 0.5 * INTERCEPT_PRIOR * unit * intercept * intercept
        return total

    cdef double improve(self, Py_ssize_t p, Py_ssize_t l, Py_ssize_t first, bint whole) noexcept nogil:
        """Solve the candidates of a memory and move them there; halved where the loss of the rows from ``first`` would grow.

        ``whole``: these are all rows, and the prior is judged too. Returns the decrease for the leading candidate.
        """
        cdef Py_ssize_t n = <Py_ssize_t> self.numbers[ROWS], s, k, i, c, v, begin, end, left, low, high
        cdef double step, gain = 0.0, slack, value
        cdef double* old = &self.old[0]
        cdef double* new = &self.new[0]
        cdef Py_ssize_t lead = self.leader(p, l)
        cdef Py_ssize_t read = self.rows_read(p, first, n) if l > 0 else n - first
        if n > first and read == 0:
            return gain
        self.propose(p, l)
        begin = 0 if l == 0 else self.priors + l - 1
        end = self.priors + l
        low, high = self.first_lane(begin), self.last_lane(end)
        for k in range(begin, end):
            self.step[k] = 1.0
        if not self.quadratic_loss and n > first:
            self.centre_rows(first, n)
            if self.jumped or self.beyond or read < n - first:       # margins are of other weights or values, or none
                self.margins_of_rows(first, n, &self.x[p, 0, 0], old, begin, end)
            else:                # x stood still since these rows were predicted, or their margins followed it
                for s in range(first, n):
                    memcpy(old + (s - first) * self.V + low, &self.margins[s, p * self.V + low], (high - low) * sizeof(double))
            self.margins_of_rows(first, n, &self.proposal[0], new, begin, end)
            subtract_rows(old + low, self.V, n - first, high - low, new + low)
            self.evaluate_rows(p, first, n, 0.0, begin, end, &self.before[0])
            slack = 0.0
            for s in range(first, n):
                slack += self.weights[s]
            slack *= 0.0 if whole else SLACK * self.loss_unit(p)
            for k in range(begin, end):
                if whole:
                    self.before[k] += self.prior_of(p, k, &self.x[p, 0, 0])
            left = end - begin
            step = 1.0
            while left > 0 and step >= LEAST_STEP:
                self.evaluate_rows(p, first, n, step, begin, end, &self.objective[0])
                for k in range(begin, end):
                    if self.step[k] != step:
                        continue
                    value = self.objective[k]
                    if whole:
                        self.blend(p, k, step)
                        value += self.prior_of(p, k, &self.blended[0])
                    if value <= self.before[k] + slack + ROUNDING * fabs(self.before[k]):
                        left -= 1
                        if k == lead:
                            gain = self.before[k] - value
                    else:
                        self.step[k] = 0.5 * step
                step *= 0.5
            for k in range(begin, end):
                if self.step[k] < LEAST_STEP:
                    self.step[k] = 0.0
            if self.numbers[BEGINNING] != 0.0 and l == 0:
                for k in range(begin, end):
                    for c in range(self.C):
                        self.steps[k * self.C + c] = self.step[k]
                move_rows(old, self.V, new, &self.steps[0], n - first, end * self.C, &self.margins[first, p * self.V],
                          self.P * self.V)
        for k in range(begin, end):
            for i in range(self.D):
                for c in range(self.C):
                    v = i * self.V + k * self.C + c
                    (&self.x[p, 0, 0])[v] += self.step[k] * (self.proposal[v] - (&self.x[p, 0, 0])[v])
        return gain

    cdef double loss_unit(self, Py_ssize_t p) noexcept nogil:
        """What a row's loss is measured in: a power of the scale of residuals; their dispersion, where the mean is e^margin."""
        cdef double unit
        if not self.regression:
            return 1.0
        unit = self.scale_of_residuals(p)
        if self.point.log_link:
            unit = unit * unit / self.prior_unit(p)
            return unit if unit > 0.0 else 1.0
        return unit * unit if self.point.degree == 2 else unit

    cdef double prior_unit(self, Py_ssize_t p) noexcept nogil:
        """The size of a row's curvature, of which a prior is a multiple."""
        if self.point is None:
            return 1.0
        if self.point.log_link:
            return self.levels[p, 0] / self.levels[p, 1] if self.levels[p, 0] > 0.0 else 1.0
        return 1.0 / self.scale_of_residuals(p) if self.point.degree == 1 else 1.0

    cdef void blend(self, Py_ssize_t p, Py_ssize_t k, double step) noexcept nogil:
        cdef Py_ssize_t i, c, v
        for i in range(self.D):
            for c in range(self.C):
                v = i * self.V + k * self.C + c
                self.blended[v] = (&self.x[p, 0, 0])[v] + step * (self.proposal[v] - (&self.x[p, 0, 0])[v])

    cdef void evaluate_rows(self, Py_ssize_t p, Py_ssize_t first, Py_ssize_t n, double step, Py_ssize_t begin, Py_ssize_t end,
                            double* totals) noexcept nogil:
        """The losses of rows, a sum for each candidate, with the margins ``old`` + step · ``new``."""
        cdef Py_ssize_t s, k, i, low = self.first_lane(begin)
        cdef double y
        cdef double* m = &self.row_scratch[0]
        cdef double* losses = &self.losses[0]
        if self.logistic:
            for s in range(n - first):
                self.column[s] = self.label(p, &self.targets[first + s, 0])
            log_loss_sums(&self.old[low], &self.new[low], step, &self.column[0], &self.weights[first], n - first, self.V,
                          self.last_lane(end) - low, m, losses)
            for k in range(begin, end):
                totals[k] = losses[k - low]
            return
        self.set_unit(p)
        for k in range(begin, end):
            totals[k] = 0.0
        for s in range(n - first):
            y = self.label(p, &self.targets[first + s, 0])
            for i in range(begin * self.C, end * self.C):
                m[i] = self.old[s * self.V + i] + step * self.new[s * self.V + i]
            self.share.evaluate(m + begin * self.C, end - begin, &y, losses)
            for k in range(begin, end):
                totals[k] += self.weights[first + s] * losses[k - begin]

    cdef inline Py_ssize_t first_lane(self, Py_ssize_t begin) noexcept nogil:
        return begin * self.C // VECTOR * VECTOR

    cdef inline Py_ssize_t last_lane(self, Py_ssize_t end) noexcept nogil:
        return (end * self.C + VECTOR - 1) // VECTOR * VECTOR

    cdef void refit(self, Py_ssize_t p) noexcept nogil:
        """Newton's method on all rows kept, which are in ``Z``: the sums of the longest memory are those at its end."""
        cdef Py_ssize_t n = <Py_ssize_t> self.numbers[ROWS], _step
        cdef double gain
        for _step in range(STEPS):
            self.centre_rows(0, n)
            self.margins_of_rows(0, n, &self.x[p, 0, 0], &self.old[0])
            memset(&self.G[p, 0, 0, 0, 0], 0, self.pairs * self.room * self.room * sizeof(double))
            memset(&self.r[p, 0, 0, 0], 0, self.C * self.room * sizeof(double))
            self.linearise(p, 0, 0, n, &self.old[0], self.V, True)
            gain = self.improve(p, 0, 0, True)
            if self.quadratic_loss or not gain > SETTLED * self.loss_unit(p):
                break

    # ---- all rows at once ---------------------------------------------------------------------------------------------

    def begin_sums(self):
        """The rows held are absorbed, and the sums are emptied: those of all rows are to come, from ``add_rows``."""
        with nogil:
            if self.numbers[ROWS] > 0.0 or self.numbers[BEGINNING] != 0.0:
                self.absorb_all(True)
        self.empty_sums()

    def empty_sums(self):
        """Sums of no row, of the longest memory; what is known of columns stays."""
        self.G[:, 0] = 0.0
        self.r[:, 0] = 0.0
        self.mass[0] = 0.0

    def add_rows(self, Rows rows, const Py_ssize_t[::1] order, const double[:, ::1] targets, const double[::1] weights, bint new):
        """Add the quadratics of rows at the leading candidate to the sums of the longest memory; its losses, (P,), or a number
        that says why a row cannot be learnt from.

        ``new``: they were never learnt from, so columns, counts and rounds take them in.
        """
        losses = np.zeros(self.P)
        cdef double[::1] view = losses
        cdef int status = 0
        self.make_room(LONGEST, rows.widest)
        with nogil:
            status = self.add_part(rows, order, targets, weights, new, view)
        return losses if status == FINISHED else status

    cdef int add_part(self, Rows rows, const Py_ssize_t[::1] order, const double[:, ::1] targets, const double[::1] weights, bint new,
                      double[::1] losses) noexcept nogil:
        cdef Row row
        cdef Py_ssize_t k = 0, i, p, s, t, n = order.shape[0], held
        cdef double y, weight, value
        while k < n:
            held = min(LONGEST, n - k)
            for s in range(held):
                i = order[k + s]
                rows.fetch(i, &row)
                if row.stray:
                    return STRAY_COLUMN
                if not row.norm2 < LARGEST:
                    return GRADIENT_OVERFLOW
                self.numbers[ROWS] = s
                self.enter(&row)
                self.weights[s] = weights[i] if weights.shape[0] > 0 else 1.0
                for t in range(self.T):
                    y = targets[i, t]
                    if self.regression:
                        y = fmin(fmax(y, self.target_columns.at[LOW * self.T + t]), self.target_columns.at[HIGH * self.T + t])
                    self.targets[s, t] = y
                if self.overflows(&self.targets[s, 0], self.weights[s], row.norm2, 0.0):
                    return GRADIENT_OVERFLOW
            self.numbers[ROWS] = 0.0
            if new:
                for s in range(held):
                    self.clock[0] += 1.0
                    self.clock[1] += self.weights[s]
                self.numbers[ROWS] = held
                self.describe(0, held)
                self.numbers[ROWS] = 0.0
            self.mass[0] += held
            self.centre_rows(0, held)
            for p in range(self.P):
                self.margins_of_rows(0, held, &self.x[p, 0, 0], &self.old[0])
                self.set_unit(p)
                for s in range(held):
                    y = self.label(p, &self.targets[s, 0])
                    weight = self.weights[s]
                    self.share.evaluate(&self.old[s * self.V + self.leader(p, 0) * self.C], 1, &y, &value)
                    losses[p] += weight * value
                    if new:
                        self.count(p, &y, self.old[s * self.V + self.leader(p, 0) * self.C], weight)
                self.linearise(p, 0, 0, held, &self.old[0], self.V, True)
            k += held
        return FINISHED

    cdef void count(self, Py_ssize_t p, const double* y, double margin, double weight) noexcept nogil:
        """What the constant prediction and the scale of residuals learn from a row."""
        cdef double faded
        if self.softmax:
            self.counts[p, <Py_ssize_t> y[0]] += weight
        elif self.logistic:
            self.counts[p, y[0] > 0.0] += weight
        else:
            self.find_level(p, y[0], weight)
        if self.regression and self.levels[p, 0] > 0.0:
            margin = exp(fmin(margin, LARGEST_EXPONENT)) if self.point.log_link else margin
            faded = 1.0 - RECENT / (self.clock[0] + 1.0 + RECENT)
            self.units[p, 0] = faded * self.units[p, 0] + weight * (margin - y[0]) * (margin - y[0])
            self.units[p, 1] = faded * self.units[p, 1] + weight

    def leaders(self):
        """The candidate of the longest memory that leads, of each problem."""
        cdef Py_ssize_t p
        self.awake()
        return np.array([self.leader(p, 0) for p in range(self.P)])

    def lead_with(self, candidates):
        """These candidates of the longest memory lead from now on, and are what is published."""
        cdef Py_ssize_t p, k
        for p, k in enumerate(candidates):
            self.share.lead_with(p, k)

    def solutions(self):
        """The minimisers of all candidates of the longest memory as ``points`` has them, and what the quadratics lose by the move,
        (P, priors); the state stays."""
        cdef Py_ssize_t p, k
        found, gains = np.array(np.asarray(self.x)), np.zeros((self.P, self.priors))
        self.whole_matrix = True
        cdef double[:, :, ::1] view = found
        cdef double[:, ::1] gained = gains
        with nogil:
            for p in range(self.P):
                self.propose(p, 0)
                memcpy(&view[p, 0, 0], &self.proposal[0], self.room * self.V * sizeof(double))
                for k in range(self.priors):
                    gained[p, k] = self.gains[k]
        self.whole_matrix = self.quadratic.descends or self.quadratic.projects
        return found, gains

    def solutions_about(self, about):
        """The minimisers of candidates of one margin, (P, priors, D), about a point in raw units."""
        found = self.solutions()[0][:, :self.D, :self.priors].transpose(0, 2, 1).copy()
        if self.intercept:
            found[..., self.d] += found[..., :self.d] @ (np.asarray(about)[:self.d] - np.asarray(self.centre)[:self.d])
        return found

    def variances_of_columns(self):
        """What priors measure features with, (d,)."""
        return np.asarray(self.variances)[:self.d].copy()

    def loss_units(self):
        """What a loss is measured in, (P,)."""
        cdef Py_ssize_t p
        return np.array([self.loss_unit(p) for p in range(self.P)])

    def is_quadratic(self):
        """Whether the sums are the objective, so that their minimiser is its minimiser."""
        return self.quadratic_loss

    def points(self):
        """The points of all candidates that are solved, (P, room, V): a view."""
        return np.asarray(self.x)

    def priors_at(self, double[:, :, ::1] x, candidates):
        """Half the sum of squares, and the penalties, of these candidates at points, (P,)."""
        cdef Py_ssize_t p
        return np.array([self.prior_of(p, candidates[p], &x[p, 0, 0]) for p in range(self.P)])

    def settle_all(self):
        """Limits of the rows to come, and blocks that begin now."""
        cdef Py_ssize_t l
        for l in range(self.memories):
            self.settle(l)

    # ---- sums from elsewhere ------------------------------------------------------------------------------------------

    def begins(self):
        """Whether all rows are held still."""
        return self.numbers[BEGINNING] != 0.0

    def held(self):
        """How many rows are."""
        return <Py_ssize_t> self.numbers[ROWS]

    def solve_all(self):
        """Limits, and all candidates at their minimisers, from sums that were put together elsewhere; no rows are held.

        There are none to judge a proposal by, so each is taken whole.
        """
        cdef Py_ssize_t p, l
        cdef double unit
        with nogil:
            self.numbers[BEGINNING] = self.numbers[ROWS] = 0.0
            self.columns.set_limits(self.clock[0])
            if self.regression:
                self.target_columns.set_limits(self.clock[0])
            self.know_variances(self.clock[0])
            self.awake()
            for l in range(self.memories):
                for p in range(self.P):
                    self.propose(p, l)
                    memcpy(&self.x[p, 0, 0], &self.proposal[0], self.room * self.V * sizeof(double))
                self.settle(l)
            if self.share.regressions:
                for p in range(self.P):
                    unit = self.loss_unit(p)
                    self.share.solve_regressions(p, OF_SQUARES * unit if self.point.degree == 2 else unit)

    def price(self):
        """What learning the weights has cost under the strongest prior, (P,): ½ log det(I + R⁻¹G), in units of candidates' losses."""
        cdef Py_ssize_t p, q, a, n, k = int(np.argmax(np.asarray(self.epsilons)[:self.priors]))
        cdef double[::1] out = np.zeros(self.P)
        cdef double prior, factor
        with nogil:
            for p in range(self.P):
                for q in range(1 if self.couples else self.C):
                    n = self.assemble(p, 0, k, q)
                    if not self.quadratic.factor(n):
                        continue
                    for a in range(n):
                        prior = self.ridge[a] + (self.l2 * self.mass[0] if self.coordinate[a] < self.d else 0.0)
                        factor = self.quadratic.F[a * n + a]
                        if prior > 0.0:
                            out[p] += log(factor * factor / (self.quadratic.scale[a] * self.quadratic.scale[a] * prior))
                out[p] *= 0.5 / OF_SQUARES if self.point is not None and self.point.degree == 2 else 0.5
        return np.asarray(out)
    # ---- what error bars are made of --------------------------------------------------------------------------------

    def means(self):
        """What the coordinates of ``systems`` are about, (D,): the means of the columns, or 0 without an intercept."""
        about = np.zeros(self.D)
        if self.intercept:
            about[:self.d] = self.arrays["columns"][MEAN, :self.d]
        return about

    def systems(self, Py_ssize_t k):
        """What candidate k of the longest memory is solved with: coordinates about the means of the columns.

        For each problem, and each class of a softmax whose classes have a matrix each: G + R, the diagonal of R, and the coordinate
        and the class of each row. A feature that never varied has none.
        """
        cdef Py_ssize_t p, q, n
        found = []
        for p in range(self.P):
            for q in range(1 if self.couples else self.C):
                n = self.assemble(p, 0, k, q)
                A = np.array(<double[:n * n]> self.quadratic.A).reshape(n, n) if n else np.zeros((0, 0))
                A = np.triu(A) + np.triu(A, 1).T
                at = np.asarray(self.coordinate)[:n].copy(), np.asarray(self.component)[:n].copy()
                found.append((A, np.asarray(self.ridge)[:n].copy(), *at))
        return found

    def order_of_candidates(self):
        """Where each of them stands in the arrays of their combination."""
        return self.share.order()

    def bound_terms(self):
        """The sums of what is proved about the combination, for each problem: ``FixedShare.terms``."""
        return self.share.terms()

    def takes_part(self):
        """Which priors of the longest memory take part in what is published, (priors,)."""
        cdef Py_ssize_t k
        self.awake()
        return np.array([self.share.active[k] != 0 for k in range(self.priors)])
