# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""sketch, any ψ: by the eigenvalues λ and eigenvectors U of the Gram matrix K = B Bᵀ of the rows, O(rank³).

H b = h_0 b + Bᵀ U diag(q) Uᵀ B b with h_0 = ψ(a), q_i = (ψ(a + λ_i) − ψ(a))/λ_i; for the newest row itself,
H g = Bᵀ U ψ(a + λ) Uᵀ e_k.

The decomposition of an older G̃_τ serves on while s = Σ g_tᵀ G̃_τ⁻¹ g_t over the rows since is at most δ, which certifies
G̃_τ ⪯ G̃_t ⪯ (1 + δ)G̃_τ (``_basis`` says what follows from that). A shrink and a change of units end it. δ = 0: every round.
"""
from libc.math cimport fmax
from libc.string cimport memcpy, memset

from ._domains cimport Domain
from ._loops cimport axpy, dot
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting
from ._sketch cimport Sketch

import numpy as np

cdef double NEGLIGIBLE = 1e-14       # an eigenvalue below this share of the largest is rounding


cdef class SketchSpectral(Sketch):
    """Any ψ on a sketch."""

    cdef double delta
    cdef double[:, :, ::1] U         # per lane: eigenvectors of the first ``served`` rows, one per row
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
        for lane in range(self.setting.L):
            if self.delta > 0.0 and self.stale[lane] == 0.0:
                n = <Py_ssize_t> self.served[lane]
                turned = np.asarray(self.U[lane]).ravel()[:n * n].reshape(n, n) @ np.asarray(self.sketch.B[lane, :n])
                H[lane] = turned.T @ (np.asarray(self.q[lane, :n])[:, None] * turned)
                H[lane].flat[::self.setting.D + 1] += self.outside[lane]
                H[lane] *= self.setting.eta[lane]
        return H

    cdef void forget_rows(self, Py_ssize_t lane) noexcept nogil:
        """What the next round decomposes anew."""
        if self.delta > 0.0:
            if self.stale[lane] == 0.0:
                self.undo.save(&self.stale[lane], 1)
            self.stale[lane] = 1.0

    cdef void enter(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        Sketch.enter(self, row)
        for l in range(self.setting.L):
            self.decided[l] = False

    cdef int decide(self, Py_ssize_t lane) noexcept nogil:
        """Whether the decomposition serves on, and a new one if it does not; once in a round."""
        if self.decided[lane]:
            return 0
        self.decided[lane], self.renewed[lane] = True, not self.still_serves(lane)
        return self.decompose(lane) if self.renewed[lane] else 0

    cdef bint still_serves(self, Py_ssize_t lane) noexcept nogil:
        """Whether s with this g is at most δ; leaves Uᵀ B g in ``turned``."""
        cdef Py_ssize_t i, n
        cdef double base = self.base(lane)
        cdef double growth = self.sketch.square[lane]
        if self.delta == 0.0 or self.stale[lane] != 0.0:
            return False
        n = <Py_ssize_t> self.served[lane]
        if growth > 0.0:
            for i in range(n):
                self.turned[i] = dot(&self.U[lane, 0, 0] + i * n, &self.sketch.border[lane, 0], n)
                growth -= self.turned[i] * self.turned[i] / (base + self.lam[lane, i])
        self.new_s[lane] = self.s[lane] + fmax(growth, 0.0) / base
        return self.new_s[lane] <= self.delta

    cdef int decompose(self, Py_ssize_t lane) noexcept nogil:
        """The eigenvectors of the Gram matrix of all rows, and ψ."""
        cdef Py_ssize_t i
        cdef Py_ssize_t n = self.sketch.size(lane)
        cdef double base = self.base(lane)
        cdef double top = 0.0
        if n > 0:
            self.sketch.gram(lane, &self.new_U[lane, 0, 0], n)
            if self.sketch.eigen(&self.new_U[lane, 0, 0], &self.new_lam[lane, 0], n) != 0:
                return -1
        for i in range(n):
            self.new_lam[lane, i] = fmax(self.new_lam[lane, i], 0.0)
            top = fmax(top, self.new_lam[lane, i])
            self.lams[i] = base + self.new_lam[lane, i]
        self.lams[n] = base
        if self.potential.steps(&self.lams[0], &self.psis[0], n + 1) != 0:
            return -1
        self.new_outside[lane] = self.psis[n]
        for i in range(n):
            self.new_h[lane, i] = self.psis[i]
            self.new_q[lane, i] = 0.0
            if self.new_lam[lane, i] > NEGLIGIBLE * top:
                self.new_q[lane, i] = (self.psis[i] - self.psis[n]) / self.new_lam[lane, i]
        return 0

    cdef int newest(self, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i, n
        cdef Py_ssize_t k = self.sketch.kept(lane)
        cdef double* y = &self.y[lane, 0]
        cdef const double* U
        if self.decide(lane) != 0:
            return -1
        memset(y, 0, (k + 1) * sizeof(double))
        if self.renewed[lane]:
            for i in range(k + 1):
                U = &self.new_U[lane, 0, 0] + i * (k + 1)
                axpy(self.new_h[lane, i] * U[k], U, y, k + 1)
            return 0
        n = <Py_ssize_t> self.served[lane]
        for i in range(n):
            axpy(self.q[lane, i] * self.turned[i], &self.U[lane, 0, 0] + i * n, y, n)
        y[k] = self.outside[lane]
        return 0

    cdef int spread_over(self, Py_ssize_t lane, const double* beta, double* y) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t n = self.sketch.size(lane)
        cdef const double* U = &self.new_U[lane, 0, 0]
        cdef const double* q = &self.new_q[lane, 0]
        if self.decide(lane) != 0:
            return -1
        memset(y, 0, n * sizeof(double))
        self.h0[lane] = self.new_outside[lane]
        if not self.renewed[lane]:
            n, U, q, self.h0[lane] = <Py_ssize_t> self.served[lane], &self.U[lane, 0, 0], &self.q[lane, 0], self.outside[lane]
        for i in range(n):
            axpy(q[i] * dot(U + i * n, beta, n), U + i * n, y, n)
        return 0

    cdef int spread_inverse(self, Py_ssize_t lane, const double* beta, double* y, double* outside) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t n = self.sketch.kept(lane)
        cdef const double* U = &self.new_U[lane, 0, 0]
        cdef double share
        if self.decompose(lane) != 0:
            return -1
        outside[0] = 1.0 / self.new_outside[lane]
        memset(y, 0, n * sizeof(double))
        for i in range(n):                               # (1/h_i − 1/h_0)/λ_i, from q
            share = -self.new_q[lane, i] / (self.new_h[lane, i] * self.new_outside[lane])
            axpy(share * dot(U + i * n, beta, n), U + i * n, y, n)
        return 0

    cdef void commit_lane(self, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t n = self.sketch.size(lane)
        if self.delta == 0.0 or not self.decided[lane]:
            return
        if not self.renewed[lane]:
            self.s[lane] = self.new_s[lane]
            return
        memcpy(&self.U[lane, 0, 0], &self.new_U[lane, 0, 0], n * n * sizeof(double))
        memcpy(&self.lam[lane, 0], &self.new_lam[lane, 0], n * sizeof(double))
        memcpy(&self.q[lane, 0], &self.new_q[lane, 0], n * sizeof(double))
        self.outside[lane], self.served[lane], self.s[lane], self.stale[lane] = self.new_outside[lane], n, 0.0, 0.0
