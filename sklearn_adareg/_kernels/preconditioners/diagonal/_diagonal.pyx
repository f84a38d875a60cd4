"""diag: H_t = ψ(diag G_t), a step size for each coordinate. O(nnz) a round, 3 numbers a coefficient with the average.

What bounds a plain AdaGrad round. A short row: the chain from one step to the next row's margin, a sum, an exponential, a
division, an inverse root, a store that is loaded again, some 150 cycles that no width of vector shortens. A long row: 19 flops
a coordinate (2 of the margin, 3 of G, 9 of its inverse root, 5 of the step and the average), 8 bytes of the row from memory
(4 for float32, 12 for CSR), and 24 bytes of state, read and written, from the first-level cache up to some 1,300 features.
``benchmarks/bounds.py`` measures how near it runs.
"""
from ._coordinatewise cimport Coordinatewise
from ...domains._domains cimport Domain
from ._fused_loops cimport (
    inverse_cube_root_descend,
    inverse_cube_root_records,
    inverse_descend,
    inverse_fourth_root_descend,
    inverse_fourth_root_records,
    inverse_records,
    inverse_root_descend,
    inverse_root_records,
)
from ._fused_loops cimport stay_narrow as c_stay_narrow
from ...linalg._loops cimport square_in
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport POTENTIAL_RAISED

from ...potentials._potentials import stay_narrow as keep_potentials_narrow


def stay_narrow(bint wish):
    """Do not use AVX-512, for tests of the loops that other machines run; what was wished before."""
    keep_potentials_narrow(wish)
    return bool(c_stay_narrow(wish))


cdef class Diagonal(Coordinatewise):
    """Every coordinate keeps its own sum of squared gradients."""

    @staticmethod
    def fields(Setting setting):
        return ("G",)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        if potential.power == 0.5:
            self.in_vectors, self.in_records = inverse_root_descend, inverse_root_records
        elif potential.power == 1.0:
            self.in_vectors, self.in_records = inverse_descend, inverse_records
        elif potential.power == 1.0 / 3.0:
            self.in_vectors, self.in_records = inverse_cube_root_descend, inverse_cube_root_records
        elif potential.power == 0.25:
            self.in_vectors, self.in_records = inverse_fourth_root_descend, inverse_fourth_root_records

    def accumulated(self):
        kept = self.kept()
        return kept * self.field("G") + (1.0 - kept) * self.setting.epsilon

    cdef double square_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil:
        cdef double kept = self.kept_now(i)
        return kept * self.cells.G[i * self.cells.stride + vector] + (1.0 - kept) * self.setting.epsilon

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Coordinatewise.bind_loss(self, curvatures, steep)
        self.fused = self.plain and self.in_vectors != NULL and curvatures == NULL and self.memory is None

    cdef bint by_records(self) noexcept nogil:
        return self.fused

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        cdef const double* entering = self.entering(slopes) if self.setting.weights_as_rows else slopes
        self.slopes = slopes
        if self.scale is not None and self.scale.grew:
            self.change_units(row)
        self.vector_slopes()
        if self.cells.records:
            self.in_records(self.cells.x, self.cells.G, self.cells.u, self.cells.stride, row.index, row.z, entering, &self.es[0],
                            self.clock.C, self.cells.Gb, self.cells.hb, row.n, self.setting.L)
            return
        self.in_vectors(row.z, entering, &self.es[0], self.clock.C, self.cells.Gb, self.cells.xb, self.cells.ub,
                        self.cells.span, self.setting.L)
        if not self.cells.direct:
            self.cells.scatter_all(row)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        if self.scale is not None and self.scale.grew and self.change_units(row) != 0:
            return POTENTIAL_RAISED
        self.forget(row)
        square_in(row.z, self.entering(slopes), self.cells.Gb, row.n, self.setting.L)
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        return self.potential.steps(self.cells.Gb, self.cells.hb, row.n * self.setting.L)

    cdef void vector_steps(self, Row* row, Py_ssize_t vector, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t L = self.setting.L
        cdef double kept
        if row != NULL and row.index == NULL:                   # ψ of every coordinate is already here
            for i in range(D):
                h[i] = self.cells.hb[i * L + vector]
        else:
            for i in range(D):
                h[i] = self.cells.G[i * self.cells.stride + vector]
            if self.memory is not None and row == NULL:         # within a round all have caught up
                for i in range(D):
                    kept = self.memory.after(self.clock.now[0] - self.charged[i])
                    h[i] = kept * h[i] + (1.0 - kept) * self.setting.epsilon
            self.potential.steps(h, h, D)
        for i in range(D):
            h[i] *= self.setting.eta[vector] if row == NULL else self.vector_rate(vector)
