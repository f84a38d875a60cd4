"""block, any ψ: by the eigenvalues and eigenvectors of each block, which serve for many rounds (see ``_basis``)."""
from ..full._eigenbasis cimport Basis
from ._block cimport Block
from ._block_loops cimport RootRound, root_rounds
from ._block_point cimport BlockPoint
from ._families cimport Family
from ...state._setting cimport Setting
from .._structures cimport POTENTIAL_RAISED

from ._families import of_size

import numpy as np

cdef Py_ssize_t SMALL, ROOM
SMALL, ROOM = 40, 32                 # gradients of blocks up to this size wait, so many of them


cdef class Bases(Family):
    """Blocks by their eigenbases. Each is refreshed by itself, so G_τ ⪯ G_t ⪯ (1 + δ)G_τ holds block by block, and so for P_S G."""

    cdef Basis basis
    cdef Py_ssize_t[::1] late        # the blocks of a round whose basis may not serve
    cdef Py_ssize_t[::1] full        # and those for which no further gradient may wait

    def __init__(self, BlockPoint own, Py_ssize_t number):
        Family.__init__(self, own, number)
        self.basis = Basis(own.potential, own.setting.refresh, own.setting.epsilon, of_size(own.arrays, self.n))
        self.late, self.full = np.empty((2, own.blocks.counts[number]), dtype=np.intp)

    def accumulated(self):
        return self.basis.accumulated()

    def preconditioner(self, BlockPoint own, rates):
        return self.basis.preconditioner(self.basis.accumulated(), rates)

    cdef int precondition(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t b, e, k, l, p
        cdef double* g
        cdef double* sums
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                e, g = (b - self.first) * L + l, &own.g[l, p]
                sums = &own.sums[l, p] if own.setting.dual else g
                if own.memory is not None:
                    self.basis.forget(e, own.memory.lam)
                if self.basis.times_H(e, g, sums, own.setting.eta[l], &own.move[l, p]) != 0:
                    return POTENTIAL_RAISED
        return 0

    cdef void learn(self, BlockPoint own) noexcept nogil:
        """A plain round of mirror descent with G^(−1/2) in one pass; blocks whose basis may not serve follow one by one."""
        cdef RootRound round
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t D = own.setting.D
        cdef Py_ssize_t k, l
        cdef Py_ssize_t start = own.blocks.start[self.first]
        round.touched, round.count, round.first = &own.blocks.touched[self.first], own.blocks.n_touched[self.number], self.first
        round.n, round.vectors, round.room = self.n, L, self.basis.room
        round.H, round.pending, round.waiting = &self.basis.roots_H[0, 0], &self.basis.pending_g[0, 0, 0], &self.basis.count[0]
        round.s, round.stale, round.delta = &self.basis.s[0], &self.basis.stale[0], self.basis.delta
        round.z, round.C, round.late, round.full = own.blocks.z + start, own.clock.C, &self.late[0], &self.full[0]
        for l in range(L):
            round.vector, round.x, round.u = l, own.x + l * D + start, NULL
            if own.u != NULL:
                round.u = own.u + l * D + start
            round.v, round.slope, round.rate = &own.move[l, start], own.slopes[l], own.setting.eta[l] * own.rho[l] * own.share
            root_rounds(&round)
            for k in range(round.n_full):
                self.basis.take_pending((self.full[k] - self.first) * L + l)
            for k in range(round.n_late):
                self.learn_late(own, l, self.late[k])

    cdef void learn_late(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        """The same of one block and weight vector, with a test of its basis, or a new one."""
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        cdef Py_ssize_t i
        cdef Py_ssize_t p = own.blocks.start[block]
        cdef double* g = &own.g[vector, p]
        for i in range(self.n):
            g[i] = own.slopes[vector] * own.blocks.z[p + i]
        self.basis.take_pending(e)                           # or a test and a decomposition would both do it, for themselves
        if self.basis.times_H_late(e, g, own.setting.eta[vector], &own.move[vector, p]) != 0:
            return                           # not of a symmetric matrix of numbers; the block would stay as it is
        own.step_to_goal(vector, p, p + self.n)
        own.write(vector, p, self.n)
        self.basis.commit(e, g)

    cdef void commit(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t b, k, l
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            for l in range(L):
                self.basis.commit((b - self.first) * L + l, &own.g[l, own.blocks.start[b]])

    cdef int explicit(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        if not own.blocks.touches(block) and self.basis.at_rest(e) != 0:
            return POTENTIAL_RAISED
        self.basis.explicit(e, own.setting.eta[vector], &self.H[0, 0])
        return 0

    cdef void save(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        self.basis.save(own.undo, (block - self.first) * own.setting.L, own.setting.L)

    cdef void forget(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double kept, double lost) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        self.basis.forget(e, kept)
        self.basis.fade[e] = self.basis.new_fade[e]

    cdef void carry(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        self.basis.carry((block - self.first) * own.setting.L + vector, i, growth)

    cdef int solve(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double* b, double* out) noexcept nogil:
        return self.basis.solve_H((block - self.first) * own.setting.L + vector, b, own.setting.eta[vector], out)


cdef class BlockSpectral(Block):
    """Any ψ in blocks."""

    @staticmethod
    def allocate_family(Setting setting, size, count):
        room = ROOM if size <= SMALL else 0
        return Basis.allocate(count * setting.L, size, setting.epsilon, setting.refresh > 0.0, room, setting.forgotten > 0.0)

    @staticmethod
    def mismatch_of_family(arrays):
        return Basis.mismatch(arrays)

    def make_matrices(self, number):
        return Bases(self, number)

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Block.bind_loss(self, curvatures, steep)
        self.fused = self.in_one_pass = (self.unconstrained and self.setting.refresh > 0.0 and self.potential.power == 0.5
                                         and self.blocks.size[0] <= SMALL and self.memory is None
                                         and not (self.setting.dual or self.penalised or self.always_steps))
