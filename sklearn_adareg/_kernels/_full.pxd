from ._rows cimport Row
from ._structures cimport Structure


cdef class Full(Structure):
    cdef double *x
    cdef double *u
    cdef double *theta
    cdef double[:, ::1] g           # this round's gradients, one row a lane
    cdef double[:, ::1] sums        # θ_t, or g_t itself under mirror descent: what H_t multiplies
    cdef double[:, ::1] move        # H_t times that
    cdef double[:, ::1] goal
    cdef double[::1] multipliers
    cdef double[:, ::1] H

    cdef double[::1] units

    cdef void take_units(self, Row* row) noexcept nogil
    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil
    cdef void reset_sums(self, Py_ssize_t lane) noexcept nogil
    cdef double unit(self, Py_ssize_t i) noexcept nogil
    cdef double begun(self, Py_ssize_t i) noexcept nogil
    cdef int project(self, Py_ssize_t lane) noexcept nogil
    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil
    cdef void take_back(self) noexcept nogil
    cdef void settled(self) noexcept nogil


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
    cdef double[::1] sparse_g
    cdef double[:, ::1] scratch
    cdef double[:, ::1] anew

    cdef double append(self, Py_ssize_t lane, Row* row) noexcept nogil
    cdef void times_inverse_row(self, Py_ssize_t lane, Row* row, double* out) noexcept nogil
    cdef void less_pending(self, Py_ssize_t lane, Row* row, const double* z, const double* b, double* out) noexcept nogil
    cdef void subtract_pending(self, Py_ssize_t lane, double* matrix) noexcept nogil
    cdef void times_inverse(self, Py_ssize_t lane, double* b, double* out) noexcept nogil
    cdef void fold(self, Py_ssize_t lane) noexcept nogil
    cdef void mend(self, Py_ssize_t lane) noexcept nogil
    cdef double drift(self, Py_ssize_t lane) noexcept nogil


cdef class FullSpectral(Full):
    cdef double[:, :, ::1] G
    cdef double[:, :, ::1] before     # G_{t−1}, to go back to when a round fails
    cdef double[:, :, ::1] V          # eigenvectors of G_t, one a row
    cdef double[:, ::1] h             # ψ of the eigenvalues
    cdef double[::1] eigenvalues
    cdef double[::1] work
    cdef int[::1] iwork
    cdef int decompose(self, Py_ssize_t lane) noexcept nogil
    cdef void times_H(self, Py_ssize_t lane) noexcept nogil
    cdef size_t size(self) noexcept nogil
