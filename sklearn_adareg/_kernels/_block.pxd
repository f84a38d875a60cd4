from ._domains cimport Domain
from ._partition cimport Partition
from ._rows cimport Row
from ._structures cimport Structure
from ._undo cimport UndoLog


cdef class Block(Structure)          # it and its families know each other


cdef class Family:
    cdef Family smaller             # the blocks of the next smaller size, or None
    cdef Py_ssize_t n               # the size of these blocks
    cdef Py_ssize_t number, first   # of this family, and of its first block
    cdef Domain domain              # of one block; None: the domain does not separate, or there is none
    cdef double[:, ::1] H
    cdef double[::1] multipliers, units, last_point

    cdef int precondition(self, Block own) noexcept nogil
    cdef void commit(self, Block own) noexcept nogil
    cdef void learn(self, Block own) noexcept nogil
    cdef int explicit(self, Block own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil
    cdef bint explicit_anew(self, Block own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil
    cdef void save(self, Block own, Py_ssize_t block) noexcept nogil
    cdef void carry(self, Block own, Py_ssize_t lane, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil
    cdef int solve(self, Block own, Py_ssize_t lane, Py_ssize_t block, double* b, double* out) noexcept nogil
    # these pass through all families, or to the one of a block
    cdef int precondition_all(self, Block own) noexcept nogil
    cdef void learn_all(self, Block own) noexcept nogil
    cdef void commit_all(self, Block own) noexcept nogil
    cdef int project_all(self, Block own, Py_ssize_t lane) noexcept nogil
    cdef int project(self, Block own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil
    cdef int assemble_all(self, Block own, Py_ssize_t lane, bint anew) noexcept nogil
    cdef void save_block(self, Block own, Py_ssize_t block) noexcept nogil
    cdef void carry_block(self, Block own, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil
    cdef int reset_block(self, Block own, Py_ssize_t block) noexcept nogil


cdef class Block(Structure):
    cdef Partition blocks
    cdef Family families            # the largest blocks; the others follow
    cdef double *x
    cdef double *u
    cdef double *theta
    cdef double[:, ::1] g           # this round's gradients, one row per lane
    cdef double[:, ::1] sums        # θ_t, or g_t itself under mirror descent: what H_t multiplies
    cdef double[:, ::1] move        # H_t times that
    cdef double[:, ::1] goal
    cdef double[:, ::1] H           # of a whole lane, where the domain does not separate
    cdef double[::1] multipliers, units, last_point
    cdef double share               # the factor on steps that blocks share
    cdef bint touch_all             # every round moves all blocks
    cdef UndoLog undo
    cdef long long[::1] saved, reset   # per block: the last change of units that it was part of

    cdef double weight_root(self) noexcept nogil

    cdef int take_units(self, Row* row) noexcept nogil
    cdef void save(self, Py_ssize_t block) noexcept nogil
    cdef void find_share(self) noexcept nogil
    cdef double unit(self, Py_ssize_t p) noexcept nogil
    cdef double begun(self, Py_ssize_t p) noexcept nogil
    cdef int project(self, Py_ssize_t lane) noexcept nogil
    cdef double step_to_goal(self, Py_ssize_t lane, Py_ssize_t block) noexcept nogil
    cdef void find_gradients(self, Py_ssize_t block) noexcept nogil
    cdef void write(self, Py_ssize_t lane, Py_ssize_t start, Py_ssize_t n) noexcept nogil
