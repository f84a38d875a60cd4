from ._combined_penalty cimport CombinedPenalty
from ._methods cimport Method
from ._objective cimport Objective


cdef class Stack(Method):
    cdef readonly Py_ssize_t width            # margins that are combined
    cdef Objective combined                   # the loss at the combined margins
    cdef CombinedPenalty penalty              # None: there is none
    cdef double[:, ::1] v
    cdef double[:, :, ::1] S
    cdef double[:, ::1] new_v
    cdef double[:, :, ::1] new_S
    cdef double[:, ::1] f                     # (K, width): margins of the averages, then of the last iterates
    cdef double[::1] M                        # (K,) the combined margins
    cdef double[::1] M_slopes
    cdef double[::1] M_curvatures
    cdef double[::1] gradient
    cdef double[::1] center

    cdef void combine(self, const double* margins, const double* averages) noexcept nogil
    cdef void learn(self, Py_ssize_t which, double weight, const double* target) noexcept nogil
