from ._block_point cimport BlockPoint
from ...domains._domains cimport Domain


cdef class Family:
    cdef Family smaller             # the blocks of the next smaller size, or None
    cdef Py_ssize_t n               # the size of these blocks
    cdef Py_ssize_t number, first   # of this family, and of its first block
    cdef Domain domain              # of one block; None: the domain does not separate, or there is none
    cdef double[:, ::1] H
    cdef double[::1] multipliers, units, last_point

    cdef int precondition(self, BlockPoint own) noexcept nogil
    cdef void commit(self, BlockPoint own) noexcept nogil
    cdef void learn(self, BlockPoint own) noexcept nogil
    cdef int explicit(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil
    cdef bint explicit_anew(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil
    cdef void save(self, BlockPoint own, Py_ssize_t block) noexcept nogil
    cdef void forget(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double kept, double lost) noexcept nogil
    cdef void carry(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil
    cdef int solve(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double* b, double* out) noexcept nogil
    # these pass through all families, or to the one of a block
    cdef int precondition_all(self, BlockPoint own) noexcept nogil
    cdef void learn_all(self, BlockPoint own) noexcept nogil
    cdef void commit_all(self, BlockPoint own) noexcept nogil
    cdef int project_all(self, BlockPoint own, Py_ssize_t vector) noexcept nogil
    cdef int project(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil
    cdef int assemble_all(self, BlockPoint own, Py_ssize_t vector, bint anew) noexcept nogil
    cdef void save_block(self, BlockPoint own, Py_ssize_t block) noexcept nogil
    cdef void forget_block(self, BlockPoint own, Py_ssize_t block, double kept, double lost) noexcept nogil
    cdef void carry_block(self, BlockPoint own, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil
    cdef int reset_block(self, BlockPoint own, Py_ssize_t block) noexcept nogil
