from ._full cimport Full
from ._rows cimport Row


cdef class FullInverse(Full):
    cdef double[:, :, ::1] P
    cdef double[:, :, ::1] G
    cdef double[:, :, ::1] pending_v
    cdef double[:, :, ::1] pending_g
    cdef double[:, ::1] pending_w
    cdef double[::1] count
    cdef double[::1] tolerance
    cdef double[::1] appended
    cdef double[::1] along
    cdef double entering            # what a gradient is multiplied with on its way into G
    cdef double[::1] sparse_g
    cdef double[:, ::1] scratch
    cdef double[:, ::1] anew

    cdef bint at_once               # P is up to date: nothing waits but for G
    cdef void catch_up(self, Py_ssize_t lane) noexcept nogil
    cdef void wait(self, Py_ssize_t lane, double weight) noexcept nogil
    cdef void times_inverse_sparse(self, Py_ssize_t lane, Row* row, const double* z, double* out) noexcept nogil
    cdef double append(self, Py_ssize_t lane, Row* row) noexcept nogil
    cdef void times_inverse_row(self, Py_ssize_t lane, Row* row, double* out) noexcept nogil
    cdef void less_pending(self, Py_ssize_t lane, Row* row, const double* z, const double* b, double* out) noexcept nogil
    cdef void subtract_pending(self, Py_ssize_t lane, double* matrix) noexcept nogil
    cdef void times_inverse(self, Py_ssize_t lane, double* b, double* out) noexcept nogil
    cdef void fold(self, Py_ssize_t lane) noexcept nogil
    cdef void mend(self, Py_ssize_t lane) noexcept nogil
    cdef double drift(self, Py_ssize_t lane) noexcept nogil
