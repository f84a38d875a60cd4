cdef enum:
    # what is known of each column, a row of ``table`` each
    MEAN, SQUARES, MODE, ENTRIES, SIZE, LOW, HIGH, LEAST, MOST, NUMBERS


cdef class Columns:
    cdef readonly Py_ssize_t d, room          # columns, and in whole vectors
    cdef bint offsets                         # the scale of a column is its deviation from the mean; otherwise its size
    cdef double least_limit                   # limits are apart at least by this and its negative: 0 is never limited
    cdef double[:, ::1] table
    cdef double* at                           # its first number
    cdef double[::1] scratch

    cdef void restart(self) noexcept nogil
    cdef void merge(self, const double* means, const double* squares, Py_ssize_t n, double before) noexcept nogil
    cdef void see(self, Py_ssize_t i, double value, double before) noexcept nogil
    cdef void add(self, const double* V, Py_ssize_t n, double before) noexcept nogil
    cdef void add_sparse(self, const double* V, const int* index, const int* length, Py_ssize_t n, Py_ssize_t width,
                         double before) noexcept nogil
    cdef void set_range(self, double rows) noexcept nogil
    cdef void set_limits(self, double rows) noexcept nogil
    cdef void limits_of_kept(self, Py_ssize_t i, double* column, Py_ssize_t n) noexcept nogil
    cdef double reach2(self, Py_ssize_t i, double scale2) noexcept nogil
    cdef double scale2(self, Py_ssize_t i, double rows) noexcept nogil
