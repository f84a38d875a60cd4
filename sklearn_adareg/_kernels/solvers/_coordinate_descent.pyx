"""Quadratics with an L1 penalty and bounds, by cyclic coordinate descent.

    min_x ½ (x − w)ᵀ G (x − w) − s·(x − w) + Σ_i p_i |x_i|,    lower ≤ x ≤ upper,

from x = w. A coordinate's own minimiser is a soft threshold and a clip, O(n) where it moves and O(1) where it does not. Sweeps over
all coordinates alternate with sweeps over those that are not 0, and end when one over all moves nothing by more than a tolerance.
"""
from libc.math cimport fmax

from ..linalg._loops cimport axpy

import numpy as np


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
