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
from ._full cimport Full, mirror
from ._loops cimport dot
from ._potentials cimport Potential
from ._rows cimport Row
from ._structures cimport Setting

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
        else:
            self.V = np.empty((L, D, D))
            self.eigenvalues, self.h = np.empty((L, D)), np.empty((L, D))
        self.may_fail = potential.fallible or not self.free
        if self.may_fail:
            self.before = np.empty((3, L, D, D))
            self.before_values = np.empty((3, L, D))
        self.along, self.whitened = np.empty(D), np.empty(D)
        self.work = np.empty(1 + 6 * D + 2 * D ** 2)
        self.iwork = np.empty(3 + 5 * D, dtype=np.intc)

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.setting.D):
            self.G[lane, i, j] /= growth
        for j in range(self.setting.D):
            self.G[lane, j, i] /= growth
        self.G[lane, i, i] += self.setting.epsilon * (1.0 - 1.0 / (growth * growth))
        self.stale[lane] = 1.0

    cdef void reset_sums(self, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        memset(&self.g[lane, 0], 0, D * sizeof(double))
        if self.decompose(lane) != 0:
            return
        for i in range(D):
            self.sums[lane, i] = (self.begun(i) - self.x[lane * D + i]) / self.factor[lane]
            self.h[lane, i] = 1.0 / (self.h[lane, i] * self.setting.eta[lane] * self.setting.eta[lane])
        self.rotated = False
        self.times_H(lane)
        self.stale[lane] = 1.0
        memcpy(self.theta + lane * D, &self.move[lane, 0], D * sizeof(double))

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int inc = 1
        cdef double one = 1.0
        cdef Py_ssize_t l
        if self.may_fail:
            self.remember()
        for l in range(self.setting.L):
            dsyr("U", &D, &one, &self.g[l, 0], &inc, &self.G[l, 0, 0], &D)
            self.rotated = self.still_serves(l)
            if not self.rotated and self.decompose(l) != 0:
                self.take_back()
                return -1
            self.times_H(l)
        return 0

    cdef bint still_serves(self, Py_ssize_t lane) noexcept nogil:
        """Whether G_t ⪯ (1 + δ) G_τ is certain; the module's docstring says why."""
        cdef int D = <int> self.setting.D
        cdef int inc = 1, info = 0
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t i, j
        if self.delta == 0.0 or self.stale[lane] != 0.0:
            return False
        dgemv("T", &D, &D, &one, &self.V[lane, 0, 0], &D, &self.g[lane, 0], &inc, &zero, &self.along[0], &inc)
        for i in range(D):
            self.whitened[i] = self.along[i] / sqrt(self.eigenvalues[lane, i])
        dsyr("U", &D, &one, &self.whitened[0], &inc, &self.W[lane, 0, 0], &D)
        self.s[lane] += dot(&self.whitened[0], &self.whitened[0], D)
        if self.s[lane] <= self.delta:
            return True
        for j in range(D):
            for i in range(j + 1):
                self.work[j * D + i] = -self.W[lane, j, i]
            self.work[j * D + j] += 0.5 * self.delta
        dpotrf("U", &D, &self.work[0], &D, &info)
        if info == 0:
            self.s[lane] = 0.5 * self.delta
        return info == 0

    cdef int decompose(self, Py_ssize_t lane) noexcept nogil:
        """The eigenbasis of G_t, and ψ of the eigenvalues, none of which is below ε."""
        cdef int D = <int> self.setting.D
        cdef int info = 0
        cdef int lwork = <int> self.work.shape[0]
        cdef int liwork = <int> self.iwork.shape[0]
        cdef Py_ssize_t i
        cdef size_t size = self.setting.D * self.setting.D * sizeof(double)
        memcpy(&self.V[lane, 0, 0], &self.G[lane, 0, 0], size)
        dsyevd("V", "U", &D, &self.V[lane, 0, 0], &D, &self.eigenvalues[lane, 0], &self.work[0], &lwork, &self.iwork[0],
               &liwork, &info)
        if info != 0:
            return -1
        for i in range(D):
            self.eigenvalues[lane, i] = fmax(self.eigenvalues[lane, i], self.setting.epsilon)
        if self.potential.steps(&self.eigenvalues[lane, 0], &self.h[lane, 0], D) != 0:
            return -1
        if self.delta > 0.0:
            memset(&self.W[lane, 0, 0], 0, size)
            self.s[lane] = 0.0
        self.stale[lane] = 0.0
        self.refreshes[lane] += 1.0
        return 0

    cdef void times_H(self, Py_ssize_t lane) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t i
        if self.setting.dual or not self.rotated:            # else Vᵀg is there already
            dgemv("T", &D, &D, &one, &self.V[lane, 0, 0], &D, &self.sums[lane, 0], &inc, &zero, &self.along[0], &inc)
        for i in range(D):
            self.along[i] *= self.setting.eta[lane] * self.h[lane, i]
        dgemv("N", &D, &D, &one, &self.V[lane, 0, 0], &D, &self.along[0], &inc, &zero, &self.move[lane, 0], &inc)

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t i, j
        cdef double root
        for j in range(D):
            root = sqrt(self.setting.eta[lane] * self.h[lane, j])
            for i in range(D):
                self.work[j * D + i] = root * self.V[lane, j, i]
        dsyrk("U", "N", &D, &D, &one, &self.work[0], &D, &zero, &self.H[0, 0], &D)
        mirror(&self.H[0, 0], D)

    cdef void remember(self) noexcept nogil:
        """What a round that fails goes back to."""
        cdef size_t size = self.setting.L * self.setting.D * self.setting.D * sizeof(double)
        cdef Py_ssize_t l
        memcpy(&self.before[0, 0, 0, 0], &self.G[0, 0, 0], size)
        if self.delta > 0.0:
            memcpy(&self.before[1, 0, 0, 0], &self.V[0, 0, 0], size)
            memcpy(&self.before[2, 0, 0, 0], &self.W[0, 0, 0], size)
            for l in range(self.setting.L):
                self.before_values[2, l, 0] = self.s[l]
            size //= self.setting.D
            memcpy(&self.before_values[0, 0, 0], &self.eigenvalues[0, 0], size)
            memcpy(&self.before_values[1, 0, 0], &self.h[0, 0], size)

    cdef void take_back(self) noexcept nogil:
        cdef size_t size = self.setting.L * self.setting.D * self.setting.D * sizeof(double)
        cdef Py_ssize_t l
        if not self.may_fail:
            return
        memcpy(&self.G[0, 0, 0], &self.before[0, 0, 0, 0], size)
        if self.delta > 0.0:
            memcpy(&self.V[0, 0, 0], &self.before[1, 0, 0, 0], size)
            memcpy(&self.W[0, 0, 0], &self.before[2, 0, 0, 0], size)
            for l in range(self.setting.L):
                self.s[l] = self.before_values[2, l, 0]
            size //= self.setting.D
            memcpy(&self.eigenvalues[0, 0], &self.before_values[0, 0, 0], size)
            memcpy(&self.h[0, 0], &self.before_values[1, 0, 0], size)
