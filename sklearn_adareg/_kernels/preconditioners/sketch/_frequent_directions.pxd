cimport cython

from ...state._undo cimport UndoLog


@cython.final
cdef class Directions:
    cdef readonly Py_ssize_t L, D, rank, room
    cdef double[:, :, ::1] B          # per weight vector: up to ``room`` rows, of which ``filled`` are in use
    cdef double[:, :, ::1] K          # their Gram matrix B Bᵀ, both triangles
    cdef double[::1] filled
    cdef double[::1] escaped          # per weight vector: what shrinking has taken from every direction
    # a round's proposal
    cdef double[:, :, ::1] new_B, new_K      # after a shrink
    cdef double[:, :, ::1] mix        # that shrink: new_B = mix B
    cdef double[::1] new_escaped
    cdef double[::1] taken            # per weight vector: the share of δ that a shrink takes from kept directions; 1 unless set
    cdef bint[::1] shrunk             # per weight vector: a shrink is proposed
    cdef double[:, ::1] border        # per weight vector: B g of the rows kept
    cdef double[::1] square           # per weight vector: gᵀg; 0: no row is proposed
    cdef bint[::1] unsure             # per weight vector: K has lost digits to ``carry``
    cdef double[:, ::1] before        # per weight vector: the diagonal of K when the round began
    cdef double[::1] values, work, mixed
    cdef int[::1] iwork
    cdef Py_ssize_t[::1] order

    cdef void begin_round(self) noexcept nogil
    cdef Py_ssize_t kept(self, Py_ssize_t vector) noexcept nogil
    cdef Py_ssize_t size(self, Py_ssize_t vector) noexcept nogil
    cdef double* rows(self, Py_ssize_t vector) noexcept nogil
    cdef double length(self, Py_ssize_t vector, Py_ssize_t j) noexcept nogil
    cdef void gram(self, Py_ssize_t vector, double* A, Py_ssize_t n) noexcept nogil
    cdef void times(self, Py_ssize_t vector, const double* b, double* out) noexcept nogil
    cdef void times_sparse(self, Py_ssize_t vector, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil
    cdef void add_combined(self, Py_ssize_t vector, const double* c, double factor, double* out) noexcept nogil
    cdef int make_room(self, Py_ssize_t vector) noexcept nogil
    cdef double* commit(self, Py_ssize_t vector) noexcept nogil
    cdef int eigen(self, double* A, double* values, Py_ssize_t n) noexcept nogil
    cdef void save(self, UndoLog log, Py_ssize_t vector) noexcept nogil
    cdef void carry(self, UndoLog log, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil
    cdef void settle(self, Py_ssize_t vector) noexcept nogil
    cdef void find_gram(self, Py_ssize_t vector) noexcept nogil
