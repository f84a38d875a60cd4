"""The blocks of one size, a family: to the classes that hold matrices (``_inverse``, ``_basis``) they are what weight vectors are to
the full structure, block k of vector l being their vector k·L + l. Families form a chain, the largest blocks first; what concerns
every block passes along it. Blocks of one coordinate, the intercept among them, are numbers: ``Scalars``.
"""
from libc.math cimport fmax

from ._block_point cimport BlockPoint
from ...domains._domains cimport Domain
from ...domains.projection._metric cimport NOT_DEFINITE
from ...scaling._forgetting cimport keep
from ...state._setting cimport Setting
from .._structures cimport NOT_PROJECTED, POTENTIAL_RAISED

import numpy as np


def of_size(dict arrays, Py_ssize_t n):
    """The arrays of the blocks of one size, by their own names."""
    prefix = f"{n}:"
    return {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}


cdef class Family:
    """The blocks of one size."""

    def __init__(self, BlockPoint own, Py_ssize_t number):
        cdef Domain whole = own.domain
        self.n, self.number, self.first = own.blocks.sizes[number], number, own.blocks.first_block[number]
        if not own.unconstrained:
            self.H = np.empty((self.n, self.n))
            if whole.coordinatewise:
                self.domain = type(whole)(self.n, whole.radius)
                self.domain.prepare_full()
                self.multipliers, self.units, self.last_point = np.empty(self.n), np.ones(self.n), np.empty(self.n)
        if number + 1 < own.blocks.n_families:
            self.smaller = own.make_family(number + 1)

    # ---- what the families differ in ----------------------------------------------------------------------------

    def accumulated(self):
        """G of each block and weight vector, (blocks · L, n, n)."""
        raise NotImplementedError

    def preconditioner(self, BlockPoint own, rates):
        """H in the same form; ``rates``: η of each block and weight vector."""
        raise NotImplementedError

    cdef int precondition(self, BlockPoint own) noexcept nogil:
        """``move`` of the blocks touched."""
        return POTENTIAL_RAISED

    cdef void commit(self, BlockPoint own) noexcept nogil:
        """The round stands: let the blocks touched take their gradients."""
        pass

    cdef void learn(self, BlockPoint own) noexcept nogil:
        """Gradients, steps and commit of the blocks touched, in a plain round of mirror descent that cannot fail."""
        cdef Py_ssize_t end, k, l, start
        k = 0
        while k < own.blocks.n_touched[self.number]:
            k = own.blocks.stretch(self.number, k, &start, &end)
            own.find_gradients(start, end)
        self.precondition(own)
        k = 0
        while k < own.blocks.n_touched[self.number]:
            k = own.blocks.stretch(self.number, k, &start, &end)
            for l in range(own.setting.L):
                own.step_to_goal(l, start, end)
                own.write(l, start, end - start)
        self.commit(own)

    cdef int explicit(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        """H_t of a block, touched or not, in ``H``."""
        return POTENTIAL_RAISED

    cdef bint explicit_anew(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        """The same in another way, after the first gave a matrix that is not positive definite; whether there is one."""
        return False

    cdef void save(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        """Log what ``forget``, ``carry`` and ``solve`` change."""
        pass

    cdef void forget(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double kept, double lost) noexcept nogil:
        """Rounds without a gradient, of which G keeps so much; ``lost`` is the rest."""
        pass

    cdef void carry(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), and ε made up for."""
        pass

    cdef int solve(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double* b, double* out) noexcept nogil:
        """out = H⁻¹b, H = ψ(G) of the G as it is."""
        return POTENTIAL_RAISED

    # ---- along the chain ----------------------------------------------------------------------------------------

    cdef int precondition_all(self, BlockPoint own) noexcept nogil:
        if own.blocks.n_touched[self.number] > 0 and self.precondition(own) != 0:
            return POTENTIAL_RAISED
        return self.smaller.precondition_all(own) if self.smaller is not None else 0

    cdef void learn_all(self, BlockPoint own) noexcept nogil:
        if own.blocks.n_touched[self.number] > 0:
            self.learn(own)
        if self.smaller is not None:
            self.smaller.learn_all(own)

    cdef void commit_all(self, BlockPoint own) noexcept nogil:
        self.commit(own)
        if self.smaller is not None:
            self.smaller.commit_all(own)

    cdef int project_all(self, BlockPoint own, Py_ssize_t vector) noexcept nogil:
        """Each block touched onto a domain that is an interval in every coordinate."""
        cdef Py_ssize_t k
        for k in range(own.blocks.n_touched[self.number]):
            if self.project(own, vector, own.blocks.touched[self.first + k]) != 0:
                return NOT_PROJECTED
        return self.smaller.project_all(own, vector) if self.smaller is not None else 0

    cdef int project(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t p = own.blocks.start[block]
        cdef double* goal = &own.goal[vector, p]
        cdef double* start = NULL
        cdef double* units = NULL
        cdef int status = 0
        if p >= own.setting.d:                               # the intercept
            return 0
        for i in range(self.n):
            self.units[i] = own.unit(p + i)
            goal[i] /= self.units[i]
        if self.n == 1:
            self.domain.project_diagonal(goal, NULL)
        elif not self.domain.contains(goal):
            status = self.explicit(own, vector, block)
            if own.setting.dual:                             # x_{t+1} is near x_t, whatever the gradients add up to
                start = &self.last_point[0]
                for i in range(self.n):
                    start[i] = own.x[vector * own.setting.D + p + i] / self.units[i]
            if own.setting.scaled:
                units = &self.units[0]
            if status == 0:
                status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], self.n, units, start)
                if status == NOT_DEFINITE and self.explicit_anew(own, vector, block):
                    status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], self.n, units, start)
        for i in range(self.n):
            goal[i] *= self.units[i]
        return status

    cdef int assemble_all(self, BlockPoint own, Py_ssize_t vector, bint anew) noexcept nogil:
        """H_t of a weight vector as one matrix."""
        cdef Py_ssize_t b, i, j, p
        cdef Py_ssize_t d = own.setting.d
        for b in range(self.first, self.first + own.blocks.counts_of[self.number]):
            p = own.blocks.start[b]
            if p >= d:
                continue
            if not (anew and self.explicit_anew(own, vector, b)) and self.explicit(own, vector, b) != 0:
                return POTENTIAL_RAISED
            for i in range(self.n):
                for j in range(self.n):
                    own.H[p + i, p + j] = self.H[i, j]
        return self.smaller.assemble_all(own, vector, anew) if self.smaller is not None else 0

    cdef void save_block(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        if own.blocks.family[block] == self.number:
            self.save(own, block)
        else:
            self.smaller.save_block(own, block)

    cdef void forget_block(self, BlockPoint own, Py_ssize_t block, double kept, double lost) noexcept nogil:
        cdef Py_ssize_t l
        if own.blocks.family[block] != self.number:
            self.smaller.forget_block(own, block, kept, lost)
            return
        for l in range(own.setting.L):
            self.forget(own, l, block, kept, lost)

    cdef void carry_block(self, BlockPoint own, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        cdef Py_ssize_t l
        if own.blocks.family[block] != self.number:
            self.smaller.carry_block(own, block, i, growth)
            return
        for l in range(own.setting.L):
            self.carry(own, l, block, i, growth)

    cdef int reset_block(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        """θ of a block such that x_1 − Hθ is x."""
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = own.setting.D
        cdef Py_ssize_t p = own.blocks.start[block]
        if own.blocks.family[block] != self.number:
            return self.smaller.reset_block(own, block)
        for l in range(own.setting.L):
            own.undo.save(own.theta + l * D + p, self.n)
            for i in range(p, p + self.n):
                own.goal[l, i] = (own.begun(i) - own.x[l * D + i]) / (own.rho[l] * own.share)
            if self.solve(own, l, block, &own.goal[l, p], own.theta + l * D + p) != 0:
                return POTENTIAL_RAISED
        return 0


cdef class Scalars(Family):
    """Blocks of one coordinate, which need no decomposition."""

    cdef double[::1] G               # per block and weight vector
    cdef double[::1] h               # ψ of it in the round under way
    cdef double[::1] new_G           # of the blocks touched, one behind the other
    cdef double[::1] new_h

    @staticmethod
    def allocate(Setting setting, Py_ssize_t count):
        return {"G": np.full(count * setting.L, setting.epsilon)}

    def __init__(self, BlockPoint own, Py_ssize_t number):
        Family.__init__(self, own, number)
        self.G = of_size(own.arrays, 1)["G"]
        self.h, self.new_G, self.new_h = (np.empty(self.G.shape[0]) for _ in range(3))

    def accumulated(self):
        return np.array(self.G)[:, None, None]

    def preconditioner(self, BlockPoint own, rates):
        return (rates * own.potential(self.G))[:, None, None]

    cdef int precondition(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t n = own.blocks.n_touched[self.number]
        cdef Py_ssize_t b, e, k, l, p
        cdef double root = own.weight_root()
        cdef double g
        for k in range(n):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                g = own.g[l, p] / root
                self.new_G[k * L + l] = (own.kept * self.G[(b - self.first) * L + l] + own.setting.forgotten * own.setting.epsilon
                                         + g * g)
        if own.potential.steps(&self.new_G[0], &self.new_h[0], n * L) != 0:
            return POTENTIAL_RAISED
        for k in range(n):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                e = (b - self.first) * L + l
                self.h[e] = self.new_h[k * L + l]
                g = own.sums[l, p] if own.setting.dual else own.g[l, p]
                own.move[l, p] = own.setting.eta[l] * self.h[e] * g
        return 0

    cdef void commit(self, BlockPoint own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t k, l, e
        for k in range(own.blocks.n_touched[self.number]):
            e = (own.blocks.touched[self.first + k] - self.first) * L
            for l in range(L):
                self.G[e + l] = self.new_G[k * L + l]

    cdef int explicit(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        if not own.blocks.touches(block) and own.potential.steps(&self.G[e], &self.h[e], 1) != 0:
            return POTENTIAL_RAISED
        self.H[0, 0] = own.setting.eta[vector] * self.h[e]
        return 0

    cdef void save(self, BlockPoint own, Py_ssize_t block) noexcept nogil:
        own.undo.save(&self.G[(block - self.first) * own.setting.L], own.setting.L)

    cdef void forget(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double kept, double lost) noexcept nogil:
        cdef double* G = &self.G[(block - self.first) * own.setting.L + vector]
        keep(G, 1, kept, lost * own.setting.epsilon)

    cdef void carry(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, Py_ssize_t i, double growth) noexcept nogil:
        cdef double* G = &self.G[(block - self.first) * own.setting.L + vector]
        G[0] = G[0] / growth / growth + own.setting.epsilon * fmax(0.0, 1.0 - 1.0 / (growth * growth))

    cdef int solve(self, BlockPoint own, Py_ssize_t vector, Py_ssize_t block, double* b, double* out) noexcept nogil:
        cdef Py_ssize_t e = (block - self.first) * own.setting.L + vector
        if own.potential.steps(&self.G[e], &self.h[e], 1) != 0:
            return POTENTIAL_RAISED
        out[0] = b[0] / (own.setting.eta[vector] * self.h[e])
        return 0
