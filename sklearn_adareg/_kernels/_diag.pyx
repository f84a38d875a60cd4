# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""diag: H_t = ψ(diag G_t), a step size for each coordinate. O(nnz) a round, 3 numbers a coefficient with the average."""
from ._coordinatewise cimport Coordinatewise
from ._rows cimport Row


cdef void square_in(const double* z, const double* s, double* G, Py_ssize_t n, Py_ssize_t L) noexcept nogil:
    """G += g² with g = s z."""
    cdef Py_ssize_t j, l
    cdef double slope = s[0]
    if L == 1:
        for j in range(n):
            G[j] += (z[j] * slope) * (z[j] * slope)
        return
    for j in range(n):
        for l in range(L):
            G[j * L + l] += (z[j] * s[l]) * (z[j] * s[l])


cdef class Diagonal(Coordinatewise):
    """Every coordinate keeps its own sum of squared gradients."""

    FIELDS = ("G",)

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        square_in(row.z, slopes, self.Gb, row.n, self.setting.L)

    cdef int precondition(self, Row* row) noexcept nogil:
        return self.potential.steps(self.Gb, self.hb, row.n * self.setting.L)

    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t L = self.setting.L
        if row != NULL and row.index == NULL:                   # ψ of every coordinate is already here
            for i in range(D):
                h[i] = self.hb[i * L + lane]
        else:
            for i in range(D):
                h[i] = self.G[i * self.stride + lane]
            self.potential.steps(h, h, D)
        for i in range(D):
            h[i] *= self.setting.eta[lane]
