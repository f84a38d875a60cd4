# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Proximal Newton steps over rows: losses of many rows, ZᵀCZ of some columns, and what ``_lasso`` does, column by column.

With C the diagonal of curvatures, a coordinate of ``ColumnDescent`` costs the numbers of its column: less than ZᵀCZ itself, where
there are more coordinates than sweeps.
"""
from libc.math cimport fmax

from ._loops cimport dot
from ._losses cimport Loss

import numpy as np


def evaluated(Loss loss, const double[:, ::1] margins, const double[:, ::1] targets):
    """Losses (n,), slopes and curvatures (n, K) of rows with margins (n, K)."""
    cdef Py_ssize_t i, n = margins.shape[0], K = margins.shape[1]
    values, slopes, curvatures = np.empty(n), np.zeros((n, K)), np.zeros((n, K))
    cdef double[::1] value = values
    cdef double[:, ::1] slope = slopes
    cdef double[:, ::1] curvature = curvatures
    with nogil:
        for i in range(n):
            value[i] = loss.evaluate(&margins[i, 0], &targets[i, 0], &slope[i, 0], K)
            loss.curvatures(&margins[i, 0], &targets[i, 0], &curvature[i, 0], K)
    return values, slopes, curvatures


def gram(const double[::1] data, const int[::1] index, const long long[::1] start, const double[::1] c,
         const Py_ssize_t[::1] position, Py_ssize_t m):
    """ZᵀCZ, (m + 1, m + 1), of CSR rows; ``position`` of each column in it, or −1. The last coordinate is 1 in every row."""
    cdef Py_ssize_t i, k, a, b, found, n = c.shape[0]
    G, places, values = np.zeros((m + 1, m + 1)), np.empty(m + 1, dtype=np.intp), np.empty(m + 1)
    cdef double[:, ::1] matrix = G
    cdef Py_ssize_t[::1] place = places
    cdef double[::1] value = values
    with nogil:
        for i in range(n):
            if c[i] == 0.0:
                continue
            found = 0
            for k in range(start[i], start[i + 1]):
                a = position[index[k]]
                if a >= 0 and found < m:
                    place[found], value[found] = a, data[k]
                    found += 1
            place[found], value[found] = m, 1.0
            for a in range(found + 1):
                for b in range(found + 1):
                    matrix[place[a], place[b]] += c[i] * value[a] * value[b]
    return G


cdef class ColumnDescent:
    """Quadratic models over columns of n rows: a Fortran-ordered array, or a CSC matrix."""

    cdef const double[::1] data
    cdef const int[::1] index        # empty: every column has a number in every row
    cdef const long long[::1] start
    cdef Py_ssize_t m, n
    cdef double[::1] c, slopes, moves

    def __init__(self, Z):
        self.n, self.m = Z.shape
        if hasattr(Z, "indptr"):
            self.data, self.index = Z.data, Z.indices.astype(np.int32, copy=False)
            self.start = Z.indptr.astype(np.int64, copy=False)
        else:
            self.data, self.index = Z.ravel(order="K"), np.empty(0, dtype=np.int32)
            self.start = np.arange(self.m + 1, dtype=np.int64) * self.n

    def minimise(self, curvatures, slopes, penalty, w, double b, bint intercept, Py_ssize_t sweeps, double tol):
        """Weights and intercept that minimise slopes·v + ½ vᵀCv + R(w + δ), v = Zδ and what the intercept adds; also v."""
        cdef Py_ssize_t j, _sweep
        x, moves, a = np.array(w), np.zeros(self.n), np.empty(self.m + 1)
        cdef double[::1] at = x
        cdef double[::1] diagonal = a
        cdef double l1 = penalty.l1, l2 = penalty.l2, low = penalty.lower, high = penalty.upper
        cdef double goal, gap, step, size, moved, level = b
        cdef bint everywhere = True
        self.c, self.slopes, self.moves = np.array(curvatures), np.array(slopes), moves
        with nogil:
            for j in range(self.m + 1):
                diagonal[j] = self.square(j) + (l2 if j < self.m else 0.0)
            for _sweep in range(sweeps):
                size, moved = 0.0, 0.0
                for j in range(self.m + intercept):
                    if not diagonal[j] > 0.0 or not (everywhere or j == self.m or at[j] != 0.0):
                        continue
                    if j == self.m:
                        step = -self.along(j) / diagonal[j]
                        level += step
                    else:
                        goal = at[j] - (self.along(j) + l2 * at[j]) / diagonal[j]
                        gap = l1 / diagonal[j]
                        goal = goal - gap if goal > gap else (goal + gap if goal < -gap else 0.0)
                        goal = low if goal < low else (high if goal > high else goal)
                        step = goal - at[j]
                        at[j] = goal
                        size = fmax(size, diagonal[j] * goal * goal)
                    if step != 0.0:
                        self.move(j, step)
                        moved = fmax(moved, diagonal[j] * step * step)
                if moved > tol * size:
                    everywhere = False
                elif everywhere:
                    break
                else:
                    everywhere = True
        return x, level, moves

    cdef double square(self, Py_ssize_t j) noexcept nogil:
        """Σ c z² of column j; the one behind the last is all ones."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        if j == self.m:
            for k in range(self.n):
                total += self.c[k]
        elif self.index.shape[0] == 0:
            for k in range(self.n):
                total += self.c[k] * self.data[j * self.n + k] * self.data[j * self.n + k]
        else:
            for k in range(self.start[j], self.start[j + 1]):
                total += self.c[self.index[k]] * self.data[k] * self.data[k]
        return total

    cdef double along(self, Py_ssize_t j) noexcept nogil:
        """Σ slope z."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        if j == self.m:
            for k in range(self.n):
                total += self.slopes[k]
        elif self.index.shape[0] == 0:
            total = dot(&self.data[j * self.n], &self.slopes[0], self.n)
        else:
            for k in range(self.start[j], self.start[j + 1]):
                total += self.slopes[self.index[k]] * self.data[k]
        return total

    cdef void move(self, Py_ssize_t j, double step) noexcept nogil:
        """v += step z, and the slopes with it."""
        cdef Py_ssize_t k, i
        if j == self.m:
            for k in range(self.n):
                self.moves[k] += step
                self.slopes[k] += self.c[k] * step
        elif self.index.shape[0] == 0:
            for k in range(self.n):
                self.moves[k] += step * self.data[j * self.n + k]
                self.slopes[k] += self.c[k] * step * self.data[j * self.n + k]
        else:
            for k in range(self.start[j], self.start[j + 1]):
                i = self.index[k]
                self.moves[i] += step * self.data[k]
                self.slopes[i] += self.c[i] * step * self.data[k]
