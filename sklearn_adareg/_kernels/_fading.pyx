# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""A half-life for inverses that are kept by rank-one updates, still O(D²) a round.

``Inverse`` holds the inverse of Ĝ with G = f Ĝ, f = λ^t: to forget is to multiply f, and a gradient g enters Ĝ as g/√f. When f is
tiny it is set back to 1, in O(D²), every 200 half-lives.

The prior, of which λ takes (1 − λ) ε I in a round, cannot come back in every direction at once, which would be D updates. It comes
back in some coordinates a round, in turn: (n/m)(1 − λ) ε in each of the next m = ⌈n(1 − λ)⌉ of n coordinates, after the step. m is 1
while a half-life is longer than 0.7 n rounds. A coordinate waits at most about 1/(1 − λ) rounds for its turn, and so has between a
quarter of its prior and twice as much at all times.
"""
from libc.math cimport ceil, fmax, fmin

from ._loops cimport mirror

import numpy as np

cdef double FAINTEST = 1e-60
cdef double SELDOM = 0.4             # blocks that were not touched for more than a half-life keep less
cdef double ROUNDING = 1e-9          # n(1 − λ) that is a whole number but for rounding


cdef class Fading:
    """What the G of each lane of an inverse has forgotten."""

    @staticmethod
    def allocate(Setting setting, Py_ssize_t lanes):
        """The arrays of so many lanes; none where nothing is forgotten."""
        return {"fade": np.ones(lanes), "turn": np.zeros(lanes)} if setting.forgotten > 0.0 else {}

    def __init__(self, Setting setting, Inverse inverse, dict arrays):
        self.inverse, self.memory, self.epsilon = inverse, Forgetting(setting), setting.epsilon
        self.fade, self.turn = arrays["fade"], arrays["turn"]

    cdef double next_fade(self, Py_ssize_t lane) noexcept nogil:
        """f with the round under way."""
        return self.fade[lane] * self.memory.lam

    cdef void pass_by(self, Py_ssize_t lane, double kept, double lost) noexcept nogil:
        """Rounds pass that keep so much, 1 − ``lost``; nothing can fail any more."""
        if kept < SELDOM:
            self.anew(lane, kept, lost)
            return
        self.fade[lane] *= kept
        if self.fade[lane] < FAINTEST:
            self.inverse.multiply(lane, self.fade[lane])
            self.fade[lane] = 1.0
        self.give_back(lane, lost)

    cdef Py_ssize_t turns(self, double lost) noexcept nogil:
        """How many coordinates get their prior back."""
        cdef Py_ssize_t m = <Py_ssize_t> fmin(self.inverse.D, ceil(self.inverse.D * lost - ROUNDING))
        return m if m > 0 else 1

    cdef void give_back(self, Py_ssize_t lane, double lost) noexcept nogil:
        cdef Py_ssize_t n = self.inverse.D
        cdef Py_ssize_t m = self.turns(lost)
        cdef Py_ssize_t i = <Py_ssize_t> self.turn[lane]
        cdef Py_ssize_t _
        for _ in range(m):
            self.inverse.raise_coordinate(lane, i, n * lost * self.epsilon / (m * self.fade[lane]))
            i = i + 1 if i + 1 < n else 0
        self.turn[lane] = i

    cdef void anew(self, Py_ssize_t lane, double kept, double lost) noexcept nogil:
        """The same by a new inverse of G, in O(n³): where most is forgotten, updates of P would cancel its digits."""
        cdef Py_ssize_t n = self.inverse.D
        cdef Py_ssize_t m = self.turns(lost)
        cdef Py_ssize_t i = <Py_ssize_t> self.turn[lane]
        cdef Py_ssize_t k
        self.inverse.fold(lane)
        self.inverse.multiply(lane, fmax(FAINTEST, self.fade[lane] * kept))
        self.fade[lane] = 1.0
        for k in range(m):
            self.inverse.G[lane, (i + k) % n, (i + k) % n] += n * lost * self.epsilon / m
        if self.inverse.rebuild(lane):
            mirror(&self.inverse.P[lane, 0, 0], n)
            self.turn[lane] = (i + m) % n
            return
        for k in range(m):
            self.inverse.G[lane, (i + k) % n, (i + k) % n] -= n * lost * self.epsilon / m
        self.give_back(lane, lost)

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t lanes) noexcept nogil:
        log.save(&self.fade[first], lanes)
        log.save(&self.turn[first], lanes)
