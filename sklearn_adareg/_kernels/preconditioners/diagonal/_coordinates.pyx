"""The numbers that diag and iso keep of each coordinate: how they are allocated and published, forget, and change units.

``_coordinatewise`` has the rounds.
"""
from libc.math cimport copysign, fabs, fmax, fmin, sqrt

from ._cells cimport Cells
from ...domains._domains cimport Domain
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport POTENTIAL_RAISED, Structure
from ...scaling._forgetting cimport keep
from ...scaling._units cimport FeatureScale

from ._cells import as_cells, in_vectors, side_by_side
from ...state._saved import out_of_range

import numpy as np

cdef double SMALLEST_NORMAL = 2.2250738585072014e-308


cdef class Coordinates(Structure):
    """The state of a diagonal preconditioner, and what happens to it beside the steps."""

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

    cdef void keep_raw_start(self, Row* row) noexcept nogil:
        """A weight that was not 0 before its feature was seen keeps its raw value."""
        cdef Py_ssize_t j, l, i
        cdef Py_ssize_t L = self.setting.L
        cdef double* x = self.cells.xb
        cdef double* u = self.cells.ub
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            if self.scale.scale[i] == 0.0 and self.scale.proposed[j] > 0.0:
                for l in range(L):
                    x[j * L + l] *= self.scale.proposed[j]
                    if u != NULL:
                        u[j * L + l] *= self.scale.proposed[j]

    cdef void keep_raw_weights(self, Row* row) noexcept nogil:
        """Where a unit shrinks, the raw weight stays, and so does its average."""
        cdef Py_ssize_t e, k, i, j
        cdef Py_ssize_t L = self.setting.L
        cdef double* x = self.cells.xb
        cdef double* u = self.cells.ub
        cdef double* theta = self.cells.tb
        cdef double shrinkage
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            shrinkage = self.scale.shrinkage(i, j)
            if shrinkage < 1.0:
                for e in range(j * L, j * L + L):
                    x[e] *= shrinkage
                    if u != NULL:
                        u[e] *= shrinkage
                    if theta != NULL:
                        theta[e] *= shrinkage

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
