"""What is kept of the rows at first sight, each predicted before it was learnt from.

Sums over all rows: of weighted losses and weights, of mistakes, of clipped losses ℓ_t, and of (ℓ_t − mean of ℓ_1 … ℓ_{t−1})², the
variance process of empirical Bernstein confidence sequences (the mean of no losses is 0). The last three count every row once,
whatever its weight; a flag tells whether any weight was not 1.

A curve: these sums at rounds 1, 2, 4, 8, … and at the multiples of a step, the smallest power of two that has fewer than MOST
multiples so far. When there are as many, every other one goes and the step doubles. So memory is fixed, and the points depend on the
number of rows alone. Beside them the quantiles of residuals: ``Tracks``.
"""
from libc.math cimport exp, fabs, sqrt

import numpy as np

cdef enum:
    MOST = 256             # multiples of the step
    CAPACITY = MOST + 64   # and the powers of two below the step
MOST_ROWS = 2.0 ** 45      # that records of a file may have: whole numbers made of them are small enough
cdef enum:
    LEVEL_COUNT = QUANTILES / 2
cdef double RATE = 0.05                  # γ, and larger in the first rows
cdef double SHORTEST = 0.01              # what a row counts in m, and more in the first rows
cdef double MOST_OF_MEAN = 10.0
cdef double FARTHEST = 50.0
cdef double LARGEST = 1e290              # of a residual
cdef double LARGEST_EXPONENT = 667.0
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)     # of intervals, each between two of the quantiles
NORMAL = (0.6744897501960817, 1.2815515655446004, 1.6448536269514722, 1.959963984540054, 2.5758293035489004)
cdef double[QUANTILES] BEYOND            # 1 − p, from the lowest quantile to the highest
for _j, _level in enumerate(LEVELS):
    BEYOND[4 - _j], BEYOND[5 + _j] = (1.0 + _level) / 2, (1.0 - _level) / 2


cdef inline double within(double number, double most) noexcept nogil:
    """The number, or the nearest end of [−most, most]; two instructions, where fmin and fmax are calls."""
    number = number if number < most else most
    return number if number > -most else -most


def allocate():
    """Sums and points of a new model."""
    sums = np.zeros(ALL)
    sums[STEP] = sums[NEXT] = 1.0
    return sums, np.zeros((CAPACITY, KEPT))


def grid(rows):
    """The rounds of a curve over so many rows, its step, and the round of the next point: what ``mark`` comes to."""
    step = 1
    while rows >= MOST * step:
        step *= 2
    rounds = {2 ** k for k in range(int(rows).bit_length())} | set(range(step, int(rows) + 1, step))
    last = max(rounds, default=0)
    return np.array(sorted(rounds), dtype=np.float64), step, max(1, 2 * last if last < step else last - last % step + step)


def mismatch(sums, points):
    """What of saved sums and points no rounds can have left, in a clause; None if all fits."""
    for array, shape in ((sums, (ALL,)), (points, (CAPACITY, KEPT))):
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float64:
            return f"its records are not arrays of shape {shape}"
    count, step, soon = sums[POINTS], sums[STEP], sums[NEXT]
    if not (0 <= count <= CAPACITY and count % 1 == 0 and 1 <= step <= MOST_ROWS and step % 1 == 0):
        return f"its records have {count} points with a step of {step}"
    rows = points[:int(count), ROWS]
    if not (soon > sums[ROWS] >= 0 and sums[ROWS] <= MOST_ROWS and ((rows >= 0) & (rows <= sums[ROWS])).all()):
        return "the rows of its records are out of order"
    return None


cdef class Records:
    """The sums and points of one model; ``classes`` and the interval that losses are clipped to say how to read a row."""

    def __init__(self, double[::1] sums, double[:, ::1] points, Py_ssize_t classes, double low, double high, Tracks tracks=None):
        self.sums, self.points, self.classes, self.low, self.high, self.tracks = sums, points, classes, low, high, tracks

    def note_all(self, Transcript transcript, const Py_ssize_t[::1] order, const double[:, ::1] targets, const double[::1] weights):
        """The rounds of a transcript; targets and weights go by row number."""
        cdef Py_ssize_t k
        with nogil:
            self.begin()
            for k in range(transcript.values.shape[0]):
                self.note(transcript.values[k], weights[order[k]] if weights.shape[0] > 0 else 1.0, &transcript.margins[k, 0],
                          &targets[order[k], 0])
                if self.tracks is not None:
                    self.tracks.follow(&transcript.margins[k, 0], &targets[order[k], 0])
            self.add_up()

    cdef void begin(self) noexcept nogil:
        """Rows are about to come. Whoever lets them come calls ``add_up`` after the last one."""
        cdef double ahead = self.sums[NEXT] - self.sums[ROWS]          # to the next point of the curve
        self.waiting = 0
        self.enough = AT_ONCE if ahead > AT_ONCE else (<Py_ssize_t> ahead if ahead > 1.0 else 1)

    cdef bint misses(self, const double* margins, double label) noexcept nogil:
        """Whether the largest margin is another class's."""
        cdef Py_ssize_t k, best = 0
        for k in range(1, self.classes):
            if margins[k] > margins[best]:
                best = k
        return best != <Py_ssize_t> label

    cdef void add_up(self) noexcept nogil:
        """Add the rows that wait to the sums, one after the other: how they came together does not show in the last bit."""
        cdef double* sums = &self.sums[0]
        cdef double rows = sums[ROWS], loss = sums[LOSS], weight = sums[WEIGHT], clipped_sum = sums[CLIPPED]
        cdef double variance = sums[VARIANCE], low = self.low, high = self.high
        cdef double raised, clipped, gap
        cdef Py_ssize_t k, mistakes = 0
        cdef bint weighted = False
        for k in range(self.waiting):
            raised = self.values[k] if self.values[k] > low else low         # one instruction each, and no branch
            clipped = raised if raised < high else high
            gap = clipped - clipped_sum / (rows if rows > 1.0 else 1.0)
            rows += 1.0
            loss += self.weights[k] * self.values[k]
            weight += self.weights[k]
            clipped_sum += clipped
            variance += gap * gap
            weighted |= self.weights[k] != 1.0
            mistakes += self.mistaken[k]
        sums[ROWS], sums[LOSS], sums[WEIGHT], sums[CLIPPED], sums[VARIANCE] = rows, loss, weight, clipped_sum, variance
        sums[MISTAKES] += mistakes
        if weighted:
            sums[WEIGHTED] = 1.0
        if rows >= sums[NEXT]:
            self.mark()
        self.begin()

    cdef void mark(self) noexcept nogil:
        """This round is a point of the curve; find the next one."""
        cdef double* sums = &self.sums[0]
        cdef Py_ssize_t now = <Py_ssize_t> sums[ROWS]
        cdef Py_ssize_t step = <Py_ssize_t> sums[STEP]
        cdef Py_ssize_t count = <Py_ssize_t> sums[POINTS]
        cdef Py_ssize_t i, k, kept = 0, at
        if count < self.points.shape[0]:
            for i in range(KEPT):
                self.points[count, i] = sums[i]
            count += 1
        if now >= MOST * step:
            step *= 2
            for k in range(count):
                at = <Py_ssize_t> self.points[k, ROWS]
                if at & (at - 1) == 0 or at % step == 0:
                    for i in range(KEPT):
                        self.points[kept, i] = self.points[k, i]
                    kept += 1
            count = kept
        sums[POINTS], sums[STEP] = count, step
        sums[NEXT] = 2 * now if now < step else now - now % step + step


cdef class Transcript:
    """What each of some rounds said before its row was learnt from: the loss, the margins that it is the loss of, and if asked for
    those of the model that would have been published."""

    def __init__(self, Py_ssize_t rounds, Py_ssize_t vectors, bint shown=False):
        self.values, self.margins = np.empty(rounds), np.empty((rounds, vectors))
        self.shown = np.empty((rounds, vectors)) if shown else None


cdef class Tracks:
    """Quantiles of progressive residuals, followed by adaptive conformal inference.

    A residual r is a target less its prediction from before it was learnt from. With m a running mean of |r|, the quantile of level p
    is m q, and after each row

        q ← q + γ (1[r > m q] − (1 − p)).

    So T rows have a share of (1 − p) + (q_{T+1} − q_1) / (γT) of residuals beyond it, whatever the residuals are: q stays within
    FARTHEST + γ, since an end beyond FARTHEST is taken as infinite, and no residual is beyond that. m follows the size of residuals,
    for intervals that are as narrow as they can be; coverage does not depend on it. No row counts in it as more than MOST_OF_MEAN
    times m. Where a quantile is within one nearer to the median, that one stands for it, so that intervals are nested.
    """

    @staticmethod
    def levels():
        """The levels of coverage that are followed."""
        return LEVELS

    @staticmethod
    def allocate(targets):
        """The numbers of a new model: quantiles of a normal distribution, in units of its mean absolute value."""
        numbers = np.zeros((targets, TRACKED))
        numbers[:, 5:QUANTILES] = np.sqrt(np.pi / 2) * np.array(NORMAL)
        numbers[:, :5] = -numbers[:, 5:QUANTILES][:, ::-1]
        return numbers

    @staticmethod
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

    @staticmethod
    def merged(parts, base=None):
        """The numbers of a model that is merged: means by rows, of the ends that they stand for. What comes from ``base`` counts
        once."""
        if len({len(numbers) for numbers in parts}) > 1:
            return Tracks.allocate(0)
        out = Tracks.allocate(len(parts[0]))
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

    @staticmethod
    def mismatch(numbers, targets):
        """Why saved numbers are none of a model of so many targets, in a clause; None if they are."""
        shapes = ((0, TRACKED), (targets, TRACKED))
        if not isinstance(numbers, np.ndarray) or numbers.dtype != np.float64 or numbers.shape not in shapes:
            return f"its quantiles of residuals are not an array of shape ({targets}, {TRACKED})"
        return None

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
                size = size if size < MOST_OF_MEAN * q[SIZE] else MOST_OF_MEAN * q[SIZE]
            q[SIZE] += share * (size - q[SIZE])
