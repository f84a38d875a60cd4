from ._frequent_directions cimport Directions
from ..full._full cimport Full
from ...data._rows cimport Row


cdef class Sketch(Full):
    cdef Directions sketch
    cdef bint thin                    # x = x̂ + Bᵀc, where only c moves from row to row
    cdef double[:, ::1] c, cu         # per weight vector: the coefficients of x and of the average's accumulator
    cdef double[:, ::1] along         # per weight vector: B z, in the rows that were there when the round began
    cdef double[:, ::1] y             # per weight vector: the coefficients of H_t g_t, or of H_t θ_t − h_0 θ_t
    cdef double[::1] factors          # per weight vector: what y is multiplied with in a step
    cdef double[::1] sizes            # per weight vector: Σ|x̂_i|, at most
    cdef double[::1] h0               # per weight vector: H_t outside of the rows
    cdef double[::1] beta

    cdef double base(self, Py_ssize_t vector) noexcept nogil
    cdef int newest(self, Py_ssize_t vector) noexcept nogil
    cdef int spread_over(self, Py_ssize_t vector, const double* beta, double* y) noexcept nogil
    cdef int spread_inverse(self, Py_ssize_t vector, const double* beta, double* y, double* outside) noexcept nogil
    cdef void forget_rows(self, Py_ssize_t vector) noexcept nogil
    cdef void commit_vector(self, Py_ssize_t vector) noexcept nogil
    cdef void find_along(self, Row* row) noexcept nogil
    cdef int step_thin(self, Row* row) noexcept nogil
    cdef int step_whole(self, Row* row) noexcept nogil
