"""full, any ψ: by the eigenvalues and eigenvectors of G, which serve for many rounds (see ``_basis``)."""
from ._eigenbasis cimport Basis
from ...domains._domains cimport Domain
from ._full cimport Full
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport POTENTIAL_RAISED

import numpy as np


cdef void restrict_of(void* structure, double* G) noexcept nogil:
    (<FullSpectral> structure).restrict(G)


cdef class FullSpectral(Full):
    """Any ψ, by the eigenvalues and eigenvectors of G_t."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        lasting = setting.refresh > 0.0
        return {**super().allocate(setting, sparse),
                **Basis.allocate(setting.L, setting.D, setting.epsilon, lasting, forgets=setting.forgotten > 0.0)}

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return Basis.mismatch(arrays)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.basis = Basis(potential, setting.refresh, setting.epsilon, arrays)
        self.basis.restrict_by(restrict_of, <void*> self)

    def accumulated(self):
        return self.basis.accumulated()

    def preconditioner(self):
        """H of the last step: of the decomposition that served there, which may be older than G."""
        return self.basis.preconditioner(self.accumulated(), np.asarray(self.setting.eta))

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        cdef double* b
        for l in range(self.setting.L):
            b = &self.sums[l, 0] if self.setting.dual else &self.g[l, 0]
            if self.memory is not None:
                self.basis.forget(l, self.memory.lam)
            if self.basis.times_H(l, &self.g[l, 0], b, self.setting.eta[l], &self.move[l, 0]) != 0:
                return POTENTIAL_RAISED
        return 0

    cdef void commit(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.basis.commit(l, &self.g[l, 0])

    cdef void forget(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.basis.forget(l, self.memory.lam)
            self.basis.fade[l] = self.basis.new_fade[l]

    cdef void restrict(self, double* G) noexcept nogil:
        """P_S: what of G the structure keeps, in place; only G[i, j] for j ≤ i is read."""
        pass

    cdef void explicit_H(self, Py_ssize_t vector) noexcept nogil:
        self.basis.explicit(vector, self.setting.eta[vector], &self.H[0, 0])

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void save_matrices(self) noexcept nogil:
        self.basis.save(self.undo, 0, self.setting.L)

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        self.basis.carry(vector, i, growth)

    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil:
        """θ = H⁻¹(x_1 − x), in the basis of the G just carried over."""
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        for i in range(D):
            self.goal[vector, i] = (self.begun(i) - self.x[vector * D + i]) / self.rho[vector]
        return self.basis.solve_H(vector, &self.goal[vector, 0], self.setting.eta[vector], self.theta + vector * D)
