from ._losses cimport Loss


cdef class SmallRegression:
    cdef Py_ssize_t width
    cdef double prior
    cdef double[::1] gradient
    cdef void begin(self, const double* S, double fade, double returned, double* new_S) noexcept nogil
    cdef void add(self, const double* f, double slope, double curvature, double weight, double* new_S) noexcept nogil
    cdef bint step(self, const double* v, const double* new_S, double* new_v) noexcept nogil
