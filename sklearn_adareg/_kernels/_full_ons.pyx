# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""full, ψ(λ) = η/λ: H_t = η G_t⁻¹ without a decomposition, O(D²) a round (see ``_inverse``)."""
from libc.math cimport sqrt
from libc.string cimport memcpy

from ._domains cimport Domain
from ._full cimport Full
from ._inverse cimport Inverse
from ._loops cimport axpy, dot
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting

import numpy as np


cdef class FullONS(Full):
    """The Online Newton Step: G_t⁻¹ g_t = v / (1 + g_tᵀv) with v = G_{t−1}⁻¹ g_t."""

    cdef Inverse inverse
    cdef double[::1] weights         # per lane: 1 / (1 + gᵀv)
    cdef double[::1] sparse_g

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        return {**super().allocate(setting, sparse), **Inverse.allocate(setting.L, setting.D, setting.epsilon)}

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.inverse = Inverse(arrays, whole=not self.unconstrained)
        self.weights, self.sparse_g = np.empty(setting.L), np.empty(setting.D)

    def accumulated(self):
        return self.inverse.accumulated()

    def preconditioner(self):
        return self.inverse.preconditioner(self.setting.eta)

    cdef void save_matrices(self) noexcept nogil:
        self.inverse.save(self.undo, 0, self.setting.L)

    cdef int precondition(self, Row* row) noexcept nogil:
        """H_t times g_t, or times θ_t."""
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        cdef const double* entering = self.entering(self.slopes)
        cdef double root = 1.0 if entering == self.slopes else sqrt(self.round_weight)
        cdef double factor
        cdef double* v
        cdef double* g
        for l in range(self.setting.L):
            g, v = &self.g[l, 0], self.inverse.next_v(l)
            if root != 1.0:
                for i in range(D):
                    g[i] /= root
            self.times_row(l, row, entering[l], v)
            self.weights[l] = 1.0 / (1.0 + dot(g, v, D))
            factor = self.setting.eta[l]
            if self.setting.dual:                        # G_t⁻¹ θ = G_{t−1}⁻¹ θ − v (vᵀθ) / (1 + gᵀv)
                self.inverse.times(l, &self.sums[l, 0], &self.move[l, 0])
                axpy(-self.weights[l] * dot(v, &self.sums[l, 0], D), v, &self.move[l, 0], D)
            else:
                memcpy(&self.move[l, 0], v, D * sizeof(double))
                factor *= self.weights[l] * root
            for i in range(D):
                self.move[l, i] *= factor
        return 0

    cdef void times_row(self, Py_ssize_t lane, Row* row, double slope, double* out) noexcept nogil:
        """G_{t−1}⁻¹ g of a lane; by the inverse's rows where the row is sparse and no penalty has filled g."""
        cdef Py_ssize_t j
        if row.index == NULL or self.penalised:
            self.inverse.times(lane, &self.g[lane, 0], out)
            return
        for j in range(row.n):
            self.sparse_g[j] = slope * row.z[j]
        self.inverse.times_sparse(lane, row.index, &self.sparse_g[0], row.n, out)

    cdef void commit(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            if self.weights[l] != 1.0:
                memcpy(self.inverse.next_g(l), &self.g[l, 0], self.setting.D * sizeof(double))
                self.inverse.commit(l, self.weights[l])

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        cdef double weight = self.weights[lane] if self.weights[lane] != 1.0 else 0.0
        self.inverse.explicit(lane, weight, self.setting.eta[lane], &self.H[0, 0])

    cdef bint explicit_H_anew(self, Py_ssize_t lane) noexcept nogil:
        return self.inverse.explicit_anew(lane, &self.g[lane, 0], self.setting.eta[lane], &self.H[0, 0])

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        self.inverse.carry(lane, i, growth, self.setting.epsilon)

    cdef int reset_sums(self, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef double* gap = &self.goal[lane, 0]
        for i in range(D):
            gap[i] = (self.begun(i) - self.x[lane * D + i]) / (self.setting.eta[lane] * self.rho[lane])
        self.inverse.times_G(lane, gap, self.theta + lane * D)
        return 0
