# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The inverse of G = G_0 + Σ g gᵀ, kept by Sherman–Morrison: O(D²) for each g.

Rank-one corrections wait in a thin factor, G⁻¹ = P − Σ w_i v_i v_iᵀ, and are folded into P with BLAS 3 when ``room`` of them
have come, so that a sparse g costs O(D·nnz). A small P takes them at once, which is less than going by those that wait.
G itself is folded beside it: it tells how far P has drifted from its inverse, and is inverted anew when that is too far.

A correction is made in two steps, so that a round can be given up in between: the caller writes g and v = G⁻¹g where ``next_g`` and
``next_v`` point, which is scratch until ``commit``.

What bounds a correction of a large P: P times a row reads half of it, 4 D² bytes, or nnz of its rows, 8 D·nnz bytes, in 2 D² or
2 D·nnz flops; the folds of P and G are D² flops each, at the speed of a matrix product. A small P is read and written
whole, from the nearest cache. The arrays are row-major and symmetric, so LAPACK's "upper" is our lower triangle.
"""
from libc.math cimport fmax, isfinite, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dsymv, dsyr, dsyrk

from ._lapack cimport dpotrf, dpotri
from ._loops cimport axpy, combine, dot, dots, mirror, rank_one, sparse_dot
from ._matrix_loops cimport add_outer
from ._matrix_loops cimport stay_narrow as c_stay_narrow
from ._undo cimport UndoLog

import numpy as np

cdef int FOLD = 32
cdef int SMALL = 40                  # up to here P takes corrections at once
cdef int SMALL_WHOLE = 128           # the same where ``explicit`` is asked for in most rounds
cdef int IN_CACHE = 100              # up to here P is near enough to be read whole, which takes less than BLAS's care for its half
cdef double DRIFT = 1e-12
cdef double SMALLEST_START = 1e-290  # of which the inverse, and a little more, is a number
cdef double LARGEST_GROWTH = 1e100   # of the unit of a coordinate


def stay_narrow(bint wish):
    """Do not use AVX-512 in this module's loops, for tests of those that other machines run; what was wished before."""
    return bool(c_stay_narrow(wish))


cdef class Inverse:
    """G⁻¹ of each of L lanes. ``whole``: ``explicit`` is asked for in most rounds; ``whole_G``: a small G has both its triangles.
    With both, G is asked for in most rounds too, and takes gradients at once; otherwise ``shift`` is never with ``whole_G``."""

    @staticmethod
    def allocate(Py_ssize_t L, Py_ssize_t D, double epsilon, Py_ssize_t room=FOLD):
        """The arrays of L matrices εI, with room for so many corrections that wait."""
        diagonal = np.arange(D)
        P, G = np.zeros((L, D, D)), np.zeros((L, D, D))
        P[:, diagonal, diagonal], G[:, diagonal, diagonal] = 1.0 / epsilon, epsilon
        return {"P": P, "G": G, "pending_v": np.zeros((L, room, D)), "pending_g": np.zeros((L, room, D)),
                "pending_w": np.zeros((L, room)), "count": np.zeros(L), "tolerance": np.full(L, DRIFT)}

    def __init__(self, dict arrays, bint whole=False, bint whole_G=False):
        cdef Py_ssize_t lane, k
        self.P, self.G = arrays["P"], arrays["G"]
        self.pending_v, self.pending_g, self.pending_w = arrays["pending_v"], arrays["pending_g"], arrays["pending_w"]
        self.count, self.tolerance = arrays["count"], arrays["tolerance"]
        self.L, self.D = self.P.shape[0], self.P.shape[1]
        self.room = self.pending_w.shape[1]
        self.along = np.empty(self.room + 1)
        self.scratch, self.anew = np.empty((self.room + 1, self.D)), np.empty((self.D, self.D))
        self.at_once = self.D <= (SMALL_WHOLE if whole else SMALL)
        self.G_at_once = whole and whole_G and self.at_once
        self.whole_G = whole_G and self.D <= SMALL
        if self.at_once:                 # a state from elsewhere may have corrections waiting
            for lane in range(self.L):
                for k in range(<Py_ssize_t> self.count[lane]):
                    rank_one(-self.pending_w[lane, k], &self.pending_v[lane, k, 0], &self.P[lane, 0, 0], self.D)
                    self.pending_w[lane, k] = 0.0
        if self.G_at_once:
            for lane in range(self.L):
                mirror(&self.G[lane, 0, 0], self.D)
                for k in range(<Py_ssize_t> self.count[lane]):
                    rank_one(1.0, &self.pending_g[lane, k, 0], &self.G[lane, 0, 0], self.D)
            self.pending_g[:] = 0.0

    def accumulated(self):
        """G of each lane, those that wait among it."""
        lower = np.tril(self.G)
        G = lower + np.tril(lower, -1).transpose(0, 2, 1)
        for lane in range(self.L):
            waiting = np.asarray(self.pending_g[lane, :<Py_ssize_t> self.count[lane]])
            G[lane] += waiting.T @ waiting
        return G

    def preconditioner(self, const double[::1] rates):
        """H = η G⁻¹ of each lane as the steps have it: from the inverse, not from G."""
        cdef Py_ssize_t lane
        H = np.empty((self.L, self.D, self.D))
        cdef double[:, :, ::1] view = H
        for lane in range(self.L):
            self.explicit(lane, 0.0, rates[lane], &view[lane, 0, 0])
        return H

    # ---- products -----------------------------------------------------------------------------------------------

    cdef void times(self, Py_ssize_t lane, const double* b, double* out) noexcept nogil:
        """out = G⁻¹ b."""
        cdef int D = <int> self.D
        cdef int one = 1
        cdef double alpha = 1.0, beta = 0.0
        if self.at_once or D <= IN_CACHE:
            memset(out, 0, D * sizeof(double))
            combine(&self.P[lane, 0, 0], D, NULL, b, D, out, D)
        else:
            dsymv("U", &D, &alpha, &self.P[lane, 0, 0], &D, <double*> b, &one, &beta, out, &one)
        self.less_pending(lane, NULL, b, D, out)

    cdef void times_sparse(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil:
        """out = G⁻¹ b for a b of n values z, by P's rows."""
        memset(out, 0, self.D * sizeof(double))
        combine(&self.P[lane, 0, 0], self.D, index, z, n, out, self.D)
        self.less_pending(lane, index, z, n, out)

    cdef void less_pending(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil:
        """out −= Σ w v (vᵀb)."""
        cdef Py_ssize_t k
        cdef Py_ssize_t waiting = <Py_ssize_t> self.count[lane]
        cdef const double* v
        cdef double along
        if self.at_once:
            return
        for k in range(waiting):
            v = &self.pending_v[lane, k, 0]
            along = dot(v, z, n) if index == NULL else sparse_dot(z, index, v, n)
            self.along[k] = -self.pending_w[lane, k] * along
        combine(&self.pending_v[lane, 0, 0], self.D, NULL, &self.along[0], waiting, out, self.D)

    cdef void times_G(self, Py_ssize_t lane, const double* b, double* out) noexcept nogil:
        """out = G b."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t k
        dsymv("U", &D, &one, &self.G[lane, 0, 0], &D, <double*> b, &inc, &zero, out, &inc)
        for k in range(<Py_ssize_t> self.count[lane]):
            axpy(dot(&self.pending_g[lane, k, 0], b, D), &self.pending_g[lane, k, 0], out, D)

    cdef void explicit(self, Py_ssize_t lane, double weight, double factor, double* H) noexcept nogil:
        """H = factor·(G + g gᵀ)⁻¹ with the proposed g, both triangles; ``weight`` as in ``commit``, 0: without it."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t k = <Py_ssize_t> self.count[lane]
        cdef const double* P = &self.P[lane, 0, 0]
        cdef const double* v = &self.pending_v[lane, k, 0]
        cdef double along
        if self.at_once:
            for i in range(self.D):
                along = weight * v[i] if weight != 0.0 else 0.0
                for j in range(self.D):
                    H[i * self.D + j] = factor * (P[i * self.D + j] - along * v[j])
            return
        memcpy(H, P, self.D * self.D * sizeof(double))
        self.pending_w[lane, k] = weight
        self.subtract_pending(lane, k + (weight != 0.0), H)
        mirror(H, self.D)
        for i in range(self.D * self.D):
            H[i] *= factor

    cdef bint explicit_anew(self, Py_ssize_t lane, const double* g, double factor, double* H) noexcept nogil:
        """The same from G, for a P that has lost its digits; whether G has an inverse."""
        cdef int D = <int> self.D
        cdef int k = <int> self.count[lane]
        cdef int info = 0, inc = 1
        cdef double one = 1.0
        cdef Py_ssize_t i
        memcpy(H, &self.G[lane, 0, 0], self.D * self.D * sizeof(double))
        if k > 0:
            dsyrk("U", "N", &D, &k, &one, &self.pending_g[lane, 0, 0], &D, &one, H, &D)
        dsyr("U", &D, &one, <double*> g, &inc, H, &D)
        for i in range(self.D):                          # as much as rounding may have taken
            H[i * self.D + i] *= 1.0 + 1e-15 * self.D
        dpotrf("U", &D, H, &D, &info)
        if info == 0:
            dpotri("U", &D, H, &D, &info)
        mirror(H, self.D)
        for i in range(self.D * self.D):
            H[i] *= factor
        return info == 0

    # ---- corrections --------------------------------------------------------------------------------------------

    cdef double* next_v(self, Py_ssize_t lane) noexcept nogil:
        return &self.pending_v[lane, <Py_ssize_t> self.count[lane], 0]

    cdef double* next_g(self, Py_ssize_t lane) noexcept nogil:
        return &self.pending_g[lane, <Py_ssize_t> self.count[lane], 0]

    cdef void commit(self, Py_ssize_t lane, double weight) noexcept nogil:
        """Let the proposed g join G; weight is 1/(1 + gᵀv)."""
        cdef Py_ssize_t k = <Py_ssize_t> self.count[lane]
        self.pending_w[lane, k] = weight
        if self.at_once:
            rank_one(-weight, &self.pending_v[lane, k, 0], &self.P[lane, 0, 0], self.D)
            self.pending_w[lane, k] = 0.0
        if self.G_at_once:
            rank_one(1.0, &self.pending_g[lane, k, 0], &self.G[lane, 0, 0], self.D)
        self.count[lane] += 1.0
        if self.count[lane] == self.room:
            self.fold(lane)
        if self.G_at_once:
            memset(&self.pending_g[lane, k, 0], 0, self.D * sizeof(double))

    cdef void subtract_pending(self, Py_ssize_t lane, Py_ssize_t count, double* matrix) noexcept nogil:
        """matrix −= Σ w v vᵀ, one triangle."""
        cdef int D = <int> self.D
        cdef int k = <int> count
        cdef Py_ssize_t i, j
        cdef double alpha = -1.0, beta = 1.0, root
        for j in range(k):
            root = sqrt(self.pending_w[lane, j])
            for i in range(D):
                self.scratch[j, i] = root * self.pending_v[lane, j, i]
        if k > 0:
            dsyrk("U", "N", &D, &k, &alpha, &self.scratch[0, 0], &D, &beta, matrix, &D)

    cdef bint changes_matrices(self, Py_ssize_t lane) noexcept nogil:
        """Whether the next ``commit`` writes to P or G, and not only to what waits."""
        return self.at_once or self.count[lane] + 1.0 == self.room

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t lanes) noexcept nogil:
        """Log everything of so many lanes."""
        log.save(&self.P[first, 0, 0], lanes * self.D * self.D)
        log.save(&self.G[first, 0, 0], lanes * self.D * self.D)
        log.save(&self.pending_v[first, 0, 0], lanes * self.room * self.D)
        log.save(&self.pending_g[first, 0, 0], lanes * self.room * self.D)
        log.save(&self.pending_w[first, 0], lanes * self.room)
        log.save(&self.count[first], lanes)
        log.save(&self.tolerance[first], lanes)

    cdef void carry(self, Py_ssize_t lane, Py_ssize_t i, double growth, double epsilon) noexcept nogil:
        """Coordinate i in another unit; the ε that is made up for in a larger one is a gradient along e_i."""
        cdef double* g
        cdef double* v
        cdef double made_up, weight
        if growth > LARGEST_GROWTH:              # nothing is left of what the coordinate had, and its square may be no number
            self.fold(lane)
            self.remove(lane, i)
            self.start(lane, i, epsilon)
            return
        self.scale_coordinate(lane, i, growth)
        if growth <= 1.0:
            return
        made_up = sqrt(epsilon * (1.0 - 1.0 / (growth * growth)))
        g, v = self.next_g(lane), self.next_v(lane)
        memset(g, 0, self.D * sizeof(double))
        g[i] = made_up
        self.times(lane, g, v)
        weight = 1.0 / (1.0 + made_up * v[i])
        if weight != 1.0:
            self.commit(lane, weight)

    cdef void raise_coordinate(self, Py_ssize_t lane, Py_ssize_t i, double amount) noexcept nogil:
        """G_ii += amount: a gradient along e_i, whose product with the inverse is one of its rows."""
        cdef double* g = self.next_g(lane)
        cdef double* v = self.next_v(lane)
        cdef double weight, root = sqrt(amount)
        cdef int index = <int> i
        self.times_sparse(lane, &index, &root, 1, v)
        weight = 1.0 / (1.0 + root * v[i])
        if weight != 1.0:
            memset(g, 0, self.D * sizeof(double))
            g[i] = root
            self.commit(lane, weight)

    cdef void multiply(self, Py_ssize_t lane, double factor) noexcept nogil:
        """G times a factor; a correction's weight does not depend on it."""
        cdef Py_ssize_t i
        cdef Py_ssize_t waiting = <Py_ssize_t> self.count[lane] * self.D
        cdef double root = sqrt(factor)
        cdef double* P = &self.P[lane, 0, 0]
        cdef double* G = &self.G[lane, 0, 0]
        cdef double* v = &self.pending_v[lane, 0, 0]
        cdef double* g = &self.pending_g[lane, 0, 0]
        for i in range(self.D * self.D):
            P[i] /= factor
            G[i] *= factor
        for i in range(waiting):
            v[i] /= root
            g[i] *= root

    cdef void fold(self, Py_ssize_t lane) noexcept nogil:
        """Take what waits into P and G, and see whether P still is G's inverse."""
        cdef Py_ssize_t k = <Py_ssize_t> self.count[lane]
        if k == 0:
            return
        if not self.at_once:
            self.subtract_pending(lane, k, &self.P[lane, 0, 0])
        self.fold_G(lane)
        self.stay_inverse(lane, &self.pending_g[lane, k - 1, 0])

    cdef void fold_G(self, Py_ssize_t lane) noexcept nogil:
        """Take what waits into G."""
        cdef int D = <int> self.D
        cdef int k = <int> self.count[lane]
        cdef double one = 1.0
        if self.G_at_once:
            self.count[lane] = 0.0
            return
        if self.whole_G:
            add_outer(&self.pending_g[lane, 0, 0], k, &self.G[lane, 0, 0], D)
        else:
            dsyrk("U", "N", &D, &k, &one, &self.pending_g[lane, 0, 0], &D, &one, &self.G[lane, 0, 0], &D)
        self.count[lane] = 0.0

    cdef void stay_inverse(self, Py_ssize_t lane, const double* g) noexcept nogil:
        """Make P anew if it is too far from being G's inverse, along g; nothing waits."""
        # what drift a new inverse leaves is what the conditioning of G allows, and no reason for another one
        if not self.drift(lane, g) <= self.tolerance[lane] and self.rebuild(lane):
            self.tolerance[lane] = fmax(DRIFT, 30.0 * self.drift(lane, g))
        mirror(&self.P[lane, 0, 0], self.D)

    cdef double drift(self, Py_ssize_t lane, const double* g) noexcept nogil:
        """‖G P g − g‖ / ‖g‖; nothing waits."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        if self.whole_G:
            dots(&self.P[lane, 0, 0], g, &self.scratch[0, 0], D)
        else:
            dsymv("U", &D, &one, &self.P[lane, 0, 0], &D, <double*> g, &inc, &zero, &self.scratch[0, 0], &inc)
        return self.drift_of(lane, g)

    cdef double drift_of(self, Py_ssize_t lane, const double* g) noexcept nogil:
        """The same with P g in the first row of ``scratch``."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0, off = 0.0
        cdef Py_ssize_t i
        cdef const double* back = &self.scratch[1, 0]
        if self.whole_G:
            dots(&self.G[lane, 0, 0], &self.scratch[0, 0], &self.scratch[1, 0], D)
        else:
            dsymv("U", &D, &one, &self.G[lane, 0, 0], &D, &self.scratch[0, 0], &inc, &zero, &self.scratch[1, 0], &inc)
        for i in range(D):
            off += (back[i] - g[i]) * (back[i] - g[i])
        return sqrt(off / dot(g, g, D)) if off > 0.0 else off      # g may be 0, where G has taken it already

    cdef bint rebuild(self, Py_ssize_t lane) noexcept nogil:
        """P = G⁻¹ anew, one triangle; whether it could be had."""
        cdef int D = <int> self.D
        cdef int info = 0
        cdef Py_ssize_t i, j
        cdef double total = 0.0
        cdef Py_ssize_t size = self.D * self.D * sizeof(double)
        memcpy(&self.anew[0, 0], &self.G[lane, 0, 0], size)
        for i in range(D):                               # a feature never seen has nothing in G, and gets nothing in P
            if self.G[lane, i, i] == 0.0:
                self.anew[i, i] = 1.0
        dpotrf("U", &D, &self.anew[0, 0], &D, &info)
        if info == 0:
            dpotri("U", &D, &self.anew[0, 0], &D, &info)
        if info != 0:
            return False
        for i in range(D):
            for j in range(i + 1):
                total += self.anew[i, j]
        if not isfinite(total):
            return False
        memcpy(&self.P[lane, 0, 0], &self.anew[0, 0], size)
        for i in range(D):
            if self.G[lane, i, i] == 0.0:
                self.P[lane, i, i] = 0.0
        return True

    cdef void scale_coordinate(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), the inverse's times it."""
        cdef Py_ssize_t j, k
        for j in range(self.D):
            self.P[lane, i, j] *= growth
            self.G[lane, i, j] /= growth
        for j in range(self.D):
            self.P[lane, j, i] *= growth
            self.G[lane, j, i] /= growth
        for k in range(<Py_ssize_t> self.count[lane]):
            self.pending_v[lane, k, i] *= growth
            self.pending_g[lane, k, i] /= growth

    cdef void start(self, Py_ssize_t lane, Py_ssize_t i, double value) noexcept nogil:
        """A coordinate that was in neither matrix enters G by itself."""
        value = fmax(value, SMALLEST_START)
        self.P[lane, i, i] = 1.0 / value
        self.G[lane, i, i] = value

    cdef void remove(self, Py_ssize_t lane, Py_ssize_t i) noexcept nogil:
        """Take a coordinate out of both matrices. Nothing waits."""
        cdef Py_ssize_t j
        for j in range(self.D):
            self.P[lane, i, j] = self.P[lane, j, i] = self.G[lane, i, j] = self.G[lane, j, i] = 0.0
        self.rebuild(lane)
        mirror(&self.P[lane, 0, 0], self.D)

    cdef bint raise_anew(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """G_ii += growth, and P from G: a growth of many orders of magnitude would cancel P's digits. Nothing waits."""
        cdef double before = self.G[lane, i, i]
        self.G[lane, i, i] += growth
        if self.rebuild(lane):
            mirror(&self.P[lane, 0, 0], self.D)
            return True
        self.G[lane, i, i] = before
        return False

    cdef void shift(self, Py_ssize_t lane, Py_ssize_t i, Py_ssize_t b, double by) noexcept nogil:
        """Coordinate i is now measured from ``by`` further on, and b makes up for it: G ← T⁻ᵀ G T⁻¹ and P ← T P Tᵀ with
        T = I + by e_b e_iᵀ."""
        cdef Py_ssize_t j, k
        cdef double corner = self.G[lane, b, b]
        cdef double cross = self.G[lane, b, i]
        for k in range(<Py_ssize_t> self.count[lane]):
            self.pending_v[lane, k, b] += by * self.pending_v[lane, k, i]
            self.pending_g[lane, k, i] -= by * self.pending_g[lane, k, b]
        axpy(by, &self.P[lane, i, 0], &self.P[lane, b, 0], self.D)
        for j in range(self.D):
            self.P[lane, j, b] += by * self.P[lane, j, i]
        for j in range(self.D):                          # the triangle of G that LAPACK calls upper
            if j < i:
                self.G[lane, i, j] -= by * self.G[lane, b, j]
            elif j > i:
                self.G[lane, j, i] -= by * (self.G[lane, b, j] if j <= b else self.G[lane, j, b])
        self.G[lane, i, i] += by * (by * corner - 2.0 * cross)
        if self.G_at_once:
            for j in range(self.D):
                if j < i:
                    self.G[lane, j, i] = self.G[lane, i, j]
                else:
                    self.G[lane, i, j] = self.G[lane, j, i]

    cdef void save_shift(self, UndoLog log, Py_ssize_t lane, Py_ssize_t i, Py_ssize_t b) noexcept nogil:
        """Log what ``shift`` changes."""
        cdef Py_ssize_t waiting = <Py_ssize_t> self.count[lane]
        log.save(&self.P[lane, b, 0], self.D)
        log.save(&self.P[lane, 0, b], self.D, self.D)
        log.save(&self.G[lane, i, 0], self.D)
        log.save(&self.G[lane, 0, i], self.D, self.D)
        if waiting > 0:
            log.save(&self.pending_v[lane, 0, b], waiting, self.D)
            log.save(&self.pending_g[lane, 0, i], waiting, self.D)
