# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""A tiny Newton regression on honest margins: a few predictions f of one row, made before it was learnt from, are combined to v·f.

    S ← fade S + returned I + h f fᵀ,    v ← v − (S + prior I)⁻¹ ℓ'(v·f) f,    h = max(ℓ'', ℓ'²).

``begin``, then ``add`` or ``add_softmax``, then ``step``. Nothing is changed but what the caller gives room for, so that a round can be
given up in between.
"""
from libc.math cimport fmax, isfinite

from ._loops cimport small_solve

import numpy as np


cdef class SmallRegression:
    """``width`` predictions, at most 8."""

    def __init__(self, Py_ssize_t width, double prior):
        self.width, self.prior = width, prior
        self.gradient, self.center = np.zeros(max(width, 1)), np.zeros(max(width, 1))

    cdef void begin(self, const double* S, double fade, double returned, double* new_S) noexcept nogil:
        cdef Py_ssize_t a
        for a in range(self.width * self.width):
            new_S[a] = fade * S[a]
        for a in range(self.width):
            new_S[a * self.width + a] += returned
            self.gradient[a] = 0.0

    cdef void add(self, const double* f, double slope, double curvature, double weight, double* new_S) noexcept nogil:
        cdef Py_ssize_t a, b
        cdef Py_ssize_t width = self.width
        cdef double h = weight * fmax(curvature, slope * slope)
        for a in range(width):
            self.gradient[a] += weight * slope * f[a]
            for b in range(width):
                new_S[a * width + b] += h * f[a] * f[b]

    cdef void add_softmax(self, const double* f, const double* slopes, Py_ssize_t K, Py_ssize_t hit, double weight,
                          double* new_S) noexcept nogil:
        """f is (K, width); the slopes are p minus the indicator of the class. The Hessian of the loss in v is the covariance of f
        under p; a class that was not expected adds g gᵀ."""
        cdef Py_ssize_t a, b, k
        cdef Py_ssize_t width = self.width
        cdef double p, excess = weight * fmax(0.0, -2.0 * slopes[hit] - 1.0)
        for a in range(width):
            self.gradient[a] = self.center[a] = 0.0
        for k in range(K):
            p = slopes[k] + (k == hit)
            for a in range(width):
                self.gradient[a] += slopes[k] * f[k * width + a]
                self.center[a] += p * f[k * width + a]
        for k in range(K):
            p = weight * (slopes[k] + (k == hit))
            for a in range(width):
                for b in range(width):
                    new_S[a * width + b] += p * (f[k * width + a] - self.center[a]) * (f[k * width + b] - self.center[b])
        for a in range(width):
            for b in range(width):
                new_S[a * width + b] += excess * self.gradient[a] * self.gradient[b]
        for a in range(width):
            self.gradient[a] *= weight

    cdef bint step(self, const double* v, const double* new_S, double* new_v) noexcept nogil:
        """Whether the step is finite; with weights beyond 1e150 it may not be."""
        cdef Py_ssize_t a
        cdef double zero = 0.0
        small_solve(new_S, self.prior, &self.gradient[0], self.width)
        for a in range(self.width):
            new_v[a] = v[a] - self.gradient[a]
            zero += 0.0 * new_v[a]
        for a in range(self.width * self.width):
            zero += 0.0 * new_S[a]
        return isfinite(zero)
