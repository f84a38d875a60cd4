# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""One row at a time, in the one form that every kernel reads.

A row is copied into a small buffer of doubles with the intercept's 1 behind its values. That copy is the fetch from
memory which the round needs anyway; it hides the element type (float32 or float64), the index type (int32 or int64),
dense or sparse, and which zeros count, from everything behind it. The matrix itself is never copied.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from ._loops cimport dot

import numpy as np

ctypedef fused value_type:
    float
    double

ctypedef fused index_type:
    int32_t
    int64_t


cdef Py_ssize_t take_dense(const value_type* source, double* z, int* number, Py_ssize_t d,
                           bint drop_zeros) noexcept nogil:
    """Copy d values; number[j] is filled only where zeros are dropped."""
    cdef Py_ssize_t j, n = 0
    if drop_zeros:
        for j in range(d):
            z[n] = source[j]
            number[n] = <int> j
            n += source[j] != 0
        return n
    if value_type is double:
        memcpy(z, source, d * sizeof(double))
    else:
        for j in range(d):
            z[j] = source[j]
    return d


cdef Py_ssize_t take_sparse(const value_type* source, const index_type* column, double* z, int* number,
                            Py_ssize_t n, bint drop_zeros) noexcept nogil:
    cdef Py_ssize_t j, kept = 0
    if drop_zeros:
        for j in range(n):
            z[kept] = source[j]
            number[kept] = <int> column[j]
            kept += source[j] != 0
        return kept
    for j in range(n):
        z[j] = source[j]
    for j in range(n):
        number[j] = <int> column[j]
    return n


cdef void scatter_sparse(const value_type* source, const index_type* column, double* z,
                         Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        z[column[j]] = source[j]


cdef class Rows:
    """Rows of a validated matrix: ``fetch`` brings the i-th."""

    cdef void fetch(self, Py_ssize_t i, Row* row) noexcept nogil:
        pass


cdef class DenseRows(Rows):

    def __init__(self, X, bint fit_intercept, bint drop_zeros=False, bint drop_many=False):
        self.owners = X
        self.n_rows, self.d = X.shape
        self.D = self.d + fit_intercept
        self.widest = self.D
        self.drop_zeros = drop_zeros
        self.single = X.dtype == np.float32
        self.values = np.empty(max(self.D, 1))
        self.drop_many = drop_many and not drop_zeros
        self.numbers = np.empty(max(self.D, 1) if drop_zeros or drop_many else 1, dtype=np.intc)
        self.data = address_2d[float](X) if self.single else address_2d[double](X)

    cdef void fetch(self, Py_ssize_t i, Row* row) noexcept nogil:
        cdef double* z = &self.values[0]
        cdef int* number = &self.numbers[0]
        cdef Py_ssize_t n = self.copy(i, z, number, self.drop_zeros or self.drop_many)
        if self.drop_many and 4 * n > 3 * self.d:
            n = self.copy(i, z, number, False)
        row.index = number if n < self.d else NULL
        if self.D > self.d:
            z[n] = 1.0
            if row.index != NULL:
                number[n] = <int> self.d
            n += 1
        row.n = n
        row.z = z
        row.norm2 = dot(z, z, n)

    cdef Py_ssize_t copy(self, Py_ssize_t i, double* z, int* number, bint drop) noexcept nogil:
        if self.single:
            return take_dense[float](<const float*> self.data + i * self.d, z, number, self.d, drop)
        return take_dense[double](<const double*> self.data + i * self.d, z, number, self.d, drop)


cdef class SparseRows(Rows):

    def __init__(self, X, bint fit_intercept, bint drop_zeros=False, bint as_dense=False):
        indptr = X.indptr
        if indptr.dtype != X.indices.dtype:
            indptr = indptr.astype(X.indices.dtype)
        self.owners = (X.data, X.indices, indptr)
        self.n_rows, self.d = X.shape
        self.D = self.d + fit_intercept
        self.as_dense = as_dense
        longest = int(np.diff(indptr).max(initial=0))
        self.widest = self.D if as_dense else longest + fit_intercept
        self.drop_zeros = drop_zeros
        self.single = X.data.dtype == np.float32
        self.wide = X.indices.dtype == np.int64
        self.values = np.empty(max(self.widest, 1))
        self.numbers = np.empty(max(longest + 1, 1), dtype=np.intc)
        self.data = address_1d[float](X.data) if self.single else address_1d[double](X.data)
        if self.wide:
            self.indices, self.indptr = address_1d[int64_t](X.indices), address_1d[int64_t](indptr)
        else:
            self.indices, self.indptr = address_1d[int32_t](X.indices), address_1d[int32_t](indptr)

    cdef void fetch(self, Py_ssize_t i, Row* row) noexcept nogil:
        cdef double* z = &self.values[0]
        cdef int* number = &self.numbers[0]
        cdef Py_ssize_t start, n
        if self.wide:
            start = (<const int64_t*> self.indptr)[i]
            n = (<const int64_t*> self.indptr)[i + 1] - start
        else:
            start = (<const int32_t*> self.indptr)[i]
            n = (<const int32_t*> self.indptr)[i + 1] - start
        if self.as_dense:
            memset(z, 0, self.d * sizeof(double))
            self.spread(z, start, n)
            n = self.d
        else:
            n = self.take(z, number, start, n)
        row.index = NULL if self.as_dense else number
        if self.D > self.d:
            z[n] = 1.0
            if not self.as_dense:
                number[n] = <int> self.d
            n += 1
        row.n = n
        row.z = z
        row.norm2 = dot(z, z, n)

    cdef Py_ssize_t take(self, double* z, int* number, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
        if self.single:
            if self.wide:
                return take_sparse[float, int64_t](<const float*> self.data + start, <const int64_t*> self.indices + start,
                                                   z, number, n, self.drop_zeros)
            return take_sparse[float, int32_t](<const float*> self.data + start, <const int32_t*> self.indices + start,
                                               z, number, n, self.drop_zeros)
        if self.wide:
            return take_sparse[double, int64_t](<const double*> self.data + start, <const int64_t*> self.indices + start,
                                                z, number, n, self.drop_zeros)
        return take_sparse[double, int32_t](<const double*> self.data + start, <const int32_t*> self.indices + start,
                                            z, number, n, self.drop_zeros)

    cdef void spread(self, double* z, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
        if self.single:
            if self.wide:
                scatter_sparse[float, int64_t](<const float*> self.data + start, <const int64_t*> self.indices + start, z, n)
            else:
                scatter_sparse[float, int32_t](<const float*> self.data + start, <const int32_t*> self.indices + start, z, n)
        elif self.wide:
            scatter_sparse[double, int64_t](<const double*> self.data + start, <const int64_t*> self.indices + start, z, n)
        else:
            scatter_sparse[double, int32_t](<const double*> self.data + start, <const int32_t*> self.indices + start, z, n)


ctypedef fused any_type:
    float
    double
    int32_t
    int64_t


cdef const void* address_2d(const any_type[:, ::1] array):
    return &array[0, 0] if array.shape[0] > 0 and array.shape[1] > 0 else NULL


cdef const void* address_1d(const any_type[::1] array):
    return &array[0] if array.shape[0] > 0 else NULL
