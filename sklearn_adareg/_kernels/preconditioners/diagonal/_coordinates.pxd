from ._cells cimport Cells
from ...data._rows cimport Row
from .._structures cimport Structure

# Raw weights and step sizes in raw units are kept within these, so that squares and ratios of them are finite. Units beyond
# 1e60 or below 1e-60 get there.
cdef extern from *:
    """
    #define ADAREG_LARGEST_WEIGHT 1e300
    #define ADAREG_LARGEST_STEP 1e120
    #define ADAREG_SMALLEST_SQUARE 1e-300
    """
    const double LARGEST_WEIGHT "ADAREG_LARGEST_WEIGHT"
    const double LARGEST_STEP "ADAREG_LARGEST_STEP"
    const double SMALLEST_SQUARE "ADAREG_SMALLEST_SQUARE"


cdef class Coordinates(Structure):
    cdef Cells cells
    cdef double[::1] last            # the round in which a coordinate was last touched
    cdef double[:, ::1] subgradient  # of the L1 penalty, in −1 to 1, or None
    cdef double[::1] charged         # the round up to which a coordinate has forgotten, where it does
    cdef double[::1] gauge           # of each weight vector's point, for the domain
    cdef double[::1] astray          # weight vectors whose point is not the unprojected one (dual averaging), or of no known gauge
    cdef bint fade_together          # the sums of all coordinates forget at once, by a common factor
    cdef bint moves_all              # every coordinate moves in every round
    cdef double[::1] units           # of all coordinates, for the domain

    cdef double[::1] squares, mean_curvatures, weight      # of residuals, where they have units
    cdef double[::1] now_rate, now_step, now_unit           # per weight vector, of ``begin_publishing``
    cdef double rounds_now

    cdef void begin_publishing(self) noexcept nogil
    cdef double square_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil
    cdef double step_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil
    cdef double kept_now(self, Py_ssize_t i) noexcept nogil
    cdef double unit_now(self, Py_ssize_t i) noexcept nogil
    cdef double charged_now(self, Py_ssize_t i, Py_ssize_t vector, double h) noexcept nogil
    cdef bint would_be_zero(self, Py_ssize_t i, Py_ssize_t k, double weight, const double* shares) noexcept nogil
    cdef double weight_now(self, Py_ssize_t i, Py_ssize_t k, const double* of_averages, const double* of_iterates,
                           const double* shares) noexcept nogil
    cdef bint works_in_place(self, Row* row) noexcept nogil
    cdef void catch_up(self, Row* row) noexcept nogil
    cdef void forget(self, Row* row) noexcept nogil
    cdef void forget_at(self, double* G, double* theta, double* u, Py_ssize_t n, double kept, double lost) noexcept nogil
    cdef void forget_rounds(self, Py_ssize_t first, Py_ssize_t n, double kept, double lost) noexcept nogil
    cdef void catch_up_all(self) noexcept nogil
    cdef void note_charged(self, Row* row, double when) noexcept nogil
    cdef void keep_raw_start(self, Row* row) noexcept nogil
    cdef void keep_raw_weights(self, Row* row) noexcept nogil
    cdef int change_units(self, Row* row) noexcept nogil
    cdef int carry(self, Py_ssize_t e, Py_ssize_t vector, double grown) noexcept nogil
    cdef void collect_units(self, Row* row) noexcept nogil
    cdef void vector_steps(self, Row* row, Py_ssize_t vector, double* h) noexcept nogil
