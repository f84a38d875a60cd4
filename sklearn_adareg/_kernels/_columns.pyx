# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Running statistics of the features, from which Newton steps take their units.

A feature that is not zero in more than half of the rows is measured from about its mean. The center is renewed when the mean is more
than a third of a standard deviation away from it, which happens O(log t) times while the feature does not drift.

A value farther from the center than FARTHEST_OF_MEANS times the mean distance tells nothing: its row is shortened, until it is at
the mean distance, before anything is learnt from it, or one monstrous value would decide about all later ones. The limit grows
sixteenfold with each of them, so that a change of unit is believed within a few rows, and falls back slowly.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np


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
        return np.array([columns.outgrown(&columns.columns[i], rounds, 0.0) if columns.columns[i].seen > 0.0 else 0.0
                         for i in range(records.shape[0])])

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
