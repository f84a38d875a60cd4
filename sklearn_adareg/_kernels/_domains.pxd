# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
# The sets the coefficients may be confined to. d counts coefficients: the intercept never enters.
from sklearn_adareg._kernels._quadratic cimport ActiveSet


cdef class Domain:
    cdef readonly Py_ssize_t d
    cdef readonly double radius
    cdef readonly bint coordinatewise      # the projection in any diagonal norm is a clip to ...
    cdef readonly double lower, upper      # ... this interval
    cdef readonly ActiveSet solver         # None until prepare_full()
    cdef double[::1] _full                 # matrix-sized scratch, empty until prepare_full()
    cdef double[::1] _vectors              # scratch of every call
    cdef Py_ssize_t[::1] _order

    cdef bint contains(self, const double* c) noexcept nogil
    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil
    cdef bint gauge_exceeds(self, double gauge) noexcept nogil
    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil
    cdef int project_full(self, double* c, double* w, const double* H,
                          Py_ssize_t ldh) noexcept nogil


cdef class NoDomain(Domain):
    pass


cdef class L2Ball(Domain):
    pass


cdef class Interval(Domain):
    pass


cdef class Box(Interval):
    pass


cdef class Nonnegative(Interval):
    pass


cdef class L1Ball(Domain):
    pass


cdef class Simplex(Domain):
    pass
