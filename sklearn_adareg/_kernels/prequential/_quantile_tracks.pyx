"""Quantiles of progressive residuals, followed by adaptive conformal inference.

A residual r is a target less its prediction from before it was learnt from. With m a running mean of |r|, the quantile of level p is
m q, and after each row

    q ← q + γ (1[r > m q] − (1 − p)).

So T rows have a share of (1 − p) + (q_{T+1} − q_1) / (γT) of residuals beyond it, whatever the residuals are: q stays within
FARTHEST + γ, since an end beyond FARTHEST is taken as infinite, and no residual is beyond that. m follows the size of residuals, for
intervals that are as narrow as they can be; coverage does not depend on it. No row counts in it as more than MOST times m. Where a
quantile is within one nearer to the median, that one stands for it, so that intervals are nested.
"""
from libc.math cimport exp, fabs, sqrt

import numpy as np

cdef enum:
    LEVEL_COUNT = QUANTILES / 2
cdef double RATE = 0.05                  # γ, and larger in the first rows
cdef double SHORTEST = 0.01              # what a row counts in m, and more in the first rows
cdef double MOST = 10.0
cdef double FARTHEST = 50.0
cdef double LARGEST = 1e290              # of a residual
cdef double LARGEST_EXPONENT = 667.0
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)     # of intervals, each between two of the quantiles
NORMAL = (0.6744897501960817, 1.2815515655446004, 1.6448536269514722, 1.959963984540054, 2.5758293035489004)
cdef double[QUANTILES] BEYOND            # 1 − p, from the lowest quantile to the highest
for _j, _level in enumerate(LEVELS):
    BEYOND[4 - _j], BEYOND[5 + _j] = (1.0 + _level) / 2, (1.0 - _level) / 2


def levels():
    """The levels of coverage that are followed."""
    return LEVELS


def allocate(targets):
    """The numbers of a new model: quantiles of a normal distribution, in units of its mean absolute value."""
    numbers = np.zeros((targets, TRACKED))
    numbers[:, 5:QUANTILES] = np.sqrt(np.pi / 2) * np.array(NORMAL)
    numbers[:, :5] = -numbers[:, 5:QUANTILES][:, ::-1]
    return numbers


def ends(numbers, level):
    """What to add to predictions for the lower and the upper ends of intervals of this level, (targets, 2)."""
    numbers = np.asarray(numbers)
    count, size = LEVELS.index(level) + 1, numbers[:, [SIZE]]
    lower, upper = numbers[:, 5 - count:5], numbers[:, 5:5 + count]
    lowest, highest = lower.min(axis=1, keepdims=True), upper.max(axis=1, keepdims=True)
    found = np.sort(np.hstack([size * lowest, size * highest]), axis=1)
    found[lowest[:, 0] <= -FARTHEST, 0], found[highest[:, 0] >= FARTHEST, 1] = -np.inf, np.inf
    found[numbers[:, SEEN] < 2.0] = -np.inf, np.inf          # the first row was predicted by weights of 0
    return found


def merged(parts, base=None):
    """The numbers of a model that is merged: means by rows, of the ends that they stand for. What comes from ``base`` counts once."""
    if len({len(numbers) for numbers in parts}) > 1:
        return allocate(0)
    out = allocate(len(parts[0]))
    seen = np.array([numbers[:, SEEN] for numbers in parts])
    for k in np.flatnonzero(seen.any(axis=0)):
        sizes = np.array([numbers[k, SIZE] for numbers in parts])
        out[k, SIZE] = np.average(sizes, weights=seen[:, k])
        if out[k, SIZE] > 0.0:
            ends = np.array([numbers[k, :QUANTILES] * numbers[k, SIZE] for numbers in parts])
            out[k, :QUANTILES] = np.average(ends, axis=0, weights=seen[:, k]) / out[k, SIZE]
        out[k, SEEN] = seen[:, k].sum()
    if base is not None and len(base) == len(out):
        out[:, SEEN] -= (len(parts) - 1) * base[:, SEEN]
    return out


def mismatch(numbers, targets):
    """Why saved numbers are none of a model of so many targets, in a clause; None if they are."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.float64 or numbers.shape not in ((0, TRACKED), (targets, TRACKED)):
        return f"its quantiles of residuals are not an array of shape ({targets}, {TRACKED})"
    return None


cdef class Tracks:
    """The quantiles of the residuals of each target."""

    def __init__(self, double[:, ::1] numbers, bint log_link):
        self.numbers, self.targets, self.log_link = numbers, numbers.shape[0], log_link

    cdef void follow(self, const double* margins, const double* target) noexcept nogil:
        """A row at first sight: the margins that predicted it, and its targets."""
        cdef Py_ssize_t j, k
        cdef double seen, residual, size, share, rate, scaled, low, high
        cdef double* q
        for k in range(self.targets):
            q = &self.numbers[k, 0]
            seen = q[SEEN]
            q[SEEN] = seen + 1.0
            if seen == 0.0:
                continue
            residual = within(target[k] - (exp(within(margins[k], LARGEST_EXPONENT)) if self.log_link else margins[k]), LARGEST)
            size = fabs(residual)
            rate, share = RATE, SHORTEST
            if seen < 400.0:
                rate, share = 1.0 / sqrt(seen), 4.0 / (seen + 3.0)
            if q[SIZE] > 0.0:
                scaled = within(residual / q[SIZE], FARTHEST)
                low, high = q[4], q[5]
                for j in range(LEVEL_COUNT):     # from the inner interval to the outer one, which contains it; no branch
                    low = q[4 - j] if q[4 - j] < low else low
                    high = q[5 + j] if q[5 + j] > high else high
                    q[4 - j] += rate * (<double> (scaled > low) - BEYOND[4 - j])
                    q[5 + j] += rate * (<double> (scaled > high) - BEYOND[5 + j])
                size = size if size < MOST * q[SIZE] else MOST * q[SIZE]
            q[SIZE] += share * (size - q[SIZE])


cdef inline double within(double number, double most) noexcept nogil:
    """The number, or the nearest end of [−most, most]; two instructions, where fmin and fmax are calls."""
    number = number if number < most else most
    return number if number > -most else -most
