# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
# Projections in the norm of H⁻¹ onto polyhedra, by an active-set method; here onto bounds.
from sklearn_adareg._kernels._metric cimport Metric

cdef enum:
    MAX_GROWTHS = 8       # how often the tolerance may grow


cdef class ActiveSet:
    cdef readonly Py_ssize_t d
    cdef public int patience         # joint steps before the bracketed iteration takes over
    cdef Metric metric               # the matrix H
    cdef double[::1] _vectors
    cdef Py_ssize_t[::1] _pinned     # the indices in A
    cdef signed char[::1] _state     # −1, 0 or 1 per coordinate
    cdef signed char[::1] _wanted    # the states that the last check asked for

    # Scratch of one call; meaningless between calls.
    cdef Py_ssize_t n_pinned, n_wrong, worst, fewest_wrong
    cdef long pivots
    cdef int grace
    cdef bint sums, descending
    cdef double tolerance, worst_size, floor, ceiling
    cdef double* u
    cdef double* p
    cdef double* q
    cdef double* a
    cdef double* b
    cdef double* right
    cdef double* root
    cdef double* x                   # feasible w of the descent
    cdef double* product

    cdef int within_bounds(self, double* c, double* w, double lower, double upper, const double* start) noexcept nogil

    cdef int begin(self, const double* c) noexcept nogil
    cdef void restart_pivots(self) noexcept nogil
    cdef int factor(self) noexcept nogil
    cdef void subtract(self, double* y, const double* w) noexcept nogil
    cdef void want(self, Py_ssize_t i, signed char state, double size) noexcept nogil
    cdef void pivot(self, const double* w) noexcept nogil
    cdef void start_descent(self, const double* w) noexcept nogil
    cdef bint reach(self, const double* w) noexcept nogil
    cdef void refine_bounds(self, double* c, double* w, double lower, double upper) noexcept nogil
