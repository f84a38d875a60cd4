"""A potential: ψ(λ) = η / log(1 + λ), which falls more slowly than any power."""
from libc.math cimport log1p

from sklearn_adareg._kernels.potentials._potentials cimport Potential


cdef class Logarithmic(Potential):
    """The logarithm is operator-monotone, so its inverse is operator-antitone."""

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n):
            h[i] = 1.0 / log1p(lam[i])           # ψ/η: the structure multiplies by η
        return 0
