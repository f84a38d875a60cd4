from ._candidates cimport Candidates


cdef class Committee(Candidates):
    cdef double[::1] iterate_margins

    cdef void begin_new_row(self) noexcept nogil
