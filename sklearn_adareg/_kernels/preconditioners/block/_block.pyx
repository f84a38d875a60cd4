"""block: H_t = ψ(P_S G_t), where P_S keeps the blocks of G on its diagonal and drops the rest.

One small matrix per block and weight vector. The coordinates of a block lie side by side, and the blocks of one size, a family, one
behind the other, the largest first; the intercept is a block of its own and lies last. To the classes that hold matrices
(``_inverse``, ``_eigenbasis``) the blocks of a family are what weight vectors are to the full structure: block k of vector l is their
matrix k·L + l. Blocks of one coordinate, the intercept among them, are ``Numbers``.

A row touches the blocks in which it has a value; the others stay as they are, so a round costs O(Σ size²) over the blocks touched.
An L2 penalty is part of the gradient and touches all. So does dual averaging in a domain that does not separate into
coordinates, since the point that is projected moves as a whole, and with a ψ that varies with time, since all of H changes.

Under online scaling the blocks share steps like the coordinates of a diagonal do: the common factor is √(t / Σ_s n_s), where n_s
is the sum over the blocks of the square of their largest scaled value in row s. It is the factor of diag where all blocks have one
coordinate.

With a half-life a block stands still while it is not touched, and forgets those rounds when it is next touched. In a domain that
does not separate, all blocks are touched. As in ``_full``, a round proposes and ``update`` commits.
"""
from libc.math cimport fmax, isfinite, sqrt
from libc.string cimport memcpy, memset

from ..full._eigenbasis cimport Basis
from ..full._full cimport Points
from ..full._inverse cimport Inverse
from ..full._step_loops cimport propose_outer, take_goal
from ..full._step_loops cimport sizes as total_size
from ...data._rows cimport Row
from ...domains._domains cimport NOT_DEFINITE, Domain
from ...potentials._potentials cimport Potential
from ...state._setting cimport Setting, keep
from .._structures cimport NOT_FINITE, NOT_PROJECTED, POTENTIAL_RAISED, Matrices
from ...state._undo cimport UndoLog

from ...data._rows import where_vectors_begin
from ...state._saved import out_of_range

import numpy as np

cdef extern from "_block_loops.h" nogil:
    ctypedef struct BlockRound "adareg_block_round":
        const Py_ssize_t* touched
        Py_ssize_t count, first, n, vectors, vector, room
        double* matrix
        double* pending
        double* waiting
        const double* z
        double* x
        double* u
        double slope, rate, C
        Py_ssize_t* full
        Py_ssize_t n_full
        double* s
        const double* stale
        double delta
        double* v
        Py_ssize_t* late
        Py_ssize_t n_late

    void inverse_rounds "adareg_inverse_rounds"(BlockRound* round)
    void root_rounds "adareg_root_rounds"(BlockRound* round)

cdef Py_ssize_t SMALL, LEAST, MOST, ROOM
LEAST, MOST = 8, 32                  # corrections of G that wait: two for each coordinate of a block, within these
SMALL, ROOM = 40, 32                 # gradients for bases up to this size wait, so many of them


def partition_of(Setting setting):
    """The blocks of a setting."""
    if setting.blocks is None or len(setting.blocks) != setting.d:
        raise ValueError(f"the setting has no block for each of its {setting.d} coefficients")
    return Partition(setting.blocks, setting.intercept)


def of_size(dict arrays, Py_ssize_t n):
    """The arrays of the blocks of one size, by their own names."""
    prefix = f"{n}:"
    return {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}


cdef class Block


cdef class Partition:
    """The blocks of the D coordinates; ``blocks`` has the number of each coefficient's block, 0, 1, …

    A row is brought into their order in O(nnz + size of the blocks that it touches).
    """

    cdef readonly Py_ssize_t D, n_blocks, n_families
    cdef readonly bint in_order              # coordinates lie as they come
    cdef readonly object place, sizes, counts
    cdef int[::1] position                   # where each coordinate lies
    cdef Py_ssize_t[::1] coordinate          # which coordinate lies there
    cdef Py_ssize_t[::1] block_at            # the block that it belongs to
    cdef Py_ssize_t[::1] start, size, family  # of each block: where it begins, its coordinates, its family
    cdef Py_ssize_t[::1] first_block, counts_of   # of each family: its first block, and how many
    # the row of the round under way
    cdef double* z                           # its values where the coordinates lie, zeros among them, in the blocks touched
    cdef int[::1] positions                  # of its values, where it is sparse
    cdef Py_ssize_t[::1] n_touched           # of each family,
    cdef Py_ssize_t[::1] touched             # and which: those of a family begin at its first block
    cdef double[::1] values
    cdef long long[::1] stamps
    cdef long long now
    cdef long long whole                     # the last round that touched all blocks, none of which has this stamp
    cdef bint listed                         # ``touched`` names all blocks

    def __init__(self, blocks, bint intercept):
        blocks = np.asarray(blocks)
        n = int(blocks.max()) + 1
        if blocks.ndim != 1 or blocks.min() < 0 or n > len(blocks):
            raise ValueError("blocks do not number the coefficients' blocks")
        sizes = np.bincount(blocks, minlength=n)
        if not sizes.all():
            raise ValueError("a block is empty")
        ranks = np.empty(n, dtype=np.intp)
        ranks[np.argsort(-sizes, kind="stable")] = np.arange(n)      # a stable sort: blocks of one size keep their order
        block_of = ranks[blocks]
        sizes = np.sort(sizes)[::-1]
        if intercept:
            block_of, sizes = np.append(block_of, n), np.append(sizes, 1)
        order = np.argsort(block_of, kind="stable")
        self.D, self.n_blocks = len(block_of), len(sizes)
        self.place = np.empty(self.D, dtype=np.intp)
        self.place[order] = np.arange(self.D)
        self.in_order = bool((order == np.arange(self.D)).all())
        self.position, self.coordinate = self.place.astype(np.intc), order
        self.block_at = block_of[order]
        self.start, self.size = np.cumsum(sizes) - sizes, sizes.astype(np.intp)
        ends = np.flatnonzero(np.diff(sizes)) + 1
        firsts = np.concatenate([[0], ends]).astype(np.intp)
        self.n_families = len(firsts)
        self.first_block = firsts
        self.sizes = [int(size) for size in sizes[firsts]]
        self.counts = [int(count) for count in np.diff(np.append(firsts, self.n_blocks))]
        self.counts_of = np.array(self.counts, dtype=np.intp)
        self.family = np.repeat(np.arange(self.n_families), self.counts)
        self.n_touched, self.touched = np.zeros(self.n_families, dtype=np.intp), np.empty(self.n_blocks, dtype=np.intp)
        self.values, self.stamps = np.zeros(self.D), np.zeros(self.n_blocks, dtype=np.longlong)
        self.positions = np.empty(self.D, dtype=np.intc)

    cdef void take(self, Row* row, bint touch_all) noexcept nogil:
        """Bring a row into the order of the blocks, and find the blocks in which it has a value; ``touch_all``: all of them."""
        cdef Py_ssize_t b, i, j
        cdef int p
        self.now += 1
        self.z = &self.values[0]
        memset(&self.n_touched[0], 0, self.n_families * sizeof(Py_ssize_t))
        if touch_all or row.index != NULL:
            self.listed = False
        if touch_all:
            for b in range(self.n_blocks):
                self.touch(b)
        if row.index != NULL:
            for j in range(row.n):
                p = self.position[row.index[j]]
                self.positions[j] = p
                if row.z[j] != 0.0:
                    if self.stamps[self.block_at[p]] != self.now:
                        self.touch(self.block_at[p])
                    self.z[p] = row.z[j]
            return
        if self.in_order:
            self.z = row.z
        else:
            for i in range(self.D):
                self.z[self.position[i]] = row.z[i]
        if touch_all or self.takes_all():
            return
        self.listed = False
        for b in range(self.n_blocks):
            for i in range(self.start[b], self.start[b] + self.size[b]):
                if self.z[i] != 0.0:
                    self.note(b)
                    break

    cdef bint takes_all(self) noexcept nogil:
        """Note all blocks if the first value of each is not zero, as in most dense rows."""
        cdef Py_ssize_t b
        for b in range(self.n_blocks):
            if self.z[self.start[b]] == 0.0:
                return False
        if not self.listed:
            for b in range(self.n_blocks):
                self.touched[b] = b
            self.listed = True
        memcpy(&self.n_touched[0], &self.counts_of[0], self.n_families * sizeof(Py_ssize_t))
        self.whole = self.now
        return True

    cdef void note(self, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t f = self.family[block]
        self.stamps[block] = self.now
        self.touched[self.first_block[f] + self.n_touched[f]] = block
        self.n_touched[f] += 1

    cdef void touch(self, Py_ssize_t block) noexcept nogil:
        """Note a block, with zeros for its values."""
        self.note(block)
        memset(&self.values[self.start[block]], 0, self.size[block] * sizeof(double))

    cdef bint touches(self, Py_ssize_t block) noexcept nogil:
        """Whether the row of the round under way touches a block."""
        return self.stamps[block] == self.now or self.whole == self.now

    cdef Py_ssize_t stretch(self, Py_ssize_t family, Py_ssize_t k, Py_ssize_t* start, Py_ssize_t* end) noexcept nogil:
        """Where a family's k-th block touched and those that follow it side by side lie; the number after them."""
        cdef const Py_ssize_t* touched = &self.touched[self.first_block[family]]
        cdef Py_ssize_t last = touched[k]
        start[0] = self.start[last]
        k += 1
        while k < self.n_touched[family] and touched[k] == last + 1:
            last, k = last + 1, k + 1
        end[0] = self.start[last] + self.size[last]
        return k

    cdef double largest_squares(self) noexcept nogil:
        """Σ over the blocks of the square of the row's largest value."""
        cdef Py_ssize_t b, f, i, k
        cdef double square, largest, total = 0.0
        for f in range(self.n_families):
            for k in range(self.n_touched[f]):
                b, largest = self.touched[self.first_block[f] + k], 0.0
                for i in range(self.start[b], self.start[b] + self.size[b]):
                    square = self.z[i] * self.z[i]
                    if square > largest:
                        largest = square
                total += largest
        return total

cdef class Family:
    """The blocks of one size, and their matrices."""

    cdef Py_ssize_t n                # the size of these blocks
    cdef Py_ssize_t number, first    # of this family, and of its first block
    cdef Matrices matrices
    cdef Domain domain               # of one block; None: the domain does not separate, or there is none
    cdef Py_ssize_t[::1] full        # the blocks of a round for which no further gradient may wait
    cdef Py_ssize_t[::1] late        # and those whose basis may not serve

    def __init__(self, Block own, Py_ssize_t number):
        cdef Domain whole = own.domain
        self.n, self.number, self.first = own.blocks.sizes[number], number, own.blocks.first_block[number]
        self.full, self.late = np.empty((2, own.blocks.counts[number]), dtype=np.intp)
        if whole.coordinatewise:
            self.domain = type(whole)(self.n, whole.radius)
            self.domain.prepare_full()

    cdef int precondition(self, Block own) noexcept nogil:
        """``move`` of the blocks touched."""
        cdef Py_ssize_t b, e, k, l, p
        cdef int status
        cdef double root = own.weight_root()
        cdef double* g
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(own.setting.L):
                e, g = (b - self.first) * own.setting.L + l, &own.g[l, p]
                status = self.matrices.step(e, g, &own.sums[l, p] if own.setting.dual else g, NULL, 0.0, root, own.setting.eta[l],
                                            &own.move[l, p])
                if status != 0:
                    return status
        return 0

    cdef void commit(self, Block own) noexcept nogil:
        """The round stands: let the blocks touched take their gradients."""
        cdef Py_ssize_t b, k, l
        for k in range(own.blocks.n_touched[self.number]):
            b = own.blocks.touched[self.first + k]
            for l in range(own.setting.L):
                self.matrices.commit((b - self.first) * own.setting.L + l, &own.g[l, own.blocks.start[b]])

    cdef void learn(self, Block own) noexcept nogil:
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

    cdef void begin(self, Block own, BlockRound* round) noexcept nogil:
        """What a round in one pass has for all weight vectors, but for the matrices."""
        round.touched, round.count, round.first = &own.blocks.touched[self.first], own.blocks.n_touched[self.number], self.first
        round.n, round.vectors, round.z = self.n, own.setting.L, own.blocks.z + own.blocks.start[self.first]
        round.C, round.full, round.late = own.clock.C, &self.full[0], &self.late[0]

    cdef void turn_to(self, Block own, BlockRound* round, Py_ssize_t vector) noexcept nogil:
        """The same for a weight vector."""
        cdef Py_ssize_t at = vector * own.setting.D + own.blocks.start[self.first]
        cdef double root = own.weight_root()
        round.vector, round.x, round.u, round.v = vector, own.x + at, NULL, &own.move[0, 0] + at
        if own.u != NULL:
            round.u = own.u + at
        round.slope, round.rate = own.slopes[vector] / root, own.setting.eta[vector] * own.rho[vector] * own.share * root


cdef class Inverses(Family):
    """Blocks by their inverses, with ψ(λ) = η/λ."""

    cdef Inverse inverse

    def __init__(self, Block own, Py_ssize_t number):
        Family.__init__(self, own, number)
        self.inverse = self.matrices = Inverse(own.setting, of_size(own.arrays, self.n), not own.unconstrained, whole_G=True)

    cdef void learn(self, Block own) noexcept nogil:
        """Small inverses by a loop of their own."""
        cdef BlockRound round
        cdef Py_ssize_t k, l
        if not self.inverse.whole_G:
            Family.learn(self, own)
            return
        self.begin(own, &round)
        round.room, round.matrix = self.inverse.room, &self.inverse.P[0, 0, 0]
        round.pending, round.waiting = &self.inverse.pending_g[0, 0, 0], &self.inverse.count[0]
        for l in range(own.setting.L):
            self.turn_to(own, &round, l)
            inverse_rounds(&round)
            for k in range(round.n_full):
                self.inverse.fold((self.full[k] - self.first) * own.setting.L + l)


cdef class Bases(Family):
    """Blocks by their eigenbases. Each is refreshed by itself, so G_τ ⪯ G_t ⪯ (1 + δ)G_τ holds block by block, and so for P_S G."""

    cdef Basis basis

    def __init__(self, Block own, Py_ssize_t number):
        Family.__init__(self, own, number)
        self.basis = self.matrices = Basis(own.setting, own.potential, of_size(own.arrays, self.n))

    cdef void learn(self, Block own) noexcept nogil:
        """With G^(−1/2), whose products are steps; blocks whose basis may not serve follow one by one."""
        cdef BlockRound round
        cdef Py_ssize_t k, l
        self.begin(own, &round)
        round.room, round.matrix = self.basis.room, &self.basis.roots_H[0, 0]
        round.pending, round.waiting = &self.basis.pending_g[0, 0, 0], &self.basis.count[0]
        round.s, round.stale, round.delta = &self.basis.s[0], &self.basis.stale[0], self.basis.delta
        for l in range(own.setting.L):
            self.turn_to(own, &round, l)
            root_rounds(&round)
            for k in range(round.n_full):
                self.basis.take_pending((self.full[k] - self.first) * own.setting.L + l)
            for k in range(round.n_late):
                self.learn_late(own, l, self.late[k])

    cdef void learn_late(self, Block own, Py_ssize_t vector, Py_ssize_t block) noexcept nogil:
        """The same of one block and weight vector, with a test of its basis, or a new one."""
        cdef Py_ssize_t i, e = own.entry(block, vector), p = own.blocks.start[block]
        cdef double* g = &own.g[vector, p]
        for i in range(self.n):
            g[i] = own.slopes[vector] * own.blocks.z[p + i]
        self.basis.take_pending(e)                           # or a test and a decomposition would both do it, for themselves
        if self.basis.times_H_late(e, g, own.setting.eta[vector], &own.move[vector, p]) != 0:
            return                           # not of a symmetric matrix of numbers; the block would stay as it is
        own.step_to_goal(vector, p, p + self.n)
        own.write(vector, p, self.n)
        self.basis.commit(e, g)


cdef class Numbers(Matrices):
    """Matrices of one coordinate, which need no decomposition."""

    cdef Potential potential
    cdef double epsilon
    cdef double[::1] G
    cdef double[::1] h               # ψ of it in the round under way

    def __init__(self, Block own, double[::1] G):
        self.potential, self.epsilon, self.G, self.h = own.potential, own.setting.epsilon, G, np.empty(G.shape[0])

    def accumulated(self):
        return np.array(self.G)[:, None, None]

    def preconditioner(self, G, rates):
        return (rates * self.potential(self.G))[:, None, None]

    cdef int explicit(self, Py_ssize_t e, bint touched, double eta, double* H) noexcept nogil:
        if not touched and self.potential.steps(&self.G[e], &self.h[e], 1) != 0:
            return POTENTIAL_RAISED
        H[0] = eta * self.h[e]
        return 0

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
        log.save(&self.G[first], count)

    cdef void pass_by(self, Py_ssize_t e, double kept, double lost) noexcept nogil:
        keep(&self.G[e], 1, kept, lost * self.epsilon)

    cdef void carry(self, Py_ssize_t e, Py_ssize_t i, double growth) noexcept nogil:
        self.G[e] = self.G[e] / growth / growth + self.epsilon * fmax(0.0, 1.0 - 1.0 / (growth * growth))

    cdef int solve(self, Py_ssize_t e, double* b, double eta, double* out) noexcept nogil:
        if self.potential.steps(&self.G[e], &self.h[e], 1) != 0:
            return POTENTIAL_RAISED
        out[0] = b[0] / (eta * self.h[e])
        return 0


cdef class Scalars(Family):
    """Blocks of one coordinate; ψ is evaluated at all that are touched at once."""

    cdef Numbers diagonal
    cdef double[::1] new_G           # of the blocks touched, one behind the other
    cdef double[::1] new_h

    def __init__(self, Block own, Py_ssize_t number):
        Family.__init__(self, own, number)
        self.diagonal = self.matrices = Numbers(own, of_size(own.arrays, 1)["G"])
        self.new_G, self.new_h = np.empty((2, self.diagonal.G.shape[0]))

    cdef int precondition(self, Block own) noexcept nogil:
        cdef Py_ssize_t L = own.setting.L
        cdef Py_ssize_t n = own.blocks.n_touched[self.number]
        cdef Py_ssize_t b, e, k, l, p
        cdef double root = own.weight_root()
        cdef double g
        for k in range(n):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                e, g = (b - self.first) * L + l, own.g[l, p] / root
                self.new_G[k * L + l] = own.kept * self.diagonal.G[e] + own.setting.forgotten * own.setting.epsilon + g * g
        if own.potential.steps(&self.new_G[0], &self.new_h[0], n * L) != 0:
            return POTENTIAL_RAISED
        for k in range(n):
            b = own.blocks.touched[self.first + k]
            p = own.blocks.start[b]
            for l in range(L):
                e = (b - self.first) * L + l
                self.diagonal.h[e] = self.new_h[k * L + l]
                g = own.sums[l, p] if own.setting.dual else own.g[l, p]
                own.move[l, p] = own.setting.eta[l] * self.diagonal.h[e] * g
        return 0

    cdef void commit(self, Block own) noexcept nogil:
        cdef Py_ssize_t e, k, l
        cdef Py_ssize_t L = own.setting.L
        for k in range(own.blocks.n_touched[self.number]):
            e = (own.blocks.touched[self.first + k] - self.first) * L
            for l in range(L):
                self.diagonal.G[e + l] = self.new_G[k * L + l]


cdef class Block(Points):
    """Blocks of G; points lie in the order of their blocks."""

    cdef Partition blocks
    cdef list families               # the largest blocks first
    cdef Py_ssize_t[::1] at          # where they are in memory, for loops
    cdef double[::1] part            # H of a block, where the domain does not separate
    cdef double[::1] charged         # per block: the round up to which it has forgotten
    cdef double share                # the factor on steps that blocks share
    cdef bint touch_all              # every round moves all blocks
    cdef bint in_one_pass            # rounds in which no unit grows cannot fail
    cdef long long[::1] saved, reset   # per block: the last change of units that it was part of

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        blocks = partition_of(setting)
        if setting.forgotten > 0.0:
            arrays["charged"] = np.zeros(blocks.n_blocks)
        for size, count in zip(blocks.sizes, blocks.counts, strict=True):
            count *= setting.L
            family = {"G": np.full(count, setting.epsilon)} if size == 1 else cls.allocate_family(setting, count, size)
            arrays.update({f"{size}:{name}": array for name, array in family.items()})
        return arrays

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        sizes = [size for size in partition_of(setting).sizes if size > 1]
        found = [out_of_range(arrays, "charged", arrays["clock"][0], whole=False),
                 *(cls.mismatch_of_family(of_size(arrays, size)) for size in sizes)]
        return next(filter(None, found), None)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        for name, array in arrays.items():
            if ":" in name and array.ndim == 3:              # matrices; a copy or a pickle loses this
                arrays[name] = where_vectors_begin(array)
        super().__init__(setting, potential, domain, arrays)
        self.blocks, self.share, self.charged = partition_of(setting), 1.0, arrays.get("charged")
        self.touch_all = (self.penalised or (setting.dual and (self.projects_whole or potential.time_varying))
                          or (self.memory is not None and self.projects_whole))
        self.evaluates_published = self.memory is None and not (setting.scaled and setting.start != 0.0)    # blocks forget late
        if not self.unconstrained:
            self.H, self.part = np.zeros(self.blocks.size[0] ** 2), np.empty(self.blocks.size[0] ** 2)
        if self.projects_whole:
            domain.prepare_full()
            self.H = np.zeros(setting.d * setting.d)
        self.saved, self.reset = np.zeros((2, self.blocks.n_blocks), dtype=np.longlong)
        self.families = [Scalars(self, f) if size == 1 else self.make_family(f) for f, size in enumerate(self.blocks.sizes)]
        self.at = np.array([<Py_ssize_t> <void*> family for family in self.families])

    def field(self, name):
        """In the order of the coordinates."""
        return super().field(name)[:, self.blocks.place]

    def kept_of_blocks(self):
        """What is left of the numbers of each block after the rounds that it has not forgotten yet."""
        if self.memory is None:
            return np.ones(self.blocks.n_blocks)
        return np.exp((self.arrays["clock"][0] - self.arrays["charged"]) * self.memory.log_lam)

    def kept_so_far(self):
        return self.kept_of_blocks()[np.asarray(self.blocks.block_at)[self.blocks.place]]

    def accumulated(self):
        """The blocks of G, with zeros between them, in the order of the coordinates."""
        kept = self.kept_of_blocks()

        def matrices(Family family, count):
            own = kept[family.first:family.first + count].repeat(self.setting.L)[:, None, None]
            return own * family.matrices.accumulated() + (1.0 - own) * self.setting.epsilon * np.eye(family.n)

        return self.assembled(matrices)

    def spectrum(self):
        """Block by block; nothing is forgotten where regret is bounded."""
        cdef Family family
        parts = []
        for family in self.families:
            values = np.linalg.eigvalsh(family.matrices.accumulated()).reshape(-1, self.setting.L, family.n)
            parts.append(values.transpose(1, 0, 2).reshape(self.setting.L, -1))
        return np.concatenate(parts, axis=1)

    def preconditioner(self):
        """H of the last step, block by block: of the decompositions and inverses that steps are taken with."""
        rates = np.asarray(self.setting.eta)

        def matrices(Family family, count):
            return family.matrices.preconditioner(family.matrices.accumulated(), np.tile(rates, count))

        return self.assembled(matrices)

    def assembled(self, matrices):
        """(L, D, D) from the matrices of each family, (blocks · L, n, n)."""
        cdef Family family
        L, D = self.setting.L, self.setting.D
        whole, p = np.zeros((L, D, D)), 0
        for family, count in zip(self.families, self.blocks.counts):
            n = family.n
            for block in matrices(family, count).reshape(count, L, n, n):
                whole[:, p:p + n, p:p + n] = block
                p += n
        return whole[:, self.blocks.place[:, None], self.blocks.place]

    cdef inline Py_ssize_t entry(self, Py_ssize_t block, Py_ssize_t vector) noexcept nogil:
        """The number of a block's matrix in its family."""
        return (block - self.blocks.first_block[self.blocks.family[block]]) * self.setting.L + vector

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        self.undo.clear()
        self.blocks.take(row, self.touch_all)
        if self.scale is not None:
            self.find_share()
            self.fused = self.in_one_pass and self.scale.grew == 0   # a block in units far larger may overflow

    cdef void find_share(self) noexcept nogil:
        """The factor on steps that blocks share, under online scaling."""
        self.scale.norm2 = self.blocks.largest_squares()
        self.share = 1.0
        if self.scale.new_spread() > 0.0:
            self.share = sqrt(self.clock.tau / self.scale.new_spread())

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        if row.index == NULL:
            self.find_margins(row, self.blocks.z, NULL, margins)
        else:
            self.find_margins(row, row.z, &self.blocks.positions[0], margins)

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
        cdef Py_ssize_t f
        self.slopes = slopes
        self.take_units(row)
        for f in range(self.blocks.n_families):
            if self.blocks.n_touched[f] > 0:
                (<Family> <void*> self.at[f]).learn(self)

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t f
        cdef int status = 0
        for f in range(self.blocks.n_families):
            if self.blocks.n_touched[f] > 0 and status == 0:
                status = (<Family> <void*> self.at[f]).precondition(self)
        return status

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
        for f in range(self.blocks.n_families):
            if self.memory is not None:
                for k in range(self.blocks.n_touched[f]):
                    self.charged[self.blocks.touched[self.blocks.first_block[f] + k]] = self.clock.t
            (<Family> <void*> self.at[f]).commit(self)
        return 0

    cdef int rest(self, Row* row) noexcept nogil:
        return self.take_units(row)

    cdef void find_gradients(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Of neighbouring coordinates, all of them touched; ``sums`` is for dual averaging only."""
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t i, l
        cdef double unit, slope
        cdef double* g
        cdef const double* z = self.blocks.z
        for l in range(self.setting.L):
            g, slope = &self.g[l, 0], self.slopes[l]
            for i in range(start, end):
                g[i] = slope * z[i]
            if self.penalised:
                for i in range(start, min(end, self.setting.d)):
                    unit = self.unit(i)
                    g[i] += self.setting.l2 * self.x[l * D + i] / (unit * unit * self.loss_units[l])
            if self.setting.dual:
                for i in range(start, end):
                    self.sums[l, i] = g[i] + self.kept * self.theta[l * D + i]

    cdef double step_to_goal(self, Py_ssize_t vector, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """``goal`` of neighbouring coordinates before any projection; the sum of their sizes."""
        cdef Py_ssize_t i
        cdef double rate = self.rho[vector] * self.share
        cdef double* goal = &self.goal[vector, 0]
        cdef const double* x = self.x + vector * self.setting.D
        cdef const double* move = &self.move[vector, 0]
        if not self.setting.dual:
            return propose_outer(&rate, move + start, x + start, goal + start, 1, end - start)
        for i in range(start, end):
            goal[i] = self.begun(i) - rate * move[i]
        return total_size(goal + start, end - start)

    cdef void write(self, Py_ssize_t vector, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
        """Let n coordinates take their goal, and the average's accumulator its part."""
        cdef double* u = self.u + vector * self.setting.D + start if self.u != NULL else NULL
        take_goal(self.kept, self.clock.C, &self.goal[vector, start], self.x + vector * self.setting.D + start, u, n)

    # ---- units and forgetting -----------------------------------------------------------------------------------

    cdef Py_ssize_t position_of(self, Py_ssize_t i) noexcept nogil:
        return self.blocks.position[i]

    cdef double unit(self, Py_ssize_t p) noexcept nogil:
        return self.scale.unit(self.blocks.coordinate[p]) if self.scale is not None else 1.0

    cdef int take_units(self, Row* row) noexcept nogil:
        """Carry the blocks over to the units of this row."""
        cdef Py_ssize_t b, j, k
        if self.scale is None or self.scale.grew == 0:
            return 0
        self.change_units(row)
        if self.setting.dual:
            for k in range(self.scale.grew):
                j = self.scale.grown[k]
                b = self.blocks.block_at[self.blocks.position[row.index[j] if row.index != NULL else j]]
                if self.reset[b] != self.blocks.now:         # each block once
                    self.reset[b] = self.blocks.now
                    self.save(b)
                    if self.reset_sums(b) != 0:
                        return POTENTIAL_RAISED
        return 0

    cdef void enter_unit(self, Py_ssize_t p, double growth) noexcept nogil:
        cdef Py_ssize_t l, b = self.blocks.block_at[p]
        if self.memory is not None:
            self.catch_up(b)
        if growth > 0.0:
            self.save(b)
            for l in range(self.setting.L):
                (<Family> <void*> self.at[self.blocks.family[b]]).matrices.carry(self.entry(b, l), p - self.blocks.start[b], growth)

    cdef int reset_sums(self, Py_ssize_t block) noexcept nogil:
        """θ of a block such that x_1 − Hθ is x."""
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t p = self.blocks.start[block]
        cdef Py_ssize_t n = self.blocks.size[block]
        for l in range(self.setting.L):
            self.undo.save(self.theta + l * D + p, n)
            for i in range(p, p + n):
                self.goal[l, i] = (self.begun(i) - self.x[l * D + i]) / (self.rho[l] * self.share)
            if (<Family> <void*> self.at[self.blocks.family[block]]).matrices.solve(
                    self.entry(block, l), &self.goal[l, p], self.setting.eta[l], self.theta + l * D + p) != 0:
                return POTENTIAL_RAISED
        return 0

    cdef void save(self, Py_ssize_t block) noexcept nogil:
        """Log the matrices of a block, once in a round."""
        if self.saved[block] != self.blocks.now:
            self.saved[block] = self.blocks.now
            (<Family> <void*> self.at[self.blocks.family[block]]).matrices.save(self.undo, self.entry(block, 0), self.setting.L)

    cdef void catch_up(self, Py_ssize_t block) noexcept nogil:
        """A block forgets the rounds before this one that did not touch it."""
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t start = self.blocks.start[block]
        cdef Py_ssize_t n = self.blocks.size[block]
        cdef Py_ssize_t l
        cdef double rounds = self.clock.t - 1.0 - self.charged[block]
        cdef double kept, lost
        if rounds <= 0.0:
            return
        kept, lost = self.memory.after(rounds), self.memory.lost_after(rounds)
        self.save(block)
        self.undo.save(&self.charged[block], 1)
        for l in range(self.setting.L):
            (<Family> <void*> self.at[self.blocks.family[block]]).matrices.pass_by(self.entry(block, l), kept, lost)
            if self.u != NULL:
                self.fade(self.u + l * D + start, n, kept)
            if self.setting.dual:
                self.fade(self.theta + l * D + start, n, kept)
        self.charged[block] = self.clock.t - 1.0

    cdef void fade(self, double* numbers, Py_ssize_t n, double kept) noexcept nogil:
        """n numbers keep so much."""
        self.undo.save(numbers, n)
        keep(numbers, n, kept, 0.0)

    # ---- the domain ---------------------------------------------------------------------------------------------

    cdef int project(self, Py_ssize_t vector) noexcept nogil:
        """Block by block where the domain separates, else the whole point; the intercept is a block of its own, and free."""
        cdef Py_ssize_t b, f, k, p
        cdef double unit
        cdef double* goal = &self.goal[vector, 0]
        if self.projects_whole:
            return self.project_part(self.domain, vector, 0, self.setting.d, -1)
        for f in range(self.blocks.n_families):
            for k in range(self.blocks.n_touched[f]):
                b = self.blocks.touched[self.blocks.first_block[f] + k]
                p = self.blocks.start[b]
                if p >= self.setting.d:
                    continue
                if self.blocks.size[b] == 1:
                    unit = self.unit(p)
                    goal[p] /= unit
                    (<Family> <void*> self.at[f]).domain.project_diagonal(goal + p, NULL)
                    goal[p] *= unit
                elif self.project_part((<Family> <void*> self.at[f]).domain, vector, p, self.blocks.size[b], b) != 0:
                    return NOT_PROJECTED
        return 0

    cdef int find_H(self, Py_ssize_t vector, Py_ssize_t block, bint anew) noexcept nogil:
        """Of all blocks, where ``block`` is none: those that cannot be had anew are had again."""
        cdef Py_ssize_t b, i, j, n, p
        cdef Py_ssize_t d = self.setting.d
        if block >= 0:
            return self.find_part(vector, block, anew, &self.H[0])
        for b in range(self.blocks.n_blocks):
            n, p = self.blocks.size[b], self.blocks.start[b]
            if p >= d:
                continue
            if not (anew and self.find_part(vector, b, True, &self.part[0]) == 0):
                if self.find_part(vector, b, False, &self.part[0]) != 0:
                    return POTENTIAL_RAISED
            for i in range(n):
                for j in range(n):
                    self.H[(p + i) * d + p + j] = self.part[i * n + j]
        return 0

    cdef int find_part(self, Py_ssize_t vector, Py_ssize_t block, bint anew, double* H) noexcept nogil:
        """H_t of a block, touched or not."""
        cdef Py_ssize_t e = self.entry(block, vector)
        cdef bint touched = self.blocks.touches(block)
        cdef double eta = self.setting.eta[vector]
        if not anew:
            return (<Family> <void*> self.at[self.blocks.family[block]]).matrices.explicit(e, touched, eta, H)
        if touched and (<Family> <void*> self.at[self.blocks.family[block]]).matrices.explicit_anew(
                e, &self.g[vector, self.blocks.start[block]], eta, H):
            return 0
        return NOT_DEFINITE


cdef class BlockONS(Block):
    """The Online Newton Step in blocks."""

    @staticmethod
    def allocate_family(Setting setting, count, size):
        return Inverse.allocate(setting, count, size, min(MOST, max(LEAST, 2 * size)))

    @staticmethod
    def mismatch_of_family(arrays):
        return Inverse.mismatch(arrays)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        if self.memory is not None:              # the prior returns in the rounds that touch a block, whatever their gradients
            self.always_steps = True

    def make_family(self, number):
        return Inverses(self, number)

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Block.bind_loss(self, curvatures, steep)
        self.fused = self.in_one_pass = not (self.setting.dual or self.penalised or self.always_steps) and self.unconstrained


cdef class BlockSpectral(Block):
    """Any ψ in blocks."""

    @staticmethod
    def allocate_family(Setting setting, count, size):
        return Basis.allocate(setting, count, size, ROOM if size <= SMALL else 0)

    @staticmethod
    def mismatch_of_family(arrays):
        return Basis.mismatch(arrays)

    def make_family(self, number):
        return Bases(self, number)

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Block.bind_loss(self, curvatures, steep)
        self.fused = self.in_one_pass = (self.unconstrained and self.setting.refresh > 0.0 and self.potential.power == 0.5
                                         and self.blocks.size[0] <= SMALL and self.memory is None
                                         and not (self.setting.dual or self.penalised or self.always_steps))
