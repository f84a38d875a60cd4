cimport cython

cdef enum:
    QUANTILES = 10                   # of the residuals of a target, each by a number that follows it
    SIZE = QUANTILES, SEEN, TRACKED  # behind them: the mean size of residuals, in which they are, and the number of rows


@cython.final
cdef class Tracks:
    cdef double[:, ::1] numbers      # (targets, TRACKED)
    cdef Py_ssize_t targets
    cdef bint log_link               # margins are logarithms of predictions

    cdef void follow(self, const double* margins, const double* target) noexcept nogil
