cimport cython

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
    cdef double mean_shift(self, const Column* column, double rounds) noexcept nogil
    cdef double far_beyond(self, Column* column, double distance) noexcept nogil
    cdef void take(self, Column* column, double distance, double t) noexcept nogil
    cdef double outgrown(self, const Column* column, double rounds, double limit) noexcept nogil

    cdef inline Column* change(self, Py_ssize_t i) noexcept nogil:
        """Column i, to be written to."""
        self.old[self.changed] = self.columns[i]
        self.which[self.changed] = i
        self.changed += 1
        return &self.columns[i]
