"""Inline, since a row calls these for each of its features; ``a if a > b else b`` is one instruction where fmax is a call."""
cimport cython
from libc.math cimport fabs, sqrt

cdef enum:
    FARTHEST_OF_MEANS = 1000
    BELIEVED = 16                # how much the limit of distances grows with a value beyond it
    MOVED = 11                   # a center is renewed when mean² > var/10, that is 11 (Σδ)² > t Σδ²

ctypedef struct Column:
    double seen          # rows in which the feature was not zero
    double last          # the last of them, by the number of its round
    double center        # what the feature is measured from
    double first         # Σ (z − center) of the rows in which it was not zero
    double second        # Σ (z − center)² of them
    double low           # the smallest z of them,
    double high          # and the largest
    double total         # Σ |z − center|,
    double varied        # and how many of them were not 0
    double limit         # a value farther from the center than this is shortened; falls back to a multiple of the mean
    double ridge         # the square that its ridge stands for; 0: it is in no matrix yet
    double factor        # a power of 2 that all values are multiplied with, so that their squares are numbers; 0: not seen
    double entered       # the how-manieth feature to enter a matrix it was; 0: it is in none


@cython.final
cdef class Columns:
    cdef Column* columns
    cdef Column* old                 # columns as they were before the round under way changed them
    cdef Py_ssize_t* which           # and whose they are
    cdef Py_ssize_t changed, room
    cdef object owner
    cdef bint centers                # an intercept makes up for them

    cdef void make_room(self, Py_ssize_t most) except *
    cdef void undo(self) noexcept nogil
    cdef inline Column* change(self, Py_ssize_t i) noexcept nogil:
        """Column i, to be written to."""
        self.old[self.changed] = self.columns[i]
        self.which[self.changed] = i
        self.changed += 1
        return &self.columns[i]

    cdef inline double mean_shift(self, const Column* column, double rounds) noexcept nogil:
        """How far the center is to move, after so many rounds; 0: it stays."""
        cdef double zeros = rounds - column.seen
        cdef double first, second
        if not 2.0 * column.seen > rounds:
            return -column.center
        first = column.first - zeros * column.center
        second = column.second + zeros * column.center * column.center
        return first / rounds if MOVED * first * first > rounds * second else 0.0

    cdef inline double far_beyond(self, Column* column, double distance) noexcept nogil:
        """1, or for a distance from the center beyond its limit, which learns from it, by which factor it exceeds the mean one."""
        cdef double most
        if column.varied == 0.0:
            return 1.0
        distance = fabs(distance)
        column.limit *= 1.0 - 1.0 / 64.0             # falls back,
        most = FARTHEST_OF_MEANS * column.total
        if column.limit * column.varied <= most:     # and is 0 below that multiple of the mean
            column.limit = 0.0
            if distance * column.varied <= most:
                return 1.0
        elif distance <= column.limit:
            return 1.0
        most = BELIEVED * (column.limit if column.limit > 0.0 else most / column.varied)
        column.limit = most if most < distance else distance
        return distance * column.varied / column.total

    cdef inline void take(self, Column* column, double distance, double t) noexcept nogil:
        """Count a value at a distance from the center, in round t."""
        cdef double z = column.center + distance
        if column.seen == 0.0:
            column.low = column.high = z
        column.low = z if z < column.low else column.low
        column.high = z if z > column.high else column.high
        column.seen += 1.0
        column.last = t
        column.first += distance
        column.second += distance * distance
        column.total += fabs(distance)
        column.varied += distance != 0.0

    cdef inline double outgrown(self, const Column* column, double rounds, double limit) noexcept nogil:
        """The square that a ridge should stand for, root mean square times largest, where it exceeds ``limit``; else 0.

        Both are distances from 0; where features have centers, from the value nearest to 0 for one that is mostly on one side."""
        cdef double base = 0.0, count = column.seen, zeros = 0.0
        cdef double away, squares, farthest, bound
        if self.centers and 2.0 * column.seen > rounds:
            base = column.low if column.low > 0.0 else (column.high if column.high < 0.0 else 0.0)
            zeros, count = rounds - column.seen, rounds
        away = base - column.center
        squares = column.second + away * (away * column.seen - 2.0 * column.first)
        squares = (squares if squares > 0.0 else 0.0) + zeros * base * base
        farthest = column.high - base if column.high - base > base - column.low else base - column.low
        if zeros > 0.0 and farthest < fabs(base):
            farthest = fabs(base)
        bound = count * limit * limit
        if 1e-290 < bound < 1e300 and squares * farthest * farthest <= bound:
            return 0.0                   # the same in squares, where those are numbers
        squares = sqrt(squares / count) * farthest
        return squares if squares > limit else 0.0
