"""full: H_t = ψ(G_t), the whole matrix. One D×D matrix per weight vector.

Two ways to H_t g_t: ``_inverse`` for ψ(λ) = η/λ alone, O(D²) a round without a decomposition, ``_eigenbasis`` for every other ψ.
Here is what they share: gradients, units, the step and its projection. ``precondition`` and ``project_part`` only propose; ``commit``
comes when nothing can fail any more. The one thing done before is to carry the matrices over to larger units, which an undo log can
take back.
"""
from libc.math cimport fabs, isfinite
from libc.string cimport memset

from ._eigenbasis cimport Basis
from ._inverse cimport Inverse
from ...domains._domains cimport NOT_DEFINITE, Domain
from ...linalg._loops cimport dot, sparse_dot
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport NOT_FINITE, NOT_PROJECTED, POTENTIAL_RAISED, Structure
from ...state._undo cimport UndoLog
from ...scaling._units cimport FeatureScale

import numpy as np


cdef class Points(Structure):
    """The points of all weight vectors, in the order in which matrices have their coordinates, and what a round proposes for them."""

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
        self.numbers, self.undo, self.kept = arrays["cells"].size, UndoLog(), setting.forgetting
        shape = (setting.L, setting.D)
        self.g, self.sums, self.move, self.goal = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
        if not self.unconstrained:
            self.multipliers, self.units, self.last_point = np.empty(setting.D), np.ones(setting.D), np.empty(setting.D)

    def field(self, name):
        """One number of every coordinate, (L, D)."""
        return self.arrays["cells"][self.arrays["fields"].index(name)]

    def last_iterate(self):
        return self.field("x").copy()

    def kept_so_far(self):
        """What is left of the numbers of each coordinate after the rounds that it has not forgotten yet."""
        return 1.0

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return self.last_iterate()
        return self.field("x") - self.kept_so_far() * self.field("u") / self.arrays["clock"][1]

    cdef void abandon(self, Row* row) noexcept nogil:
        self.undo.restore()

    cdef void find_margins(self, Row* row, const double* z, const int* index, double* margins) noexcept nogil:
        """Margins of the row's values z at the positions ``index``, or at the first row.n ones."""
        cdef Py_ssize_t i, j, k, l
        cdef double* x
        for l in range(self.setting.L):
            x = self.x + l * self.setting.D
            margins[l] = dot(z, x, row.n) if index == NULL else sparse_dot(z, index, x, row.n)
            if self.average_margins != NULL:
                self.average_margins[l] = margins[l]
                if self.clock.now[1] > 0.0:
                    x = self.u + l * self.setting.D
                    self.average_margins[l] -= (dot(z, x, row.n) if index == NULL else sparse_dot(z, index, x, row.n)
                                                ) / self.clock.now[1]
            if self.memory is not None and self.scale is not None and self.scale.grew:
                for k in range(self.scale.grew):         # where a unit shrinks, the raw weight stays
                    j = self.scale.grown[k]
                    i = row.index[j] if row.index != NULL else j
                    margins[l] -= (1.0 - self.scale.shrinkage(i, j)) * row.z[j] * self.x[l * self.setting.D + self.position_of(i)]

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void change_units(self, Row* row) noexcept nogil:
        """Carry matrices and points over to the units of this row."""
        cdef Py_ssize_t i, j, k, p
        cdef double shrinkage
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            p = self.position_of(i)
            self.enter_unit(p, self.scale.proposed[j] / self.scale.scale[i] if self.scale.scale[i] > 0.0 else 0.0)
            if self.scale.scale[i] > 0.0:
                shrinkage = self.scale.shrinkage(i, j)
                if shrinkage < 1.0:                      # the raw weight stays, and so does its average
                    self.scale_weights(p, shrinkage)
            elif self.setting.start != 0.0:              # a weight from before its feature was seen keeps its raw value
                self.scale_weights(p, self.scale.proposed[j])
            self.undo.save(&self.scale.scale[i], 1)
            self.scale.scale[i] = self.scale.proposed[j]

    cdef void enter_unit(self, Py_ssize_t p, double growth) noexcept nogil:
        """The matrices in a new unit of the coordinate at p; a growth of 0: its first one, which changes nothing in them."""
        pass

    cdef void scale_weights(self, Py_ssize_t p, double factor) noexcept nogil:
        """The weights at a position times a factor, and their averages."""
        cdef Py_ssize_t l, e
        for l in range(self.setting.L):
            e = l * self.setting.D + p
            self.undo.save(self.x + e, 1)
            self.x[e] *= factor
            if self.u != NULL:
                self.undo.save(self.u + e, 1)
                self.u[e] *= factor

    cdef Py_ssize_t position_of(self, Py_ssize_t i) noexcept nogil:
        """Where coordinate i lies."""
        return i

    cdef double unit(self, Py_ssize_t p) noexcept nogil:
        """The unit of the coordinate at a position."""
        return self.scale.unit(p) if self.scale is not None else 1.0

    cdef double begun(self, Py_ssize_t p) noexcept nogil:
        """x_1 in the present units."""
        return self.setting.start * self.unit(p) if p < self.setting.d and self.setting.start != 0.0 else 0.0

    # ---- the domain ---------------------------------------------------------------------------------------------

    cdef int project_part(self, Domain domain, Py_ssize_t vector, Py_ssize_t p, Py_ssize_t ldh, Py_ssize_t block) noexcept nogil:
        """The raw coefficients from position p on, as many as the domain has, in the norm of H⁻¹; H is that of ``find_H``."""
        cdef Py_ssize_t i
        cdef double* goal = &self.goal[vector, p]
        cdef double* start = NULL
        cdef double* units = NULL
        cdef int status = 0
        for i in range(domain.d):
            self.units[i] = self.unit(p + i)
            goal[i] /= self.units[i]
        if not domain.contains(goal):
            status = self.find_H(vector, block, False)
            if self.setting.dual:                        # x_{t+1} is near x_t, whatever the gradients add up to
                start = &self.last_point[0]
                for i in range(domain.d):
                    start[i] = self.x[vector * self.setting.D + p + i] / self.units[i]
            if self.scale is not None:
                units = &self.units[0]
            if status == 0:
                status = domain.project_full(goal, &self.multipliers[0], &self.H[0], ldh, units, start)
                if status == NOT_DEFINITE and self.find_H(vector, block, True) == 0:
                    status = domain.project_full(goal, &self.multipliers[0], &self.H[0], ldh, units, start)
            if status == 0:
                self.follow(vector)
        for i in range(domain.d):
            goal[i] *= self.units[i]
        return status

    cdef int find_H(self, Py_ssize_t vector, Py_ssize_t block, bint anew) noexcept nogil:
        """H_t of a weight vector, or of a block of it, in ``H``, both triangles; ``anew``: in another way, after the first gave a
        matrix that is not positive definite. Not 0 if it cannot be had."""
        return POTENTIAL_RAISED

    cdef void follow(self, Py_ssize_t vector) noexcept nogil:
        """Move the coordinates that the domain leaves free along with those that were projected."""
        pass


cdef class Full(Points):
    """The whole matrix, and what all ways to it share."""

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        if not self.unconstrained:
            domain.prepare_full()
            self.H = np.empty(setting.D * setting.D)
        # larger units leave the average of points of a ball or box inside; not that of a simplex, and units that shrink
        self.evaluates_published = not setting.scaled or (self.memory is None and setting.start == 0.0)

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        self.undo.clear()

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        self.find_margins(row, row.z, row.index, margins)

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
            if not self.unconstrained and self.project_part(self.domain, l, 0, D, 0) != 0:
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

    cdef void commit(self) noexcept nogil:
        """The round stands: let G forget, and take its gradient."""
        pass

    cdef void forget(self) noexcept nogil:
        """A round without a gradient stands: let G forget."""
        pass

    # ---- units --------------------------------------------------------------------------------------------------

    cdef int take_units(self, Row* row) noexcept nogil:
        """Carry everything over to the units of this row."""
        cdef Py_ssize_t l
        if self.scale is None or self.scale.grew == 0:
            return 0
        self.undo.save(self.x, self.numbers)
        self.save_matrices()
        self.change_units(row)
        if self.setting.dual:
            for l in range(self.setting.L):
                if self.reset_sums(l) != 0:
                    return POTENTIAL_RAISED
        return 0

    cdef void enter_unit(self, Py_ssize_t p, double growth) noexcept nogil:
        cdef Py_ssize_t l
        if growth > 0.0:
            for l in range(self.setting.L):
                self.carry(l, p, growth)

    cdef void save_matrices(self) noexcept nogil:
        """Log what ``carry`` changes."""
        pass

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), and ε made up for."""
        pass

    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil:
        """θ such that x_1 − Hθ is x."""
        return 0

    cdef void follow(self, Py_ssize_t vector) noexcept nogil:
        """The intercept minimises by itself."""
        cdef Py_ssize_t d = self.setting.d
        cdef Py_ssize_t i
        if self.setting.intercept:
            for i in range(d):
                self.multipliers[i] /= self.units[i]
            self.goal[vector, d] -= dot(&self.H[d * self.setting.D], &self.multipliers[0], d)


cdef class FullMatrix(Full):
    """A matrix for each weight vector."""

    def accumulated(self):
        return self.matrices.accumulated()

    def preconditioner(self):
        """H of the last step, of what served there: a decomposition may be older than G."""
        return self.matrices.preconditioner(self.accumulated(), np.array(self.setting.eta))

    cdef int precondition(self, Row* row) noexcept nogil:
        """H_t times g_t, or times θ_t."""
        cdef Py_ssize_t l
        cdef int status = 0
        cdef double root = self.weight_root()
        cdef double* g
        cdef double* b
        for l in range(self.setting.L):
            g = &self.g[l, 0]
            b = &self.sums[l, 0] if self.setting.dual else g
            status = self.matrices.step(l, g, b, NULL if self.penalised else row, self.slopes[l], root, self.setting.eta[l],
                                        &self.move[l, 0])
            if status != 0:
                break
        return status

    cdef void commit(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.matrices.commit(l, &self.g[l, 0])

    cdef void forget(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.matrices.pass_by(l, self.memory.lam, self.memory.lost)

    cdef int find_H(self, Py_ssize_t vector, Py_ssize_t block, bint anew) noexcept nogil:
        cdef double eta = self.setting.eta[vector]
        if anew:
            return 0 if self.matrices.explicit_anew(vector, &self.g[vector, 0], eta, &self.H[0]) else NOT_DEFINITE
        return self.matrices.explicit(vector, True, eta, &self.H[0])

    cdef void save_matrices(self) noexcept nogil:
        self.matrices.save(self.undo, 0, self.setting.L)

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        self.matrices.carry(vector, i, growth)

    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        for i in range(D):
            self.goal[vector, i] = (self.begun(i) - self.x[vector * D + i]) / self.rho[vector]
        return self.matrices.solve(vector, &self.goal[vector, 0], self.setting.eta[vector], self.theta + vector * D)


cdef class FullONS(FullMatrix):
    """The Online Newton Step, ψ(λ) = η/λ: H_t = η G_t⁻¹."""

    cdef Inverse inverse

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        return {**super().allocate(setting, sparse), **Inverse.allocate(setting, setting.L, setting.D)}

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return Inverse.mismatch(arrays)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.inverse = self.matrices = Inverse(setting, arrays, whole=not self.unconstrained)

    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef double* gap = &self.goal[vector, 0]
        cdef double fade = self.inverse.fade[vector]
        for i in range(D):
            gap[i] = fade * (self.begun(i) - self.x[vector * D + i]) / (self.setting.eta[vector] * self.rho[vector])
        self.inverse.times_G(vector, gap, self.theta + vector * D)
        return 0


cdef void restrict_of(void* structure, double* G) noexcept nogil:
    (<FullSpectral> structure).restrict(G)


cdef class FullSpectral(FullMatrix):
    """Any ψ, by the eigenvalues and eigenvectors of G_t."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        return {**super().allocate(setting, sparse), **Basis.allocate(setting, setting.L, setting.D)}

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return Basis.mismatch(arrays)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.basis = self.matrices = Basis(setting, potential, arrays)
        self.basis.restrict_by(restrict_of, <void*> self)

    cdef void restrict(self, double* G) noexcept nogil:
        """P_S: what of G the structure keeps, in place; only G[i, j] for j ≤ i is read."""
        pass
