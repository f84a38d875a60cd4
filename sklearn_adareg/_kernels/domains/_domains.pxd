# The sets the coefficients may be confined to. d counts coefficients: the intercept is always free.
from sklearn_adareg._kernels.domains.projection._active_set cimport ActiveSet
from sklearn_adareg._kernels.domains.projection._metric cimport Metric


cdef class Domain:
    cdef readonly Py_ssize_t d
    cdef readonly double radius
    cdef double sum                        # what |c_i| or c_i must sum up to at the boundary, or 0
    cdef readonly bint coordinatewise      # the projection in any diagonal norm is a clip to ...
    cdef readonly double lower, upper      # ... this interval
    cdef readonly Metric metric            # None until prepare_full()
    cdef readonly ActiveSet solver         # of the polyhedra; None until prepare_full()
    cdef double[::1] _point                # the point to project, and the best c and w so far
    cdef double[::1] _bounds               # of each coordinate, lower ones first; None until prepare_full()
    cdef double[::1] _vectors              # scratch of every call
    cdef Py_ssize_t[::1] _order

    cdef bint contains(self, const double* c) noexcept nogil
    cdef bint accepts(self, const double* c) noexcept nogil
    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil
    cdef bint gauge_exceeds(self, double gauge) noexcept nogil
    cdef double shrinkage(self, double gauge) noexcept nogil
    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil
    cdef int project_full(self, double* c, double* w, const double* H, Py_ssize_t ldh, const double* units,
                          const double* start) noexcept nogil
    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil


cdef class NoDomain(Domain):
    pass


cdef class Interval(Domain):
    pass


cdef class Box(Interval):
    pass


cdef class Nonnegative(Interval):
    pass


cdef void shrink_into(Domain domain, double* c, double limit) noexcept nogil
