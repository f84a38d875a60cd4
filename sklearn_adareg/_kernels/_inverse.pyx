# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""full, ψ(λ) = η/λ: the inverse is kept by Sherman–Morrison, O(D²) a round.

Rank-one corrections wait in a thin factor, G_t⁻¹ = P − Σ w_i v_i v_iᵀ, and are folded into P with BLAS 3 when ``FOLD`` of them
have come, so that a sparse row costs O(D·nnz). A small P takes them at once, which is less than going by those that wait.
G itself is folded beside it: it tells how far P has drifted from its inverse, and mends it.

What bounds a round of a large P: P times a row reads half of it, 4 D² bytes, or nnz of its rows, 8 D·nnz bytes, in 2 D² or
2 D·nnz flops; the folds of P and G are D² flops a round each, at the speed of a matrix product. A small P is read and written
whole, from the nearest cache.
"""
from libc.math cimport fmax, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dsymv, dsyrk
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

from ._domains cimport Domain
from ._full cimport Full, mirror
from ._loops cimport axpy, combine, dot, rank_one, sparse_dot
from ._potentials cimport Potential
from ._rows cimport Row
from ._structures cimport Setting

import numpy as np

cdef int FOLD = 32
cdef int SMALL = 40                  # up to here P takes corrections at once
cdef double DRIFT = 1e-12


cdef class FullInverse(Full):
    """ψ(λ) = η/λ: H_t = η G_t⁻¹ without a decomposition."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        L, D = setting.L, setting.D
        diagonal = np.arange(D)
        arrays["P"], arrays["G"] = np.zeros((L, D, D)), np.zeros((L, D, D))
        arrays["P"][:, diagonal, diagonal] = 1.0 / setting.epsilon
        arrays["G"][:, diagonal, diagonal] = setting.epsilon
        arrays["pending_v"], arrays["pending_g"] = np.zeros((L, FOLD, D)), np.zeros((L, FOLD, D))
        arrays["pending_w"], arrays["count"] = np.zeros((L, FOLD)), np.zeros(L)
        arrays["tolerance"] = np.full(L, DRIFT)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.P, self.G = arrays["P"], arrays["G"]
        self.pending_v, self.pending_g, self.pending_w = arrays["pending_v"], arrays["pending_g"], arrays["pending_w"]
        self.count, self.tolerance = arrays["count"], arrays["tolerance"]
        self.appended, self.along = np.zeros(setting.L), np.empty(FOLD)
        self.sparse_g = np.empty(setting.D)
        self.scratch, self.anew = np.empty((FOLD, setting.D)), np.empty((setting.D, setting.D))
        self.at_once = setting.D <= SMALL and self.free        # a round that a domain may stop has to be taken back
        if self.at_once:
            for lane in range(setting.L):
                self.catch_up(lane)

    cdef void catch_up(self, Py_ssize_t lane) noexcept nogil:
        """Take in at once what a state from elsewhere still has waiting."""
        cdef Py_ssize_t k
        for k in range(<Py_ssize_t> self.count[lane]):
            rank_one(-self.pending_w[lane, k], &self.pending_v[lane, k, 0], &self.P[lane, 0, 0], self.setting.D)
            self.pending_w[lane, k] = 0.0

    cdef void wait(self, Py_ssize_t lane, double weight) noexcept nogil:
        """One correction more, its v and g in place."""
        cdef Py_ssize_t k = <Py_ssize_t> self.count[lane]
        self.pending_w[lane, k] = weight
        if self.at_once:
            rank_one(-weight, &self.pending_v[lane, k, 0], &self.P[lane, 0, 0], self.setting.D)
            self.pending_w[lane, k] = 0.0
        self.count[lane] += 1.0

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """The same on the inverse: row and column times the growth, and the made-up ε as a gradient along e_i."""
        cdef Py_ssize_t j, k
        cdef Py_ssize_t D = self.setting.D
        cdef double made_up = sqrt(self.setting.epsilon * (1.0 - 1.0 / (growth * growth)))
        for j in range(D):
            self.P[lane, i, j] *= growth
            self.G[lane, i, j] /= growth
        for j in range(D):
            self.P[lane, j, i] *= growth
            self.G[lane, j, i] /= growth
        for k in range(<Py_ssize_t> self.count[lane]):
            self.pending_v[lane, k, i] *= growth
            self.pending_g[lane, k, i] /= growth
        memset(&self.g[lane, 0], 0, D * sizeof(double))
        self.g[lane, i] = made_up
        self.append(lane, NULL)
        if self.count[lane] == FOLD:
            self.fold(lane)

    cdef void reset_sums(self, Py_ssize_t lane) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t i, k
        cdef double* theta = self.theta + lane * D
        cdef double* gap = &self.scratch[0, 0]
        for i in range(D):
            gap[i] = (self.begun(i) - self.x[lane * D + i]) / (self.setting.eta[lane] * self.factor[lane])
        dsymv("U", &D, &one, &self.G[lane, 0, 0], &D, gap, &inc, &zero, theta, &inc)
        for k in range(<Py_ssize_t> self.count[lane]):
            axpy(dot(&self.pending_g[lane, k, 0], gap, D), &self.pending_g[lane, k, 0], theta, D)

    cdef double append(self, Py_ssize_t lane, Row* row) noexcept nogil:
        """Let g join G: the rank-one correction waits with the others. Returns 1/(1 + gᵀG_{t−1}⁻¹g)."""
        cdef Py_ssize_t k = <Py_ssize_t> self.count[lane]
        cdef Py_ssize_t D = self.setting.D
        cdef double* v = &self.pending_v[lane, k, 0]
        cdef double weight
        if row == NULL:
            self.times_inverse(lane, &self.g[lane, 0], v)
        else:
            self.times_inverse_row(lane, row, v)
        weight = 1.0 / (1.0 + dot(&self.g[lane, 0], v, D))
        if weight != 1.0:
            memcpy(&self.pending_g[lane, k, 0], &self.g[lane, 0], D * sizeof(double))
            self.wait(lane, weight)
        return weight

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l, i, k
        cdef Py_ssize_t D = self.setting.D
        cdef double weight, factor
        cdef double root = sqrt(self.round_weight) if self.setting.lighter else 1.0
        self.entering = 1.0 / root
        if root != 1.0:
            for l in range(self.setting.L):
                for i in range(D):
                    self.g[l, i] *= self.entering
        cdef double* v
        for l in range(self.setting.L):
            k = <Py_ssize_t> self.count[l]
            v = &self.pending_v[l, k, 0]
            weight = self.append(l, row)
            self.appended[l] = weight != 1.0
            if self.setting.dual:
                self.times_inverse(l, &self.sums[l, 0], &self.move[l, 0])
                factor = self.setting.eta[l]
            else:                                        # G_t⁻¹ g = v / (1 + gᵀv)
                memcpy(&self.move[l, 0], v, D * sizeof(double))
                factor = self.setting.eta[l] * weight * root
            for i in range(D):
                self.move[l, i] *= factor
        return 0

    cdef void times_inverse_row(self, Py_ssize_t lane, Row* row, double* out) noexcept nogil:
        """(P − Σ w v vᵀ) g of a lane; by P's columns where the row is sparse and no penalty has filled g."""
        cdef Py_ssize_t j
        if row.index == NULL or self.penalised:
            self.times_inverse(lane, &self.g[lane, 0], out)
            return
        for j in range(row.n):
            self.sparse_g[j] = self.entering * self.slopes[lane] * row.z[j]
        self.times_inverse_sparse(lane, row, &self.sparse_g[0], out)

    cdef void times_inverse_sparse(self, Py_ssize_t lane, Row* row, const double* z, double* out) noexcept nogil:
        """(P − Σ w v vᵀ) times a row of values z."""
        memset(out, 0, self.setting.D * sizeof(double))
        combine(&self.P[lane, 0, 0], self.setting.D, row.index, z, row.n, out, self.setting.D)
        self.less_pending(lane, row, z, NULL, out)

    cdef void times_inverse(self, Py_ssize_t lane, double* b, double* out) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int one = 1
        cdef double alpha = 1.0, beta = 0.0
        if self.at_once:
            memset(out, 0, D * sizeof(double))
            combine(&self.P[lane, 0, 0], D, NULL, b, D, out, D)
            return
        dsymv("U", &D, &alpha, &self.P[lane, 0, 0], &D, b, &one, &beta, out, &one)
        self.less_pending(lane, NULL, NULL, b, out)

    cdef void less_pending(self, Py_ssize_t lane, Row* row, const double* z, const double* b, double* out) noexcept nogil:
        """out −= Σ w v (vᵀb), with b whole or as the values z of a sparse row."""
        cdef Py_ssize_t k
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t waiting = <Py_ssize_t> self.count[lane]
        cdef const double* v
        cdef double along
        if self.at_once:
            return
        for k in range(waiting):
            v = &self.pending_v[lane, k, 0]
            along = dot(v, b, D) if row == NULL else sparse_dot(z, row.index, v, row.n)
            self.along[k] = -self.pending_w[lane, k] * along
        combine(&self.pending_v[lane, 0, 0], D, NULL, &self.along[0], waiting, out, D)

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i, j
        memcpy(&self.H[0, 0], &self.P[lane, 0, 0], self.setting.D * self.setting.D * sizeof(double))
        self.subtract_pending(lane, &self.H[0, 0])
        mirror(&self.H[0, 0], self.setting.D)
        for i in range(self.setting.D):
            for j in range(self.setting.D):
                self.H[i, j] *= self.setting.eta[lane]

    cdef void subtract_pending(self, Py_ssize_t lane, double* matrix) noexcept nogil:
        """matrix −= Σ w v vᵀ, one triangle."""
        cdef int D = <int> self.setting.D
        cdef int k = <int> self.count[lane]
        cdef Py_ssize_t i, j
        cdef double alpha = -1.0, beta = 1.0, root
        for j in range(k):
            root = sqrt(self.pending_w[lane, j])
            for i in range(D):
                self.scratch[j, i] = root * self.pending_v[lane, j, i]
        dsyrk("U", "N", &D, &k, &alpha, &self.scratch[0, 0], &D, &beta, matrix, &D)

    cdef void take_back(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            self.count[l] -= self.appended[l]

    cdef void settled(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            if self.count[l] == FOLD:
                self.fold(l)

    cdef void fold(self, Py_ssize_t lane) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int k = <int> self.count[lane]
        cdef double one = 1.0
        if not self.at_once:
            self.subtract_pending(lane, &self.P[lane, 0, 0])
        dsyrk("U", "N", &D, &k, &one, &self.pending_g[lane, 0, 0], &D, &one, &self.G[lane, 0, 0], &D)
        self.count[lane] = 0.0
        if self.drift(lane) > self.tolerance[lane]:
            self.mend(lane)
        mirror(&self.P[lane, 0, 0], D)

    cdef double drift(self, Py_ssize_t lane) noexcept nogil:
        """‖G P g − g‖ / ‖g‖ for the last gradient folded in."""
        cdef int D = <int> self.setting.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0, off = 0.0
        cdef Py_ssize_t i
        cdef double* g = &self.pending_g[lane, FOLD - 1, 0]
        dsymv("U", &D, &one, &self.P[lane, 0, 0], &D, g, &inc, &zero, &self.scratch[0, 0], &inc)
        dsymv("U", &D, &one, &self.G[lane, 0, 0], &D, &self.scratch[0, 0], &inc, &zero, &self.scratch[1, 0], &inc)
        for i in range(D):
            off += (self.scratch[1, i] - g[i]) * (self.scratch[1, i] - g[i])
        return sqrt(off / dot(g, g, D))

    cdef void mend(self, Py_ssize_t lane) noexcept nogil:
        """P = G⁻¹ anew; what drift is left then is what the conditioning of G allows, and no reason to mend again."""
        cdef int D = <int> self.setting.D
        cdef int info = 0
        cdef Py_ssize_t i
        cdef Py_ssize_t size = self.setting.D * self.setting.D * sizeof(double)
        memcpy(&self.anew[0, 0], &self.G[lane, 0, 0], size)
        for i in range(D):                               # a feature never seen has nothing in G, and gets nothing in P
            if self.G[lane, i, i] == 0.0:
                self.anew[i, i] = 1.0
        dpotrf("U", &D, &self.anew[0, 0], &D, &info)
        if info == 0:
            dpotri("U", &D, &self.anew[0, 0], &D, &info)
        if info != 0:
            return
        memcpy(&self.P[lane, 0, 0], &self.anew[0, 0], size)
        for i in range(D):
            if self.G[lane, i, i] == 0.0:
                self.P[lane, i, i] = 0.0
        self.tolerance[lane] = fmax(DRIFT, 30.0 * self.drift(lane))
