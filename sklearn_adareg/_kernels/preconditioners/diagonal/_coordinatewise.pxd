from ._coordinates cimport Coordinates
from ...data._rows cimport Row


cdef class Coordinatewise(Coordinates):
    cdef bint in_place               # dense rows are worked on where the numbers lie: no piece can fail
    cdef bint plain                  # mirror descent without penalty and domain
    cdef double[::1] es              # per weight vector: η times the slope
    cdef double[::1] point           # one weight vector as a whole, for the domain
    cdef double[::1] steps
    cdef double[::1] raw             # raw weights of the touched coordinates, for the domain's gauge
    cdef double[::1] pull            # per weight vector: the slope that a step follows
    cdef double[::1] lengths         # per weight vector: how far a step of unit slope takes the margin

    cdef bint by_records(self) noexcept nogil
    cdef void measure_steps(self, Row* row) noexcept nogil
    cdef void shorten(self) noexcept nogil
    cdef double vector_rate(self, Py_ssize_t vector) noexcept nogil
    cdef void descend(self, Row* row) noexcept nogil
    cdef void vector_slopes(self) noexcept nogil
    cdef void aim(self, Row* row) noexcept nogil
    cdef void move(self, Row* row) noexcept nogil
    cdef void track_gauge(self, Row* row, Py_ssize_t vector) noexcept nogil
    cdef void confine(self, Row* row) noexcept nogil
    cdef void settle(self, Row* row, Py_ssize_t vector) noexcept nogil
