# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Rows measured from the means of their features, and features that bring their own units (``_columns``).

The ridge of feature i is ε times its root mean square times its largest value, which is kept up with by pseudo-rows along e_i; a
feature that is mostly not zero is measured from its mean, as if the intercept had been moved there. What a row changes here is
logged, and undone when its round fails.
"""
from libc.math cimport fabs, frexp, ldexp
from libc.string cimport memset

from ._columns cimport Column, Columns
from ._domains cimport Domain
from ._full cimport Full
from ._loops cimport dot, sparse_dot
from ._members cimport Members
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting

import numpy as np

cdef double RIDGE_OF_INTERCEPT = 0.1
cdef double GROWTH = 1.2                 # a ridge is renewed when its feature has grown by this factor
cdef double JUMP = 1e4                   # a ridge that grows by more would cancel too many digits of P
cdef double TINY = 1e-290
cdef double FARTHEST = 1e30              # how far values may be from 1 in their unit


cdef class Measured(Full):
    """A matrix per lane, of features measured from their centers."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = {**super().allocate(setting, sparse), **Members.allocate(setting, RIDGE_OF_INTERCEPT)}
        arrays["columns"] = Columns.allocate(setting.d)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.members = Members(setting, arrays, self.undo, explicit=not self.unconstrained)
        self.columns = Columns(arrays["columns"], setting.intercept)
        self.own_units = True
        self.zc, self.filled = np.empty(1), np.empty(setting.D)
        names = Columns.names()
        self.centered = np.count_nonzero(arrays["columns"][:, names.index("center")])
        entered = arrays["columns"][:, names.index("entered")]
        self.entered = np.count_nonzero(entered)
        self.order = np.zeros(len(entered), dtype=np.intp)
        np.asarray(self.order)[entered[entered > 0].astype(np.intp) - 1] = np.flatnonzero(entered)

    def prepare(self, Py_ssize_t widest):
        super().prepare(widest)
        if self.zc.shape[0] < widest:
            self.zc = np.empty(widest)
        self.columns.make_room(widest + self.setting.d)

    def begin_lanes(self, lanes):
        columns, names = self.arrays["columns"][:self.setting.d], Columns.names()
        ridges = columns[:, names.index("ridge")]
        for i in np.flatnonzero(ridges):
            for lane in lanes:
                ridge = self.setting.epsilons[lane] * ridges[i]
                if lane < self.setting.whole_lanes:
                    self.arrays["G"][lane, i, i], self.arrays["P"][lane, i, i] = ridge, 1.0 / ridge
                else:
                    self.arrays["diagonal"][lane - self.setting.whole_lanes, i] = ridge

    def in_raw_units(self, weights):
        """Weights of the features themselves, the intercept as if nothing had been centered."""
        cdef Py_ssize_t i, l
        cdef Py_ssize_t d = self.setting.d
        cdef double moved
        cdef const Column* columns = self.columns.columns
        weights = np.array(weights, order="C")
        cdef double[:, ::1] raw = weights
        for l in range(raw.shape[0]):
            moved = 0.0
            for i in range(d):
                moved += raw[l, i] * columns[i].center
                raw[l, i] *= columns[i].factor
            if self.setting.intercept:
                raw[l, d] -= moved
        return weights

    def from_raw_units(self, weights):
        d, names = self.setting.d, Columns.names()
        columns = self.arrays["columns"][:d]
        factor = columns[:, names.index("factor")]
        weights = np.array(weights)
        weights[:, :d] /= np.where(factor > 0.0, factor, 1.0)
        if self.setting.intercept:
            weights[:, d] += weights[:, :d] @ columns[:, names.index("center")]
        return weights

    cdef void enter(self, Row* row) noexcept nogil:
        cdef double shortened
        self.members.begin_round()
        self.columns.changed = 0
        self.center_row(row)
        self.show_margins()
        shortened = self.measure(row)
        self.moved = shortened > 1.0
        if self.moved:
            self.shorten(shortened)
        if not self.familiar:
            self.renew_ridges(row)

    cdef void show_margins(self) noexcept nogil:
        """What the lanes would publish, before the row changes any unit."""

    cdef double times_row(self, const double* numbers) noexcept nogil:
        """Σ_j z_j numbers_j of the centered row."""
        return dot(self.z, numbers, self.n) if self.index == NULL else sparse_dot(self.z, self.index, numbers, self.n)

    cdef double unit(self, Py_ssize_t i) noexcept nogil:
        return 1.0 / self.columns.columns[i].factor if self.columns.columns[i].factor > 0.0 else 1.0

    cdef void abandon(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i
        self.columns.undo()
        self.undo.restore()
        self.centered = self.entered = 0             # counted anew: a row may name a feature twice
        for i in range(self.setting.d):
            self.centered += self.columns.columns[i].center != 0.0
            self.entered += self.columns.columns[i].entered != 0.0

    cdef void center_row(self, Row* row) noexcept nogil:
        """Move centers to where the rows before this one say, and measure the row from them."""
        cdef Py_ssize_t i, j, seen = 0
        cdef Py_ssize_t coefs = row.n - self.setting.intercept
        cdef double z, by, t = self.clock.t
        cdef double passed = t - 1.0
        cdef bint moves = self.setting.intercept and not self.familiar
        cdef const int* index = row.index
        cdef double* zc = &self.zc[0]
        cdef Column* column
        self.away = False
        for j in range(coefs):
            i = index[j] if index != NULL else j
            zc[j] = 0.0
            if fabs(row.z[j]) < TINY:                 # a weight for it would overflow
                continue
            seen += 1
            column = self.columns.change(i)
            if column.factor == 0.0:
                column.factor = power_near(row.z[j])
            z = row.z[j] * column.factor
            if fabs(z) > FARTHEST:
                self.start_anew(i, column, power_near(row.z[j]))
                z = row.z[j] * column.factor
            if moves:
                by = z if passed == 0.0 else self.columns.mean_shift(column, passed)
                if by != 0.0:
                    self.move_center(i, column, by)
            column.last = t
            zc[j] = z - column.center
        if self.centered > 0 and (index != NULL or seen < self.setting.d):
            for i in range(self.setting.d):           # centered features that are zero in this row
                column = &self.columns.columns[i]
                if column.center != 0.0 and column.last < t:
                    if not self.familiar:
                        column = self.columns.change(i)
                        by = self.columns.mean_shift(column, passed)
                        if by != 0.0:
                            self.move_center(i, column, by)
                    if index == NULL:
                        zc[i] = -column.center
                    self.away = self.away or column.center != 0.0
        if self.setting.intercept:
            zc[coefs] = 1.0
        self.index, self.z, self.n = index, zc, row.n
        if self.away and index != NULL:
            self.fill(row)

    cdef void fill(self, Row* row) noexcept nogil:
        """The centered row with all its coordinates, for a sparse row in which a centered feature is zero."""
        cdef Py_ssize_t i, j
        for i in range(self.setting.d):
            self.filled[i] = -self.columns.columns[i].center
        for j in range(row.n):
            self.filled[row.index[j]] = self.zc[j]
        self.index, self.z, self.n = NULL, &self.filled[0], self.setting.D

    cdef double measure(self, Row* row) noexcept nogil:
        """Take the row into the features' statistics; by how much it is to be shortened."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t coefs = row.n - self.setting.intercept
        cdef double by, shortened = 1.0
        cdef Column* column
        for j in range(coefs):
            i = row.index[j] if row.index != NULL else j
            column = &self.columns.columns[i]
            if column.last == self.clock.t:
                by = self.columns.far_beyond(column, self.zc[j])
                shortened = by if by > shortened else shortened
        if self.familiar:
            return shortened
        for j in range(coefs):
            i = row.index[j] if row.index != NULL else j
            column = &self.columns.columns[i]
            if column.last == self.clock.t:
                self.columns.take(column, self.zc[j] / shortened, self.clock.t)
        return shortened

    cdef void shorten(self, double by) noexcept nogil:
        """Learn from the row as if it were nearer to the center."""
        cdef Py_ssize_t j
        cdef double* z = <double*> self.z
        for j in range(self.n - self.setting.intercept):
            z[j] /= by

    cdef double ridge_of(self, Py_ssize_t lane, Py_ssize_t i) noexcept nogil:
        """What coordinate i weighs in the lane before any row."""
        if i == self.setting.d:
            return RIDGE_OF_INTERCEPT
        return self.setting.epsilons[lane] * self.columns.columns[i].ridge

    cdef void renew_ridges(self, Row* row) noexcept nogil:
        """Let ridges grow with their features."""
        cdef Py_ssize_t i, j
        cdef double square
        cdef Column* column
        for j in range(row.n - self.setting.intercept):
            i = row.index[j] if row.index != NULL else j
            column = &self.columns.columns[i]
            if column.last == self.clock.t:
                square = self.columns.outgrown(column, self.clock.t, GROWTH * GROWTH * column.ridge)
                if square > 0.0:
                    self.renew_ridge(i, column, square)
        if self.away:
            for i in range(self.setting.d):
                column = &self.columns.columns[i]
                if column.center != 0.0 and column.last < self.clock.t:
                    square = self.columns.outgrown(column, self.clock.t, GROWTH * GROWTH * column.ridge)
                    if square > 0.0:
                        self.renew_ridge(i, column, square)

    cdef void renew_ridge(self, Py_ssize_t i, Column* column, double square) noexcept nogil:
        """ε times a square is what feature i weighs before any row; its growth to ``square`` is a pseudo-row (e_i, 0)."""
        self.moved = True
        if column.ridge == 0.0:
            if column.entered == 0.0:
                self.order[self.entered] = i
                self.entered += 1
                column.entered = self.entered
            self.members.start(i, square)
        else:
            self.members.raise_ridge(i, square - column.ridge, square > JUMP * column.ridge)
        column.ridge = square

    cdef void move_center(self, Py_ssize_t i, Column* column, double by) noexcept nogil:
        """Measure feature i from elsewhere."""
        self.centered += (column.center + by != 0.0) - (column.center != 0.0)
        column.center += by
        column.second += by * (by * column.seen - 2.0 * column.first)
        column.first -= by * column.seen
        if column.ridge > 0.0:                   # otherwise it has not varied yet, and is in no matrix
            self.members.shift(i, by)

    cdef void start_anew(self, Py_ssize_t i, Column* column, double factor) noexcept nogil:
        """Values have grown beyond all measure: what was learnt from the earlier ones weighs nothing beside them."""
        cdef double entered = column.entered
        self.members.take_out(i, column.ridge > 0.0)
        self.centered -= column.center != 0.0
        memset(column, 0, sizeof(Column))
        column.factor, column.entered = factor, entered


cdef double power_near(double z) noexcept nogil:
    """The power of 2 that brings z to between 1/2 and 1."""
    cdef int exponent
    frexp(z, &exponent)
    return ldexp(1.0, -exponent)
