cimport cython
from libc.math cimport INFINITY

from ..losses._losses cimport Loss
from ..data._rows cimport Row
from ..state._setting cimport Setting

cdef enum:
    BELIEVED = 4                 # a unit may grow by this part of itself, over how often its feature has had a value


@cython.final
cdef class FeatureScale:
    cdef double[:] scale         # the largest |z_i| so far
    cdef double[::1] spread      # Σ ‖z̃‖² so far
    cdef double[::1] proposed    # scales of the row's coordinates, its own values included
    cdef double[::1] ratios      # the values of those, in their scales before
    cdef Py_ssize_t[::1] grown   # which of the row's coordinates have another scale than before,
    cdef Py_ssize_t grew         # and how many;
    cdef Py_ssize_t outgrown     # so many of them, the first ones, since the row has a larger value
    cdef double norm2            # ‖z̃‖² of the row
    cdef double[:] often         # how often each feature has had a value, halved when it leaves its unit; None: units grow at will
    cdef double forgetting       # λ
    cdef double[::1] peak        # the largest |z_i|, times λ for every later value; None: nothing is forgotten
    cdef double[::1] new_peak    # those of the row's coordinates

    cdef void make_room(self, Py_ssize_t widest)
    cdef void propose(self, Row* row) noexcept nogil
    cdef void restore(self, Row* row) noexcept nogil
    cdef void renew(self, Row* row) noexcept nogil
    cdef void commit(self, Row* row) noexcept nogil
    cdef void propose_peaks(self, Row* row) noexcept nogil
    cdef void count(self, Row* row) noexcept nogil

    cdef inline double believed(self, Py_ssize_t i) noexcept nogil:
        """The largest value of feature i that is taken at its word."""
        return (1.0 + BELIEVED / self.often[i]) * self.scale[i] if self.often[i] > 0.0 else INFINITY

    cdef inline double shrinkage(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """What the unit of the row's j-th coordinate, i, is multiplied with, where it is less than 1; otherwise 1."""
        return self.proposed[j] / self.scale[i] if self.proposed[j] < self.scale[i] else 1.0

    cdef inline double new_spread(self) noexcept nogil:
        """Σ ‖z̃‖² with the row under way."""
        return self.forgetting * self.spread[0] + self.norm2

    cdef inline double unit(self, Py_ssize_t i) noexcept nogil:
        """The scale of coordinate i between rounds; 1 for a feature that has not been seen."""
        return self.scale[i] if self.scale[i] > 0.0 else 1.0


cdef class RunningMean:
    cdef double[::1] sums        # Σ ω v so far, per weight vector
    cdef double[::1] weight      # Σ ω so far
    cdef double[::1] new_sums
    cdef double new_weight, forgetting

    cdef void enter(self, Py_ssize_t vector, double value, double weight) noexcept nogil
    cdef void commit(self) noexcept nogil


@cython.final
cdef class Residuals(RunningMean):
    cdef double propose(self, Py_ssize_t vector, double residual, double weight) noexcept nogil


@cython.final
cdef class Curvatures(RunningMean):
    cdef double propose(self, Py_ssize_t vector, double curvature, double weight) noexcept nogil


@cython.final
cdef class Offsets:
    cdef double[::1] offset      # what margins are measured from, per weight vector
    cdef double[::1] started     # whether it is known
    cdef double[::1] proposed
    cdef double[::1] new_started

    cdef void propose(self, Loss loss, const double* target) noexcept nogil
    cdef void commit(self) noexcept nogil


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
