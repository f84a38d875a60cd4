"""The stack: a few step sizes learn side by side, and their margins are combined by a tiny Newton regression.

For each weight vector the margins of the averages and of the last iterates, f = (ā_1 … ā_R, m_1 … m_R), were made before the row was
learnt from, so they are prequential features. The prediction is M = v·f; after it v learns from the row (``_stack_regression``), S
fading by (t/(t+1))²: the last third of the rows counts. v_1 is the average of the slowest; with a half-life λ is one more factor on
S, and a penalty on the combined weights joins in (``_combined_penalty``). A combination of linear models is a linear model: the
published weights are the same combination. Unlike a race, it calibrates (Σv ≠ 1), and it follows a drift by turning to the last
iterates. O(R²) a row beside the weight vectors, whose loops it shares: the numbers of the step sizes lie side by side.

Where rows come in order, a second regression forgets: S fades by 0.99, and f has one margin more, that of an iterate with a memory
of a hundred rows (``_paired``). The two are combined by exponential weights of their losses over the last 500 rows, with a head
start for the first, so that rows in random order are left to it. While that one is ahead and its losses do not jump, the recent side
is inactive in seven rounds of eight, and costs nothing: in the others, 512 in a row, it may show that it has become better.
"""
from libc.math cimport exp
from libc.string cimport memcpy

from ._combined_penalty cimport CombinedPenalty
from ..losses._losses cimport Loss
from ._methods cimport Method
from ..data._rows cimport Row
from ..state._setting cimport Setting
from ._stack_regression cimport StackRegression
from ..preconditioners._structures cimport Structure
from ..scaling._units cimport MeanLoss

import numpy as np

cdef double TINY = 1e-300
cdef Py_ssize_t WIDEST = 8                # regression that ``small_solve`` has room for
cdef double RECENT = 0.99                 # of S that a round leaves, in the regression that forgets
cdef double KEPT = 0.998                  # of the losses that decide between the two
cdef double HEAD_START = 2.0              # in nats
cdef double INACTIVE_LEAD = 1.0           # in nats: where the steady side is so far ahead, the recent one is inactive, unless
cdef double KEPT_OF_JUMP = 0.97           # its last 33 losses are in the mean more than
cdef double MORE = 1.2                    # so many times those of the last 500,
cdef double LOSS_JUMP = 0.1               # and this much
cdef double FIRST_INACTIVE = 1000.0       # rounds that all learn from
cdef Py_ssize_t CYCLE = 4096, ACTIVE = 512   # rounds: it is active in the first ones of each cycle


cdef class Stack(Method):
    """Combines R step sizes of K weight vectors; one v for all of them when they learn jointly, else one each."""

    @classmethod
    def allocate(cls, structure, Setting setting, bint sparse):
        arrays = super().allocate(structure, setting, sparse)
        width = 2 * setting.R if setting.averaging else setting.R
        stacks = 1 if setting.joint else setting.K
        arrays.update(StackRegression.allocate(stacks, width, "stack_"))
        if setting.recent:
            arrays.update(StackRegression.allocate(stacks, width + 1, "recent_"))
            arrays["stack_losses"], arrays["stack_mean"] = np.zeros((stacks, 3)), np.zeros(stacks + 1)
        arrays.update(cls.allocate_units(setting, setting.K, "stack_"))
        arrays.update(CombinedPenalty.allocate(setting, stacks, width))
        return arrays

    @classmethod
    def mismatch(cls, structure, Setting setting, dict arrays):
        for name in ("stack_v", "recent_v"):
            if name in arrays and arrays[name].shape[1] > WIDEST:
                return f"its {setting.R} step sizes are more than can be combined"
        return super().mismatch(structure, setting, arrays)

    def __init__(self, Structure structure):
        super().__init__(structure)
        setting, arrays, K = self.setting, self.arrays, self.setting.K
        self.stacks = 1 if setting.joint else K
        self.steady = StackRegression(arrays, "stack_", K, setting.joint)
        self.recent = StackRegression(arrays, "recent_", K, setting.joint) if setting.recent else None
        if setting.recent:
            self.losses, self.mean = arrays["stack_losses"], MeanLoss(arrays["stack_mean"])
            self.new_losses, self.share = np.array(self.losses), np.ones(self.stacks)
        self.f, self.M, self.M_slopes = np.empty((K, self.steady.width + setting.recent)), np.empty(K), np.empty(K)
        self.combined = self.objective_of(K, "stack_")
        self.objective.inactive = &structure.inactive[0]
        self.prequential = self.predicting = &self.M[0]
        self.predictor, self.combines = self.combined, True
        self.penalty = CombinedPenalty(structure, arrays) if structure.penalised else None
        self.in_units = True                 # v has to be committed too
        if setting.averaging:
            structure.average_margins = &self.average_margins[0]

    def bind_loss(self, Loss loss):
        super().bind_loss(loss)
        self.combined.loss = loss

    def coefficients(self):
        """What averages, last iterates and recent iterates count in what is published, (K, width)."""
        v = np.asarray(self.steady.v)
        if self.recent is not None:
            self.begin_round()
            share = np.asarray(self.share)[:, None]
            v = share * np.pad(v, ((0, 0), (0, 1))) + (1.0 - share) * np.asarray(self.recent.v)
        return np.broadcast_to(v, (self.setting.K, v.shape[1]))

    def published(self, *at):
        """The same combination of weights: (R·K, D) averages and last iterates to (K, D)."""
        K, R, width = self.setting.K, self.setting.R, self.steady.width
        v = self.coefficients()
        of_averages = v[:, :R] if self.setting.averaging else np.zeros((K, R))
        combined = self.structure.mixture(of_averages, v[:, width - R:width], *at)
        if self.recent is not None:
            combined += v[:, width:] * self.structure.recent_iterate(*at)
        if self.setting.zeros:
            parts = np.abs(v).reshape(K, -1, R).sum(axis=1)
            combined = self.with_zeros(combined, parts / np.maximum(parts.sum(axis=1, keepdims=True), TINY))
        return self.with_offsets(combined, *at)

    def memory(self):
        """The number of rows in use: of the recent iterate those that it remembers, of all others every one; by what they count."""
        rows = super().memory()
        if self.recent is None:
            return rows
        counts = np.maximum(self.coefficients(), 0.0).sum(axis=0)
        total = counts.sum()
        forgets = counts[len(counts) - 1] / total if total > 0.0 else 0.0
        return float((1.0 - forgets) * rows + forgets * min(rows, self.structure.rows_in_memory()))

    def restart(self, weights, subgradient):
        super().restart(weights, subgradient)
        for name in ("stack_v", "recent_v"):
            if name in self.arrays:
                self.arrays[name][:] = 0.0   # all candidates are this model: one of them is as good as any
                self.arrays[name][:, 0] = 1.0

    cdef void begin_round(self) noexcept nogil:
        """What the two regressions count in this round, and whether the recent side is inactive."""
        cdef Py_ssize_t vector, which
        if self.recent is None:
            return
        self.inactive = self.clock.now[0] >= FIRST_INACTIVE and <Py_ssize_t> self.clock.now[0] % CYCLE >= ACTIVE
        for which in range(self.stacks):
            self.inactive = self.inactive and self.may_be_inactive(&self.losses[which, 0])
        for which in range(self.stacks):
            self.share[which] = 1.0
            if not self.inactive:
                self.share[which] /= 1.0 + exp(self.losses[which, 0] - self.losses[which, 1] - HEAD_START)
        for vector in range(self.setting.L, self.setting.all_vectors):
            self.structure.inactive[vector] = self.inactive

    cdef bint may_be_inactive(self, const double* losses) noexcept nogil:
        """Whether the recent side has nothing to say."""
        cdef double usual = (1.0 - KEPT) * losses[0]
        return (losses[1] + HEAD_START - losses[0] > INACTIVE_LEAD
                and (1.0 - KEPT_OF_JUMP) * losses[2] < MORE * usual + LOSS_JUMP)

    cdef double evaluate_loss(self, const double* target, double weight) noexcept nogil:
        """The combined margin predicts, and each weight vector learns from the loss at its own."""
        cdef Py_ssize_t k, which
        cdef Py_ssize_t K = self.setting.K
        cdef double value, rho, t = self.clock.t
        cdef double fade = self.setting.forgetting * (t / (t + 1.0)) * (t / (t + 1.0))
        self.combine(&self.margins[0], &self.average_margins[0])
        if self.inactive:                      # the residuals of what predicts stand for those of who is inactive
            memcpy(&self.margins[self.setting.L], &self.M[0], K * sizeof(double))
        if self.offsets is not None:
            self.offsets.propose(self.combined.loss, target)
        value = self.combined.evaluate(&self.M[0], target, weight, &self.M_slopes[0])
        if self.first_sight:                 # later margins are no longer progressive
            if self.combined.plain and (self.recent is None or (self.inactive and self.stacks == 1)):      # at the steady margins
                self.steady.values[0] = value
                memcpy(&self.steady.slopes[0], &self.M_slopes[0], K * sizeof(double))
                self.steady.find_curvatures(self.combined, target)
            elif self.recent is None:
                self.combined.find_curvatures(&self.M[0], target, &self.steady.curvatures[0])
                for k in range(K):           # the margins themselves are in raw units
                    rho = self.combined.step_units[k]
                    self.steady.slopes[k] = self.M_slopes[k] / rho
                    self.steady.curvatures[k] /= rho * rho
            else:
                self.steady.look(self.combined, target)
                if not self.inactive:
                    self.recent.look(self.combined, target)
            if self.recent is not None:
                self.mean.begin(weight)
            for which in range(self.stacks):
                self.steady.learn(which, self.f, weight, fade, target, self.penalty,
                                  self.combined.loss_units[which] * self.combined.step_units[which])
                if self.recent is not None:
                    self.judge(which, target, weight)
                    if not self.inactive:
                        self.recent.learn(which, self.f, weight, RECENT, target, None, 1.0)
        self.objective.find_slopes(&self.margins[0], target, weight, &self.slopes[0])
        if self.structure.curvatures != NULL:
            self.objective.find_curvatures(&self.margins[0], target, &self.curvatures[0])
        return value

    cdef void judge(self, Py_ssize_t which, const double* target, double weight) noexcept nogil:
        """Add the losses of the two regressions at this row, in the unit of their mean where they have one."""
        cdef double unit = 1.0, loss
        cdef double cap = self.mean.cap(self.combined.plain)
        cdef const double* old = &self.losses[which, 0]
        cdef double* new = &self.new_losses[which, 0]
        memcpy(new, old, 3 * sizeof(double))
        if not self.combined.plain:
            unit = self.mean.propose(which, self.combined.loss_at(which, self.M[which], target), weight)
        if not unit > 0.0:
            return
        loss = self.steady.values[which] / unit
        loss = weight * (loss if loss < cap else cap)
        new[2] = KEPT_OF_JUMP * old[2] + loss
        if self.inactive:
            return
        new[0] = KEPT * old[0] + loss
        loss = self.recent.values[which] / unit
        new[1] = KEPT * old[1] + weight * (loss if loss < cap else cap)

    cdef void combination(self, Py_ssize_t k, const double** of_averages, const double** of_iterates) noexcept nogil:
        cdef const double* v = &self.steady.v[0 if self.setting.joint else k, 0]
        of_averages[0] = v if self.setting.averaging else NULL
        of_iterates[0] = v + self.steady.width - self.setting.R

    cdef void show(self, const double* margins, const double* averages) noexcept nogil:
        self.combine(margins, averages)
        memcpy(&self.shown[0], &self.M[0], self.setting.K * sizeof(double))

    cdef void combine(self, const double* margins, const double* averages) noexcept nogil:
        """f and M from the margins of all vectors, vector r·K + k, and behind them those of the recent iterates."""
        cdef Py_ssize_t k, r
        cdef Py_ssize_t K = self.setting.K
        cdef Py_ssize_t R = self.setting.R
        cdef Py_ssize_t first = self.steady.width - R       # of the last iterates; before them are the averages, if any
        cdef double share
        for k in range(K):
            for r in range(R):
                if first:
                    self.f[k, r] = averages[r * K + k]
                self.f[k, first + r] = margins[r * K + k]
        self.steady.combine(self.f)
        memcpy(&self.M[0], &self.steady.M[0], K * sizeof(double))
        if self.recent is not None and not self.inactive:
            for k in range(K):
                self.f[k, self.steady.width] = margins[R * K + k]
            self.recent.combine(self.f)
            for k in range(K):
                share = self.share[0 if self.setting.joint else k]
                self.M[k] = share * self.M[k] + (1.0 - share) * self.recent.M[k]

    cdef void commit(self, Row* row) noexcept nogil:
        if self.penalty is not None:
            self.penalty.count(row)
        Method.commit(self, row)
        self.combined.commit()
        if self.first_sight:
            self.steady.commit()
            if self.recent is not None:
                self.mean.commit()
                memcpy(&self.losses[0, 0], &self.new_losses[0, 0], 3 * self.stacks * sizeof(double))
                if not self.inactive:
                    self.recent.commit()
            if self.penalty is not None:
                self.penalty.commit(self.steady.v)
