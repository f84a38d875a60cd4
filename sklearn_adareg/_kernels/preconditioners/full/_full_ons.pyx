"""full, ψ(λ) = η/λ: H_t = η G_t⁻¹ without a decomposition, O(D²) a round (see ``_inverse``)."""
from libc.math cimport sqrt
from libc.string cimport memcpy

from .._structures cimport NOT_FINITE
from ...domains._domains cimport Domain
from ._forgetting_inverse cimport Fading
from ._full cimport Full
from ...linalg._inverse cimport Inverse
from ...linalg._loops cimport axpy, dot
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting

import numpy as np


cdef double LARGEST_SQUARE = 1e300   # of a gradient: many of them add up to a number


cdef class FullONS(Full):
    """The Online Newton Step: G_t⁻¹ g_t = v / (1 + g_tᵀv) with v = G_{t−1}⁻¹ g_t."""

    cdef Inverse inverse
    cdef Fading fading               # None: nothing is forgotten
    cdef double[::1] weights         # per weight vector: 1 / (1 + gᵀv)
    cdef double[::1] sparse_g

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        matrices = {**Inverse.allocate(setting.L, setting.D, setting.epsilon), **Fading.allocate(setting, setting.L)}
        return {**super().allocate(setting, sparse), **matrices}

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return Inverse.mismatch(arrays) or Fading.mismatch(arrays)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.inverse = Inverse(arrays, whole=not self.unconstrained)
        self.fading = Fading(setting, self.inverse, arrays) if self.memory is not None else None
        self.weights, self.sparse_g = np.empty(setting.L), np.empty(setting.D)

    def accumulated(self):
        G = self.inverse.accumulated()
        return G if self.fading is None else self.arrays["fade"][:, None, None] * G

    def preconditioner(self):
        rates = np.array(self.setting.eta)
        return self.inverse.preconditioner(rates if self.fading is None else rates / self.arrays["fade"])

    cdef double fade(self, Py_ssize_t vector) noexcept nogil:
        """What of G the inverse is of, in the round under way."""
        return 1.0 if self.fading is None else self.fading.next_fade(vector)

    cdef void save_matrices(self) noexcept nogil:
        self.inverse.save(self.undo, 0, self.setting.L)

    cdef int precondition(self, Row* row) noexcept nogil:
        """H_t times g_t, or times θ_t."""
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        cdef double as_rows = sqrt(self.round_weight) if self.setting.weights_as_rows else 1.0
        cdef double factor, root
        cdef double* v
        cdef double* g
        for l in range(self.setting.L):
            g, v = &self.g[l, 0], self.inverse.next_v(l)
            root = as_rows if self.fading is None else as_rows * sqrt(self.fading.next_fade(l))
            if root != 1.0:
                for i in range(D):
                    g[i] /= root
            if not dot(g, g, D) < LARGEST_SQUARE:        # G would be infinite, for good
                return NOT_FINITE
            self.times_row(l, row, self.slopes[l] / root, v)
            self.weights[l] = 1.0 / (1.0 + dot(g, v, D))
            factor = self.setting.eta[l] / self.fade(l)
            if self.setting.dual:                        # G_t⁻¹ θ = G_{t−1}⁻¹ θ − v (vᵀθ) / (1 + gᵀv)
                self.inverse.times(l, &self.sums[l, 0], &self.move[l, 0])
                axpy(-self.weights[l] * dot(v, &self.sums[l, 0], D), v, &self.move[l, 0], D)
            else:
                memcpy(&self.move[l, 0], v, D * sizeof(double))
                factor *= self.weights[l] * root
            for i in range(D):
                self.move[l, i] *= factor
        return 0

    cdef void times_row(self, Py_ssize_t vector, Row* row, double slope, double* out) noexcept nogil:
        """G_{t−1}⁻¹ g of a weight vector; by the inverse's rows where the row is sparse and no penalty has filled g."""
        cdef Py_ssize_t j
        if row.index == NULL or self.penalised:
            self.inverse.times(vector, &self.g[vector, 0], out)
            return
        for j in range(row.n):
            self.sparse_g[j] = slope * row.z[j]
        self.inverse.times_sparse(vector, row.index, &self.sparse_g[0], row.n, out)

    cdef void commit(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            if self.weights[l] != 1.0:
                memcpy(self.inverse.next_g(l), &self.g[l, 0], self.setting.D * sizeof(double))
                self.inverse.commit(l, self.weights[l])
        self.forget()

    cdef void forget(self) noexcept nogil:
        cdef Py_ssize_t l
        if self.fading is not None:
            for l in range(self.setting.L):
                self.fading.pass_by(l, self.memory.lam, self.memory.lost)

    cdef void explicit_H(self, Py_ssize_t vector) noexcept nogil:
        cdef double weight = self.weights[vector] if self.weights[vector] != 1.0 else 0.0
        self.inverse.explicit(vector, weight, self.setting.eta[vector] / self.fade(vector), &self.H[0, 0])

    cdef bint explicit_H_anew(self, Py_ssize_t vector) noexcept nogil:
        return self.inverse.explicit_anew(vector, &self.g[vector, 0], self.setting.eta[vector] / self.fade(vector), &self.H[0, 0])

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        self.inverse.carry(vector, i, growth, self.setting.epsilon / (1.0 if self.fading is None else self.fading.fade[vector]))

    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef double* gap = &self.goal[vector, 0]
        cdef double fade = 1.0 if self.fading is None else self.fading.fade[vector]
        for i in range(D):
            gap[i] = fade * (self.begun(i) - self.x[vector * D + i]) / (self.setting.eta[vector] * self.rho[vector])
        self.inverse.times_G(vector, gap, self.theta + vector * D)
        return 0
