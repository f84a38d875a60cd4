ctypedef struct Row:
    Py_ssize_t n          # how many coordinates the row touches, the intercept among them
    Py_ssize_t room       # the same in whole vectors, where zeros follow the values; else n
    double* z             # their values
    const int* index      # their numbers, or NULL: all D coordinates, in order
    double norm2          # the sum of z squared
    bint stray            # a number is none of the matrix: nothing may be looked up by them


cdef class Rows:
    cdef readonly Py_ssize_t n_rows, d, D, widest
    cdef object owners              # keeps the buffers behind the raw pointers alive
    cdef double[:, ::1] values       # of two rows, by turns
    cdef int[:, ::1] numbers
    cdef bint turn
    cdef bint single                # float32 values
    cdef bint drop_zeros            # a zero is an untouched coordinate (penalties ask for this)
    cdef const void* data
    cdef bint transformed                # features are centred, and less their shares of others
    cdef const double[::1] centre, share
    cdef const int[::1] start, partner
    cdef double[::1] centred
    cdef double take_values(self, Py_ssize_t first, double* z, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t drop(self, double* z, int* number, Py_ssize_t n) noexcept nogil
    cdef learn_in(self, transform)
    cdef void transform_row(self, Row* row) noexcept nogil
    cdef void fetch(self, Py_ssize_t i, Row* row) noexcept nogil
    cdef void announce(self, Py_ssize_t soon, Py_ssize_t later) noexcept nogil
