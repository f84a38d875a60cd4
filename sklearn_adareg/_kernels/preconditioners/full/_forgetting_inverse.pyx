"""A half-life for inverses that are kept by rank-one updates, still O(D²) a round.

``Inverse`` holds the inverse of Ĝ with G = f Ĝ, f = λ^t: to forget is to multiply f, and a gradient g enters Ĝ as g/√f. When f is
tiny it is set back to 1, in O(D²), every 200 half-lives.

The prior, of which λ takes (1 − λ) ε I in a round, cannot come back in every direction at once, which would be D updates. It comes
back in some coordinates a round, in turn: (n/m)(1 − λ) ε in each of the next m = ⌈n(1 − λ)⌉ of n coordinates, after the step. m is 1
while a half-life is longer than 0.7 n rounds. A coordinate waits at most about 1/(1 − λ) rounds for its turn, and so has between a
quarter of its prior and twice as much at all times.
"""
from libc.math cimport ceil, fmax, fmin

from ...linalg._loops cimport mirror

from ...state._saved import out_of_range

import numpy as np

cdef double FAINTEST = 1e-60
cdef double SELDOM = 0.4             # blocks that were not touched for more than a half-life keep less
cdef double ROUNDING = 1e-9          # n(1 − λ) that is a whole number but for rounding


cdef class Fading:
    """What the G of each weight vector of an inverse has forgotten."""

    @staticmethod
    def allocate(Setting setting, Py_ssize_t vectors):
        """The arrays of so many weight vectors; none where nothing is forgotten."""
        return {"fade": np.ones(vectors), "turn": np.zeros(vectors)} if setting.forgotten > 0.0 else {}

    @staticmethod
    def mismatch(dict arrays):
        """Why saved arrays are none of these, in a clause; None if they are."""
        return out_of_range(arrays, "turn", arrays["P"].shape[1] - 1) or out_of_range(arrays, "fade", 1.0, whole=False)

    def __init__(self, Setting setting, Inverse inverse, dict arrays):
        self.inverse, self.memory, self.epsilon = inverse, Forgetting(setting), setting.epsilon
        self.fade, self.turn = arrays["fade"], arrays["turn"]

    cdef double next_fade(self, Py_ssize_t vector) noexcept nogil:
        """f with the round under way."""
        return self.fade[vector] * self.memory.lam

    cdef void pass_by(self, Py_ssize_t vector, double kept, double lost) noexcept nogil:
        """Rounds pass that keep so much, 1 − ``lost``; nothing can fail any more."""
        if kept < SELDOM:
            self.anew(vector, kept, lost)
            return
        self.fade[vector] *= kept
        if self.fade[vector] < FAINTEST:
            self.inverse.multiply(vector, self.fade[vector])
            self.fade[vector] = 1.0
        self.give_back(vector, lost)

    cdef Py_ssize_t turns(self, double lost) noexcept nogil:
        """How many coordinates get their prior back."""
        cdef Py_ssize_t m = <Py_ssize_t> fmin(self.inverse.D, ceil(self.inverse.D * lost - ROUNDING))
        return m if m > 0 else 1

    cdef void give_back(self, Py_ssize_t vector, double lost) noexcept nogil:
        cdef Py_ssize_t n = self.inverse.D
        cdef Py_ssize_t m = self.turns(lost)
        cdef Py_ssize_t i = <Py_ssize_t> self.turn[vector]
        cdef Py_ssize_t _
        for _ in range(m):
            self.inverse.raise_coordinate(vector, i, n * lost * self.epsilon / (m * self.fade[vector]))
            i = i + 1 if i + 1 < n else 0
        self.turn[vector] = i

    cdef void anew(self, Py_ssize_t vector, double kept, double lost) noexcept nogil:
        """The same by a new inverse of G, in O(n³): where most is forgotten, updates of P would cancel its digits."""
        cdef Py_ssize_t n = self.inverse.D
        cdef Py_ssize_t m = self.turns(lost)
        cdef Py_ssize_t i = <Py_ssize_t> self.turn[vector]
        cdef Py_ssize_t k
        self.inverse.fold(vector)
        self.inverse.multiply(vector, fmax(FAINTEST, self.fade[vector] * kept))
        self.fade[vector] = 1.0
        for k in range(m):
            self.inverse.G[vector, (i + k) % n, (i + k) % n] += n * lost * self.epsilon / m
        if self.inverse.rebuild(vector):
            mirror(&self.inverse.P[vector, 0, 0], n)
            self.turn[vector] = (i + m) % n
            return
        for k in range(m):
            self.inverse.G[vector, (i + k) % n, (i + k) % n] -= n * lost * self.epsilon / m
        self.give_back(vector, lost)

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t vectors) noexcept nogil:
        log.save(&self.fade[first], vectors)
        log.save(&self.turn[first], vectors)
