"""Coordinates in blocks: where they lie, and which blocks a row touches.

The coordinates of a block lie side by side, and the blocks of one size (a family) one behind the other, the largest first. The
intercept is a block of its own and lies last. A row is brought into this order in O(nnz + size of the blocks that it touches).
"""
from libc.string cimport memcpy, memset

from ...data._rows cimport Row

import numpy as np


cdef class Partition:
    """The blocks of the D coordinates; ``blocks`` has the number of each coefficient's block, 0, 1, …"""

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
