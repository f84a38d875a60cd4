"""sketch, any ψ: by the eigenvalues λ and eigenvectors U of the Gram matrix K = B Bᵀ of the rows, O(rank³).

H b = h_0 b + Bᵀ U diag(q) Uᵀ B b with h_0 = ψ(a), q_i = (ψ(a + λ_i) − ψ(a))/λ_i; for the newest row itself,
H g = Bᵀ U ψ(a + λ) Uᵀ e_k.

The decomposition of an older G̃_τ serves on while s = Σ g_tᵀ G̃_τ⁻¹ g_t over the rows since is at most δ, which certifies
G̃_τ ⪯ G̃_t ⪯ (1 + δ)G̃_τ (``_basis`` says what follows from that). A shrink and a change of units end it. δ = 0: every round.
"""
from libc.math cimport fmax
from libc.string cimport memcpy, memset

from ...domains._domains cimport Domain
from ...linalg._loops cimport axpy, dot
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from ._sketch cimport Sketch

from ...state._saved import out_of_range

import numpy as np

cdef double NEGLIGIBLE = 1e-14       # an eigenvalue below this share of the largest is rounding


cdef class SketchSpectral(Sketch):
    """Any ψ on a sketch."""

    cdef double delta
    cdef double[:, :, ::1] U         # per weight vector: eigenvectors of the first ``served`` rows, one per row
    cdef double[:, ::1] lam, q
    cdef double[::1] served, outside, s, stale
    cdef double[:, :, ::1] new_U
    cdef double[:, ::1] new_lam, new_q, new_h
    cdef double[::1] new_outside, new_s
    cdef bint[::1] decided, renewed  # in the round under way
    cdef double[::1] turned, lams, psis

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        L, room = arrays["B"].shape[:2]
        if setting.refresh > 0.0:
            arrays["U"] = np.zeros((L, room, room))
            arrays["lam"], arrays["q"] = np.zeros((L, room)), np.zeros((L, room))
            arrays["served"], arrays["outside"], arrays["s"], arrays["stale"] = np.zeros(L), np.zeros(L), np.zeros(L), np.ones(L)
        return arrays

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return super().mismatch(setting, arrays) or out_of_range(arrays, "served", arrays["B"].shape[1])

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.delta = setting.refresh
        L, room = arrays["B"].shape[:2]
        if self.delta > 0.0:
            self.U, self.lam, self.q = arrays["U"], arrays["lam"], arrays["q"]
            self.served, self.outside, self.s, self.stale = arrays["served"], arrays["outside"], arrays["s"], arrays["stale"]
        self.new_U, self.new_lam = np.zeros((L, room, room)), np.zeros((L, room))
        self.new_q, self.new_h = np.zeros((L, room)), np.zeros((L, room))
        self.new_outside, self.new_s = np.zeros(L), np.zeros(L)
        self.decided, self.renewed = np.zeros(L, dtype=np.intc), np.zeros(L, dtype=np.intc)
        self.turned, self.lams, self.psis = np.zeros(room), np.zeros(room + 1), np.zeros(room + 1)

    def preconditioner(self):
        """H of the last step: of the decomposition that served there, which may be older than G̃."""
        H = super().preconditioner() if self.delta == 0.0 or any(self.stale) else None
        if H is None:
            H = np.zeros((self.setting.L, self.setting.D, self.setting.D))
        for vector in range(self.setting.L):
            if self.delta > 0.0 and self.stale[vector] == 0.0:
                n = <Py_ssize_t> self.served[vector]
                turned = np.asarray(self.U[vector]).ravel()[:n * n].reshape(n, n) @ np.asarray(self.sketch.B[vector, :n])
                H[vector] = turned.T @ (np.asarray(self.q[vector, :n])[:, None] * turned)
                H[vector].flat[::self.setting.D + 1] += self.outside[vector]
                H[vector] *= self.setting.eta[vector]
        return H

    cdef void forget_rows(self, Py_ssize_t vector) noexcept nogil:
        """What the next round decomposes anew."""
        if self.delta > 0.0:
            if self.stale[vector] == 0.0:
                self.undo.save(&self.stale[vector], 1)
            self.stale[vector] = 1.0

    cdef void enter(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        Sketch.enter(self, row)
        for l in range(self.setting.L):
            self.decided[l] = False

    cdef int decide(self, Py_ssize_t vector) noexcept nogil:
        """Whether the decomposition serves on, and a new one if it does not; once in a round."""
        if self.decided[vector]:
            return 0
        self.decided[vector], self.renewed[vector] = True, not self.still_serves(vector)
        return self.decompose(vector) if self.renewed[vector] else 0

    cdef bint still_serves(self, Py_ssize_t vector) noexcept nogil:
        """Whether s with this g is at most δ; leaves Uᵀ B g in ``turned``."""
        cdef Py_ssize_t i, n
        cdef double base = self.base(vector)
        cdef double growth = self.sketch.square[vector]
        if self.delta == 0.0 or self.stale[vector] != 0.0:
            return False
        n = <Py_ssize_t> self.served[vector]
        if growth > 0.0:
            for i in range(n):
                self.turned[i] = dot(&self.U[vector, 0, 0] + i * n, &self.sketch.border[vector, 0], n)
                growth -= self.turned[i] * self.turned[i] / (base + self.lam[vector, i])
        self.new_s[vector] = self.s[vector] + fmax(growth, 0.0) / base
        return self.new_s[vector] <= self.delta

    cdef int decompose(self, Py_ssize_t vector) noexcept nogil:
        """The eigenvectors of the Gram matrix of all rows, and ψ."""
        cdef Py_ssize_t i
        cdef Py_ssize_t n = self.sketch.size(vector)
        cdef double base = self.base(vector)
        cdef double top = 0.0
        if n > 0:
            self.sketch.gram(vector, &self.new_U[vector, 0, 0], n)
            if self.sketch.eigen(&self.new_U[vector, 0, 0], &self.new_lam[vector, 0], n) != 0:
                return -1
        for i in range(n):
            self.new_lam[vector, i] = fmax(self.new_lam[vector, i], 0.0)
            top = fmax(top, self.new_lam[vector, i])
            self.lams[i] = base + self.new_lam[vector, i]
        self.lams[n] = base
        if self.potential.steps(&self.lams[0], &self.psis[0], n + 1) != 0:
            return -1
        self.new_outside[vector] = self.psis[n]
        for i in range(n):
            self.new_h[vector, i] = self.psis[i]
            self.new_q[vector, i] = 0.0
            if self.new_lam[vector, i] > NEGLIGIBLE * top:
                self.new_q[vector, i] = (self.psis[i] - self.psis[n]) / self.new_lam[vector, i]
        return 0

    cdef int newest(self, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t i, n
        cdef Py_ssize_t k = self.sketch.kept(vector)
        cdef double* y = &self.y[vector, 0]
        cdef const double* U
        if self.decide(vector) != 0:
            return -1
        memset(y, 0, (k + 1) * sizeof(double))
        if self.renewed[vector]:
            for i in range(k + 1):
                U = &self.new_U[vector, 0, 0] + i * (k + 1)
                axpy(self.new_h[vector, i] * U[k], U, y, k + 1)
            return 0
        n = <Py_ssize_t> self.served[vector]
        for i in range(n):
            axpy(self.q[vector, i] * self.turned[i], &self.U[vector, 0, 0] + i * n, y, n)
        y[k] = self.outside[vector]
        return 0

    cdef int spread_over(self, Py_ssize_t vector, const double* beta, double* y) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t n = self.sketch.size(vector)
        cdef const double* U = &self.new_U[vector, 0, 0]
        cdef const double* q = &self.new_q[vector, 0]
        if self.decide(vector) != 0:
            return -1
        memset(y, 0, n * sizeof(double))
        self.h0[vector] = self.new_outside[vector]
        if not self.renewed[vector]:
            n, U, q = <Py_ssize_t> self.served[vector], &self.U[vector, 0, 0], &self.q[vector, 0]
            self.h0[vector] = self.outside[vector]
        for i in range(n):
            axpy(q[i] * dot(U + i * n, beta, n), U + i * n, y, n)
        return 0

    cdef int spread_inverse(self, Py_ssize_t vector, const double* beta, double* y, double* outside) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t n = self.sketch.kept(vector)
        cdef const double* U = &self.new_U[vector, 0, 0]
        cdef double share
        if self.decompose(vector) != 0:
            return -1
        outside[0] = 1.0 / self.new_outside[vector]
        memset(y, 0, n * sizeof(double))
        for i in range(n):                               # (1/h_i − 1/h_0)/λ_i, from q
            share = -self.new_q[vector, i] / (self.new_h[vector, i] * self.new_outside[vector])
            axpy(share * dot(U + i * n, beta, n), U + i * n, y, n)
        return 0

    cdef void commit_vector(self, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t n = self.sketch.size(vector)
        if self.delta == 0.0 or not self.decided[vector]:
            return
        if not self.renewed[vector]:
            self.s[vector] = self.new_s[vector]
            return
        memcpy(&self.U[vector, 0, 0], &self.new_U[vector, 0, 0], n * n * sizeof(double))
        memcpy(&self.lam[vector, 0], &self.new_lam[vector, 0], n * sizeof(double))
        memcpy(&self.q[vector, 0], &self.new_q[vector, 0], n * sizeof(double))
        self.outside[vector], self.served[vector], self.s[vector], self.stale[vector] = self.new_outside[vector], n, 0.0, 0.0
