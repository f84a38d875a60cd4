# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Running statistics of the features, from which Newton steps take their units.

A feature that is not zero in more than half of the rows is measured from about its mean. The center is renewed when the mean is more
than a third of a standard deviation away from it, which happens O(log t) times while the feature does not drift.

A value farther from the center than FARTHEST_OF_MEANS times the mean distance is shortened before anything is learnt from its row:
one monstrous value must not decide about all later ones. The limit grows sixteenfold with each of them, so that a change of unit is
believed within a few rows, and falls back slowly.
"""
from libc.math cimport fabs, fmax, fmin, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

cdef double MOVED = 11.0                 # a center is renewed when mean² > var/10, that is 11 (Σδ)² > t Σδ²
cdef double FARTHEST_OF_MEANS = 1000.0
cdef double BELIEVED = 16.0              # how much the limit grows with a value beyond it,
cdef double FALLS = 1.0 - 1.0 / 64.0     # and the factor by which it falls back
cdef double TINY = 1e-290, LARGE = 1e300


cdef class Columns:
    """One record per feature; what a round changes is logged, so that it can be undone."""

    @staticmethod
    def allocate(Py_ssize_t d):
        return np.zeros((max(d, 1), sizeof(Column) // sizeof(double)))

    @staticmethod
    def names():
        """The fields of a record, in their order."""
        cdef Column column
        memset(&column, 0, sizeof(Column))
        return tuple(column)

    @staticmethod
    def squares(double[:, ::1] records, double rounds, bint centers):
        """The squares that ridges should stand for after so many rounds; 0 for a feature that has not varied."""
        cdef Columns columns = Columns(records, centers)
        return np.array([columns.outgrown(&columns.columns[i], rounds, 0.0) for i in range(records.shape[0])])

    def __init__(self, double[:, ::1] records, bint centers=True):
        self.owner, self.columns, self.centers = records, <Column*> &records[0, 0], centers

    def __dealloc__(self):
        free(self.old)
        free(self.which)

    cdef void make_room(self, Py_ssize_t most) except *:
        """For rounds that change up to ``most`` columns."""
        if self.room >= most:
            return
        free(self.old)
        free(self.which)
        self.room = 0
        self.old, self.which = <Column*> malloc(most * sizeof(Column)), <Py_ssize_t*> malloc(most * sizeof(Py_ssize_t))
        if self.old == NULL or self.which == NULL:
            raise MemoryError
        self.room = most

    cdef void undo(self) noexcept nogil:
        """Put back the columns of the round under way."""
        cdef Py_ssize_t k
        for k in range(self.changed - 1, -1, -1):
            self.columns[self.which[k]] = self.old[k]
        self.changed = 0

    # ---- what the statistics tell ---------------------------------------------------------------------------------

    cdef double mean_shift(self, const Column* column, double rounds) noexcept nogil:
        """How far the center is to move, after so many rounds; 0: it stays."""
        cdef double zeros = rounds - column.seen
        cdef double first, second
        if not 2.0 * column.seen > rounds:
            return -column.center
        first = column.first - zeros * column.center
        second = column.second + zeros * column.center * column.center
        return first / rounds if MOVED * first * first > rounds * second else 0.0

    cdef double far_beyond(self, Column* column, double distance) noexcept nogil:
        """By which factor a distance from the center exceeds its limit, or 1; the limit learns from it."""
        cdef double limit
        if column.varied == 0.0:
            return 1.0
        limit = fmax(FARTHEST_OF_MEANS * column.total / column.varied, FALLS * column.limit)
        distance = fabs(distance)
        if not distance > limit:
            column.limit = limit
            return 1.0
        column.limit = fmin(BELIEVED * limit, distance)
        return distance / limit

    cdef void take(self, Column* column, double distance, double t) noexcept nogil:
        """Count a value at a distance from the center, in round t."""
        cdef double z = column.center + distance
        if column.seen == 0.0:
            column.low = column.high = z
        column.low, column.high = fmin(column.low, z), fmax(column.high, z)
        column.seen += 1.0
        column.last = t
        column.first += distance
        column.second += distance * distance
        column.total += fabs(distance)
        column.varied += distance != 0.0

    cdef double outgrown(self, const Column* column, double rounds, double limit) noexcept nogil:
        """The square that a ridge should stand for, root mean square times largest, where it exceeds ``limit``; else 0.

        Both are distances from 0; where features have centers, from the value nearest to 0 for one that is mostly on one side."""
        cdef double base = 0.0, count = column.seen, zeros = 0.0
        cdef double away, squares, farthest, bound
        if self.centers and 2.0 * column.seen > rounds:
            base = column.low if column.low > 0.0 else fmin(column.high, 0.0)
            zeros, count = rounds - column.seen, rounds
        away = base - column.center
        squares = fmax(column.second + away * (away * column.seen - 2.0 * column.first), 0.0) + zeros * base * base
        farthest = fmax(column.high - base, base - column.low)
        if zeros > 0.0:
            farthest = fmax(farthest, fabs(base))
        bound = count * limit * limit
        if TINY < bound < LARGE and squares * farthest * farthest <= bound:
            return 0.0                   # the same in squares, where those are numbers
        squares = sqrt(squares / count) * farthest
        return squares if squares > limit else 0.0
