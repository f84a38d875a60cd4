# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""iso: H_t = ψ(tr G_t / D)·I, one step size for all. O(nnz) a round, 2 numbers a coefficient with the average.

Short rows are bound by the same chain as in ``_diag``; long ones by memory, with 6 flops and 16 bytes of state a coordinate.

Dual averaging moves every coordinate each round, since h does: ``IsotropicDual`` keeps x_t = −h_{t−1} θ_{t−1} unmultiplied, and
its average by the same identity on θ: with A_t = Σ_{s≤t} c_s h_{s−1}, Σ c_t x_t = −(A_T θ_T − Σ A_s g_s).
"""
from ._coordinatewise cimport Coordinatewise
from ._domains cimport Domain
from ._losses cimport Loss
from ._loops cimport scaled_step, square_in
from ._potentials cimport Potential
from ._rows cimport Row
from ._structures cimport Setting

import numpy as np


cdef class Isotropic(Coordinatewise):
    """One step size, from the mean of the squared gradients' sums."""

    cdef double[::1] trace       # tr G_t, one a lane
    cdef double[::1] trace_now   # the same with the gradient of the round under way
    cdef double[::1] level       # its mean
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
        self.moves_all = setting.dual and setting.ridge == 0.0 and setting.lasso == 0.0
        super().__init__(setting, potential, domain, arrays)
        self.trace, self.share = arrays["trace"], 1.0 / setting.D
        self.trace_now, self.level, self.h = np.empty(setting.L), np.empty(setting.L), np.empty(setting.L)

    cdef void meet(self, Loss loss) noexcept nogil:
        Coordinatewise.meet(self, loss)
        self.in_one = self.plain and not (self.has_units or self.potential.fallible or self.setting.lighter)

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.trace[l] += slopes[l] * slopes[l] * row.norm2
            self.level[l] = self.trace[l] * self.share
        self.potential.steps(&self.level[0], &self.h[0], self.setting.L)
        for l in range(self.setting.L):
            self.es[l] = self.setting.eta[l] * slopes[l] * self.h[l]
        scaled_step(row.z, &self.es[0], self.clock.C, self.xb, self.ub, self.span, self.setting.L)
        self.scatter_all(row)

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        cdef Py_ssize_t l
        self.take_slopes(slopes)
        for l in range(self.setting.L):
            self.trace_now[l] = self.trace[l]
        if self.setting.scaled:
            if self.grew:
                self.grow(row)
                self.keep_point(row)
            square_in(row.z, self.entering, self.Gb, row.n, self.setting.L)
        for l in range(self.setting.L):
            self.trace_now[l] += self.entering[l] * self.entering[l] * row.norm2
            self.level[l] = self.trace_now[l] * self.share

    cdef void carry(self, Py_ssize_t e, Py_ssize_t lane, double grown) noexcept nogil:
        self.trace_now[lane] += grown - self.Gb[e]

    cdef void rest(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.trace_now[l] = self.trace[l]
        if self.setting.scaled and self.grew:
            self.grow(row)
            self.keep_point(row)
            self.scatter_all(row)
        for l in range(self.setting.L):
            self.trace[l] = self.trace_now[l]

    cdef void keep_point(self, Row* row) noexcept nogil:
        """h is common, so a unit that grows would move every −hθ: θ makes up for it."""
        cdef Py_ssize_t l
        cdef double level, before, after
        if not self.setting.dual:
            return
        for l in range(self.setting.L):
            level = self.trace[l] * self.share
            self.potential.steps(&level, &before, 1)
            level = self.trace_now[l] * self.share
            self.potential.steps(&level, &after, 1)
            self.scale_sums(l, before / after)
        self.gather_sums(row)

    cdef void scale_sums(self, Py_ssize_t lane, double ratio) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.setting.D):
            self.theta[i * self.stride + lane] *= ratio

    cdef void gather_sums(self, Row* row) noexcept nogil:
        if not self.direct:
            self.gather(row, self.theta, self.tb)
            self.gather(row, self.u, self.ub)

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef Py_ssize_t L = self.setting.L
        if self.potential.steps(&self.level[0], &self.h[0], L) != 0:
            return -1
        for l in range(L):
            self.trace[l] = self.trace_now[l]
        if not self.plain:
            for j in range(row.n):
                for l in range(L):
                    self.hb[j * L + l] = self.h[l]
        return 0

    cdef void descend(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        self.lane_slopes()
        if self.implicit:
            for l in range(self.setting.L):
                self.averages[l] = self.h[l] * row.norm2
            self.shorten(&self.averages[0])
        for l in range(self.setting.L):
            self.es[l] *= self.h[l]
        scaled_step(row.z, &self.es[0], self.clock.C, self.xb, self.ub, self.span, self.setting.L)

    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef double level = self.trace[lane] * self.share
        cdef double step = self.h[lane]
        if row == NULL:
            self.potential.steps(&level, &step, 1)
        for i in range(self.setting.D):
            h[i] = step * (self.setting.eta[lane] if row == NULL else self.lane_rate(lane))


cdef class IsotropicDual(Isotropic):
    """Dual averaging without domain or penalty, O(nnz) a round: θ and Σ A_s g_s are kept, x is not."""

    cdef double[::1] step        # η h_{t−1}, one a lane
    cdef double[::1] A

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        arrays["step"], arrays["A"] = np.zeros(setting.L), np.zeros(setting.L)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.step, self.A = arrays["step"], arrays["A"]

    def last_iterate(self):
        return -self.arrays["step"][:, None] * self.field("theta")

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return np.zeros((self.setting.L, self.setting.D))
        weighed = self.arrays["A"][:, None] * self.field("theta") - self.field("u")
        return -weighed / self.arrays["clock"][1]

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l
        self.dots(row, self.tb, margins)
        for l in range(self.setting.L):
            margins[l] *= -self.step[l]

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef Py_ssize_t L = self.setting.L
        cdef double g
        self.pass_by()
        for j in range(row.n):
            for l in range(L):
                g = row.z[j] * self.slopes[l]
                self.tb[j * L + l] += g
                if self.ub != NULL:
                    self.ub[j * L + l] += self.A[l] * g
        for l in range(L):
            self.step[l] = self.lane_rate(l) * self.h[l]
        self.scatter_all(row)
        return 0

    cdef void rest(self, Row* row) noexcept nogil:
        Isotropic.rest(self, row)
        self.pass_by()

    cdef void scale_sums(self, Py_ssize_t lane, double ratio) noexcept nogil:
        """x = −step θ keeps its value, since the step of this round carries the other half; so does A θ − u, the average's sum."""
        cdef Py_ssize_t i, e
        for i in range(self.setting.D):
            e = i * self.stride + lane
            if self.u != NULL:
                self.u[e] += self.A[lane] * (ratio - 1.0) * self.theta[e]
            self.theta[e] *= ratio
        self.step[lane] /= ratio

    cdef void pass_by(self) noexcept nogil:
        """A round passes: the average takes the present point in."""
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.A[l] += self.clock.c * self.step[l]
