"""Robust frequent directions: a sum Σ g gᵀ of D × D matrices kept as BᵀB + escaped·I with at most 2·rank rows B.

Every g becomes a row. When all 2·rank rows are in use and another g comes, B is shrunk to ``rank`` rows first: with λ_1 ≥ λ_2 ≥ …
the eigenvalues of BᵀB, v_i its eigenvectors and δ = λ_(rank+1),

    BᵀB ← Σ_(i ≤ rank) (λ_i − δ) v_i v_iᵀ,      escaped ← escaped + δ.

What is taken is at most δ in every direction and δI is given back, so BᵀB + escaped·I never falls and is never below the sum itself;
it is above it by at most escaped·I, and escaped ≤ Σ_(i > k) λ_i(Σ g gᵀ) / (rank + 1 − k) for every k ≤ rank (Ghashami et al. 2016).
With rank ≥ D nothing is ever taken.

Everything is done in the small space of the rows. B changes by a product with a matrix from the left, so the eigenvectors of the Gram
matrix K = B Bᵀ (2·rank numbers each) tell all, and a function of G = aI + BᵀB applied to a row is one of the Gram matrix:

    ψ(aI + BᵀB) Bᵀ = Bᵀ ψ(aI + B Bᵀ).

How to use it, in a round: ``begin_round``; ``times`` or ``times_sparse`` for B z; write B g of the rows in use into ``border`` and
gᵀg into ``square`` (0: this g is no row); ``make_room`` shrinks if it must, B g along with it; from here on ``rows``, ``kept``
(rows without g), ``size`` (with g) and ``gram`` speak of B as it will be. All this is scratch until ``commit``, which returns where
the caller writes g. ``carry`` is a change of units, logged for undoing: column i of B over a factor; ``settle`` after the last
one of a round.

A product with a row costs 2·rank·D flops and reads as many numbers; a shrink is a product of rank × 2·rank and 2·rank × D, every
``rank`` rows: 4·rank·D flops a row, at the speed of a matrix product, and an eigendecomposition of 2·rank numbers squared.
"""
from libc.math cimport fmax, sqrt
from libc.string cimport memcpy

from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk

from ...linalg._eigen_loops cimport small_eigen
from ...linalg._lapack cimport dsyevd
from ...linalg._loops cimport dot, mirror, sparse_dot
from ...state._undo cimport UndoLog

from ...state._saved import out_of_range

import numpy as np

cdef int SMALL = 40                  # eigendecompositions up to this size by our own loops
cdef double LOST = 0.01              # a diagonal entry of K that has fallen to this share has lost digits


cdef class Directions:
    """The sketch of each of L weight vectors."""

    @staticmethod
    def allocate(Py_ssize_t L, Py_ssize_t D, Py_ssize_t rank):
        """The arrays of L empty sketches."""
        room = 2 * min(rank, D)
        return {"B": np.zeros((L, room, D)), "K": np.zeros((L, room, room)), "filled": np.zeros(L), "escaped": np.zeros(L)}

    @staticmethod
    def mismatch(dict arrays):
        """Why saved arrays are none of these sketches, in a clause; None if they are."""
        return out_of_range(arrays, "filled", arrays["B"].shape[1])

    def __init__(self, dict arrays):
        self.B, self.K, self.filled, self.escaped = arrays["B"], arrays["K"], arrays["filled"], arrays["escaped"]
        self.L, self.room, self.D = self.B.shape[0], self.B.shape[1], self.B.shape[2]
        self.rank = self.room // 2
        L, D, room, rank = self.L, self.D, self.room, self.rank
        self.new_B, self.new_K = np.empty((L, rank, D)), np.empty((L, rank, rank))
        self.mix, self.new_escaped, self.shrunk = np.empty((L, rank, room)), np.empty(L), np.zeros(L, dtype=np.intc)
        self.taken = np.ones(L)
        self.border, self.square = np.empty((L, room)), np.zeros(L)
        self.unsure, self.before = np.zeros(L, dtype=np.intc), np.empty((L, room))
        self.values, self.mixed, self.order = np.empty(room + 1), np.empty(room), np.empty(room, dtype=np.intp)
        size = room + 1
        self.work, self.iwork = np.empty(1 + 6 * size + 3 * size ** 2), np.empty(3 + 5 * size, dtype=np.intc)

    def accumulated(self, double epsilon):
        """εI + escaped·I + BᵀB of each weight vector, (L, D, D)."""
        G = np.zeros((self.L, self.D, self.D))
        for vector in range(self.L):
            rows = np.asarray(self.B[vector, :<Py_ssize_t> self.filled[vector]])
            G[vector] = rows.T @ rows
            G[vector].flat[::self.D + 1] += epsilon + self.escaped[vector]
        return G

    # ---- a round ------------------------------------------------------------------------------------------------

    cdef void begin_round(self) noexcept nogil:
        cdef Py_ssize_t l
        for l in range(self.L):
            self.shrunk[l], self.square[l] = False, 0.0

    cdef Py_ssize_t kept(self, Py_ssize_t vector) noexcept nogil:
        """Rows in use, without that of the round under way."""
        return self.rank if self.shrunk[vector] else <Py_ssize_t> self.filled[vector]

    cdef Py_ssize_t size(self, Py_ssize_t vector) noexcept nogil:
        """Rows in use with it."""
        return self.kept(vector) + (self.square[vector] > 0.0)

    cdef double* rows(self, Py_ssize_t vector) noexcept nogil:
        return &self.new_B[vector, 0, 0] if self.shrunk[vector] else &self.B[vector, 0, 0]

    cdef double length(self, Py_ssize_t vector, Py_ssize_t j) noexcept nogil:
        """The norm of a row."""
        return sqrt(self.new_K[vector, j, j] if self.shrunk[vector] else self.K[vector, j, j])

    cdef void gram(self, Py_ssize_t vector, double* A, Py_ssize_t n) noexcept nogil:
        """A = the Gram matrix of the first n rows, n × n; the row of this round is the last."""
        cdef Py_ssize_t j
        cdef Py_ssize_t kept = self.kept(vector)
        cdef Py_ssize_t most = n if n < kept else kept
        for j in range(most):
            if self.shrunk[vector]:
                memcpy(A + j * n, &self.new_K[vector, j, 0], most * sizeof(double))
            else:
                memcpy(A + j * n, &self.K[vector, j, 0], most * sizeof(double))
        if n > kept:
            for j in range(kept):
                A[j * n + kept] = A[kept * n + j] = self.border[vector, j]
            A[kept * n + kept] = self.square[vector]

    cdef void times(self, Py_ssize_t vector, const double* b, double* out) noexcept nogil:
        """out = B b of the rows kept."""
        cdef int D = <int> self.D
        cdef int n = <int> self.kept(vector)
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        if n > 0:
            dgemv("T", &D, &n, &one, self.rows(vector), &D, <double*> b, &inc, &zero, out, &inc)

    cdef void times_sparse(self, Py_ssize_t vector, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil:
        """The same for a b of n values z."""
        cdef Py_ssize_t j
        cdef double* rows = self.rows(vector)
        for j in range(self.kept(vector)):
            out[j] = sparse_dot(z, index, rows + j * self.D, n)

    cdef void add_combined(self, Py_ssize_t vector, const double* c, double factor, double* out) noexcept nogil:
        """out += factor · Bᵀc over the rows kept."""
        cdef int D = <int> self.D
        cdef int n = <int> self.kept(vector)
        cdef int inc = 1
        cdef double one = 1.0
        if n > 0:
            dgemv("N", &D, &n, &factor, self.rows(vector), &D, <double*> c, &inc, &one, out, &inc)

    cdef int make_room(self, Py_ssize_t vector) noexcept nogil:
        """Propose a shrink if there is a g and no row for it; ``border`` moves along. −1 if no eigenvalues are to be had."""
        cdef int D = <int> self.D
        cdef int rank = <int> self.rank
        cdef int room = <int> self.room
        cdef double one = 1.0, zero = 0.0, removed = 0.0, value, factor
        cdef double* A = &self.work[0]
        cdef double* values = &self.values[0]
        cdef Py_ssize_t i, j
        if self.square[vector] == 0.0 or <Py_ssize_t> self.filled[vector] < self.room:
            return 0
        self.gram(vector, A, room)
        if self.eigen(A, values, room) != 0:
            return -1
        for i in range(room):                            # the largest first
            j = i
            while j > 0 and values[self.order[j - 1]] < values[i]:
                self.order[j] = self.order[j - 1]
                j -= 1
            self.order[j] = i
        if self.rank < self.D:
            removed = self.taken[vector] * fmax(values[self.order[rank]], 0.0)
        for i in range(rank):
            value = values[self.order[i]]
            factor = sqrt((value - removed) / value) if value > removed else 0.0
            for j in range(room):
                self.mix[vector, i, j] = factor * A[self.order[i] * room + j]
        dgemm("N", "N", &D, &rank, &room, &one, &self.B[vector, 0, 0], &D, &self.mix[vector, 0, 0], &room, &zero,
              &self.new_B[vector, 0, 0], &D)
        dsyrk("U", "T", &rank, &D, &one, &self.new_B[vector, 0, 0], &D, &zero, &self.new_K[vector, 0, 0], &rank)
        mirror(&self.new_K[vector, 0, 0], rank)
        for i in range(rank):
            self.mixed[i] = dot(&self.mix[vector, i, 0], &self.border[vector, 0], room)
        memcpy(&self.border[vector, 0], &self.mixed[0], rank * sizeof(double))
        self.new_escaped[vector] = self.escaped[vector] + removed
        self.shrunk[vector] = True
        return 0

    cdef double* commit(self, Py_ssize_t vector) noexcept nogil:
        """The round stands. Returns the row that g goes to, or NULL if there is no g."""
        cdef Py_ssize_t j, k
        if self.square[vector] == 0.0:
            return NULL
        k = self.kept(vector)
        if self.shrunk[vector]:
            memcpy(&self.B[vector, 0, 0], &self.new_B[vector, 0, 0], self.rank * self.D * sizeof(double))
            for j in range(self.rank):
                memcpy(&self.K[vector, j, 0], &self.new_K[vector, j, 0], self.rank * sizeof(double))
            self.escaped[vector] = self.new_escaped[vector]
        for j in range(k):
            self.K[vector, j, k] = self.K[vector, k, j] = self.border[vector, j]
        self.K[vector, k, k] = self.square[vector]
        self.filled[vector] = k + 1
        return &self.B[vector, k, 0]

    cdef int eigen(self, double* A, double* values, Py_ssize_t n) noexcept nogil:
        """A becomes its eigenvectors, one per row; the eigenvalues are in no order. A may lie at the beginning of ``work``."""
        cdef int order = <int> n
        cdef int info = 0
        cdef int lwork = <int> (1 + 6 * n + 2 * n * n)
        cdef int liwork = <int> self.iwork.shape[0]
        cdef double* scratch = &self.work[0] + n * n
        if n <= SMALL:
            return small_eigen(A, values, scratch, n)
        dsyevd("V", "U", &order, A, &order, values, scratch, &lwork, &self.iwork[0], &liwork, &info)
        return -1 if info != 0 else 0

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void save(self, UndoLog log, Py_ssize_t vector) noexcept nogil:
        """Log the Gram matrix, before the first ``carry`` of a round."""
        cdef Py_ssize_t j
        log.save(&self.K[vector, 0, 0], self.room * self.room)
        self.unsure[vector] = False
        for j in range(<Py_ssize_t> self.filled[vector]):
            self.before[vector, j] = self.K[vector, j, j]

    cdef void carry(self, UndoLog log, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        """Column i of B over the growth, and K without what that takes."""
        cdef Py_ssize_t j, k
        cdef Py_ssize_t n = <Py_ssize_t> self.filled[vector]
        cdef double gone = (1.0 - 1.0 / growth) * (1.0 + 1.0 / growth)
        cdef double* column = &self.mixed[0]
        if n == 0:
            return
        log.save(&self.B[vector, 0, i], n, self.D)
        for j in range(n):
            column[j] = self.B[vector, j, i]
            self.B[vector, j, i] /= growth
        if self.unsure[vector]:
            return
        for j in range(n):
            if column[j] != 0.0:
                for k in range(n):
                    self.K[vector, j, k] -= gone * column[j] * column[k]
                if not self.K[vector, j, j] > LOST * self.before[vector, j]:
                    self.unsure[vector] = True

    cdef void settle(self, Py_ssize_t vector) noexcept nogil:
        """K from B, where the changes of units cost K its digits."""
        if self.unsure[vector]:
            self.unsure[vector] = False
            self.find_gram(vector)

    cdef void find_gram(self, Py_ssize_t vector) noexcept nogil:
        cdef int D = <int> self.D
        cdef int n = <int> self.filled[vector]
        cdef int room = <int> self.room
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t j, k
        if n == 0:
            return
        dsyrk("U", "T", &n, &D, &one, &self.B[vector, 0, 0], &D, &zero, &self.K[vector, 0, 0], &room)
        for j in range(n):
            for k in range(j):
                self.K[vector, k, j] = self.K[vector, j, k]
