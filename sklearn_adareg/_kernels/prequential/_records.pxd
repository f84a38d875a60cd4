cimport cython

cdef enum:
    # what adds up over the rows at first sight, in this order, and what a point of the curve keeps of it
    ROWS, LOSS, WEIGHT, MISTAKES, CLIPPED, VARIANCE, KEPT
    # behind them: whether a row had another weight than 1, and the grid of the curve
    WEIGHTED = KEPT, POINTS, STEP, NEXT, ALL

cdef enum:
    AT_ONCE = 64                     # rows that are added up together

cdef enum:
    QUANTILES = 10                   # of the residuals of a target, each by a number that follows it
    SIZE = QUANTILES, SEEN, TRACKED  # behind them: the mean size of residuals, in which they are, and the number of rows


@cython.final
cdef class Tracks:
    cdef double[:, ::1] numbers      # (targets, TRACKED)
    cdef Py_ssize_t targets
    cdef bint log_link               # margins are logarithms of predictions

    cdef void follow(self, const double* margins, const double* target) noexcept nogil


@cython.final
cdef class Transcript:
    cdef readonly double[::1] values       # (rounds,)
    cdef readonly double[:, ::1] margins   # (rounds, n_outputs)
    cdef readonly double[:, ::1] shown     # (rounds, n_outputs), or None


@cython.final
cdef class Records:
    cdef double[::1] sums
    cdef double[:, ::1] points       # sums at the rounds of the grid
    cdef Py_ssize_t classes          # 0: targets are numbers
    cdef double low, high            # what losses are clipped to
    cdef Tracks tracks               # of residuals, or None
    cdef double[AT_ONCE] values      # of the rows that wait to be added up: losses,
    cdef double[AT_ONCE] weights     # weights,
    cdef char[AT_ONCE] mistaken      # and whether they were predicted wrong
    cdef Py_ssize_t waiting, enough  # how many rows wait, and at how many they are added up
    cdef void begin(self) noexcept nogil
    cdef void add_up(self) noexcept nogil
    cdef void mark(self) noexcept nogil
    cdef bint misses(self, const double* margins, double label) noexcept nogil

    cdef inline void note(self, double value, double weight, const double* margins, const double* target) noexcept nogil:
        """A row at first sight: the loss of its prediction, its weight, the margins of all weight vectors, its target.

        It waits for ``add_up``: in a short round every instruction counts, and many rows at once are added up in registers.
        """
        cdef Py_ssize_t k = self.waiting
        self.values[k], self.weights[k] = value, weight
        if self.classes == 2:
            self.mistaken[k] = (margins[0] > 0.0) != (target[0] > 0.0)
        else:
            self.mistaken[k] = self.classes > 2 and self.misses(margins, target[0])
        self.waiting = k + 1
        if k + 1 == self.enough:
            self.add_up()
