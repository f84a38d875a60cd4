cimport cython

from ..losses._losses cimport Loss
from ._units cimport Curvatures, Offsets, Residuals


@cython.final
cdef class Objective:
    cdef readonly Py_ssize_t vectors, K     # margins that come in, and weight vectors of one model
    cdef Py_ssize_t groups                # weight vectors / K
    cdef readonly Residuals residuals     # None: residuals are in raw units
    cdef readonly Offsets offsets         # None: margins start from 0
    cdef readonly Curvatures curvatures   # of a log link
    cdef bint plain                       # none of them
    cdef double[::1] step_units           # per weight vector: what steps are multiplied with
    cdef double[::1] curvature_units      # per weight vector: what curvatures are divided by
    cdef double[::1] loss_units           # per weight vector: the gradient of the loss over that of the weight vector
    cdef const unsigned char* inactive     # per weight vector: takes no part in this round; NULL: all do
    cdef Loss loss

    cdef double evaluate(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil
    cdef void find_slopes(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil
    cdef void find_curvatures(self, const double* margins, const double* target, double* curvatures) noexcept nogil
    cdef double value_of_vector(self, Py_ssize_t vector, double margin, double target, double weight, double* slope) noexcept nogil
    cdef bint all_inactive(self, Py_ssize_t member) noexcept nogil
    cdef double loss_at(self, Py_ssize_t k, double margin, const double* target) noexcept nogil
    cdef double slope_at(self, Py_ssize_t k, double margin, const double* target, double* curvature) noexcept nogil
    cdef double from_offset(self, Py_ssize_t vector, double margin) noexcept nogil
    cdef void commit(self) noexcept nogil
