from ._partition cimport Partition
from .._structures cimport Structure
from ...state._undo cimport UndoLog


cdef class BlockPoint(Structure):
    cdef Partition blocks
    cdef double *x
    cdef double *u
    cdef double *theta
    cdef double[:, ::1] g           # this round's gradients, one row per weight vector
    cdef double[:, ::1] sums        # θ_t, or g_t itself under mirror descent: what H_t multiplies
    cdef double[:, ::1] move        # H_t times that
    cdef double[:, ::1] goal
    cdef double[:, ::1] H           # of a whole weight vector, where the domain does not separate
    cdef double[::1] multipliers, units, last_point
    cdef double kept                # λ, of sums and averages; 1 where nothing is forgotten
    cdef double[::1] charged        # per block: the round up to which it has forgotten
    cdef double share               # the factor on steps that blocks share
    cdef bint touch_all             # every round moves all blocks
    cdef UndoLog undo

    cdef void find_share(self) noexcept nogil
    cdef double weight_root(self) noexcept nogil
    cdef void find_gradients(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef double step_to_goal(self, Py_ssize_t vector, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef void write(self, Py_ssize_t vector, Py_ssize_t start, Py_ssize_t n) noexcept nogil
    cdef double unit(self, Py_ssize_t p) noexcept nogil
    cdef double begun(self, Py_ssize_t p) noexcept nogil
