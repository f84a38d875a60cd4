from ._sketch cimport Sketch


cdef class SketchONS(Sketch):
    cdef double[:, :, ::1] factor    # per weight vector: the lower triangle F of A = F Fᵀ, with 1/F_ii on its diagonal
    cdef Py_ssize_t[::1] factored    # per weight vector: rows of it that are those of the rows in use

    cdef void extend(self, Py_ssize_t vector) noexcept nogil
    cdef void extend_by(self, Py_ssize_t vector, Py_ssize_t n, const double* column, double corner) noexcept nogil
    cdef void forwards(self, Py_ssize_t vector, const double* b, double* y, Py_ssize_t n) noexcept nogil
    cdef void backwards(self, Py_ssize_t vector, double* y, Py_ssize_t n) noexcept nogil
