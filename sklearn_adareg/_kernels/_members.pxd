cimport cython

from ._inverse cimport Inverse
from ._setting cimport Setting
from ._undo cimport UndoLog


@cython.final
cdef class Members:
    cdef Setting setting
    cdef readonly Inverse inverse        # of the lanes that keep a matrix, which come first
    cdef Py_ssize_t L, D, whole          # lanes, coordinates, and how many lanes keep a matrix
    cdef double* x                       # (L, D) iterates
    cdef double* u                       # (L, D) Σ C δ of their averages, or NULL
    cdef double[:, ::1] diagonal         # (L − whole, D): G of the others
    cdef double[::1] inflation           # σ: a lane that forgets keeps σG and P/σ, so that G ← λG is σ ← σ/λ
    cdef double[::1] weights             # per lane: how the proposed row enters G; 0: not at all
    cdef UndoLog undo
    cdef Py_ssize_t numbers              # of x and u
    cdef bint weights_saved, matrices_saved

    cdef void begin_round(self) noexcept nogil
    cdef void save_weights(self) noexcept nogil
    cdef void save_matrices(self) noexcept nogil
    cdef void shift(self, Py_ssize_t i, double by) noexcept nogil
    cdef void start(self, Py_ssize_t i, double growth) noexcept nogil
    cdef void raise_ridge(self, Py_ssize_t i, double growth, bint jumps) noexcept nogil
    cdef void raise_whole(self, Py_ssize_t lane, Py_ssize_t i, double growth, bint jumps) noexcept nogil
    cdef void take_out(self, Py_ssize_t i, bint entered) noexcept nogil
    cdef void pull(self, Py_ssize_t lane, Py_ssize_t i, double growth, double C) noexcept nogil
    cdef double threshold(self, Py_ssize_t lane, Py_ssize_t i, double most, double C) noexcept nogil
    cdef void move_along(self, Py_ssize_t lane, double step, double C) noexcept nogil
    cdef double along(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil
    cdef double find_direction(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n) noexcept nogil
    cdef double move(self, Py_ssize_t lane, double factor, const int* index, const double* z, Py_ssize_t n,
                     double* out) noexcept nogil
    cdef void propose(self, Py_ssize_t lane, double w, double q) noexcept nogil
    cdef void enter(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n) noexcept nogil
    cdef void forget(self, Py_ssize_t lane) noexcept nogil
    cdef void return_prior(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil
    cdef void explicit(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n, double* H) noexcept nogil
