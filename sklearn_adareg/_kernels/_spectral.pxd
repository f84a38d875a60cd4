from ._full cimport Full


cdef class FullSpectral(Full):
    cdef double delta
    cdef double[:, :, ::1] G
    cdef double[:, :, ::1] V          # eigenvectors of G_τ, one per row
    cdef double[:, ::1] eigenvalues   # and their eigenvalues
    cdef double[:, ::1] h             # ψ of those
    cdef double[:, :, ::1] W          # what has come since, in the metric of G_τ
    cdef double[::1] s                # at least its largest eigenvalue
    cdef double[::1] stale            # G has changed otherwise: the basis must not serve again
    cdef double[::1] refreshes
    # of the round under way
    cdef int[::1] renewed            # per lane: whether the basis below replaces that of G_τ
    cdef double[:, :, ::1] new_V
    cdef double[:, ::1] new_eigenvalues
    cdef double[:, ::1] new_h
    cdef double[::1] new_s
    cdef double[:, ::1] whitened      # G_τ^(−1/2) g in the basis
    cdef double[::1] along
    cdef double[::1] work
    cdef int[::1] iwork

    cdef bint still_serves(self, Py_ssize_t lane) noexcept nogil
    cdef int decompose(self, Py_ssize_t lane, const double* g) noexcept nogil
    cdef void restrict(self, double* G) noexcept nogil
    cdef void times_H(self, Py_ssize_t lane, const double* b, bint rotated) noexcept nogil
