"""full: H_t = ψ(G_t), the whole matrix. One D×D matrix per weight vector.

Two ways to H_t g_t: ``_full_ons`` for ψ(λ) = η/λ alone, ``_spectral`` for every other ψ. Here is what they share: gradients,
units, the step and its projection. ``precondition`` and ``project`` only propose; ``commit`` comes when nothing can fail any more.
The one thing done before is to carry the matrices over to larger units, which an undo log can take back.
"""
from libc.math cimport fabs, isfinite
from libc.string cimport memset

from ...domains._domains cimport Domain
from ...linalg._loops cimport dot, sparse_dot
from ...domains.projection._metric cimport NOT_DEFINITE
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport NOT_FINITE, NOT_PROJECTED, POTENTIAL_RAISED, Structure
from ...state._undo cimport UndoLog
from ...scaling._units cimport FeatureScale

import numpy as np


cdef class Full(Structure):
    """The whole matrix, and what both ways to it share."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        fields = ["x"] + ["u"] * setting.averaging + ["theta"] * setting.dual
        cells = np.zeros((len(fields), setting.L, setting.D))
        cells[0, :, :setting.d] = setting.start
        return {"fields": tuple(fields), "cells": cells, "clock": np.zeros(2), **FeatureScale.allocate(setting)}

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        cdef double[:, :, ::1] cells = arrays["cells"]
        fields = arrays["fields"]
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.theta = &cells[fields.index("theta"), 0, 0] if "theta" in fields else NULL
        shape = (setting.L, setting.D)
        self.g, self.sums, self.move, self.goal = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
        if not self.unconstrained:
            domain.prepare_full()
            self.H, self.multipliers = np.empty((setting.D, setting.D)), np.empty(setting.D)
            self.units, self.last_point = np.ones(setting.D), np.empty(setting.D)
        self.kept = setting.forgetting
        # larger units leave the average of points of a ball or box inside; not that of a simplex, and units that shrink
        self.evaluates_published = not setting.scaled or (self.memory is None and setting.start == 0.0)
        self.numbers, self.undo = arrays["cells"].size, UndoLog()

    def field(self, name):
        """One number of every coordinate, (L, D)."""
        return self.arrays["cells"][self.arrays["fields"].index(name)]

    def last_iterate(self):
        return self.field("x").copy()

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return self.last_iterate()
        return self.field("x") - self.field("u") / self.arrays["clock"][1]

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        self.undo.clear()

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t i, j, k, l
        cdef double* x
        for l in range(self.setting.L):
            x = self.x + l * self.setting.D
            if row.index == NULL:
                margins[l] = dot(row.z, x, row.n)
            else:
                margins[l] = sparse_dot(row.z, row.index, x, row.n)
            if self.average_margins != NULL:
                self.average_margins[l] = margins[l]
                if self.clock.now[1] > 0.0:
                    x = self.u + l * self.setting.D
                    self.average_margins[l] -= (dot(row.z, x, row.n) if row.index == NULL
                                                else sparse_dot(row.z, row.index, x, row.n)) / self.clock.now[1]
            if self.memory is not None and self.scale is not None and self.scale.grew:
                for k in range(self.scale.grew):         # where a unit shrinks, the raw weight stays
                    j = self.scale.grown[k]
                    i = row.index[j] if row.index != NULL else j
                    margins[l] -= (1.0 - self.scale.shrinkage(i, j)) * row.z[j] * x[i]

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """g_t, with the gradient of the L2 penalty in it, and θ_t."""
        cdef Py_ssize_t i, j, l
        cdef Py_ssize_t D = self.setting.D
        cdef double unit
        cdef double* g
        self.slopes = slopes
        if self.take_units(row) != 0:
            return POTENTIAL_RAISED
        for l in range(self.setting.L):
            g = &self.g[l, 0]
            memset(g, 0, D * sizeof(double))
            for j in range(row.n):
                i = row.index[j] if row.index != NULL else j
                g[i] = slopes[l] * row.z[j]
            if self.penalised:                           # of raw weights: x/s, and its gradient in x once more over s
                for i in range(self.setting.d):
                    unit = self.unit(i)
                    g[i] += self.setting.l2 * self.x[l * D + i] / (unit * unit * self.loss_units[l])
            for i in range(D):
                self.sums[l, i] = g[i] + (self.kept * self.theta[l * D + i] if self.setting.dual else 0.0)
        return 0

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        cdef double base, total = 0.0
        for l in range(self.setting.L):
            for i in range(D):
                base = self.begun(i) if self.setting.dual else self.x[l * D + i]
                self.goal[l, i] = base - self.rho[l] * self.move[l, i]
            if not self.unconstrained and self.project(l) != 0:
                return NOT_PROJECTED
            for i in range(D):
                total += fabs(self.goal[l, i])
        if not isfinite(self.clock.C * total):
            return NOT_FINITE
        for l in range(self.setting.L):
            for i in range(D):
                if self.u != NULL:
                    self.u[l * D + i] = self.kept * self.u[l * D + i] + self.clock.C * (self.goal[l, i] - self.x[l * D + i])
                if self.setting.dual:
                    self.theta[l * D + i] = self.sums[l, i]
                self.x[l * D + i] = self.goal[l, i]
        self.commit()
        return 0

    cdef int rest(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i
        if self.take_units(row) != 0:
            return POTENTIAL_RAISED
        if self.memory is not None:
            self.forget()
            if self.u != NULL:
                for i in range(self.setting.L * self.setting.D):
                    self.u[i] = self.kept * self.u[i]
        return 0

    cdef void abandon(self, Row* row) noexcept nogil:
        self.undo.restore()

    cdef void commit(self) noexcept nogil:
        """The round stands: let G forget, and take its gradient."""
        pass

    cdef void forget(self) noexcept nogil:
        """A round without a gradient stands: let G forget."""
        pass

    # ---- units --------------------------------------------------------------------------------------------------

    cdef int take_units(self, Row* row) noexcept nogil:
        """Carry the matrices over to the units of this row."""
        cdef Py_ssize_t i, j, k, l
        cdef Py_ssize_t D = self.setting.D
        cdef double shrinkage
        if self.scale is None or self.scale.grew == 0:
            return 0
        self.undo.save(self.x, self.numbers)
        self.save_matrices()
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            if self.scale.scale[i] > 0.0:
                shrinkage = self.scale.shrinkage(i, j)
                for l in range(self.setting.L):
                    self.carry(l, i, self.scale.proposed[j] / self.scale.scale[i])
                    if shrinkage < 1.0:                  # the raw weight stays, and so does its average
                        self.x[l * D + i] = shrinkage * self.x[l * D + i]
                        if self.u != NULL:
                            self.u[l * D + i] = shrinkage * self.u[l * D + i]
            elif self.setting.start != 0.0:              # a weight from before its feature was seen keeps its raw value
                for l in range(self.setting.L):
                    self.x[l * D + i] *= self.scale.proposed[j]
                    if self.u != NULL:
                        self.u[l * D + i] *= self.scale.proposed[j]
            self.undo.save(&self.scale.scale[i], 1)
            self.scale.scale[i] = self.scale.proposed[j]
        if self.setting.dual:
            for l in range(self.setting.L):
                if self.reset_sums(l) != 0:
                    return POTENTIAL_RAISED
        return 0

    cdef void save_matrices(self) noexcept nogil:
        """Log what ``carry`` changes."""
        pass

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), and ε made up for."""
        pass

    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil:
        """θ such that x_1 − Hθ is x."""
        return 0

    cdef double unit(self, Py_ssize_t i) noexcept nogil:
        return self.scale.unit(i) if self.scale is not None else 1.0

    cdef double begun(self, Py_ssize_t i) noexcept nogil:
        """x_1 in the present units."""
        return self.setting.start * self.unit(i) if i < self.setting.d else 0.0

    # ---- the domain ---------------------------------------------------------------------------------------------

    cdef int project(self, Py_ssize_t vector) noexcept nogil:
        """The raw coefficients in the norm of (H_cc)⁻¹; the intercept then minimises by itself."""
        cdef Py_ssize_t d = self.setting.d
        cdef Py_ssize_t i
        cdef double* goal = &self.goal[vector, 0]
        cdef double* start = NULL
        cdef double* units = NULL
        cdef int status = 0
        for i in range(d):
            self.units[i] = self.unit(i)
            self.goal[vector, i] /= self.units[i]
        if not self.domain.contains(goal):
            self.explicit_H(vector)
            if self.setting.dual:                        # x_{t+1} is near x_t, whatever the gradients add up to
                start = &self.last_point[0]
                for i in range(d):
                    start[i] = self.x[vector * self.setting.D + i] / self.units[i]
            if self.scale is not None:
                units = &self.units[0]
            status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], self.setting.D, units, start)
            if status == NOT_DEFINITE and self.explicit_H_anew(vector):
                status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], self.setting.D, units, start)
            if status == 0 and self.setting.intercept:
                for i in range(d):
                    self.multipliers[i] /= self.units[i]
                self.goal[vector, d] -= dot(&self.H[d, 0], &self.multipliers[0], d)
        for i in range(d):
            self.goal[vector, i] *= self.units[i]
        return status

    cdef void explicit_H(self, Py_ssize_t vector) noexcept nogil:
        """H_t of a weight vector as a matrix, both triangles; a common factor matters to the intercept alone."""
        pass

    cdef bint explicit_H_anew(self, Py_ssize_t vector) noexcept nogil:
        """The same in another way, after the first gave a matrix that is not positive definite; whether there is one."""
        return False
