# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""diag: H_t = ψ(diag G_t), a step size for each coordinate. O(nnz) a round, 3 numbers a coefficient with the average."""
from ._coordinatewise cimport Coordinatewise
from ._domains cimport Domain
from ._loops cimport square_in
from ._potentials cimport Potential
from ._rows cimport Row
from ._structures cimport Setting


cdef class Diagonal(Coordinatewise):
    """Every coordinate keeps its own sum of squared gradients."""

    cdef bint fused             # the potential's own loop does the whole of a plain round in one pass

    @staticmethod
    def fields(Setting setting):
        return ("G",)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.fused = self.plain and potential.descend != NULL

    cdef bint by_records(self) noexcept nogil:
        return self.fused and not self.implicit

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        self.take_slopes(slopes)
        if self.setting.scaled and self.grew:
            if self.on_records:
                self.grow_records(row)
            else:
                self.grow(row)
        if self.implicit or not self.fused:
            square_in(row.z, self.entering, self.Gb, row.n, self.setting.L)

    cdef int precondition(self, Row* row) noexcept nogil:
        if self.fused and not self.implicit:
            return 0
        return self.potential.steps(self.Gb, self.hb, row.n * self.setting.L)

    cdef void descend(self, Row* row) noexcept nogil:
        if self.implicit or not self.fused:
            Coordinatewise.descend(self, row)
            return
        self.lane_slopes()
        if self.on_records:
            self.potential.records(self.x, self.G, self.u, self.stride, row.index, row.z, self.entering, &self.es[0],
                                   self.clock.C, row.n, self.setting.L)
            return
        self.potential.descend(row.z, self.entering, &self.es[0], self.clock.C, self.Gb, self.xb, self.ub, row.n, self.setting.L)

    cdef void lane_steps(self, Row* row, Py_ssize_t lane, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t L = self.setting.L
        if row != NULL and row.index == NULL:                   # ψ of every coordinate is already here
            for i in range(D):
                h[i] = self.hb[i * L + lane]
        else:
            for i in range(D):
                h[i] = self.G[i * self.stride + lane]
            self.potential.steps(h, h, D)
        for i in range(D):
            h[i] *= self.setting.eta[lane] if row == NULL else self.lane_rate(lane)
