# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Where the numbers of a coordinate lie, and how a row gets at them.

A coordinate has one number a lane of x, of G, of the average's and of dual averaging's accumulators. The numbers of the
touched coordinates are gathered into small contiguous buffers and scattered back, or, where nothing can fail, worked on where
they lie; every loop then runs flat over n·L numbers. When a feature's unit grows, G is carried over to the new one here.
"""
from ._domains cimport Domain
from ._loops cimport dot, lane_dots
from ._potentials cimport Potential
from ._rows cimport Row
from ._rows import VECTOR, padded
from ._stack cimport Stack
from ._structures cimport Setting, Structure

import numpy as np


VECTOR_BYTES = VECTOR * 8


def in_vectors(shape):
    """Zeros of shape (fields, D, L), the numbers of a field padded to whole vectors by ones, in which a step of 0 stays 0."""
    fields, D, L = shape
    cells = padded(fields, D * L)
    cells[:, D * L:] = 1.0
    return cells[:, :D * L].reshape(shape)


def side_by_side(shape, scaled):
    """Zeros for D records of fields·L numbers, and a scale where asked for; three numbers get a fourth, and are a vector."""
    fields, D, L = shape
    width = fields * L + scaled
    width += width == 3
    return padded(1, D * width)[0, :D * width].reshape(D, width)


cdef class Gathered(Structure):
    """The state of a structure that works coordinate by coordinate."""

    @staticmethod
    def fields(Setting setting):
        """What a coordinate keeps beside x and the accumulators of average and dual averaging."""
        return ()

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        """The arrays of a new state; a coordinate's numbers lie side by side where rows are sparse."""
        fields = ["x", *cls.fields(setting)] + ["u"] * setting.averaging + ["theta"] * setting.dual
        shape = (len(fields), setting.D, setting.L)
        if sparse:                 # and the scale behind them
            records = side_by_side(shape, setting.scaled)
            cells = records[:, :shape[0] * setting.L].reshape(shape[1], shape[0], shape[2]).transpose(1, 0, 2)
        else:
            cells = in_vectors(shape)
        arrays = {"fields": tuple(fields), "cells": cells, "clock": np.zeros(2),
                  "gauge": np.zeros(setting.L), "astray": np.zeros(setting.L)}
        cells[0, :setting.d] = setting.start
        if "G" in fields:
            cells[fields.index("G")] = setting.epsilon
        if setting.ridge > 0.0 or setting.lasso > 0.0:
            arrays["last"] = np.zeros(setting.D)
        if setting.rates > 1:
            arrays.update(Stack.allocate(setting.K, setting.rates, setting.joint, setting.averaging))
        arrays.update(cls.allocate_units(setting))
        if sparse and setting.scaled:
            arrays["scale"] = records[:, shape[0] * setting.L]
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

    @staticmethod
    def lay_out(Setting setting, dict arrays, bint sparse):
        """Side by side where rows are sparse, in whole vectors where they are not: a copy or a pickle forgets how cells lay."""
        cells = arrays["cells"]
        if sparse:
            well = cells.strides[0] == setting.L * cells.itemsize and cells.strides[1] != 3 * cells.itemsize
        else:
            well = cells.ctypes.data % VECTOR_BYTES == 0 and cells.strides[0] % VECTOR_BYTES == 0
        if not well:
            fields, D, L = cells.shape
            if sparse:
                anew = side_by_side(cells.shape, 0)[:, :fields * L].reshape(D, fields, L).transpose(1, 0, 2)
            else:
                anew = in_vectors(cells.shape)
            anew[:] = cells
            arrays["cells"] = anew

    def prepare(self, Py_ssize_t widest):
        """Make room for rows that touch up to ``widest`` coordinates."""
        cdef Py_ssize_t size = widest * self.setting.L
        if self.workspace is None or self.workspace.shape[0] < 6 * size:
            self.workspace = np.empty(6 * max(size, 1))
        size = self.workspace.shape[0] // 6
        self.hb, self.nb = &self.workspace[0], &self.workspace[size]
        self.room_for_units(widest)

    def field(self, name):
        """A view of one number of every coordinate, (L, D)."""
        return self.arrays["cells"][self.arrays["fields"].index(name)].T

    def average(self):
        """Σ c_t x_t / C_T over the iterates that predicted."""
        if self.arrays["clock"][1] == 0.0:
            return np.array(self.field("x"))
        return self.field("x") - self.field("u") / self.arrays["clock"][1]

    cdef bint by_records(self) noexcept nogil:
        """Whether sparse rows can be worked on where their coordinates lie."""
        return False

    cdef void enter(self, Row* row) noexcept nogil:
        self.row = row
        self.on_records = row.index != NULL and self.by_records()
        cdef Py_ssize_t size = self.workspace.shape[0] // 6
        cdef double* room = &self.workspace[2 * size]
        if self.on_records:
            self.Gb = room + size
            return
        self.direct = (row.index == NULL and self.stride == self.setting.L and not self.potential.fallible
                       and not (self.setting.scaled and self.setting.start != 0.0))
        self.span = row.n
        if self.direct:
            if self.setting.L == 1 and self.setting.D > 1:      # of a single coordinate nobody knows what lies behind it
                self.span = row.room
            self.xb, self.ub, self.tb, self.Gb = self.x, self.u, self.theta, self.G
            return
        self.xb, self.Gb = room, room + size
        self.ub = room + 2 * size if self.u != NULL else NULL
        self.tb = room + 3 * size if self.theta != NULL else NULL
        self.gather(row, self.x, self.xb)
        self.gather(row, self.G, self.Gb)
        self.gather(row, self.u, self.ub)
        self.gather(row, self.theta, self.tb)
        if self.setting.scaled and self.setting.start != 0.0:
            self.first_sight(row)

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

    cdef void scatter_all(self, Row* row) noexcept nogil:
        if not self.direct:
            self.scatter(row, self.xb, self.x)
            self.scatter(row, self.ub, self.u)
            self.scatter(row, self.tb, self.theta)
            self.scatter(row, self.Gb, self.G)

    cdef void dots(self, Row* row, const double* numbers, double* margins) noexcept nogil:
        if self.setting.L == 1:
            margins[0] = dot(row.z, numbers, self.span)
        else:
            lane_dots(row.z, numbers, margins, row.n, self.setting.L)

    cdef void first_sight(self, Row* row) noexcept nogil:
        """A weight that was not 0 before its feature was seen keeps its raw value."""
        cdef Py_ssize_t j, l, i
        cdef Py_ssize_t L = self.setting.L
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if self.scale[i] == 0.0 and self.new_scale[j] > 0.0:
                for l in range(L):
                    self.xb[j * L + l] *= self.new_scale[j]
                    if self.ub != NULL:
                        self.ub[j * L + l] *= self.new_scale[j]

    cdef void grow(self, Row* row) noexcept nogil:
        """Carry G over to larger units: divided by the growth squared, with ε made up for; θ so that x keeps its value."""
        cdef Py_ssize_t j, k, l, i, e
        cdef Py_ssize_t L = self.setting.L
        cdef double shrink, grown
        for k in range(self.grew):
            j = self.grown[k]
            i = row.index[j] if row.index != NULL else j
            if self.scale[i] == 0.0:                     # first sight sets the unit and leaves G
                continue
            shrink = (self.scale[i] / self.new_scale[j]) * (self.scale[i] / self.new_scale[j])
            for l in range(L):
                e = j * L + l
                grown = self.Gb[e] * shrink + self.setting.epsilon * (1.0 - shrink)
                self.carry(e, l, grown)
                self.Gb[e] = grown

    cdef void carry(self, Py_ssize_t e, Py_ssize_t lane, double grown) noexcept nogil:
        """What depends on one G that is about to change for its unit."""
        cdef double before, after
        if self.setting.dual:
            self.potential.steps(&self.Gb[e], &before, 1)
            self.potential.steps(&grown, &after, 1)
            self.tb[e] *= before / after
