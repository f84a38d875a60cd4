"""The tiny Newton regression of a stack: margins f of one row, made before it was learnt from, are combined to M = v·f.

    S ← fade · S + h f fᵀ,    v ← v − (S + λI)⁻¹ ℓ'(M) f,    h = max(ℓ''(M), ℓ'(M)²).

A softmax has one v for all classes. What a round proposes becomes the state when the round stands.
"""
from libc.math cimport fabs, fmax
from libc.string cimport memcpy

from ._combined_penalty cimport CombinedPenalty
from ..linalg._loops cimport fade_in, small_solve
from ..scaling._objective cimport Objective

import numpy as np

cdef double PRIOR = 20.0


cdef class StackRegression:
    """v and S of each weight vector, or of all that learn jointly; at most 8 margins are combined."""

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
