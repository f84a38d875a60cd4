# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Running statistics of the features, from which Newton steps take their units."""
from libc.stdlib cimport free, malloc

import numpy as np


cdef class Columns:
    """One record per feature; what a round changes is logged, so that it can be undone."""

    @staticmethod
    def allocate(Py_ssize_t d):
        return np.zeros((max(d, 1), sizeof(Column) // sizeof(double)))

    def __init__(self, double[:, ::1] records):
        self.owner, self.columns = records, <Column*> &records[0, 0]

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
