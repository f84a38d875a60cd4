# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""full: H_t = ψ(G_t), the whole matrix. One D×D block a lane.

Two ways to H_t g_t. ``FullInverse`` is for ψ(λ) = η/λ alone: the inverse is kept by Sherman–Morrison, O(D²) a round.
Rank-one corrections wait in a thin factor, G_t⁻¹ = P − Σ w_i v_i v_iᵀ, and are folded into P with BLAS 3 when ``FOLD`` of them
have come, so that a sparse row costs O(D·nnz). G itself is folded beside it: it tells how far P has drifted from
its inverse, and mends it. ``FullSpectral`` is for every other ψ, by the eigenbasis of G_t.

The arrays are row-major and symmetric, so LAPACK's "upper" is our lower triangle.
"""
from libc.math cimport fmax, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dgemv, dsymv, dsyr, dsyrk
from scipy.linalg.cython_lapack cimport dpotrf, dpotri, dsyevd

from ._domains cimport Domain
from ._loops cimport axpy, combine, dot
from ._potentials cimport Potential
from ._rows cimport Row
from ._structures cimport Setting, Structure

import numpy as np

cdef int FOLD = 32
cdef double DRIFT = 1e-12


cdef void mirror(double* A, Py_ssize_t n) noexcept nogil:
    """Copy LAPACK's upper triangle onto the other, in tiles that stay in cache."""
    cdef Py_ssize_t a, b, i, j
    for a in range(0, n, 16):
        for b in range(0, a + 1, 16):
            for j in range(a, min(a + 16, n)):
                for i in range(b, min(b + 16, j)):
                    A[i * n + j] = A[j * n + i]


cdef class Full(Structure):
    """The whole matrix, and what both ways to it share."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        fields = ["x"] + ["u"] * setting.averaging + ["theta"] * setting.dual
        cells = np.zeros((len(fields), setting.L, setting.D))
        cells[0, :, :setting.d] = setting.start
        return {"fields": tuple(fields), "cells": cells, "clock": np.zeros(2), **cls.allocate_units(setting)}

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        cdef double[:, :, ::1] cells = arrays["cells"]
        fields = arrays["fields"]
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.theta = &cells[fields.index("theta"), 0, 0] if "theta" in fields else NULL
        shape = (setting.L, setting.D)
        self.g, self.sums, self.move, self.goal = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
        if not self.free:
            domain.prepare_full()
            self.H, self.multipliers = np.empty((setting.D, setting.D)), np.empty(setting.D)
            self.units = np.ones(setting.D)

    def prepare(self, Py_ssize_t widest):
        """Make room for rows that touch up to ``widest`` coordinates."""
        self.room_for_units(widest)

    def field(self, name):
        """One number of every coordinate, (L, D)."""
        return self.arrays["cells"][self.arrays["fields"].index(name)]

    def last_iterate(self):
        return self.field("x").copy()

    def average(self):
        if self.arrays["clock"][1] == 0.0:
            return self.last_iterate()
        return self.field("x") - self.field("u") / self.arrays["clock"][1]

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef double* x
        for l in range(self.setting.L):
            x = self.x + l * self.setting.D
            if row.index == NULL:
                margins[l] = dot(row.z, x, row.n)
            else:
                margins[l] = 0.0
                for j in range(row.n):
                    margins[l] += row.z[j] * x[row.index[j]]

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """g_t, with the gradient of the L2 penalty in it, and θ_t."""
        cdef Py_ssize_t i, j, l
        cdef Py_ssize_t D = self.setting.D
        cdef double unit
        cdef double* g
        self.slopes = slopes
        if self.setting.scaled:
            self.take_units(row)
        for l in range(self.setting.L):
            g = &self.g[l, 0]
            memset(g, 0, D * sizeof(double))
            for j in range(row.n):
                i = row.index[j] if row.index != NULL else j
                g[i] = slopes[l] * row.z[j]
            if self.penalised:                           # of raw weights: x/s, and its gradient in x once more over s
                for i in range(self.setting.d):
                    unit = self.unit(i)
                    g[i] += self.setting.ridge * self.x[l * D + i] / (unit * unit * self.loss_unit(l))
            for i in range(D):
                self.sums[l, i] = g[i] + (self.theta[l * D + i] if self.setting.dual else 0.0)

    cdef void take_units(self, Row* row) noexcept nogil:
        """Carry the matrices over to the units of this row, and note them."""
        cdef Py_ssize_t i, j, k, l
        cdef Py_ssize_t D = self.setting.D
        if self.grew == 0:
            return
        for k in range(self.grew):
            j = self.grown[k]
            i = row.index[j] if row.index != NULL else j
            if self.scale[i] > 0.0:
                for l in range(self.setting.L):
                    self.carry(l, i, self.new_scale[j] / self.scale[i])
            elif self.setting.start != 0.0:              # a weight from before its feature was seen keeps its raw value
                for l in range(self.setting.L):
                    self.x[l * D + i] *= self.new_scale[j]
                    if self.u != NULL:
                        self.u[l * D + i] *= self.new_scale[j]
            self.scale[i] = self.new_scale[j]
        if self.setting.dual:
            for l in range(self.setting.L):
                self.reset_sums(l)

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), and ε made up for."""
        pass

    cdef void reset_sums(self, Py_ssize_t lane) noexcept nogil:
        """θ such that x_1 − Hθ is x."""
        pass

    cdef double unit(self, Py_ssize_t i) noexcept nogil:
        return self.scale[i] if self.setting.scaled and self.scale[i] > 0.0 else 1.0

    cdef double begun(self, Py_ssize_t i) noexcept nogil:
        """x_1 in the present units."""
        return self.setting.start * self.unit(i) if i < self.setting.d else 0.0

    cdef void rest(self, Row* row) noexcept nogil:
        if self.setting.scaled:
            self.take_units(row)

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        cdef double base
        for l in range(self.setting.L):
            for i in range(D):
                base = self.begun(i) if self.setting.dual else self.x[l * D + i]
                self.goal[l, i] = base - self.factor[l] * self.move[l, i]
            if not self.free and self.project(l) != 0:
                self.take_back()
                return -2
        for l in range(self.setting.L):
            for i in range(D):
                if self.u != NULL:
                    self.u[l * D + i] += self.clock.C * (self.goal[l, i] - self.x[l * D + i])
                if self.setting.dual:
                    self.theta[l * D + i] = self.sums[l, i]
                self.x[l * D + i] = self.goal[l, i]
        self.settled()
        return 0

    cdef int project(self, Py_ssize_t lane) noexcept nogil:
        """The raw coefficients in the norm of (H_cc)⁻¹; the intercept then minimises by itself."""
        cdef Py_ssize_t d = self.setting.d
        cdef Py_ssize_t i, j
        cdef int status = 0
        for i in range(d):
            self.units[i] = self.unit(i)
            self.goal[lane, i] /= self.units[i]
        if not self.domain.contains(&self.goal[lane, 0]):
            self.explicit_H(lane)
            if self.setting.scaled:
                for i in range(self.setting.D):
                    for j in range(self.setting.D):
                        self.H[i, j] /= self.units[i] * self.units[j]
            status = self.domain.project_full(&self.goal[lane, 0], &self.multipliers[0], &self.H[0, 0], self.setting.D)
            if status == 0 and self.setting.intercept:
                self.goal[lane, d] -= dot(&self.H[d, 0], &self.multipliers[0], d)
        for i in range(d):
            self.goal[lane, i] *= self.units[i]
        return status

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        """H_t of a lane as a matrix, both triangles; a common factor does not matter to a projection, but to the intercept."""
        pass

    cdef void take_back(self) noexcept nogil:
        """Undo what ``accumulate`` and ``precondition`` did to the state."""
        pass

    cdef void settled(self) noexcept nogil:
        """The round is over and stands."""
        pass


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
            self.pending_w[lane, k] = weight
            memcpy(&self.pending_g[lane, k, 0], &self.g[lane, 0], D * sizeof(double))
            self.count[lane] += 1.0
        return weight

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l, i, k
        cdef Py_ssize_t D = self.setting.D
        cdef double weight, factor
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
                factor = self.setting.eta[l] * weight
            for i in range(D):
                self.move[l, i] *= factor
        return 0

    cdef void times_inverse_row(self, Py_ssize_t lane, Row* row, double* out) noexcept nogil:
        """(P − Σ w v vᵀ) g of a lane; by P's columns where the row is sparse and no penalty has filled g."""
        cdef Py_ssize_t j
        cdef Py_ssize_t D = self.setting.D
        if row.index == NULL or self.penalised:
            self.times_inverse(lane, &self.g[lane, 0], out)
            return
        for j in range(row.n):
            self.sparse_g[j] = self.slopes[lane] * row.z[j]
        memset(out, 0, D * sizeof(double))
        combine(&self.P[lane, 0, 0], D, row.index, &self.sparse_g[0], row.n, out, D)
        self.less_pending(lane, row, &self.sparse_g[0], NULL, out)

    cdef void times_inverse(self, Py_ssize_t lane, double* b, double* out) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int one = 1
        cdef double alpha = 1.0, beta = 0.0
        dsymv("U", &D, &alpha, &self.P[lane, 0, 0], &D, b, &one, &beta, out, &one)
        self.less_pending(lane, NULL, NULL, b, out)

    cdef void less_pending(self, Py_ssize_t lane, Row* row, const double* z, const double* b, double* out) noexcept nogil:
        """out −= Σ w v (vᵀb), with b whole or as the values z of a sparse row."""
        cdef Py_ssize_t j, k
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t waiting = <Py_ssize_t> self.count[lane]
        cdef const double* v
        cdef double along
        for k in range(waiting):
            v = &self.pending_v[lane, k, 0]
            if row == NULL:
                along = dot(v, b, D)
            else:
                along = 0.0
                for j in range(row.n):
                    along += v[row.index[j]] * z[j]
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


cdef class FullSpectral(Full):
    """Any ψ, by the eigenvalues and eigenvectors of G_t."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        arrays["G"] = np.zeros((setting.L, setting.D, setting.D))
        arrays["G"][:, np.arange(setting.D), np.arange(setting.D)] = setting.epsilon
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        shape = (setting.L, setting.D, setting.D)
        self.G = arrays["G"]
        self.before, self.V = np.empty(shape), np.empty(shape)
        self.h = np.empty(shape[:2])
        self.eigenvalues = np.empty(setting.D)
        self.work = np.empty(1 + 6 * setting.D + 2 * setting.D ** 2)
        self.iwork = np.empty(3 + 5 * setting.D, dtype=np.intc)

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.setting.D):
            self.G[lane, i, j] /= growth
        for j in range(self.setting.D):
            self.G[lane, j, i] /= growth
        self.G[lane, i, i] += self.setting.epsilon * (1.0 - 1.0 / (growth * growth))

    cdef void reset_sums(self, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        memset(&self.g[lane, 0], 0, D * sizeof(double))
        if self.decompose(lane) != 0:
            return
        for i in range(D):
            self.sums[lane, i] = (self.begun(i) - self.x[lane * D + i]) / self.factor[lane]
            self.h[lane, i] = 1.0 / (self.h[lane, i] * self.setting.eta[lane] * self.setting.eta[lane])
        self.times_H(lane)
        memcpy(self.theta + lane * D, &self.move[lane, 0], D * sizeof(double))

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        memcpy(&self.before[0, 0, 0], &self.G[0, 0, 0], self.size())
        for l in range(self.setting.L):
            if self.decompose(l) != 0:
                self.take_back()
                return -1
            self.times_H(l)
        return 0

    cdef int decompose(self, Py_ssize_t lane) noexcept nogil:
        """G_t = G_{t−1} + g gᵀ, its eigenbasis, and ψ of the eigenvalues, none of which is below ε."""
        cdef int D = <int> self.setting.D
        cdef int inc = 1, info = 0
        cdef int lwork = <int> self.work.shape[0]
        cdef int liwork = <int> self.iwork.shape[0]
        cdef double one = 1.0
        cdef Py_ssize_t i
        dsyr("U", &D, &one, &self.g[lane, 0], &inc, &self.G[lane, 0, 0], &D)
        memcpy(&self.V[lane, 0, 0], &self.G[lane, 0, 0], self.setting.D * self.setting.D * sizeof(double))
        dsyevd("V", "U", &D, &self.V[lane, 0, 0], &D, &self.eigenvalues[0], &self.work[0], &lwork, &self.iwork[0], &liwork, &info)
        if info != 0:
            return -1
        for i in range(D):
            self.eigenvalues[i] = fmax(self.eigenvalues[i], self.setting.epsilon)
        return self.potential.steps(&self.eigenvalues[0], &self.h[lane, 0], D)

    cdef void times_H(self, Py_ssize_t lane) noexcept nogil:
        cdef int D = <int> self.setting.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t i
        dgemv("T", &D, &D, &one, &self.V[lane, 0, 0], &D, &self.sums[lane, 0], &inc, &zero, &self.eigenvalues[0], &inc)
        for i in range(D):
            self.eigenvalues[i] *= self.setting.eta[lane] * self.h[lane, i]
        dgemv("N", &D, &D, &one, &self.V[lane, 0, 0], &D, &self.eigenvalues[0], &inc, &zero, &self.move[lane, 0], &inc)

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

    cdef void take_back(self) noexcept nogil:
        memcpy(&self.G[0, 0, 0], &self.before[0, 0, 0], self.size())

    cdef size_t size(self) noexcept nogil:
        return self.setting.L * self.setting.D * self.setting.D * sizeof(double)
