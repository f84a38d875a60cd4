"""Means, variances and limits of columns: features, and the targets of a regression.

A value is limited to what one value may say. Of the rows that are kept in the beginning, no value counts more than a quarter of the
sum of squares of its column: with a the distances from the median, the limit is the largest L with L² ≤ ¼ Σ min(a², L²), and
at least ``OF_SIZE`` times the median distance of those that are not 0, so that rare values of an indicator are whole. Later a value
is limited to √(t/4) standard deviations from the mean of t rows, which raises a variance by a quarter at most. The value 0 is never
limited, so that sparse rows need no look at it.

While all rows are kept, nothing is limited in learning, and predictions are limited to the range of the rows and √max(4, t/4)
standard deviations.
"""
from libc.math cimport fabs, fmax, fmin, sqrt

import numpy as np

WIDTH = 8
cdef double UNLIMITED = 1e300
cdef double PART = 0.25
cdef double OF_SIZE = 3.0            # times the size of entries: never limited below
cdef double ROUNDING = 1e-26         # of the square of a mean: a smaller variance is none
cdef enum:
    RARE = 64                        # entries, from which on a column's deviation says enough about their size


def rounded(Py_ssize_t n):
    """So many columns in whole vectors."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


cdef class Columns:
    """The columns of one table, which ``allocate`` makes."""

    @staticmethod
    def allocate(Py_ssize_t d, Py_ssize_t room):
        """Nothing known of d columns."""
        table = np.zeros((NUMBERS, room))
        table[LOW], table[HIGH] = -UNLIMITED, UNLIMITED
        return table

    def __init__(self, double[:, ::1] table, Py_ssize_t d, bint offsets, bint targets=False):
        self.table, self.at, self.d, self.room, self.offsets = table, &table[0, 0], d, table.shape[1], offsets
        self.scratch = np.zeros(2 * self.room)
        self.least_limit = UNLIMITED if targets else 0.0

    cdef void restart(self) noexcept nogil:
        """Means and deviations are those of no rows; limits, modes and entries stay."""
        cdef Py_ssize_t i
        for i in range(self.room):
            self.at[MEAN * self.room + i] = self.at[SQUARES * self.room + i] = 0.0

    cdef double scale2(self, Py_ssize_t i, double rows) noexcept nogil:
        """The square that a column's prior is measured with: its variance, or its mean square; 0 where it never varied."""
        cdef double mean = self.at[MEAN * self.room + i]
        cdef double squares = self.at[SQUARES * self.room + i]
        if self.offsets:
            return squares / rows if squares > ROUNDING * rows * mean * mean else 0.0
        return squares / rows + mean * mean

    cdef double reach2(self, Py_ssize_t i, double scale2) noexcept nogil:
        """The square of the scale, or of a third of the largest distance from the mean, the larger one; 0 where the scale is."""
        cdef double mean = self.at[MEAN * self.room + i] if self.offsets else 0.0
        cdef double most = fmax(self.at[MOST * self.room + i] - mean, mean - self.at[LEAST * self.room + i]) / OF_SIZE
        return fmax(scale2, most * most) if scale2 > 0.0 else 0.0

    cdef void merge(self, const double* means, const double* squares, Py_ssize_t n, double before) noexcept nogil:
        """Means and sums of squared deviations of n rows join those of the rows before."""
        cdef Py_ssize_t i
        cdef double total = before + n, move
        cdef double* mean = self.at + MEAN * self.room
        cdef double* sums = self.at + SQUARES * self.room
        for i in range(self.d):
            move = means[i] - mean[i]
            mean[i] += move * (n / total)
            sums[i] += squares[i] + move * move * (before * n / total)

    cdef void see(self, Py_ssize_t i, double value, double before) noexcept nogil:
        """A value of a column of which few entries are known: the range so far, and the mean size of entries."""
        cdef double* at = self.at + i
        cdef Py_ssize_t room = self.room
        cdef double size = fabs(value - at[MODE * room])
        if size > 0.0 and at[ENTRIES * room] < RARE:
            at[ENTRIES * room] += 1.0
            if at[ENTRIES * room] > 1.0:
                size = fmin(size, fmax(4.0 * at[SIZE * room], at[HIGH * room] - at[MEAN * room]))
            at[SIZE * room] += (size - at[SIZE * room]) / at[ENTRIES * room]

    cdef void add(self, const double* V, Py_ssize_t n, double before) noexcept nogil:
        """n dense rows after so many before."""
        cdef Py_ssize_t i, s
        cdef Py_ssize_t room = self.room
        cdef double* means = &self.scratch[0]
        cdef double* squares = means + room
        cdef double* low = self.at + LEAST * room
        cdef double* high = self.at + MOST * room
        if before == 0.0:
            for i in range(self.d):
                if self.at[ENTRIES * room + i] == 0.0:
                    self.at[MODE * room + i] = V[i] if self.offsets else 0.0
                low[i] = high[i] = V[i]
        for i in range(self.d):
            means[i] = squares[i] = 0.0
        for s in range(n):
            for i in range(self.d):
                means[i] += V[s * room + i] - V[i]
                low[i] = V[s * room + i] if V[s * room + i] < low[i] else low[i]
                high[i] = V[s * room + i] if V[s * room + i] > high[i] else high[i]
        for i in range(self.d):
            means[i] = V[i] + means[i] / n
        for s in range(n):
            for i in range(self.d):
                squares[i] += (V[s * room + i] - means[i]) * (V[s * room + i] - means[i])
        for i in range(self.d):
            if self.at[ENTRIES * room + i] < RARE:
                for s in range(n):
                    self.see(i, V[s * room + i], before)
        self.merge(means, squares, n, before)

    cdef void add_sparse(self, const double* V, const int* index, const int* length, Py_ssize_t n, Py_ssize_t width,
                         double before) noexcept nogil:
        """The same of sparse rows: ``width`` numbers have room in each, and the intercept is behind the columns."""
        cdef Py_ssize_t i, j, s
        cdef Py_ssize_t room = self.room
        cdef double* means = &self.scratch[0]
        cdef double* squares = means + room
        cdef double* low = self.at + LEAST * room
        cdef double* high = self.at + MOST * room
        for i in range(self.d):
            means[i] = squares[i] = 0.0
        for s in range(n):
            for j in range(s * width, s * width + length[s]):
                i = index[j]
                if i < self.d:
                    means[i] += V[j]
                    low[i], high[i] = fmin(low[i], V[j]), fmax(high[i], V[j])
                    self.see(i, V[j], before)
        for i in range(self.d):
            means[i] /= n
            squares[i] = n * means[i] * means[i]
        for s in range(n):
            for j in range(s * width, s * width + length[s]):
                i = index[j]
                if i < self.d:
                    squares[i] += V[j] * (V[j] - 2.0 * means[i])
        for i in range(self.d):
            squares[i] = fmax(squares[i], 0.0)
        self.merge(means, squares, n, before)

    cdef void set_range(self, double rows) noexcept nogil:
        """Limits while all rows are kept: of predictions alone."""
        cdef Py_ssize_t i
        cdef Py_ssize_t room = self.room
        cdef double reach, mean, of_rows = fmax(4.0, PART * rows)
        for i in range(self.d):
            mean = self.at[MEAN * room + i]
            reach = fmax(sqrt(of_rows * self.at[SQUARES * room + i] / rows), OF_SIZE * self.at[SIZE * room + i])
            self.at[LOW * room + i] = fmin(self.least_limit, fmin(self.at[LEAST * room + i], mean - reach))
            self.at[HIGH * room + i] = fmax(-self.least_limit, fmax(self.at[MOST * room + i], mean + reach))

    cdef void set_limits(self, double rows) noexcept nogil:
        """Limits of the rows to come, in learning and in predictions."""
        cdef Py_ssize_t i
        cdef Py_ssize_t room = self.room
        cdef double reach, mean, of_rows = fmax(4.0, PART * rows)
        for i in range(self.d):
            mean = self.at[MEAN * room + i]
            reach = fmax(sqrt(of_rows * self.at[SQUARES * room + i] / rows), OF_SIZE * self.at[SIZE * room + i])
            if reach == 0.0:         # a column with one value, or none
                reach = UNLIMITED
            self.at[LOW * room + i] = fmin(self.least_limit, mean - reach)
            self.at[HIGH * room + i] = fmax(-self.least_limit, mean + reach)

    cdef void limits_of_kept(self, Py_ssize_t i, double* column, Py_ssize_t n) noexcept nogil:
        """Mode, entries, their size and the limits of column i from all of its n values so far, whose order is lost."""
        cdef Py_ssize_t room = self.room, s, j, entries = 0
        cdef double median, total = 0.0, limit, size
        cdef double[4] largest
        if n == 0:
            return
        median = selected(column, n, (n - 1) // 2) if self.offsets else 0.0
        for j in range(4):
            largest[j] = 0.0
        for s in range(n):
            size = fabs(column[s] - median)
            if size > 0.0:
                column[entries] = size
                entries += 1
            if size > largest[3]:    # the four largest, in descending order; the rest adds up
                total += largest[3] * largest[3]
                largest[3] = size
                for j in range(3, 0, -1):
                    if largest[j] > largest[j - 1]:
                        largest[j], largest[j - 1] = largest[j - 1], largest[j]
            else:
                total += size * size
        limit = quarter(largest, total)
        self.at[MODE * room + i], self.at[ENTRIES * room + i] = median, entries
        if entries > 0:
            self.at[SIZE * room + i] = selected(column, entries, (entries - 1) // 2)
        limit = fmax(limit, OF_SIZE * self.at[SIZE * room + i])
        if limit == 0.0:
            limit = UNLIMITED
        self.at[LOW * room + i] = fmin(self.least_limit, median - limit)
        self.at[HIGH * room + i] = fmax(-self.least_limit, median + limit)


cdef double quarter(const double* largest, double rest) noexcept nogil:
    """The largest L with L² ≤ ¼ Σ min(a², L²), from the four largest a, descending, and the sum of squares of all others.

    Where the j largest are limited the sum is j L² and the squares of the others, so L² is these over 4 − j."""
    cdef Py_ssize_t j
    cdef double[5] others            # with all but the j largest; added up from below, where nothing is lost to a large one
    others[4] = rest
    for j in range(3, -1, -1):
        others[j] = others[j + 1] + largest[j] * largest[j]
    for j in range(4):
        if others[j] >= (1.0 / PART - j) * largest[j] * largest[j]:
            return sqrt(others[j] / (1.0 / PART - j))
    return largest[3]


cdef double selected(double* a, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """The k-th smallest of n numbers, which are left in another order (Hoare)."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef double pivot
    while low < high:
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return a[k]
