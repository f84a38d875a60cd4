"""H_t = ψ(G_t) for any ψ, by the eigenvalues and eigenvectors of G, which serve for many rounds.

The basis of an older G_τ is kept. Each round, once g_t has joined G_t and before the step, W += b bᵀ and s += bᵀb with b =
G_τ^(−1/2) g_t, so that G_t = G_τ^(1/2) (I + W) G_τ^(1/2) and s ≥ λ_max(W). While s ≤ δ,

    G_τ ⪯ G_t ⪯ (1 + δ) G_τ,

and for an operator-antitone ψ with ψ(λ) ≤ c ψ((1 + δ)λ), c = (1 + δ)^a for powers λ^(−a), it follows that H_t ⪯ H_τ ⪯ c H_t:
Theorem 1 holds in the norms of H_τ, projections included, with c on its first bracket. When s has passed δ, a Cholesky factor
of θδI − W, θ = 2/3, proves λ_max(W) < θδ and s is set back to that; if there is none, the basis is refreshed and this very step is
taken with it. det(I + W) grows by a factor between refreshes, so both happen O(D log T / log(1 + δ)) times. δ = 0, and any ψ
not declared antitone, refreshes every round.

With a half-life, G_t = λ G_{t−1} + (1 − λ) ε I + g_t g_tᵀ is kept as f Ĝ + (1 − f) ε I with f = λ^(t−τ), so a round costs no more.
G_t ⪰ f G_τ, and G_t ⪯ (1 + δ) G_τ by the same test, since ε I ⪯ G_τ and older gradients only fade: with the basis renewed also when
f < 1/(1 + δ), H_τ is within a factor c of H_t on both sides.

Small matrices let gradients wait, and G takes several at once, which is less to read and write. They have G_τ instead of W, and the
same test is whether (1 + θδ)G_τ − G_t is positive definite; where rounding may decide, it is not, and the basis is refreshed.
Where ψ is the inverse root, H_τ = G_τ^(−1/2) is kept beside its factors (``roots_H``): one product is both b and the step.

A round proposes: ``times_H`` leaves G and the basis as they are until ``commit``.

What bounds a round between refreshes: two products with a D × D matrix (three under dual averaging) and rank-one
updates of two others, 6 D² flops on 32 D² bytes; a refresh is some 9 D³ flops, of which half run at the speed of a matrix product.
"""
from libc.math cimport fmax, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dgemv, dsyr, dsyrk

from ...linalg._eigen_loops cimport is_definite, small_eigen
from ...linalg._lapack cimport dpotrf, dsyevd
from ...linalg._loops cimport add_squares, combine, dot, dots, mirror, rank_one
from ...data._rows cimport Row
from .._structures cimport Matrices
from ...potentials._potentials cimport Potential
from ...state._setting cimport Setting, keep_matrix
from ...state._undo cimport UndoLog

from ...data._rows import where_vectors_begin
from ...state._saved import out_of_range

import numpy as np

cdef int SMALL = 100                 # rows of a matrix up to which our own loops are faster: twice as fast as LAPACK at 50
cdef double SET_BACK = 2.0 / 3.0     # θ: nearer to 1, fewer decompositions and more tests
cdef double ROUNDING = 1e-15         # of the entries of a small G and of an elimination, relative to its diagonal; generously


cdef class Basis(Matrices):
    """The G of each of L weight vectors, its eigenbasis, and products with ψ(G); a verb that fails returns what ψ returned."""

    @staticmethod
    def allocate(Setting setting, Py_ssize_t L, Py_ssize_t D, Py_ssize_t room=0):
        """The arrays of L matrices εI; where a basis lives longer than a round, so many gradients may wait."""
        lasting = setting.refresh > 0.0
        arrays = {"G": np.zeros((L, D, D)), "stale": np.ones(L), "refreshes": np.zeros(L)}
        if setting.forgotten > 0.0:
            arrays["fade"] = np.ones(L)
        arrays["G"][:, np.arange(D), np.arange(D)] = setting.epsilon
        if lasting:
            arrays["V"], arrays["past" if room > 0 else "W"] = np.zeros((L, D, D)), np.zeros((L, D, D))
            arrays["eigenvalues"], arrays["h"], arrays["s"] = np.zeros((L, D)), np.zeros((L, D)), np.zeros(L)
        if lasting and room > 0:
            arrays["pending_g"], arrays["count"] = np.zeros((L, room, D)), np.zeros(L)
        return arrays

    @staticmethod
    def mismatch(dict arrays):
        """Why saved arrays are none of these bases, in a clause; None if they are."""
        return out_of_range(arrays, "count", arrays["pending_g"].shape[1] - 1) if "count" in arrays else None

    def __init__(self, Setting setting, Potential potential, dict arrays, Py_ssize_t most=1):
        """``most``: as many gradients as a round can bring, one unless told otherwise; where they wait, it is one."""
        self.potential, self.delta, self.epsilon, self.lam = potential, setting.refresh, setting.epsilon, setting.forgetting
        self.G, self.stale, self.refreshes = arrays["G"], arrays["stale"], arrays["refreshes"]
        if self.delta > 0.0:
            self.V, self.W, self.past, self.s = arrays["V"], arrays.get("W"), arrays.get("past"), arrays["s"]
            self.eigenvalues, self.h = arrays["eigenvalues"], arrays["h"]
            self.roots = 1.0 / np.sqrt(np.where(arrays["eigenvalues"] > 0.0, arrays["eigenvalues"], 1.0))
        if "count" in arrays:
            self.pending_g, self.count = arrays["pending_g"], arrays["count"]
            self.room = self.pending_g.shape[1]
        L, D = self.G.shape[0], self.G.shape[1]
        self.fade, self.new_fade = arrays.get("fade"), np.ones(L)
        self.L, self.D, self.small = L, D, D <= SMALL
        self.renewed = np.zeros(L, dtype=np.intc)
        self.new_V, self.new_eigenvalues, self.new_h = np.empty((L, D, D)), np.empty((L, D)), np.empty((L, D))
        self.new_s, self.whitened, self.along = np.empty(L), np.empty((L, most, D)), np.empty(D)
        self.work = np.empty(1 + 6 * D + 2 * D ** 2)
        self.iwork = np.empty(3 + 5 * D, dtype=np.intc)
        self.roots_H = None
        if self.room > 0 and potential.power == 0.5:
            self.roots_H = where_vectors_begin(np.zeros((L, D * D)))
            for vector in range(L):
                self.find_root(vector)

    cdef void restrict_by(self, Restriction restriction, void* structure) noexcept:
        """Decompose P_S G, not G; the structure is that which holds this basis."""
        self.restriction, self.structure = restriction, structure

    def accumulated(self):
        lower = np.tril(self.G)
        G = lower + np.tril(lower, -1).transpose(0, 2, 1)
        if self.room > 0:
            for vector in range(self.L):
                waiting = np.asarray(self.pending_g[vector, :<Py_ssize_t> self.count[vector]])
                G[vector] += waiting.T @ waiting
        if self.fade is not None:
            fade = np.asarray(self.fade)[:, None, None]
            G = fade * G + (1.0 - fade) * self.epsilon * np.eye(self.D)
        return G

    def preconditioner(self, G, rates):
        """Of the basis that served there, or of P_S G itself where none is kept."""
        H = np.empty_like(G)
        for vector in range(self.L):
            if self.delta > 0.0 and self.stale[vector] == 0.0:
                h, vectors = np.asarray(self.h[vector]), np.asarray(self.V[vector]).T
            else:
                values, vectors = np.linalg.eigh(G[vector])
                h = self.potential(np.maximum(values, self.epsilon))
            H[vector] = (vectors * (rates[vector] * h)) @ vectors.T
        return H

    # ---- a round ------------------------------------------------------------------------------------------------

    cdef int step(self, Py_ssize_t vector, double* g, const double* b, Row* row, double slope, double root, double eta,
                  double* out) noexcept nogil:
        if self.fade is not None:
            self.new_fade[vector] = self.fade[vector] * self.lam
        return self.times_H(vector, g, b, eta, out)

    cdef void pass_by(self, Py_ssize_t vector, double kept, double lost) noexcept nogil:
        self.fade[vector] = self.new_fade[vector] = self.fade[vector] * kept

    cdef void take_fade(self, Py_ssize_t vector, double fade) noexcept nogil:
        """Ĝ = f Ĝ + (1 − f) ε I and f = 1."""
        keep_matrix(&self.G[vector, 0, 0], self.D, fade, (1.0 - fade) * self.epsilon)
        self.fade[vector] = self.new_fade[vector] = 1.0

    cdef int times_H(self, Py_ssize_t vector, const double* g, const double* b, double eta, double* out) noexcept nogil:
        """out = η H_t b, where g joins G_t."""
        if self.take(vector, g, 1) != 0:
            return -1
        self.times(vector, b, b == g and not self.renewed[vector], eta, out)
        return 0

    cdef int times_H_late(self, Py_ssize_t vector, const double* g, double eta, double* out) noexcept nogil:
        """The same where s would pass δ; unless the weight vector is stale, ``out`` has H_τ g."""
        cdef Py_ssize_t i
        cdef double most = SET_BACK * self.delta
        self.renewed[vector] = self.stale[vector] != 0.0 or dot(out, out, self.D) >= most or not self.near_past(vector, g, 1)
        if self.renewed[vector]:
            if self.decompose(vector, g, 1) != 0:
                return -1
            self.times(vector, g, False, eta, out)
            return 0
        self.new_s[vector] = most
        for i in range(self.D):
            out[i] *= eta
        return 0

    cdef int take(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil:
        """Let n gradients, one behind the other, join G_t: the basis kept serves on, or a new one is made."""
        self.renewed[vector] = not self.still_serves(vector, g, n)
        return self.decompose(vector, g, n) if self.renewed[vector] else 0

    cdef void times(self, Py_ssize_t vector, const double* b, bint rotated, double eta, double* out) noexcept nogil:
        """out = η H_t b after ``take``; ``rotated``: b was the last gradient that it took, and the basis kept serves on."""
        cdef Py_ssize_t i
        cdef const double* V = &self.new_V[vector, 0, 0] if self.renewed[vector] else &self.V[vector, 0, 0]
        cdef const double* h = &self.new_h[vector, 0] if self.renewed[vector] else &self.h[vector, 0]
        if not rotated:
            self.into_basis(V, b)
        for i in range(self.D):
            self.along[i] *= eta * h[i]
        self.out_of_basis(V, out)

    cdef void commit(self, Py_ssize_t vector, double* g, Py_ssize_t n=1) noexcept nogil:
        cdef size_t row = self.D * sizeof(double)
        cdef Py_ssize_t i, k
        cdef double root
        self.refreshes[vector] += self.renewed[vector]
        if self.fade is not None and self.renewed[vector]:
            if self.room > 0:
                self.take_pending(vector)
            self.take_fade(vector, self.new_fade[vector])
        elif self.fade is not None:
            self.fade[vector] = self.new_fade[vector]
            root = sqrt(self.fade[vector])                 # 1/√(1 + δ) at the least
            for i in range(n * self.D):
                g[i] /= root
        if self.room > 0:
            k = <Py_ssize_t> self.count[vector]
            for i in range(self.D):
                self.pending_g[vector, k, i] = g[i]
            self.count[vector] += 1.0
            if self.renewed[vector] or k + 1 == self.room:
                self.take_pending(vector)
        else:
            for k in range(n):
                self.add_square(g + k * self.D, &self.G[vector, 0, 0])
        if self.delta == 0.0:
            return
        if self.renewed[vector]:
            memcpy(&self.V[vector, 0, 0], &self.new_V[vector, 0, 0], self.D * row)
            memcpy(&self.eigenvalues[vector, 0], &self.new_eigenvalues[vector, 0], row)
            memcpy(&self.h[vector, 0], &self.new_h[vector, 0], row)
            for i in range(self.D):
                self.roots[vector, i] = 1.0 / sqrt(self.eigenvalues[vector, i])
            if self.room > 0:
                memcpy(&self.past[vector, 0, 0], &self.G[vector, 0, 0], self.D * row)
            else:
                memset(&self.W[vector, 0, 0], 0, self.D * row)
            if self.roots_H is not None:
                self.find_root(vector)
            self.s[vector] = self.stale[vector] = 0.0
        else:
            if self.room == 0:
                for k in range(n):
                    self.add_square(&self.whitened[vector, k, 0], &self.W[vector, 0, 0])
            self.s[vector] = self.new_s[vector]

    cdef void find_root(self, Py_ssize_t vector) noexcept nogil:
        """H_τ of a weight vector from its factors."""
        cdef Py_ssize_t i, k
        cdef double root
        cdef double* H = &self.roots_H[vector, 0]
        for k in range(self.D):
            root = sqrt(self.h[vector, k])
            for i in range(self.D):
                self.work[k * self.D + i] = root * self.V[vector, k, i]
        memset(H, 0, self.D * self.D * sizeof(double))
        add_squares(&self.work[0], self.D, H, self.D)

    cdef void take_pending(self, Py_ssize_t vector) noexcept nogil:
        """G takes what waits."""
        add_squares(&self.pending_g[vector, 0, 0], <Py_ssize_t> self.count[vector], &self.G[vector, 0, 0], self.D)
        self.count[vector] = 0.0

    cdef bint may_serve(self, Py_ssize_t vector) noexcept nogil:
        """Whether there is a basis that serves unless gradients are too large for it."""
        return self.delta > 0.0 and self.stale[vector] == 0.0 and self.new_fade[vector] * (1.0 + self.delta) >= 1.0

    cdef bint still_serves(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil:
        """Whether G_t ⪯ (1 + δ) G_τ is certain; the module's docstring says why. Leaves Vᵀg of the last g in ``along``."""
        cdef int D = <int> self.D
        cdef int inc = 1, info = 0
        cdef double largest = 0.0, minus = -1.0, square
        cdef double* b
        cdef Py_ssize_t i, j, k
        if not self.may_serve(vector):
            return False
        self.new_s[vector] = self.s[vector]
        for k in range(n):
            b = &self.whitened[vector, k, 0]
            self.into_basis(&self.V[vector, 0, 0], g + k * D)
            for i in range(D):
                b[i] = self.along[i] * self.roots[vector, i]
            square = dot(b, b, D)
            self.new_s[vector] += square
            largest = fmax(largest, square)
        if self.new_s[vector] <= self.delta:
            return True
        if largest >= SET_BACK * self.delta:             # λ_max(W) is at least that
            return False
        self.new_s[vector] = SET_BACK * self.delta
        if self.room > 0:
            return self.near_past(vector, g, n)
        memcpy(&self.work[0], &self.W[vector, 0, 0], self.D * self.D * sizeof(double))
        for j in range(D):
            for i in range(j + 1):
                self.work[j * D + i] = -self.work[j * D + i]
            self.work[j * D + j] += SET_BACK * self.delta
        for k in range(n):
            dsyr("U", &D, &minus, &self.whitened[vector, k, 0], &inc, &self.work[0], &D)
        dpotrf("U", &D, &self.work[0], &D, &info)
        return info == 0

    cdef bint near_past(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil:
        """Whether (1 + θδ) G_τ − G_t is positive definite, whatever rounding did to its entries."""
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.D
        cdef double room = 1.0 + SET_BACK * self.delta
        cdef double* M = &self.work[0]
        cdef const double* past = &self.past[vector, 0, 0]
        cdef const double* G = &self.new_V[vector, 0, 0]
        self.assemble(vector, g, n)
        for i in range(D * D):
            M[i] = room * past[i] - G[i]
        for i in range(D):
            M[i * (D + 1)] -= ROUNDING * D * room * past[i * (D + 1)]
        return is_definite(M, D)

    cdef void assemble(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil:
        """G with the squares of n gradients (maybe none) in ``new_V``, at least LAPACK's upper triangle."""
        cdef double fade
        cdef double* V = &self.new_V[vector, 0, 0]
        cdef Py_ssize_t k
        memcpy(V, &self.G[vector, 0, 0], self.D * self.D * sizeof(double))
        if self.room > 0:
            add_squares(&self.pending_g[vector, 0, 0], <Py_ssize_t> self.count[vector], V, self.D)
        if self.fade is not None:
            fade = self.new_fade[vector] if n > 0 else self.fade[vector]
            keep_matrix(V, self.D, fade, (1.0 - fade) * self.epsilon)
        for k in range(n):
            self.add_square(<double*> g + k * self.D, V)
        if self.restriction != NULL:
            self.restriction(self.structure, &self.new_V[vector, 0, 0])

    cdef int decompose(self, Py_ssize_t vector, const double* g, Py_ssize_t n) noexcept nogil:
        """The eigenbasis of G with the squares of n gradients (maybe none), and ψ of the eigenvalues, none of which is below ε."""
        cdef int D = <int> self.D
        cdef int info = 0
        cdef int lwork = <int> self.work.shape[0]
        cdef int liwork = <int> self.iwork.shape[0]
        cdef Py_ssize_t i
        self.assemble(vector, g, n)
        if self.small:
            mirror(&self.new_V[vector, 0, 0], self.D)
            info = small_eigen(&self.new_V[vector, 0, 0], &self.new_eigenvalues[vector, 0], &self.work[0], self.D)
            if info != 0:
                self.assemble(vector, g, n)
        if not self.small or info != 0:
            dsyevd("V", "U", &D, &self.new_V[vector, 0, 0], &D, &self.new_eigenvalues[vector, 0], &self.work[0], &lwork,
                   &self.iwork[0], &liwork, &info)
        if info != 0:
            return -1
        for i in range(D):
            self.new_eigenvalues[vector, i] = fmax(self.new_eigenvalues[vector, i], self.epsilon)
        return self.potential.steps(&self.new_eigenvalues[vector, 0], &self.new_h[vector, 0], D)

    cdef int explicit(self, Py_ssize_t vector, bint touched, double eta, double* H) noexcept nogil:
        cdef int D = <int> self.D
        cdef double one = 1.0, zero = 0.0
        cdef const double* V = &self.new_V[vector, 0, 0]
        cdef const double* h = &self.new_h[vector, 0]
        cdef Py_ssize_t i, j
        cdef double root
        if not touched:
            self.renewed[vector] = self.delta == 0.0 or self.stale[vector] != 0.0
            if self.renewed[vector] and self.decompose(vector, NULL, 0) != 0:
                return -1
        if not self.renewed[vector]:
            V, h = &self.V[vector, 0, 0], &self.h[vector, 0]
        for j in range(D):
            root = sqrt(eta * h[j])
            for i in range(D):
                self.work[j * D + i] = root * V[j * D + i]
        dsyrk("U", "N", &D, &D, &one, &self.work[0], &D, &zero, H, &D)
        mirror(H, D)
        return 0

    # ---- products -----------------------------------------------------------------------------------------------

    cdef void into_basis(self, const double* V, const double* b) noexcept nogil:
        """``along`` = Vᵀb, the coordinates of b."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        if self.small:
            dots(V, b, &self.along[0], D)
        else:
            dgemv("T", &D, &D, &one, <double*> V, &D, <double*> b, &inc, &zero, &self.along[0], &inc)

    cdef void out_of_basis(self, const double* V, double* out) noexcept nogil:
        """out = V times ``along``."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        if self.small:
            memset(out, 0, D * sizeof(double))
            combine(V, D, NULL, &self.along[0], D, out, D)
        else:
            dgemv("N", &D, &D, &one, <double*> V, &D, &self.along[0], &inc, &zero, out, &inc)

    cdef void add_square(self, double* v, double* A) noexcept nogil:
        """A += v vᵀ, at least LAPACK's upper triangle."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0
        if self.small:
            rank_one(1.0, v, A, D)
        else:
            dsyr("U", &D, &one, v, &inc, A, &D)

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t vectors) noexcept nogil:
        log.save(&self.G[first, 0, 0], vectors * self.D * self.D)
        log.save(&self.stale[first], vectors)
        if self.room > 0:
            log.save(&self.count[first], vectors)
        if self.fade is not None:
            log.save(&self.fade[first], vectors)

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        cdef Py_ssize_t j
        if self.room > 0:
            self.take_pending(vector)
        if self.fade is not None:
            self.take_fade(vector, self.fade[vector])
        for j in range(self.D):
            self.G[vector, i, j] /= growth
        for j in range(self.D):
            self.G[vector, j, i] /= growth
        self.G[vector, i, i] += self.epsilon * fmax(0.0, 1.0 - 1.0 / (growth * growth))
        self.stale[vector] = 1.0

    cdef int solve(self, Py_ssize_t vector, double* b, double eta, double* out) noexcept nogil:
        """In the basis of G itself; the next round decomposes it anew, with its gradient."""
        cdef Py_ssize_t i
        if self.decompose(vector, NULL, 0) != 0:
            return -1
        self.into_basis(&self.new_V[vector, 0, 0], b)
        for i in range(self.D):
            self.along[i] /= eta * self.new_h[vector, i]
        self.out_of_basis(&self.new_V[vector, 0, 0], out)
        self.stale[vector] = 1.0
        return 0
