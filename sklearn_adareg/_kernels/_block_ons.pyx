# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""block, ψ(λ) = η/λ: the inverse of each block without a decomposition, O(size²) a round (see ``_inverse``)."""
from libc.string cimport memcpy

from ._block cimport Block
from ._block_loops cimport InverseRound, inverse_rounds
from ._block_loops cimport stay_narrow as c_stay_narrow
from ._block_point cimport BlockPoint
from ._families cimport Family
from ._inverse cimport Inverse
from ._loops cimport axpy, dot
from ._setting cimport Setting

from ._families import of_size

import numpy as np

cdef Py_ssize_t LEAST, MOST
LEAST, MOST = 8, 32                  # corrections of G that wait: two for each coordinate of a block, within these


def stay_narrow(bint wish):
    """Do not use AVX-512 in this module's loops, for tests of those that other machines run; what was wished before."""
    return bool(c_stay_narrow(wish))


cdef class Inverses(Family):
    """Blocks by their inverses: G_t⁻¹ g_t = v / (1 + g_tᵀv) with v = G_{t−1}⁻¹ g_t."""

    cdef Inverse inverse
    cdef double[::1] weights         # per block and lane: 1 / (1 + gᵀv)

    def __init__(self, BlockPoint own, Py_ssize_t number):
        Family.__init__(self, own, number)
        arrays = of_size(own.arrays, self.n)
        self.inverse, self.weights = Inverse(arrays, not own.unconstrained, whole_G=True), np.empty(len(arrays["count"]))

    def accumulated(self):
        return self.inverse.accumulated()

    def preconditioner(self, BlockPoint own, rates):
        return self.inverse.preconditioner(rates)

    cdef int precondition(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t n = self.n
        cdef Py_ssize_t b, e, i, k, l, p
        cdef double root = own.weight_root()
        cdef double factor
        cdef double* g
        cdef double* v
        cdef double* move
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                e = (b - self.first) * L + l
                g, v, move = &own.g[l, p], self.inverse.next_v(e), &own.move[l, p]
                if root != 1.0:
                    for i in range(n):
                        g[i] /= root
                self.inverse.times(e, g, v)
                self.weights[e] = 1.0 / (1.0 + dot(g, v, n))
                factor = own.setting.eta[l]
                if own.setting.dual:                     # G_t⁻¹ θ = G_{t−1}⁻¹ θ − v (vᵀθ) / (1 + gᵀv)
                    self.inverse.times(e, &own.sums[l, p], move)
                    axpy(-self.weights[e] * dot(v, &own.sums[l, p], n), v, move, n)
                    for i in range(n):
                        move[i] *= factor
                else:
                    factor *= self.weights[e] * root
                    for i in range(n):
                        move[i] = factor * v[i]
        return 0

    cdef void learn(self, BlockPoint own) noexcept nogil:
        """A plain round of mirror descent in one pass; small inverses by a loop of their own."""
        cdef InverseRound round
        cdef Py_ssize_t D = own.setting.D
        cdef Py_ssize_t e, k, l
        cdef Py_ssize_t start = own.blocks.start[self.first]
        cdef Py_ssize_t n_touched = own.blocks.n_touched[self.number]
        cdef double root = own.weight_root()
        if not self.inverse.whole_G:
            Family.learn(self, own)
            return
        round.touched, round.count, round.first = &own.blocks.touched[self.first], n_touched, self.first
        round.n, round.lanes, round.room = self.n, own.setting.L, self.inverse.room
        round.P, round.pending = &self.inverse.P[0, 0, 0], &self.inverse.pending_g[0, 0, 0]
        round.waiting, round.z, round.C = &self.inverse.count[0], own.blocks.z + start, own.clock.C
        for l in range(own.setting.L):
            round.lane, round.x, round.u = l, own.x + l * D + start, NULL
            if own.u != NULL:
                round.u = own.u + l * D + start
            round.slope, round.rate = own.slopes[l] / root, own.setting.eta[l] * own.rho[l] * own.share * root
            inverse_rounds(&round)
        for k in range(n_touched):
            for l in range(own.setting.L):
                e = (own.blocks.touched[self.first + k] - self.first) * own.setting.L + l
                if self.inverse.count[e] == self.inverse.room:
                    self.inverse.fold(e)

    cdef void commit(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t b, e, k, l
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            for l in range(L):
                e = (b - self.first) * L + l
                if self.weights[e] != 1.0:
                    memcpy(self.inverse.next_g(e), &own.g[l, own.blocks.start[b]], self.n * sizeof(double))
                    self.inverse.commit(e, self.weights[e])

    cdef int explicit(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + lane
        cdef double weight = self.weights[e] if own.blocks.touches(block) and self.weights[e] != 1.0 else 0.0
        self.inverse.explicit(e, weight, own.setting.eta[lane], &self.H[0, 0])
        return 0

    cdef bint explicit_anew(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + lane
        if not own.blocks.touches(block):
            return False
        return self.inverse.explicit_anew(e, &own.g[lane, own.blocks.start[block]], own.setting.eta[lane], &self.H[0, 0])

    cdef void save(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        self.inverse.save(own.undo, (block - self.first) * own.setting.L, own.setting.L)

    cdef void carry(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        self.inverse.carry((block - self.first) * own.setting.L + lane, i, growth, own.setting.epsilon)

    cdef int solve(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block, double* b, double* out) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n):
            b[i] /= own.setting.eta[lane]
        self.inverse.times_G((block - self.first) * own.setting.L + lane, b, out)
        return 0


cdef class BlockONS(Block):
    """The Online Newton Step in blocks."""

    @staticmethod
    def allocate_family(Setting setting, size, count):
        return Inverse.allocate(count * setting.L, size, setting.epsilon, min(MOST, max(LEAST, 2 * size)))

    def make_matrices(self, number):
        return Inverses(self, number)

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Block.bind_loss(self, curvatures, steep)
        self.fused = self.in_one_pass = not (self.setting.dual or self.penalised or self.always_steps) and self.unconstrained
