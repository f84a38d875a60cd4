# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What diag and iso share: H_t is diagonal, so a coordinate moves by itself and only when the row touches it.

``_gathered`` brings the touched coordinates together: O(nnz·L) a round. A whole lane is walked only when its domain binds
(l2, l1, simplex) or when isotropic dual averaging, whose h changes for all, has a domain.
"""
from libc.math cimport sqrt

from ._domains cimport Domain
from ._gathered cimport Gathered
from ._loops cimport record_dots
from ._potentials cimport Potential
from ._losses cimport Loss
from ._rows cimport Row
from ._stack cimport Stack
from ._structures cimport Setting, Structure

import numpy as np


cdef void plain_step(const double* z, const double* es, const double* h, double* x, double* u, double C,
                     Py_ssize_t n, Py_ssize_t L) noexcept nogil:
    """x −= η h g with g = s z and es = η s, and the average's accumulator moves along."""
    cdef Py_ssize_t j, l
    cdef double delta
    for j in range(n):
        for l in range(L):
            delta = h[j * L + l] * z[j] * es[l]
            x[j * L + l] -= delta
            if u != NULL:
                u[j * L + l] -= C * delta


cdef class Coordinatewise(Gathered):
    """Diagonal preconditioners, one coordinate at a time."""

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.last = arrays.get("last")
        self.gauge, self.astray = arrays["gauge"], arrays["astray"]
        self.es, self.averages, self.curvatures = np.empty(setting.L), np.empty(setting.L), np.zeros(setting.L)
        self.lighter = np.empty(setting.L)
        self.stack = None
        if setting.rates > 1:
            self.stack = Stack(setting.K, setting.rates, setting.joint, arrays)
        self.plain = self.free and not (setting.dual or self.penalised)
        self.point = self.steps = None
        if self.wholly or self.moves_all:
            self.point, self.steps, self.units = np.empty(setting.D), np.empty(setting.D), np.ones(setting.D)

    def published(self):
        """The fitted model, (K, D)."""
        if self.stack is None:
            return super().published()
        averages = self.average() if self.setting.averaging else None
        return self.in_raw_units(self.stack.published(averages, self.last_iterate()))

    def last_iterate(self):
        """x_{T+1}, with the penalty that is still to be charged, charged on a copy."""
        x = np.array(self.field("x"))
        if not self.penalised:
            return x
        d = self.setting.d
        unit = np.ones(d)
        if self.setting.scaled:
            unit = np.where(self.arrays["scale"][:d] > 0.0, self.arrays["scale"][:d], 1.0)
        rate, gradient_unit = self.present_rates()
        h = rate * self.present_steps()[:, :d]
        rounds = self.arrays["clock"][0] - (0.0 if self.setting.dual else self.arrays["last"][:d])
        pending = rounds > 0.0
        u = (-h * self.field("theta")[:, :d] if self.setting.dual else x[:, :d]) / unit
        charge = h * rounds / (unit**2 * gradient_unit)
        soft = np.sign(u) * np.maximum(np.abs(u) - charge * self.setting.lasso, 0.0)
        charged = np.clip(soft / (1.0 + charge * self.setting.ridge), self.domain.lower, self.domain.upper)
        x[:, :d] = np.where(pending, charged * unit, x[:, :d])
        return x

    def present_rates(self):
        """What steps are multiplied with between rounds, and the unit of the gradients, each (L, 1)."""
        rate = np.ones((self.setting.L, 1))
        unit = rate
        if self.setting.relative and self.arrays["weight"][0] > 0.0:
            rho = np.sqrt(self.arrays["residuals"][:self.setting.L, None] / self.arrays["weight"][0])
            rate = np.where(rho > 0.0, rho, 1.0)
            unit = rate if self.setting.degree == 2 else unit
        if self.setting.scaled and self.arrays["spread"][0] > 0.0:
            rate = rate * np.sqrt(self.arrays["clock"][0] / self.arrays["spread"][0])
        return rate, unit

    def present_steps(self):
        """η ψ(G) of every coordinate now, (L, D)."""
        h = np.empty((self.setting.L, self.setting.D))
        cdef double[:, ::1] view = h
        for lane in range(self.setting.L):
            self.lane_steps(NULL, lane, &view[lane, 0])
        return h

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef double suffer(self, Loss loss, const double* margins, const double* target, double weight, double* slopes) noexcept nogil:
        """With a stack the combined margin predicts, and each lane learns from the loss at its own."""
        cdef Py_ssize_t k, l
        cdef Py_ssize_t K = self.setting.K
        cdef double value = 0.0, unit
        if self.stack is None:
            return Structure.suffer(self, loss, margins, target, weight, slopes)
        if self.u != NULL:
            if not self.on_records:
                self.dots(self.row, self.ub, &self.averages[0])
            for l in range(self.setting.L):
                self.averages[l] = margins[l] - self.averages[l] / self.clock.now[1] if self.clock.now[1] > 0.0 else 0.0
        self.stack.combine(&self.averages[0], margins)
        self.find_offset(loss, target)
        if self.setting.relative or self.setting.shifted:
            for k in range(K):
                value += self.lane_loss(loss, self.setting.L + k, self.stack.M[k], target[k], weight, &self.stack.slopes[k])
                unit = self.factor[self.setting.L + k]
                self.stack.curvatures[k] = self.lane_curvature(loss, self.setting.L + k, self.stack.M[k], target[k]) / (unit * unit)
                self.stack.slopes[k] /= unit
        else:
            value = loss.evaluate(&self.stack.M[0], target, &self.stack.slopes[0], K)
            loss.curvatures(&self.stack.M[0], target, &self.stack.curvatures[0], K)
        if self.stack.learning:
            for k in range(1 if self.stack.joint else K):
                self.stack.learn(k, self.clock.t, weight, target)
        self.suffer_lanes(loss, margins, target, weight, slopes)
        return value

    cdef void suffer_lanes(self, Loss loss, const double* margins, const double* target, double weight,
                           double* slopes) noexcept nogil:
        cdef Py_ssize_t l, r
        cdef Py_ssize_t K = self.setting.K
        if self.setting.relative or self.setting.shifted:
            for l in range(self.setting.L):
                self.lane_loss(loss, l, margins[l], target[l % K], weight, &slopes[l])
                if self.implicit:
                    self.curvatures[l] = weight * self.lane_curvature(loss, l, margins[l], target[l % K])
            return
        for r in range(self.setting.rates):
            loss.find_slopes(margins + r * K, target, slopes + r * K, K)
            if self.implicit:
                loss.curvatures(margins + r * K, target, &self.curvatures[r * K], K)
        if self.implicit:
            for l in range(self.setting.L):
                self.curvatures[l] *= weight

    cdef void shorten(self, const double* reach) noexcept nogil:
        """An implicit step: the slope at the far end, to first order, where a unit slope takes a lane ``reach`` far."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.es[l] /= 1.0 + self.lane_rate(l) / self.factor[l] * reach[l] * self.curvatures[l]

    cdef void meet(self, Loss loss) noexcept nogil:
        self.implicit = self.stack is not None and loss.steep

    cdef void keep_units(self, Row* row) noexcept nogil:
        Structure.keep_units(self, row)
        if self.stack is not None:
            self.stack.keep()

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        if self.on_records:
            record_dots(self.x, self.G, self.u, self.stride, row.index, row.z, margins,
                        &self.averages[0] if self.stack is not None and self.u != NULL else NULL, self.Gb, row.n, self.setting.L)
        else:
            self.dots(row, self.xb, margins)

    cdef int update(self, Row* row) noexcept nogil:
        if self.plain:
            self.descend(row)
            if not self.on_records:
                self.scatter_all(row)
            return 0
        self.aim(row)
        self.commit(row)
        if self.wholly or self.moves_all:
            self.confine(row)
        return 0

    cdef void rest(self, Row* row) noexcept nogil:
        if self.setting.scaled and self.grew:
            self.grow(row)
            if self.on_records:
                self.scatter(row, self.Gb, self.G)
            else:
                self.scatter_all(row)

    # ---- how it is done -----------------------------------------------------------------------------------------

    cdef void descend(self, Row* row) noexcept nogil:
        """The plain mirror descent step: no penalty, no domain."""
        cdef Py_ssize_t j, l
        cdef Py_ssize_t L = self.setting.L
        self.lane_slopes()
        if self.implicit:
            for l in range(L):
                self.averages[l] = 0.0
            for j in range(row.n):
                for l in range(L):
                    self.averages[l] += row.z[j] * row.z[j] * self.hb[j * L + l]
            self.shorten(&self.averages[0])
        plain_step(row.z, &self.es[0], self.hb, self.xb, self.ub, self.clock.C, row.n, self.setting.L)

    cdef void lane_slopes(self) noexcept nogil:
        """η times the slope of each lane."""
        cdef Py_ssize_t l
        if not self.has_units:
            for l in range(self.setting.L):
                self.es[l] = self.setting.eta[l] * self.slopes[l]
            return
        for l in range(self.setting.L):
            self.es[l] = self.lane_rate(l) * self.slopes[l]

    cdef void take_slopes(self, const double* slopes) noexcept nogil:
        """The slopes of the round. Where ONS is left to itself a row of weight ω enters G as ω rows: with ω² there and ω in
        the step, heavy rows would move it least."""
        cdef Py_ssize_t l
        self.slopes = self.entering = slopes
        if self.setting.lighter and self.round_weight != 1.0:
            for l in range(self.setting.L):
                self.lighter[l] = slopes[l] / sqrt(self.round_weight)
            self.entering = &self.lighter[0]

    cdef double lane_rate(self, Py_ssize_t lane) noexcept nogil:
        """η, in units of the residuals, and shared by as many features as a row has active ones."""
        cdef double rate = self.setting.eta[lane] * self.factor[lane]
        if self.setting.scaled and self.spread[0] + self.norm2 > 0.0:      # not before the first row with a value in it
            rate *= sqrt(self.clock.t / (self.spread[0] + self.norm2))
        return rate

    cdef void aim(self, Row* row) noexcept nogil:
        """Where the touched coordinates go: a step, the prox of the penalty due, a clip."""
        cdef Py_ssize_t L = self.setting.L
        cdef Py_ssize_t free_from = row.n - self.setting.intercept
        cdef Py_ssize_t j, l, e, i
        cdef double h, goal, gap, rounds = self.clock.t
        cdef double unit = 1.0
        for l in range(L):
            self.es[l] = self.lane_rate(l)
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if self.setting.scaled:
                unit = self.new_scale[j] if self.new_scale[j] > 0.0 else 1.0
            if self.penalised and not self.setting.dual:
                rounds = self.clock.t - self.last[i]
            if self.penalised:
                self.last[i] = self.clock.t
            for l in range(L):
                e = j * L + l
                h = self.es[l] * self.hb[e]
                if self.setting.dual:
                    self.tb[e] += row.z[j] * self.slopes[l]
                    goal = (self.setting.start * unit if j < free_from else 0.0) - h * self.tb[e]
                else:
                    goal = self.xb[e] - h * (row.z[j] * self.slopes[l])
                if j < free_from:                       # penalty and domain are about raw weights
                    goal /= unit
                    if self.penalised:
                        h /= unit * unit * self.loss_unit(l)
                        gap = h * rounds * self.setting.lasso
                        goal = goal - gap if goal > gap else (goal + gap if goal < -gap else 0.0)
                        goal /= 1.0 + h * rounds * self.setting.ridge
                    if goal < self.domain.lower:
                        goal = self.domain.lower
                    elif goal > self.domain.upper:
                        goal = self.domain.upper
                    goal *= unit
                self.nb[e] = goal

    cdef void commit(self, Row* row) noexcept nogil:
        """Move there, the average's accumulator and the domain's gauge along."""
        cdef Py_ssize_t L = self.setting.L
        cdef Py_ssize_t coefs = row.n - self.setting.intercept
        cdef Py_ssize_t e, l
        if self.wholly:
            for l in range(L):
                self.gauge[l] += self.domain.gauge(self.nb + l, coefs, L) - self.domain.gauge(self.xb + l, coefs, L)
        if self.ub != NULL:
            for e in range(row.n * L):
                self.ub[e] += self.clock.C * (self.nb[e] - self.xb[e])
        for e in range(row.n * L):
            self.xb[e] = self.nb[e]
        self.scatter_all(row)

    cdef void confine(self, Row* row) noexcept nogil:
        """Project the lanes whose point has left the domain; walk those whose every coordinate moves."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            if self.moves_all or self.setting.scaled or self.astray[l] != 0.0 or self.domain.gauge_exceeds(self.gauge[l]):
                self.settle(row, l)

    cdef void settle(self, Row* row, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i, e
        cdef Py_ssize_t d = self.setting.d
        cdef double* goal = &self.point[0]
        cdef double* h = &self.steps[0]
        cdef bint binds
        self.lane_steps(row, lane, h)
        self.spread_units(row)
        for i in range(self.setting.D):
            e = i * self.stride + lane
            goal[i] = self.x[e]
            if self.setting.dual:
                goal[i] = (self.setting.start * self.units[i] if i < d else 0.0) - h[i] * self.theta[e]
        for i in range(d):                               # the domain is about raw weights
            goal[i] /= self.units[i]
            h[i] /= self.units[i] * self.units[i]
        self.gauge[lane] = self.domain.gauge(goal, d, 1)      # of the unprojected point: what next round's steps build on
        binds = not self.domain.contains(goal)
        if binds:
            self.domain.project_diagonal(goal, h)
        if not self.setting.dual:
            self.gauge[lane] = self.domain.gauge(goal, d, 1)
        for i in range(d):
            goal[i] *= self.units[i]
        for i in range(self.setting.D):
            e = i * self.stride + lane
            if self.u != NULL:
                self.u[e] += self.clock.C * (goal[i] - self.x[e])
            self.x[e] = goal[i]
        self.astray[lane] = binds and self.setting.dual

    cdef void spread_units(self, Row* row) noexcept nogil:
        """The units of all features, those of the row under way among them; an unseen feature counts in ones."""
        cdef Py_ssize_t i, j
        if not self.setting.scaled:
            return
        for i in range(self.setting.d):
            self.units[i] = self.scale[i] if self.scale[i] > 0.0 else 1.0
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if i < self.setting.d and self.new_scale[j] > 0.0:
                self.units[i] = self.new_scale[j]

    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil:
        """η ψ(G) of all coordinates of a lane, in the round of this row or (NULL) between rounds."""
        pass
