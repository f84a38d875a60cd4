# Projections in the norm of H⁻¹ onto polyhedra, by an active-set method.
from sklearn_adareg._kernels.domains.projection._metric cimport Metric


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

    cdef int within_bounds(self, double* c, double* w, const double* lower, const double* upper, const double* start) noexcept nogil

    cdef int begin(self, const double* c) noexcept nogil
    cdef void restart_pivots(self) noexcept nogil
    cdef int factor(self) noexcept nogil
    cdef void subtract(self, double* y, const double* w) noexcept nogil
    cdef void begin_check(self, const double* w, double* reach, double* top) noexcept nogil
    cdef void want(self, Py_ssize_t i, signed char state, double size) noexcept nogil
    cdef void pivot(self, const double* w) noexcept nogil
    cdef void start_descent(self, const double* w) noexcept nogil
    cdef bint reach(self, const double* w) noexcept nogil
    cdef void refine_bounds(self, double* c, double* w, const double* lower, const double* upper) noexcept nogil


cdef class SumConstrained(ActiveSet):
    cdef int with_sum(self, double* c, double* w, const double* start, double radius, bint two_signs) noexcept nogil

    cdef int split(self) noexcept nogil
    cdef double level_for(self, double radius) noexcept nogil
    cdef double slope(self) noexcept nogil
    cdef void combine(self, double* c, double* w, double level) noexcept nogil
    cdef void check_sum(self, const double* c, const double* w, double level, bint two_signs) noexcept nogil
    cdef int solve_at(self, double* c, double* w, double level, bint two_signs) noexcept nogil
    cdef int bracket(self, double* c, double* w, double* level, double radius, bint two_signs) noexcept nogil
    cdef void refine_sum(self, double* c, double* w, double level, double radius, bint two_signs) noexcept nogil
