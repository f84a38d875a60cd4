# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What the stack of "auto" runs on: diagonal lanes with two potentials, and implicit steps.

The slow lanes have ψ(λ) = η λ^(−1/3), the p-norm potential with p = 2, the fast ones ψ(λ) = η λ^(−2/3), p = 1/2; AdaGrad is
between them. The first moves rare and frequent features alike, the second moves frequent ones less and less, and what suits a
data set differs: the stack weighs them.

A step is implicit, with the slope at the margin m' where it leads: m' = m − q ℓ'(m'), q = Σ h_i z_i². For the log-loss this is
solved; for other losses with a curvature it is solved to first order. A step then cannot overshoot, however long it is.
"""
from libc.math cimport exp, fabs, fmax, fmin

from ._coordinatewise cimport Coordinatewise
from ._diag cimport Diagonal
from ._domains cimport Domain
from ._paired_loops cimport LANES_TOGETHER, paired_grow, paired_scatter, paired_step
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting

import numpy as np

cdef double NEAR = 1e-5                  # its third power is as good as rounding


cdef inline double first_guess(double a, double q, double* odds) noexcept nogil:
    """Where steps do not overshoot: the equation is concave beyond 0 and convex before. Takes σ(−a), leaves σ(−u) there."""
    cdef double u
    if a + 0.5 * q > 0.0:
        if a <= 0.0:
            odds[0] = 0.5
        return fmax(a, 0.0)
    u = fmin(a + q * odds[0], 0.0)
    odds[0] = 1.0 / (1.0 + exp(u))
    return u


cdef inline double halley_step(double u, double a, double q, double* odds) noexcept nogil:
    """Halley's step for u = a + q σ(−u); takes σ(−u), leaves what it is where the step leads, by its Taylor series."""
    cdef double now = odds[0]
    cdef double curvature = now * (1.0 - now)
    cdef double inverse = 1.0 / (1.0 + q * curvature)
    cdef double step = (u - a - q * now) * inverse
    step /= fmax(1.0 + step * q * curvature * (0.5 - now) * inverse, 0.5)
    odds[0] = now + step * curvature * (1.0 + step * (0.5 - now))
    return step


cdef void far_odds(double a, double q, double b, double r, double* odds) noexcept nogil:
    """σ(−u) at the u = a + q σ(−u) from σ(−a), and the same of b and r: neither waits for the other's exponential."""
    cdef double u = first_guess(a, q, &odds[0])
    cdef double v = first_guess(b, r, &odds[1])
    cdef double step, other
    cdef int _
    for _ in range(60):
        step, other = halley_step(u, a, q, &odds[0]), halley_step(v, b, r, &odds[1])
        if not (fabs(step) > NEAR or fabs(other) > NEAR):
            break
        u -= step
        v -= other
        odds[0], odds[1] = 1.0 / (1.0 + exp(u)), 1.0 / (1.0 + exp(v))


cdef class PairedDiagonal(Diagonal):
    """Lanes r·K + k of two step sizes: the first K slow, the others fast."""

    cdef double[::1] fast                # 1 for the lanes with the square of ψ
    cdef const double* row_margins       # of the lanes, in the round under way

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.fast = np.tile(np.repeat([0.0, 1.0], setting.K), max(1, LANES_TOGETHER // setting.L))
        self.longest_step = fmax(self.longest_step, self.longest_step * self.longest_step)

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        return not (self.logistic and self.plain)

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Diagonal.bind_loss(self, curvatures, steep)
        self.fused = self.plain and self.memory is None

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        self.row_margins = margins
        Coordinatewise.predict(self, row, margins)

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        if self.scale.grew:
            self.change_units(row)
        paired_grow(row.z, self.entering(slopes), &self.fast[0], self.cells.Gb, self.cells.hb, &self.lengths[0], row.n,
                    self.setting.L)
        if not self.logistic:
            self.lane_slopes()
        self.shorten()
        if self.cells.records:
            paired_scatter(self.cells.x, self.cells.G, self.cells.u, self.cells.stride, row.index, row.z, &self.es[0], self.clock.C,
                           self.cells.Gb, self.cells.hb, row.n, self.setting.L)
            return
        paired_step(row.z, &self.es[0], self.cells.hb, self.clock.C, self.cells.xb, self.cells.ub, row.n, self.setting.L)
        if not self.cells.direct:
            self.cells.scatter_all(row)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """G, and with it the steps and how far they lead: the verbs below find them done."""
        self.slopes = slopes
        if self.scale.grew:
            self.change_units(row)
        self.forget(row)
        paired_grow(row.z, self.entering(slopes), &self.fast[0], self.cells.Gb, self.cells.hb, &self.lengths[0], row.n,
                    self.setting.L)
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        return 0

    cdef void measure_steps(self, Row* row) noexcept nogil:
        pass

    cdef void shorten(self) noexcept nogil:
        """Of two lanes at a time: those that follow one another, the last perhaps with itself."""
        cdef Py_ssize_t l, k
        cdef Py_ssize_t L = self.setting.L
        cdef double common, q, r
        cdef double odds[2]
        cdef const double* m = self.row_margins
        cdef const double* s = self.slopes
        if not self.logistic:
            Diagonal.shorten(self)
            return
        common = self.round_weight * self.lane_rate(0) / self.setting.eta[0]        # margins have no unit: ρ = 1
        for l in range(0, L, 2):
            k = l + 1 if l + 1 < L else l
            q, r = common * self.setting.eta[l], common * self.setting.eta[k]
            odds[0], odds[1] = fabs(s[l]) / self.round_weight, fabs(s[k]) / self.round_weight
            far_odds(m[l] if s[l] < 0.0 else -m[l], q * self.lengths[l], m[k] if s[k] < 0.0 else -m[k], r * self.lengths[k], odds)
            self.es[l] = -q * odds[0] if s[l] < 0.0 else (q * odds[0] if s[l] > 0.0 else 0.0)
            self.es[k] = -r * odds[k - l] if s[k] < 0.0 else (r * odds[k - l] if s[k] > 0.0 else 0.0)

    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef double rate = self.setting.eta[lane] if row == NULL else self.lane_rate(lane)
        Diagonal.lane_steps(self, row, lane, h)
        if lane >= self.setting.K and not (row != NULL and row.index == NULL):       # there ``precondition`` has squared them
            for i in range(self.setting.D):
                h[i] *= h[i] / rate
