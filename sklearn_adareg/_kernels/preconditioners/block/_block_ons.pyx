"""block, ψ(λ) = η/λ: the inverse of each block without a decomposition, O(size²) a round (see ``_inverse``)."""
from libc.math cimport sqrt
from libc.string cimport memcpy

from ._block cimport Block
from ._block_loops cimport InverseRound, inverse_rounds
from ._block_point cimport BlockPoint
from ..full._forgetting_inverse cimport Fading
from ...domains._domains cimport Domain
from ._families cimport Family
from ...linalg._inverse cimport Inverse
from ...linalg._loops cimport axpy, dot
from ...potentials._potentials cimport Potential
from ...state._setting cimport Setting

from ._families import of_size

import numpy as np

cdef Py_ssize_t LEAST, MOST
LEAST, MOST = 8, 32                  # corrections of G that wait: two for each coordinate of a block, within these


cdef class Inverses(Family):
    """Blocks by their inverses: G_t⁻¹ g_t = v / (1 + g_tᵀv) with v = G_{t−1}⁻¹ g_t."""

    cdef Inverse inverse
    cdef Fading fading               # None: nothing is forgotten
    cdef double[::1] weights         # per block and weight vector: 1 / (1 + gᵀv)
    cdef Py_ssize_t[::1] full        # the blocks for which no further gradient may wait

    def __init__(self, BlockPoint own, Py_ssize_t number):
        Family.__init__(self, own, number)
        arrays = of_size(own.arrays, self.n)
        self.inverse, self.weights = Inverse(arrays, not own.unconstrained, whole_G=True), np.empty(len(arrays["count"]))
        self.fading = Fading(own.setting, self.inverse, arrays) if own.memory is not None else None
        self.full = np.empty(own.blocks.counts[number], dtype=np.intp)

    def accumulated(self):
        G = self.inverse.accumulated()
        return G if self.fading is None else np.asarray(self.fading.fade)[:, None, None] * G

    def preconditioner(self, BlockPoint own, rates):
        return self.inverse.preconditioner(rates if self.fading is None else rates / np.asarray(self.fading.fade))

    cdef int precondition(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t n = self.n
        cdef Py_ssize_t b, e, i, k, l, p
        cdef double as_rows = own.weight_root()
        cdef double fade, factor, root
        cdef double* g
        cdef double* v
        cdef double* move
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                e = (b - self.first) * L + l
                g, v, move = &own.g[l, p], self.inverse.next_v(e), &own.move[l, p]
                fade = 1.0 if self.fading is None else self.fading.next_fade(e)
                root = as_rows if fade == 1.0 else as_rows * sqrt(fade)
                if root != 1.0:
                    for i in range(n):
                        g[i] /= root
                self.inverse.times(e, g, v)
                self.weights[e] = 1.0 / (1.0 + dot(g, v, n))
                factor = own.setting.eta[l] / fade
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
        cdef Py_ssize_t k, l
        cdef Py_ssize_t start = own.blocks.start[self.first]
        cdef double root = own.weight_root()
        if not self.inverse.whole_G:
            Family.learn(self, own)
            return
        round.touched, round.count, round.first = &own.blocks.touched[self.first], own.blocks.n_touched[self.number], self.first
        round.n, round.vectors, round.room = self.n, own.setting.L, self.inverse.room
        round.P, round.pending = &self.inverse.P[0, 0, 0], &self.inverse.pending_g[0, 0, 0]
        round.waiting, round.z, round.C, round.full = &self.inverse.count[0], own.blocks.z + start, own.clock.C, &self.full[0]
        for l in range(own.setting.L):
            round.vector, round.x, round.u = l, own.x + l * D + start, NULL
            if own.u != NULL:
                round.u = own.u + l * D + start
            round.slope, round.rate = own.slopes[l] / root, own.setting.eta[l] * own.rho[l] * own.share * root
            inverse_rounds(&round)
            for k in range(round.n_full):
                self.inverse.fold((self.full[k] - self.first) * own.setting.L + l)

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
                if self.fading is not None:
                    self.fading.pass_by(e, own.memory.lam, own.memory.lost)

    cdef int explicit(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        cdef double weight = self.weights[e] if own.blocks.touches(block) and self.weights[e] != 1.0 else 0.0
        self.inverse.explicit(e, weight, own.setting.eta[vector] / self.fade_of(own, e, block), &self.H[0, 0])
        return 0

    cdef double fade_of(self, BlockPoint own, Py_ssize_t e, Py_ssize_t block) noexcept nogil:
        """What of G the inverse is of, in the round under way."""
        if self.fading is None:
            return 1.0
        return self.fading.next_fade(e) if own.blocks.touches(block) else self.fading.fade[e]

    cdef bint explicit_anew(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        if not own.blocks.touches(block):
            return False
        return self.inverse.explicit_anew(e, &own.g[vector, own.blocks.start[block]],
                                          own.setting.eta[vector] / self.fade_of(own, e, block), &self.H[0, 0])

    cdef void save(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        self.inverse.save(own.undo, (block - self.first) * own.setting.L, own.setting.L)
        if self.fading is not None:
            self.fading.save(own.undo, (block - self.first) * own.setting.L, own.setting.L)

    cdef void forget(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double kept, double lost) noexcept nogil:
        self.fading.pass_by((block - self.first) * own.setting.L + vector, kept, lost)

    cdef void carry(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        self.inverse.carry(e, i, growth, own.setting.epsilon / (1.0 if self.fading is None else self.fading.fade[e]))

    cdef int solve(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double* b, double* out) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        cdef Py_ssize_t i
        cdef double fade = 1.0 if self.fading is None else self.fading.fade[e]
        for i in range(self.n):
            b[i] *= fade / own.setting.eta[vector]
        self.inverse.times_G(e, b, out)
        return 0


cdef class BlockONS(Block):
    """The Online Newton Step in blocks."""

    @staticmethod
    def allocate_family(Setting setting, size, count):
        matrices = Inverse.allocate(count * setting.L, size, setting.epsilon, min(MOST, max(LEAST, 2 * size)))
        return {**matrices, **Fading.allocate(setting, count * setting.L)}

    @staticmethod
    def mismatch_of_family(arrays):
        return Inverse.mismatch(arrays) or Fading.mismatch(arrays)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        if self.memory is not None:              # the prior returns in the rounds that touch a block, whatever their gradients
            self.always_steps = True

    def make_matrices(self, number):
        return Inverses(self, number)

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Block.bind_loss(self, curvatures, steep)
        self.fused = self.in_one_pass = not (self.setting.dual or self.penalised or self.always_steps) and self.unconstrained
