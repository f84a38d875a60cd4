# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""block, any ψ: by the eigenvalues and eigenvectors of each block, which serve for many rounds (see ``_basis``)."""
from ._basis cimport Basis
from ._block cimport Block
from ._block_point cimport BlockPoint
from ._families cimport Family
from ._setting cimport Setting
from ._structures cimport POTENTIAL_RAISED

from ._families import of_size

cdef Py_ssize_t SMALL, ROOM
SMALL, ROOM = 40, 16                 # gradients of blocks up to this size wait, so many of them


cdef class Bases(Family):
    """Blocks by their eigenbases. Each is refreshed by itself, so G_τ ⪯ G_t ⪯ (1 + δ)G_τ holds block by block, and so for P_S G."""

    cdef Basis basis

    def __init__(self, BlockPoint own, Py_ssize_t number):
        Family.__init__(self, own, number)
        self.basis = Basis(own.potential, own.setting.refresh, own.setting.epsilon, of_size(own.arrays, self.n))

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

    cdef void commit(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t b, k, l
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            for l in range(L):
                self.basis.commit((b - self.first) * L + l, &own.g[l, own.blocks.start[b]])

    cdef int explicit(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + lane
        if not own.blocks.touches(block) and self.basis.at_rest(e) != 0:
            return POTENTIAL_RAISED
        self.basis.explicit(e, own.setting.eta[lane], &self.H[0, 0])
        return 0

    cdef void save(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        self.basis.save(own.undo, (block - self.first) * own.setting.L, own.setting.L)

    cdef void forget(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block, double kept, double lost) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + lane
        self.basis.forget(e, kept)
        self.basis.fade[e] = self.basis.new_fade[e]

    cdef void carry(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        self.basis.carry((block - self.first) * own.setting.L + lane, i, growth)

    cdef int solve(self, BlockPoint own, Py_ssize_t lane, Py_ssize_t block, double* b, double* out) noexcept nogil:
        return self.basis.solve_H((block - self.first) * own.setting.L + lane, b, own.setting.eta[lane], out)


cdef class BlockSpectral(Block):
    """Any ψ in blocks."""

    @staticmethod
    def allocate_family(Setting setting, size, count):
        room = ROOM if size <= SMALL else 0
        return Basis.allocate(count * setting.L, size, setting.epsilon, setting.refresh > 0.0, room, setting.forgotten > 0.0)

    def make_matrices(self, number):
        return Bases(self, number)
