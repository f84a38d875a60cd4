# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""A tiny Newton regression on honest margins: a few predictions f of one row, made before it was learnt from, are combined to v·f.

    S ← fade S + returned I + h f fᵀ,    v ← v − (S + prior I)⁻¹ ℓ'(v·f) f,    h = max(ℓ'', ℓ'²).

``begin``, ``add``, ``step``. Nothing is changed but what the caller gives room for, so that a round can
be given up in between.
"""
from libc.math cimport isfinite

from ._loops cimport small_solve

import numpy as np


cdef class SmallRegression:
    """``width`` predictions, at most 8."""

    def __init__(self, Py_ssize_t width, double prior):
        self.width, self.prior = width, prior
        self.gradient = np.zeros(max(width, 1))

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
        cdef double h = weight * (curvature if curvature > slope * slope else slope * slope)
        for a in range(width):
            self.gradient[a] += weight * slope * f[a]
            for b in range(width):
                new_S[a * width + b] += h * f[a] * f[b]

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
