cimport cython

from .._structures cimport Matrices
from ...potentials._potentials cimport Potential

ctypedef void (*Restriction)(void* structure, double* G) noexcept nogil


@cython.final
cdef class Basis(Matrices):
    cdef Py_ssize_t L, D
    cdef Potential potential
    cdef double delta, epsilon
    cdef double lam                   # λ, what a round keeps of G
    cdef Restriction restriction      # P_S, of a structure that keeps a part of G; NULL: all of it
    cdef void* structure
    cdef bint small                   # products by our own loops, whose calls cost less than those of BLAS
    cdef double[:, :, ::1] G
    cdef double[:, :, ::1] V          # eigenvectors of G_τ, one per row
    cdef double[:, ::1] eigenvalues   # and their eigenvalues
    cdef double[:, ::1] h             # ψ of those
    cdef double[:, :, ::1] W          # what has come since, in the metric of G_τ; None where gradients wait
    cdef double[:, :, ::1] past       # there: G_τ itself
    cdef double[::1] s                # at least the largest eigenvalue of W
    cdef double[:, ::1] roots_H       # H_τ where it is the inverse root and gradients wait, else None
    cdef double[:, :, ::1] pending_g  # gradients that G has not taken yet; none where it takes each at once
    cdef double[::1] count            # how many
    cdef Py_ssize_t room
    cdef double[::1] fade             # f; None: nothing is forgotten
    cdef double[::1] new_fade         # with the round under way
    cdef double[:, ::1] roots         # eigenvalues^(−1/2)
    cdef double[::1] stale            # G has changed otherwise: the basis must not serve again
    cdef double[::1] refreshes
    # of the round under way
    cdef int[::1] renewed             # per weight vector: whether the basis below replaces that of G_τ
    cdef double[:, :, ::1] new_V
    cdef double[:, ::1] new_eigenvalues
    cdef double[:, ::1] new_h
    cdef double[::1] new_s
    cdef double[:, :, ::1] whitened   # G_τ^(−1/2) g in the basis, of each gradient
    cdef double[::1] along
    cdef double[::1] work
    cdef int[::1] iwork

    cdef void restrict_by(self, Restriction restriction, void* structure) noexcept
    cdef void take_fade(self, Py_ssize_t vector, double fade) noexcept nogil
    cdef int times_H(self, Py_ssize_t vector, const double* g, const double* b, double eta, double* out) noexcept nogil
    cdef int times_H_late(self, Py_ssize_t vector, const double* g, double eta, double* out) noexcept nogil
    cdef int take(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil
    cdef void times(self, Py_ssize_t vector, const double* b, bint rotated, double eta, double* out) noexcept nogil
    cdef void find_root(self, Py_ssize_t vector) noexcept nogil
    cdef void take_pending(self, Py_ssize_t vector) noexcept nogil
    cdef bint may_serve(self, Py_ssize_t vector) noexcept nogil
    cdef bint still_serves(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil
    cdef bint near_past(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil
    cdef void assemble(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil
    cdef int decompose(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil
    cdef void into_basis(self, const double* V, const double* b) noexcept nogil
    cdef void out_of_basis(self, const double* V, double* out) noexcept nogil
    cdef void add_square(self, double* v, double* A) noexcept nogil
