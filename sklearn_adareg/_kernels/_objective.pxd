cimport cython

from ._losses cimport Loss
from ._units cimport Curvatures, Offsets, Residuals


@cython.final
cdef class Objective:
    cdef readonly Py_ssize_t lanes, K     # margins that come in, and weight vectors of one model
    cdef Py_ssize_t groups                # lanes / K
    cdef readonly Residuals residuals     # None: residuals are in raw units
    cdef readonly Offsets offsets         # None: margins start from 0
    cdef readonly Curvatures curvatures   # of a log link
    cdef bint plain                       # none of them
    cdef double[::1] step_units           # per lane: what steps are multiplied with
    cdef double[::1] curvature_units      # per lane: what curvatures are divided by
    cdef double[::1] loss_units           # per lane: the gradient of the loss over that of the lane
    cdef const unsigned char* resting     # per lane: takes no part in this round; NULL: all do
    cdef Loss loss

    cdef double evaluate(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil
    cdef void find_slopes(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil
    cdef void find_curvatures(self, const double* margins, const double* target, double* curvatures) noexcept nogil
    cdef double value_of_lane(self, Py_ssize_t lane, double margin, double target, double weight, double* slope) noexcept nogil
    cdef bint rests(self, Py_ssize_t member) noexcept nogil
    cdef double loss_of(self, Py_ssize_t first, Py_ssize_t many, const double* margins, const double* target,
                        double* scratch) noexcept nogil
    cdef double loss_at(self, Py_ssize_t k, double margin, const double* target) noexcept nogil
    cdef double slope_at(self, Py_ssize_t k, double margin, const double* target, double* curvature) noexcept nogil
    cdef double from_offset(self, Py_ssize_t lane, double margin) noexcept nogil
    cdef void commit(self) noexcept nogil
