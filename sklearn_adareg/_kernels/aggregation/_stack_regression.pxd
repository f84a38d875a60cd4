from ._combined_penalty cimport CombinedPenalty
from ..scaling._objective cimport Objective


cdef class StackRegression:
    cdef readonly Py_ssize_t width            # margins that are combined
    cdef Py_ssize_t K
    cdef bint joint
    cdef double[:, ::1] v, new_v
    cdef double[:, :, ::1] S, new_S
    cdef double[::1] M                        # (K,) the combined margins,
    cdef double[::1] values                   # their losses, one where they are joint,
    cdef double[::1] slopes, curvatures       # and ℓ', ℓ'' there
    cdef double[::1] gradient, center

    cdef inline void combine(self, const double[:, ::1] f) noexcept nogil:
        """M = v·f of each weight vector."""
        cdef Py_ssize_t a, k
        cdef const double* v
        for k in range(self.K):
            v = &self.v[0 if self.joint else k, 0]
            self.M[k] = 0.0
            for a in range(self.width):
                self.M[k] += v[a] * f[k, a]

    cdef void look(self, Objective combined, const double* target) noexcept nogil
    cdef void find_curvatures(self, Objective combined, const double* target) noexcept nogil
    cdef void learn(self, Py_ssize_t which, const double[:, ::1] f, double weight, double fade, const double* target,
                    CombinedPenalty penalty, double unit) noexcept nogil
    cdef void commit(self) noexcept nogil
