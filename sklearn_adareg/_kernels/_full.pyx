# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""full: H_t = ψ(G_t), the whole matrix. One D×D block a lane.

Two ways to H_t g_t: ``_inverse`` for ψ(λ) = η/λ alone, ``_spectral`` for every other ψ. Here is what they share: gradients,
units, the step and its projection. The arrays are row-major and symmetric, so LAPACK's "upper" is our lower triangle.
"""
from libc.string cimport memset

from ._domains cimport Domain
from ._loops cimport dot, sparse_dot
from ._potentials cimport Potential
from ._rows cimport Row
from ._structures cimport Setting, Structure

import numpy as np


cdef void mirror(double* A, Py_ssize_t n) noexcept nogil:
    """Copy LAPACK's upper triangle onto the other, in tiles that stay in cache."""
    cdef Py_ssize_t a, b, i, j
    for a in range(0, n, 16):
        for b in range(0, a + 1, 16):
            for j in range(a, min(a + 16, n)):
                for i in range(b, min(b + 16, j)):
                    A[i * n + j] = A[j * n + i]


cdef class Full(Structure):
    """The whole matrix, and what both ways to it share."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        fields = ["x"] + ["u"] * setting.averaging + ["theta"] * setting.dual
        cells = np.zeros((len(fields), setting.L, setting.D))
        cells[0, :, :setting.d] = setting.start
        return {"fields": tuple(fields), "cells": cells, "clock": np.zeros(2), **cls.allocate_units(setting)}

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        cdef double[:, :, ::1] cells = arrays["cells"]
        fields = arrays["fields"]
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.theta = &cells[fields.index("theta"), 0, 0] if "theta" in fields else NULL
        shape = (setting.L, setting.D)
        self.g, self.sums, self.move, self.goal = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
        if not self.free:
            domain.prepare_full()
            self.H, self.multipliers = np.empty((setting.D, setting.D)), np.empty(setting.D)
            self.units, self.last_point = np.ones(setting.D), np.empty(setting.D)

    def prepare(self, Py_ssize_t widest):
        """Make room for rows that touch up to ``widest`` coordinates."""
        self.room_for_units(widest)

    def field(self, name):
        """One number of every coordinate, (L, D)."""
        return self.arrays["cells"][self.arrays["fields"].index(name)]

    def last_iterate(self):
        return self.field("x").copy()

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return self.last_iterate()
        return self.field("x") - self.field("u") / self.arrays["clock"][1]

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l
        cdef double* x
        for l in range(self.setting.L):
            x = self.x + l * self.setting.D
            if row.index == NULL:
                margins[l] = dot(row.z, x, row.n)
            else:
                margins[l] = sparse_dot(row.z, row.index, x, row.n)

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """g_t, with the gradient of the L2 penalty in it, and θ_t."""
        cdef Py_ssize_t i, j, l
        cdef Py_ssize_t D = self.setting.D
        cdef double unit
        cdef double* g
        self.slopes = slopes
        if self.setting.scaled:
            self.take_units(row)
        for l in range(self.setting.L):
            g = &self.g[l, 0]
            memset(g, 0, D * sizeof(double))
            for j in range(row.n):
                i = row.index[j] if row.index != NULL else j
                g[i] = slopes[l] * row.z[j]
            if self.penalised:                           # of raw weights: x/s, and its gradient in x once more over s
                for i in range(self.setting.d):
                    unit = self.unit(i)
                    g[i] += self.setting.ridge * self.x[l * D + i] / (unit * unit * self.loss_unit(l))
            for i in range(D):
                self.sums[l, i] = g[i] + (self.theta[l * D + i] if self.setting.dual else 0.0)

    cdef void take_units(self, Row* row) noexcept nogil:
        """Carry the matrices over to the units of this row, and note them."""
        cdef Py_ssize_t i, j, k, l
        cdef Py_ssize_t D = self.setting.D
        if self.grew == 0:
            return
        for k in range(self.grew):
            j = self.grown[k]
            i = row.index[j] if row.index != NULL else j
            if self.scale[i] > 0.0:
                for l in range(self.setting.L):
                    self.carry(l, i, self.new_scale[j] / self.scale[i])
            elif self.setting.start != 0.0:              # a weight from before its feature was seen keeps its raw value
                for l in range(self.setting.L):
                    self.x[l * D + i] *= self.new_scale[j]
                    if self.u != NULL:
                        self.u[l * D + i] *= self.new_scale[j]
            self.scale[i] = self.new_scale[j]
        if self.setting.dual:
            for l in range(self.setting.L):
                self.reset_sums(l)

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), and ε made up for."""
        pass

    cdef void reset_sums(self, Py_ssize_t lane) noexcept nogil:
        """θ such that x_1 − Hθ is x."""
        pass

    cdef double unit(self, Py_ssize_t i) noexcept nogil:
        return self.scale[i] if self.setting.scaled and self.scale[i] > 0.0 else 1.0

    cdef double begun(self, Py_ssize_t i) noexcept nogil:
        """x_1 in the present units."""
        return self.setting.start * self.unit(i) if i < self.setting.d else 0.0

    cdef void rest(self, Row* row) noexcept nogil:
        if self.setting.scaled:
            self.take_units(row)

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        cdef double base
        for l in range(self.setting.L):
            for i in range(D):
                base = self.begun(i) if self.setting.dual else self.x[l * D + i]
                self.goal[l, i] = base - self.factor[l] * self.move[l, i]
            if not self.free and self.project(l) != 0:
                self.take_back()
                return -2
        for l in range(self.setting.L):
            for i in range(D):
                if self.u != NULL:
                    self.u[l * D + i] += self.clock.C * (self.goal[l, i] - self.x[l * D + i])
                if self.setting.dual:
                    self.theta[l * D + i] = self.sums[l, i]
                self.x[l * D + i] = self.goal[l, i]
        self.settled()
        return 0

    cdef int project(self, Py_ssize_t lane) noexcept nogil:
        """The raw coefficients in the norm of (H_cc)⁻¹; the intercept then minimises by itself."""
        cdef Py_ssize_t d = self.setting.d
        cdef Py_ssize_t i
        cdef int status = 0
        for i in range(d):
            self.units[i] = self.unit(i)
            self.goal[lane, i] /= self.units[i]
        if not self.domain.contains(&self.goal[lane, 0]):
            self.explicit_H(lane)
            for i in range(d):
                self.last_point[i] = self.x[lane * self.setting.D + i] / self.units[i]
            status = self.domain.project_full(&self.goal[lane, 0], &self.multipliers[0], &self.H[0, 0], self.setting.D,
                                              &self.units[0], &self.last_point[0] if self.setting.dual else NULL)
            if status == 0 and self.setting.intercept:
                for i in range(d):
                    self.multipliers[i] /= self.units[i]
                self.goal[lane, d] -= dot(&self.H[d, 0], &self.multipliers[0], d)
        for i in range(d):
            self.goal[lane, i] *= self.units[i]
        return status

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        """H_t of a lane as a matrix, both triangles; a common factor does not matter to a projection, but to the intercept."""
        pass

    cdef void take_back(self) noexcept nogil:
        """Undo what ``accumulate`` and ``precondition`` did to the state."""
        pass

    cdef void settled(self) noexcept nogil:
        """The round is over and stands."""
        pass
