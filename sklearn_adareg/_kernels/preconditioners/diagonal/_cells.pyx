"""Where the numbers of a coordinate lie, and how a row gets at them.

A coordinate has one number per weight vector of x, of G, of the average's and of dual averaging's accumulators. The numbers of the
touched coordinates are copied into small contiguous buffers and back, or, where nothing can fail, worked on where
they lie; every loop then runs flat over n·L numbers.
"""
from ...data._rows cimport Row
from ...data._rows import VECTOR, padded

import numpy as np


VECTOR_BYTES = VECTOR * 8


def in_vectors(shape):
    """Zeros of shape (fields, D, L), the numbers of a field padded to whole vectors by ones, in which a step of 0 stays 0."""
    fields, D, L = shape
    cells = padded(fields, D * L)
    cells[:, D * L:] = 1.0
    return cells[:, :D * L].reshape(shape)


def side_by_side(shape, more):
    """Zeros for D records of fields·L numbers and so many more; three numbers get a fourth, and are a vector."""
    fields, D, L = shape
    width = fields * L + more
    width += width == 3
    return padded(1, D * width)[0, :D * width].reshape(D, width)


def as_cells(records, shape):
    """A view of records, in the shape (fields, D, L)."""
    fields, D, L = shape
    return records[:, :fields * L].reshape(D, fields, L).transpose(1, 0, 2)


cdef class Cells:
    """The numbers of all coordinates, and those of the coordinates that the present row touches."""

    @staticmethod
    def lay_out(dict arrays, bint sparse):
        """Side by side where rows are sparse, in whole vectors where they are not: a copy or a pickle loses the layout."""
        cells = arrays["cells"]
        if sparse:
            well = cells.strides[0] == cells.shape[2] * cells.itemsize and cells.strides[1] != 3 * cells.itemsize
        else:
            well = cells.ctypes.data % VECTOR_BYTES == 0 and cells.strides[0] % VECTOR_BYTES == 0
        if not well:
            anew = as_cells(side_by_side(cells.shape, 0), cells.shape) if sparse else in_vectors(cells.shape)
            anew[:] = cells
            arrays["cells"] = anew

    def __init__(self, dict arrays):
        cdef double[:, :, :] cells = arrays["cells"]
        fields = arrays["fields"]
        self.D, self.L = cells.shape[1], cells.shape[2]
        self.stride = cells.strides[1] // sizeof(double) if self.D > 1 else self.L
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.theta = &cells[fields.index("theta"), 0, 0] if "theta" in fields else NULL
        self.G = &cells[fields.index("G"), 0, 0] if "G" in fields else NULL
        self.workspace = np.empty(6 * self.L)
        self.make_room(1)

    cdef void make_room(self, Py_ssize_t widest):
        """For rows that touch up to ``widest`` coordinates."""
        cdef Py_ssize_t size = widest * self.L
        if self.workspace.shape[0] < 6 * size:
            self.workspace = np.empty(6 * size)
        size = self.workspace.shape[0] // 6
        self.hb, self.nb, self.room = &self.workspace[0], &self.workspace[size], &self.workspace[3 * size]

    cdef void take_copies(self, Row* row) noexcept nogil:
        """Work on copies, which ``scatter_all`` writes back."""
        cdef Py_ssize_t size = self.workspace.shape[0] // 6
        cdef double* room = &self.workspace[2 * size]
        self.records = self.direct = False
        self.span = row.n
        self.xb, self.Gb = room, room + size
        self.ub = room + 2 * size if self.u != NULL else NULL
        self.tb = room + 3 * size if self.theta != NULL else NULL
        self.gather(row, self.x, self.xb)
        self.gather(row, self.G, self.Gb)
        self.gather(row, self.u, self.ub)
        self.gather(row, self.theta, self.tb)

    cdef void gather(self, Row* row, const double* field, double* buffer) noexcept nogil:
        cdef Py_ssize_t j, l, i
        cdef Py_ssize_t L = self.L
        if field == NULL:
            return
        if row.index != NULL and L == 1:
            for j in range(row.n):
                buffer[j] = field[row.index[j] * self.stride]
            return
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            for l in range(L):
                buffer[j * L + l] = field[i * self.stride + l]

    cdef void scatter(self, Row* row, const double* buffer, double* field) noexcept nogil:
        cdef Py_ssize_t j, l, i
        cdef Py_ssize_t L = self.L
        if field == NULL:
            return
        if row.index != NULL and L == 1:
            for j in range(row.n):
                field[row.index[j] * self.stride] = buffer[j]
            return
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            for l in range(L):
                field[i * self.stride + l] = buffer[j * L + l]

    cdef void scatter_all(self, Row* row) noexcept nogil:
        if not self.direct:
            self.scatter(row, self.xb, self.x)
            self.scatter(row, self.ub, self.u)
            self.scatter(row, self.tb, self.theta)
            self.scatter(row, self.Gb, self.G)
