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
"""
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy, memset

from ._domains cimport NOT_FINITE, STALLED, Domain, shrink_into
from ..linalg._loops cimport axpy, dot

import numpy as np

cdef enum:
    NEWTON_STEPS = 200
    MAX_FACTORS = 60
    FIRST_STEPS = 10          # Lanczos steps before there is a factor
    TRIAL_STEPS = 2           # and with a factor, before it is known to be near enough ...
    LAST_STEPS = 12           # ... and if it is

# How far below its limit a gauge kept by additions may have drifted.
cdef double GAUGE_MARGIN = 1 - 1e-9
cdef double ROUNDING = 2.220446049250313e-16
cdef double NEAR = 0.03              # |δ| ≤ NEAR μ: more Lanczos steps are cheaper than another factor
cdef double LARGEST_RATIO = 1e100     # of the point to the radius; beyond it the projection is the limit to rounding


cdef double secular_step(const double* T, double* y, double* z, int k, double norm, double delta, double lowest) noexcept nogil:
    """The multiplier of the sphere among k Lanczos vectors, in O(k) a step of Newton's method.

    The δ ≥ lowest with norm · ‖y‖ = 1 for y = (I + δT)⁻¹e_1, from a first guess of it; z = −dy/dδ there.

    T[2i] is the diagonal entry of row i, and T[2i + 1] couples it to the next row.
    """
    cdef double[LAST_STEPS + 1] inverse
    cdef double[LAST_STEPS + 1] below
    cdef double squares, bend, length, step, last = INFINITY
    cdef int i, _attempt
    for _attempt in range(60):
        # I + δT = LDLᵀ with 1/D in inverse and −L below the diagonal in below; z = (I + δT)⁻¹Ty
        inverse[0] = 1 / (1 + delta * T[0])
        y[0] = 1
        for i in range(1, k):
            below[i] = -delta * T[2 * i - 1] * inverse[i - 1]
            inverse[i] = 1 / (1 + delta * (T[2 * i] + below[i] * T[2 * i - 1]))
            y[i] = below[i] * y[i - 1]
        y[k - 1] *= inverse[k - 1]
        for i in range(k - 2, -1, -1):
            y[i] = y[i] * inverse[i] + below[i + 1] * y[i + 1]
        squares = 0
        for i in range(k):
            squares += y[i] * y[i]
            z[i] = T[2 * i] * y[i]
            if i > 0:
                z[i] += T[2 * i - 1] * y[i - 1]
            if i < k - 1:
                z[i] += T[2 * i + 1] * y[i + 1]
        for i in range(1, k):
            z[i] += below[i] * z[i - 1]
        z[k - 1] *= inverse[k - 1]
        for i in range(k - 2, -1, -1):
            z[i] = z[i] * inverse[i] + below[i + 1] * z[i + 1]
        bend = 0
        for i in range(k):
            bend += y[i] * z[i]
        length = norm * sqrt(squares)
        step = (length - 1) * squares / bend
        # At the root, where rounding alone changes δ; y belongs to this δ.
        if not fabs(length - 1) > 2 * ROUNDING or not fabs(step) < last and fabs(length - 1) < 1e-14 or not isfinite(step):
            break
        last = fabs(step)
        if delta + step <= lowest:
            step = lowest - delta
            if step == 0:
                break
        delta += step
    return delta


cdef class L2Ball(Domain):
    def __init__(self, d, radius):
        self._vectors = np.empty(self.d)

    def prepare_full(self):
        Domain.prepare_full(self)
        if self._vectors.shape[0] == self.d:
            self._vectors = np.empty((LAST_STEPS + 4) * self.d)

    def bring_inside(self, c):
        largest = max(np.abs(c).max(), self.radius)      # whose square may not be represented
        c /= largest
        c *= self.radius / max(np.linalg.norm(c), self.radius / largest)
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

    cdef double shrinkage(self, double gauge) noexcept nogil:
        return fmin(self.radius / sqrt(gauge), 1.0)

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
        """The next vector of the basis and row k of T, for B or, without a factor, H.

        The diagonal entry of the row is in T[2k]; T[2k + 1], also returned, couples it to the next vector.
        """
        cdef Py_ssize_t i, d = self.d
        cdef double* following = basis + (k + 1) * d
        cdef double length
        cdef int j
        self.metric.times(basis + k * d, following)
        if factored:
            self.metric.solve(following, 1)
        T[2 * k] = dot(basis + k * d, following, d)
        for j in range(k, -1, -1):
            axpy(-dot(basis + j * d, following, d), basis + j * d, following, d)
        length = sqrt(dot(following, following, d))
        T[2 * k + 1] = length
        for i in range(d):
            following[i] = following[i] / length if length > 0 else 0
        return length

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
