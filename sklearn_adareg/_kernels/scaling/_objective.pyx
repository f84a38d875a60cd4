"""The loss as the weight vectors of a model see it, in units of its own.

A regression loss of degree 1 or 2 is evaluated on r/ρ, the residual in units of its running root mean square: slopes then have
no unit, steps are multiplied by ρ, and the loss is reported in its own unit. Under a log link the residual e^m − y is the slope,
and is divided by ρ likewise; the margin has no unit, so curvatures are divided by their running mean and steps multiplied by ρ
over that mean. The margin is kept within ±15 of the offset there, and a residual that is rounding is 0: the first row, whose target
is the offset, is exact in every unit of y.
"""
from libc.math cimport fabs, fmax, fmin, log

from ..losses._losses cimport PointLoss
from ._units cimport Curvatures, Offsets, Residuals

import numpy as np

cdef double FARTHEST = 15.0          # from the offset, under a log link
cdef double EXACT = 1e-12            # relative to the target: what exp(log y) − y is by rounding


cdef class Objective:
    """Margins of ``vectors`` weight vectors and a target in; loss, slopes and curvatures out. Vector l is of output l mod K."""

    def __init__(self, Py_ssize_t vectors, Py_ssize_t K, Residuals residuals, Offsets offsets, Curvatures curvatures):
        self.vectors, self.K, self.groups = vectors, K, vectors // K
        self.residuals, self.offsets, self.curvatures = residuals, offsets, curvatures
        self.plain = residuals is None and offsets is None
        self.step_units, self.curvature_units, self.loss_units = np.ones(vectors), np.ones(vectors), np.ones(vectors)

    cdef double evaluate(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil:
        """The loss, and dℓ/dm of each weight vector in units of ρ. Offsets have been proposed before."""
        cdef Py_ssize_t l
        cdef double total = 0.0
        if self.plain:
            return self.loss.evaluate(margins, target, slopes, self.vectors)
        for l in range(self.vectors):
            total += self.value_of_vector(l, margins[l], target[l % self.K], weight, &slopes[l])
        return total

    cdef void find_slopes(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil:
        """The slopes alone, for weight vectors that hold several members of the K weight vectors; 0 for those that rest."""
        cdef Py_ssize_t k, l
        if self.plain:
            for l in range(self.groups):
                if self.all_inactive(l):
                    for k in range(l * self.K, (l + 1) * self.K):
                        slopes[k] = 0.0
                else:
                    self.loss.find_slopes(margins + l * self.K, target, slopes + l * self.K, self.K)
            return
        for l in range(self.vectors):
            self.value_of_vector(l, margins[l], target[l % self.K], weight, &slopes[l])

    cdef void find_curvatures(self, const double* margins, const double* target, double* curvatures) noexcept nogil:
        """ℓ'' at the margins just evaluated, in the same units."""
        cdef Py_ssize_t l
        cdef double margin
        if self.plain:
            for l in range(self.groups):
                if not self.all_inactive(l):
                    self.loss.curvatures(margins + l * self.K, target, curvatures + l * self.K, self.K)
            return
        for l in range(self.vectors):
            margin = self.from_offset(l, margins[l])
            if self.residuals is None or self.curvatures is not None:
                curvatures[l] = (<PointLoss> self.loss).curvature(margin, target[l % self.K]) / self.curvature_units[l]
            else:
                curvatures[l] = (<PointLoss> self.loss).curvature((margin - target[l % self.K]) / self.step_units[l], 0.0)

    cdef bint all_inactive(self, Py_ssize_t member) noexcept nogil:
        """Whether none of its weight vectors learns in this round."""
        cdef Py_ssize_t k
        if self.inactive == NULL:
            return False
        for k in range(member * self.K, (member + 1) * self.K):
            if not self.inactive[k]:
                return False
        return True

    cdef double from_offset(self, Py_ssize_t vector, double margin) noexcept nogil:
        """The margin with its offset."""
        cdef double offset
        if self.offsets is None:
            return margin
        offset = self.offsets.proposed[vector % self.K]
        return margin + offset if not self.loss.log_link else offset + fmax(-FARTHEST, fmin(FARTHEST, margin))

    cdef double value_of_vector(self, Py_ssize_t vector, double margin, double target, double weight, double* slope) noexcept nogil:
        cdef double rho, value = 0.0
        cdef double residual
        margin = self.from_offset(vector, margin)
        residual = margin - target
        self.step_units[vector] = self.loss_units[vector] = 1.0
        if self.residuals is None or self.curvatures is not None:
            value = (<PointLoss> self.loss).point(margin, target, slope)
            if self.residuals is None:
                return value
            residual = slope[0] if fabs(slope[0]) > EXACT * target else 0.0
            self.curvature_units[vector] = self.curvatures.propose(vector, (<PointLoss> self.loss).curvature(margin, target), weight)
        rho = self.residuals.propose(vector, residual, weight)
        slope[0] = 0.0
        if rho == 0.0:
            return value
        if self.curvatures is not None:
            slope[0] = residual / rho
            self.step_units[vector], self.loss_units[vector] = rho / self.curvature_units[vector], rho
            return value
        self.step_units[vector], self.loss_units[vector] = rho, rho if self.loss.degree == 2 else 1.0
        return (<PointLoss> self.loss).point(residual / rho, 0.0, slope) * (rho if self.loss.degree == 1 else rho * rho)

    cdef double loss_at(self, Py_ssize_t k, double margin, const double* target) noexcept nogil:
        """The loss of weight vector k; under a log link what it is above that of the best margin, which is never negative."""
        cdef double slope, rho, least
        if self.plain:
            return self.loss.value_of_vector(k, margin, target)
        margin = self.from_offset(k, margin)
        if self.loss.degree > 0:
            rho = self.step_units[k]
            least = (<PointLoss> self.loss).point((margin - target[k]) / rho, 0.0, &slope)
            return least * (rho if self.loss.degree == 1 else rho * rho)
        least = (<PointLoss> self.loss).point(log(target[k]), target[k], &slope) if target[k] > 0.0 else 0.0
        return fmax(0.0, (<PointLoss> self.loss).point(margin, target[k], &slope) - least)

    cdef double slope_at(self, Py_ssize_t k, double margin, const double* target, double* curvature) noexcept nogil:
        """dℓ/dm and ℓ'' of weight vector k, of the loss in its unit, with margins in the unit of the targets; not where ``plain``."""
        cdef double slope, unit = self.step_units[k]
        margin = self.from_offset(k, margin)
        if self.loss.degree > 0:
            (<PointLoss> self.loss).point((margin - target[k]) / unit, 0.0, &slope)
            curvature[0] = (<PointLoss> self.loss).curvature((margin - target[k]) / unit, 0.0) / (unit * unit)
        else:
            unit *= self.loss_units[k]
            (<PointLoss> self.loss).point(margin, target[k], &slope)
            curvature[0] = (<PointLoss> self.loss).curvature(margin, target[k]) / unit
        return slope / unit

    cdef void commit(self) noexcept nogil:
        """The round stands."""
        if self.residuals is not None:
            self.residuals.commit()
        if self.offsets is not None:
            self.offsets.commit()
        if self.curvatures is not None:
            self.curvatures.commit()
