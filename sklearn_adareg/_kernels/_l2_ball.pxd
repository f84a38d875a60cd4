# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
from sklearn_adareg._kernels._domains cimport Domain


cdef class L2Ball(Domain):
    cdef double[::1] _lanczos

    cdef void times_S(self, double* q, double* out) noexcept nogil
    cdef int by_products(self, const double* h, double* c, double* mu) noexcept nogil
    cdef int by_factors(self, const double* h, const double* before, double* c, double* mu) noexcept nogil
    cdef int factor_S(self, double mu) noexcept nogil
    cdef void back_to_sphere(self, double* c, const double* z, double norm, const double* basis, int k, double* along,
                             double* mu) noexcept nogil
    cdef double lanczos_step(self, double* basis, double* T, int k, bint factored) noexcept nogil
    cdef void refine(self, double* c, const double* u, double* residual, bint factored, double mu) noexcept nogil
    cdef double multiplier_at(self, const double* start, const double* u, double* scratch) noexcept nogil
