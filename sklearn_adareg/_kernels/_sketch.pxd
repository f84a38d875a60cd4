from ._directions cimport Directions
from ._full cimport Full
from ._rows cimport Row


cdef class Sketch(Full):
    cdef Directions sketch
    cdef bint thin                    # x = x̂ + Bᵀc, where only c moves from row to row
    cdef double[:, ::1] c, cu         # per lane: the coefficients of x and of the average's accumulator
    cdef double[:, ::1] along         # per lane: B z, in the rows that were there when the round began
    cdef double[:, ::1] y             # per lane: the coefficients of H_t g_t, or of H_t θ_t − h_0 θ_t
    cdef double[::1] factors          # per lane: what y is multiplied with in a step
    cdef double[::1] sizes            # per lane: Σ|x̂_i|, at most
    cdef double[::1] h0               # per lane: H_t outside of the rows
    cdef double[::1] beta

    cdef double base(self, Py_ssize_t lane) noexcept nogil
    cdef int newest(self, Py_ssize_t lane) noexcept nogil
    cdef int spread_over(self, Py_ssize_t lane, const double* beta, double* y) noexcept nogil
    cdef int spread_inverse(self, Py_ssize_t lane, const double* beta, double* y, double* outside) noexcept nogil
    cdef void forget_rows(self, Py_ssize_t lane) noexcept nogil
    cdef void commit_lane(self, Py_ssize_t lane) noexcept nogil
    cdef void find_along(self, Row* row) noexcept nogil
    cdef int step_thin(self, Row* row) noexcept nogil
    cdef int step_whole(self, Row* row) noexcept nogil
