cimport cython

from ._tracks cimport Tracks

cdef enum:
    # what adds up over the rows at first sight, in this order, and what a point of the curve keeps of it
    ROWS, LOSS, WEIGHT, MISTAKES, CLIPPED, VARIANCE, KEPT
    # behind them: whether a row had another weight than 1, and the grid of the curve
    WEIGHTED = KEPT, POINTS, STEP, NEXT, ALL


@cython.final
cdef class Transcript:
    cdef readonly double[::1] values       # (rounds,)
    cdef readonly double[:, ::1] margins   # (rounds, lanes)
    cdef readonly double[:, ::1] shown     # (rounds, lanes), or None


@cython.final
cdef class Records:
    cdef double[::1] sums
    cdef double[:, ::1] points       # sums at the rounds of the grid
    cdef Py_ssize_t classes          # 0: targets are numbers
    cdef double low, high            # what losses are clipped to
    cdef Tracks tracks               # of residuals, or None
    cdef void mark(self) noexcept nogil

    cdef inline void note(self, double value, double weight, const double* margins, const double* target) noexcept nogil:
        """A row at first sight: the loss of its prediction, its weight, the margins of all weight vectors, its target."""
        cdef double* sums = &self.sums[0]
        cdef double raised = value if value > self.low else self.low        # one instruction each, and no branch
        cdef double clipped = raised if raised < self.high else self.high
        cdef double rows = sums[ROWS]
        cdef double gap = clipped - sums[CLIPPED] / (rows if rows > 1.0 else 1.0)
        cdef Py_ssize_t k, best = 0
        sums[ROWS] = rows + 1.0
        sums[LOSS] += weight * value
        sums[WEIGHT] += weight
        sums[CLIPPED] += clipped
        sums[VARIANCE] += gap * gap
        if weight != 1.0:
            sums[WEIGHTED] = 1.0
        if self.classes == 2:
            sums[MISTAKES] += (margins[0] > 0.0) != (target[0] > 0.0)
        elif self.classes > 2:
            for k in range(1, self.classes):
                if margins[k] > margins[best]:
                    best = k
            sums[MISTAKES] += best != <Py_ssize_t> target[0]
        if sums[ROWS] >= sums[NEXT]:
            self.mark()
