"""What diag and iso share: H_t is diagonal, so a coordinate moves by itself and only when the row touches it.

``_cells`` brings the touched coordinates together: O(nnz·L) a round. A whole weight vector is walked only when its domain binds
(l2, l1, simplex) or when isotropic dual averaging, whose h changes for all, has a domain. Rows are worked on in place where no
piece can fail, and on copies that are written back by ``update`` where one can.
"""
from libc.math cimport fmax, fmin, sqrt

from ._coordinates cimport LARGEST_STEP, LARGEST_WEIGHT, SMALLEST_SQUARE, Coordinates
from ...domains._domains cimport Domain
from ...linalg._loops cimport record_dots
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport POTENTIAL_RAISED

import numpy as np

cdef double LARGEST_TO_PROJECT = 1e100      # as the limits of ``_coordinates.pxd``
cdef double CANCELLED = 1e6


cdef inline double within(double value, double low, double high) noexcept nogil:
    """The nearest number from low to high; a NaN stays one."""
    return low if value < low else (high if value > high else value)


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


cdef class Coordinatewise(Coordinates):
    """Diagonal preconditioners, one coordinate at a time."""

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.es, self.lengths, self.pull = (np.empty(setting.all_vectors) for _ in range(3))
        self.in_place = (self.cells.stride == setting.L and not potential.fallible and self.memory is None
                         and not (setting.scaled and setting.start != 0.0))
        self.plain = self.unconstrained and not (setting.dual or self.penalised)
        # between rounds a penalty of iterates may be due, a combination may lie outside of the domain, and units may shrink
        self.evaluates_published = (not self.penalised or (setting.averaging and setting.R == 1)) and (
            not setting.scaled or ((self.unconstrained or (setting.R == 1 and setting.start == 0.0)) and self.memory is None))
        self.by_columns = self.unconstrained and not setting.zeros       # which are found in whole vectors
        self.point = self.steps = None
        if self.projects_whole or self.moves_all:
            self.point, self.steps, self.units = np.empty(setting.D), np.empty(setting.D), np.ones(setting.D)

    def prepare(self, Py_ssize_t widest):
        super().prepare(widest)
        self.cells.make_room(widest)
        if self.projects_whole and (self.raw is None or self.raw.shape[0] < 2 * widest):
            self.raw = np.empty(2 * widest)

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        """Where several step sizes learn side by side the longest may be far too long for a steep loss."""
        return steep and self.setting.R > 1

    cdef bint by_records(self) noexcept nogil:
        """Whether sparse rows can be worked on where their coordinates lie."""
        return False

    cdef void enter(self, Row* row) noexcept nogil:
        if row.index == NULL and self.in_place:
            self.cells.take_vectors(row)
        elif self.memory is not None and self.works_in_place(row):
            self.cells.take_vectors(row)
        elif self.memory is not None:
            self.cells.take_copies(row)
            self.catch_up(row)
            if self.scale is not None and self.scale.grew:
                self.keep_raw_weights(row)
            if self.setting.scaled and self.setting.start != 0.0:
                self.keep_raw_start(row)
        elif row.index != NULL and self.by_records():
            self.cells.take_records()
        else:
            self.cells.take_copies(row)
            if self.setting.scaled and self.setting.start != 0.0:
                self.keep_raw_start(row)

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef double* averages = self.average_margins
        cdef Py_ssize_t l
        if self.cells.records:
            record_dots(self.cells.x, self.cells.G, self.cells.u, self.cells.stride, row.index, row.z, margins, averages,
                        self.cells.Gb, row.n, self.setting.L)
        else:
            self.cells.dots(row, self.cells.xb, margins)
            if averages != NULL:
                self.cells.dots(row, self.cells.ub, averages)
        if averages != NULL:
            for l in range(self.setting.L):
                averages[l] = margins[l] - (averages[l] / self.clock.now[1] if self.clock.now[1] > 0.0 else 0.0)

    cdef int update(self, Row* row) noexcept nogil:
        if self.plain:
            self.descend(row)
            if not self.cells.records:
                self.cells.scatter_all(row)
            self.note_charged(row, self.clock.t)
            return 0
        self.aim(row)
        self.move(row)
        self.note_charged(row, self.clock.t)
        if self.projects_whole or self.moves_all:
            self.confine(row)
        return 0

    cdef int rest(self, Row* row) noexcept nogil:
        if self.scale is not None and self.scale.grew:
            if self.change_units(row) != 0:
                return POTENTIAL_RAISED
            if self.cells.records:
                self.cells.scatter(row, self.cells.Gb, self.cells.G)
            else:
                self.cells.scatter_all(row)
            self.note_charged(row, self.clock.t - 1.0)
        return 0

    # ---- steps --------------------------------------------------------------------------------------------------

    cdef void descend(self, Row* row) noexcept nogil:
        """The plain mirror descent step: no penalty, no domain."""
        self.vector_slopes()
        if self.curvatures != NULL:
            self.measure_steps(row)
            self.shorten()
        plain_step(row.z, &self.es[0], self.cells.hb, self.cells.xb, self.cells.ub, self.clock.C, row.n, self.setting.L)

    cdef void measure_steps(self, Row* row) noexcept nogil:
        """How far a step of unit slope, without the weight vector's rate, takes each margin."""
        cdef Py_ssize_t j, l
        cdef Py_ssize_t L = self.setting.L
        for l in range(L):
            self.lengths[l] = 0.0
        for j in range(row.n):
            for l in range(L):
                self.lengths[l] += row.z[j] * row.z[j] * self.cells.hb[j * L + l]

    cdef void shorten(self) noexcept nogil:
        """An implicit step: the slope at the far end, to first order, where a unit slope takes a weight vector ``lengths`` far."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.es[l] /= 1.0 + self.vector_rate(l) / self.rho[l] * self.lengths[l] * (self.round_weight * self.curvatures[l])

    cdef void vector_slopes(self) noexcept nogil:
        """η times the slope of each weight vector, in the units of the weight vector."""
        cdef Py_ssize_t l
        cdef Py_ssize_t L = self.setting.L
        cdef double* es = &self.es[0]
        cdef const double* slopes = self.slopes
        cdef const double* eta = &self.setting.eta[0]
        cdef const double* rho = &self.rho[0]
        if self.scale is None:
            es[0] = eta[0] * rho[0] * slopes[0]          # most models have one weight vector, and no need for a loop in vectors
            for l in range(1, L):
                es[l] = eta[l] * rho[l] * slopes[l]
            return
        for l in range(L):
            es[l] = self.vector_rate(l) * slopes[l]

    cdef double vector_rate(self, Py_ssize_t vector) noexcept nogil:
        """η, in units of the residuals, and shared by as many features as a row has active ones."""
        cdef double rate = self.setting.eta[vector] * self.rho[vector]
        if self.scale is not None and self.scale.new_spread() > 0.0:   # not before the first row with a value
            rate *= sqrt(self.clock.tau / self.scale.new_spread())
        return rate

    cdef void aim(self, Row* row) noexcept nogil:
        """Where the touched coordinates go: a step, the prox of the penalty due, a clip."""
        cdef Py_ssize_t L = self.setting.L
        cdef Py_ssize_t free_from = row.n - self.setting.intercept
        cdef Py_ssize_t j, l, e, i
        cdef double h, goal, gap, rate, taken, share = 0.0, rounds = self.clock.tau
        cdef double unit = 1.0, inverse = 1.0, square = 1.0
        cdef double* theta = self.cells.tb
        if self.curvatures != NULL:                     # implicit steps; the penalty is charged with the whole rate
            self.vector_slopes()
            self.measure_steps(row)
            self.shorten()
        for l in range(L):
            self.pull[l] = self.slopes[l]
            rate = self.vector_rate(l)
            if self.curvatures != NULL and rate > 0.0:
                self.pull[l] = self.es[l] / rate
            self.es[l] = rate
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if self.scale is not None:
                unit = self.scale.proposed[j] if self.scale.proposed[j] > 0.0 else 1.0
                inverse, square = 1.0 / unit, 1.0 / fmax(unit * unit, SMALLEST_SQUARE)
            if self.penalised and not self.setting.dual:
                rounds = self.clock.t - self.last[i]
            if self.penalised:
                self.last[i] = self.clock.t
            if self.subgradient is not None:
                share = within((self.setting.gamma + 1.0) * rounds / self.clock.tau, 0.0, 1.0)
            for l in range(L):
                e = j * L + l
                h = within(self.es[l] * self.cells.hb[e], 0.0, LARGEST_WEIGHT)
                if self.setting.dual:
                    theta[e] += row.z[j] * self.slopes[l]
                    goal = (self.setting.start * unit if j < free_from else 0.0) - h * theta[e]
                else:
                    goal = self.cells.xb[e] - h * (row.z[j] * self.pull[l])
                if j < free_from:                       # penalty and domain are about raw weights
                    goal = within(goal * inverse, -LARGEST_WEIGHT, LARGEST_WEIGHT)
                    if self.penalised:
                        h = rounds * within(h * square / self.loss_units[l], 0.0, LARGEST_STEP)
                        gap = h * self.setting.l1
                        taken = within(goal, -gap, gap)         # all of it, or as much as is due
                        goal -= taken
                        if self.subgradient is not None and gap > 0.0:
                            self.subgradient[i, l] += share * (taken / gap - self.subgradient[i, l])
                        if self.setting.l2 > 0.0:
                            goal /= 1.0 + h * self.setting.l2
                    if goal < self.domain.lower:
                        goal = self.domain.lower
                    elif goal > self.domain.upper:
                        goal = self.domain.upper
                    goal *= unit
                self.cells.nb[e] = goal

    cdef void move(self, Row* row) noexcept nogil:
        """Move there, the average's accumulator and the domain's gauge along."""
        cdef Py_ssize_t L = self.setting.L
        cdef Py_ssize_t e, l
        cdef double* x = self.cells.xb
        cdef double* u = self.cells.ub
        cdef const double* goal = self.cells.nb
        if self.projects_whole:
            for l in range(L):
                self.track_gauge(row, l)
        if u != NULL:
            for e in range(row.n * L):
                u[e] += self.clock.C * (goal[e] - x[e])
        for e in range(row.n * L):
            x[e] = goal[e]
        self.cells.scatter_all(row)

    cdef void track_gauge(self, Row* row, Py_ssize_t vector) noexcept nogil:
        """The domain's gauge of a weight vector's raw weights, from those that move."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t coefs = row.n - self.setting.intercept
        cdef double before = 1.0, unit = 1.0
        cdef double* goal = &self.raw[0]
        cdef double* x = &self.raw[row.n]
        for j in range(coefs):
            if self.scale is not None:
                i = row.index[j] if row.index != NULL else j
                unit = self.scale.proposed[j] if self.scale.proposed[j] > 0.0 else 1.0
                before = fmin(self.scale.unit(i), unit)          # where a unit shrinks, x is in the new one already
            goal[j] = within(self.cells.nb[j * self.setting.L + vector] / unit, -LARGEST_TO_PROJECT, LARGEST_TO_PROJECT)
            x[j] = within(self.cells.xb[j * self.setting.L + vector] / before, -LARGEST_TO_PROJECT, LARGEST_TO_PROJECT)
        before, unit = self.domain.gauge(x, coefs, 1), self.domain.gauge(goal, coefs, 1)
        self.gauge[vector] += unit - before
        if before > CANCELLED * self.gauge[vector]:        # too few digits are left: ``settle`` adds up anew
            self.astray[vector] = 1.0

    cdef void confine(self, Row* row) noexcept nogil:
        """Project the weight vectors whose point has left the domain; walk those whose every coordinate moves."""
        cdef Py_ssize_t l
        cdef bint all_move = self.moves_all or (self.setting.dual and (self.setting.scaled or self.memory is not None))
        cdef bint caught_up = self.memory is None
        for l in range(self.setting.L):
            if all_move or self.astray[l] != 0.0 or self.domain.gauge_exceeds(self.gauge[l]):
                if not caught_up:
                    self.catch_up_all()
                    caught_up = True
                self.settle(row, l)

    cdef void settle(self, Row* row, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t i, e
        cdef Py_ssize_t d = self.setting.d
        cdef double* goal = &self.point[0]
        cdef double* x = self.cells.x
        cdef double* u = self.cells.u
        cdef double* h = &self.steps[0]
        cdef bint binds
        self.vector_steps(row, vector, h)
        self.collect_units(row)
        for i in range(self.setting.D):
            e = i * self.cells.stride + vector
            goal[i] = x[e]
            if self.setting.dual:
                goal[i] = (self.setting.start * self.units[i] if i < d else 0.0) - h[i] * self.cells.theta[e]
        for i in range(d):                               # the domain is about raw weights
            goal[i] = within(goal[i] / self.units[i], -LARGEST_TO_PROJECT, LARGEST_TO_PROJECT)
            h[i] = within(h[i] / fmax(self.units[i] * self.units[i], SMALLEST_SQUARE), 1.0 / LARGEST_STEP, LARGEST_STEP)
        self.gauge[vector] = self.domain.gauge(goal, d, 1)      # of the unprojected point: what next round's steps build on
        binds = not self.domain.contains(goal)
        if binds:
            self.domain.project_diagonal(goal, h)
        if not self.setting.dual:
            self.gauge[vector] = self.domain.gauge(goal, d, 1)
        for i in range(d):
            goal[i] *= self.units[i]
        for i in range(self.setting.D):
            e = i * self.cells.stride + vector
            if u != NULL:
                u[e] += self.clock.C * (goal[i] - x[e])
            x[e] = goal[i]
        self.astray[vector] = binds and self.setting.dual
