"""The numbers that diag and iso keep of each coordinate: how they are allocated and published, forget, and change units.

``_coordinatewise`` has the rounds.
"""
from libc.math cimport fmax

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
        x = np.array(self.field("x"))
        d = self.setting.d
        rounds = self.rounds_in_sums() if self.setting.dual else self.arrays["clock"][0] - self.arrays["last"][:d]
        pending = rounds > 0.0
        if not np.any(pending):
            return x
        unit = self.units_of_features()
        rate, gradient_unit = self.present_rates()
        h = rate * self.present_steps()[:, :d]
        with np.errstate(over="ignore"):
            u = (-h * (self.kept() * self.field("theta"))[:, :d] if self.setting.dual else x[:, :d]) / unit
            u = np.clip(u, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            h = h / np.maximum(np.maximum(unit**2, SMALLEST_SQUARE) * gradient_unit, SMALLEST_NORMAL)
            charge = np.minimum(h, LARGEST_STEP) * rounds
        soft = np.sign(u) * np.maximum(np.abs(u) - charge * self.setting.l1, 0.0)
        charged = np.clip(soft / (1.0 + charge * self.setting.l2), self.domain.lower, self.domain.upper)
        x[:, :d] = np.where(pending, charged * unit, x[:, :d])
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
        cdef Py_ssize_t d = self.setting.d
        K, R = self.setting.K, self.setting.R
        with np.errstate(over="ignore", divide="ignore"):
            h = 1.0 / self.curvatures_of_rows()
        s = self.arrays["subgradient"].T[:, :d]
        h, s = (np.einsum("kr,rkd->kd", shares, part.reshape(R, K, d)) for part in (h, s))
        found = np.array(weights)
        small = np.abs(found[:, :d]) / self.units_of_features() <= h * self.setting.l1 * (1.0 - np.abs(s))
        found[:, :d][small] = 0.0
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
