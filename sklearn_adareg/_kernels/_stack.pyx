# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The stack: a few step sizes learn side by side, and their margins are combined by a tiny Newton regression.

For each weight vector the margins of the averages and of the last iterates, f = (ā_1 … ā_R, m_1 … m_R), were made before the
row was learnt from, so they are honest features. The prediction is M = v·f; after it,

    S ← S·(t/(t+1))² + h f fᵀ,    v ← v − (S + λI)⁻¹ ℓ'(M) f,    h = max(ℓ''(M), ℓ'(M)²),

with v_1 = the average of the slowest. A combination of linear models is a linear model: the published weights are the same
combination. Unlike a race, it calibrates (Σv ≠ 1), and it follows a drift by turning to the last iterates. O(R²) a row beside
the lanes, whose loops it shares: the numbers of the step sizes lie side by side.
"""
from libc.math cimport fmax
from libc.string cimport memcpy

from ._loops cimport fade_in, small_solve

import numpy as np

cdef double PRIOR = 10.0


cdef class Stack:
    """Combines R step sizes of K weight vectors; one v for all of them when they learn jointly, else one each."""

    @staticmethod
    def allocate(Py_ssize_t K, Py_ssize_t R, bint joint, bint averaging):
        width = 2 * R if averaging else R
        stacks = 1 if joint else K
        v = np.zeros((stacks, width))
        v[:, 0] = 1.0
        return {"stack_v": v, "stack_S": np.zeros((stacks, width, width))}

    def __init__(self, Py_ssize_t K, Py_ssize_t R, bint joint, dict arrays):
        self.K, self.R, self.joint = K, R, joint
        self.v, self.S = arrays["stack_v"], arrays["stack_S"]
        self.width = self.v.shape[1]
        self.new_v, self.new_S = np.array(self.v), np.array(self.S)
        self.f, self.M = np.empty((K, self.width)), np.empty(K)
        self.slopes, self.curvatures = np.empty(K), np.empty(K)
        self.gradient, self.center = np.empty(self.width), np.empty(self.width)
        self.learning = True

    cdef void combine(self, const double* averages, const double* lasts) noexcept nogil:
        """f and M from the margins of all lanes, lane r·K + k."""
        cdef Py_ssize_t k, r, a
        cdef Py_ssize_t both = self.width - self.R
        for k in range(self.K):
            for r in range(self.R):
                if both:
                    self.f[k, r] = averages[r * self.K + k]
                self.f[k, both + r] = lasts[r * self.K + k]
            self.M[k] = 0.0
            for a in range(self.width):
                self.M[k] += self.v[0 if self.joint else k, a] * self.f[k, a]

    cdef void learn(self, Py_ssize_t which, double t, double weight, const double* target) noexcept nogil:
        """A Newton step of one v, from the slopes and curvatures at M; kept when the round stands."""
        cdef Py_ssize_t a, b, k
        cdef Py_ssize_t width = self.width
        cdef double fade = (t / (t + 1.0)) * (t / (t + 1.0))
        cdef double h, excess
        if self.joint and self.K > 1:            # softmax: slopes are p minus the indicator
            fade_in(&self.S[which, 0, 0], fade, 0.0, &self.f[which, 0], &self.new_S[which, 0, 0], width)
            for a in range(width):
                self.gradient[a], self.center[a] = 0.0, 0.0
                for k in range(self.K):
                    self.gradient[a] += self.slopes[k] * self.f[k, a]
                    self.center[a] += (self.slopes[k] + (k == <Py_ssize_t> target[0])) * self.f[k, a]
            excess = weight * fmax(0.0, -2.0 * self.slopes[<Py_ssize_t> target[0]] - 1.0)
            for a in range(width):
                for b in range(width):
                    for k in range(self.K):
                        h = weight * (self.slopes[k] + (k == <Py_ssize_t> target[0]))
                        self.new_S[which, a, b] += h * (self.f[k, a] - self.center[a]) * (self.f[k, b] - self.center[b])
                    self.new_S[which, a, b] += excess * self.gradient[a] * self.gradient[b]
        else:
            h = weight * fmax(self.curvatures[which], self.slopes[which] * self.slopes[which])
            fade_in(&self.S[which, 0, 0], fade, h, &self.f[which, 0], &self.new_S[which, 0, 0], width)
            for a in range(width):
                self.gradient[a] = self.slopes[which] * self.f[which, a]
        for a in range(width):
            self.gradient[a] *= weight
        small_solve(&self.new_S[which, 0, 0], PRIOR, &self.gradient[0], width)
        for a in range(width):
            self.new_v[which, a] = self.v[which, a] - self.gradient[a]

    cdef void keep(self) noexcept nogil:
        if not self.learning:
            return
        memcpy(&self.v[0, 0], &self.new_v[0, 0], self.v.shape[0] * self.width * sizeof(double))
        memcpy(&self.S[0, 0, 0], &self.new_S[0, 0, 0], self.v.shape[0] * self.width * self.width * sizeof(double))

    def published(self, averages, lasts):
        """The same combination of weights: (R·K, D) averages and last iterates to (K, D)."""
        parts = [lasts] if self.width == self.R else [averages, lasts]
        candidates = np.concatenate([part.reshape(self.R, self.K, -1) for part in parts])
        v = np.broadcast_to(np.asarray(self.v), (self.K, self.width))
        return np.einsum("kw,wkd->kd", v, candidates)
