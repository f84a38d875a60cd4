from ...data._rows cimport Row
from .._structures cimport Structure
from ...state._undo cimport UndoLog


cdef class Full(Structure):
    cdef double *x
    cdef double *u
    cdef double *theta
    cdef Py_ssize_t numbers         # of all of them, one behind the other from x on
    cdef double[:, ::1] g           # this round's gradients, one row per weight vector
    cdef double[:, ::1] sums        # θ_t, or g_t itself under mirror descent: what H_t multiplies
    cdef double[:, ::1] move        # H_t times that
    cdef double[:, ::1] goal
    cdef double[::1] multipliers
    cdef double[:, ::1] H
    cdef double[::1] units
    cdef double[::1] last_point     # the raw coefficients of x_t
    cdef double kept                # λ, of sums and averages; 1 where nothing is forgotten
    cdef UndoLog undo               # what was changed before the round was certain to stand

    cdef void save_matrices(self) noexcept nogil
    cdef int take_units(self, Row* row) noexcept nogil
    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil
    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil
    cdef double unit(self, Py_ssize_t i) noexcept nogil
    cdef double begun(self, Py_ssize_t i) noexcept nogil
    cdef int project(self, Py_ssize_t vector) noexcept nogil
    cdef void explicit_H(self, Py_ssize_t vector) noexcept nogil
    cdef bint explicit_H_anew(self, Py_ssize_t vector) noexcept nogil
    cdef void commit(self) noexcept nogil
    cdef void forget(self) noexcept nogil
