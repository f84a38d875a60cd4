"""block: H_t = ψ(P_S G_t), where P_S keeps the blocks of G on its diagonal and drops the rest.

One small matrix per block and weight vector.

``_families`` has the matrices, ``_block_ons`` and ``_block_spectral`` the two ways to them, ``_block_point`` the points.

A row touches the blocks in which it has a value; the others stay as they are, so a round costs O(Σ size²) over the blocks touched.
An L2 penalty is part of the gradient and touches all. So does dual averaging in a domain that does not separate into
coordinates, since the point that is projected moves as a whole, and with a ψ that varies with time, since all of H changes.

Under online scaling the blocks share steps like the coordinates of a diagonal do: the common factor is √(t / Σ_s n_s), where n_s
is the sum over the blocks of the square of their largest scaled value in row s. It is the factor of diag where all blocks have one
coordinate.

With a half-life a block stands still while it is not touched, and forgets those rounds when it is next touched. In a domain that
does not separate, all blocks are touched.

x and what belongs to it lie in the order of ``_partition``. As in ``_full``, a round proposes and ``update`` commits.
"""
from libc.math cimport isfinite
from libc.string cimport memcpy

from ._block_point cimport BlockPoint
from ...domains._domains cimport Domain
from ._families cimport Family
from ...domains.projection._metric cimport NOT_DEFINITE
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport NOT_FINITE, NOT_PROJECTED, POTENTIAL_RAISED

from ._block_point import partition_of
from ._families import Scalars, of_size
from ...data._rows import where_vectors_begin

import numpy as np


cdef class Block(BlockPoint):
    """Blocks of G; what the ways to H_t of a block share."""

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        blocks = partition_of(setting)
        for size, count in zip(blocks.sizes, blocks.counts, strict=True):
            family = Scalars.allocate(setting, count) if size == 1 else cls.allocate_family(setting, size, count)
            arrays.update({f"{size}:{name}": array for name, array in family.items()})
        return arrays

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        sizes = [size for size in partition_of(setting).sizes if size > 1]
        found = [super().mismatch(setting, arrays), *(cls.mismatch_of_family(of_size(arrays, size)) for size in sizes)]
        return next(filter(None, found), None)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        for name, array in arrays.items():
            if ":" in name and array.ndim == 3:              # matrices; a copy or a pickle loses this
                arrays[name] = where_vectors_begin(array)
        super().__init__(setting, potential, domain, arrays)
        self.saved, self.reset = np.zeros((2, self.blocks.n_blocks), dtype=np.longlong)
        self.families = self.make_family(0)

    def make_family(self, number):
        """A family of blocks, which makes those of smaller blocks."""
        return Scalars(self, number) if self.blocks.sizes[number] == 1 else self.make_matrices(number)

    def accumulated(self):
        """The blocks of G, with zeros between them, in the order of the coordinates."""
        kept = self.kept_of_blocks()

        def matrices(Family family, count):
            own = kept[family.first:family.first + count].repeat(self.setting.L)[:, None, None]
            return own * family.accumulated() + (1.0 - own) * self.setting.epsilon * np.eye(family.n)

        return self.assembled(matrices if self.memory is not None else lambda family, count: family.accumulated())

    def spectrum(self):
        """Block by block; nothing is forgotten where regret is bounded."""
        cdef Family family = self.families
        parts = []
        while family is not None:
            values = np.linalg.eigvalsh(family.accumulated()).reshape(-1, self.setting.L, family.n)
            parts.append(values.transpose(1, 0, 2).reshape(self.setting.L, -1))
            family = family.smaller
        return np.concatenate(parts, axis=1)

    def preconditioner(self):
        """H of the last step, block by block: of the decompositions and inverses that steps are taken with."""
        rates = np.asarray(self.setting.eta)
        return self.assembled(lambda family, count: family.preconditioner(self, np.tile(rates, count)))

    def assembled(self, matrices):
        """(L, D, D) from the matrices of each family, (blocks · L, n, n)."""
        cdef Family family = self.families
        L, D = self.setting.L, self.setting.D
        whole, p = np.zeros((L, D, D)), 0
        while family is not None:
            count, n = self.blocks.counts[family.number], family.n
            for block in matrices(family, count).reshape(count, L, n, n):
                whole[:, p:p + n, p:p + n] = block
                p += n
            family = family.smaller
        return whole[:, self.blocks.place[:, None], self.blocks.place]

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        self.undo.clear()
        self.blocks.take(row, self.touch_all)
        if self.scale is not None:
            self.find_share()
            self.fused = self.in_one_pass and self.scale.grew == 0   # a block in units far larger may overflow

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """g_t of the blocks touched, with the gradient of the L2 penalty in it, and θ_t."""
        cdef Py_ssize_t end, f, k, start
        self.slopes = slopes
        if self.memory is not None:
            for f in range(self.blocks.n_families):
                for k in range(self.blocks.n_touched[f]):
                    self.catch_up(self.blocks.touched[self.blocks.first_block[f] + k])
        if self.take_units(row) != 0:
            return POTENTIAL_RAISED
        for f in range(self.blocks.n_families):
            k = 0
            while k < self.blocks.n_touched[f]:
                k = self.blocks.stretch(f, k, &start, &end)
                self.find_gradients(start, end)
        return 0

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        self.take_units(row)
        self.families.learn_all(self)

    cdef int precondition(self, Row* row) noexcept nogil:
        return self.families.precondition_all(self)

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t end, f, k, l, start
        cdef double total = 0.0
        for l in range(self.setting.L):
            if self.projects_whole:
                memcpy(&self.goal[l, 0], self.x + l * D, D * sizeof(double))
            for f in range(self.blocks.n_families):
                k = 0
                while k < self.blocks.n_touched[f]:
                    k = self.blocks.stretch(f, k, &start, &end)
                    total += self.step_to_goal(l, start, end)
            if not self.unconstrained and self.project(l) != 0:
                return NOT_PROJECTED
        if not isfinite(self.clock.C * total):
            return NOT_FINITE
        for l in range(self.setting.L):
            if self.projects_whole:
                self.write(l, 0, D)
            for f in range(self.blocks.n_families):
                k = 0
                while k < self.blocks.n_touched[f]:
                    k = self.blocks.stretch(f, k, &start, &end)
                    if not self.projects_whole:
                        self.write(l, start, end - start)
                    if self.setting.dual:
                        memcpy(self.theta + l * D + start, &self.sums[l, start], (end - start) * sizeof(double))
        if self.memory is not None:
            for f in range(self.blocks.n_families):
                for k in range(self.blocks.n_touched[f]):
                    self.charged[self.blocks.touched[self.blocks.first_block[f] + k]] = self.clock.t
        self.families.commit_all(self)
        return 0

    cdef int rest(self, Row* row) noexcept nogil:
        return self.take_units(row)

    cdef void abandon(self, Row* row) noexcept nogil:
        self.undo.restore()

    # ---- units --------------------------------------------------------------------------------------------------

    cdef int take_units(self, Row* row) noexcept nogil:
        """Carry the blocks over to the units of this row."""
        cdef Py_ssize_t b, i, j, k, l, p
        cdef Py_ssize_t D = self.setting.D
        cdef double shrinkage
        if self.scale is None or self.scale.grew == 0:
            return 0
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            p = self.blocks.position[i]
            b = self.blocks.block_at[p]
            if self.memory is not None:
                self.catch_up(b)
            if self.scale.scale[i] > 0.0:
                self.save(b)
                self.families.carry_block(self, b, p - self.blocks.start[b], self.scale.proposed[j] / self.scale.scale[i])
                shrinkage = self.scale.shrinkage(i, j)
                if shrinkage < 1.0:                      # the raw weight stays, and so does its average
                    for l in range(self.setting.L):
                        self.undo.save(self.x + l * D + p, 1)
                        self.x[l * D + p] = shrinkage * self.x[l * D + p]
                        if self.u != NULL:
                            self.undo.save(self.u + l * D + p, 1)
                            self.u[l * D + p] = shrinkage * self.u[l * D + p]
            elif self.setting.start != 0.0:              # a weight from before its feature was seen keeps its raw value
                for l in range(self.setting.L):
                    self.undo.save(self.x + l * D + p, 1)
                    self.x[l * D + p] *= self.scale.proposed[j]
                    if self.u != NULL:
                        self.undo.save(self.u + l * D + p, 1)
                        self.u[l * D + p] *= self.scale.proposed[j]
            self.undo.save(&self.scale.scale[i], 1)
            self.scale.scale[i] = self.scale.proposed[j]
        if self.setting.dual:
            for k in range(self.scale.grew):
                j = self.scale.grown[k]
                i = row.index[j] if row.index != NULL else j
                b = self.blocks.block_at[self.blocks.position[i]]
                if self.reset[b] != self.blocks.now:         # each block once
                    self.reset[b] = self.blocks.now
                    self.save(b)
                    if self.families.reset_block(self, b) != 0:
                        return POTENTIAL_RAISED
        return 0

    cdef void save(self, Py_ssize_t block) noexcept nogil:
        """Log the matrices of a block, once in a round."""
        if self.saved[block] != self.blocks.now:
            self.saved[block] = self.blocks.now
            self.families.save_block(self, block)

    cdef void catch_up(self, Py_ssize_t block) noexcept nogil:
        """A block forgets the rounds before this one that did not touch it."""
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t start = self.blocks.start[block]
        cdef Py_ssize_t n = self.blocks.size[block]
        cdef Py_ssize_t i, l
        cdef double rounds = self.clock.t - 1.0 - self.charged[block]
        cdef double kept
        if rounds <= 0.0:
            return
        kept = self.memory.after(rounds)
        self.save(block)
        self.undo.save(&self.charged[block], 1)
        self.families.forget_block(self, block, kept, self.memory.lost_after(rounds))
        for l in range(self.setting.L):
            if self.u != NULL:
                self.undo.save(self.u + l * D + start, n)
                for i in range(l * D + start, l * D + start + n):
                    self.u[i] = kept * self.u[i]
            if self.setting.dual:
                self.undo.save(self.theta + l * D + start, n)
                for i in range(l * D + start, l * D + start + n):
                    self.theta[i] = kept * self.theta[i]
        self.charged[block] = self.clock.t - 1.0

    # ---- the domain ---------------------------------------------------------------------------------------------

    cdef int project(self, Py_ssize_t vector) noexcept nogil:
        """Block by block where the domain separates, else the whole point; the intercept is a block of its own, and free."""
        cdef Py_ssize_t d = self.setting.d
        cdef Py_ssize_t i
        cdef double* goal = &self.goal[vector, 0]
        cdef double* start = NULL
        cdef double* units = NULL
        cdef int status = 0
        if not self.projects_whole:
            return self.families.project_all(self, vector)
        for i in range(d):
            self.units[i] = self.unit(i)
            goal[i] /= self.units[i]
        if not self.domain.contains(goal):
            status = self.families.assemble_all(self, vector, False)
            if self.setting.dual:
                start = &self.last_point[0]
                for i in range(d):
                    start[i] = self.x[vector * self.setting.D + i] / self.units[i]
            if self.setting.scaled:
                units = &self.units[0]
            if status == 0:
                status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], d, units, start)
            if status == NOT_DEFINITE and self.families.assemble_all(self, vector, True) == 0:
                status = self.domain.project_full(goal, &self.multipliers[0], &self.H[0, 0], d, units, start)
        for i in range(d):
            goal[i] *= self.units[i]
        return status
