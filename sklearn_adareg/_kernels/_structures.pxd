from ._domains cimport Domain
from ._potentials cimport Potential
from ._rows cimport Row


cdef class Setting:
    cdef readonly Py_ssize_t d, D, L
    cdef readonly bint intercept, dual, averaging
    cdef readonly double epsilon, ridge, lasso, gamma, start
    cdef double[::1] eta


cdef class Clock:
    cdef double[::1] now         # rounds and averaging weight so far
    cdef bint averaging
    cdef double gamma
    cdef double t, c, C          # of the round under way
    cdef void strike(self) noexcept nogil
    cdef void keep(self) noexcept nogil


cdef class Structure:
    cdef readonly Setting setting
    cdef readonly Potential potential
    cdef readonly Domain domain
    cdef readonly Clock clock
    cdef readonly dict arrays
    cdef bint penalised
    cdef bint free               # no domain
    cdef bint wholly             # a domain whose projection moves the whole point
    cdef const double* slopes    # ω ℓ' of the round under way, one a lane

    cdef void enter(self, Row* row) noexcept nogil
    cdef void predict(self, Row* row, double* margins) noexcept nogil
    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil
    cdef int precondition(self, Row* row) noexcept nogil
    cdef int update(self, Row* row) noexcept nogil
    cdef void rest(self, Row* row) noexcept nogil
