# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""block: H_t = ψ(P_S G_t), where P_S keeps the blocks of G on its diagonal and drops the rest. One small matrix per block and lane.

All blocks of one size are a ``Family``: a family's blocks are to the classes that hold matrices (``_inverse``, ``_basis``)
what lanes are to the full structure, block k of lane l being their lane k·L + l. Families form a chain, the largest blocks first,
and what concerns every block passes along it. Blocks of one coordinate, the intercept among them, are numbers: ``Scalars``.

A row touches the blocks in which it has a value; the others stay as they are, so a round costs O(Σ size²) over the blocks touched.
An L2 penalty is part of the gradient and touches all. So does dual averaging in a domain that does not separate into
coordinates, since the point that is projected moves as a whole.

Under online scaling the blocks share steps like the coordinates of a diagonal do: the common factor is √(t / Σ_s n_s), where n_s
is the sum over the blocks of the square of their largest scaled value in row s. It is the factor of diag where all blocks have one
coordinate.

x and what belongs to it lie in the order of ``_partition``. As in ``_full``, a round proposes and ``update`` commits.
"""
from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memcpy

from ._domains cimport Domain
from ._loops cimport dot, sparse_dot
from ._metric cimport NOT_DEFINITE
from ._partition cimport Partition
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting
from ._structures cimport NOT_FINITE, NOT_PROJECTED, POTENTIAL_RAISED, Structure
from ._undo cimport UndoLog
from ._units cimport FeatureScale

import numpy as np


def partition_of(Setting setting):
    """The blocks of a setting."""
    if setting.blocks is None or len(setting.blocks) != setting.d:
        raise ValueError(f"the setting has no block for each of its {setting.d} coefficients")
    return Partition(setting.blocks, setting.intercept)


def of_size(dict arrays, Py_ssize_t n):
    """The arrays of the blocks of one size, by their own names."""
    prefix = f"{n}:"
    return {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}


cdef class Family:
    """The blocks of one size."""

    def __init__(self, Block own, Py_ssize_t number):
        cdef Domain whole = own.domain
        self.n, self.number, self.first = own.blocks.sizes[number], number, own.blocks.first_block[number]
        if not own.unconstrained:
            self.H = np.empty((self.n, self.n))
            if whole.coordinatewise:
                self.domain = type(whole)(self.n, whole.radius)
                self.domain.prepare_full()
                self.multipliers, self.units, self.last_point = np.empty(self.n), np.ones(self.n), np.empty(self.n)
        if number + 1 < own.blocks.n_families:
            self.smaller = own.make_family(number + 1)

    # ---- what the families differ in ----------------------------------------------------------------------------

    cdef int precondition(self, Block own) noexcept nogil:
        """``move`` of the blocks touched."""
        return POTENTIAL_RAISED

    cdef void commit(self, Block own) noexcept nogil:
        """The round stands: let the blocks touched take their gradients."""
        pass

    cdef void learn(self, Block own) noexcept nogil:
        """Gradients, steps and commit of the blocks touched, in a plain round of mirror descent that cannot fail."""
        cdef Py_ssize_t b, k, l
        for k in range(own.blocks.n_touched[self.number]):
            own.find_gradients(own.blocks.touched[self.first + k])
        self.precondition(own)
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            for l in range(own.setting.L):
                own.step_to_goal(l, b)
                own.write(l, own.blocks.start[b], self.n)
        self.commit(own)

    cdef int explicit(self, Block own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        """H_t of a block, touched or not, in ``H``."""
        return POTENTIAL_RAISED

    cdef bint explicit_anew(self, Block own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        """The same in another way, after the first gave a matrix that is not positive definite; whether there is one."""
        return False

    cdef void save(self, Block own, Py_ssize_t block) noexcept nogil:
        """Log what ``carry`` and ``solve`` change."""
        pass

    cdef void carry(self, Block own, Py_ssize_t lane, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), and ε made up for."""
        pass

    cdef int solve(self, Block own, Py_ssize_t lane, Py_ssize_t block, double* b, double* out) noexcept nogil:
        """out = H⁻¹b, H = ψ(G) of the G as it is."""
        return POTENTIAL_RAISED

    # ---- along the chain ----------------------------------------------------------------------------------------

    cdef int precondition_all(self, Block own) noexcept nogil:
        if own.blocks.n_touched[self.number] > 0 and self.precondition(own) != 0:
            return POTENTIAL_RAISED
        return self.smaller.precondition_all(own) if self.smaller is not None else 0

    cdef void learn_all(self, Block own) noexcept nogil:
        if own.blocks.n_touched[self.number] > 0:
            self.learn(own)
        if self.smaller is not None:
            self.smaller.learn_all(own)

    cdef void commit_all(self, Block own) noexcept nogil:
        self.commit(own)
        if self.smaller is not None:
            self.smaller.commit_all(own)

    cdef int project_all(self, Block own, Py_ssize_t lane) noexcept nogil:
        """Each block touched onto a domain that is an interval in every coordinate."""
        cdef Py_ssize_t k
        for k in range(own.blocks.n_touched[self.number]):
            if self.project(own, lane, own.blocks.touched[self.first + k]) != 0:
                return NOT_PROJECTED
        return self.smaller.project_all(own, lane) if self.smaller is not None else 0

    cdef int project(self, Block own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t p = own.blocks.start[block]
        cdef double* goal = &own.goal[lane, p]
        cdef double* start = NULL
        cdef double* units = NULL
        cdef int status = 0
        if p >= own.setting.d:                               # the intercept
            return 0
        for i in range(self.n):
            self.units[i] = own.unit(p + i)
            goal[i] /= self.units[i]
        if self.n == 1:
            self.domain.project_diagonal(goal, NULL)
        elif not self.domain.contains(goal):
            status = self.explicit(own, lane, block)
            if own.setting.dual:                             # x_{t+1} is near x_t, whatever the gradients add up to
                start = &self.last_point[0]
                for i in range(self.n):
                    start[i] = own.x[lane * own.setting.D + p + i] / self.units[i]
            if own.setting.scaled:
                units = &self.units[0]
            if status == 0:
                status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], self.n, units, start)
                if status == NOT_DEFINITE and self.explicit_anew(own, lane, block):
                    status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], self.n, units, start)
        for i in range(self.n):
            goal[i] *= self.units[i]
        return status

    cdef int assemble_all(self, Block own, Py_ssize_t lane, bint anew) noexcept nogil:
        """H_t of a lane as one matrix."""
        cdef Py_ssize_t b, i, j, p
        cdef Py_ssize_t d = own.setting.d
        for b in range(self.first, self.first + own.blocks.counts_of[self.number]):
            p = own.blocks.start[b]
            if p >= d:
                continue
            if not (anew and self.explicit_anew(own, lane, b)) and self.explicit(own, lane, b) != 0:
                return POTENTIAL_RAISED
            for i in range(self.n):
                for j in range(self.n):
                    own.H[p + i, p + j] = self.H[i, j]
        return self.smaller.assemble_all(own, lane, anew) if self.smaller is not None else 0

    cdef void save_block(self, Block own, Py_ssize_t block) noexcept nogil:
        if own.blocks.family[block] == self.number:
            self.save(own, block)
        else:
            self.smaller.save_block(own, block)

    cdef void carry_block(self, Block own, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        cdef Py_ssize_t l
        if own.blocks.family[block] != self.number:
            self.smaller.carry_block(own, block, i, growth)
            return
        for l in range(own.setting.L):
            self.carry(own, l, block, i, growth)

    cdef int reset_block(self, Block own, Py_ssize_t block) noexcept nogil:
        """θ of a block such that x_1 − Hθ is x."""
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = own.setting.D
        cdef Py_ssize_t p = own.blocks.start[block]
        if own.blocks.family[block] != self.number:
            return self.smaller.reset_block(own, block)
        for l in range(own.setting.L):
            own.undo.save(own.theta + l * D + p, self.n)
            for i in range(p, p + self.n):
                own.goal[l, i] = (own.begun(i) - own.x[l * D + i]) / (own.rho[l] * own.share)
            if self.solve(own, l, block, &own.goal[l, p], own.theta + l * D + p) != 0:
                return POTENTIAL_RAISED
        return 0


cdef class Scalars(Family):
    """Blocks of one coordinate, which need no decomposition."""

    cdef double[::1] G               # per block and lane
    cdef double[::1] h               # ψ of it in the round under way
    cdef double[::1] new_G           # of the blocks touched, one behind the other
    cdef double[::1] new_h

    @staticmethod
    def allocate(Setting setting, Py_ssize_t count):
        return {"G": np.full(count * setting.L, setting.epsilon)}

    def __init__(self, Block own, Py_ssize_t number):
        Family.__init__(self, own, number)
        self.G = of_size(own.arrays, 1)["G"]
        self.h, self.new_G, self.new_h = (np.empty(self.G.shape[0]) for _ in range(3))

    cdef int precondition(self, Block own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t n = own.blocks.n_touched[self.number]
        cdef Py_ssize_t b, e, k, l, p
        cdef double root = own.weight_root()
        cdef double g
        for k in range(n):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                g = own.g[l, p] / root
                self.new_G[k * L + l] = self.G[(b - self.first) * L + l] + g * g
        if own.potential.steps(&self.new_G[0], &self.new_h[0], n * L) != 0:
            return POTENTIAL_RAISED
        for k in range(n):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                e = (b - self.first) * L + l
                self.h[e] = self.new_h[k * L + l]
                own.move[l, p] = own.setting.eta[l] * self.h[e] * own.sums[l, p]
        return 0

    cdef void commit(self, Block own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t k, l, e
        for k in range(own.blocks.n_touched[self.number]):
            e = (own.blocks.touched[self.first + k] - self.first) * L
            for l in range(L):
                self.G[e + l] = self.new_G[k * L + l]

    cdef int explicit(self, Block own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + lane
        if not own.blocks.touches(block) and own.potential.steps(&self.G[e], &self.h[e], 1) != 0:
            return POTENTIAL_RAISED
        self.H[0, 0] = own.setting.eta[lane] * self.h[e]
        return 0

    cdef void save(self, Block own, Py_ssize_t block) noexcept nogil:
        own.undo.save(&self.G[(block - self.first) * own.setting.L], own.setting.L)

    cdef void carry(self, Block own, Py_ssize_t lane, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        cdef double* G = &self.G[(block - self.first) * own.setting.L + lane]
        G[0] = G[0] / growth / growth + own.setting.epsilon * (1.0 - 1.0 / (growth * growth))

    cdef int solve(self, Block own, Py_ssize_t lane, Py_ssize_t block, double* b, double* out) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + lane
        if own.potential.steps(&self.G[e], &self.h[e], 1) != 0:
            return POTENTIAL_RAISED
        out[0] = b[0] / (own.setting.eta[lane] * self.h[e])
        return 0


cdef class Block(Structure):
    """Blocks of G; what the ways to H_t of a block share."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        fields = ["x"] + ["u"] * setting.averaging + ["theta"] * setting.dual
        cells = np.zeros((len(fields), setting.L, setting.D))
        cells[0, :, :setting.d] = setting.start
        arrays = {"fields": tuple(fields), "cells": cells, "clock": np.zeros(2), **FeatureScale.allocate(setting)}
        blocks = partition_of(setting)
        for size, count in zip(blocks.sizes, blocks.counts, strict=True):
            family = Scalars.allocate(setting, count) if size == 1 else cls.allocate_family(setting, size, count)
            arrays.update({f"{size}:{name}": array for name, array in family.items()})
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        cdef double[:, :, ::1] cells = arrays["cells"]
        fields = arrays["fields"]
        self.blocks, self.undo = partition_of(setting), UndoLog()
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.theta = &cells[fields.index("theta"), 0, 0] if "theta" in fields else NULL
        shape = (setting.L, setting.D)
        self.g, self.sums, self.move, self.goal = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
        self.touch_all = self.penalised or (setting.dual and self.projects_whole)
        self.share = 1.0
        self.saved, self.reset = np.zeros((2, self.blocks.n_blocks), dtype=np.longlong)
        if self.projects_whole:
            domain.prepare_full()
            self.H, self.multipliers = np.zeros((setting.d, setting.d)), np.empty(setting.d)
            self.units, self.last_point = np.ones(setting.d), np.empty(setting.d)
        self.families = self.make_family(0)

    def make_family(self, number):
        """A family of blocks, which makes those of smaller blocks."""
        return Scalars(self, number) if self.blocks.sizes[number] == 1 else self.make_matrices(number)

    def field(self, name):
        """One number of every coordinate, (L, D), in the order of the coordinates."""
        return self.arrays["cells"][self.arrays["fields"].index(name)][:, self.blocks.place]

    def last_iterate(self):
        return self.field("x")

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return self.last_iterate()
        return self.field("x") - self.field("u") / self.arrays["clock"][1]

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        self.undo.clear()
        self.blocks.take(row, self.touch_all)
        if self.scale is not None:
            self.find_share()

    cdef void find_share(self) noexcept nogil:
        self.scale.norm2 = self.blocks.largest_squares()
        self.share = 1.0
        if self.scale.spread[0] + self.scale.norm2 > 0.0:
            self.share = sqrt(self.clock.t / (self.scale.spread[0] + self.scale.norm2))

    cdef double weight_root(self) noexcept nogil:
        """What gradients are divided by as they enter G."""
        return sqrt(self.round_weight) if self.setting.weights_as_rows else 1.0

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l
        cdef Py_ssize_t D = self.setting.D
        for l in range(self.setting.L):
            if row.index == NULL:
                margins[l] = dot(self.blocks.z, self.x + l * D, D)
            else:
                margins[l] = sparse_dot(row.z, &self.blocks.positions[0], self.x + l * D, row.n)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """g_t of the blocks touched, with the gradient of the L2 penalty in it, and θ_t."""
        cdef Py_ssize_t f, k
        self.slopes = slopes
        if self.take_units(row) != 0:
            return POTENTIAL_RAISED
        for f in range(self.blocks.n_families):
            for k in range(self.blocks.n_touched[f]):
                self.find_gradients(self.blocks.touched[self.blocks.first_block[f] + k])
        return 0

    cdef void find_gradients(self, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t start = self.blocks.start[block]
        cdef Py_ssize_t end = start + self.blocks.size[block]
        cdef Py_ssize_t i, l
        cdef double unit
        cdef double* g
        cdef double* sums
        for l in range(self.setting.L):
            g, sums = &self.g[l, 0], &self.sums[l, 0]
            for i in range(start, end):
                g[i] = self.slopes[l] * self.blocks.z[i]
            if self.penalised and start < self.setting.d:
                for i in range(start, end):
                    unit = self.unit(i)
                    g[i] += self.setting.l2 * self.x[l * D + i] / (unit * unit * self.loss_units[l])
            if self.setting.dual:
                for i in range(start, end):
                    sums[i] = g[i] + self.theta[l * D + i]
            else:
                memcpy(sums + start, g + start, (end - start) * sizeof(double))

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        self.take_units(row)
        self.families.learn_all(self)

    cdef int precondition(self, Row* row) noexcept nogil:
        return self.families.precondition_all(self)

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t b, f, k, l, start
        cdef double total = 0.0
        for l in range(self.setting.L):
            if self.projects_whole:
                memcpy(&self.goal[l, 0], self.x + l * D, D * sizeof(double))
            for f in range(self.blocks.n_families):
                for k in range(self.blocks.n_touched[f]):
                    total += self.step_to_goal(l, self.blocks.touched[self.blocks.first_block[f] + k])
            if not self.unconstrained and self.project(l) != 0:
                return NOT_PROJECTED
        if not isfinite(self.clock.C * total):
            return NOT_FINITE
        for l in range(self.setting.L):
            if self.projects_whole:
                self.write(l, 0, D)
            for f in range(self.blocks.n_families):
                for k in range(self.blocks.n_touched[f]):
                    b = self.blocks.touched[self.blocks.first_block[f] + k]
                    start = self.blocks.start[b]
                    if not self.projects_whole:
                        self.write(l, start, self.blocks.size[b])
                    if self.setting.dual:
                        memcpy(self.theta + l * D + start, &self.sums[l, start], self.blocks.size[b] * sizeof(double))
        self.families.commit_all(self)
        return 0

    cdef double step_to_goal(self, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        """``goal`` of a block before any projection; the sum of the sizes of its coordinates."""
        cdef Py_ssize_t start = self.blocks.start[block]
        cdef Py_ssize_t end = start + self.blocks.size[block]
        cdef Py_ssize_t i
        cdef double rate = self.rho[lane] * self.share
        cdef double total = 0.0
        cdef double* goal = &self.goal[lane, 0]
        cdef const double* x = self.x + lane * self.setting.D
        cdef const double* move = &self.move[lane, 0]
        if self.setting.dual:
            for i in range(start, end):
                goal[i] = self.begun(i) - rate * move[i]
        else:
            for i in range(start, end):
                goal[i] = x[i] - rate * move[i]
        for i in range(start, end):
            total += fabs(goal[i])
        return total

    cdef void write(self, Py_ssize_t lane, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
        """Let n coordinates take their goal, and the average's accumulator its part."""
        cdef Py_ssize_t i
        cdef double* x = self.x + lane * self.setting.D + start
        cdef double* u = self.u + lane * self.setting.D + start if self.u != NULL else NULL
        cdef const double* goal = &self.goal[lane, start]
        if u != NULL:
            for i in range(n):
                u[i] += self.clock.C * (goal[i] - x[i])
        memcpy(x, goal, n * sizeof(double))

    cdef int rest(self, Row* row) noexcept nogil:
        return self.take_units(row)

    cdef void abandon(self, Row* row) noexcept nogil:
        self.undo.restore()

    # ---- units --------------------------------------------------------------------------------------------------

    cdef int take_units(self, Row* row) noexcept nogil:
        """Carry the blocks over to the units of this row."""
        cdef Py_ssize_t b, i, j, k, l, p
        cdef Py_ssize_t D = self.setting.D
        if self.scale is None or self.scale.grew == 0:
            return 0
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            p = self.blocks.position[i]
            b = self.blocks.block_at[p]
            if self.scale.scale[i] > 0.0:
                self.save(b)
                self.families.carry_block(self, b, p - self.blocks.start[b], self.scale.proposed[j] / self.scale.scale[i])
            elif self.setting.start != 0.0:              # a weight from before its feature was seen keeps its raw value
                for l in range(self.setting.L):
                    self.undo.save(self.x + l * D + p, 1)
                    self.x[l * D + p] *= self.scale.proposed[j]
                    if self.u != NULL:
                        self.undo.save(self.u + l * D + p, 1)
                        self.u[l * D + p] *= self.scale.proposed[j]
            self.undo.save(&self.scale.scale[i], 1)
            self.scale.scale[i] = self.scale.proposed[j]
        if self.setting.dual:
            for k in range(self.scale.grew):
                j = self.scale.grown[k]
                i = row.index[j] if row.index != NULL else j
                b = self.blocks.block_at[self.blocks.position[i]]
                if self.reset[b] != self.blocks.now:         # each block once
                    self.reset[b] = self.blocks.now
                    self.save(b)
                    if self.families.reset_block(self, b) != 0:
                        return POTENTIAL_RAISED
        return 0

    cdef void save(self, Py_ssize_t block) noexcept nogil:
        """Log the matrices of a block, once in a round."""
        if self.saved[block] != self.blocks.now:
            self.saved[block] = self.blocks.now
            self.families.save_block(self, block)

    cdef double unit(self, Py_ssize_t p) noexcept nogil:
        """The unit of the coordinate at a position."""
        return self.scale.unit(self.blocks.coordinate[p]) if self.scale is not None else 1.0

    cdef double begun(self, Py_ssize_t p) noexcept nogil:
        """x_1 in the present units."""
        return self.setting.start * self.unit(p) if p < self.setting.d and self.setting.start != 0.0 else 0.0

    # ---- the domain ---------------------------------------------------------------------------------------------

    cdef int project(self, Py_ssize_t lane) noexcept nogil:
        """Block by block where the domain separates, else the whole point; the intercept is a block of its own, and free."""
        cdef Py_ssize_t d = self.setting.d
        cdef Py_ssize_t i
        cdef double* goal = &self.goal[lane, 0]
        cdef double* start = NULL
        cdef double* units = NULL
        cdef int status = 0
        if not self.projects_whole:
            return self.families.project_all(self, lane)
        for i in range(d):
            self.units[i] = self.unit(i)
            goal[i] /= self.units[i]
        if not self.domain.contains(goal):
            status = self.families.assemble_all(self, lane, False)
            if self.setting.dual:
                start = &self.last_point[0]
                for i in range(d):
                    start[i] = self.x[lane * self.setting.D + i] / self.units[i]
            if self.setting.scaled:
                units = &self.units[0]
            if status == 0:
                status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], d, units, start)
            if status == NOT_DEFINITE and self.families.assemble_all(self, lane, True) == 0:
                status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], d, units, start)
        for i in range(d):
            goal[i] *= self.units[i]
        return status
