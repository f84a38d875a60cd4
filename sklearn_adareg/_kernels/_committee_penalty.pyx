# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What a penalty on the published weights means to a committee.

Each member minimises loss and penalty. So candidates are judged by both, and a regression on members has the penalty of what it
combines as the quadratic that touches it (``_combined_penalty``). Both are computed anew every EVERY rounds, in O(D) for each pair of
a candidate and a member.
"""
from libc.math cimport fabs
from libc.string cimport memset

from ._combined_penalty cimport join, touch
from ._columns import Columns
from ._structures cimport Structure

import numpy as np

cdef double EVERY = 16.0


cdef class CommitteePenalty:
    """The penalties of ``others`` candidates and of the members themselves: averages of steady ones, then the iterates of all."""

    @staticmethod
    def allocate(Setting setting, Py_ssize_t groups, Py_ssize_t S, Py_ssize_t others):
        if setting.l1 == 0.0 and setting.l2 == 0.0:
            return {}
        return {"committee_penalty": np.zeros((groups, S + setting.R + others + S * S + setting.R * setting.R))}

    def __init__(self, Structure structure, steady_members, Py_ssize_t others):
        arrays, setting = structure.arrays, structure.setting
        cdef double[:, :, ::1] cells = arrays["cells"]
        fields = arrays["fields"]
        self.setting, self.clock, self.owner = setting, structure.clock, arrays["cells"]
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.factors = arrays["columns"][:, Columns.names().index("factor")]
        self.steady_members, self.numbers = steady_members, arrays["committee_penalty"]
        self.S, self.R = len(steady_members), setting.R
        self.first = self.S + self.R
        self.candidates = np.zeros((others, self.first))
        self.w = np.empty(self.first)

    cdef bint due(self) noexcept nogil:
        """Whether penalties are to be computed anew after the round under way."""
        return self.clock.t <= EVERY or self.clock.t % EVERY == 0.0

    cdef void renew(self, Py_ssize_t group, Py_ssize_t vectors, const double* steady_v, const double* recent_v) noexcept nogil:
        """Penalties and quadratics for the ``candidates`` of a group of weight vectors, which starts with its number."""
        cdef Py_ssize_t a, c, i, k, e
        cdef Py_ssize_t K = self.setting.K
        cdef Py_ssize_t D = self.setting.D
        cdef double* values = &self.numbers[group, 0]
        cdef double* Q = values + self.first + self.candidates.shape[0]
        cdef double m
        memset(values, 0, self.numbers.shape[1] * sizeof(double))
        for k in range(group, group + vectors):
            for i in range(self.setting.d):
                for a in range(self.S):
                    e = (self.steady_members[a] * K + k) * D + i
                    self.w[a] = self.x[e] * self.factors[i]
                    if self.u != NULL:
                        self.w[a] -= self.u[e] / self.clock.C * self.factors[i]
                for a in range(self.R):
                    self.w[self.S + a] = self.x[(a * K + k) * D + i] * self.factors[i]
                for c in range(self.first):
                    values[c] += self.setting.l1 * fabs(self.w[c]) + 0.5 * self.setting.l2 * self.w[c] * self.w[c]
                for c in range(2 if self.R == self.S else self.candidates.shape[0]):
                    m = 0.0
                    for a in range(self.first):
                        m += self.candidates[c, a] * self.w[a]
                    values[self.first + c] += self.setting.l1 * fabs(m) + 0.5 * self.setting.l2 * m * m
                touch(&self.w[0], steady_v, self.S, self.setting.l1, self.setting.l2, Q)
                if self.R > self.S:
                    touch(&self.w[self.S], recent_v, self.R, self.setting.l1, self.setting.l2, Q + self.S * self.S)

    cdef void add(self, Py_ssize_t group, bint steady, const double* v, double unit, double* gradient, double* S) noexcept nogil:
        """One round's penalty, in this unit of the loss, into the gradient and the matrix of a regression."""
        cdef const double* Q = &self.numbers[group, self.first + self.candidates.shape[0]]
        if steady:
            join(Q, v, unit, self.S, gradient, S)
        else:
            join(Q + self.S * self.S, v, unit, self.R, gradient, S)
