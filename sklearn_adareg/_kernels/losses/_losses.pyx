"""Losses: margins and a target in, a value and slopes out.

``PointLoss.point`` is ℓ(m, y) and dℓ/dm for one margin. ``evaluate`` is the same for the weight vectors of one model: each target
by itself (several regression targets), a class number against the rest, or all classes jointly (softmax).
Kinks have a stated subgradient: 0 for hinge at margin 1, ε-insensitive at the edge, absolute and quantile at residual 0;
−y for perceptron at margin 0, else a model that starts at 0 would never move.
"""
from libc.math cimport exp, fabs, fmax, log

from ..linalg._loops cimport log1p_of_unit

cdef double NEAR_THE_KINK = 0.25    # of a hinge: a parabola that touches it nearer is too narrow
cdef double NEAR = 1.5               # scales of residuals: where a kink begins to count as a parabola


cdef class Loss:
    """Turns the margins of one model into its loss (returned) and one slope a weight vector."""

    cdef double evaluate(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil:
        return 0.0

    cdef double value_of_vector(self, Py_ssize_t vector, double margin, const double* target) noexcept nogil:
        """The part of one weight vector in the loss, where weight vectors have parts of their own."""
        return 0.0

    cdef void find_slopes(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil:
        """The slopes alone."""
        self.evaluate(margins, target, slopes, vectors)

    cdef void curvatures(self, const double* margins, const double* target, double* curvatures, Py_ssize_t vectors) noexcept nogil:
        """d²ℓ/dm² of each weight vector."""
        pass

    def __call__(self, const double[::1] margins, const double[::1] target):
        """The loss and its slopes, for tests and for one row at a time."""
        import numpy as np
        slopes = np.empty(margins.shape[0])
        cdef double[::1] view = slopes
        value = self.evaluate(&margins[0], &target[0], &view[0], margins.shape[0])
        return value, slopes


cdef class PointLoss(Loss):
    """A loss of one margin and one target; several targets add up."""

    def __cinit__(self):
        self.unit = 1.0

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        return 0.0

    cdef double value_of_vector(self, Py_ssize_t vector, double margin, const double* target) noexcept nogil:
        cdef double slope
        return self.point(margin, target[vector], &slope)

    cdef double slope(self, double m, double y) noexcept nogil:
        """dℓ/dm alone."""
        cdef double slope
        self.point(m, y, &slope)
        return slope

    cdef void find_slopes(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(vectors):
            slopes[l] = self.slope(margins[l], target[l])

    cdef double curvature(self, double m, double y) noexcept nogil:
        """d²ℓ/dm², 0 where it is linear."""
        return 0.0

    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil:
        """The slope, and the curvature of the quadratic that a row of this loss leaves behind: between half and all of ℓ'' on average
        over residuals of this scale, so that one pass over such quadratics is nearly as good as the minimiser.

        The square of the slope where there is no curvature: that of a kink."""
        self.point(m, y, slope)
        cdef double h = self.curvature(m, y)
        return h if h > 0.0 else slope[0] * slope[0]

    cdef void curvatures(self, const double* margins, const double* target, double* curvatures, Py_ssize_t vectors) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(vectors):
            curvatures[l] = self.curvature(margins[l], target[l])

    cdef double evaluate(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil:
        cdef double total = 0.0
        cdef Py_ssize_t l
        for l in range(vectors):
            total += self.point(margins[l], target[l], &slopes[l])
        return total


cdef class Linear(PointLoss):
    """y·m: the target is the slope itself, so that a row and a slope are a gradient."""

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        slope[0] = y
        return y * m


cdef inline double logistic(double m, double y, double* slope) noexcept nogil:
    """One formula for both ends: on which side of 0 a margin falls is what the processor cannot guess."""
    cdef double a = y * m
    cdef double odds = exp(a)
    cdef double inverse = 1.0 / odds
    slope[0] = -y / (1.0 + odds)
    return log1p_of_unit(odds if odds < inverse else inverse) + 0.5 * (fabs(a) - a)


cdef class LogLoss(PointLoss):
    """log(1 + exp(−ym)), y = ±1, without overflow at either end."""

    def __init__(self):
        self.logistic = True

    cdef double slope(self, double m, double y) noexcept nogil:
        return -y / (1.0 + exp(y * m))

    cdef double curvature(self, double m, double y) noexcept nogil:
        cdef double e = exp(-fabs(m))
        return e / ((1.0 + e) * (1.0 + e))

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        return logistic(m, y, slope)

    cdef double evaluate(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil:
        cdef double total = 0.0
        cdef Py_ssize_t l
        for l in range(vectors):
            total += logistic(margins[l], target[l], &slopes[l])
        return total


cdef class Hinge(PointLoss):
    """max(0, 1 − ym)."""

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double gap = 1.0 - y * m
        slope[0] = -y if gap > 0.0 else 0.0
        return gap if gap > 0.0 else gap - gap      # gap − gap: 0, and NaN stays NaN

    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil:
        """That of the parabola above the loss which touches it here: (u + |u|)² / 4|u| in u = 1 − ym."""
        self.point(m, y, slope)
        return 0.5 / fmax(fabs(1.0 - y * m), NEAR_THE_KINK)


cdef class SquaredHinge(PointLoss):
    """max(0, 1 − ym)²."""

    def __init__(self):
        self.steep = True

    cdef double curvature(self, double m, double y) noexcept nogil:
        return 2.0 if y * m < 1.0 else 0.0

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double gap = 1.0 - y * m
        slope[0] = -2.0 * y * gap if gap > 0.0 else 0.0
        return gap * gap if gap > 0.0 else gap - gap


cdef inline double of_a_kink(double residual, double scale, double below, double above) noexcept nogil:
    """A curvature for a loss with these slopes on either side of residual 0: that of the parabola which touches it there, or at
    ``NEAR`` scales from 0."""
    return 2.0 * below * above / (below + above) / fmax(fabs(residual), NEAR * scale)


cdef class ModifiedHuber(PointLoss):
    """The squared hinge, linear below ym = −1."""

    def __init__(self):
        self.steep = True

    cdef double curvature(self, double m, double y) noexcept nogil:
        return 2.0 if fabs(y * m) < 1.0 else 0.0

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double a = y * m
        if a >= 1.0:
            slope[0] = 0.0
            return a - a
        if a >= -1.0:
            slope[0] = -2.0 * y * (1.0 - a)
            return (1.0 - a) * (1.0 - a)
        slope[0] = -4.0 * y
        return -4.0 * a

    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil:
        """Beyond the linear end, the curvature that leads back to the margin 1."""
        self.point(m, y, slope)
        return 2.0 if fabs(y * m) < 1.0 else fabs(slope[0]) / fmax(fabs(1.0 - y * m), 2.0)


cdef class Perceptron(PointLoss):
    """max(0, −ym)."""

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double a = y * m
        slope[0] = -y if a <= 0.0 else 0.0
        return -a if a <= 0.0 else a - a


cdef class SquaredError(PointLoss):
    """½ (m − y)²."""

    def __init__(self):
        self.degree = 2
        self.steep = self.constant_curvature = True

    cdef double curvature(self, double m, double y) noexcept nogil:
        return 1.0

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        slope[0] = m - y
        return 0.5 * (m - y) * (m - y)


cdef class Huber(PointLoss):
    """½ r² up to |r| = δ, linear beyond."""
    cdef double delta

    def __init__(self, double delta):
        self.delta = delta
        self.degree = 2
        self.steep = True

    cdef double curvature(self, double m, double y) noexcept nogil:
        return 1.0 if fabs(m - y) <= self.delta * self.unit else 0.0

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double r = m - y, delta = self.delta * self.unit
        if fabs(r) <= delta:
            slope[0] = r
            return 0.5 * r * r
        slope[0] = delta if r > 0.0 else -delta
        return delta * (fabs(r) - 0.5 * delta)

    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil:
        """Beyond the quadratic part, the curvature that leads back to the residual 0."""
        self.point(m, y, slope)
        return fabs(slope[0]) / fabs(m - y) if fabs(m - y) > self.delta * self.unit else 1.0


cdef class Quantile(PointLoss):
    """The pinball loss q·(y − m)₊ + (1 − q)·(m − y)₊."""
    cdef double q

    def __init__(self, double quantile):
        self.q = quantile
        self.degree = 1

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double r = m - y
        if r > 0.0:
            slope[0] = 1.0 - self.q
            return (1.0 - self.q) * r
        slope[0] = -self.q if r < 0.0 else 0.0
        return -self.q * r

    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil:
        self.point(m, y, slope)
        return of_a_kink(m - y, scale, self.q, 1.0 - self.q)


cdef class EpsilonInsensitive(PointLoss):
    """max(0, |m − y| − ε)."""
    cdef double width

    def __init__(self, double insensitivity):
        self.width = insensitivity
        self.degree = 1

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double r = m - y
        cdef double excess = fabs(r) - self.width * self.unit
        slope[0] = 0.0 if excess <= 0.0 else (1.0 if r > 0.0 else -1.0)
        return excess if excess > 0.0 else excess - excess

    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil:
        self.point(m, y, slope)
        return of_a_kink(m - y, scale, 1.0, 1.0)


cdef class AbsoluteError(EpsilonInsensitive):
    """|m − y|."""

    def __init__(self):
        super().__init__(0.0)


cdef class SquaredEpsilonInsensitive(PointLoss):
    """max(0, |m − y| − ε)²."""
    cdef double width

    def __init__(self, double insensitivity):
        self.width = insensitivity
        self.degree = 2
        self.steep = True

    cdef double curvature(self, double m, double y) noexcept nogil:
        return 2.0 if fabs(m - y) > self.width * self.unit else 0.0

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double r = m - y
        cdef double excess = fabs(r) - self.width * self.unit
        slope[0] = 0.0 if excess <= 0.0 else (2.0 * excess if r > 0.0 else -2.0 * excess)
        return excess * excess if excess > 0.0 else excess - excess


cdef class Poisson(PointLoss):
    """exp(m) − ym: the mean is exp(m)."""

    def __init__(self):
        self.log_link = True
        self.steep = True

    cdef double curvature(self, double m, double y) noexcept nogil:
        """The largest on the way to log y, where steps lead: e^m alone would let a step from far below overshoot."""
        return fmax(exp(m), y)

    cdef double point(self, double m, double y, double* slope) noexcept nogil:
        cdef double mean = exp(m)
        slope[0] = mean - y
        return mean - y * m

    cdef double surrogate(self, double m, double y, double scale, double* slope) noexcept nogil:
        """From below, that of the chord to log y, where the slope is 0: e^m would let a step overshoot."""
        self.point(m, y, slope)
        cdef double mean = exp(m), gap = log(y) - m if y > mean else 0.0
        return fmax(mean, -slope[0] / gap) if gap > 1e-6 else mean


cdef class OneVsRest(Loss):
    """Weight vector l learns class first + l against the rest: target[0] is the class number, and losses add up."""

    def __init__(self, PointLoss inner, Py_ssize_t first=0):
        self.inner, self.first = inner, first
        self.steep = inner.steep

    cdef double value_of_vector(self, Py_ssize_t vector, double margin, const double* target) noexcept nogil:
        cdef double slope
        return self.inner.point(margin, 1.0 if self.first + vector == <Py_ssize_t> target[0] else -1.0, &slope)

    cdef void curvatures(self, const double* margins, const double* target, double* curvatures, Py_ssize_t vectors) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(vectors):
            curvatures[l] = self.inner.curvature(margins[l], 1.0 if self.first + l == <Py_ssize_t> target[0] else -1.0)

    cdef double evaluate(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil:
        cdef double total = 0.0
        cdef Py_ssize_t l
        for l in range(vectors):
            total += self.inner.point(margins[l], 1.0 if self.first + l == <Py_ssize_t> target[0] else -1.0, &slopes[l])
        return total


cdef class Softmax(Loss):
    """log Σ exp(m_l) − m_y, y = target[0]: the slopes are the probabilities minus the indicator of y."""

    cdef void curvatures(self, const double* margins, const double* target, double* curvatures, Py_ssize_t vectors) noexcept nogil:
        """The diagonal of the Hessian, p(1 − p)."""
        cdef Py_ssize_t l
        self.evaluate(margins, target, curvatures, vectors)
        curvatures[<Py_ssize_t> target[0]] += 1.0
        for l in range(vectors):
            curvatures[l] *= 1.0 - curvatures[l]

    cdef double evaluate(self, const double* margins, const double* target, double* slopes, Py_ssize_t vectors) noexcept nogil:
        cdef Py_ssize_t l
        cdef Py_ssize_t y = <Py_ssize_t> target[0]
        cdef double top = margins[0]
        cdef double total = 0.0
        for l in range(1, vectors):
            top = margins[l] if margins[l] > top else top
        for l in range(vectors):
            slopes[l] = exp(margins[l] - top)
            total += slopes[l]
        for l in range(vectors):
            slopes[l] /= total
        slopes[y] -= 1.0
        return log(total) + (top - margins[y])
