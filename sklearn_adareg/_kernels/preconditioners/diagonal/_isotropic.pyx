"""iso: H_t = ψ(tr G_t / D)·I, one step size for all. O(nnz) a round, 2 numbers a coefficient with the average.

Short rows are bound by the same chain as in ``_diagonal``; long ones by memory, with 6 flops and 16 bytes of state a coordinate.

Dual averaging moves every coordinate each round, since h does: ``IsotropicDual`` keeps x_t = −h_{t−1} θ_{t−1} unmultiplied, and
its average by the same identity on θ: with A_t = Σ_{s≤t} c_s h_{s−1}, Σ c_t x_t = −(A_T θ_T − Σ A_s g_s).
With a half-life θ is kept as f_t θ̂_t, f_t = λ^t, so that a round adds g_t / f_t to the coordinates it touches and no other number
changes; the identity holds for θ̂ with A_t = Σ c_s h_{s−1} f_{s−1} / f_s, times f_T. When f is tiny it is set back to 1, in O(D).
"""
from libc.math cimport fmax

from ._coordinatewise cimport Coordinatewise
from ...domains._domains cimport Domain
from ...linalg._loops cimport scaled_step, square_in
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting, keep
from .._structures cimport POTENTIAL_RAISED

import numpy as np

cdef double FAINTEST = 1e-60


cdef class Isotropic(Coordinatewise):
    """One step size, from the mean of the squared gradients' sums."""

    cdef double[::1] trace       # per weight vector: tr G_t
    cdef double[::1] new_trace   # the same with the round under way
    cdef double[::1] carried     # the same in the round's units, before its gradient
    cdef double[::1] level       # new_trace / D
    cdef double[::1] ratio       # per weight vector: what θ is multiplied with, so that −hθ stays when units grow
    cdef bint rescales           # it has to be in this round
    cdef double share            # 1 / D
    cdef double[::1] h           # ψ(level)/η

    @staticmethod
    def fields(Setting setting):
        return ("G",) if setting.scaled else ()     # to carry the trace over when a unit grows

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        arrays["trace"] = np.full(setting.L, setting.D * setting.epsilon)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        self.moves_all = setting.dual and setting.l2 == 0.0 and setting.l1 == 0.0
        super().__init__(setting, potential, domain, arrays)
        self.trace, self.share = arrays["trace"], 1.0 / setting.D
        self.new_trace, self.carried, self.level = np.empty(setting.L), np.empty(setting.L), np.empty(setting.L)
        self.h, self.ratio = np.empty(setting.L), np.empty(setting.L)

    def accumulated(self):
        return self.arrays["trace"] / self.setting.D

    cdef double square_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil:
        return self.trace[vector] * self.share

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Coordinatewise.bind_loss(self, curvatures, steep)
        self.fused = (self.plain and curvatures == NULL
                      and not (self.setting.scaled or self.setting.relative or self.setting.shifted
                               or self.potential.fallible or self.setting.weights_as_rows or self.memory is not None))

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.trace[l] += slopes[l] * slopes[l] * row.norm2
            self.level[l] = self.trace[l] * self.share
        self.potential.steps(&self.level[0], &self.h[0], self.setting.L)
        for l in range(self.setting.L):
            self.es[l] = self.setting.eta[l] * slopes[l] * self.h[l]
        scaled_step(row.z, &self.es[0], self.clock.C, self.cells.xb, self.cells.ub, self.cells.span, self.setting.L)
        if not self.cells.direct:
            self.cells.scatter_all(row)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        cdef Py_ssize_t l
        cdef const double* entering = self.entering(slopes)
        self.slopes = slopes
        self.take_units(row)
        self.forget(row)
        if self.scale is not None:
            square_in(row.z, entering, self.cells.Gb, row.n, self.setting.L)
        for l in range(self.setting.L):
            self.new_trace[l] += entering[l] * entering[l] * row.norm2
            self.level[l] = self.new_trace[l] * self.share
        return 0

    cdef void take_units(self, Row* row) noexcept nogil:
        """The trace in the units of this row, having forgotten."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.new_trace[l] = self.trace[l]
        self.rescales = self.setting.dual and self.scale is not None and self.scale.grew > 0
        if self.scale is not None and self.scale.grew:
            self.change_units(row)
        for l in range(self.setting.L):              # not below that of εI, where a broken row names a coordinate many times
            self.new_trace[l] = fmax(self.new_trace[l], self.setting.D * self.setting.epsilon)
            self.carried[l] = self.new_trace[l]
        if self.memory is not None:
            keep(&self.new_trace[0], self.setting.L, self.memory.lam, self.memory.lost * self.setting.D * self.setting.epsilon)

    cdef int carry(self, Py_ssize_t e, Py_ssize_t vector, double grown) noexcept nogil:
        self.new_trace[vector] += grown - self.cells.Gb[e]
        return 0

    cdef int find_ratios(self) noexcept nogil:
        """h is common, so a unit that grows would move every −hθ: θ makes up for it."""
        cdef Py_ssize_t l
        cdef double level, before, after
        for l in range(self.setting.L):
            level = self.trace[l] * self.share
            if self.potential.steps(&level, &before, 1) != 0:
                return POTENTIAL_RAISED
            level = self.carried[l] * self.share
            if self.potential.steps(&level, &after, 1) != 0:
                return POTENTIAL_RAISED
            self.ratio[l] = before / after
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef Py_ssize_t L = self.setting.L
        if self.potential.steps(&self.level[0], &self.h[0], L) != 0:
            return POTENTIAL_RAISED
        if self.rescales and self.find_ratios() != 0:
            return POTENTIAL_RAISED
        if not self.plain:
            for j in range(row.n):
                for l in range(L):
                    self.cells.hb[j * L + l] = self.h[l]
        return 0

    cdef int update(self, Row* row) noexcept nogil:
        self.keep_trace(row)
        return Coordinatewise.update(self, row)

    cdef int rest(self, Row* row) noexcept nogil:
        self.take_units(row)
        if self.rescales and self.find_ratios() != 0:
            return POTENTIAL_RAISED
        self.keep_trace(row)
        if self.scale is not None and self.scale.grew:
            self.cells.scatter_all(row)
            self.note_charged(row, self.clock.t - 1.0)
        return 0

    cdef void keep_trace(self, Row* row) noexcept nogil:
        """Nothing can fail any more: the trace of this round, and θ in its units."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.trace[l] = self.new_trace[l]
            if self.rescales:
                self.scale_sums(l, self.ratio[l])
        if self.rescales and not self.cells.direct:
            self.gather_sums(row)

    cdef void scale_sums(self, Py_ssize_t vector, double ratio) noexcept nogil:
        cdef Py_ssize_t i
        cdef double* theta = self.cells.theta
        for i in range(self.setting.D):
            theta[i * self.cells.stride + vector] *= ratio

    cdef void gather_sums(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef double* theta = self.cells.tb
        if self.memory is None:
            self.cells.gather(row, self.cells.theta, theta)
            return
        for j in range(row.n):                           # the copies have forgotten, and taken the units, already
            for l in range(self.setting.L):
                theta[j * self.setting.L + l] *= self.ratio[l]

    cdef void descend(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        self.vector_slopes()
        if self.curvatures != NULL:
            for l in range(self.setting.L):
                self.lengths[l] = self.h[l] * row.norm2
            self.shorten()
        for l in range(self.setting.L):
            self.es[l] *= self.h[l]
        scaled_step(row.z, &self.es[0], self.clock.C, self.cells.xb, self.cells.ub, self.cells.span, self.setting.L)

    cdef void vector_steps(self, Row* row, Py_ssize_t vector, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef double level = self.trace[vector] * self.share
        cdef double step = self.h[vector]
        if row == NULL:
            self.potential.steps(&level, &step, 1)
        for i in range(self.setting.D):
            h[i] = step * (self.setting.eta[vector] if row == NULL else self.vector_rate(vector))


cdef class IsotropicDual(Isotropic):
    """Dual averaging without domain or penalty, O(nnz) a round: θ and Σ A_s g_s are kept, x is not."""

    cdef double[::1] step        # per weight vector: η h_{t−1}, times f
    cdef double[::1] A
    cdef double[::1] fade        # f, where something is forgotten

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        arrays["step"], arrays["A"] = np.zeros(setting.L), np.zeros(setting.L)
        if setting.forgotten > 0.0:
            arrays["fade"] = np.ones(1)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.step, self.A = arrays["step"], arrays["A"]
        self.fade, self.fade_together = arrays.get("fade"), True

    def last_iterate(self, at=None):
        return -self.arrays["step"][:, None] * self.field("theta", at)

    def average(self, at=None):
        if self.arrays["clock"][1] == 0.0:
            return np.zeros((self.setting.L, self.setting.D if at is None else len(at)))
        weighed = self.arrays["A"][:, None] * self.field("theta", at) - self.field("u", at)
        if self.memory is not None:
            weighed *= self.arrays["fade"][0]
        return -weighed / self.arrays["clock"][1]

    cdef bint look_up(self, Row* row, Py_ssize_t k, const double* of_averages, const double* of_iterates,
                      double* margin) noexcept nogil:
        return False                                     # its weights are products

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l
        cdef double C = self.clock.now[1]
        cdef double fade = self.fade[0] if self.memory is not None else 1.0
        self.cells.dots(row, self.cells.tb, margins)
        if self.average_margins != NULL:
            self.cells.dots(row, self.cells.ub, self.average_margins)
            for l in range(self.setting.L):
                self.average_margins[l] = fade * (self.average_margins[l] - self.A[l] * margins[l]) / C if C > 0.0 else 0.0
        for l in range(self.setting.L):
            margins[l] *= -self.step[l]

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef Py_ssize_t L = self.setting.L
        cdef double g, fade = 1.0
        cdef double* theta = self.cells.tb
        cdef double* u = self.cells.ub
        self.keep_trace(row)
        if self.memory is not None:
            fade = self.fade[0] = self.fade[0] * self.memory.lam
        self.pass_by(fade)
        for j in range(row.n):
            for l in range(L):
                g = row.z[j] * self.slopes[l] / fade
                theta[j * L + l] += g
                if u != NULL:
                    u[j * L + l] += self.A[l] * g
        for l in range(L):
            self.step[l] = self.vector_rate(l) * self.h[l] * fade
        self.cells.scatter_all(row)
        self.note_charged(row, self.clock.t)
        if fade < FAINTEST:
            self.set_back()
        return 0

    cdef void set_back(self) noexcept nogil:
        """f = 1 and A = 0 without a change to x and to the average."""
        cdef Py_ssize_t i, l, e
        cdef double fade = self.fade[0]
        cdef double* theta = self.cells.theta
        cdef double* u = self.cells.u
        for l in range(self.setting.L):
            for i in range(self.setting.D):
                e = i * self.cells.stride + l
                if u != NULL:
                    u[e] = fade * (u[e] - self.A[l] * theta[e])
                theta[e] *= fade
            self.A[l] = 0.0
            self.step[l] /= fade
        self.fade[0] = 1.0

    cdef int rest(self, Row* row) noexcept nogil:
        if Isotropic.rest(self, row) != 0:
            return POTENTIAL_RAISED
        self.pass_by(1.0)
        return 0

    cdef void scale_sums(self, Py_ssize_t vector, double ratio) noexcept nogil:
        """x = −step θ keeps its value, since the step of this round carries the other half; so does A θ − u, the average's sum."""
        cdef Py_ssize_t i, e
        cdef double* theta = self.cells.theta
        cdef double* u = self.cells.u
        for i in range(self.setting.D):
            e = i * self.cells.stride + vector
            if u != NULL:
                u[e] += self.A[vector] * (ratio - 1.0) * theta[e]
            theta[e] *= ratio
        self.step[vector] /= ratio

    cdef void gather_sums(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l, e
        cdef double* u = self.cells.ub
        if self.memory is None:
            self.cells.gather(row, self.cells.u, u)
        elif u != NULL:
            for j in range(row.n):
                for l in range(self.setting.L):
                    e = j * self.setting.L + l
                    u[e] += self.A[l] * (self.ratio[l] - 1.0) * self.cells.tb[e]
        Isotropic.gather_sums(self, row)

    cdef void pass_by(self, double fade) noexcept nogil:
        """A round passes: the average takes the present point in."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.A[l] += self.clock.c * self.step[l] / fade
