from ..losses._losses cimport Loss
from ..data._rows cimport Row
from ..state._setting cimport Clock, Setting
from ..preconditioners._structures cimport Structure
from ..scaling._units cimport FeatureScale, Objective, Offsets


cdef class Method:
    cdef readonly Setting setting
    cdef readonly Structure structure
    cdef readonly Objective objective     # of the weight vectors
    cdef readonly dict arrays
    cdef readonly Clock clock
    cdef FeatureScale scale               # None: features in raw units
    cdef Offsets offsets                  # None: margins start from 0
    cdef Loss loss
    cdef bint direct                      # the loss at the margins, without units or curvatures, is the loss of the round
    cdef bint in_units                    # any of them, or residuals, have to be committed
    cdef public object bound_to           # whose loss was bound last
    cdef public bint first_sight          # the rows to come have not been seen before
    cdef readonly double[::1] margins, slopes     # of the last round; slopes with its weight
    cdef double[::1] curvatures
    cdef const double* prequential               # the K margins that ``evaluate_loss`` gives the loss of
    cdef Objective predictor              # that loss
    cdef bint combines                    # they are a combination, the same that is published
    cdef readonly bint watched            # what would have been published is worked out in each round
    cdef readonly bint as_published       # and is what predicts, for the records
    cdef bint looked_up                   # from the weights, since margins do not tell
    cdef public object error              # of publishing them
    cdef double[::1] shown                # (K,) its margins
    cdef double[::1] shown_slopes
    cdef const double* predicting         # the K margins that the records are about: ``shown`` or ``prequential``
    cdef double[::1] average_margins      # of the weight vectors

    cdef void begin_round(self) noexcept nogil
    cdef void show(self, const double* margins, const double* averages) noexcept nogil
    cdef void show_earlier(self, Row* row) noexcept nogil
    cdef void combination(self, Py_ssize_t k, const double** of_averages, const double** of_iterates) noexcept nogil
    cdef bint look_up(self, Row* row) noexcept nogil
    cdef bint look_up_in_all(self, Row* row) noexcept with gil
    cdef double evaluate_published(self, const double* target, double value, bint earlier) noexcept nogil
    cdef double shown_loss(self, const double* target) noexcept nogil
    cdef double evaluate_loss(self, const double* target, double weight) noexcept nogil
    cdef void commit(self, Row* row) noexcept nogil
