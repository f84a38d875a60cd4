# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What diag and iso share: H_t is diagonal, so a coordinate moves by itself and only when the row touches it.

The numbers of the touched coordinates are gathered into small contiguous buffers (or, for dense rows, worked on where they
lie), every loop then runs flat over n·L numbers, and the results are scattered back: O(nnz·L) a round. A whole lane is walked
only when its domain binds (l2, l1, simplex) or when isotropic dual averaging, whose h changes for all, has a domain.
"""
from ._domains cimport Domain
from ._loops cimport dot, lane_dots
from ._potentials cimport Potential
from ._rows cimport Row
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


cdef class Coordinatewise(Structure):
    """Diagonal preconditioners, one coordinate at a time."""

    FIELDS = ()

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        """The arrays of a new state; a coordinate's numbers lie side by side where rows are sparse."""
        fields = ["x", *cls.FIELDS] + ["u"] * setting.averaging + ["theta"] * setting.dual
        shape = (len(fields), setting.D, setting.L)
        cells = np.zeros((shape[1], shape[0], shape[2])).transpose(1, 0, 2) if sparse else np.zeros(shape)
        arrays = {"fields": tuple(fields), "cells": cells, "clock": np.zeros(2),
                  "gauge": np.zeros(setting.L), "astray": np.zeros(setting.L)}
        cells[0, :setting.d] = setting.start
        if "G" in fields:
            cells[fields.index("G")] = setting.epsilon
        if setting.ridge > 0.0 or setting.lasso > 0.0:
            arrays["last"] = np.zeros(setting.D)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        cdef double[:, :, :] cells = arrays["cells"]
        fields = arrays["fields"]
        self.stride = cells.strides[1] // sizeof(double) if setting.D > 1 else setting.L
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.theta = &cells[fields.index("theta"), 0, 0] if "theta" in fields else NULL
        self.G = &cells[fields.index("G"), 0, 0] if "G" in fields else NULL
        self.last = arrays.get("last")
        self.gauge, self.astray = arrays["gauge"], arrays["astray"]
        self.es = np.empty(setting.L)
        self.plain = self.free and not (setting.dual or self.penalised)
        self.point = self.steps = None
        if self.wholly or self.moves_all:
            self.point, self.steps = np.empty(setting.D), np.empty(setting.D)

    def prepare(self, Py_ssize_t widest):
        """Make room for rows that touch up to ``widest`` coordinates."""
        cdef Py_ssize_t size = widest * self.setting.L
        if self.workspace is None or self.workspace.shape[0] < 6 * size:
            self.workspace = np.empty(6 * max(size, 1))
        size = self.workspace.shape[0] // 6
        self.hb, self.nb = &self.workspace[0], &self.workspace[size]

    def field(self, name):
        """A view of one number of every coordinate, (L, D)."""
        return self.arrays["cells"][self.arrays["fields"].index(name)].T

    def average(self):
        """Σ c_t x_t / C_T over the iterates that predicted."""
        if self.arrays["clock"][1] == 0.0:
            return np.array(self.field("x"))
        return self.field("x") - self.field("u") / self.arrays["clock"][1]

    def last_iterate(self):
        """x_{T+1}, with the penalty that is still to be charged, charged on a copy."""
        x = np.array(self.field("x"))
        if not self.penalised:
            return x
        d = self.setting.d
        h = self.present_steps()[:, :d]
        rounds = self.arrays["clock"][0] - (0.0 if self.setting.dual else self.arrays["last"][:d])
        pending = rounds > 0.0
        u = -h * self.field("theta")[:, :d] if self.setting.dual else x[:, :d]
        charge = h * rounds
        soft = np.sign(u) * np.maximum(np.abs(u) - charge * self.setting.lasso, 0.0)
        charged = np.clip(soft / (1.0 + charge * self.setting.ridge), self.domain.lower, self.domain.upper)
        x[:, :d] = np.where(pending, charged, x[:, :d])
        return x

    def present_steps(self):
        """η ψ(G) of every coordinate now, (L, D)."""
        h = np.empty((self.setting.L, self.setting.D))
        cdef double[:, ::1] view = h
        for lane in range(self.setting.L):
            self.lane_steps(NULL, lane, &view[lane, 0])
        return h

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        cdef Py_ssize_t size = self.workspace.shape[0] // 6
        cdef double* room = &self.workspace[2 * size]
        self.direct = row.index == NULL and self.stride == self.setting.L and not self.potential.fallible
        if self.direct:
            self.xb, self.ub, self.tb, self.Gb = self.x, self.u, self.theta, self.G
            return
        self.xb, self.Gb = room, room + size
        self.ub = room + 2 * size if self.u != NULL else NULL
        self.tb = room + 3 * size if self.theta != NULL else NULL
        self.gather(row, self.x, self.xb)
        self.gather(row, self.G, self.Gb)
        self.gather(row, self.u, self.ub)
        self.gather(row, self.theta, self.tb)

    cdef void gather(self, Row* row, const double* field, double* buffer) noexcept nogil:
        cdef Py_ssize_t j, l, i
        cdef Py_ssize_t L = self.setting.L
        if field == NULL:
            return
        if row.index != NULL and L == 1:
            for j in range(row.n):
                buffer[j] = field[row.index[j] * self.stride]
            return
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            for l in range(L):
                buffer[j * L + l] = field[i * self.stride + l]

    cdef void scatter(self, Row* row, const double* buffer, double* field) noexcept nogil:
        cdef Py_ssize_t j, l, i
        cdef Py_ssize_t L = self.setting.L
        if field == NULL:
            return
        if row.index != NULL and L == 1:
            for j in range(row.n):
                field[row.index[j] * self.stride] = buffer[j]
            return
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            for l in range(L):
                field[i * self.stride + l] = buffer[j * L + l]

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        self.dots(row, self.xb, margins)

    cdef void dots(self, Row* row, const double* numbers, double* margins) noexcept nogil:
        if self.setting.L == 1:
            margins[0] = dot(row.z, numbers, row.n)
        else:
            lane_dots(row.z, numbers, margins, row.n, self.setting.L)

    cdef int update(self, Row* row) noexcept nogil:
        if self.plain:
            self.descend(row)
            self.scatter_all(row)
            return 0
        self.aim(row)
        self.commit(row)
        if self.wholly or self.moves_all:
            self.confine(row)
        return 0

    # ---- how it is done -----------------------------------------------------------------------------------------

    cdef void descend(self, Row* row) noexcept nogil:
        """The plain mirror descent step: no penalty, no domain."""
        self.lane_slopes()
        plain_step(row.z, &self.es[0], self.hb, self.xb, self.ub, self.clock.C, row.n, self.setting.L)

    cdef void lane_slopes(self) noexcept nogil:
        """η times the slope of each lane."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.es[l] = self.setting.eta[l] * self.slopes[l]

    cdef void aim(self, Row* row) noexcept nogil:
        """Where the touched coordinates go: a step, the prox of the penalty due, a clip."""
        cdef Py_ssize_t L = self.setting.L
        cdef Py_ssize_t free_from = row.n - self.setting.intercept
        cdef Py_ssize_t j, l, e, i
        cdef double h, goal, gap, rounds = self.clock.t
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if self.penalised and not self.setting.dual:
                rounds = self.clock.t - self.last[i]
            if self.penalised:
                self.last[i] = self.clock.t
            for l in range(L):
                e = j * L + l
                h = self.setting.eta[l] * self.hb[e]
                if self.setting.dual:
                    self.tb[e] += row.z[j] * self.slopes[l]
                    goal = (self.setting.start if j < free_from else 0.0) - h * self.tb[e]
                else:
                    goal = self.xb[e] - h * (row.z[j] * self.slopes[l])
                if j < free_from:
                    if self.penalised:
                        gap = h * rounds * self.setting.lasso
                        goal = goal - gap if goal > gap else (goal + gap if goal < -gap else 0.0)
                        goal /= 1.0 + h * rounds * self.setting.ridge
                    if goal < self.domain.lower:
                        goal = self.domain.lower
                    elif goal > self.domain.upper:
                        goal = self.domain.upper
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

    cdef void scatter_all(self, Row* row) noexcept nogil:
        if not self.direct:
            self.scatter(row, self.xb, self.x)
            self.scatter(row, self.ub, self.u)
            self.scatter(row, self.tb, self.theta)
            self.scatter(row, self.Gb, self.G)

    cdef void confine(self, Row* row) noexcept nogil:
        """Project the lanes whose point has left the domain; walk those whose every coordinate moves."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            if self.moves_all or self.astray[l] != 0.0 or self.domain.gauge_exceeds(self.gauge[l]):
                self.settle(row, l)

    cdef void settle(self, Row* row, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i, e
        cdef Py_ssize_t d = self.setting.d
        cdef double* goal = &self.point[0]
        cdef double* h = &self.steps[0]
        cdef bint binds
        self.lane_steps(row, lane, h)
        for i in range(self.setting.D):
            e = i * self.stride + lane
            goal[i] = (self.setting.start if i < d else 0.0) - h[i] * self.theta[e] if self.setting.dual else self.x[e]
        self.gauge[lane] = self.domain.gauge(goal, d, 1)      # of the unprojected point: what next round's steps build on
        binds = not self.domain.contains(goal)
        if binds:
            self.domain.project_diagonal(goal, h)
        for i in range(self.setting.D):
            e = i * self.stride + lane
            if self.u != NULL:
                self.u[e] += self.clock.C * (goal[i] - self.x[e])
            self.x[e] = goal[i]
        if not self.setting.dual:
            self.gauge[lane] = self.domain.gauge(goal, d, 1)
        self.astray[lane] = binds and self.setting.dual

    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil:
        """η ψ(G) of all coordinates of a lane, in the round of this row or (NULL) between rounds."""
        pass
