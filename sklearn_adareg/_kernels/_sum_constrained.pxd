# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
# Projections in the norm of H⁻¹ onto the l1 ball and the simplex.
from ._bound_constrained cimport ActiveSet


cdef class SumConstrained(ActiveSet):
    cdef int with_sum(self, double* c, double* w, const double* start, double radius, bint two_signs) noexcept nogil

    cdef int split(self) noexcept nogil
    cdef double level_for(self, double radius) noexcept nogil
    cdef double slope(self) noexcept nogil
    cdef void combine(self, double* c, double* w, double level) noexcept nogil
    cdef void check_sum(self, const double* c, const double* w, double level,
                        bint two_signs) noexcept nogil
    cdef int solve_at(self, double* c, double* w, double level, bint two_signs) noexcept nogil
    cdef int bracket(self, double* c, double* w, double* level, double radius,
                     bint two_signs) noexcept nogil
    cdef void refine_sum(self, double* c, double* w, double level, double radius,
                         bint two_signs) noexcept nogil
