# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The l2 ball.

In the norm Σ c_i²/h_i the projection is c = u/(1 + μh), with μ from Newton's method on 1/‖c(μ)‖ = 1/r, a concave and increasing
function, so that the iterates increase monotonically.

In the norm of H⁻¹ it is (I + μH)c = u, solved in the unit ball after division by r:

- With a factor of I + μH at some μ, c(μ + δ) = (I + δB)⁻¹c(μ), B = (I + μH)⁻¹H. A few Lanczos steps with B from c(μ) give a
  small tridiagonal T, and ‖c(μ)‖ ‖(I + δT)⁻¹e_1‖ = 1 is solved for δ in O(1). One step is Newton's method on 1/‖c‖. More
  are a Gauss rule for ‖c‖², a lower bound of it, so that iterates still increase towards the root once they are below it.
- The first μ comes from Lanczos steps at μ = 0, which need no factor, and from the point the caller starts from.
- When the last Lanczos vector contributes less than rounding, c is the combination of the Lanczos vectors, improved by one
  step of iterative refinement: no further factor is needed.

A bracket safeguards μ. Two factors are typical, one if the start is good, none if the constraint hardly binds.

A structure that has K = H⁻¹ can do without H. There (S + μI)c = h, with S = K and h = f + Ka for the quadratic of ``_free_set``, the
intercept eliminated:

- With a factor of S + μI, c(μ + δ) = (I + δM)⁻¹c(μ) with M = (S + μI)⁻¹, and Lanczos steps with M, one solve each, do the rest as
  above. The first μ is that of the start x if it is on the sphere, where xᵀ(h − Sx) = μr² if x is the projection.
- If the ball is small, Lanczos steps with S from h find μ and c together, without a factor: the larger μ is beside S, the fewer of
  them. If they would be too many, the μ of the first ones is where the factors start.
"""
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite, log, sqrt
from libc.string cimport memcpy, memset

from ._domains cimport Domain, shrink_into
from ._factor_loops cimport cholesky, cholesky_solve, less_outer, symmetric_times
from ._free_set cimport FreeSet
from ._loops cimport axpy, dot
from ._metric cimport NOT_FINITE, STALLED
from ._secular cimport MOST_STEPS, level_of, secular_step

import numpy as np

cdef enum:
    NEWTON_STEPS = 200
    MAX_FACTORS = 60
    FIRST_STEPS = 10          # Lanczos steps before there is a factor
    TRIAL_STEPS = 2           # and with a factor, before it is known to be near enough ...
    LAST_STEPS = 12           # ... and if it is
    FREE_TRIAL = 8            # with K, before it is known how many there will be
    FREE_TRIAL_FACTORED = 3   # with a factor of K + μI, before it is known to be near enough
    FREE_FACTORS = 8

# How far below its limit a gauge kept by additions may have drifted.
cdef double GAUGE_MARGIN = 1 - 1e-9
cdef double ROUNDING = 2.220446049250313e-16
cdef double NEAR = 0.03              # |δ| ≤ NEAR μ: more Lanczos steps are cheaper than another factor
cdef double SMALL = 250               # tr K r / ‖f‖ up to which Lanczos steps with K are expected to be few
cdef double SOLVED = 4e-15            # the residual of Lanczos steps with K, relative to h
cdef double LARGEST_RATIO = 1e100     # of the point to the radius; beyond it the projection is the limit to rounding


cdef class L2Ball(Domain):
    def __init__(self, d, radius):
        self._vectors = np.empty(self.d)

    def prepare_full(self):
        Domain.prepare_full(self)
        if self._vectors.shape[0] == self.d:
            self._vectors = np.empty((LAST_STEPS + 4) * self.d)

    def prepare_free(self, Py_ssize_t n):
        self.free_set, self._lanczos = FreeSet(self.d, n), np.zeros((MOST_STEPS + 5) * n)

    def bring_inside(self, c):
        c /= max(np.linalg.norm(c / self.radius), 1.0)
        cdef double[::1] c_view = c
        shrink_into(self, &c_view[0], self.radius * self.radius)

    cdef bint contains(self, const double* c) noexcept nogil:
        return self.gauge(c, self.d, 1) <= self.radius * self.radius

    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0
        for i in range(n):
            total += c[i * stride] * c[i * stride]
        return total

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return gauge > GAUGE_MARGIN * self.radius * self.radius

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double* u = &self._vectors[0]
        cdef double mu = 0, squares, bend, norm, shrunk, step
        cdef int _attempt
        if self.contains(c):
            return
        memcpy(u, c, d * sizeof(double))
        for i in range(d):
            # |c_i| ≤ r by itself already: a lower bound of μ that copes with any spread of h.
            mu = fmax(mu, (fabs(u[i]) / self.radius - 1) / h[i])
        for _attempt in range(NEWTON_STEPS):
            squares = bend = 0
            for i in range(d):
                shrunk = u[i] / (1 + mu * h[i])
                squares += shrunk * shrunk
                bend += shrunk * shrunk * h[i] / (1 + mu * h[i])
            if not bend > 0:
                break
            norm = sqrt(squares)
            step = (norm / self.radius - 1) * squares / bend
            mu += step
            if not step > 4 * ROUNDING * mu:
                break
        for i in range(d):
            c[i] = u[i] / (1 + mu * h[i])
        shrink_into(self, c, self.radius * self.radius)

    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double* u = &self._vectors[0]
        cdef double* point = u + d
        cdef double* basis = u + 2 * d           # LAST_STEPS Lanczos vectors, and one more
        cdef double[2 * LAST_STEPS + 2] T
        cdef double[LAST_STEPS + 1] y
        cdef double[LAST_STEPS + 1] z
        cdef double mu = 0, low = 0, high = INFINITY, delta, size = 0, norm, after, rest, contraction
        cdef int info, k = 0, steps, _attempt
        cdef bint done
        for i in range(d):
            size = fmax(size, fabs(c[i]))
        for i in range(d):
            u[i] = c[i] / self.radius if size / self.radius <= LARGEST_RATIO else c[i] / size * LARGEST_RATIO
        for _attempt in range(MAX_FACTORS):
            memcpy(point, u, d * sizeof(double))
            if mu > 0:
                info = self.metric.factor_shifted(mu)
                if info != 0:
                    return info
                self.metric.solve(point, 1)
            norm = sqrt(dot(point, point, d))
            if not isfinite(norm):
                return NOT_FINITE
            if norm > 1:
                low = mu
            else:
                high = mu
            for i in range(d):
                basis[i] = point[i] / norm
            delta, k = 0, 0
            steps = TRIAL_STEPS if mu > 0 or start != NULL else FIRST_STEPS
            done = False
            while k < steps and not done:
                rest = self.lanczos_step(basis, T, k, mu > 0)
                k += 1
                if mu == 0 and 2 < k < steps and rest > ROUNDING * T[0]:
                    continue
                delta = secular_step(T, y, z, k, norm, delta, low - mu)
                # The residual of the combination in units of its length; refinement multiplies it by at most ``contraction``.
                contraction = fabs(delta) / mu if mu > 0 else delta * d
                done = contraction <= NEAR and contraction * fabs(delta * rest * y[k - 1]) <= ROUNDING
                if k == TRIAL_STEPS and mu > 0 and contraction <= NEAR:
                    steps = LAST_STEPS
                if not rest > ROUNDING * T[0]:
                    break
            after = mu + delta
            if done or high - low <= 4 * ROUNDING * low:
                break
            if mu == 0 and start != NULL:
                after = fmax(after, self.multiplier_at(start, u, point))
            if not low < after < high:
                after = low + (high - low) / 2 if isfinite(high) else 2 * low
            if not isfinite(after) or not after > 0:
                return STALLED
            mu = after
        memset(c, 0, d * sizeof(double))
        for i in range(k):
            axpy(norm * y[i], basis + i * d, c, d)
        self.refine(c, u, point, mu > 0, mu + delta)
        mu += delta
        self.back_to_sphere(c, z, norm, basis, k, point, &mu)
        # What is left is rounding; with a matrix near to singular that may be more than the last digit.
        size = sqrt(dot(c, c, d))
        for i in range(d):
            c[i] *= self.radius / size
        shrink_into(self, c, self.radius * self.radius)
        for i in range(d):
            w[i] = mu * c[i]
        return 0

    cdef bint few_are_free(self) noexcept nogil:
        return True

    cdef int project_free(self) noexcept nogil:
        cdef Py_ssize_t i, d = self.d, n = self.free_set.n
        cdef const double* last = self.free_set.K + (n - 1) * n
        cdef double* x = self.free_set.x
        cdef double* w = self.free_set.w
        cdef double* h = &self._lanczos[0]
        cdef double* c = h + n
        cdef double* before = h + 2 * n              # x where it starts, and S times it
        cdef double of_intercept = 1 / last[n - 1] if n > d else 0
        cdef double trace = 0, push = 0, size, mu = 0
        cdef int status = STALLED
        # w ← h − Sx with S = K less the intercept
        self.free_set.renew_gradient()
        memcpy(before, x, d * sizeof(double))
        self.times_S(before, h)
        for i in range(d):
            w[i] -= last[i] * (of_intercept * w[d]) if n > d else 0
            h[i] += w[i]
            trace += self.free_set.root[i] * self.free_set.root[i]
            push += w[i] * w[i]
        size = dot(before, before, d)
        if fabs(size - self.radius * self.radius) <= 1e-6 * self.radius * self.radius:
            mu = fmax(dot(before, w, d) / size, 0)
        if trace * self.radius <= SMALL * sqrt(push):
            status = self.by_products(h, c, &mu)
        if status != 0 and self.by_factors(h, before, c, &mu) != 0:
            return STALLED
        size = self.radius / sqrt(dot(c, c, d))
        for i in range(d):
            x[i] = c[i] * size
        shrink_into(self, x, self.radius * self.radius)
        for i in range(d):
            w[i] = mu * x[i]
        if n > d:
            size = self.free_set.f[d]
            for i in range(d):
                size -= last[i] * (x[i] - self.free_set.a[i])
            x[d], w[d] = self.free_set.a[d] + size * of_intercept, 0
        return 0

    cdef void times_S(self, double* q, double* out) noexcept nogil:
        """out = Sq, with room for n numbers in both; what is in the place of the intercept is scratch."""
        cdef Py_ssize_t d = self.d, n = self.free_set.n
        cdef const double* last = self.free_set.K + (n - 1) * n
        if n > d:
            q[d] = -dot(last, q, d) / last[d]
        symmetric_times(self.free_set.K, q, out, n)

    cdef int by_products(self, const double* h, double* c, double* mu) noexcept nogil:
        """(S + μI)c = h/r with ‖c‖ = 1 by Lanczos steps with S from h; if they would be many, only a lower bound of μ."""
        cdef Py_ssize_t i, d = self.d, n = self.free_set.n
        cdef double* basis = &self._lanczos[4 * n]
        cdef double* q
        cdef double* following
        cdef double[MOST_STEPS] diagonal
        cdef double[MOST_STEPS + 1] beside
        cdef double[MOST_STEPS] y
        cdef double norm = sqrt(dot(h, h, d)), size, level, inverse
        cdef int k, check = FREE_TRIAL
        if not isfinite(norm) or not norm > 0:
            return STALLED
        for i in range(d):
            basis[i] = h[i] / norm
        beside[0] = 0
        level = 0
        for k in range(MOST_STEPS):
            q, following = basis + k * n, basis + (k + 1) * n
            self.times_S(q, following)
            diagonal[k] = dot(q, following, d)
            axpy(-diagonal[k], q, following, d)
            if k > 0:
                axpy(-beside[k], q - n, following, d)
            beside[k + 1] = sqrt(dot(following, following, d))
            if not isfinite(beside[k + 1]):
                return STALLED
            if k + 1 == check or not beside[k + 1] > ROUNDING * diagonal[0]:
                level = level_of(diagonal, beside, y, k + 1, norm / self.radius, fmax(level, norm / self.radius - diagonal[0]))
                if not level > 0:
                    return STALLED
                size = beside[k + 1] * fabs(y[k]) * self.radius / norm
                if size <= SOLVED:
                    break
                # the residual falls faster and faster: look again a little before the rate so far would have it
                check = k + 1 + <int> fmax(1, 0.7 * (k + 1) * (log(SOLVED) / log(fmin(size, 0.9)) - 1))
                if check > MOST_STEPS:
                    mu[0] = fmax(mu[0], level)
                    return STALLED
            inverse = 1 / beside[k + 1]
            for i in range(d):
                following[i] *= inverse
        memset(c, 0, d * sizeof(double))
        for i in range(k + 1):
            axpy(y[i], basis + i * n, c, d)
        mu[0] = level
        return 0

    cdef int by_factors(self, const double* h, const double* before, double* c, double* mu) noexcept nogil:
        """The same as in ``solve_full``, with factors of S + μI: c(μ + δ) = (I + δM)⁻¹c(μ), M = (S + μI)⁻¹."""
        cdef Py_ssize_t i, d = self.d, n = self.free_set.n
        cdef double* point = &self._lanczos[3 * n]
        cdef double* basis = &self._lanczos[4 * n]
        cdef double[2 * LAST_STEPS + 2] T
        cdef double[LAST_STEPS + 1] y
        cdef double[LAST_STEPS + 1] z
        cdef double low = 0, high = INFINITY, delta, norm, after, rest, contraction, largest
        cdef int k, steps, _attempt
        cdef bint done = False
        for _attempt in range(FREE_FACTORS):
            if self.factor_S(mu[0]) != 0:
                return STALLED
            for i in range(d):
                point[i] = h[i] / self.radius
            cholesky_solve(self.free_set.block, point, d)
            norm = sqrt(dot(point, point, d))
            if not isfinite(norm) or not norm > 0:
                return STALLED
            if norm > 1:
                low = mu[0]
            else:
                high = mu[0]
            for i in range(d):
                basis[i] = point[i] / norm
            delta, k, largest = 0, 0, 0
            steps = FREE_TRIAL_FACTORED
            while k < steps and not done:
                memcpy(basis + (k + 1) * d, basis + k * d, d * sizeof(double))
                cholesky_solve(self.free_set.block, basis + (k + 1) * d, d)
                rest = orthogonalise(basis, T, k, d)
                largest = fmax(largest, T[2 * k] + rest + (T[2 * k - 1] if k > 0 else 0))
                k += 1
                delta = secular_step(T, y, z, k, norm, delta, low - mu[0])
                contraction = fabs(delta) * fmin(largest, 1 / mu[0] if mu[0] > 0 else INFINITY)
                done = contraction <= NEAR and contraction * fabs(delta * rest * y[k - 1]) <= ROUNDING
                if k == FREE_TRIAL_FACTORED and contraction <= NEAR:
                    steps = LAST_STEPS
                if not rest > ROUNDING * T[0]:
                    break
            after = mu[0] + delta
            if done or high - low <= 4 * ROUNDING * low:
                break
            if not low < after < high:
                after = low + (high - low) / 2 if isfinite(high) else 2 * low
            if not isfinite(after) or not after > 0:
                return STALLED
            mu[0] = after
        else:
            return STALLED
        memset(c, 0, d * sizeof(double))
        for i in range(k):
            axpy(norm * y[i], basis + i * d, c, d)
        # one step of iterative refinement, from where the residual is known best
        mu[0] += delta
        for i in range(d):
            point[i] = self.radius * c[i] - before[i]
        self.times_S(point, basis + k * d)
        for i in range(d):
            point[i] = (self.free_set.w[i] - basis[k * d + i]) / self.radius - mu[0] * c[i]
        cholesky_solve(self.free_set.block, point, d)
        axpy(1, point, c, d)
        self.back_to_sphere(c, z, norm, basis, k, point, mu)
        return 0

    cdef int factor_S(self, double mu) noexcept nogil:
        """Cholesky factor of S + μI."""
        cdef Py_ssize_t i, d = self.d, n = self.free_set.n
        cdef const double* K = self.free_set.K
        cdef double* block = self.free_set.block
        if n > d:
            less_outer(K, n, K + d * n, K[d * n + d], mu, block, d)
        else:
            memcpy(block, K, d * d * sizeof(double))
            for i in range(d):
                block[i * d + i] += mu
        return <int> cholesky(block, d)

    cdef void refine(self, double* c, const double* u, double* residual, bint factored, double mu) noexcept nogil:
        """One step of iterative refinement for (I + μH)c = u, with the factor of a near μ, or that of the identity."""
        cdef Py_ssize_t i
        self.metric.times(c, residual)
        for i in range(self.d):
            residual[i] = u[i] - c[i] - mu * residual[i]
        if factored:
            self.metric.solve(residual, 1)
        for i in range(self.d):
            c[i] += residual[i]

    cdef double lanczos_step(self, double* basis, double* T, int k, bint factored) noexcept nogil:
        """Row k of T, as ``orthogonalise`` leaves it, for B or, without a factor, H."""
        cdef Py_ssize_t d = self.d
        cdef double* following = basis + (k + 1) * d
        self.metric.times(basis + k * d, following)
        if factored:
            self.metric.solve(following, 1)
        return orthogonalise(basis, T, k, d)

    cdef void back_to_sphere(self, double* c, const double* z, double norm, const double* basis, int k, double* along,
                             double* mu) noexcept nogil:
        """To ‖c‖ = 1 along the curve c(μ), whose direction is −Σ z_i q_i times the norm."""
        cdef Py_ssize_t d = self.d
        cdef double delta
        cdef int i
        memset(along, 0, d * sizeof(double))
        for i in range(k):
            axpy(norm * z[i], basis + i * d, along, d)
        delta = (dot(c, c, d) - 1) / (2 * dot(c, along, d))
        if fabs(delta) <= NEAR * mu[0]:
            mu[0] += delta
            axpy(-delta, along, c, d)

    cdef double multiplier_at(self, const double* start, const double* u, double* scratch) noexcept nogil:
        """The μ for which u − c = μHc holds along c, for a c on the sphere that is near the projection; or 0."""
        cdef Py_ssize_t i, d = self.d
        cdef double* c = scratch
        cdef double* turned = scratch + d
        cdef double size, along
        for i in range(d):
            c[i] = start[i] / self.radius
        size = dot(c, c, d)
        if not fabs(size - 1) <= 1e-6:
            return 0
        self.metric.times(c, turned)
        along = (dot(c, u, d) - size) / dot(c, turned, d)
        return along if isfinite(along) else 0


cdef double orthogonalise(double* basis, double* T, int k, Py_ssize_t d) noexcept nogil:
    """From an operator times vector k of the basis, in the place of the next one, that vector, and row k of T.

    Its diagonal entry is in T[2k]; T[2k + 1], also returned, couples it to the next vector.
    """
    cdef double* following = basis + (k + 1) * d
    cdef double length
    cdef Py_ssize_t i
    cdef int j
    T[2 * k] = dot(basis + k * d, following, d)
    for j in range(k, -1, -1):
        axpy(-dot(basis + j * d, following, d), basis + j * d, following, d)
    length = sqrt(dot(following, following, d))
    T[2 * k + 1] = length
    for i in range(d):
        following[i] = following[i] / length if length > 0 else 0
    return length
