from ._block_point cimport BlockPoint
from ._families cimport Family
from ...data._rows cimport Row


cdef class Block(BlockPoint):
    cdef Family families               # the largest blocks; the others follow
    cdef bint in_one_pass              # rounds in which no unit grows cannot fail
    cdef long long[::1] saved, reset   # per block: the last change of units that it was part of

    cdef int take_units(self, Row* row) noexcept nogil
    cdef void save(self, Py_ssize_t block) noexcept nogil
    cdef void catch_up(self, Py_ssize_t block) noexcept nogil
    cdef int project(self, Py_ssize_t vector) noexcept nogil
