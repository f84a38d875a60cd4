"""What diag and iso share: H_t is diagonal, so a coordinate moves by itself and only when the row touches it.

``Cells`` brings the touched coordinates together: O(nnz·L) a round. A whole weight vector is walked only when its domain binds
(l2, l1, simplex) or when isotropic dual averaging, whose h changes for all, has a domain. Rows are worked on in place where no
piece can fail, and on copies that are written back by ``update`` where one can.
"""
from libc.math cimport copysign, fabs, fmax, fmin, sqrt

from ...domains._domains cimport Domain
from ...linalg._loops cimport record_dots
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...scaling._units cimport FeatureScale
from ...state._setting cimport Setting, keep
from .._structures cimport POTENTIAL_RAISED, Structure

from ...data._rows import VECTOR, padded
from ...state._saved import out_of_range

import numpy as np

VECTOR_BYTES = VECTOR * 8
cdef double SMALLEST_NORMAL = 2.2250738585072014e-308
# Raw weights and step sizes in raw units are kept within these, so that squares and ratios of them are finite. Units beyond
# 1e60 or below 1e-60 get there.
cdef double LARGEST_WEIGHT = 1e300
cdef double LARGEST_STEP = 1e120
cdef double SMALLEST_SQUARE = 1e-300
cdef double LARGEST_TO_PROJECT = 1e100
cdef double CANCELLED = 1e6


def in_vectors(shape):
    """Zeros of shape (fields, D, L), the numbers of a field padded to whole vectors by ones, in which a step of 0 stays 0."""
    fields, D, L = shape
    cells = padded(fields, D * L)
    cells[:, D * L:] = 1.0
    return cells[:, :D * L].reshape(shape)


def side_by_side(shape, more):
    """Zeros for D records of fields·L numbers and so many more; three numbers get a fourth, and are a vector."""
    fields, D, L = shape
    width = fields * L + more
    width += width == 3
    return padded(1, D * width)[0, :D * width].reshape(D, width)


def as_cells(records, shape):
    """A view of records, in the shape (fields, D, L)."""
    fields, D, L = shape
    return records[:, :fields * L].reshape(D, fields, L).transpose(1, 0, 2)


cdef class Cells:
    """Where the numbers of a coordinate lie, and how a row gets at them.

    A coordinate has one number per weight vector of x, of G, of the average's and of dual averaging's accumulators. The numbers of
    the touched coordinates are copied into small contiguous buffers and back, or, where nothing can fail, worked on where they lie;
    every loop then runs flat over n·L numbers.
    """

    @staticmethod
    def lay_out(dict arrays, bint sparse):
        """Side by side where rows are sparse, in whole vectors where they are not: a copy or a pickle loses the layout."""
        cells = arrays["cells"]
        if sparse:
            well = cells.strides[0] == cells.shape[2] * cells.itemsize and cells.strides[1] != 3 * cells.itemsize
        else:
            well = cells.ctypes.data % VECTOR_BYTES == 0 and cells.strides[0] % VECTOR_BYTES == 0
        if not well:
            anew = as_cells(side_by_side(cells.shape, 0), cells.shape) if sparse else in_vectors(cells.shape)
            anew[:] = cells
            arrays["cells"] = anew

    def __init__(self, dict arrays):
        cdef double[:, :, :] cells = arrays["cells"]
        fields = arrays["fields"]
        self.D, self.L = cells.shape[1], cells.shape[2]
        self.stride = cells.strides[1] // sizeof(double) if self.D > 1 else self.L
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.theta = &cells[fields.index("theta"), 0, 0] if "theta" in fields else NULL
        self.G = &cells[fields.index("G"), 0, 0] if "G" in fields else NULL
        self.workspace = np.empty(6 * self.L)
        self.make_room(1)

    cdef void make_room(self, Py_ssize_t widest):
        """For rows that touch up to ``widest`` coordinates."""
        cdef Py_ssize_t size = widest * self.L
        if self.workspace.shape[0] < 6 * size:
            self.workspace = np.empty(6 * size)
        size = self.workspace.shape[0] // 6
        self.hb, self.nb, self.room = &self.workspace[0], &self.workspace[size], &self.workspace[3 * size]

    cdef void take_copies(self, Row* row) noexcept nogil:
        """Work on copies, which ``scatter_all`` writes back."""
        cdef Py_ssize_t size = self.workspace.shape[0] // 6
        cdef double* room = &self.workspace[2 * size]
        self.records = self.direct = False
        self.span = row.n
        self.xb, self.Gb = room, room + size
        self.ub = room + 2 * size if self.u != NULL else NULL
        self.tb = room + 3 * size if self.theta != NULL else NULL
        self.gather(row, self.x, self.xb)
        self.gather(row, self.G, self.Gb)
        self.gather(row, self.u, self.ub)
        self.gather(row, self.theta, self.tb)

    cdef void gather(self, Row* row, const double* field, double* buffer) noexcept nogil:
        cdef Py_ssize_t j, l, i
        cdef Py_ssize_t L = self.L
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
        cdef Py_ssize_t L = self.L
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


cdef class Coordinatewise(Structure):
    """Diagonal preconditioners, one coordinate at a time."""

    @staticmethod
    def fields(Setting setting):
        """What a coordinate keeps beside x and the accumulators of average and dual averaging."""
        return ()

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        """The arrays of a new state; a coordinate's numbers lie side by side where rows are sparse."""
        fields = ["x", *cls.fields(setting)] + ["u"] * setting.averaging + ["theta"] * setting.dual
        shape = (len(fields), setting.D, setting.L)
        arrays = {"fields": tuple(fields), "clock": np.zeros(2), "gauge": np.zeros(setting.L), "astray": np.zeros(setting.L),
                  **FeatureScale.allocate(setting)}
        if setting.recent:
            arrays["recent"] = np.zeros((setting.D, setting.K))
        if sparse:
            behind = [name for name in ("scale", "often") if name in arrays]
            records = side_by_side(shape, len(behind) + setting.K * setting.recent)
            cells = as_cells(records, shape)
            for place, name in enumerate(behind, start=shape[0] * setting.L):
                arrays[name] = records[:, place]
            if setting.recent:
                arrays["recent"] = records[:, records.shape[1] - setting.K:]
        else:
            cells = in_vectors(shape)
        cells[0, :setting.d] = setting.start
        if "G" in fields:
            cells[fields.index("G")] = setting.epsilon
        if setting.l2 > 0.0 or setting.l1 > 0.0:
            arrays["last"] = np.zeros(setting.D)
        if setting.zeros:
            arrays["subgradient"] = np.zeros((setting.D, setting.L))
        if setting.forgotten > 0.0:
            arrays["charged"] = np.zeros(setting.D)
        arrays["cells"] = cells
        return arrays

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return out_of_range(arrays, "charged", arrays["clock"][0], whole=False)

    @staticmethod
    def lay_out(dict arrays, bint sparse):
        """Give arrays that were copied the memory layout of new ones."""
        Cells.lay_out(arrays, sparse)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.cells = Cells(arrays)
        self.last, self.charged, self.subgradient = arrays.get("last"), arrays.get("charged"), arrays.get("subgradient")
        self.gauge, self.astray = arrays["gauge"], arrays["astray"]
        self.squares, self.mean_curvatures, self.weight = map(arrays.get, ("residuals", "curvatures", "weight"))
        self.now_rate, self.now_step, self.now_unit = (np.ones(setting.L) for _ in range(3))
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

    def field(self, name, at=None):
        """A view of one number of every coordinate, (L, D), or a copy of those of the coordinates ``at``."""
        numbers = self.arrays["cells"][self.arrays["fields"].index(name)]
        return numbers.T if at is None else numbers[at].T

    def kept(self, at=None):
        """What is left of each coordinate's numbers after the rounds that it has not forgotten yet, (D,)."""
        if self.memory is None:
            return 1.0
        charged = self.arrays["charged"] if at is None else self.arrays["charged"][at]
        return np.exp((self.arrays["clock"][0] - charged) * self.memory.log_lam)

    def average(self, at=None):
        """Σ c_t x_t / C_T over the iterates that predicted."""
        if self.arrays["clock"][1] == 0.0:
            return np.array(self.field("x", at))
        return self.field("x", at) - self.kept(at) * self.field("u", at) / self.arrays["clock"][1]

    def last_iterate(self, at=None):
        """x_{T+1}, with the penalty that is still to be charged, charged on a copy."""
        if not self.penalised:
            return np.array(self.field("x", at))
        if at is not None:
            return self.last_iterate()[:, at]
        x, h = np.array(self.field("x")), self.present_steps()
        cdef double[:, ::1] steps = h
        cdef double[:, :] charged = x
        cdef Py_ssize_t i, vector
        self.begin_publishing()
        for i in range(self.setting.d):
            for vector in range(self.setting.L):
                charged[vector, i] = self.charged_now(i, vector, self.now_step[vector] * steps[vector, i])
        return x

    def restart(self, x, subgradient):
        super().restart(x, subgradient)
        self.arrays["astray"][:] = 1.0
        if self.penalised:
            self.arrays["last"][:] = self.arrays["clock"][0]
        if "subgradient" in self.arrays:
            self.arrays["subgradient"][:, :] = subgradient.T

    def with_zeros(self, weights, shares):
        """0 where a proximal step from here would end: |w_i| ≤ h_i l1 (1 − |s_i|), with s the subgradient.

        The step is that of a diagonal Newton method, h_i = t / G_ii, since squared slopes and curvatures have one mean.
        """
        found = np.array(weights)
        cdef double[:, :] view = found
        cdef double[:, ::1] parts = np.ascontiguousarray(shares, dtype=np.float64)
        cdef Py_ssize_t i, k
        self.begin_publishing()
        for k in range(self.setting.K):
            for i in range(self.setting.d):
                if self.would_be_zero(i, k, view[k, i], &parts[k, 0]):
                    view[k, i] = 0.0
        return found

    def units_of_features(self):
        if not self.setting.scaled:
            return np.ones(self.setting.d)
        scale = self.arrays["scale"][:self.setting.d]
        return np.where(scale > 0.0, scale, 1.0)

    def squares_of_rows(self):
        """The mean of what rows add to G, (L, d)."""
        cdef Py_ssize_t d = self.setting.d
        G = self.accumulated()
        G = np.broadcast_to(G[:, None], (self.setting.L, d)) if G.ndim == 1 else G[:, :d]
        return G / self.rounds_in_sums()

    def curvatures_of_rows(self):
        """The mean curvature that a row adds, in raw units, (L, d)."""
        rate, gradient_unit = self.residual_rates()
        square = np.maximum(self.units_of_features()**2, SMALLEST_SQUARE)
        return self.squares_of_rows() * square * (gradient_unit / rate)

    def gradients_of_rows(self):
        """The root mean square of a row's gradient, in raw units, (L, d)."""
        _, gradient_unit = self.residual_rates()
        return np.sqrt(self.squares_of_rows()) * self.units_of_features() * gradient_unit

    def rounds_in_sums(self):
        """Σ λ^(T−t) over the rounds."""
        rounds = self.arrays["clock"][0]
        return rounds if self.memory is None else self.clock.discounted(rounds)

    def present_rates(self):
        """What steps are multiplied with between rounds, and the unit of the gradients, each (L, 1)."""
        rate, unit = self.residual_rates()
        if self.setting.scaled and self.arrays["spread"][0] > 0.0:
            rate = rate * np.sqrt(self.rounds_in_sums() / self.arrays["spread"][0])
        return rate, unit

    def present_steps(self):
        """η ψ(G) of every coordinate now, (L, D)."""
        h = np.empty((self.setting.L, self.setting.D))
        cdef double[:, ::1] view = h
        for vector in range(self.setting.L):
            self.vector_steps(NULL, vector, &view[vector, 0])
        return h

    cdef void vector_steps(self, Row* row, Py_ssize_t vector, double* h) noexcept nogil:
        """η ψ(G) of all coordinates of a weight vector, in the round of this row or (NULL) between rounds."""
        pass

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        """Where several step sizes learn side by side the longest may be far too long for a steep loss."""
        return steep and self.setting.R > 1

    cdef bint by_records(self) noexcept nogil:
        """Whether sparse rows can be worked on where their coordinates lie."""
        return False

    cdef void enter(self, Row* row) noexcept nogil:
        if (row.index == NULL and self.in_place) or (self.memory is not None and self.works_in_place(row)):
            self.cells.take_vectors(row)
        elif row.index != NULL and self.by_records():    # not where something is forgotten
            self.cells.take_records()
        else:
            self.cells.take_copies(row)
            if self.memory is not None:
                self.catch_up(row)
            if self.scale is not None and self.scale.grew and (self.memory is not None or self.setting.start != 0.0):
                self.keep_raw_weights(row)

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

    # ---- what is published of single coordinates, between rounds ------------------------------------------------------

    cdef void begin_publishing(self) noexcept nogil:
        """What steps are multiplied with now, and the units of gradients and of curvatures, of each weight vector."""
        cdef Py_ssize_t l
        cdef double rho, rate, common = 1.0
        self.rounds_now = self.clock.now[0] if self.memory is None else self.clock.discounted(self.clock.now[0])
        if self.scale is not None and self.scale.spread[0] > 0.0:
            common = sqrt(self.rounds_now / self.scale.spread[0])
        for l in range(self.setting.L):
            rho = rate = 1.0
            if self.squares is not None and self.weight[0] > 0.0:
                rho = sqrt(self.squares[l] / self.weight[0])
                rate = rho = rho if rho > 0.0 else 1.0
                if self.mean_curvatures is not None and self.squares[l] > 0.0 and self.mean_curvatures[l] > 0.0:
                    rate = rho * self.weight[0] / self.mean_curvatures[l]
            self.now_unit[l] = rho if self.setting.degree != 1 else 1.0
            self.now_rate[l], self.now_step[l] = rate, rate * common

    cdef double square_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil:
        """G of a coordinate."""
        return 0.0

    cdef double step_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil:
        """η ψ(G) of a coordinate, of potentials that are not a user's."""
        cdef double square = self.square_now(i, vector), h = 0.0
        self.potential.steps(&square, &h, 1)
        return self.setting.eta[vector] * h

    cdef double kept_now(self, Py_ssize_t i) noexcept nogil:
        return 1.0 if self.memory is None else self.memory.after(self.clock.now[0] - self.charged[i])

    cdef double unit_now(self, Py_ssize_t i) noexcept nogil:
        return self.scale.unit(i) if self.scale is not None and i < self.setting.d else 1.0

    cdef double charged_now(self, Py_ssize_t i, Py_ssize_t vector, double h) noexcept nogil:
        """A weight, with the penalty that is still to be charged; ``h`` is the step of its coordinate."""
        cdef Py_ssize_t e = i * self.cells.stride + vector
        cdef double rounds = self.rounds_now if self.setting.dual else self.clock.now[0] - self.last[i]
        cdef double unit = self.unit_now(i)
        cdef double value, charge
        if not rounds > 0.0:
            return self.cells.x[e]
        value = -h * self.kept_now(i) * self.cells.theta[e] if self.setting.dual else self.cells.x[e]
        value = fmin(fmax(value / unit, -LARGEST_WEIGHT), LARGEST_WEIGHT)
        h /= fmax(fmax(unit * unit, SMALLEST_SQUARE) * self.now_unit[vector], SMALLEST_NORMAL)
        charge = fmin(h, LARGEST_STEP) * rounds
        value = copysign(fmax(fabs(value) - charge * self.setting.l1, 0.0), value) / (1.0 + charge * self.setting.l2)
        return fmin(fmax(value, self.domain.lower), self.domain.upper) * unit

    cdef bint would_be_zero(self, Py_ssize_t i, Py_ssize_t k, double weight, const double* shares) noexcept nogil:
        """Whether a combined weight is within the reach of the L1 penalty, see ``with_zeros``."""
        cdef Py_ssize_t r, l
        cdef double unit = self.unit_now(i), h = 0.0, s = 0.0
        for r in range(self.setting.R):
            l = r * self.setting.K + k
            h += shares[r] * self.rounds_now * self.now_rate[l] / (
                self.square_now(i, l) * fmax(unit * unit, SMALLEST_SQUARE) * self.now_unit[l])
            s += shares[r] * self.subgradient[i, l]
        return fabs(weight) / unit <= h * self.setting.l1 * (1.0 - fabs(s))

    cdef double weight_now(self, Py_ssize_t i, Py_ssize_t k, const double* of_averages, const double* of_iterates,
                           const double* shares) noexcept nogil:
        """The raw weight of a combination, before a domain that is no product confines it."""
        cdef Py_ssize_t r, l, e
        cdef double kept = self.kept_now(i), total = 0.0, x
        for r in range(self.setting.R):
            l = r * self.setting.K + k
            e = i * self.cells.stride + l
            x = self.cells.x[e]
            if of_averages != NULL:
                total += of_averages[r] * (x - kept * self.cells.u[e] / self.clock.now[1] if self.clock.now[1] > 0.0 else x)
            if of_iterates != NULL and of_iterates[r] != 0.0:
                if self.penalised and i < self.setting.d and (self.setting.dual or self.last[i] < self.clock.now[0]):
                    x = self.charged_now(i, l, self.now_step[l] * self.step_now(i, l))
                total += of_iterates[r] * x
        if i >= self.setting.d:
            return total / self.scale.unit(i) if self.scale is not None else total
        if self.setting.zeros and self.would_be_zero(i, k, total, shares):
            return 0.0
        return fmin(fmax(total / self.unit_now(i), self.domain.lower), self.domain.upper)

    cdef bint look_up(self, Row* row, Py_ssize_t k, const double* of_averages, const double* of_iterates,
                      double* margin) noexcept nogil:
        """O(nnz); O(D) where weights that count more than 1 together may have left a ball."""
        cdef Py_ssize_t i, j, r
        cdef double[16] shares
        cdef double counted = 0.0, gauge = 0.0, factor = 1.0, weight
        if self.potential.fallible or self.setting.start != 0.0:         # a user's, and a simplex
            return False
        self.begin_publishing()
        for r in range(self.setting.R):
            shares[r] = 0.0
            if of_averages != NULL:
                shares[r] += fabs(of_averages[r])
            if of_iterates != NULL:
                shares[r] += fabs(of_iterates[r])
            counted += shares[r]
        for r in range(self.setting.R):
            shares[r] /= fmax(counted, SMALLEST_NORMAL)
        if not (self.unconstrained or self.domain.coordinatewise) and counted > 1.0:
            for i in range(self.setting.d):
                weight = self.weight_now(i, k, of_averages, of_iterates, shares)
                gauge += self.domain.gauge(&weight, 1, 1)
            factor = self.domain.shrinkage(gauge)
        margin[0] = 0.0
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if row.z[j] != 0.0:
                weight = self.weight_now(i, k, of_averages, of_iterates, shares)
                margin[0] += row.z[j] * (weight * factor if i < self.setting.d else weight)
        return True

    # ---- forgetting ---------------------------------------------------------------------------------------------

    cdef bint works_in_place(self, Row* row) noexcept nogil:
        """Whether nothing has to be changed before the round is certain to stand: no units, and no rounds that were sat out."""
        cdef Py_ssize_t i
        if (row.index != NULL or self.cells.stride != self.setting.L or self.potential.fallible
                or (self.scale is not None and (self.scale.grew > 0 or self.setting.start != 0.0))):
            return False
        for i in range(self.setting.D):
            if self.charged[i] != self.clock.t - 1.0:
                return False
        return True

    cdef void catch_up(self, Row* row) noexcept nogil:
        """The copies of the touched coordinates forget the rounds that they have sat out."""
        cdef Py_ssize_t j, i
        cdef double rounds
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            rounds = self.clock.t - 1.0 - self.charged[i]
            if rounds > 0.0:
                self.forget_rounds(j * self.setting.L, self.setting.L, self.memory.after(rounds), self.memory.lost_after(rounds))

    cdef void forget(self, Row* row) noexcept nogil:
        """The copies forget in the round under way."""
        if self.memory is not None:
            self.forget_rounds(0, row.n * self.setting.L, self.memory.lam, self.memory.lost)

    cdef void forget_rounds(self, Py_ssize_t first, Py_ssize_t n, double kept, double lost) noexcept nogil:
        """n numbers of the copies of G, and of the sums of dual averaging and of the average."""
        self.forget_at(self.cells.Gb + first, self.cells.tb + first, self.cells.ub + first, n, kept, lost)

    cdef void forget_at(self, double* G, double* theta, double* u, Py_ssize_t n, double kept, double lost) noexcept nogil:
        cdef Py_ssize_t e
        if self.cells.G != NULL:
            keep(G, n, kept, lost * self.setting.epsilon)
        if self.fade_together:
            return
        if self.cells.theta != NULL:
            for e in range(n):
                theta[e] *= kept
        if self.cells.u != NULL:
            for e in range(n):
                u[e] *= kept

    cdef void catch_up_all(self) noexcept nogil:
        """Every coordinate has forgotten up to and including the round under way."""
        cdef Py_ssize_t i, e
        cdef double kept, lost
        for i in range(self.setting.D):
            kept, lost = self.memory.after(self.clock.t - self.charged[i]), self.memory.lost_after(self.clock.t - self.charged[i])
            self.charged[i] = self.clock.t
            e = i * self.cells.stride
            self.forget_at(self.cells.G + e, self.cells.theta + e, self.cells.u + e, self.setting.L, kept, lost)

    cdef void note_charged(self, Row* row, double when) noexcept nogil:
        """The touched coordinates have been written back, having forgotten up to this round."""
        cdef Py_ssize_t j
        if self.memory is not None:
            for j in range(row.n):
                self.charged[row.index[j] if row.index != NULL else j] = when

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void keep_raw_weights(self, Row* row) noexcept nogil:
        """Where a unit shrinks, the raw weight stays, and so does its average; so does one from before its feature was seen, which
        may not be 0."""
        cdef Py_ssize_t e, k, i, j
        cdef Py_ssize_t L = self.setting.L
        cdef double* x = self.cells.xb
        cdef double* u = self.cells.ub
        cdef double* theta = self.cells.tb
        cdef double factor
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            factor = self.scale.shrinkage(i, j) if self.scale.scale[i] > 0.0 else (
                self.scale.proposed[j] if self.setting.start != 0.0 else 1.0)
            if factor != 1.0:
                for e in range(j * L, j * L + L):
                    x[e] *= factor
                    if u != NULL:
                        u[e] *= factor
                    if theta != NULL and self.scale.scale[i] > 0.0:
                        theta[e] *= factor

    cdef int change_units(self, Row* row) noexcept nogil:
        """Carry G over to other units: divided by the growth squared, with ε made up for; θ so that x keeps its value."""
        cdef Py_ssize_t j, k, l, i, e
        cdef Py_ssize_t L = self.setting.L
        cdef double shrink, grown
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            if self.scale.scale[i] == 0.0:               # first sight sets the unit and leaves G
                continue
            shrink = (self.scale.scale[i] / self.scale.proposed[j]) * (self.scale.scale[i] / self.scale.proposed[j])
            for l in range(L):
                e = j * L + l
                grown = self.cells.Gb[e] * shrink + self.setting.epsilon * fmax(0.0, 1.0 - shrink)
                if self.carry(e, l, grown) != 0:
                    return POTENTIAL_RAISED
                self.cells.Gb[e] = grown
        return 0

    cdef int carry(self, Py_ssize_t e, Py_ssize_t vector, double grown) noexcept nogil:
        """What depends on one G that is about to change for its unit."""
        cdef double before, after
        cdef double* theta = self.cells.tb
        if self.setting.dual:
            if self.potential.steps(&self.cells.Gb[e], &before, 1) != 0 or self.potential.steps(&grown, &after, 1) != 0:
                return POTENTIAL_RAISED
            theta[e] *= before / after
        return 0

    cdef void collect_units(self, Row* row) noexcept nogil:
        """The units of all features, those of the row under way among them; an unseen feature counts in ones."""
        cdef Py_ssize_t i, j
        if self.scale is None:
            return
        for i in range(self.setting.d):
            self.units[i] = self.scale.unit(i)
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if i < self.setting.d and self.scale.proposed[j] > 0.0:
                self.units[i] = self.scale.proposed[j]
