"""What a structure of blocks knows of its weight vectors: points, in the order of ``_partition``, and how a round moves a block."""
from libc.math cimport sqrt

from ...domains._domains cimport Domain
from ...linalg._loops cimport dot, sparse_dot
from ._partition cimport Partition
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from ..full._step_loops cimport propose_outer, sizes, take_goal
from .._structures cimport Structure
from ...state._undo cimport UndoLog
from ...scaling._units cimport FeatureScale

from ...state._saved import out_of_range

import numpy as np


def partition_of(Setting setting):
    """The blocks of a setting."""
    if setting.blocks is None or len(setting.blocks) != setting.d:
        raise ValueError(f"the setting has no block for each of its {setting.d} coefficients")
    return Partition(setting.blocks, setting.intercept)


cdef class BlockPoint(Structure):
    """Points of all weight vectors in the order of their blocks, and the gradients and goals of the round under way."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        fields = ["x"] + ["u"] * setting.averaging + ["theta"] * setting.dual
        cells = np.zeros((len(fields), setting.L, setting.D))
        cells[0, :, :setting.d] = setting.start
        arrays = {"fields": tuple(fields), "cells": cells, "clock": np.zeros(2), **FeatureScale.allocate(setting)}
        if setting.forgotten > 0.0:
            arrays["charged"] = np.zeros(partition_of(setting).n_blocks)
        return arrays

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return out_of_range(arrays, "charged", arrays["clock"][0], whole=False)

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
        self.touch_all = (self.penalised or (setting.dual and (self.projects_whole or potential.time_varying))
                          or (self.memory is not None and self.projects_whole))
        self.kept, self.charged = setting.forgetting, arrays.get("charged")
        self.share = 1.0
        self.evaluates_published = self.memory is None and not (setting.scaled and setting.start != 0.0)    # blocks forget late
        if self.projects_whole:
            domain.prepare_full()
            self.H, self.multipliers = np.zeros((setting.d, setting.d)), np.empty(setting.d)
            self.units, self.last_point = np.ones(setting.d), np.empty(setting.d)

    def field(self, name):
        """One number of every coordinate, (L, D), in the order of the coordinates."""
        return self.arrays["cells"][self.arrays["fields"].index(name)][:, self.blocks.place]

    def last_iterate(self):
        return self.field("x")

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return self.last_iterate()
        return self.field("x") - self.kept_so_far() * self.field("u") / self.arrays["clock"][1]

    def kept_of_blocks(self):
        """What is left of the numbers of each block after the rounds that it has not forgotten yet."""
        if self.memory is None:
            return np.ones(self.blocks.n_blocks)
        return np.exp((self.arrays["clock"][0] - self.arrays["charged"]) * self.memory.log_lam)

    def kept_so_far(self):
        """The same of each coordinate, (D,)."""
        return self.kept_of_blocks()[np.asarray(self.blocks.block_at)[self.blocks.place]]

    cdef void find_share(self) noexcept nogil:
        """The factor on steps that blocks share, under online scaling."""
        self.scale.norm2 = self.blocks.largest_squares()
        self.share = 1.0
        if self.scale.new_spread() > 0.0:
            self.share = sqrt(self.clock.tau / self.scale.new_spread())

    cdef double weight_root(self) noexcept nogil:
        """What gradients are divided by as they enter G."""
        return sqrt(self.round_weight) if self.setting.weights_as_rows else 1.0

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t i, j, k, l
        cdef Py_ssize_t D = self.setting.D
        for l in range(self.setting.L):
            if row.index == NULL:
                margins[l] = dot(self.blocks.z, self.x + l * D, D)
            else:
                margins[l] = sparse_dot(row.z, &self.blocks.positions[0], self.x + l * D, row.n)
            if self.average_margins != NULL:
                self.average_margins[l] = margins[l]
                if self.clock.now[1] > 0.0:
                    self.average_margins[l] -= (dot(self.blocks.z, self.u + l * D, D) if row.index == NULL else sparse_dot(
                        row.z, &self.blocks.positions[0], self.u + l * D, row.n)) / self.clock.now[1]
            if self.memory is not None and self.scale is not None and self.scale.grew:
                for k in range(self.scale.grew):         # where a unit shrinks, the raw weight stays
                    j = self.scale.grown[k]
                    i = row.index[j] if row.index != NULL else j
                    margins[l] -= (1.0 - self.scale.shrinkage(i, j)) * row.z[j] * self.x[l * D + self.blocks.position[i]]

    cdef void find_gradients(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Of neighbouring coordinates, all of them touched; ``sums`` is for dual averaging only."""
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t i, l
        cdef double unit, slope
        cdef double* g
        cdef const double* z = self.blocks.z
        for l in range(self.setting.L):
            g, slope = &self.g[l, 0], self.slopes[l]
            for i in range(start, end):
                g[i] = slope * z[i]
            if self.penalised:
                for i in range(start, min(end, self.setting.d)):
                    unit = self.unit(i)
                    g[i] += self.setting.l2 * self.x[l * D + i] / (unit * unit * self.loss_units[l])
            if self.setting.dual:
                for i in range(start, end):
                    self.sums[l, i] = g[i] + self.kept * self.theta[l * D + i]

    cdef double step_to_goal(self, Py_ssize_t vector, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """``goal`` of neighbouring coordinates before any projection; the sum of their sizes."""
        cdef Py_ssize_t i
        cdef double rate = self.rho[vector] * self.share
        cdef double* goal = &self.goal[vector, 0]
        cdef const double* x = self.x + vector * self.setting.D
        cdef const double* move = &self.move[vector, 0]
        if not self.setting.dual:
            return propose_outer(&rate, move + start, x + start, goal + start, 1, end - start)
        for i in range(start, end):
            goal[i] = self.begun(i) - rate * move[i]
        return sizes(goal + start, end - start)

    cdef void write(self, Py_ssize_t vector, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
        """Let n coordinates take their goal, and the average's accumulator its part."""
        cdef double* u = self.u + vector * self.setting.D + start if self.u != NULL else NULL
        take_goal(self.kept, self.clock.C, &self.goal[vector, start], self.x + vector * self.setting.D + start, u, n)

    cdef double unit(self, Py_ssize_t p) noexcept nogil:
        """The unit of the coordinate at a position."""
        return self.scale.unit(self.blocks.coordinate[p]) if self.scale is not None else 1.0

    cdef double begun(self, Py_ssize_t p) noexcept nogil:
        """x_1 in the present units."""
        return self.setting.start * self.unit(p) if p < self.setting.d and self.setting.start != 0.0 else 0.0
