# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""diag: H_t = ψ(diag G_t), a step size for each coordinate. O(nnz) a round, 3 numbers a coefficient with the average.

What bounds a plain AdaGrad round. A short row: the chain from one step to the next row's margin, a sum, an exponential, a
division, an inverse root, a store that is loaded again, some 150 cycles that no width of vector shortens. A long row: 19 flops
a coordinate (2 of the margin, 3 of G, 9 of its inverse root, 5 of the step and the average), 8 bytes of the row from memory
(4 for float32, 12 for CSR), and 24 bytes of state, read and written, from the first-level cache up to some 1,300 features.
``benchmarks/bounds.py`` measures how near it runs.
"""
from ._coordinatewise cimport Coordinatewise
from ._loops cimport square_in
from ._losses cimport Loss
from ._rows cimport Row
from ._structures cimport Setting


cdef class Diagonal(Coordinatewise):
    """Every coordinate keeps its own sum of squared gradients."""

    @staticmethod
    def fields(Setting setting):
        return ("G",)

    cdef void meet(self, Loss loss) noexcept nogil:
        Coordinatewise.meet(self, loss)
        self.in_one = self.plain and self.potential.descend != NULL and not self.implicit

    cdef bint by_records(self) noexcept nogil:
        return self.in_one

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        self.take_slopes(slopes)
        if self.setting.scaled and self.grew:
            self.grow(row)
        self.lane_slopes()
        if self.on_records:
            self.potential.records(self.x, self.G, self.u, self.stride, row.index, row.z, self.entering, &self.es[0],
                                   self.clock.C, self.Gb, self.hb, row.n, self.setting.L)
            return
        self.potential.descend(row.z, self.entering, &self.es[0], self.clock.C, self.Gb, self.xb, self.ub, self.span, self.setting.L)
        self.scatter_all(row)

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        self.take_slopes(slopes)
        if self.setting.scaled and self.grew:
            self.grow(row)
        square_in(row.z, self.entering, self.Gb, row.n, self.setting.L)

    cdef int precondition(self, Row* row) noexcept nogil:
        return self.potential.steps(self.Gb, self.hb, row.n * self.setting.L)

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
