"""A loss: log cosh(m − y), quadratic near 0 and linear far away, with every derivative."""
from libc.math cimport exp, fabs, log1p, tanh

from sklearn_adareg._kernels.losses._losses cimport PointLoss

cdef double LOG_2 = 0.6931471805599453


cdef class LogCosh(PointLoss):
    """Written so that nothing overflows: log cosh r = |r| + log(1 + e^(−2|r|)) − log 2."""

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double r = m - y
        slope[0] = tanh(r)
        return fabs(r) + log1p(exp(-2.0 * fabs(r))) - LOG_2

    cdef double curvature(self, double m, double y) noexcept nogil:
        cdef double t = tanh(m - y)
        return 1.0 - t * t
