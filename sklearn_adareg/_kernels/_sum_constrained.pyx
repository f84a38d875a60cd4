# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Projections of u in the norm of H⁻¹ onto Σ|c| ≤ radius and onto the simplex; for the states see ``_bound_constrained``.

The multiplier μ of the sum constraint, the level, is found together with the states: for given states, w and c are affine in μ.
That almost always ends in a few steps. If it does not, the level is bracketed and the states are found for each level
separately, which always ends: Σ|c(μ)| decreases monotonically and is piecewise linear, so that the last Newton step is exact.
"""
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite
from libc.string cimport memcpy, memset

from ._bound_constrained cimport MAX_GROWTHS, ActiveSet
from ._metric cimport STALLED

cdef int MAX_LEVELS = 200


cdef class SumConstrained(ActiveSet):
    # Σ|c| = radius (two signs), or Σc = radius and c ≥ 0

    cdef int with_sum(self, double* c, double* w, const double* start, double radius, bint two_signs) noexcept nogil:
        """The signs of start are the first guess of the signs of c."""
        cdef Py_ssize_t i, d = self.d
        cdef double level = 0
        cdef int _step, info = self.begin(c)
        if info != 0:
            memset(w, 0, d * sizeof(double))
            return info
        self.n_wrong, self.sums = d, True
        for i in range(d):
            self._state[i] = (start[i] > 0) - (start[i] < 0)
        for _step in range(self.patience):
            info = self.split()
            if info != 0 or self.n_pinned == d:
                self.n_wrong = d
                break
            level = self.level_for(radius)
            if two_signs:
                level = fmax(level, 0)
            self.combine(c, w, level)
            self.check_sum(c, w, level, two_signs)
            if self.n_wrong == 0:
                break
            memcpy(&self._state[0], &self._wanted[0], d)
        if info == 0 and self.n_wrong != 0:
            info = self.bracket(c, w, &level, radius, two_signs)
        if info == 0:
            self.refine_sum(c, w, level, radius, two_signs)
        else:
            memcpy(c, self.u, d * sizeof(double))
            memset(w, 0, d * sizeof(double))
        return info

    cdef int split(self) noexcept nogil:
        """For the present states, p, q, a, b of w = p + μq and c = a − μb."""
        cdef Py_ssize_t i, k = 0, n, d = self.d
        cdef int info
        memset(self.p, 0, d * sizeof(double))
        for i in range(d):
            self.q[i] = self._state[i]
            if self._state[i] == 0:
                self._pinned[k] = i
                k += 1
        self.metric.times(self.q, self.b)
        self.n_pinned = n = k
        info = self.factor()
        if info != 0:
            return info
        for k in range(n):
            self.right[k] = self.u[self._pinned[k]]
            self.right[n + k] = -self.b[self._pinned[k]]
        self.metric.solve(self.right, 2)
        for k in range(n):
            i = self._pinned[k]
            self.p[i], self.q[i] = self.right[k], self.right[n + k]
        self.metric.times(self.q, self.b)
        memcpy(self.a, self.u, d * sizeof(double))
        self.subtract(self.a, self.p)
        return 0

    cdef double slope(self) noexcept nogil:
        """−d(Σ|c|)/dμ, positive unless every coordinate is pinned."""
        cdef Py_ssize_t i
        cdef double total = 0
        for i in range(self.d):
            total += self._state[i] * self.b[i]
        return total

    cdef double level_for(self, double radius) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = -radius
        for i in range(self.d):
            total += self._state[i] * self.a[i]
        return total / self.slope()

    cdef void combine(self, double* c, double* w, double level) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.d):
            if self._state[i] == 0:
                w[i] = self.p[i] + level * self.q[i]
                c[i] = 0
            else:
                w[i] = self._state[i] * level
                c[i] = self.a[i] - level * self.b[i]

    cdef void check_sum(self, const double* c, const double* w, double level,
                        bint two_signs) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double reach = 0, top = 0, slack
        for i in range(d):
            reach += self.root[i] * fabs(w[i])
            top = fmax(top, self.root[i] * fabs(w[i]))
        memcpy(&self._wanted[0], &self._state[0], d)
        self.n_wrong, self.worst_size = 0, -1
        for i in range(d):
            if self._state[i] == 0:
                slack = self.tolerance * top / self.root[i]
                if self.descending:
                    continue
                if w[i] > level + slack:
                    self.want(i, 1, 0)
                elif two_signs and w[i] < -level - slack:
                    self.want(i, -1, 0)
            else:
                slack = self.tolerance * (fabs(self.u[i]) + self.root[i] * reach)
                if self._state[i] * c[i] < -slack:
                    self.want(i, 0, fabs(c[i]) / self.root[i])

    cdef int solve_at(self, double* c, double* w, double level, bint two_signs) noexcept nogil:
        """The right states, c and w for a given level."""
        cdef int info
        self.restart_pivots()
        self.floor, self.ceiling = -level if two_signs else -INFINITY, level
        while self.pivots < MAX_GROWTHS * (50 + 10 * self.d):
            info = self.split()
            if info != 0:
                return info
            self.combine(c, w, level)
            if self.descending and not self.reach(w):
                continue
            self.check_sum(c, w, level, two_signs)
            if self.n_wrong == 0:
                return 0
            self.pivot(w)
        return STALLED

    cdef int bracket(self, double* c, double* w, double* level, double radius,
                     bint two_signs) noexcept nogil:
        cdef Py_ssize_t i, best
        cdef double low = 0 if two_signs else -INFINITY, high = INFINITY, total, step
        cdef int info, attempt
        if not isfinite(level[0]):
            level[0] = 0
        for attempt in range(MAX_LEVELS):
            info = self.solve_at(c, w, level[0], two_signs)
            if info != 0:
                return info
            total = 0
            for i in range(self.d):
                total += self._state[i] * c[i]
            if self.n_pinned == self.d:
                # Every c_i is 0: let the one that leaves 0 first tell the slope.
                best = 0
                for i in range(self.d):
                    if (fabs(w[i]) > fabs(w[best])) if two_signs else (w[i] > w[best]):
                        best = i
                self._state[best] = -1 if two_signs and w[best] < 0 else 1
                info = self.split()
                if info != 0:
                    return info
            if total > radius:
                low = fmax(low, level[0])
            else:
                high = fmin(high, level[0])
            step = self.level_for(radius) - level[0]
            if fabs(step) <= 1e-13 * (fabs(level[0]) + radius / self.slope()):
                level[0] += step
                return 0
            # Newton may circle between the ends: halve the bracket every third time in any case.
            if isfinite(low + high) and (attempt % 3 == 2 or not low < level[0] + step < high):
                step = low + (high - low) / 2 - level[0]
                if step == 0:
                    return 0
            level[0] += step
        return STALLED

    cdef void refine_sum(self, double* c, double* w, double level, double radius,
                         bint two_signs) noexcept nogil:
        """One step of iterative refinement, then signs and sum to the last digit."""
        cdef Py_ssize_t i, k, d = self.d, n = self.n_pinned
        cdef double slope = self.slope(), excess = -radius, change, size
        self.combine(c, w, level)
        memcpy(self.a, self.u, d * sizeof(double))
        self.subtract(self.a, w)
        for i in range(d):
            excess += self.q[i] * self.a[i]      # q_i is the state where that is not 0
        change = excess / slope
        for k in range(n):
            self.right[k] = self.a[self._pinned[k]]
        self.metric.solve(self.right, 1)
        level += change
        for i in range(d):
            w[i] += change * self.q[i]
        for k in range(n):
            i = self._pinned[k]
            w[i] = fmin(w[i] + self.right[k], level)
            if two_signs:
                w[i] = fmax(w[i], -level)
        memcpy(c, self.u, d * sizeof(double))
        self.subtract(c, w)
        excess = -radius
        for i in range(d):
            if self._state[i] == 0:
                c[i] = 0
            excess += self._state[i] * c[i]
        size = 0
        for i in range(d):
            if self._state[i] != 0:
                c[i] -= excess / slope * self.b[i]
                if self._state[i] * c[i] < 0:
                    c[i] = 0
                size += fabs(c[i])
        # Far from u, c = u − Hw has few digits of its own, or none, and a sign that rounding has changed takes part of the sum.
        if not two_signs:
            for i in range(d):
                c[i] = c[i] * (radius / size) if size > 0 else (radius / (d - n) if self._state[i] != 0 else 0)
