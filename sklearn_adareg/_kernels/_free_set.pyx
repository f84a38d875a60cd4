# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Projections onto polyhedra in the norm of K, for the steps of a structure that has K = H⁻¹ itself.

The step of a round minimises ½(x − a)ᵀK(x − a) − f·(x − a) over the x whose coefficients are in the domain; an intercept, the last
coordinate, is free. ``_bound_constrained`` solves it by H and factors the rows of the coordinates that the domain holds; here those
of the others are factored, which are few where the domain is small. The states are the same: bounds hold a coordinate at one of them,
the sum constraint at 0.

w = f − K(x − a) is kept beside x and corrected with every change of it. States that are wrong are changed all at once, as often as
``STEPS``; what has not ended then, what has more free coordinates than held ones, and what is not finite is left to the caller,
who has the slower way, which always ends.
"""
from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcmp, memcpy, memset

from ._factor_loops cimport cholesky, cholesky_solve, shape, symmetric_times
from ._free_loops cimport bound_states, gather, select, sum_states, sweep
from ._loops cimport axpy, combine, dot
from ._metric cimport STALLED

import numpy as np

cdef int STEPS = 15
cdef double FREE = 0.6              # of all coordinates: with more of them free where a step begins, the way by H is shorter
cdef double MOST = 0.8              # as many may be free on the way
cdef double TOLERANCE = 1e-14


cdef class FreeSet:
    def __cinit__(self, Py_ssize_t d, Py_ssize_t n):
        self.d, self.n = d, n
        self._matrices, self._vectors = np.zeros(2 * n * n), np.zeros(13 * n)
        self._free, self._state = np.zeros(n + 1, dtype=np.intc), np.zeros(n, dtype=np.int8)
        self.K, self.block = &self._matrices[0], &self._matrices[n * n]
        cdef double* start = &self._vectors[0]
        self.a, self.f, self.x, self.w = start, start + n, start + 2 * n, start + 3 * n
        self.root, self.right, self.moved, self.product = start + 4 * n, start + 5 * n, start + 7 * n, start + 8 * n
        self.inverse, self.unit = start + 9 * n, start + 10 * n
        self.over_unit, self.alone = start + 11 * n, start + 12 * n
        self.parts[0], self.parts[1], self.parts[2], self.parts[3], self.parts[4] = self.x, self.w, self.a, self.f, self.root

    cdef void begin(self, const double* G, const double* g, double factor, const double* units) noexcept nogil:
        """K = factor · S(G + g gᵀ)S with S = diag(units) of the coefficients, 1 of the intercept; units may be NULL, and g for g = 0.

        A coordinate that is not in G, and has a 0 on its diagonal, is on its own, with S_ii² there. Here only the diagonal of K is
        made; ``load`` makes the rest.
        """
        cdef Py_ssize_t i, n = self.n
        cdef double along, size, root = sqrt(factor)
        self.G, self.g, self.P = G, g, NULL
        for i in range(n):
            along = g[i] if g != NULL else 0.0
            self.unit[i] = root * (units[i] if units != NULL and i < self.d else 1.0)
            size = G[i * n + i] + along * along
            self.over_unit[i], self.alone[i] = 1 / self.unit[i], 0
            self.root[i] = self.unit[i] * sqrt(size if size > 0 else 1 / factor)
            self.inverse[i] = 1 / (self.root[i] * self.root[i])
            if not size > 0:
                self.alone[i] = self.inverse[i]

    cdef void load(self) noexcept nogil:
        cdef Py_ssize_t i, n = self.n
        shape(self.G, self.g, self.unit, self.K, n)
        for i in range(n):
            self.K[i * n + i] = self.root[i] * self.root[i]

    cdef void know(self, const double* P, const double* v, double weight, const double* u) noexcept nogil:
        """The inverse of G, with weight v vᵀ that of G + g gᵀ; and the point u without a domain."""
        self.P, self.v, self.weight, self.u = P, v, weight, u

    cdef void times_H(self, const double* q, Py_ssize_t m, double* out) noexcept nogil:
        """out = K⁻¹q, where ``know`` told how, for the first m coordinates, and with 0 for the others in q."""
        cdef Py_ssize_t i
        for i in range(m):
            self.moved[i] = q[i] * self.over_unit[i]
        memset(self.product, 0, m * sizeof(double))
        combine(self.P, self.n, NULL, self.moved, m, self.product, m)
        if self.weight != 0:
            axpy(-self.weight * dot(self.v, self.moved, m), self.v, self.product, m)
        for i in range(m):
            out[i] = self.product[i] * self.over_unit[i] + self.alone[i] * q[i]

    cdef bint few_between(self, double lower, double upper) noexcept nogil:
        """Whether few enough of the coefficients of x are between the bounds."""
        cdef Py_ssize_t i, free = 0
        for i in range(self.d):
            free += lower < self.x[i] < upper
        return free <= FREE * self.d

    cdef bint few_nonzero(self) noexcept nogil:
        """Whether few enough of the coefficients of x are not 0."""
        cdef Py_ssize_t i, free = 0
        for i in range(self.d):
            free += self.x[i] != 0
        return free <= FREE * self.d

    # ---- what both kinds of constraints share

    cdef void move(self, Py_ssize_t i, double to) noexcept nogil:
        """x_i ← to."""
        if to != self.x[i]:
            axpy(self.x[i] - to, self.K + i * self.n, self.w, self.n)
            self.x[i] = to

    cdef void list_free(self, bint zero) noexcept nogil:
        """The free coordinates: those whose state is 0, or is not, and the intercept."""
        cdef Py_ssize_t i
        self.n_free = select(&self._state[0], zero, &self._free[0], self.d)
        for i in range(self.d, self.n):
            self._free[self.n_free] = <int> i
            self.n_free += 1

    cdef int factor_free(self) noexcept nogil:
        """Cholesky factor of the free rows and columns of K."""
        gather(self.K, self.n, &self._free[0], self.block, self.n_free)
        return <int> cholesky(self.block, self.n_free)

    cdef void advance(self) noexcept nogil:
        """x += right in the free coordinates."""
        cdef Py_ssize_t k
        for k in range(self.n_free):
            self.x[self._free[k]] += self.right[k]
            self.right[k] = -self.right[k]
        combine(self.K, self.n, &self._free[0], self.right, self.n_free, self.w, self.n)

    cdef void step_to_stationary(self) noexcept nogil:
        """Move the free coordinates to where w is 0 in them."""
        cdef Py_ssize_t k
        for k in range(self.n_free):
            self.right[k] = self.w[self._free[k]]
        cholesky_solve(self.block, self.right, self.n_free)
        self.advance()

    cdef double measure(self) noexcept nogil:
        """Σ√K_ii |x − a|_i, which times √K_ii bounds what rounding of K does to w_i."""
        cdef Py_ssize_t i
        cdef double total = 0
        for i in range(self.n):
            total += self.root[i] * fabs(self.x[i] - self.a[i])
        return total

    cdef void renew_gradient(self) noexcept nogil:
        """w from x, without the rounding of corrections."""
        cdef Py_ssize_t i
        if memcmp(self.x, self.a, self.n * sizeof(double)) == 0:
            memcpy(self.w, self.f, self.n * sizeof(double))
            return
        for i in range(self.n):
            self.moved[i] = self.x[i] - self.a[i]
        symmetric_times(self.K, self.moved, self.product, self.n)
        for i in range(self.n):
            self.w[i] = self.f[i] - self.product[i]

    # ---- bounds

    cdef int within_bounds(self, double lower, double upper) noexcept nogil:
        """x and w at the solution, or STALLED; x is where to start from."""
        cdef Py_ssize_t i, k, held, d = self.d, n = self.n
        cdef double reach
        self.renew_gradient()
        sweep(self.K, self.inverse, lower, upper, self.x, self.w, d, n)
        for i in range(d):
            self._state[i] = 1 if self.x[i] >= upper else (-1 if self.x[i] <= lower else 0)
        self.steps = 0
        while self.steps < STEPS:
            self.steps += 1
            held = select(&self._state[0], False, &self._free[0], d)
            for k in range(held):
                i = self._free[k]
                self.move(i, upper if self._state[i] > 0 else lower)
            self.list_free(True)
            if self.n_free > MOST * n or self.factor_free() != 0:
                return STALLED
            self.step_to_stationary()
            reach = self.measure()
            if not isfinite(reach):
                return STALLED
            if bound_states(self.parts, lower, upper, reach, TOLERANCE, &self._state[0], d) == 0:
                break
        else:
            return STALLED
        self.renew_gradient()
        self.step_to_stationary()
        for k in range(self.n_free):
            self.w[self._free[k]] = 0
        for i in range(d):
            if self._state[i] * self.w[i] < 0:
                self.w[i] = 0
            self.x[i] = fmin(fmax(self.x[i], lower), upper)
        return 0

    # ---- Σ|c| = radius (two signs), or Σc = radius and c ≥ 0

    cdef void guess(self, double* v, double* h) noexcept nogil:
        """The point without a domain if only the intercept and the diagonal of K counted, and one over that diagonal."""
        cdef Py_ssize_t i, n = self.n
        cdef const double* last = self.K + (n - 1) * n
        cdef double of_intercept = 1 / last[n - 1] if n > self.d else 0
        cdef double size
        for i in range(self.d):
            size = self.K[i * n + i] - (last[i] * last[i] * of_intercept if n > self.d else 0)
            if not size > 0.01 * self.K[i * n + i]:
                size = self.K[i * n + i]
            h[i] = 1 / size
            v[i] = self.a[i] + h[i] * (self.f[i] - (last[i] * of_intercept * self.f[n - 1] if n > self.d else 0))

    cdef int with_sum(self, const double* start, double radius, bint two_signs) noexcept nogil:
        """x and w at the solution, or STALLED. The signs of start are the first guess of the signs of x."""
        cdef Py_ssize_t i, k, d = self.d, n = self.n, m, held
        cdef double total, slope = 0, reach, level = 0
        cdef double* along
        self.renew_gradient()
        for i in range(d):
            self._state[i] = (start[i] > 0) - (start[i] < 0)
        if n > d:
            self._state[d] = 0
        self.steps = 0
        while self.steps < STEPS:
            self.steps += 1
            held = select(&self._state[0], True, &self._free[0], d)
            for k in range(held):
                self.move(self._free[k], 0)
            self.list_free(False)
            m = self.n_free
            if m == n - d or m > MOST * n or self.factor_free() != 0:
                return STALLED
            along = self.right + m
            for k in range(m):
                self.right[k] = self.w[self._free[k]]
                along[k] = self._state[self._free[k]]
            cholesky_solve(self.block, self.right, m)
            cholesky_solve(self.block, along, m)
            total, slope = -radius, 0
            for k in range(m):
                total += self._state[self._free[k]] * (self.x[self._free[k]] + self.right[k])
                slope += self._state[self._free[k]] * along[k]
            level = total / slope
            if two_signs:
                level = fmax(level, 0)
            for k in range(m):
                self.right[k] -= level * along[k]
            self.advance()
            reach = self.measure()
            if not isfinite(reach) or not isfinite(level):
                return STALLED
            if sum_states(self.parts, level, two_signs, reach, TOLERANCE, &self._state[0], d) == 0:
                break
        else:
            return STALLED
        self.refine_sum(level, slope, radius, two_signs)
        return 0

    cdef void refine_sum(self, double level, double slope, double radius, bint two_signs) noexcept nogil:
        """One step of iterative refinement, then signs to the last digit."""
        cdef Py_ssize_t i, k, m = self.n_free
        cdef double total = -radius
        cdef double* along = self.right + m
        self.renew_gradient()
        for k in range(m):
            self.right[k] = self.w[self._free[k]] - level * self._state[self._free[k]]
        cholesky_solve(self.block, self.right, m)
        for k in range(m):
            total += self._state[self._free[k]] * (self.x[self._free[k]] + self.right[k])
        for k in range(m):
            self.right[k] -= total / slope * along[k]
        level += total / slope
        self.advance()
        for i in range(self.n):
            if i >= self.d:
                self.w[i] = 0
            elif self._state[i] != 0:
                self.w[i] = level * self._state[i]
                if self._state[i] * self.x[i] < 0:
                    self.x[i] = 0
            else:
                self.w[i] = fmin(self.w[i], level)
                if two_signs:
                    self.w[i] = fmax(self.w[i], -level)
