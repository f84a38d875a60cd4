# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What ``_lasso`` does, for G = ZᵀCZ given as the columns of Z and the diagonal of C, and the losses of many rows at once.

A coordinate costs the numbers of its column, which is less than G itself where there are more coordinates than sweeps.
"""
from libc.math cimport fmax

from ._loops cimport dot
from ._losses cimport Loss

import numpy as np


def minimised_by_columns(const double[::1] data, const int[::1] index, const long long[::1] start, const double[::1] c,
                         const double[::1] slopes, double l2, double l1, const double[:, ::1] bounds, const double[::1] w, double b,
                         bint intercept, Py_ssize_t most_sweeps, double tol):
    """The same for columns (data, index, start), or dense ones where ``index`` is empty, with s = −Zᵀ slopes − l2 w and an intercept.

    Returns x, the intercept, and Z(x − w) with what the intercept adds.
    """
    cdef Py_ssize_t n = c.shape[0], m = w.shape[0], sweep = 0, j
    x, moves, e = np.array(w), np.zeros(n), np.array(slopes)
    a = np.empty(m + 1)
    cdef double[::1] at = x
    cdef double[::1] along = moves
    cdef double[::1] slope = e
    cdef double[::1] diagonal = a
    cdef double goal, gap, step, size, moved, level = b
    cdef bint everywhere = True
    cdef const int* rows
    with nogil:
        for j in range(m + 1):
            diagonal[j] = column_dot(NULL, NULL, &c[0], NULL, n) if j == m else column_dot(
                &data[start[j]], NULL if index.shape[0] == 0 else &index[start[j]], &c[0], &data[start[j]], start[j + 1] - start[j]) + l2
        while sweep < most_sweeps:
            size, moved = 0.0, 0.0
            for j in range(m + intercept):
                if not diagonal[j] > 0.0 or not (everywhere or j == m or at[j] != 0.0):
                    continue
                if j == m:
                    step = -column_dot(NULL, NULL, &slope[0], NULL, n) / diagonal[m]
                    level += step
                    add_column(NULL, NULL, step, &c[0], &slope[0], &along[0], n)
                else:
                    rows = NULL if index.shape[0] == 0 else &index[start[j]]
                    goal = at[j] - (column_dot(&data[start[j]], rows, &slope[0], NULL, start[j + 1] - start[j]) + l2 * at[j]) / diagonal[j]
                    gap = l1 / diagonal[j]
                    goal = goal - gap if goal > gap else (goal + gap if goal < -gap else 0.0)
                    goal = bounds[0, j] if goal < bounds[0, j] else (bounds[1, j] if goal > bounds[1, j] else goal)
                    step = goal - at[j]
                    size = fmax(size, diagonal[j] * goal * goal)
                    at[j] = goal
                    if step != 0.0:
                        add_column(&data[start[j]], rows, step, &c[0], &slope[0], &along[0], start[j + 1] - start[j])
                moved = fmax(moved, diagonal[j] * step * step)
            sweep += 1
            if moved > tol * size:
                everywhere = False
            elif everywhere:
                break
            else:
                everywhere = True
    return x, level, moves


cdef double column_dot(const double* z, const int* rows, const double* b, const double* twice, Py_ssize_t n) noexcept nogil:
    """Σ z b, or Σ z twice b; a NULL z is all ones."""
    cdef Py_ssize_t k
    cdef double total = 0.0
    if z == NULL:
        for k in range(n):
            total += b[k]
    elif rows == NULL and twice == NULL:
        total = dot(z, b, n)
    else:
        for k in range(n):
            total += z[k] * b[rows[k] if rows != NULL else k] * (twice[k] if twice != NULL else 1.0)
    return total


cdef void add_column(const double* z, const int* rows, double step, const double* c, double* slope, double* along,
                     Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k, i
    cdef double move
    for k in range(n):
        i = rows[k] if rows != NULL else k
        move = step * (z[k] if z != NULL else 1.0)
        along[i] += move
        slope[i] += c[i] * move


def evaluated(Loss loss, const double[:, ::1] margins, const double[:, ::1] targets):
    """Losses (n,), slopes and curvatures (n, K) of the rows' margins (n, K)."""
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
