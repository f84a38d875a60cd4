# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""A half-life for inverses that are kept by rank-one updates, still O(D²) a round.

``Inverse`` holds the inverse of Ĝ with G = f Ĝ, f = λ^t: to forget is to multiply f, and a gradient g enters Ĝ as g/√f. When f is
tiny it is set back to 1, in O(D²), every 200 half-lives.

The prior, of which λ takes (1 − λ) ε I in a round, cannot come back in every direction at once, which would be D updates. It comes
back in some coordinates a round, in turn: (n/m)(1 − λ) ε in each of the next m = ⌈n(1 − λ)⌉ of n coordinates, after the step. m is 1
while a half-life is longer than 0.7 n rounds; no coordinate has less than 0.58 ε of its prior before it has its turn (for m = 1 and
large n, a/(e^a − 1) at a = n(1 − λ) ≤ 1).
"""
from libc.math cimport ceil, fmin

import numpy as np

cdef double FAINTEST = 1e-60
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
        if not ((np.asarray(self.turn) >= 0.0) & (np.asarray(self.turn) < inverse.D)).all():
            raise ValueError("a turn beyond the coordinates")

    cdef double next_fade(self, Py_ssize_t lane) noexcept nogil:
        """f with the round under way."""
        return self.fade[lane] * self.memory.lam

    cdef void pass_by(self, Py_ssize_t lane, double kept, double lost) noexcept nogil:
        """Rounds pass that keep so much, 1 − ``lost``; nothing can fail any more."""
        self.fade[lane] *= kept
        if self.fade[lane] < FAINTEST:
            self.inverse.multiply(lane, self.fade[lane])
            self.fade[lane] = 1.0
        self.give_back(lane, lost)

    cdef void give_back(self, Py_ssize_t lane, double lost) noexcept nogil:
        cdef Py_ssize_t n = self.inverse.D
        cdef Py_ssize_t i = <Py_ssize_t> self.turn[lane]
        cdef Py_ssize_t k
        cdef Py_ssize_t m = <Py_ssize_t> fmin(n, ceil(n * lost - ROUNDING))
        m = m if m > 0 else 1
        for k in range(m):
            self.inverse.raise_coordinate(lane, i, n * lost * self.epsilon / (m * self.fade[lane]))
            i = i + 1 if i + 1 < n else 0
        self.turn[lane] = i

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t lanes) noexcept nogil:
        log.save(&self.fade[first], lanes)
        log.save(&self.turn[first], lanes)
