# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Projections of u in the norm of H⁻¹ onto polyhedra, by an active-set method.

With w = H⁻¹(u − c) the projection c is optimal when w is normal to the set at c. For the sets here that reads, coordinate by
coordinate, as one of three states:

    bounds   c_i at a bound, w_i of its sign  |  c_i between the bounds, w_i = 0
    sum      c_i = 0, |w_i| ≤ μ               |  c_i ≠ 0, w_i = μ sign(c_i)

(simplex: w_i ≤ μ, c_i ≥ 0). States fix c on an index set A ("pinned") and w on the rest; one Cholesky factor of H_AA gives all
other numbers. The coordinates whose state is wrong then change it, all at once. If that does not lessen their number, a descent
takes over: w stays in the intervals that the states allow, moves towards the solution for the present states until it meets
the end of an interval, and the coordinate that violates its condition most changes its state when w meets none. The objective
½w'Hw − u'w + σ(w) decreases in every step, so the descent ends.

The first states are those of a start, if there is one. They do not influence the result, which is computed from the last states.

This module has the bounds, ``_sum_constrained`` the sum constraint with its multiplier μ. Tolerances are in units of √H_ii, so
that they do not depend on the units of the coordinates.
"""
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy, memset

from ._metric cimport NOT_FINITE, STALLED, Metric

import numpy as np

cdef int GRACE = 4            # block steps that may fail to help before the descent begins
cdef double TOLERANCE = 1e-14
cdef double AT_BOUND = 1e-9   # a start this near to a bound, relative to it, is taken to be there


cdef class ActiveSet:
    def __cinit__(self, Metric metric):
        cdef Py_ssize_t d = metric.d
        self.d, self.metric = d, metric
        self.patience = 30
        self._vectors = np.empty(10 * d)
        self._pinned = np.empty(d, dtype=np.intp)
        self._state = np.zeros(d, dtype=np.int8)
        self._wanted = np.zeros(d, dtype=np.int8)
        cdef double* start = &self._vectors[0]
        self.u, self.p, self.q, self.a = start, start + d, start + 2 * d, start + 3 * d
        self.b, self.root, self.x, self.product = start + 4 * d, start + 5 * d, start + 6 * d, start + 7 * d
        self.right = start + 8 * d

    # ---- what both kinds of constraints share

    cdef int begin(self, const double* c) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0
        memcpy(self.u, c, self.d * sizeof(double))
        for i in range(self.d):
            self.root[i] = sqrt(self.metric.H[i * self.d + i])
            total += self.root[i] + fabs(c[i])
        self.restart_pivots()
        return 0 if isfinite(total) else NOT_FINITE

    cdef void restart_pivots(self) noexcept nogil:
        self.fewest_wrong, self.grace, self.pivots, self.descending = self.d + 1, GRACE, 0, False
        self.tolerance = TOLERANCE

    cdef int factor(self) noexcept nogil:
        """Cholesky factor of H_AA, A the first n_pinned of _pinned."""
        return self.metric.factor_block(&self._pinned[0], self.n_pinned)

    cdef void subtract(self, double* y, const double* w) noexcept nogil:
        """y ← y − H w."""
        cdef Py_ssize_t i
        self.metric.times(w, self.product)
        for i in range(self.d):
            y[i] -= self.product[i]

    cdef void want(self, Py_ssize_t i, signed char state, double size) noexcept nogil:
        self._wanted[i] = state
        self.n_wrong += 1
        if size > self.worst_size:
            self.worst, self.worst_size = i, size

    cdef void pivot(self, const double* w) noexcept nogil:
        """Change wrong states, all or, in a descent, the worst."""
        self.pivots += 1
        # So long a walk means that states differ by rounding only.
        if self.pivots % (50 + 10 * self.d) == 0:
            self.tolerance *= 8
        if self.descending:
            self._state[self.worst] = self._wanted[self.worst]
            return
        if self.n_wrong < self.fewest_wrong:
            self.fewest_wrong, self.grace = self.n_wrong, GRACE
        elif self.grace > 0:
            self.grace -= 1
        else:
            self.start_descent(w)
            return
        memcpy(&self._state[0], &self._wanted[0], self.d)

    cdef void start_descent(self, const double* w) noexcept nogil:
        """x ← w moved into the intervals of the states, and what had to move held there."""
        cdef Py_ssize_t i, k
        self.descending = True
        memcpy(self.x, w, self.d * sizeof(double))
        for k in range(self.n_pinned):
            i = self._pinned[k]
            if self.sums:
                if not self.floor < w[i] < self.ceiling:
                    self._state[i] = 1 if w[i] > 0 or self.floor == -INFINITY else -1
                    self.x[i] = self.ceiling if self._state[i] > 0 else self.floor
            elif self._state[i] * w[i] <= 0:
                self._state[i] = 0
                self.x[i] = 0

    cdef bint reach(self, const double* w) noexcept nogil:
        """Move x towards w until an interval ends, and hold what ended; whether w was reached."""
        cdef Py_ssize_t i, k
        cdef double share = 1, low, high, end, part
        cdef int turn
        self.pivots += 1
        for turn in range(2):
            for k in range(self.n_pinned):
                i = self._pinned[k]
                if self.sums:
                    low, high = self.floor, self.ceiling
                else:
                    low = 0 if self._state[i] > 0 else -INFINITY
                    high = INFINITY if self._state[i] > 0 else 0
                part = 2
                end = 0
                if w[i] < low or w[i] > high:
                    end = low if w[i] < low else high
                    part = fmax((end - self.x[i]) / (w[i] - self.x[i]), 0)
                if turn == 0:
                    share = fmin(share, part)
                elif part <= share:
                    self.x[i] = end
                    self._state[i] = (1 if w[i] > high else -1) if self.sums else 0
                else:
                    self.x[i] += share * (w[i] - self.x[i])
            if turn == 0 and share >= 1:
                memcpy(self.x, w, self.d * sizeof(double))
                return True
        return False

    # ---- bounds

    cdef int within_bounds(self, double* c, double* w, double lower, double upper, const double* start) noexcept nogil:
        cdef Py_ssize_t i, k, d = self.d
        cdef double reach, top, slack
        cdef int info = self.begin(c)
        if info != 0:
            memset(w, 0, d * sizeof(double))
            return info
        self.sums = False
        for i in range(d):
            self._state[i] = 1 if c[i] > upper else (-1 if c[i] < lower else 0)
            if start != NULL and start[i] >= upper - AT_BOUND * fabs(upper):        # no if upper is infinite
                self._state[i] = 1
            elif start != NULL and start[i] <= lower + AT_BOUND * fabs(lower):
                self._state[i] = -1
        while self.pivots < MAX_GROWTHS * (50 + 10 * d):
            k = 0
            for i in range(d):
                if self._state[i] != 0:
                    self._pinned[k] = i
                    self.right[k] = self.u[i] - (upper if self._state[i] > 0 else lower)
                    k += 1
            self.n_pinned = k
            info = self.factor()
            if info != 0:
                break
            self.metric.solve(self.right, 1)
            memset(w, 0, d * sizeof(double))
            for k in range(self.n_pinned):
                w[self._pinned[k]] = self.right[k]
            if self.descending and not self.reach(w):
                continue
            memcpy(c, self.u, d * sizeof(double))
            self.subtract(c, w)

            reach = top = 0
            for i in range(d):
                reach += self.root[i] * fabs(w[i])
                top = fmax(top, self.root[i] * fabs(w[i]))
            memcpy(&self._wanted[0], &self._state[0], d)
            self.n_wrong, self.worst_size = 0, -1
            for i in range(d):
                if self._state[i] == 0:
                    slack = self.tolerance * (fabs(self.u[i]) + self.root[i] * reach)
                    if c[i] > upper + slack:
                        self.want(i, 1, (c[i] - upper) / self.root[i])
                    elif c[i] < lower - slack:
                        self.want(i, -1, (lower - c[i]) / self.root[i])
                elif self.descending:
                    continue
                elif self._state[i] * w[i] * self.root[i] < -self.tolerance * top:
                    self.want(i, 0, 0)
            if self.n_wrong == 0:
                self.refine_bounds(c, w, lower, upper)
                return 0
            self.pivot(w)
        else:
            info = STALLED
        memcpy(c, self.u, d * sizeof(double))
        memset(w, 0, d * sizeof(double))
        return info

    cdef void refine_bounds(self, double* c, double* w, double lower, double upper) noexcept nogil:
        cdef Py_ssize_t i, k
        for k in range(self.n_pinned):
            i = self._pinned[k]
            self.right[k] = c[i] - (upper if self._state[i] > 0 else lower)
        self.metric.solve(self.right, 1)
        for k in range(self.n_pinned):
            i = self._pinned[k]
            w[i] += self.right[k]
            if self._state[i] * w[i] < 0:
                w[i] = 0
        memcpy(c, self.u, self.d * sizeof(double))
        self.subtract(c, w)
        for i in range(self.d):
            if self._state[i] != 0:
                c[i] = upper if self._state[i] > 0 else lower
            else:
                c[i] = fmin(fmax(c[i], lower), upper)
