cimport cython

from .._structures cimport Matrices
from ...state._setting cimport Forgetting


@cython.final
cdef class Inverse(Matrices):
    cdef Py_ssize_t L, D
    cdef Py_ssize_t room            # for corrections that wait
    cdef double[:, :, ::1] P
    cdef double[:, :, ::1] G
    cdef double[:, :, ::1] pending_v
    cdef double[:, :, ::1] pending_g
    cdef double[:, ::1] pending_w
    cdef double[::1] count
    cdef double[::1] tolerance
    cdef double[::1] along
    cdef double[:, ::1] scratch
    cdef double[:, ::1] anew
    cdef bint whole_G               # both triangles of G are kept, and G is small
    cdef bint at_once               # P is up to date: corrections wait for G only
    cdef double epsilon
    cdef Forgetting memory          # None: nothing is forgotten
    cdef double[::1] fade           # f
    cdef double[::1] turn           # the coordinate whose prior comes back next
    cdef double[::1] weights        # 1 / (1 + gᵀv) of the round under way
    cdef double[::1] values

    cdef void times(self, Py_ssize_t vector, const double* b, double* out) noexcept nogil
    cdef void times_sparse(self, Py_ssize_t vector, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil
    cdef void less_pending(self, Py_ssize_t vector, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil
    cdef void times_G(self, Py_ssize_t vector, const double* b, double* out) noexcept nogil
    cdef double* next_v(self, Py_ssize_t vector) noexcept nogil
    cdef double* next_g(self, Py_ssize_t vector) noexcept nogil
    cdef void correct(self, Py_ssize_t vector, double weight) noexcept nogil
    cdef void subtract_pending(self, Py_ssize_t vector, Py_ssize_t count, double* matrix) noexcept nogil
    cdef void raise_coordinate(self, Py_ssize_t vector, Py_ssize_t i, double amount) noexcept nogil
    cdef void multiply(self, Py_ssize_t vector, double factor) noexcept nogil
    cdef void fold(self, Py_ssize_t vector) noexcept nogil
    cdef void fold_G(self, Py_ssize_t vector) noexcept nogil
    cdef void stay_inverse(self, Py_ssize_t vector, const double* g) noexcept nogil
    cdef bint rebuild(self, Py_ssize_t vector) noexcept nogil
    cdef void scale_coordinate(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil
    cdef void start(self, Py_ssize_t vector, Py_ssize_t i, double value) noexcept nogil
    cdef void remove(self, Py_ssize_t vector, Py_ssize_t i) noexcept nogil
    cdef double drift(self, Py_ssize_t vector, const double* g) noexcept nogil
    cdef double next_fade(self, Py_ssize_t vector) noexcept nogil
    cdef Py_ssize_t turns(self, double lost) noexcept nogil
    cdef void give_back(self, Py_ssize_t vector, double lost) noexcept nogil
    cdef void forget_most(self, Py_ssize_t vector, double kept, double lost) noexcept nogil
