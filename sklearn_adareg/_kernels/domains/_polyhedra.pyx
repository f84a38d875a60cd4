"""The polyhedra: intervals in every coordinate, the l1 ball and the simplex.

In the norm Σ c_i²/h_i the projection onto a set of a given sum is c = (u − μh)₊ (with |u| and the signs of u for l1), by Newton's
method on the convex Σ(u_i − μh_i)₊ = r, and after a few steps by taking breakpoints u_i/h_i off a heap: O(d log d) at worst. In the
norm of H⁻¹: ``ActiveSet``.
"""
from libc.math cimport INFINITY, NAN, fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy, memset

from ._domains cimport NOT_FINITE, STALLED, Domain, Metric, shrink_into

import numpy as np

cdef int MAX_GROWTHS = 8      # how often the tolerance may grow
cdef int GRACE = 4            # block steps that may fail to help before the descent begins
cdef double TOLERANCE = 1e-14
cdef int MAX_LEVELS = 200     # of a sum constraint, where states are found for each of them
cdef double AT_BOUND = 1e-9   # a start this near to a bound, relative to it, is taken to be there
cdef enum:
    FILTER_STEPS = 12

cdef double GAUGE_MARGIN = 1 - 1e-9     # how far below its limit a gauge kept by additions may have drifted
cdef double VERTEX_TOLERANCE = 1e-9     # relative error of the sum beyond which rounding has taken the projection's digits
cdef double SUM_TOLERANCE = 1e-12       # relative error of the sum of a point of the simplex


cdef class ActiveSet:
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

    Tolerances are in units of √H_ii, so that they do not depend on the units of the coordinates. Each coordinate has bounds of its
    own, which may be infinite, or equal where it is fixed.
    """

    cdef readonly Py_ssize_t d
    cdef public int patience         # joint steps before the bracketed iteration takes over
    cdef Metric metric               # the matrix H
    cdef double[::1] _vectors
    cdef Py_ssize_t[::1] _pinned     # the indices in A
    cdef signed char[::1] _state     # −1, 0 or 1 per coordinate
    cdef signed char[::1] _wanted    # the states that the last check asked for
    # Scratch of one call; meaningless between calls.
    cdef Py_ssize_t n_pinned, n_wrong, worst, fewest_wrong
    cdef long pivots
    cdef int grace
    cdef bint sums, descending
    cdef double tolerance, worst_size, floor, ceiling
    cdef double* u
    cdef double* p
    cdef double* q
    cdef double* a
    cdef double* b
    cdef double* right
    cdef double* root
    cdef double* x                   # feasible w of the descent
    cdef double* product

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

    cdef void begin_check(self, const double* w, double* reach, double* top) noexcept nogil:
        """No state is wrong so far; Σ√H_ii |w_i|, and the largest of these."""
        cdef Py_ssize_t i
        reach[0] = top[0] = 0
        for i in range(self.d):
            reach[0] += self.root[i] * fabs(w[i])
            top[0] = fmax(top[0], self.root[i] * fabs(w[i]))
        memcpy(&self._wanted[0], &self._state[0], self.d)
        self.n_wrong, self.worst_size = 0, -1

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

    def between(self, u, H, lower, upper, start=None):
        """The c with lower ≤ c ≤ upper that is nearest to u in the norm of H⁻¹, and w = H⁻¹(u − c); bounds are arrays."""
        c, w = np.array(u, dtype=np.float64).reshape(self.d), np.empty(self.d)
        cdef double[::1] c_view = c
        cdef double[::1] w_view = w
        cdef const double[:, ::1] H_view = np.ascontiguousarray(H, dtype=np.float64).reshape(self.d, self.d)
        cdef const double[::1] low = np.ascontiguousarray(lower, dtype=np.float64).reshape(self.d)
        cdef const double[::1] high = np.ascontiguousarray(upper, dtype=np.float64).reshape(self.d)
        cdef const double[::1] near = np.ascontiguousarray(u if start is None else start, dtype=np.float64).reshape(self.d)
        cdef int status
        with nogil:
            status = self.metric.load(&H_view[0, 0], self.d, NULL)
            if status == 0:
                status = self.within_bounds(&c_view[0], &w_view[0], &low[0], &high[0], &near[0])
        if status != 0:
            raise ArithmeticError(f"projection failed with status {status}")
        return c, w * self.metric.scale

    cdef int within_bounds(self, double* c, double* w, const double* lower, const double* upper, const double* start) noexcept nogil:
        cdef Py_ssize_t i, k, d = self.d
        cdef double reach, top, slack
        cdef int info = self.begin(c)
        if info != 0:
            memset(w, 0, d * sizeof(double))
            return info
        self.sums = False
        for i in range(d):
            self._state[i] = 1 if c[i] > upper[i] else (-1 if c[i] < lower[i] else 0)
            if start != NULL and start[i] >= upper[i] - AT_BOUND * fabs(upper[i]):        # no if it is infinite
                self._state[i] = 1
            elif start != NULL and start[i] <= lower[i] + AT_BOUND * fabs(lower[i]):
                self._state[i] = -1
        while self.pivots < MAX_GROWTHS * (50 + 10 * d):
            k = 0
            for i in range(d):
                if self._state[i] != 0:
                    self._pinned[k] = i
                    self.right[k] = self.u[i] - (upper[i] if self._state[i] > 0 else lower[i])
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

            self.begin_check(w, &reach, &top)
            for i in range(d):
                if self._state[i] == 0:
                    slack = self.tolerance * (fabs(self.u[i]) + self.root[i] * reach)
                    if c[i] > upper[i] + slack:
                        self.want(i, 1, (c[i] - upper[i]) / self.root[i])
                    elif c[i] < lower[i] - slack:
                        self.want(i, -1, (lower[i] - c[i]) / self.root[i])
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

    cdef void refine_bounds(self, double* c, double* w, const double* lower, const double* upper) noexcept nogil:
        cdef Py_ssize_t i, k
        for k in range(self.n_pinned):
            i = self._pinned[k]
            self.right[k] = c[i] - (upper[i] if self._state[i] > 0 else lower[i])
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
                c[i] = upper[i] if self._state[i] > 0 else lower[i]
            else:
                c[i] = fmin(fmax(c[i], lower[i]), upper[i])


cdef class SumConstrained(ActiveSet):
    """Σ|c| ≤ radius (two signs), or Σc = radius and c ≥ 0.

    The multiplier μ of the sum constraint, the level, is found together with the states: for given states, w and c are affine in μ.
    That almost always ends in a few steps. If it does not, the level is bracketed and the states are found for each level
    separately, which always ends: Σ|c(μ)| decreases monotonically and is piecewise linear, so that the last Newton step is exact.
    """

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

    cdef void check_sum(self, const double* c, const double* w, double level, bint two_signs) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double reach, top, slack
        self.begin_check(w, &reach, &top)
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

    cdef int bracket(self, double* c, double* w, double* level, double radius, bint two_signs) noexcept nogil:
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

    cdef void refine_sum(self, double* c, double* w, double level, double radius, bint two_signs) noexcept nogil:
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


cdef class Interval(Domain):
    """An interval in every coordinate."""

    def prepare_full(self):
        Domain.prepare_full(self)
        if self.solver is None:
            self.solver = ActiveSet(self.metric)
            self._bounds = np.repeat([self.lower, self.upper], self.d)

    def bring_inside(self, c):
        np.clip(c, self.lower, self.upper, out=c)

    cdef bint contains(self, const double* c) noexcept nogil:
        cdef Py_ssize_t i
        cdef bint inside = True
        for i in range(self.d):
            inside &= self.lower <= c[i] <= self.upper
        return inside

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef double lower = self.lower, upper = self.upper
        for i in range(self.d):
            # Not fmin and fmax: a NaN must stay one.
            c[i] = lower if c[i] < lower else (upper if c[i] > upper else c[i])

    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil:
        return (<ActiveSet> self.solver).within_bounds(c, w, &self._bounds[0], &self._bounds[self.d], start)


cdef class Box(Interval):
    def __init__(self, d, radius):
        self.coordinatewise = True
        self.lower, self.upper = -radius, radius


cdef class Nonnegative(Interval):
    def __init__(self, d, radius=INFINITY):
        self.coordinatewise = True
        self.lower = 0


cdef void sift_down(Py_ssize_t* heap, const double* key, Py_ssize_t n, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t child, moved = heap[at]
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if not key[heap[child]] > key[moved]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


cdef void threshold(double* v, const double* h, Py_ssize_t d, double radius, Py_ssize_t* order, double* key) noexcept nogil:
    """v ← (v − μh)₊ with μ such that the sum is the radius."""
    cdef Py_ssize_t i, k, n, kept
    cdef double mu = -INFINITY, total, weight, excess
    cdef int _attempt
    for i in range(d):
        order[i] = i
    n = d
    for _attempt in range(FILTER_STEPS):
        total, weight = -radius, 0
        for k in range(n):
            total += v[order[k]]
            weight += h[order[k]]
        mu = total / weight
        kept = 0
        for k in range(n):
            i = order[k]
            order[kept] = i
            kept += v[i] > mu * h[i]
        # The μ of all that are left is a lower bound, so what falls below it is 0 for good.
        if kept == n or kept == 0:
            break
        n = kept
    else:
        for k in range(n):
            key[order[k]] = v[order[k]] / h[order[k]]
        for k in range(n // 2 - 1, -1, -1):
            sift_down(order, key, n, k)
        total, weight = -radius, 0
        while n > 0 and (weight == 0 or key[order[0]] > mu):
            i = order[0]
            total += v[i]
            weight += h[i]
            mu = total / weight
            n -= 1
            order[0] = order[n]
            sift_down(order, key, n, 0)
    memcpy(key, v, d * sizeof(double))
    excess, weight = -radius, 0
    for i in range(d):
        # What is not finite must show: as a 0 it would pass for a solution.
        v[i] = v[i] - mu * h[i] if v[i] > mu * h[i] else (0 if isfinite(mu) else NAN)
        if v[i] > 0:
            excess += v[i]
            weight += h[i]
    # u far outside leaves few digits in u − μh: give the sum its last ones back.
    if weight > 0:
        for i in range(d):
            if v[i] > 0:
                v[i] = fmax(v[i] - excess * (h[i] / weight), 0)
    total = 0
    for i in range(d):
        total += v[i]
    # So far outside that rounding exceeds the radius, the nearest point is the vertex whose breakpoint is the last.
    if isfinite(mu) and not fabs(total - radius) <= VERTEX_TOLERANCE * radius:
        n = 0
        for i in range(d):
            v[i] = 0
            if key[i] / h[i] > key[n] / h[n]:
                n = i
        v[n] = radius


cdef class SumDomain(Domain):
    """What the l1 ball and the simplex share."""

    cdef bint two_signs              # |c_i| is summed, c_i may be negative
    cdef double[::1] _start

    def prepare_full(self):
        Domain.prepare_full(self)
        if self.solver is None:
            self.solver = SumConstrained(self.metric)
            self._start = np.empty(2 * self.d)
            self.sum = self.radius

    def bring_inside(self, c):
        if self.two_signs:
            largest = max(np.abs(c).max(), self.radius)
            c /= largest
            c *= self.radius / max(np.abs(c).sum(), self.radius / largest)
        else:
            np.maximum(c, 0.0, out=c)
            total = (c / self.radius).sum()
            c[:] = c / total if total > 0 else self.radius / self.d
        cdef double[::1] c_view = c
        if self.two_signs:
            shrink_into(self, &c_view[0], self.radius)

    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil:
        """The first guess of the signs of c: those of the start, or of the projection with the diagonal of H."""
        cdef Py_ssize_t i, d = self.d
        cdef double* guess = &self._start[0]
        cdef double size = 0
        cdef int status
        if start != NULL:
            memcpy(guess, start, d * sizeof(double))
            for i in range(d):
                size += fabs(start[i])
        if not fabs(size - self.radius) <= 1e-6 * self.radius:
            for i in range(d):
                guess[d + i] = self.metric.H[i * d + i]
            memcpy(guess, c, d * sizeof(double))
            self.project_diagonal(guess, guess + d)
        status = (<SumConstrained> self.solver).with_sum(c, w, guess, self.radius, self.two_signs)
        if status == 0 and self.two_signs:
            shrink_into(self, c, self.radius)
        return status


cdef class L1Ball(SumDomain):
    def __init__(self, d, radius):
        self.two_signs = True
        self._vectors = np.empty(2 * self.d)
        self._order = np.empty(self.d, dtype=np.intp)

    cdef bint contains(self, const double* c) noexcept nogil:
        return self.gauge(c, self.d, 1) <= self.radius

    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0
        for i in range(n):
            total += fabs(c[i * stride])
        return total

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return gauge > GAUGE_MARGIN * self.radius

    cdef double shrinkage(self, double gauge) noexcept nogil:
        return fmin(self.radius / gauge, 1.0)

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double* size = &self._vectors[0]
        if self.contains(c):
            return
        for i in range(d):
            size[i] = fabs(c[i])
        threshold(size, h, d, self.radius, &self._order[0], size + d)
        for i in range(d):
            c[i] = size[i] if c[i] > 0 else 0 - size[i]      # 0 − 0 is 0, −0 is not
        shrink_into(self, c, self.radius)


cdef class Simplex(SumDomain):
    def __init__(self, d, radius):
        self._vectors = np.empty(self.d)
        self._order = np.empty(self.d, dtype=np.intp)

    cdef bint contains(self, const double* c) noexcept nogil:
        return False

    cdef bint accepts(self, const double* c) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0
        cdef bint positive = True
        for i in range(self.d):
            positive &= c[i] >= 0
            total += c[i]
        return positive and fabs(total - self.radius) <= SUM_TOLERANCE * self.radius

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return True

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        threshold(c, h, self.d, self.radius, &self._order[0], &self._vectors[0])
