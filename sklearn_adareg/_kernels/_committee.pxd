from ._committee_candidates cimport Candidates


cdef class Committee(Candidates):
    cdef double[::1] iterate_margins
    cdef double[:, :, ::1] published_shares   # (2, K, R): what averages and iterates count in what is published

    cdef void begin_new_row(self) noexcept nogil
