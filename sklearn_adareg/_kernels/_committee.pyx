# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""A committee: members that differ in their prior read each row together, and their progressive losses say who is right.

Members are lanes of one structure, lane r·K + k is member r of weight vector k, so they share the row and the statistics of its
features. With L_r the sum of a member's losses so far, at the margins that it would publish and before each row is learnt from,

    M = Σ_r p_r m_r,    p_r ∝ exp(−L_r),

predicts. A combination of linear models is a linear model: the published weights are the same combination, and lie in every convex
domain that the members lie in. A regression loss is divided by its running mean first, so that the unit of the targets does not
matter, and no row counts more than CAP, so that none silences a member for good.
"""
from libc.math cimport exp, fmax, fmin, log
from libc.string cimport memcpy

from ._losses cimport Loss, PointLoss
from ._methods cimport Method
from ._rows cimport Row
from ._setting cimport Setting
from ._structures cimport Structure

import numpy as np

cdef double CAP = 10.0
cdef double NEGLIGIBLE = 1e-6


cdef class Committee(Method):
    """R members for each of K weight vectors, which learn independently."""

    @classmethod
    def allocate(cls, structure, Setting setting, bint sparse):
        arrays = super().allocate(structure, setting, sparse)
        arrays.update(cls.allocate_units(setting, setting.K, "committee_"))
        arrays["committee_losses"], arrays["committee_mean"] = np.zeros((setting.K, setting.R)), np.zeros(setting.K + 1)
        return arrays

    def __init__(self, Structure structure):
        super().__init__(structure)
        K, R = self.setting.K, self.setting.R
        self.losses, self.mean = self.arrays["committee_losses"], self.arrays["committee_mean"]
        self.new_losses, self.new_mean = np.array(self.losses), np.array(self.mean)
        self.shares, self.M, self.M_slopes = np.empty(R), np.empty(K), np.empty(K)
        self.told = &self.M[0]
        self.combined = self.objective_of(K, "committee_")
        self.in_units = True                     # losses have to be committed too
        self.average_margins = np.zeros(self.setting.L)
        self.published_margins = &self.margins[0]
        if self.setting.averaging:
            structure.average_margins = &self.average_margins[0]
            self.published_margins = &self.average_margins[0]

    def bind_loss(self, Loss loss):
        super().bind_loss(loss)
        self.combined.loss = loss

    def published(self):
        """The same combination of the members' weights, (K, D)."""
        members = self.structure.average() if self.setting.averaging else self.structure.last_iterate()
        losses = self.arrays["committee_losses"]
        shares = np.exp(losses.min(axis=1, keepdims=True) - losses)
        shares /= shares.sum(axis=1, keepdims=True)
        members = members.reshape(self.setting.R, self.setting.K, -1)
        return self.with_offsets(self.with_zeros(np.einsum("kr,rkd->kd", shares, members), shares))

    cdef double suffer(self, const double* target, double weight) noexcept nogil:
        """The combined margin predicts; each lane learns from the loss at its own."""
        cdef Py_ssize_t k, r
        cdef Py_ssize_t K = self.setting.K
        cdef double value
        for k in range(K):
            self.find_shares(k)
            self.M[k] = 0.0
            for r in range(self.setting.R):
                self.M[k] += self.shares[r] * self.published_margins[r * K + k]
        if self.offsets is not None:
            self.offsets.propose(self.loss, target)
        value = self.combined.evaluate(&self.M[0], target, weight, &self.M_slopes[0])
        if self.first_sight:                     # later margins are no longer progressive
            self.new_mean[K] = self.mean[K] + weight
            for k in range(K):
                self.judge(k, target, weight)
        self.objective.find_slopes(&self.margins[0], target, weight, &self.slopes[0])
        if self.structure.curvatures != NULL:
            self.objective.find_curvatures(&self.margins[0], target, &self.curvatures[0])
        if not self.first_sight:
            self.let_losers_rest()
        return value

    cdef void let_losers_rest(self) noexcept nogil:
        """In later passes members that have no part in the combination need not learn any more."""
        cdef Py_ssize_t k, r
        cdef Py_ssize_t K = self.setting.K
        for k in range(K):
            self.find_shares(k)
            for r in range(self.setting.R):
                if self.shares[r] < NEGLIGIBLE:
                    self.slopes[r * K + k] = self.curvatures[r * K + k] = 0.0

    cdef void find_shares(self, Py_ssize_t k) noexcept nogil:
        """p of the members of weight vector k."""
        cdef Py_ssize_t r
        cdef double best = self.losses[k, 0], total = 0.0
        for r in range(1, self.setting.R):
            best = fmin(best, self.losses[k, r])
        for r in range(self.setting.R):
            self.shares[r] = exp(best - self.losses[k, r])
            total += self.shares[r]
        for r in range(self.setting.R):
            self.shares[r] /= total

    cdef void judge(self, Py_ssize_t k, const double* target, double weight) noexcept nogil:
        """Add the loss of each member at the margin that it would publish; committed when the round stands."""
        cdef Py_ssize_t r
        cdef double loss, unit = 1.0
        self.new_mean[k] = self.mean[k]
        if not self.combined.plain:
            self.new_mean[k] += weight * self.loss_at(k, self.M[k], target)
            unit = self.new_mean[k] / self.new_mean[self.setting.K]
        for r in range(self.setting.R):
            self.new_losses[k, r] = self.losses[k, r]
            if unit > 0.0:
                loss = self.loss_at(k, self.published_margins[r * self.setting.K + k], target)
                self.new_losses[k, r] += weight * fmin(CAP, loss / unit)

    cdef double loss_at(self, Py_ssize_t k, double margin, const double* target) noexcept nogil:
        """The loss of weight vector k; under a log link what it is above that of the best margin, which is never negative."""
        cdef double slope, rho, least
        if self.combined.plain:
            return self.loss.value_of_lane(k, margin, target)
        margin = self.combined.from_offset(k, margin)
        if self.loss.degree > 0:
            rho = self.combined.step_units[k]
            least = (<PointLoss> self.loss).point((margin - target[k]) / rho, 0.0, &slope)
            return least * (rho if self.loss.degree == 1 else rho * rho)
        least = (<PointLoss> self.loss).point(log(target[k]), target[k], &slope) if target[k] > 0.0 else 0.0
        return fmax(0.0, (<PointLoss> self.loss).point(margin, target[k], &slope) - least)

    cdef void commit(self, Row* row) noexcept nogil:
        Method.commit(self, row)
        self.combined.commit()
        if self.first_sight:
            memcpy(&self.losses[0, 0], &self.new_losses[0, 0], self.setting.K * self.setting.R * sizeof(double))
            memcpy(&self.mean[0], &self.new_mean[0], (self.setting.K + 1) * sizeof(double))
