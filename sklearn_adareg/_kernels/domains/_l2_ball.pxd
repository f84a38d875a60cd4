from sklearn_adareg._kernels.domains._domains cimport Domain


cdef class L2Ball(Domain):
    cdef void back_to_sphere(self, double* c, const double* z, double norm, const double* basis, int k, double* along,
                             double* mu) noexcept nogil
    cdef double lanczos_step(self, double* basis, double* T, int k, bint factored) noexcept nogil
    cdef void refine(self, double* c, const double* u, double* residual, bint factored, double mu) noexcept nogil
    cdef double multiplier_at(self, const double* start, const double* u, double* scratch) noexcept nogil
