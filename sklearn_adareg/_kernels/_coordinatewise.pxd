from ._cells cimport Cells
from ._rows cimport Row
from ._structures cimport Structure


cdef class Coordinatewise(Structure):
    cdef Cells cells
    cdef double[::1] last            # the round in which a coordinate was last touched
    cdef double[:, ::1] subgradient  # of the L1 penalty, in −1 to 1, or None
    cdef double[::1] charged         # the round up to which a coordinate has forgotten, where it does
    cdef double[::1] gauge           # of each lane's point, for the domain
    cdef double[::1] astray          # lanes whose point is not the unprojected one (dual averaging)
    cdef bint in_place               # dense rows are worked on where the numbers lie: no piece can fail
    cdef bint plain                  # mirror descent without penalty and domain
    cdef bint fade_together          # the sums of all coordinates forget at once, by a common factor
    cdef bint moves_all              # every coordinate moves in every round
    cdef double[::1] es              # per lane: η times the slope
    cdef double[::1] point           # one lane as a whole, for the domain
    cdef double[::1] steps
    cdef double[::1] units
    cdef double[::1] raw             # raw weights of the touched coordinates, for the domain's gauge
    cdef double[::1] pull            # per lane: the slope that a step follows
    cdef double[::1] lengths         # per lane: how far a step of unit slope takes the margin

    cdef bint by_records(self) noexcept nogil
    cdef bint works_in_place(self, Row* row) noexcept nogil
    cdef void catch_up(self, Row* row) noexcept nogil
    cdef void forget(self, Row* row) noexcept nogil
    cdef void forget_rounds(self, Py_ssize_t first, Py_ssize_t n, double kept, double lost) noexcept nogil
    cdef void catch_up_all(self) noexcept nogil
    cdef void note_charged(self, Row* row, double when) noexcept nogil
    cdef void keep_raw_start(self, Row* row) noexcept nogil
    cdef void keep_raw_weights(self, Row* row) noexcept nogil
    cdef int change_units(self, Row* row) noexcept nogil
    cdef int carry(self, Py_ssize_t e, Py_ssize_t lane, double grown) noexcept nogil
    cdef void measure_steps(self, Row* row) noexcept nogil
    cdef void shorten(self) noexcept nogil
    cdef double lane_rate(self, Py_ssize_t lane) noexcept nogil
    cdef void collect_units(self, Row* row) noexcept nogil
    cdef void descend(self, Row* row) noexcept nogil
    cdef void lane_slopes(self) noexcept nogil
    cdef void aim(self, Row* row) noexcept nogil
    cdef void move(self, Row* row) noexcept nogil
    cdef void track_gauge(self, Row* row, Py_ssize_t lane) noexcept nogil
    cdef void confine(self, Row* row) noexcept nogil
    cdef void settle(self, Row* row, Py_ssize_t lane) noexcept nogil
    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil
