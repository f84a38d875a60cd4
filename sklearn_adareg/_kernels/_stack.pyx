# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The stack: a few step sizes learn side by side, and their margins are combined by a tiny Newton regression.

For each weight vector the margins of the averages and of the last iterates, f = (ā_1 … ā_R, m_1 … m_R), were made before the
row was learnt from, so they are honest features. The prediction is M = v·f; after it,

    S ← S·(t/(t+1))² + h f fᵀ,    v ← v − (S + λI)⁻¹ ℓ'(M) f,    h = max(ℓ''(M), ℓ'(M)²),

with v_1 = the average of the slowest; with a half-life λ is one more factor on S, and a penalty on the combined weights joins both
lines (``_combined_penalty``). A combination of linear models is a linear model: the published weights are the same combination.
Unlike a race, it calibrates (Σv ≠ 1), and it follows a drift by turning to the last iterates. O(R²) a row beside the lanes, whose
loops it shares: the numbers of the step sizes lie side by side.
"""
from libc.math cimport fmax
from libc.string cimport memcpy

from ._combined_penalty cimport CombinedPenalty
from ._loops cimport fade_in, small_solve
from ._losses cimport Loss
from ._methods cimport Method
from ._rows cimport Row
from ._setting cimport Setting
from ._structures cimport Structure

import numpy as np

cdef double PRIOR = 20.0
cdef double TINY = 1e-300


cdef class Stack(Method):
    """Combines R step sizes of K weight vectors; one v for all of them when they learn jointly, else one each."""

    @classmethod
    def allocate(cls, structure, Setting setting, bint sparse):
        arrays = super().allocate(structure, setting, sparse)
        width = 2 * setting.R if setting.averaging else setting.R
        stacks = 1 if setting.joint else setting.K
        arrays["stack_v"], arrays["stack_S"] = np.zeros((stacks, width)), np.zeros((stacks, width, width))
        arrays["stack_v"][:, 0] = 1.0
        arrays.update(cls.allocate_units(setting, setting.K, "stack_"))
        arrays.update(CombinedPenalty.allocate(setting, stacks, width))
        return arrays

    @staticmethod
    def prior():
        """λ of the regression."""
        return PRIOR

    def __init__(self, Structure structure):
        super().__init__(structure)
        arrays, K = self.arrays, self.setting.K
        self.v, self.S = arrays["stack_v"], arrays["stack_S"]
        self.width = self.v.shape[1]
        self.new_v, self.new_S = np.array(self.v), np.array(self.S)
        self.f, self.M = np.empty((K, self.width)), np.empty(K)
        self.M_slopes, self.M_curvatures = np.empty(K), np.empty(K)
        self.gradient, self.center = np.empty(self.width), np.empty(self.width)
        self.combined = self.objective_of(K, "stack_")
        self.told = self.predicting = &self.M[0]
        self.predictor, self.combines = self.combined, True
        self.penalty = CombinedPenalty(structure, arrays) if structure.penalised else None
        self.in_units = True                 # v has to be committed too
        if self.setting.averaging:
            structure.average_margins = &self.average_margins[0]

    def bind_loss(self, Loss loss):
        super().bind_loss(loss)
        self.combined.loss = loss

    def published(self, *at):
        """The same combination of weights: (R·K, D) averages and last iterates to (K, D)."""
        K, R = self.setting.K, self.setting.R
        v = np.broadcast_to(np.asarray(self.v), (K, self.width))
        of_averages = v[:, :R] if self.setting.averaging else np.zeros((K, R))
        combined = self.structure.mixture(of_averages, v[:, self.width - R:], *at)
        if self.setting.zeros:
            parts = np.abs(v).reshape(K, -1, R).sum(axis=1)
            combined = self.with_zeros(combined, parts / np.maximum(parts.sum(axis=1, keepdims=True), TINY))
        return self.with_offsets(combined, *at)

    def restart(self, weights, subgradient):
        super().restart(weights, subgradient)
        self.arrays["stack_v"][:] = 0.0      # all candidates are this model: one of them is as good as any
        self.arrays["stack_v"][:, 0] = 1.0

    cdef double suffer(self, const double* target, double weight) noexcept nogil:
        """The combined margin predicts, and each lane learns from the loss at its own."""
        cdef Py_ssize_t k
        cdef Py_ssize_t K = self.setting.K
        cdef double value, rho
        self.combine(&self.margins[0], &self.average_margins[0])
        if self.offsets is not None:
            self.offsets.propose(self.combined.loss, target)
        value = self.combined.evaluate(&self.M[0], target, weight, &self.M_slopes[0])
        if self.first_sight:                 # later margins are no longer progressive
            self.combined.find_curvatures(&self.M[0], target, &self.M_curvatures[0])
            for k in range(K):               # the margins themselves are in raw units
                rho = self.combined.step_units[k]
                self.M_slopes[k] /= rho
                self.M_curvatures[k] /= rho * rho
            for k in range(1 if self.setting.joint else K):
                self.learn(k, weight, target)
        self.objective.find_slopes(&self.margins[0], target, weight, &self.slopes[0])
        if self.structure.curvatures != NULL:
            self.objective.find_curvatures(&self.margins[0], target, &self.curvatures[0])
        return value

    cdef void show(self, const double* margins, const double* averages) noexcept nogil:
        self.combine(margins, averages)
        memcpy(&self.shown[0], &self.M[0], self.setting.K * sizeof(double))

    cdef void combine(self, const double* margins, const double* averages) noexcept nogil:
        """f and M from the margins of all lanes, lane r·K + k."""
        cdef Py_ssize_t k, r, a
        cdef Py_ssize_t K = self.setting.K
        cdef Py_ssize_t R = self.setting.R
        cdef Py_ssize_t first = self.width - R           # of the last iterates; before them are the averages, if any
        for k in range(K):
            for r in range(R):
                if first:
                    self.f[k, r] = averages[r * K + k]
                self.f[k, first + r] = margins[r * K + k]
            self.M[k] = 0.0
            for a in range(self.width):
                self.M[k] += self.v[0 if self.setting.joint else k, a] * self.f[k, a]

    cdef void learn(self, Py_ssize_t which, double weight, const double* target) noexcept nogil:
        """A Newton step of one v, from the slopes and curvatures at M; committed when the round stands.

        Where the step is not finite, as with weights beyond 1e150, v and S stay as they are.
        """
        cdef Py_ssize_t a, b, k
        cdef Py_ssize_t width = self.width
        cdef Py_ssize_t K = self.setting.K
        cdef double t = self.clock.t
        cdef double fade = self.setting.forgetting * (t / (t + 1.0)) * (t / (t + 1.0))
        cdef double h, excess, zero = 0.0
        if self.setting.joint and K > 1:         # softmax: slopes are p minus the indicator
            fade_in(&self.S[which, 0, 0], fade, 0.0, &self.f[which, 0], &self.new_S[which, 0, 0], width)
            for a in range(width):
                self.gradient[a], self.center[a] = 0.0, 0.0
                for k in range(K):
                    self.gradient[a] += self.M_slopes[k] * self.f[k, a]
                    self.center[a] += (self.M_slopes[k] + (k == <Py_ssize_t> target[0])) * self.f[k, a]
            excess = weight * fmax(0.0, -2.0 * self.M_slopes[<Py_ssize_t> target[0]] - 1.0)
            for a in range(width):
                for b in range(width):
                    for k in range(K):
                        h = weight * (self.M_slopes[k] + (k == <Py_ssize_t> target[0]))
                        self.new_S[which, a, b] += h * (self.f[k, a] - self.center[a]) * (self.f[k, b] - self.center[b])
                    self.new_S[which, a, b] += excess * self.gradient[a] * self.gradient[b]
        else:
            h = weight * fmax(self.M_curvatures[which], self.M_slopes[which] * self.M_slopes[which])
            fade_in(&self.S[which, 0, 0], fade, h, &self.f[which, 0], &self.new_S[which, 0, 0], width)
            for a in range(width):
                self.gradient[a] = self.M_slopes[which] * self.f[which, a]
        for a in range(width):
            self.gradient[a] *= weight
        if self.penalty is not None:
            self.penalty.add(which, &self.v[which, 0], self.combined.loss_units[which] * self.combined.step_units[which],
                             &self.gradient[0], &self.new_S[which, 0, 0])
        small_solve(&self.new_S[which, 0, 0], PRIOR, &self.gradient[0], width)
        for a in range(width):
            self.new_v[which, a] = self.v[which, a] - self.gradient[a]
            zero += 0.0 * self.new_v[which, a]
            for b in range(width):
                zero += 0.0 * self.new_S[which, a, b]
        if zero != 0.0:                          # NaN
            memcpy(&self.new_v[which, 0], &self.v[which, 0], width * sizeof(double))
            memcpy(&self.new_S[which, 0, 0], &self.S[which, 0, 0], width * width * sizeof(double))

    cdef void commit(self, Row* row) noexcept nogil:
        if self.penalty is not None:
            self.penalty.count(row)
        Method.commit(self, row)
        self.combined.commit()
        if self.first_sight:
            memcpy(&self.v[0, 0], &self.new_v[0, 0], self.v.shape[0] * self.width * sizeof(double))
            memcpy(&self.S[0, 0, 0], &self.new_S[0, 0, 0], self.v.shape[0] * self.width * self.width * sizeof(double))
            if self.penalty is not None:
                self.penalty.commit(self.v)
