cdef class Loss:
    cdef double evaluate(self, const double* margins, const double* target, double* slopes,
                         Py_ssize_t lanes) noexcept nogil


cdef class PointLoss(Loss):
    cdef double point(self, double m, double y, double* slope) noexcept nogil
