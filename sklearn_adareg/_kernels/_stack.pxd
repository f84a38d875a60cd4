from ._losses cimport Loss


cdef class Stack:
    cdef readonly Py_ssize_t K, R, width      # weight vectors, step sizes, margins that are combined
    cdef readonly bint joint
    cdef public bint learning                 # first sight: later margins are no longer progressive
    cdef double[:, ::1] v
    cdef double[:, :, ::1] S
    cdef double[:, ::1] new_v
    cdef double[:, :, ::1] new_S
    cdef double[:, ::1] f                     # (K, width): averages of the step sizes, then last iterates
    cdef double[::1] M                        # (K,) the combined margins
    cdef double[::1] slopes
    cdef double[::1] curvatures
    cdef double[::1] gradient
    cdef double[::1] center

    cdef void combine(self, const double* averages, const double* lasts) noexcept nogil
    cdef void learn(self, Py_ssize_t which, double t, double weight, const double* target) noexcept nogil
    cdef void keep(self) noexcept nogil
