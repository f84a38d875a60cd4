cimport cython
from libc.math cimport pow

from ._domains cimport Domain
from ._losses cimport Loss
from ._potentials cimport Potential
from ._rows cimport Row


cdef class Setting:
    cdef readonly Py_ssize_t d, D, L
    cdef readonly Py_ssize_t rates
    cdef readonly int degree                  # of the loss in the residual's unit
    cdef readonly bint joint
    cdef readonly Py_ssize_t K                # weight vectors of one model; L = K times the step sizes that learn side by side
    cdef readonly bint intercept, dual, averaging, scaled, relative, shifted, lighter
    cdef readonly double epsilon, ridge, lasso, gamma, start, refresh
    cdef double[::1] eta


@cython.final
cdef class Clock:
    cdef double[::1] now         # rounds and averaging weight so far
    cdef bint averaging
    cdef double gamma
    cdef double t, c, C          # of the round under way

    cdef inline void strike(self) noexcept nogil:
        """A round begins."""
        self.t = self.now[0] + 1.0
        if self.gamma == 0.0:
            self.c = 1.0
        elif self.gamma == 1.0:
            self.c = self.t
        elif self.gamma == 2.0:
            self.c = self.t * self.t
        elif self.gamma == 20.0:                  # what "auto" takes in the full structure; pow would be a tenth of a round
            self.c = self.t * self.t
            self.c *= self.c
            self.c *= self.c * self.c * self.c * self.c
        else:
            self.c = pow(self.t, self.gamma)
        self.C = self.now[1] + self.c

    cdef inline void keep(self) noexcept nogil:
        """It stands."""
        self.now[0] = self.t
        self.now[1] = self.C


cdef class Structure:
    cdef readonly Setting setting
    cdef readonly Potential potential
    cdef readonly Domain domain
    cdef readonly Clock clock
    cdef readonly dict arrays
    cdef bint penalised
    cdef bint restless           # moves even when no lane has a slope
    cdef bint in_one             # can learn from a row in one pass in which nothing can fail
    cdef bint has_units          # there is more to keep of a round than x and G: units, or a stack
    cdef bint free               # no domain
    cdef bint wholly             # a domain whose projection moves the whole point
    cdef const double* slopes    # ω ℓ' of the round under way, one a lane
    cdef double round_weight     # ω of the round under way
    cdef double reach            # the longest step that a gradient of norm 1 can cause
    # online scaling: features in units of the largest seen, residuals in units of their root mean square
    cdef double[:] scale         # the largest |z_i| so far
    cdef double[::1] spread      # Σ ‖z̃‖² so far
    cdef double[::1] new_scale   # of the touched coordinates, with the row under way
    cdef double norm2            # ‖z̃‖² of that row
    cdef Py_ssize_t grew         # how many scales grow in this round
    cdef Py_ssize_t[::1] grown   # and which of the row's coordinates they belong to
    cdef double[::1] offset      # what margins start from, one a weight vector
    cdef double[::1] started     # whether the offset is known
    cdef double[::1] new_offset
    cdef double[::1] new_started
    cdef double[::1] residuals   # Σ ω r² so far, one a lane
    cdef double[::1] weight      # Σ ω so far
    cdef double[::1] factor      # what steps are multiplied with, one a lane
    cdef double[::1] new_residuals
    cdef double new_weight

    cdef void room_for_units(self, Py_ssize_t widest)
    cdef void meet(self, Loss loss) noexcept nogil
    cdef void normalise(self, Row* row) noexcept nogil
    cdef double suffer(self, Loss loss, const double* margins, const double* target, double weight, double* slopes) noexcept nogil
    cdef double suffer_relative(self, Loss loss, const double* margins, const double* target, double weight,
                                double* slopes) noexcept nogil
    cdef double lane_loss(self, Loss loss, Py_ssize_t lane, double margin, double target, double weight,
                          double* slope) noexcept nogil
    cdef double lane_curvature(self, Loss loss, Py_ssize_t lane, double margin, double target) noexcept nogil
    cdef void find_offset(self, Loss loss, const double* target) noexcept nogil
    cdef double loss_unit(self, Py_ssize_t lane) noexcept nogil
    cdef void keep_units(self, Row* row) noexcept nogil
    cdef void enter(self, Row* row) noexcept nogil
    cdef void predict(self, Row* row, double* margins) noexcept nogil
    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil
    cdef int precondition(self, Row* row) noexcept nogil
    cdef int update(self, Row* row) noexcept nogil
    cdef void learn(self, Row* row, const double* slopes) noexcept nogil
    cdef void rest(self, Row* row) noexcept nogil
