"""Quadratics with an L1 penalty and bounds, by cyclic coordinate descent.

    min_x ½ (x − w)ᵀ G (x − w) − s·(x − w) + Σ_i p_i |x_i|,    lower ≤ x ≤ upper,

from x = w. A coordinate's own minimiser is a soft threshold and a clip, O(n) where it moves and O(1) where it does not. Sweeps over
all coordinates alternate with sweeps over those that are not 0, and end when one over all moves nothing by more than a tolerance.

With C the diagonal of the curvatures of rows, G is ZᵀCZ. ``ColumnDescent`` does the same column by column of Z: a coordinate costs
the numbers of its column, less than ZᵀCZ itself where there are more coordinates than sweeps.
"""
from libc.math cimport fmax

from ..linalg._loops cimport axpy, dot
from ..losses._losses cimport Loss

import numpy as np

cdef double CANCELLED = 1e-12            # of Σ c z²: a column that varies by less is one more intercept


def minimised(G, s, p, lower, upper, w, Py_ssize_t most_sweeps=1000, double tol=1e-24):
    """The minimiser, for a symmetric G whose n coordinates with a positive diagonal may move.

    ``tol``: the largest decrease by one coordinate, over the largest part of one coordinate in the quadratic, with which to end.
    ``p``, ``lower`` and ``upper`` may be shorter than w: the coordinates behind them are free.
    """
    cdef Py_ssize_t n = len(w)
    x = np.array(w, dtype=np.float64)
    r = np.array(s, dtype=np.float64)
    cdef Py_ssize_t bound = len(p)
    cdef const double[:, ::1] matrix = np.ascontiguousarray(G, dtype=np.float64)
    cdef const double[::1] penalty = np.ascontiguousarray(p, dtype=np.float64)
    cdef const double[::1] low = np.ascontiguousarray(lower, dtype=np.float64)
    cdef const double[::1] high = np.ascontiguousarray(upper, dtype=np.float64)
    cdef double[::1] at = x
    cdef double[::1] slope = r
    cdef double size, moved
    cdef Py_ssize_t sweep = 0
    cdef bint everywhere = True
    with nogil:
        while sweep < most_sweeps:
            size, moved = 0.0, 0.0
            descend(matrix, penalty, low, high, at, slope, n, bound, everywhere, &size, &moved)
            sweep += 1
            if not moved > tol * size:
                if everywhere:
                    break
                everywhere = True
            else:
                everywhere = False
    return x if np.isfinite(x).all() else np.array(w, dtype=np.float64)


cdef void descend(const double[:, ::1] G, const double[::1] penalty, const double[::1] low, const double[::1] high, double[::1] x,
                  double[::1] r, Py_ssize_t n, Py_ssize_t bound, bint everywhere, double* size, double* moved) noexcept nogil:
    """One sweep; r is the negative gradient of the quadratic."""
    cdef Py_ssize_t i
    cdef double a, goal, gap, step
    for i in range(n):
        a = G[i, i]
        if not a > 0.0 or not (everywhere or x[i] != 0.0):
            continue
        goal = x[i] + r[i] / a
        if i < bound:
            gap = penalty[i] / a
            goal = goal - gap if goal > gap else (goal + gap if goal < -gap else 0.0)
            goal = low[i] if goal < low[i] else (high[i] if goal > high[i] else goal)
        step = goal - x[i]
        size[0] = fmax(size[0], a * goal * goal)
        if step != 0.0:
            moved[0] = fmax(moved[0], a * step * step)
            x[i] = goal
            axpy(-step, &G[i, 0], &r[0], n)


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
            for a in range(found + 1):           # columns come in order
                for b in range(a + 1):
                    matrix[place[a], place[b]] += c[i] * value[a] * value[b]
    return G + np.tril(G, -1).T


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

    def minimise(self, curvatures, slopes, penalty, w, bint intercept, Py_ssize_t sweeps, double tol):
        """Weights that minimise slopes·v + ½ vᵀCv + R(w + δ), v = Zδ and what the intercept adds; also that, and v.

        The intercept follows every step, as if columns had been centred.
        """
        cdef Py_ssize_t j, _sweep
        x, moves, sums, a = np.array(w), np.zeros(self.n), np.zeros(self.m), np.empty(self.m)
        cdef double[::1] at = x
        cdef double[::1] diagonal = a
        cdef double[::1] pulls = sums                # Σ c z of each column
        cdef double l1 = penalty.l1, l2 = penalty.l2, low = penalty.lower, high = penalty.upper
        cdef double goal, gap, step, size, moved, total = 0.0, level = 0.0
        cdef bint everywhere = True
        self.c, self.slopes, self.moves = np.array(curvatures), np.array(slopes), moves
        if intercept:
            total = float(np.sum(curvatures))
            level = -float(np.sum(slopes)) / total if total > 0.0 else 0.0
        with nogil:
            for j in range(self.m):
                diagonal[j] = self.square(j)
                if total > 0.0:
                    pulls[j] = self.along(j, self.c)
                    gap = diagonal[j] - pulls[j] * pulls[j] / total
                    diagonal[j] = gap if gap > CANCELLED * diagonal[j] else 0.0
                diagonal[j] += l2
            for _sweep in range(sweeps):
                size, moved = 0.0, 0.0
                for j in range(self.m):
                    if not diagonal[j] > 0.0 or not (everywhere or at[j] != 0.0):
                        continue
                    goal = at[j] - (self.along(j, self.slopes) + level * pulls[j] + l2 * at[j]) / diagonal[j]
                    gap = l1 / diagonal[j]
                    goal = goal - gap if goal > gap else (goal + gap if goal < -gap else 0.0)
                    goal = low if goal < low else (high if goal > high else goal)
                    step = goal - at[j]
                    at[j] = goal
                    size = fmax(size, diagonal[j] * goal * goal)
                    if step != 0.0:
                        self.move(j, step)
                        moved = fmax(moved, diagonal[j] * step * step)
                        if total > 0.0:
                            level -= step * pulls[j] / total
                if moved > tol * size:
                    everywhere = False
                elif everywhere:
                    break
                else:
                    everywhere = True
        return x, level, moves + level

    cdef double square(self, Py_ssize_t j) noexcept nogil:
        """Σ c z² of column j."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        if self.index.shape[0] == 0:
            for k in range(self.n):
                total += self.c[k] * self.data[j * self.n + k] * self.data[j * self.n + k]
        else:
            for k in range(self.start[j], self.start[j + 1]):
                total += self.c[self.index[k]] * self.data[k] * self.data[k]
        return total

    cdef double along(self, Py_ssize_t j, const double[::1] numbers) noexcept nogil:
        """Σ numbers z."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        if self.index.shape[0] == 0:
            return dot(&self.data[j * self.n], &numbers[0], self.n)
        for k in range(self.start[j], self.start[j + 1]):
            total += numbers[self.index[k]] * self.data[k]
        return total

    cdef void move(self, Py_ssize_t j, double step) noexcept nogil:
        """v += step z, and the slopes with it."""
        cdef Py_ssize_t k, i
        if self.index.shape[0] == 0:
            for k in range(self.n):
                self.moves[k] += step * self.data[j * self.n + k]
                self.slopes[k] += self.c[k] * step * self.data[j * self.n + k]
        else:
            for k in range(self.start[j], self.start[j + 1]):
                i = self.index[k]
                self.moves[i] += step * self.data[k]
                self.slopes[i] += self.c[i] * step * self.data[k]
