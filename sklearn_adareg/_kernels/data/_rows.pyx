"""One row at a time, in the one form that every kernel reads.

A row is copied into a small buffer of doubles with the intercept's 1 behind its values. That copy is the fetch from
memory which the round needs anyway; it hides the element type (float32 or float64), the index type (int32 or int64),
dense or sparse, and which zeros count, from everything behind it. The matrix itself is never copied.
"""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from ..linalg._loops cimport ask_for, dot, take_double, take_float, take_numbers

import numpy as np

cpdef enum:
    VECTOR = 8          # doubles of the widest vector


def padded(Py_ssize_t rows, Py_ssize_t columns):
    """Zeros, (rows, columns rounded up to whole vectors), and every row begins where a vector does."""
    cdef Py_ssize_t width = max(VECTOR, (columns + VECTOR - 1) // VECTOR * VECTOR)
    room = np.zeros(rows * width + VECTOR)
    cdef double[::1] view = room
    cdef size_t first = (VECTOR - (<size_t> &view[0]) // sizeof(double) % VECTOR) % VECTOR
    return room[first:first + rows * width].reshape(rows, width)


def where_vectors_begin(array):
    """The array itself, or a copy that begins where a vector does: a vector across two cache lines costs twice."""
    if array.ctypes.data % (VECTOR * 8) == 0:
        return array
    anew = padded(1, array.size)[0, :array.size].reshape(array.shape)
    anew[...] = array
    return anew


cdef const void* address_of(array) except? NULL:
    """Of the first number of a contiguous array."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    PyBuffer_Release(&view)
    return view.buf


cdef void append_intercept(Row* row, int* number, Py_ssize_t d) noexcept nogil:
    row.z[row.n] = 1.0
    row.norm2 += 1.0
    if row.index != NULL:
        number[row.n] = <int> d
    row.n += 1


cdef class Rows:
    """Rows of a validated matrix: ``fetch`` brings the i-th, which stays until the next but one."""

    cdef void fetch(self, Py_ssize_t i, Row* row) noexcept nogil:
        pass

    cdef void announce(self, Py_ssize_t soon, Py_ssize_t later) noexcept nogil:
        """Ask memory for a row that comes soon, and for what leads to one that comes later: rows in random order are far apart."""
        pass

    cdef double take_values(self, Py_ssize_t first, double* z, Py_ssize_t n) noexcept nogil:
        """Copy n stored values, and return the sum of their squares."""
        if self.single:
            return take_float(<const float*> self.data + first, z, n)
        return take_double(<const double*> self.data + first, z, n)

    cdef Py_ssize_t drop(self, double* z, int* number, Py_ssize_t n) noexcept nogil:
        """Drop the zeros among n values; how many are left."""
        cdef Py_ssize_t j, kept = 0
        for j in range(n):
            z[kept], number[kept] = z[j], number[j]
            kept += z[j] != 0
        return kept

    cdef learn_in(self, transform):
        """Deliver rows in these coordinates (``_feature_transform.py``); None: their own."""
        self.transformed = transform is not None
        if self.transformed:
            self.centre, self.start, self.partner, self.share = transform
            self.centred = np.empty(self.d)

    cdef void transform_row(self, Row* row) noexcept nogil:
        """z ← (I − S)(z − c), S the shares of other features, of a row that has them all."""
        cdef Py_ssize_t j, k
        cdef double total
        cdef double* z = row.z
        cdef double* centred = &self.centred[0]
        for j in range(self.d):
            z[j] -= self.centre[j]
        if self.share.shape[0] > 0:
            for j in range(self.d):
                centred[j] = z[j]
            for j in range(self.d):
                total = 0.0
                for k in range(self.start[j], self.start[j + 1]):
                    total += self.share[k] * centred[self.partner[k]]
                z[j] -= total
        row.norm2 = dot(z, z, self.d)


cdef class DenseRows(Rows):
    """Rows of an array."""

    cdef bint drop_many             # zeros are dropped from a row that has many of them

    def __init__(self, X, bint fit_intercept, bint drop_zeros=False, bint drop_many=False, transform=None):
        self.owners = X
        self.n_rows, self.d = X.shape
        self.D = self.d + fit_intercept
        self.widest = self.D
        self.drop_zeros = drop_zeros
        self.single = X.dtype == np.float32
        self.values = padded(2, self.D)
        self.drop_many = drop_many and not drop_zeros
        self.numbers = np.empty((2, max(self.D, 1) if drop_zeros or drop_many else 1), dtype=np.intc)
        self.data = address_of(X)
        self.learn_in(transform)

    cdef void fetch(self, Py_ssize_t i, Row* row) noexcept nogil:
        self.turn = not self.turn
        row.z = &self.values[self.turn, 0]
        row.n = self.d
        row.index = NULL
        row.stray = False
        row.room = self.values.shape[1]
        if self.drop_zeros or self.drop_many:
            self.take_nonzeros(i, row, &self.numbers[self.turn, 0])
        if row.index == NULL:
            row.norm2 = self.take_values(i * self.d, row.z, self.d)
            if self.transformed:
                self.transform_row(row)
            if self.D > self.d:
                row.z[self.d] = 1.0
                row.norm2 += 1.0
                row.n = self.D
            return
        if self.D > self.d:
            append_intercept(row, &self.numbers[self.turn, 0], self.d)
        row.room = row.n

    cdef void announce(self, Py_ssize_t soon, Py_ssize_t later) noexcept nogil:
        cdef Py_ssize_t bytes = self.d * (sizeof(float) if self.single else sizeof(double))
        ask_for(<const char*> self.data + soon * bytes, bytes)

    cdef void take_nonzeros(self, Py_ssize_t i, Row* row, int* number) noexcept nogil:
        """The row without its zeros, if it has any (a quarter, where they need not be dropped)."""
        cdef Py_ssize_t j, n = 0
        cdef Py_ssize_t first = i * self.d
        cdef bint single = self.single
        cdef double value
        for j in range(self.d):
            value = (<const float*> self.data)[first + j] if single else (<const double*> self.data)[first + j]
            row.z[n], number[n] = value, <int> j
            n += value != 0.0
        if n == self.d or (self.drop_many and 4 * n > 3 * self.d):
            return
        row.n = n
        row.index = number
        row.norm2 = dot(row.z, row.z, n)


cdef class SparseRows(Rows):
    """Rows of a CSR matrix."""

    cdef bint wide                  # 64-bit indices
    cdef bint as_dense              # deliver all D coordinates
    cdef const void* indices
    cdef const void* indptr

    def __init__(self, X, bint fit_intercept, bint drop_zeros=False, bint as_dense=False, transform=None):
        data, indices, indptr = map(np.ascontiguousarray, (X.data, X.indices, X.indptr))
        if indptr.dtype != indices.dtype:
            indptr = indptr.astype(indices.dtype)
        self.owners = (data, indices, indptr)
        self.n_rows, self.d = X.shape
        self.D = self.d + fit_intercept
        self.learn_in(transform)
        self.as_dense = as_dense or self.transformed
        self.wide, self.single, self.drop_zeros = indices.dtype == np.int64, data.dtype == np.float32, drop_zeros
        self.data, self.indices, self.indptr = address_of(data), address_of(indices), address_of(indptr)
        longest = self.survey(min(len(indices), len(data)))
        self.widest = self.D if self.as_dense else longest + fit_intercept
        self.values, self.numbers = padded(2, self.widest), np.empty((2, longest + 1), dtype=np.intc)

    cdef Py_ssize_t survey(self, Py_ssize_t stored) except -1:
        """The most values of a row."""
        cdef Py_ssize_t i, start, n, longest = 0, end = 0
        cdef bint sound = True
        for i in range(self.n_rows):
            self.span(i, &start, &n)
            longest = max(longest, n)
            sound = sound and n >= 0 and start >= 0
            end = start + n
        if not sound or end > stored:
            raise ValueError(f"The rows of X do not lie one behind the other within its {stored} stored values; build the CSR "
                             "matrix anew, its indptr does not fit its data.")
        return longest

    cdef void fetch(self, Py_ssize_t i, Row* row) noexcept nogil:
        self.turn = not self.turn
        cdef int* number = &self.numbers[self.turn, 0]
        cdef Py_ssize_t start, n
        self.span(i, &start, &n)
        row.z = &self.values[self.turn, 0]
        if self.as_dense:
            row.index = NULL
            row.n = self.d
            memset(row.z, 0, self.d * sizeof(double))
            self.spread(row, start, n, number)
            row.norm2 = dot(row.z, row.z, self.d)
            if self.transformed:
                self.transform_row(row)
        else:
            self.take(start, n, row, number)
        if self.D > self.d:
            append_intercept(row, number, self.d)
        row.room = row.n

    cdef void span(self, Py_ssize_t i, Py_ssize_t* start, Py_ssize_t* n) noexcept nogil:
        """Where row i begins, and how many values it has."""
        if self.wide:
            start[0] = (<const int64_t*> self.indptr)[i]
            n[0] = (<const int64_t*> self.indptr)[i + 1] - start[0]
        else:
            start[0] = (<const int32_t*> self.indptr)[i]
            n[0] = (<const int32_t*> self.indptr)[i + 1] - start[0]

    cdef void announce(self, Py_ssize_t soon, Py_ssize_t later) noexcept nogil:
        cdef Py_ssize_t start, n
        cdef Py_ssize_t value = sizeof(float) if self.single else sizeof(double)
        cdef Py_ssize_t index = sizeof(int64_t) if self.wide else sizeof(int32_t)
        self.span(soon, &start, &n)
        ask_for(<const char*> self.data + start * value, n * value)
        ask_for(<const char*> self.indices + start * index, n * index)
        ask_for(<const char*> self.indptr + later * index, index)

    cdef bint take_columns(self, Py_ssize_t start, Py_ssize_t n, int* number) noexcept nogil:
        """Copy n column numbers; whether one is not a column at all. scipy takes them unseen, and the kernels trust them."""
        cdef Py_ssize_t j
        cdef bint stray = False
        cdef const int64_t* column = <const int64_t*> self.indices + start
        if not self.wide:
            return take_numbers(<const int32_t*> self.indices + start, number, n) >= <uint32_t> self.d if n > 0 else False
        for j in range(n):
            number[j] = <int> column[j]
            stray |= <uint64_t> column[j] >= <uint64_t> self.d
        return stray

    cdef void take(self, Py_ssize_t start, Py_ssize_t n, Row* row, int* number) noexcept nogil:
        row.stray = self.take_columns(start, n, number)
        row.index, row.n, row.norm2 = number, n, self.take_values(start, row.z, n)
        if self.drop_zeros:
            row.n = self.drop(row.z, number, n)

    cdef void spread(self, Row* row, Py_ssize_t start, Py_ssize_t n, int* number) noexcept nogil:
        """All d coordinates of the row."""
        cdef Py_ssize_t j
        row.stray = self.take_columns(start, n, number)
        if not row.stray:
            for j in range(n):
                if self.single:
                    row.z[number[j]] = (<const float*> self.data)[start + j]
                else:
                    row.z[number[j]] = (<const double*> self.data)[start + j]
