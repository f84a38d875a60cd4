"""The stack: a few step sizes learn side by side, and their margins are combined by a tiny Newton regression.

For each weight vector the margins of the averages and of the last iterates, f = (ā_1 … ā_R, m_1 … m_R), were made before the row was
learnt from, so they are prequential features. The prediction is M = v·f; after it v learns from the row (``StackRegression``), S
fading by (t/(t+1))²: the last third of the rows counts. v_1 is the average of the slowest; with a half-life λ is one more factor on
S, and a penalty on the combined weights joins in (``CombinedPenalty``). A combination of linear models is a linear model: the
published weights are the same combination. Unlike a race, it calibrates (Σv ≠ 1), and it follows a drift by turning to the last
iterates. O(R²) a row beside the weight vectors, whose loops it shares: the numbers of the step sizes lie side by side.

Where rows come in order, a second regression forgets: S fades by 0.99, and f has one margin more, that of an iterate with a memory of
a hundred rows (``PairedDiagonal``). The two are combined by exponential weights of their losses over the last 500 rows, with a head
start for the first, so that rows in random order are left to it. While that one is ahead and its losses do not jump, the recent side
is inactive in seven rounds of eight, and costs nothing: in the others, 512 in a row, it may show that it has become better.
"""
from libc.math cimport exp, fabs, fmax, fmin
from libc.string cimport memcpy

from ._methods cimport Method
from ..data._rows cimport Row
from ..linalg._loops cimport fade_in, small_solve
from ..losses._losses cimport Loss
from ..preconditioners._structures cimport Structure
from ..preconditioners.diagonal._coordinatewise cimport Cells, Coordinatewise
from ..scaling._units cimport FeatureScale, Objective
from ..state._setting cimport Clock, Setting

import numpy as np

cdef double NUMBERS = 4.0            # read between renewals, per feature seen,
cdef double AT_LEAST = 0.125         # and per feature
cdef double PRIOR = 20.0
cdef double TINY = 1e-300
cdef double CAP = 10.0               # of the loss of one row where candidates are weighed by their losses,
cdef double CAP_OF_RESIDUALS = 200.0     # or of half its square over the mean square
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


cdef class CombinedPenalty:
    """What a penalty on the combined weights means to those who combine: its gradient and curvature in v.

    Each weight vector of a stack minimises loss and penalty, but a v that saw the loss alone would scale their weights up again. With
    w_i the i-th coefficient of every candidate, the combined coefficient is m_i = v·w_i, so

        R(v) = Σ_i l1 |v·w_i| + l2/2 (v·w_i)²  ≤  ½ vᵀQv + const,    Q = Σ_i (l1/|m_i| + l2) w_i w_iᵀ,

    the quadratic that touches R at the v for which the m_i were computed. Q is renewed each time that a few times as many numbers of
    rows have been read as there are features seen, so a round stays O(nnz) amortised.
    """

    cdef Coordinatewise structure
    cdef Setting setting
    cdef Clock clock
    cdef Cells cells
    cdef FeatureScale scale
    cdef Py_ssize_t width, averages  # candidates, and how many of them are averages
    cdef double[:, :, ::1] Q         # per v
    cdef double[::1] numbers         # read since Q was last computed; features seen
    cdef double[::1] w               # one coefficient of every candidate

    @staticmethod
    def allocate(Setting setting, Py_ssize_t stacks, Py_ssize_t width):
        if setting.l1 == 0.0 and setting.l2 == 0.0:
            return {}
        return {"stack_penalty": np.zeros((stacks, width, width)), "stack_numbers": np.zeros(2)}

    def __init__(self, Coordinatewise structure, dict arrays):
        self.structure = structure
        self.setting, self.clock, self.scale, self.cells = structure.setting, structure.clock, structure.scale, structure.cells
        self.Q, self.numbers = arrays["stack_penalty"], arrays["stack_numbers"]
        self.width = self.Q.shape[1]
        self.averages = self.width - self.setting.R
        self.w = np.empty(self.width)

    cdef void add(self, Py_ssize_t which, const double* v, double unit, double* gradient, double* S) noexcept nogil:
        """One round's penalty, in this unit of the loss, into the gradient and the matrix of a v."""
        cdef Py_ssize_t a, b
        for a in range(self.width):
            for b in range(self.width):
                gradient[a] += self.Q[which, a, b] / unit * v[b]
                S[a * self.width + b] += self.Q[which, a, b] / unit

    cdef void count(self, Row* row) noexcept nogil:
        """The round stands, and its units are not committed yet: count what it reads, zeros not, and what it sees first."""
        cdef Py_ssize_t i, j, k
        for j in range(row.n - self.setting.intercept):
            self.numbers[0] += row.z[j] != 0.0
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            self.numbers[1] += i < self.setting.d and self.scale.scale[i] == 0.0

    cdef void commit(self, const double[:, ::1] v) noexcept nogil:
        """Renew Q where that is due."""
        if self.numbers[0] >= fmax(NUMBERS * self.numbers[1], AT_LEAST * self.setting.d):
            self.numbers[0] = 0.0
            self.renew(v)

    cdef void renew(self, const double[:, ::1] v) noexcept nogil:
        cdef Py_ssize_t a, i, k, r, e, which
        cdef Py_ssize_t K = self.setting.K
        cdef double kept = 1.0
        self.Q[:, :, :] = 0.0
        for i in range(self.setting.d):
            if self.scale.scale[i] == 0.0:
                continue
            if self.structure.memory is not None:        # a coordinate forgets when it is touched
                kept = self.structure.memory.after(self.clock.t - self.structure.charged[i])
            for k in range(K):
                which = 0 if self.setting.joint else k
                for r in range(self.setting.R):
                    e = i * self.cells.stride + r * K + k
                    self.w[self.averages + r] = self.cells.x[e]
                    if self.averages:
                        self.w[r] = self.cells.x[e] - kept * self.cells.u[e] / self.clock.C
                for a in range(self.width):
                    self.w[a] /= self.scale.scale[i]
                touch(&self.w[0], &v[which, 0], self.width, self.setting.l1, self.setting.l2, &self.Q[which, 0, 0])


cdef void touch(const double* w, const double* v, Py_ssize_t width, double l1, double l2, double* Q) noexcept nogil:
    """Q += (l1/|v·w| + l2) w wᵀ, where |v·w| counts as a tenth of the largest |w_a| at least: else a v that has once made it 0 would
    never leave that again."""
    cdef Py_ssize_t a, b
    cdef double factor, m = 0.0, size = 0.0
    for a in range(width):
        m += v[a] * w[a]
        size = fmax(size, fabs(w[a]))
    if size == 0.0:
        return
    factor = l1 / fmax(fabs(m), 0.1 * size) + l2
    for a in range(width):
        for b in range(width):
            Q[a * width + b] += (factor * w[a]) * w[b]


cdef class StackRegression:
    """The tiny Newton regression of a stack: margins f of one row, made before it was learnt from, are combined to M = v·f.

        S ← fade · S + h f fᵀ,    v ← v − (S + λI)⁻¹ ℓ'(M) f,    h = max(ℓ''(M), ℓ'(M)²).

    A softmax has one v for all classes. What a round proposes becomes the state when the round stands. At most 8 margins are
    combined.
    """

    cdef readonly Py_ssize_t width            # margins that are combined
    cdef Py_ssize_t K
    cdef bint joint
    cdef double[:, ::1] v, new_v
    cdef double[:, :, ::1] S, new_S
    cdef double[::1] M                        # (K,) the combined margins,
    cdef double[::1] values                   # their losses, one where they are joint,
    cdef double[::1] slopes, curvatures       # and ℓ', ℓ'' there
    cdef double[::1] gradient, center

    @staticmethod
    def allocate(stacks, width, prefix):
        """The arrays of a regression that begins with the first margin alone."""
        arrays = {prefix + "v": np.zeros((stacks, width)), prefix + "S": np.zeros((stacks, width, width))}
        arrays[prefix + "v"][:, 0] = 1.0
        return arrays

    @staticmethod
    def prior():
        """λ of the regression."""
        return PRIOR

    def __init__(self, dict arrays, str prefix, Py_ssize_t K, bint joint):
        self.v, self.S, self.K, self.joint = arrays[prefix + "v"], arrays[prefix + "S"], K, joint
        self.width = self.v.shape[1]
        self.new_v, self.new_S = np.array(self.v), np.array(self.S)
        self.M, self.values, self.slopes, self.curvatures = (np.zeros(K) for _ in range(4))
        self.gradient, self.center = np.empty(self.width), np.empty(self.width)

    cdef inline void combine(self, const double[:, ::1] f) noexcept nogil:
        """M = v·f of each weight vector."""
        cdef Py_ssize_t a, k
        cdef const double* v
        for k in range(self.K):
            v = &self.v[0 if self.joint else k, 0]
            self.M[k] = 0.0
            for a in range(self.width):
                self.M[k] += v[a] * f[k, a]

    cdef void look(self, Objective combined, const double* target) noexcept nogil:
        """Losses, slopes and curvatures at M, where something else predicts."""
        cdef Py_ssize_t k
        if not combined.plain:
            for k in range(self.K):
                self.values[k] = combined.loss_at(k, self.M[k], target)
                self.slopes[k] = combined.slope_at(k, self.M[k], target, &self.curvatures[k])
        elif self.joint or self.K == 1:
            self.values[0] = combined.loss.evaluate(&self.M[0], target, &self.slopes[0], self.K)
            self.find_curvatures(combined, target)
        else:
            for k in range(self.K):
                self.values[k] = combined.loss.value_of_vector(k, self.M[k], target)
            combined.loss.find_slopes(&self.M[0], target, &self.slopes[0], self.K)
            self.find_curvatures(combined, target)

    cdef void find_curvatures(self, Objective combined, const double* target) noexcept nogil:
        """ℓ'' at M, where slopes are known and plain."""
        cdef Py_ssize_t k
        cdef double odds
        if combined.loss.logistic:
            for k in range(self.K):
                odds = fabs(self.slopes[k])
                self.curvatures[k] = odds * (1.0 - odds)
        elif not (self.joint and self.K > 1):    # a softmax has them in its slopes
            combined.loss.curvatures(&self.M[0], target, &self.curvatures[0], self.K)

    cdef void learn(self, Py_ssize_t which, const double[:, ::1] f, double weight, double fade, const double* target,
                    CombinedPenalty penalty, double unit) noexcept nogil:
        """A Newton step of one v. Where it is not finite, as with weights beyond 1e150, v and S stay as they are."""
        cdef Py_ssize_t a, b, k
        cdef Py_ssize_t width = self.width
        cdef double h, excess, zero = 0.0
        if self.joint and self.K > 1:            # softmax: slopes are p minus the indicator
            fade_in(&self.S[which, 0, 0], fade, 0.0, &f[which, 0], &self.new_S[which, 0, 0], width)
            for a in range(width):
                self.gradient[a], self.center[a] = 0.0, 0.0
                for k in range(self.K):
                    self.gradient[a] += self.slopes[k] * f[k, a]
                    self.center[a] += (self.slopes[k] + (k == <Py_ssize_t> target[0])) * f[k, a]
            excess = weight * fmax(0.0, -2.0 * self.slopes[<Py_ssize_t> target[0]] - 1.0)
            for a in range(width):
                for b in range(width):
                    for k in range(self.K):
                        h = weight * (self.slopes[k] + (k == <Py_ssize_t> target[0]))
                        self.new_S[which, a, b] += h * (f[k, a] - self.center[a]) * (f[k, b] - self.center[b])
                    self.new_S[which, a, b] += excess * self.gradient[a] * self.gradient[b]
        else:
            h = weight * fmax(self.curvatures[which], self.slopes[which] * self.slopes[which])
            fade_in(&self.S[which, 0, 0], fade, h, &f[which, 0], &self.new_S[which, 0, 0], width)
            for a in range(width):
                self.gradient[a] = self.slopes[which] * f[which, a]
        for a in range(width):
            self.gradient[a] *= weight
        if penalty is not None:
            penalty.add(which, &self.v[which, 0], unit, &self.gradient[0], &self.new_S[which, 0, 0])
        small_solve(&self.new_S[which, 0, 0], PRIOR, &self.gradient[0], width)
        for a in range(width):
            self.new_v[which, a] = self.v[which, a] - self.gradient[a]
            zero += 0.0 * self.new_v[which, a]
            for b in range(width):
                zero += 0.0 * self.new_S[which, a, b]
        if zero != 0.0:                          # NaN
            memcpy(&self.new_v[which, 0], &self.v[which, 0], width * sizeof(double))
            memcpy(&self.new_S[which, 0, 0], &self.S[which, 0, 0], width * width * sizeof(double))

    cdef void commit(self) noexcept nogil:
        """The round stands."""
        memcpy(&self.v[0, 0], &self.new_v[0, 0], self.v.shape[0] * self.width * sizeof(double))
        memcpy(&self.S[0, 0, 0], &self.new_S[0, 0, 0], self.v.shape[0] * self.width * self.width * sizeof(double))


cdef class MeanLoss:
    """Σ ω ℓ of what predicts, of each group of weight vectors, and Σ ω behind them: the unit of losses that weights are made from.

    No row counts more than a multiple of the mean, or all others would count nothing beside it.
    """

    cdef double[::1] sums, new_sums
    cdef Py_ssize_t groups

    def __init__(self, double[::1] sums):
        self.sums, self.new_sums = sums, np.array(sums)
        self.groups = sums.shape[0] - 1

    cdef void begin(self, double weight) noexcept nogil:
        """A round of this weight; ``propose`` then gives units."""
        self.new_sums[self.groups] = self.sums[self.groups] + weight

    cdef double propose(self, Py_ssize_t group, double loss, double weight) noexcept nogil:
        """Twice the mean loss, this round's included: half the square of a residual is 1/2 in the mean."""
        if self.sums[group] > 0.0:
            loss = fmin(loss, 2.0 * CAP_OF_RESIDUALS * self.sums[group] / self.sums[self.groups])
        self.new_sums[group] = self.sums[group] + weight * loss
        return 2.0 * self.new_sums[group] / self.new_sums[self.groups]

    cdef double cap(self, bint plain) noexcept nogil:
        """The most that one row may count, so that none silences a candidate for good; ``plain``: in nats."""
        return CAP if plain else CAP_OF_RESIDUALS

    cdef void commit(self) noexcept nogil:
        memcpy(&self.sums[0], &self.new_sums[0], (self.groups + 1) * sizeof(double))


cdef class Stack(Method):
    """Combines R step sizes of K weight vectors; one v for all of them when they learn jointly, else one each."""

    cdef Objective combined                   # the loss at the combined margins
    cdef CombinedPenalty penalty              # None: there is none
    cdef readonly StackRegression steady
    cdef readonly StackRegression recent      # None: nothing is forgotten
    cdef Py_ssize_t stacks                    # v of each weight vector, or one of all
    cdef double[:, ::1] f                     # (K, width): margins of the averages, of the last iterates, and of the recent ones
    cdef double[::1] M                        # (K,) the combined margins
    cdef double[::1] M_slopes
    cdef double[:, ::1] losses, new_losses    # (stacks, 3): of the steady and the recent regression, discounted, and of the last rows
    cdef bint inactive                          # the recent side is inactive in this round
    cdef double[::1] share                    # (stacks,): what the steady one counts
    cdef MeanLoss mean

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
        return (losses[1] + HEAD_START - losses[0] > INACTIVE_LEAD and (1.0 - KEPT_OF_JUMP) * losses[2] < MORE * usual + LOSS_JUMP)

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
