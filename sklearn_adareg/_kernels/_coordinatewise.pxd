from ._gathered cimport Gathered
from ._losses cimport Loss
from ._rows cimport Row
from ._stack cimport Stack


cdef class Coordinatewise(Gathered):
    cdef double[::1] last            # the round in which a coordinate was last touched
    cdef double[::1] gauge           # of each lane's point, for the domain
    cdef double[::1] astray          # lanes whose point is not the unprojected one (dual averaging)
    cdef bint plain                  # mirror descent without penalty and domain
    cdef bint moves_all              # every coordinate moves in every round
    cdef double[::1] es              # η times the slope, one a lane
    cdef double[::1] point           # one lane as a whole, for the domain
    cdef double[::1] steps
    cdef double[::1] units
    cdef readonly Stack stack        # None: one step size
    cdef const double* entering      # slopes as they enter G
    cdef double[::1] lighter
    cdef bint implicit               # long steps are shortened by the curvature ahead of them
    cdef double[::1] averages        # margins of the averages, one a lane
    cdef double[::1] curvatures      # of the loss at each lane's margin, when implicit

    cdef void suffer_lanes(self, Loss loss, const double* margins, const double* target, double weight, double* slopes) noexcept nogil
    cdef void shorten(self, const double* reach) noexcept nogil
    cdef double lane_rate(self, Py_ssize_t lane) noexcept nogil
    cdef void spread_units(self, Row* row) noexcept nogil
    cdef void descend(self, Row* row) noexcept nogil
    cdef void lane_slopes(self) noexcept nogil
    cdef void take_slopes(self, const double* slopes) noexcept nogil
    cdef void aim(self, Row* row) noexcept nogil
    cdef void commit(self, Row* row) noexcept nogil
    cdef void confine(self, Row* row) noexcept nogil
    cdef void settle(self, Row* row, Py_ssize_t lane) noexcept nogil
    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil
