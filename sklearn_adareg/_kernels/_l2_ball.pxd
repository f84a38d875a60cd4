# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
from sklearn_adareg._kernels._domains cimport Domain


cdef class L2Ball(Domain):
    cdef double first_mu             # where solve_full is to start, or 0; used once
    cdef double[::1] _lanczos

    cdef double lanczos_step(self, double* basis, double* T, int k, bint factored) noexcept nogil
    cdef void refine(self, double* c, const double* u, double* residual, bint factored, double mu) noexcept nogil
    cdef double multiplier_at(self, const double* start, const double* u, double* scratch) noexcept nogil
