cimport cython

from ...data._rows cimport Row


@cython.final
cdef class Partition:
    cdef readonly Py_ssize_t D, n_blocks, n_families
    cdef readonly bint in_order              # coordinates lie as they come
    cdef readonly object place, sizes, counts
    cdef int[::1] position                   # where each coordinate lies
    cdef Py_ssize_t[::1] coordinate          # which coordinate lies there
    cdef Py_ssize_t[::1] block_at            # the block that it belongs to
    cdef Py_ssize_t[::1] start, size, family  # of each block: where it begins, its coordinates, its family
    cdef Py_ssize_t[::1] first_block, counts_of   # of each family: its first block, and how many
    # the row of the round under way
    cdef double* z                           # its values where the coordinates lie, zeros among them, in the blocks touched
    cdef int[::1] positions                  # of its values, where it is sparse
    cdef Py_ssize_t[::1] n_touched           # of each family,
    cdef Py_ssize_t[::1] touched             # and which: those of a family begin at its first block
    cdef double[::1] values
    cdef long long[::1] stamps
    cdef long long now
    cdef long long whole                     # the last round that touched all blocks, none of which has this stamp
    cdef bint listed                         # ``touched`` names all blocks

    cdef void take(self, Row* row, bint touch_all) noexcept nogil
    cdef bint touches(self, Py_ssize_t block) noexcept nogil
    cdef bint takes_all(self) noexcept nogil
    cdef void note(self, Py_ssize_t block) noexcept nogil
    cdef void touch(self, Py_ssize_t block) noexcept nogil
    cdef Py_ssize_t stretch(self, Py_ssize_t family, Py_ssize_t k, Py_ssize_t* start, Py_ssize_t* end) noexcept nogil
    cdef double largest_squares(self) noexcept nogil
