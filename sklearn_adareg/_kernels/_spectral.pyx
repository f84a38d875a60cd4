# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""full, any ψ: by the eigenvalues and eigenvectors of G, which serve for many rounds.

The basis of an older G_τ is kept. Each round, once g_t has joined G_t and before the step, W += b bᵀ and s += bᵀb with b =
G_τ^(−1/2) g_t, so that G_t = G_τ^(1/2) (I + W) G_τ^(1/2) and s ≥ λ_max(W). While s ≤ δ,

    G_τ ⪯ G_t ⪯ (1 + δ) G_τ,

and for an operator-antitone ψ with ψ(λ) ≤ c ψ((1 + δ)λ), c = (1 + δ)^a for powers λ^(−a), it follows that H_t ⪯ H_τ ⪯ c H_t:
Theorem 1 holds in the norms of H_τ, projections included, with c on its first bracket. When s has passed δ, a Cholesky factor
of (δ/2)I − W proves λ_max(W) < δ/2 and s is set back to that; if there is none, the basis is refreshed and this very step is
taken with it. det(I + W) grows by a factor between refreshes, so both happen O(D log T / log(1 + δ)) times. δ = 0, and any ψ
not declared antitone, refreshes every round.

What bounds a round between refreshes: two products with a D × D matrix (three under dual averaging) and rank-one
updates of two others, 6 D² flops on 32 D² bytes; a refresh is some 9 D³ flops, of which half run at the speed of a matrix product.
"""
from libc.math cimport fmax, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dgemv, dsyr, dsyrk
from scipy.linalg.cython_lapack cimport dpotrf, dsyevd

from ._domains cimport Domain
from ._full cimport Full
from ._loops cimport dot, mirror
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting
from ._structures cimport POTENTIAL_RAISED

import numpy as np


cdef class FullSpectral(Full):
    """Any ψ, by the eigenvalues and eigenvectors of G_t."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        L, D = setting.L, setting.D
        arrays["G"] = np.zeros((L, D, D))
        arrays["G"][:, np.arange(D), np.arange(D)] = setting.epsilon
        arrays["stale"], arrays["refreshes"] = np.ones(L), np.zeros(L)
        if setting.refresh > 0.0:
            arrays["V"], arrays["W"] = np.zeros((L, D, D)), np.zeros((L, D, D))
            arrays["eigenvalues"], arrays["h"], arrays["s"] = np.zeros((L, D)), np.zeros((L, D)), np.zeros(L)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        L, D = setting.L, setting.D
        self.delta = setting.refresh
        self.G, self.stale, self.refreshes = arrays["G"], arrays["stale"], arrays["refreshes"]
        if self.delta > 0.0:
            self.V, self.W, self.s = arrays["V"], arrays["W"], arrays["s"]
            self.eigenvalues, self.h = arrays["eigenvalues"], arrays["h"]
        self.renewed = np.zeros(L, dtype=np.intc)
        self.new_V, self.new_eigenvalues, self.new_h = np.empty((L, D, D)), np.empty((L, D)), np.empty((L, D))
        self.new_s, self.whitened, self.along = np.empty(L), np.empty((L, D)), np.empty(D)
        self.work = np.empty(1 + 6 * D + 2 * D ** 2)
        self.iwork = np.empty(3 + 5 * D, dtype=np.intc)

    def accumulated(self):
        lower = np.tril(self.G)
        return lower + np.tril(lower, -1).transpose(0, 2, 1)

    def preconditioner(self):
        """H of the last step: of the decomposition that served there, which may be older than G."""
        if self.delta == 0.0 or np.any(self.stale):
            return Full.preconditioner(self)
        V, h = np.asarray(self.V), np.asarray(self.setting.eta)[:, None] * self.h
        return np.matmul(V.transpose(0, 2, 1) * h[:, None, :], V)

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.renewed[l] = not self.still_serves(l)
            if self.renewed[l]:
                if self.decompose(l, &self.g[l, 0]) != 0:
                    return POTENTIAL_RAISED
            self.times_H(l, &self.sums[l, 0], not (self.renewed[l] or self.setting.dual))
        return 0

    cdef void commit(self) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int inc = 1
        cdef double one = 1.0
        cdef Py_ssize_t l
        cdef size_t row = D * sizeof(double)
        for l in range(self.setting.L):
            dsyr("U", &D, &one, &self.g[l, 0], &inc, &self.G[l, 0, 0], &D)
            self.refreshes[l] += self.renewed[l]
            if self.delta == 0.0:
                continue
            if self.renewed[l]:
                memcpy(&self.V[l, 0, 0], &self.new_V[l, 0, 0], D * row)
                memcpy(&self.eigenvalues[l, 0], &self.new_eigenvalues[l, 0], row)
                memcpy(&self.h[l, 0], &self.new_h[l, 0], row)
                memset(&self.W[l, 0, 0], 0, D * row)
                self.s[l] = self.stale[l] = 0.0
            else:
                dsyr("U", &D, &one, &self.whitened[l, 0], &inc, &self.W[l, 0, 0], &D)
                self.s[l] = self.new_s[l]

    cdef bint still_serves(self, Py_ssize_t lane) noexcept nogil:
        """Whether G_t ⪯ (1 + δ) G_τ is certain; the module's docstring says why. Leaves Vᵀg in ``along``."""
        cdef int D = <int> self.setting.D
        cdef int inc = 1, info = 0
        cdef double one = 1.0, zero = 0.0, minus = -1.0
        cdef double* b = &self.whitened[lane, 0]
        cdef Py_ssize_t i, j
        if self.delta == 0.0 or self.stale[lane] != 0.0:
            return False
        dgemv("T", &D, &D, &one, &self.V[lane, 0, 0], &D, &self.g[lane, 0], &inc, &zero, &self.along[0], &inc)
        for i in range(D):
            b[i] = self.along[i] / sqrt(self.eigenvalues[lane, i])
        self.new_s[lane] = self.s[lane] + dot(b, b, D)
        if self.new_s[lane] <= self.delta:
            return True
        for j in range(D):
            for i in range(j + 1):
                self.work[j * D + i] = -self.W[lane, j, i]
            self.work[j * D + j] += 0.5 * self.delta
        dsyr("U", &D, &minus, b, &inc, &self.work[0], &D)
        dpotrf("U", &D, &self.work[0], &D, &info)
        self.new_s[lane] = 0.5 * self.delta
        return info == 0

    cdef int decompose(self, Py_ssize_t lane, const double* g) noexcept nogil:
        """The eigenbasis of G + g gᵀ (of G itself without g), and ψ of the eigenvalues, none of which is below ε."""
        cdef int D = <int> self.setting.D
        cdef int info = 0, inc = 1
        cdef int lwork = <int> self.work.shape[0]
        cdef int liwork = <int> self.iwork.shape[0]
        cdef double one = 1.0
        cdef Py_ssize_t i
        memcpy(&self.new_V[lane, 0, 0], &self.G[lane, 0, 0], self.setting.D * self.setting.D * sizeof(double))
        if g != NULL:
            dsyr("U", &D, &one, <double*> g, &inc, &self.new_V[lane, 0, 0], &D)
        self.restrict(&self.new_V[lane, 0, 0])
        dsyevd("V", "U", &D, &self.new_V[lane, 0, 0], &D, &self.new_eigenvalues[lane, 0], &self.work[0], &lwork, &self.iwork[0],
               &liwork, &info)
        if info != 0:
            return POTENTIAL_RAISED
        for i in range(D):
            self.new_eigenvalues[lane, i] = fmax(self.new_eigenvalues[lane, i], self.setting.epsilon)
        return self.potential.steps(&self.new_eigenvalues[lane, 0], &self.new_h[lane, 0], D)

    cdef void restrict(self, double* G) noexcept nogil:
        """P_S: what of G the structure keeps, in place; LAPACK reads G[i, j] for j ≤ i alone."""
        pass

    cdef void times_H(self, Py_ssize_t lane, const double* b, bint rotated) noexcept nogil:
        """``move`` = H_t b; ``along`` is Vᵀb already where it is ``rotated``."""
        cdef int D = <int> self.setting.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        cdef double* V = &self.new_V[lane, 0, 0] if self.renewed[lane] else &self.V[lane, 0, 0]
        cdef double* h = &self.new_h[lane, 0] if self.renewed[lane] else &self.h[lane, 0]
        cdef Py_ssize_t i
        if not rotated:
            dgemv("T", &D, &D, &one, V, &D, <double*> b, &inc, &zero, &self.along[0], &inc)
        for i in range(D):
            self.along[i] *= self.setting.eta[lane] * h[i]
        dgemv("N", &D, &D, &one, V, &D, &self.along[0], &inc, &zero, &self.move[lane, 0], &inc)

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef double one = 1.0, zero = 0.0
        cdef double* V = &self.new_V[lane, 0, 0] if self.renewed[lane] else &self.V[lane, 0, 0]
        cdef double* h = &self.new_h[lane, 0] if self.renewed[lane] else &self.h[lane, 0]
        cdef Py_ssize_t i, j
        cdef double root
        for j in range(D):
            root = sqrt(self.setting.eta[lane] * h[j])
            for i in range(D):
                self.work[j * D + i] = root * V[j * D + i]
        dsyrk("U", "N", &D, &D, &one, &self.work[0], &D, &zero, &self.H[0, 0], &D)
        mirror(&self.H[0, 0], D)

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void save_matrices(self) noexcept nogil:
        self.undo.save(&self.G[0, 0, 0], self.setting.L * self.setting.D * self.setting.D)
        self.undo.save(&self.stale[0], self.setting.L)

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.setting.D):
            self.G[lane, i, j] /= growth
        for j in range(self.setting.D):
            self.G[lane, j, i] /= growth
        self.G[lane, i, i] += self.setting.epsilon * (1.0 - 1.0 / (growth * growth))
        self.stale[lane] = 1.0

    cdef int reset_sums(self, Py_ssize_t lane) noexcept nogil:
        """θ = H⁻¹(x_1 − x), in the basis of the G just carried over; the next round decomposes it anew, with its gradient."""
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        if self.decompose(lane, NULL) != 0:
            return POTENTIAL_RAISED
        self.renewed[lane] = True
        for i in range(D):
            self.goal[lane, i] = (self.begun(i) - self.x[lane * D + i]) / self.rho[lane]
            self.new_h[lane, i] = 1.0 / (self.new_h[lane, i] * self.setting.eta[lane] * self.setting.eta[lane])
        self.times_H(lane, &self.goal[lane, 0], False)
        self.stale[lane] = 1.0
        memcpy(self.theta + lane * D, &self.move[lane, 0], D * sizeof(double))
        return 0
