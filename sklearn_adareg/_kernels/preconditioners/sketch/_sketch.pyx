"""sketch: H_t = ψ(G̃_t), where G̃_t = (ε + escaped)I + BᵀB is G_t kept by a few rows B (see ``_directions``). O(rank·D) a row.

``_sketch_ons`` and ``_sketch_spectral`` are the two ways to ψ of the Gram matrix. Here is what they share.

Without domain, penalty and dual averaging, x is x̂ + Bᵀc and so is the accumulator of its average, since every step is a combination
of rows: H_t g_t = Bᵀ ψ(aI + B Bᵀ) e_k, with g_t the k-th row and a = ε + escaped. B z, which the margin needs, also is the new
column of the Gram matrix, so between shrinks a round reads B once (O(rank·nnz) for sparse rows), and changes 2·rank coefficients. A
shrink takes x̂ + Bᵀc for the new x̂. Otherwise x is kept whole, and a round reads B three times.

When a unit grows, column i of B is divided by the growth and what that takes from ε and from ``escaped`` is made up for, so that a
stays what it is. As in ``_full``, a round proposes and ``update`` commits. A gradient of zero is no row.
"""
from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memcpy, memset

from ._frequent_directions cimport Directions
from ...domains._domains cimport Domain
from ...domains.projection._metric cimport NOT_DEFINITE
from ..full._full cimport Full
from ...linalg._loops cimport axpy, dot
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport NOT_FINITE, POTENTIAL_RAISED

import numpy as np

cdef double LARGEST = 1e290          # a squared gradient beyond this, as a penalty in tiny units may give, is not taken


cdef class Sketch(Full):
    """G by its frequent directions; what the ways to H_t share."""

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
                        self.average_margins[l] -= (dot(&self.along[l, 0], &self.cu[l, 0], self.sketch.kept(l))
                                                    / self.clock.now[1])

    cdef void find_along(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.setting.L):
            if row.index == NULL:
                self.sketch.times(l, row.z, &self.along[l, 0])
            else:
                self.sketch.times_sparse(l, row.index, row.z, row.n, &self.along[l, 0])

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
        cdef Py_ssize_t i, j, l, n
        cdef const double* entering
        cdef double* g
        if not self.thin:
            return Full.update(self, row)
        entering = self.entering(self.slopes)
        for l in range(self.setting.L):
            if self.sketch.square[l] == 0.0:
                continue
            n = self.sketch.kept(l)
            if self.sketch.shrunk[l]:                    # the rows go, so what x has of them is written down
                self.sketch.shrunk[l] = False
                self.sketch.add_combined(l, &self.c[l, 0], 1.0, self.x + l * D)
                memset(&self.c[l, 0], 0, self.sketch.room * sizeof(double))
                if self.u != NULL:
                    self.sketch.add_combined(l, &self.cu[l, 0], 1.0, self.u + l * D)
                    memset(&self.cu[l, 0], 0, self.sketch.room * sizeof(double))
                self.sketch.shrunk[l] = True
                self.sizes[l] = 0.0
                for i in range(D):
                    self.sizes[l] += fabs(self.x[l * D + i])
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
