cdef class Loss:
    cdef readonly int degree         # ℓ(ρ r) = ρ^degree ℓ(r) in the residual r, up to its own constants; 0: not a loss of a residual
    cdef readonly bint log_link      # the mean is e^margin
    cdef readonly bint logistic      # log(1 + exp(−ym)) in each weight vector
    cdef readonly bint constant_curvature
    cdef readonly bint steep         # slopes grow without bound: a long step needs the curvature
    cdef double evaluate(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil
    cdef double value_of_vector(self, Py_ssize_t vector, double margin, const double* target) noexcept nogil
    cdef void find_slopes(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil
    cdef void curvatures(self, const double* margins, const double* target, double* curvatures, Py_ssize_t vectors) noexcept nogil


cdef class PointLoss(Loss):
    cdef double unit                 # of the residual, in which parameters of the loss are measured
    cdef double point(self, double m, double y, double* slope) noexcept nogil
    cdef double slope(self, double m, double y) noexcept nogil
    cdef double curvature(self, double m, double y) noexcept nogil
    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil


cdef class LogLoss(PointLoss):
    pass


cdef class OneVsRest(Loss):
    cdef PointLoss inner
    cdef Py_ssize_t first


cdef class Softmax(Loss):
    pass
