"""The inverse of G = G_0 + Σ g gᵀ, kept by Sherman–Morrison: O(D²) for each g.

Rank-one corrections wait in a thin factor, G⁻¹ = P − Σ w_i v_i v_iᵀ, and are folded into P with BLAS 3 when ``room`` of them
have come, so that a sparse g costs O(D·nnz). A small P takes them at once, which is less than going by those that wait.
G itself is folded beside it: it tells how far P has drifted from its inverse, and is inverted anew when that is too far.

A correction is made in two steps, so that a round can be given up in between: the caller writes g and v = G⁻¹g where ``next_g`` and
``next_v`` point, which is scratch until ``correct``.

What bounds a correction of a large P: P times a row reads half of it, 4 D² bytes, or nnz of its rows, 8 D·nnz bytes, in 2 D² or
2 D·nnz flops; the folds of P and G are D² flops each, at the speed of a matrix product. A small P is read and written
whole, from the nearest cache. The arrays are row-major and symmetric, so LAPACK's "upper" is our lower triangle.

With a half-life it is the inverse of Ĝ with G = f Ĝ, f = λ^t: to forget is to multiply f, and a gradient g enters Ĝ as g/√f. When f
is tiny it is set back to 1, in O(D²), every 200 half-lives. The prior, of which λ takes (1 − λ) ε I in a round, cannot come back in
every direction at once, which would be D updates. It comes back in some coordinates a round, in turn: (n/m)(1 − λ) ε in each of the
next m = ⌈n(1 − λ)⌉ of n coordinates, after the step. m is 1 while a half-life is longer than 0.7 n rounds. A coordinate waits at most
about 1/(1 − λ) rounds for its turn, and so has between a quarter of its prior and twice as much at all times.
"""
from libc.math cimport INFINITY, ceil, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dsymv, dsyr, dsyrk

from ...data._rows cimport Row
from ...linalg._lapack cimport dpotrf, dpotri
from ...linalg._loops cimport add_squares, axpy, combine, dot, dots, mirror, rank_one, sparse_dot
from .._structures cimport NOT_FINITE, Matrices
from ...state._setting cimport Forgetting, Setting
from ...state._undo cimport UndoLog

from ...state._saved import out_of_range

import numpy as np

cdef int FOLD = 32
cdef int SMALL = 40                  # up to here P takes corrections at once
cdef int SMALL_WHOLE = 128           # the same where ``explicit`` is asked for in most rounds
cdef int IN_CACHE = 100              # up to here P is near enough to be read whole, which takes less than BLAS's care for its half
cdef double DRIFT = 1e-12
cdef double SMALLEST_START = 1e-290  # of which the inverse, and a little more, is a number
cdef double LITTLE_LEFT = 1e6, NOTHING_LEFT = 1e30
cdef double LARGEST_GROWTH = 1e100   # of the unit of a coordinate
cdef double LARGEST_SQUARE = 1e300   # of a gradient: many of them add up to a number
cdef double FAINTEST = 1e-60         # f
cdef double SELDOM = 0.4             # blocks that were not touched for more than a half-life keep less
cdef double ROUNDING = 1e-9          # n(1 − λ) that is a whole number but for rounding


cdef class Inverse(Matrices):
    """G⁻¹ of each of L weight vectors. ``whole``: ``explicit`` is asked for in most rounds; ``whole_G``: a small G has both its
    triangles."""

    @staticmethod
    def allocate(Setting setting, Py_ssize_t L, Py_ssize_t D, Py_ssize_t room=FOLD):
        """The arrays of L matrices εI, with room for so many corrections that wait."""
        cdef double epsilon = setting.epsilon
        diagonal = np.arange(D)
        P, G = np.zeros((L, D, D)), np.zeros((L, D, D))
        P[:, diagonal, diagonal], G[:, diagonal, diagonal] = 1.0 / epsilon, epsilon
        return {"P": P, "G": G, "pending_v": np.zeros((L, room, D)), "pending_g": np.zeros((L, room, D)),
                "pending_w": np.zeros((L, room)), "count": np.zeros(L), "tolerance": np.full(L, DRIFT),
                **({"fade": np.ones(L), "turn": np.zeros(L)} if setting.forgotten > 0.0 else {})}

    @staticmethod
    def mismatch(dict arrays):
        """Why saved arrays are none of these matrices, in a clause; None if they are."""
        return (out_of_range(arrays, "count", arrays["pending_w"].shape[1] - 1) or out_of_range(arrays, "fade", 1.0, whole=False)
                or out_of_range(arrays, "turn", arrays["P"].shape[1] - 1))

    def __init__(self, Setting setting, dict arrays, bint whole=False, bint whole_G=False):
        cdef Py_ssize_t vector, k
        self.P, self.G = arrays["P"], arrays["G"]
        self.pending_v, self.pending_g, self.pending_w = arrays["pending_v"], arrays["pending_g"], arrays["pending_w"]
        self.count, self.tolerance = arrays["count"], arrays["tolerance"]
        self.L, self.D = self.P.shape[0], self.P.shape[1]
        self.room = self.pending_w.shape[1]
        self.epsilon, self.memory = setting.epsilon, Forgetting(setting) if "fade" in arrays else None
        self.fade, self.turn = arrays.get("fade", np.ones(self.L)), arrays.get("turn")
        self.weights, self.values = np.ones(self.L), np.empty(self.D)
        self.along = np.empty(self.room + 1)
        self.scratch, self.anew = np.empty((self.room + 1, self.D)), np.empty((self.D, self.D))
        self.at_once = self.D <= (SMALL_WHOLE if whole else SMALL)
        self.whole_G = whole_G and self.D <= SMALL
        if self.at_once:                 # a state from elsewhere may have corrections waiting
            for vector in range(self.L):
                for k in range(<Py_ssize_t> self.count[vector]):
                    rank_one(-self.pending_w[vector, k], &self.pending_v[vector, k, 0], &self.P[vector, 0, 0], self.D)
                    self.pending_w[vector, k] = 0.0

    def accumulated(self):
        lower = np.tril(self.G)
        G = lower + np.tril(lower, -1).transpose(0, 2, 1)
        for vector in range(self.L):
            waiting = np.asarray(self.pending_g[vector, :<Py_ssize_t> self.count[vector]])
            G[vector] += waiting.T @ waiting
        return np.asarray(self.fade)[:, None, None] * G

    def preconditioner(self, G, const double[::1] rates):
        """As the steps have it: from the inverse, not from G."""
        cdef Py_ssize_t vector
        H = np.empty((self.L, self.D, self.D))
        cdef double[:, :, ::1] view = H
        for vector in range(self.L):
            self.explicit(vector, False, rates[vector], &view[vector, 0, 0])
        return H

    # ---- products -----------------------------------------------------------------------------------------------

    cdef void times(self, Py_ssize_t vector, const double* b, double* out) noexcept nogil:
        """out = G⁻¹ b."""
        cdef int D = <int> self.D
        cdef int one = 1
        cdef double alpha = 1.0, beta = 0.0
        if self.at_once or D <= IN_CACHE:
            memset(out, 0, D * sizeof(double))
            combine(&self.P[vector, 0, 0], D, NULL, b, D, out, D)
        else:
            dsymv("U", &D, &alpha, &self.P[vector, 0, 0], &D, <double*> b, &one, &beta, out, &one)
        self.less_pending(vector, NULL, b, D, out)

    cdef void times_sparse(self, Py_ssize_t vector, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil:
        """out = G⁻¹ b for a b of n values z, by P's rows."""
        memset(out, 0, self.D * sizeof(double))
        combine(&self.P[vector, 0, 0], self.D, index, z, n, out, self.D)
        self.less_pending(vector, index, z, n, out)

    cdef void less_pending(self, Py_ssize_t vector, const int* index, const double* z, Py_ssize_t n, double* out) noexcept nogil:
        """out −= Σ w v (vᵀb)."""
        cdef Py_ssize_t k
        cdef Py_ssize_t waiting = <Py_ssize_t> self.count[vector]
        cdef const double* v
        cdef double along
        if self.at_once:
            return
        for k in range(waiting):
            v = &self.pending_v[vector, k, 0]
            along = dot(v, z, n) if index == NULL else sparse_dot(z, index, v, n)
            self.along[k] = -self.pending_w[vector, k] * along
        combine(&self.pending_v[vector, 0, 0], self.D, NULL, &self.along[0], waiting, out, self.D)

    cdef void times_G(self, Py_ssize_t vector, const double* b, double* out) noexcept nogil:
        """out = G b."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0
        cdef Py_ssize_t k
        dsymv("U", &D, &one, &self.G[vector, 0, 0], &D, <double*> b, &inc, &zero, out, &inc)
        for k in range(<Py_ssize_t> self.count[vector]):
            axpy(dot(&self.pending_g[vector, k, 0], b, D), &self.pending_g[vector, k, 0], out, D)

    cdef int explicit(self, Py_ssize_t vector, bint touched, double eta, double* H) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef Py_ssize_t k = <Py_ssize_t> self.count[vector]
        cdef const double* P = &self.P[vector, 0, 0]
        cdef const double* v = &self.pending_v[vector, k, 0]
        cdef double along, weight = self.weights[vector] if touched and self.weights[vector] != 1.0 else 0.0
        cdef double factor = eta / (self.next_fade(vector) if touched else self.fade[vector])
        if self.at_once:
            for i in range(self.D):
                along = weight * v[i] if weight != 0.0 else 0.0
                for j in range(self.D):
                    H[i * self.D + j] = factor * (P[i * self.D + j] - along * v[j])
            return 0
        memcpy(H, P, self.D * self.D * sizeof(double))
        self.pending_w[vector, k] = weight
        self.subtract_pending(vector, k + (weight != 0.0), H)
        mirror(H, self.D)
        for i in range(self.D * self.D):
            H[i] *= factor
        return 0

    cdef bint explicit_anew(self, Py_ssize_t vector, const double* g, double eta, double* H) noexcept nogil:
        """From G, for a P that has lost its digits."""
        cdef int D = <int> self.D
        cdef int k = <int> self.count[vector]
        cdef int info = 0, inc = 1
        cdef double one = 1.0
        cdef Py_ssize_t i
        memcpy(H, &self.G[vector, 0, 0], self.D * self.D * sizeof(double))
        if k > 0:
            dsyrk("U", "N", &D, &k, &one, &self.pending_g[vector, 0, 0], &D, &one, H, &D)
        dsyr("U", &D, &one, <double*> g, &inc, H, &D)
        for i in range(self.D):                          # as much as rounding may have taken
            H[i * self.D + i] *= 1.0 + 1e-15 * self.D
        dpotrf("U", &D, H, &D, &info)
        if info == 0:
            dpotri("U", &D, H, &D, &info)
        mirror(H, self.D)
        for i in range(self.D * self.D):
            H[i] *= eta / self.next_fade(vector)
        return info == 0

    # ---- a round ------------------------------------------------------------------------------------------------

    cdef int step(self, Py_ssize_t vector, double* g, const double* b, Row* row, double slope, double root, double eta,
                  double* out) noexcept nogil:
        """G_t⁻¹ g_t = v / (1 + g_tᵀv) with v = G_{t−1}⁻¹ g_t; by the inverse's rows where ``row`` is a sparse one."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t D = self.D
        cdef double* v = self.next_v(vector)
        cdef double fade = self.next_fade(vector)
        cdef double factor = eta / fade
        root *= sqrt(fade)
        if root != 1.0:
            for i in range(D):
                g[i] /= root
        if not dot(g, g, D) < LARGEST_SQUARE:            # G would be infinite, for good
            return NOT_FINITE
        if row == NULL or row.index == NULL:
            self.times(vector, g, v)
        else:
            for j in range(row.n):
                self.values[j] = slope / root * row.z[j]
            self.times_sparse(vector, row.index, &self.values[0], row.n, v)
        self.weights[vector] = 1.0 / (1.0 + fmax(dot(g, v, D), 0.0))     # below 0 by rounding alone
        if b != g:                                       # G_t⁻¹ θ = G_{t−1}⁻¹ θ − v (vᵀθ) / (1 + gᵀv)
            self.times(vector, b, out)
            axpy(-self.weights[vector] * dot(v, b, D), v, out, D)
        else:
            memcpy(out, v, D * sizeof(double))
            factor *= self.weights[vector] * root
        for i in range(D):
            out[i] *= factor
        return 0

    cdef void commit(self, Py_ssize_t vector, double* g, Py_ssize_t n=1) noexcept nogil:
        if self.weights[vector] != 1.0:
            memcpy(self.next_g(vector), g, self.D * sizeof(double))
            self.correct(vector, self.weights[vector])
        if self.memory is not None:
            self.pass_by(vector, self.memory.lam, self.memory.lost)

    cdef int solve(self, Py_ssize_t vector, double* b, double eta, double* out) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.D):
            b[i] *= self.fade[vector] / eta
        self.times_G(vector, b, out)
        return 0

    # ---- forgetting ---------------------------------------------------------------------------------------------

    cdef double next_fade(self, Py_ssize_t vector) noexcept nogil:
        """f with the round under way."""
        return self.fade[vector] if self.memory is None else self.fade[vector] * self.memory.lam

    cdef void pass_by(self, Py_ssize_t vector, double kept, double lost) noexcept nogil:
        if kept < SELDOM:
            self.forget_most(vector, kept, lost)
            return
        self.fade[vector] *= kept
        if self.fade[vector] < FAINTEST:
            self.multiply(vector, self.fade[vector])
            self.fade[vector] = 1.0
        self.give_back(vector, lost)

    cdef Py_ssize_t turns(self, double lost) noexcept nogil:
        """How many coordinates get their prior back."""
        cdef Py_ssize_t m = <Py_ssize_t> fmin(self.D, ceil(self.D * lost - ROUNDING))
        return m if m > 0 else 1

    cdef void give_back(self, Py_ssize_t vector, double lost) noexcept nogil:
        cdef Py_ssize_t n = self.D
        cdef Py_ssize_t m = self.turns(lost)
        cdef Py_ssize_t i = <Py_ssize_t> self.turn[vector]
        cdef Py_ssize_t _
        for _ in range(m):
            self.raise_coordinate(vector, i, n * lost * self.epsilon / (m * self.fade[vector]))
            i = i + 1 if i + 1 < n else 0
        self.turn[vector] = i

    cdef void forget_most(self, Py_ssize_t vector, double kept, double lost) noexcept nogil:
        """``pass_by`` with a new inverse of G, in O(n³): where most is forgotten, updates of P would cancel its digits."""
        cdef Py_ssize_t n = self.D
        cdef Py_ssize_t m = self.turns(lost)
        cdef Py_ssize_t i = <Py_ssize_t> self.turn[vector]
        cdef Py_ssize_t k
        self.fold(vector)
        self.multiply(vector, fmax(FAINTEST, self.fade[vector] * kept))
        self.fade[vector] = 1.0
        for k in range(m):
            self.G[vector, (i + k) % n, (i + k) % n] += n * lost * self.epsilon / m
        if self.rebuild(vector):
            mirror(&self.P[vector, 0, 0], n)
            self.turn[vector] = (i + m) % n
            return
        for k in range(m):
            self.G[vector, (i + k) % n, (i + k) % n] -= n * lost * self.epsilon / m
        self.give_back(vector, lost)

    # ---- corrections --------------------------------------------------------------------------------------------

    cdef double* next_v(self, Py_ssize_t vector) noexcept nogil:
        return &self.pending_v[vector, <Py_ssize_t> self.count[vector], 0]

    cdef double* next_g(self, Py_ssize_t vector) noexcept nogil:
        return &self.pending_g[vector, <Py_ssize_t> self.count[vector], 0]

    cdef void correct(self, Py_ssize_t vector, double weight) noexcept nogil:
        """Let the proposed g join G; weight is 1/(1 + gᵀv)."""
        cdef Py_ssize_t k = <Py_ssize_t> self.count[vector]
        self.pending_w[vector, k] = weight
        if self.at_once:
            rank_one(-weight, &self.pending_v[vector, k, 0], &self.P[vector, 0, 0], self.D)
            self.pending_w[vector, k] = 0.0
        self.count[vector] += 1.0
        if self.count[vector] == self.room:
            self.fold(vector)

    cdef void subtract_pending(self, Py_ssize_t vector, Py_ssize_t count, double* matrix) noexcept nogil:
        """matrix −= Σ w v vᵀ, one triangle."""
        cdef int D = <int> self.D
        cdef int k = <int> count
        cdef Py_ssize_t i, j
        cdef double alpha = -1.0, beta = 1.0, root
        for j in range(k):
            root = sqrt(self.pending_w[vector, j])
            for i in range(D):
                self.scratch[j, i] = root * self.pending_v[vector, j, i]
        if k > 0:
            dsyrk("U", "N", &D, &k, &alpha, &self.scratch[0, 0], &D, &beta, matrix, &D)

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t vectors) noexcept nogil:
        log.save(&self.P[first, 0, 0], vectors * self.D * self.D)
        log.save(&self.G[first, 0, 0], vectors * self.D * self.D)
        log.save(&self.pending_v[first, 0, 0], vectors * self.room * self.D)
        log.save(&self.pending_g[first, 0, 0], vectors * self.room * self.D)
        log.save(&self.pending_w[first, 0], vectors * self.room)
        log.save(&self.count[first], vectors)
        log.save(&self.tolerance[first], vectors)
        if self.memory is not None:
            log.save(&self.fade[first], vectors)
            log.save(&self.turn[first], vectors)

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        """The ε that is made up for in a larger unit is a gradient along e_i."""
        cdef double epsilon = self.epsilon / self.fade[vector]
        cdef double* g
        cdef double* v
        cdef double made_up, weight, left      # how many times its own part of G is less than ε
        # nothing is left of what the coordinate had, and its square may be no number; nor the inverse of what is left
        left = self.P[vector, i, i] * growth * growth * epsilon
        if 1.0 < growth <= LARGEST_GROWTH and LITTLE_LEFT < left < NOTHING_LEFT:       # one of rank one would cancel all digits
            self.fold(vector)
            self.scale_coordinate(vector, i, growth)
            self.G[vector, i, i] += epsilon * (1.0 - 1.0 / (growth * growth))
            if self.rebuild(vector):
                mirror(&self.P[vector, 0, 0], self.D)
                return
            left = INFINITY
        if growth > LARGEST_GROWTH or not left < NOTHING_LEFT:
            self.fold(vector)
            self.remove(vector, i)
            self.start(vector, i, epsilon)
            return
        self.scale_coordinate(vector, i, growth)
        if growth <= 1.0:
            return
        made_up = sqrt(epsilon * (1.0 - 1.0 / (growth * growth)))
        g, v = self.next_g(vector), self.next_v(vector)
        memset(g, 0, self.D * sizeof(double))
        g[i] = made_up
        self.times(vector, g, v)
        weight = 1.0 / (1.0 + made_up * v[i])
        if weight != 1.0:
            self.correct(vector, weight)

    cdef void raise_coordinate(self, Py_ssize_t vector, Py_ssize_t i, double amount) noexcept nogil:
        """G_ii += amount: a gradient along e_i, whose product with the inverse is one of its rows."""
        cdef double* g = self.next_g(vector)
        cdef double* v = self.next_v(vector)
        cdef double weight, root = sqrt(amount)
        cdef int index = <int> i
        self.times_sparse(vector, &index, &root, 1, v)
        weight = 1.0 / (1.0 + root * v[i])
        if weight != 1.0:
            memset(g, 0, self.D * sizeof(double))
            g[i] = root
            self.correct(vector, weight)

    cdef void multiply(self, Py_ssize_t vector, double factor) noexcept nogil:
        """G times a factor; a correction's weight does not depend on it."""
        cdef Py_ssize_t i
        cdef Py_ssize_t waiting = <Py_ssize_t> self.count[vector] * self.D
        cdef double root = sqrt(factor)
        cdef double* P = &self.P[vector, 0, 0]
        cdef double* G = &self.G[vector, 0, 0]
        cdef double* v = &self.pending_v[vector, 0, 0]
        cdef double* g = &self.pending_g[vector, 0, 0]
        for i in range(self.D * self.D):
            P[i] /= factor
            G[i] *= factor
        for i in range(waiting):
            v[i] /= root
            g[i] *= root

    cdef void fold(self, Py_ssize_t vector) noexcept nogil:
        """Take what waits into P and G, and see whether P still is G's inverse."""
        cdef Py_ssize_t k = <Py_ssize_t> self.count[vector]
        if k == 0:
            return
        if not self.at_once:
            self.subtract_pending(vector, k, &self.P[vector, 0, 0])
        self.fold_G(vector)
        self.stay_inverse(vector, &self.pending_g[vector, k - 1, 0])

    cdef void fold_G(self, Py_ssize_t vector) noexcept nogil:
        """Take what waits into G."""
        cdef int D = <int> self.D
        cdef int k = <int> self.count[vector]
        cdef double one = 1.0
        if self.whole_G:
            add_squares(&self.pending_g[vector, 0, 0], k, &self.G[vector, 0, 0], D)
        else:
            dsyrk("U", "N", &D, &k, &one, &self.pending_g[vector, 0, 0], &D, &one, &self.G[vector, 0, 0], &D)
        self.count[vector] = 0.0

    cdef void stay_inverse(self, Py_ssize_t vector, const double* g) noexcept nogil:
        """Make P anew if it is too far from being G's inverse, along g; nothing waits."""
        # what drift a new inverse leaves is what the conditioning of G allows, and no reason for another one
        if not self.drift(vector, g) <= self.tolerance[vector] and self.rebuild(vector):
            self.tolerance[vector] = fmax(DRIFT, 30.0 * self.drift(vector, g))
        mirror(&self.P[vector, 0, 0], self.D)

    cdef double drift(self, Py_ssize_t vector, const double* g) noexcept nogil:
        """‖G P g − g‖ / ‖g‖; nothing waits."""
        cdef int D = <int> self.D
        cdef int inc = 1
        cdef double one = 1.0, zero = 0.0, off = 0.0
        cdef Py_ssize_t i
        cdef const double* back = &self.scratch[1, 0]
        if self.whole_G:
            dots(&self.P[vector, 0, 0], g, &self.scratch[0, 0], D)
            dots(&self.G[vector, 0, 0], &self.scratch[0, 0], &self.scratch[1, 0], D)
        else:
            dsymv("U", &D, &one, &self.P[vector, 0, 0], &D, <double*> g, &inc, &zero, &self.scratch[0, 0], &inc)
            dsymv("U", &D, &one, &self.G[vector, 0, 0], &D, &self.scratch[0, 0], &inc, &zero, &self.scratch[1, 0], &inc)
        for i in range(D):
            off += (back[i] - g[i]) * (back[i] - g[i])
        return sqrt(off / dot(g, g, D)) if off > 0.0 else off      # g may be 0, where G has taken it already

    cdef bint rebuild(self, Py_ssize_t vector) noexcept nogil:
        """P = G⁻¹ anew, one triangle; whether it could be had."""
        cdef int D = <int> self.D
        cdef int info = 0
        cdef Py_ssize_t i, j
        cdef double total = 0.0
        cdef Py_ssize_t size = self.D * self.D * sizeof(double)
        memcpy(&self.anew[0, 0], &self.G[vector, 0, 0], size)
        for i in range(D):                               # a feature never seen has nothing in G, and gets nothing in P
            if self.G[vector, i, i] == 0.0:
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
        memcpy(&self.P[vector, 0, 0], &self.anew[0, 0], size)
        for i in range(D):
            if self.G[vector, i, i] == 0.0:
                self.P[vector, i, i] = 0.0
        return True

    cdef void scale_coordinate(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), the inverse's times it."""
        cdef Py_ssize_t j, k
        for j in range(self.D):
            self.P[vector, i, j] *= growth
            self.G[vector, i, j] /= growth
        for j in range(self.D):
            self.P[vector, j, i] *= growth
            self.G[vector, j, i] /= growth
        for k in range(<Py_ssize_t> self.count[vector]):
            self.pending_v[vector, k, i] *= growth
            self.pending_g[vector, k, i] /= growth

    cdef void start(self, Py_ssize_t vector, Py_ssize_t i, double value) noexcept nogil:
        """A coordinate that was in neither matrix enters G by itself."""
        value = fmax(value, SMALLEST_START)
        self.P[vector, i, i] = 1.0 / value
        self.G[vector, i, i] = value

    cdef void remove(self, Py_ssize_t vector, Py_ssize_t i) noexcept nogil:
        """Take a coordinate out of both matrices. Nothing waits."""
        cdef Py_ssize_t j
        for j in range(self.D):
            self.P[vector, i, j] = self.P[vector, j, i] = self.G[vector, i, j] = self.G[vector, j, i] = 0.0
        self.rebuild(vector)
        mirror(&self.P[vector, 0, 0], self.D)
