"""sketch: H_t = ψ(G̃_t), where G̃_t = (ε + escaped)I + BᵀB is G_t kept by a few rows B (see ``_frequent_directions``). O(rank·D) a
row.

Without domain, penalty and dual averaging, x is x̂ + Bᵀc and so is the accumulator of its average, since every step is a combination
of rows: H_t g_t = Bᵀ ψ(aI + B Bᵀ) e_k, with g_t the k-th row and a = ε + escaped. B z, which the margin needs, also is the new
column of the Gram matrix, so between shrinks a round reads B once (O(rank·nnz) for sparse rows), and changes 2·rank coefficients. A
shrink takes x̂ + Bᵀc for the new x̂. Otherwise x is kept whole, and a round reads B three times.

When a unit grows, column i of B is divided by the growth and what that takes from ε and from ``escaped`` is made up for, so that a
stays what it is. As in ``_full``, a round proposes and ``update`` commits. A gradient of zero is no row.
"""
from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dsyrk

from ._frequent_directions cimport Directions
from ...domains._domains cimport NOT_DEFINITE, Domain
from ..full._full cimport Full
from ...linalg._loops cimport axpy, dot, mirror, sparse_dot
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport NOT_FINITE, POTENTIAL_RAISED

from ...state._saved import out_of_range

import numpy as np

cdef double LARGEST = 1e290          # a squared gradient beyond this, as a penalty in tiny units may give, is not taken
cdef double NEGLIGIBLE = 1e-14       # an eigenvalue below this share of the largest is rounding
cdef double RIDGE_OF_INTERCEPT = 0.1
cdef double LOSS_JUMP = 1000.0            # a row so wrong that ℓ'² is beyond this many ℓ'' tells nothing more about curvature


cdef class Sketch(Full):
    """G by its frequent directions; what the ways to H_t share."""

    cdef Directions sketch
    cdef bint thin                    # x = x̂ + Bᵀc, where only c moves from row to row
    cdef double[:, ::1] c, cu         # per weight vector: the coefficients of x and of the average's accumulator
    cdef double[:, ::1] along         # per weight vector: B z, in the rows that were there when the round began
    cdef double[:, ::1] y             # per weight vector: the coefficients of H_t g_t, or of H_t θ_t − h_0 θ_t
    cdef double[::1] factors          # per weight vector: what y is multiplied with in a step
    cdef double[::1] sizes            # per weight vector: Σ|x̂_i|, at most
    cdef double[::1] h0               # per weight vector: H_t outside of the rows
    cdef double[::1] beta

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = {**super().allocate(setting, sparse), **Directions.allocate(setting.L, setting.D, setting.rank)}
        arrays["c"] = np.zeros((1 + setting.averaging, *arrays["B"].shape[:2]))
        return arrays

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return Directions.mismatch(arrays)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.sketch = Directions(arrays)
        L, room = arrays["B"].shape[:2]
        self.thin = self.unconstrained and not (setting.dual or self.penalised)
        self.c, self.cu = arrays["c"][0], arrays["c"][len(arrays["c"]) - 1]
        self.along, self.y, self.beta = np.zeros((L, room)), np.zeros((L, room + 1)), np.zeros(room + 1)
        self.factors, self.h0 = np.zeros(L), np.zeros(L)
        self.sizes = np.abs(self.field("x")).sum(axis=1)

    def combined(self, name, coefficients):
        """x̂ + Bᵀc of each weight vector."""
        whole = self.field(name).copy()
        for vector, filled in enumerate(self.arrays["filled"].astype(int)):
            whole[vector] += coefficients[vector, :filled] @ self.arrays["B"][vector, :filled]
        return whole

    def last_iterate(self):
        return self.combined("x", self.arrays["c"][0])

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return self.last_iterate()
        return self.last_iterate() - self.combined("u", self.arrays["c"][1]) / self.arrays["clock"][1]

    def accumulated(self):
        return self.sketch.accumulated(self.setting.epsilon)

    def spectrum(self):
        """Of the Gram matrix of the rows, and a = ε + escaped in all other directions."""
        own = np.zeros((self.setting.L, self.setting.D))
        for vector, filled in enumerate(self.arrays["filled"].astype(int)):
            rows = self.arrays["B"][vector, :filled]
            few = min(filled, self.setting.D)
            own[vector, :few] = np.maximum(np.linalg.eigvalsh(rows @ rows.T)[filled - few:], 0.0)
        return own + (self.setting.epsilon + self.arrays["escaped"])[:, None]

    # ---- the way to ψ, of the rows that ``sketch`` speaks of, with that of the round under way ---------------

    cdef double base(self, Py_ssize_t vector) noexcept nogil:
        """a = ε + escaped, the eigenvalue of G̃ outside of the rows."""
        return self.setting.epsilon + (self.sketch.new_escaped[vector] if self.sketch.shrunk[vector] else self.sketch.escaped[vector])

    cdef int newest(self, Py_ssize_t vector) noexcept nogil:
        """``y`` of the newest row g: H g = Bᵀy."""
        return POTENTIAL_RAISED

    cdef int spread_over(self, Py_ssize_t vector, const double* beta, double* y) noexcept nogil:
        """y and ``h0`` such that H b = h_0 b + Bᵀy, where beta = B b."""
        return POTENTIAL_RAISED

    cdef int spread_inverse(self, Py_ssize_t vector, const double* beta, double* y, double* outside) noexcept nogil:
        """The same of H⁻¹, between rounds."""
        return POTENTIAL_RAISED

    cdef void forget_rows(self, Py_ssize_t vector) noexcept nogil:
        """The rows have changed otherwise than by a new one."""
        pass

    cdef void commit_vector(self, Py_ssize_t vector) noexcept nogil:
        """The round of a weight vector stands; called before that of ``sketch``."""
        pass

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        self.undo.clear()
        self.sketch.begin_round()

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l
        cdef double more
        Full.predict(self, row, margins)
        if self.thin:
            self.find_along(row)
            for l in range(self.setting.L):
                more = dot(&self.along[l, 0], &self.c[l, 0], self.sketch.kept(l))
                margins[l] += more
                if self.average_margins != NULL:
                    self.average_margins[l] += more
                    if self.clock.now[1] > 0.0:
                        self.average_margins[l] -= (dot(&self.along[l, 0], &self.cu[l, 0], self.sketch.kept(l)) / self.clock.now[1])

    cdef void find_along(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.times_row(l, row, row.z, &self.along[l, 0])

    cdef void times_row(self, Py_ssize_t vector, Row* row, const double* z, double* out) noexcept nogil:
        """out = B z of the rows kept, for a z with the row's places."""
        if row.index == NULL:
            self.sketch.times(vector, z, out)
        else:
            self.sketch.times_sparse(vector, row.index, z, row.n, out)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        if not self.thin:
            return Full.accumulate(self, row, slopes)
        self.slopes = slopes
        if self.take_units(row) != 0:
            return POTENTIAL_RAISED
        if self.scale is not None and self.scale.grew > 0:
            self.find_along(row)
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        return self.step_thin(row) if self.thin else self.step_whole(row)

    cdef int step_thin(self, Row* row) noexcept nogil:
        """The coefficients of each weight vector's step."""
        cdef const double* entering = self.entering(self.slopes)
        cdef double root = self.weight_root()
        cdef double reach, total = 0.0
        cdef Py_ssize_t j, l, n
        for l in range(self.setting.L):
            self.sketch.square[l] = entering[l] * entering[l] * row.norm2
            if self.sketch.square[l] == 0.0:
                continue
            n = self.sketch.kept(l)
            for j in range(n):
                self.sketch.border[l, j] = entering[l] * self.along[l, j]
            if self.sketch.make_room(l) != 0:
                return NOT_FINITE
            if self.sketch.shrunk[l]:
                self.forget_rows(l)
            if self.newest(l) != 0:
                return POTENTIAL_RAISED
            self.factors[l] = self.setting.eta[l] * self.rho[l] * root
            # no coordinate of x̂ + Bᵀc is larger than this
            reach = self.sizes[l]
            for j in range(n):
                reach += fabs(self.c[l, j]) * sqrt(self.sketch.K[l, j, j])
            n = self.sketch.kept(l)
            for j in range(n):
                reach += fabs(self.factors[l] * self.y[l, j]) * self.sketch.length(l, j)
            total += reach + fabs(self.factors[l] * self.y[l, n]) * sqrt(self.sketch.square[l])
        return 0 if isfinite(self.clock.C * total) else NOT_FINITE

    cdef int step_whole(self, Row* row) noexcept nogil:
        """H_t times g_t, or times θ_t, of each weight vector."""
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t i, l, n
        cdef double root = self.weight_root()
        cdef double factor
        cdef double* g
        cdef double* move
        for l in range(self.setting.L):
            g, move, factor = &self.g[l, 0], &self.move[l, 0], self.setting.eta[l]
            if root != 1.0:
                for i in range(D):
                    g[i] /= root
            memset(move, 0, D * sizeof(double))
            self.sketch.times(l, g, &self.sketch.border[l, 0])
            self.sketch.square[l] = dot(g, g, D)
            if not self.sketch.square[l] < LARGEST or self.sketch.make_room(l) != 0:
                return NOT_FINITE
            if self.sketch.shrunk[l]:
                self.forget_rows(l)
            n = self.sketch.kept(l)
            if self.setting.dual:
                self.sketch.times(l, &self.sums[l, 0], &self.beta[0])
                self.beta[n] = dot(g, &self.sums[l, 0], D)
                if self.spread_over(l, &self.beta[0], &self.y[l, 0]) != 0:
                    return POTENTIAL_RAISED
                axpy(factor * self.h0[l], &self.sums[l, 0], move, D)
            elif self.sketch.square[l] == 0.0:
                continue
            else:
                factor *= root
                if self.newest(l) != 0:
                    return POTENTIAL_RAISED
            self.sketch.add_combined(l, &self.y[l, 0], factor, move)
            if self.sketch.square[l] > 0.0:
                axpy(factor * self.y[l, n], g, move, D)
        return 0

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t j, l, n
        cdef const double* entering
        cdef double* g
        if not self.thin:
            return Full.update(self, row)
        entering = self.entering(self.slopes)
        for l in range(self.setting.L):
            if self.sketch.square[l] == 0.0:
                continue
            n = self.sketch.kept(l)
            if self.sketch.shrunk[l]:
                self.leave_rows(l)
                self.measure(l)
            for j in range(n + 1):
                self.c[l, j] -= self.factors[l] * self.y[l, j]
                if self.u != NULL:
                    self.cu[l, j] -= self.clock.C * self.factors[l] * self.y[l, j]
            self.commit_vector(l)
            g = self.sketch.commit(l)
            if row.index != NULL:
                memset(g, 0, D * sizeof(double))
                for j in range(row.n):
                    g[row.index[j]] = entering[l] * row.z[j]
            else:
                for j in range(row.n):
                    g[j] = entering[l] * row.z[j]
        return 0

    cdef void leave_rows(self, Py_ssize_t vector) noexcept nogil:
        """A shrink stands, and the rows go: what x and its average have of them is written down."""
        cdef Py_ssize_t D = self.setting.D
        self.sketch.shrunk[vector] = False
        self.sketch.add_combined(vector, &self.c[vector, 0], 1.0, self.x + vector * D)
        memset(&self.c[vector, 0], 0, self.sketch.room * sizeof(double))
        if self.u != NULL:
            self.sketch.add_combined(vector, &self.cu[vector, 0], 1.0, self.u + vector * D)
            memset(&self.cu[vector, 0], 0, self.sketch.room * sizeof(double))
        self.sketch.shrunk[vector] = True

    cdef void measure(self, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t i
        self.sizes[vector] = 0.0
        for i in range(self.setting.D):
            self.sizes[vector] += fabs(self.x[vector * self.setting.D + i])

    cdef void commit(self) noexcept nogil:
        cdef Py_ssize_t l
        cdef double* g
        for l in range(self.setting.L):
            self.commit_vector(l)
            g = self.sketch.commit(l)
            if g != NULL:
                memcpy(g, &self.g[l, 0], self.setting.D * sizeof(double))

    cdef void abandon(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            if self.undo.count > 0 or self.sketch.shrunk[l]:
                self.forget_rows(l)
        self.undo.restore()

    # ---- units --------------------------------------------------------------------------------------------------

    cdef int take_units(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        cdef int status = Full.take_units(self, row)
        if self.scale is not None and self.scale.grew > 0:
            for l in range(self.setting.L):
                self.sketch.settle(l)
        return status

    cdef void save_matrices(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.sketch.save(self.undo, l)
            self.forget_rows(l)

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        """x keeps its value, which has a part in the rows."""
        cdef Py_ssize_t j
        cdef Py_ssize_t D = self.setting.D
        cdef double gone = 1.0 - 1.0 / growth
        if self.thin:
            for j in range(self.sketch.kept(vector)):
                self.x[vector * D + i] += gone * self.c[vector, j] * self.sketch.B[vector, j, i]
                if self.u != NULL:
                    self.u[vector * D + i] += gone * self.cu[vector, j] * self.sketch.B[vector, j, i]
        self.sketch.carry(self.undo, vector, i, growth)

    cdef int reset_sums(self, Py_ssize_t vector) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef double outside = 0.0
        cdef double* gap = &self.goal[vector, 0]
        cdef double* theta = self.theta + vector * D
        self.sketch.settle(vector)
        for i in range(D):
            gap[i] = (self.begun(i) - self.x[vector * D + i]) / (self.setting.eta[vector] * self.rho[vector])
        self.sketch.times(vector, gap, &self.beta[0])
        if self.spread_inverse(vector, &self.beta[0], &self.y[vector, 0], &outside) != 0:
            return POTENTIAL_RAISED
        for i in range(D):
            theta[i] = outside * gap[i]
        self.sketch.add_combined(vector, &self.y[vector, 0], 1.0, theta)
        return 0

    # ---- the domain ---------------------------------------------------------------------------------------------

    cdef int find_H(self, Py_ssize_t vector, Py_ssize_t block, bint anew) noexcept nogil:
        """η(h_0 I + BᵀQB), a row of Q at a time: H e_i = h_0 e_i + Bᵀ Q (B e_i)."""
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t i, j
        cdef Py_ssize_t n = self.sketch.kept(vector)
        cdef double eta = self.setting.eta[vector]
        cdef double* rows = self.sketch.rows(vector)
        cdef double* H
        if anew:
            return NOT_DEFINITE
        for i in range(D):
            for j in range(n):
                self.beta[j] = rows[j * D + i]
            self.beta[n] = self.g[vector, i]
            self.spread_over(vector, &self.beta[0], &self.y[vector, 0])
            H = &self.H[i * D]
            memset(H, 0, D * sizeof(double))
            H[i] = eta * self.h0[vector]
            self.sketch.add_combined(vector, &self.y[vector, 0], eta, H)
            if self.sketch.square[vector] > 0.0:
                axpy(eta * self.y[vector, n], &self.g[vector, 0], H, D)
        return 0


cdef class SketchONS(Sketch):
    """ψ(λ) = η/λ, by a Cholesky factor of A = aI + B Bᵀ, which a new row extends by a row: O(rank²) beside B z.

    H b = η/a (b − Bᵀ A⁻¹ B b), and A⁻¹e_k for the k-th row itself.
    """

    cdef double[:, :, ::1] factor    # per weight vector: the lower triangle F of A = F Fᵀ, with 1/F_ii on its diagonal
    cdef Py_ssize_t[::1] factored    # per weight vector: rows of it that are those of the rows in use

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        L, room = arrays["B"].shape[:2]
        self.factor, self.factored = np.zeros((L, room + 1, room + 1)), np.zeros(L, dtype=np.intp)

    cdef void forget_rows(self, Py_ssize_t vector) noexcept nogil:
        self.factored[vector] = 0

    cdef void extend(self, Py_ssize_t vector) noexcept nogil:
        """The factor of all rows, from that of the first ``factored``."""
        cdef Py_ssize_t kept = self.sketch.kept(vector)
        cdef Py_ssize_t j
        cdef const double* source
        for j in range(self.factored[vector], kept):
            source = &self.sketch.new_K[vector, j, 0] if self.sketch.shrunk[vector] else &self.sketch.K[vector, j, 0]
            self.extend_by(vector, j, source, source[j])
        self.factored[vector] = kept
        if self.sketch.square[vector] > 0.0:
            self.extend_by(vector, kept, &self.sketch.border[vector, 0], self.sketch.square[vector])

    cdef void extend_by(self, Py_ssize_t vector, Py_ssize_t n, const double* column, double corner) noexcept nogil:
        """One more row: F f = column, and its own corner, whose square is not below a."""
        cdef double base = self.base(vector)
        cdef double* own = &self.factor[vector, n, 0]
        cdef Py_ssize_t j
        for j in range(n):
            own[j] = (column[j] - dot(&self.factor[vector, j, 0], own, j)) * self.factor[vector, j, j]
        own[n] = 1.0 / sqrt(fmax(base + corner - dot(own, own, n), base))

    cdef void forwards(self, Py_ssize_t vector, const double* b, double* y, Py_ssize_t n) noexcept nogil:
        """y = F⁻¹ b."""
        cdef Py_ssize_t j
        for j in range(n):
            y[j] = (b[j] - dot(&self.factor[vector, j, 0], y, j)) * self.factor[vector, j, j]

    cdef void backwards(self, Py_ssize_t vector, double* y, Py_ssize_t n) noexcept nogil:
        """y ← F⁻ᵀ y."""
        cdef Py_ssize_t j
        for j in range(n - 1, -1, -1):
            y[j] *= self.factor[vector, j, j]
            axpy(-y[j], &self.factor[vector, j, 0], y, j)

    cdef int newest(self, Py_ssize_t vector) noexcept nogil:
        """A⁻¹ e_k: F⁻¹ e_k has one entry, 1/F_kk."""
        cdef Py_ssize_t j
        cdef Py_ssize_t k = self.sketch.kept(vector)
        cdef double* y = &self.y[vector, 0]
        self.extend(vector)
        for j in range(k):
            y[j] = 0.0
        y[k] = self.factor[vector, k, k]
        self.backwards(vector, y, k + 1)
        return 0

    cdef int spread_over(self, Py_ssize_t vector, const double* beta, double* y) noexcept nogil:
        cdef Py_ssize_t j
        cdef Py_ssize_t n = self.sketch.size(vector)
        self.extend(vector)
        self.h0[vector] = 1.0 / self.base(vector)
        for j in range(n):
            y[j] = (-self.h0[vector] * beta[j] - dot(&self.factor[vector, j, 0], y, j)) * self.factor[vector, j, j]
        self.backwards(vector, y, n)
        return 0

    cdef int spread_inverse(self, Py_ssize_t vector, const double* beta, double* y, double* outside) noexcept nogil:
        memcpy(y, beta, self.sketch.kept(vector) * sizeof(double))
        outside[0] = self.base(vector)
        return 0


cdef class SketchSpectral(Sketch):
    """Any ψ, by the eigenvalues λ and eigenvectors U of the Gram matrix K = B Bᵀ of the rows, O(rank³).

    H b = h_0 b + Bᵀ U diag(q) Uᵀ B b with h_0 = ψ(a), q_i = (ψ(a + λ_i) − ψ(a))/λ_i; for the newest row itself,
    H g = Bᵀ U ψ(a + λ) Uᵀ e_k.

    The decomposition of an older G̃_τ serves on while s = Σ g_tᵀ G̃_τ⁻¹ g_t over the rows since is at most δ, which certifies G̃_τ ⪯
    G̃_t ⪯ (1 + δ)G̃_τ (``_eigenbasis`` says what follows from that). A shrink and a change of units end it. δ = 0: every round.
    """

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


cdef class SketchNewton(SketchONS):
    """Newton steps on a sketch: what "auto" is where a full matrix is not affordable and a diagonal says too little. O(rank·D) a row.

    A row z with slope ℓ' and curvature ℓ'' adds w z zᵀ to G, and the step is implicit,

        x ← x − η ℓ' / (1 + (w + η ℓ'') q) P z,    q = zᵀ P z,    P = G⁻¹,

    with w = (ℓ'² + ℓ'')/2, or ℓ'' alone where slopes are unbounded. G is a diagonal Λ and the rows of a sketch, G = Λ + BᵀB, of which
    P is had by Woodbury's identity. Coordinates are √Λ_i x_i, so that Λ is I and all of the above applies: a row
    is z_i/√Λ_i, ``root`` has 1/√Λ_i.

    A shrink keeps the largest directions whole (nothing is taken from them, unlike in Algorithm 1, whose bound asks for it), and
    drops the others. Of what is dropped, each member gives the share ``given_back`` to the diagonal, Λ_i += share · Σ dropped_i².
    With 1, diag G is kept: features far from each other learn as with a diagonal. With 0, dropped directions keep the prior's long
    steps, which an average makes good: combinations of features whose sum dominates are learnt fast. Which of the two is right
    depends on the data, so both learn side by side, and ``_stack`` combines them: vector r·K + k is member r of output k, the first
    member gives everything back, the others nothing.

    Rows come in the units of ``FeatureScale``. There is no domain, penalty or dual averaging here; the registry asks for Algorithm 1
    there.
    """

    cdef double[:, ::1] root             # per weight vector and coordinate: 1/√Λ_i
    cdef double largest_root             # no root was ever larger
    cdef double[::1] given_back          # per weight vector
    cdef double[:, ::1] v                # per weight vector: the row in these coordinates, as long as the row
    cdef double[::1] squares             # per weight vector: vᵀv
    cdef double[:, ::1] solved           # per weight vector: A⁻¹ B v
    cdef double[::1] weights             # per weight vector: how v enters the sketch
    cdef double[::1] dropped

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        arrays["root"] = np.full((setting.L, setting.D), 1.0 / np.sqrt(setting.epsilon))
        if setting.intercept:
            arrays["root"][:, setting.d] = 1.0 / np.sqrt(RIDGE_OF_INTERCEPT)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        L, room = arrays["B"].shape[:2]
        self.root = arrays["root"]
        self.largest_root = fmax(1.0, 1.0 / sqrt(fmin(setting.epsilon, RIDGE_OF_INTERCEPT)))
        self.given_back = np.where(np.arange(L) < setting.K, 1.0, 0.0)
        self.sketch.taken[:] = 0.0
        self.squares, self.weights, self.solved = np.empty(L), np.zeros(L), np.empty((L, room))
        self.v, self.dropped = np.empty((L, 1)), np.empty(setting.D)
        self.longest_step, self.always_steps = 0.0, False

    def prepare(self, Py_ssize_t widest):
        super().prepare(widest)
        if self.v.shape[1] < widest:
            self.v = np.empty((self.setting.L, widest))

    def combined(self, name, coefficients):
        return super().combined(name, coefficients) * self.arrays["root"]

    def accumulated(self):
        """Λ + BᵀB of each weight vector, (L, D, D)."""
        scale = 1.0 / self.arrays["root"]
        return self.sketch.accumulated(1.0) * scale[:, :, None] * scale[:, None, :]

    cdef double base(self, Py_ssize_t vector) noexcept nogil:
        return 1.0

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        return True

    cdef double times_v(self, Py_ssize_t vector, Row* row, const double* numbers) noexcept nogil:
        if row.index == NULL:
            return dot(&self.v[vector, 0], numbers, row.n)
        return sparse_dot(&self.v[vector, 0], row.index, numbers, row.n)

    cdef void find_along(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef double* v
        for l in range(self.setting.L):
            v = &self.v[l, 0]
            for j in range(row.n):
                v[j] = row.z[j] * self.root[l, row.index[j] if row.index != NULL else j]
            self.squares[l] = dot(v, v, row.n)
            self.times_row(l, row, v, &self.along[l, 0])

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l, n
        cdef Py_ssize_t D = self.setting.D
        cdef double part
        self.find_along(row)
        for l in range(self.setting.L):
            n = self.sketch.kept(l)
            margins[l] = self.times_v(l, row, self.x + l * D) + dot(&self.along[l, 0], &self.c[l, 0], n)
            if self.average_margins != NULL:
                self.average_margins[l] = margins[l]
                if self.clock.now[1] > 0.0:
                    part = self.times_v(l, row, self.u + l * D) + dot(&self.along[l, 0], &self.cu[l, 0], n)
                    self.average_margins[l] -= part / self.clock.now[1]

    cdef int precondition(self, Row* row) noexcept nogil:
        """The step of each weight vector: −factor (v − Bᵀ A⁻¹ B v), and the weight with which v is to enter the sketch."""
        cdef Py_ssize_t j, l, n
        cdef double slope, curvature, square, w, q, total = 0.0
        for l in range(self.setting.L):
            self.factors[l] = self.weights[l] = 0.0
            slope, curvature = self.slopes[l], self.round_weight * self.curvatures[l]
            if (slope == 0.0 and curvature == 0.0) or self.squares[l] == 0.0:
                continue
            n = self.sketch.kept(l)
            self.extend(l)
            self.forwards(l, &self.along[l, 0], &self.solved[l, 0], n)
            q = fmax(self.squares[l] - dot(&self.solved[l, 0], &self.solved[l, 0], n), 0.0)
            self.backwards(l, &self.solved[l, 0], n)
            square = slope * slope / self.round_weight
            w = curvature if self.steep and curvature > 0.0 else 0.5 * (square + curvature)
            self.factors[l] = self.setting.eta[l] * self.rho[l] * slope / (1.0 + (w + self.setting.eta[l] * curvature) * q)
            if not self.steep and curvature > 0.0:
                w = 0.5 * (fmin(square, LOSS_JUMP * curvature) + curvature)
            total += self.sizes[l] + fabs(self.factors[l]) * sqrt(self.squares[l])
            for j in range(n):
                total += (fabs(self.c[l, j]) + fabs(self.factors[l] * self.solved[l, j])) * self.sketch.length(l, j)
            self.weights[l] = sqrt(w)
            self.sketch.square[l] = w * self.squares[l]
            for j in range(n):
                self.sketch.border[l, j] = self.weights[l] * self.along[l, j]
            if not isfinite(self.sketch.square[l]) or self.sketch.make_room(l) != 0:
                return NOT_FINITE
        return 0 if isfinite(self.clock.C * total * self.largest_root) else NOT_FINITE

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t l, n
        cdef double step
        cdef double* g
        for l in range(self.setting.L):
            if self.factors[l] == 0.0 and self.weights[l] == 0.0:
                continue
            n = <Py_ssize_t> self.sketch.filled[l]
            axpy(self.factors[l], &self.solved[l, 0], &self.c[l, 0], n)
            if self.u != NULL:
                axpy(self.clock.C * self.factors[l], &self.solved[l, 0], &self.cu[l, 0], n)
            if self.sketch.square[l] > 0.0 and not self.sketch.shrunk[l]:
                step = self.factors[l] / self.weights[l]
                self.c[l, n] = -step
                if self.u != NULL:
                    self.cu[l, n] = -self.clock.C * step
            else:
                self.add_row(l, row, -self.factors[l], self.x + l * D)
                if self.u != NULL:
                    self.add_row(l, row, -self.clock.C * self.factors[l], self.u + l * D)
            if self.sketch.shrunk[l]:
                self.write_down(l, row)
            g = self.sketch.commit(l)
            if g != NULL:
                if row.index != NULL:
                    memset(g, 0, D * sizeof(double))
                self.put_row(l, row, self.weights[l], g)
        return 0

    cdef void add_row(self, Py_ssize_t vector, Row* row, double factor, double* out) noexcept nogil:
        """out += factor · v."""
        cdef Py_ssize_t j
        if row.index == NULL:
            axpy(factor, &self.v[vector, 0], out, row.n)
        else:
            for j in range(row.n):
                out[row.index[j]] += factor * self.v[vector, j]
        if out == self.x + vector * self.setting.D:
            self.sizes[vector] += fabs(factor) * sqrt(self.squares[vector] * row.n)

    cdef void put_row(self, Py_ssize_t vector, Row* row, double factor, double* out) noexcept nogil:
        """out = factor · v where the row has values."""
        cdef Py_ssize_t j
        for j in range(row.n):
            out[row.index[j] if row.index != NULL else j] = factor * self.v[vector, j]

    cdef void write_down(self, Py_ssize_t vector, Row* row) noexcept nogil:
        """A shrink stands: the diagonal takes its share of what was dropped; x, its average and the new rows, v among them, go over
        to the coordinates that follow from it."""
        cdef int D = <int> self.setting.D
        cdef int rank = <int> self.sketch.rank
        cdef Py_ssize_t i, j
        cdef double one = 1.0, zero = 0.0, share = self.given_back[vector]
        cdef double* x = self.x + vector * D
        cdef double* u = self.u + vector * D if self.u != NULL else NULL
        cdef double* dropped = &self.dropped[0]
        cdef double* rows
        self.leave_rows(vector)
        if share > 0.0:
            memset(dropped, 0, D * sizeof(double))
            for j in range(self.sketch.room):
                rows = &self.sketch.B[vector, j, 0]
                for i in range(D):
                    dropped[i] += rows[i] * rows[i]
            for j in range(rank):
                rows = &self.sketch.new_B[vector, j, 0]
                for i in range(D):
                    dropped[i] -= rows[i] * rows[i]
            for i in range(D):                       # the factor by which √Λ grows
                dropped[i] = sqrt(1.0 + share * fmax(dropped[i], 0.0))
                x[i] *= dropped[i]
                self.root[vector, i] /= dropped[i]
            if u != NULL:
                for i in range(D):
                    u[i] *= dropped[i]
            for j in range(rank):
                rows = &self.sketch.new_B[vector, j, 0]
                for i in range(D):
                    rows[i] /= dropped[i]
            for j in range(row.n):
                self.v[vector, j] /= dropped[row.index[j] if row.index != NULL else j]
            dsyrk("U", "T", &rank, &D, &one, &self.sketch.new_B[vector, 0, 0], &D, &zero, &self.sketch.new_K[vector, 0, 0], &rank)
            mirror(&self.sketch.new_K[vector, 0, 0], rank)
            self.squares[vector] = dot(&self.v[vector, 0], &self.v[vector, 0], row.n)
            self.sketch.square[vector] = self.weights[vector] * self.weights[vector] * self.squares[vector]
            self.times_row(vector, row, &self.v[vector, 0], &self.sketch.border[vector, 0])
            for j in range(rank):
                self.sketch.border[vector, j] *= self.weights[vector]
        self.forget_rows(vector)
        self.measure(vector)
