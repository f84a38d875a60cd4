from ._eigenbasis cimport Basis
from ...domains._domains cimport Domain
from ...data._rows cimport Row
from .._structures cimport Matrices, Structure
from ...state._undo cimport UndoLog


cdef class Points(Structure):
    cdef double *x
    cdef double *u
    cdef double *theta
    cdef Py_ssize_t numbers         # of all of them, one behind the other from x on
    cdef double[:, ::1] g           # this round's gradients, one row per weight vector
    cdef double[:, ::1] sums        # θ_t, or g_t itself under mirror descent: what H_t multiplies
    cdef double[:, ::1] move        # H_t times that
    cdef double[:, ::1] goal
    cdef double[::1] H, multipliers, units
    cdef double[::1] last_point     # the raw coefficients of x_t
    cdef double kept                # λ, of sums and averages; 1 where nothing is forgotten
    cdef UndoLog undo               # what was changed before the round was certain to stand

    cdef void find_margins(self, Row* row, const double* z, const int* index, double* margins) noexcept nogil
    cdef void change_units(self, Row* row) noexcept nogil
    cdef void enter_unit(self, Py_ssize_t p, double growth) noexcept nogil
    cdef void scale_weights(self, Py_ssize_t p, double factor) noexcept nogil
    cdef Py_ssize_t position_of(self, Py_ssize_t i) noexcept nogil
    cdef double unit(self, Py_ssize_t p) noexcept nogil
    cdef double begun(self, Py_ssize_t p) noexcept nogil
    cdef int project_part(self, Domain domain, Py_ssize_t vector, Py_ssize_t p, Py_ssize_t ldh, Py_ssize_t block) noexcept nogil
    cdef int find_H(self, Py_ssize_t vector, Py_ssize_t block, bint anew) noexcept nogil
    cdef void follow(self, Py_ssize_t vector) noexcept nogil


cdef class Full(Points):
    cdef int take_units(self, Row* row) noexcept nogil
    cdef void save_matrices(self) noexcept nogil
    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil
    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil
    cdef void commit(self) noexcept nogil
    cdef void forget(self) noexcept nogil


cdef class FullMatrix(Full):
    cdef Matrices matrices


cdef class FullSpectral(FullMatrix):
    cdef Basis basis

    cdef void restrict(self, double* G) noexcept nogil
