"""sketch, ψ(λ) = η/λ: H_t = η G̃_t⁻¹ by a Cholesky factor of A = aI + B Bᵀ, which a new row extends by a row: O(rank²) beside B z."""
from libc.math cimport fmax, sqrt
from libc.string cimport memcpy

from ...domains._domains cimport Domain
from ...linalg._loops cimport axpy, dot
from ...potentials._potentials cimport Potential
from ...state._setting cimport Setting
from ._sketch cimport Sketch

import numpy as np


cdef class SketchONS(Sketch):
    """The Online Newton Step on a sketch: H b = η/a (b − Bᵀ A⁻¹ B b), and A⁻¹e_k for the k-th row itself."""

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        L, room = arrays["B"].shape[:2]
        self.factor, self.factored = np.zeros((L, room + 1, room + 1)), np.zeros(L, dtype=np.intp)

    cdef void forget_rows(self, Py_ssize_t vector) noexcept nogil:
        self.factored[vector] = 0

    cdef void extend(self, Py_ssize_t vector) noexcept nogil:
        """The factor of all rows, from that of the first ``factored``."""
        cdef Py_ssize_t kept = self.sketch.kept(vector)
        cdef Py_ssize_t j
        cdef const double* source
        for j in range(self.factored[vector], kept):
            source = &self.sketch.new_K[vector, j, 0] if self.sketch.shrunk[vector] else &self.sketch.K[vector, j, 0]
            self.extend_by(vector, j, source, source[j])
        self.factored[vector] = kept
        if self.sketch.square[vector] > 0.0:
            self.extend_by(vector, kept, &self.sketch.border[vector, 0], self.sketch.square[vector])

    cdef void extend_by(self, Py_ssize_t vector, Py_ssize_t n, const double* column, double corner) noexcept nogil:
        """One more row: F f = column, and its own corner, whose square is not below a."""
        cdef double base = self.base(vector)
        cdef double* own = &self.factor[vector, n, 0]
        cdef Py_ssize_t j
        for j in range(n):
            own[j] = (column[j] - dot(&self.factor[vector, j, 0], own, j)) * self.factor[vector, j, j]
        own[n] = 1.0 / sqrt(fmax(base + corner - dot(own, own, n), base))

    cdef void forwards(self, Py_ssize_t vector, const double* b, double* y, Py_ssize_t n) noexcept nogil:
        """y = F⁻¹ b."""
        cdef Py_ssize_t j
        for j in range(n):
            y[j] = (b[j] - dot(&self.factor[vector, j, 0], y, j)) * self.factor[vector, j, j]

    cdef void backwards(self, Py_ssize_t vector, double* y, Py_ssize_t n) noexcept nogil:
        """y ← F⁻ᵀ y."""
        cdef Py_ssize_t j
        for j in range(n - 1, -1, -1):
            y[j] *= self.factor[vector, j, j]
            axpy(-y[j], &self.factor[vector, j, 0], y, j)

    cdef int newest(self, Py_ssize_t vector) noexcept nogil:
        """A⁻¹ e_k: F⁻¹ e_k has one entry, 1/F_kk."""
        cdef Py_ssize_t j
        cdef Py_ssize_t k = self.sketch.kept(vector)
        cdef double* y = &self.y[vector, 0]
        self.extend(vector)
        for j in range(k):
            y[j] = 0.0
        y[k] = self.factor[vector, k, k]
        self.backwards(vector, y, k + 1)
        return 0

    cdef int spread_over(self, Py_ssize_t vector, const double* beta, double* y) noexcept nogil:
        cdef Py_ssize_t j
        cdef Py_ssize_t n = self.sketch.size(vector)
        self.extend(vector)
        self.h0[vector] = 1.0 / self.base(vector)
        for j in range(n):
            y[j] = (-self.h0[vector] * beta[j] - dot(&self.factor[vector, j, 0], y, j)) * self.factor[vector, j, j]
        self.backwards(vector, y, n)
        return 0

    cdef int spread_inverse(self, Py_ssize_t vector, const double* beta, double* y, double* outside) noexcept nogil:
        memcpy(y, beta, self.sketch.kept(vector) * sizeof(double))
        outside[0] = self.base(vector)
        return 0
