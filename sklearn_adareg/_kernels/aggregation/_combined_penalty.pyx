"""What a penalty on the combined weights means to those who combine: its gradient and curvature in v.

Each weight vector of a stack minimises loss and penalty, but a v that saw the loss alone would scale their weights up again. With
w_i the i-th coefficient of every candidate, the combined coefficient is m_i = v·w_i, so

    R(v) = Σ_i l1 |v·w_i| + l2/2 (v·w_i)²  ≤  ½ vᵀQv + const,    Q = Σ_i (l1/|m_i| + l2) w_i w_iᵀ,

the quadratic that touches R at the v for which the m_i were computed. Q is renewed each time that a few times as many numbers of rows
have been read as there are features seen, so a round stays O(nnz) amortised.
"""
from libc.math cimport fabs, fmax

from ..preconditioners.diagonal._coordinatewise cimport Coordinatewise
from ..data._rows cimport Row
from ..state._setting cimport Setting

import numpy as np

cdef double NUMBERS = 4.0            # read between renewals, per feature seen,
cdef double AT_LEAST = 0.125         # and per feature


cdef class CombinedPenalty:
    """The penalty of a stack whose weight vectors are those of ``structure``."""

    @staticmethod
    def allocate(Setting setting, Py_ssize_t stacks, Py_ssize_t width):
        if setting.l1 == 0.0 and setting.l2 == 0.0:
            return {}
        return {"stack_penalty": np.zeros((stacks, width, width)), "stack_numbers": np.zeros(2)}

    def __init__(self, Coordinatewise structure, dict arrays):
        self.structure = structure
        self.setting, self.clock, self.scale, self.cells = structure.setting, structure.clock, structure.scale, structure.cells
        self.Q, self.numbers = arrays["stack_penalty"], arrays["stack_numbers"]
        self.width = self.Q.shape[1]
        self.averages = self.width - self.setting.R
        self.w = np.empty(self.width)

    cdef void add(self, Py_ssize_t which, const double* v, double unit, double* gradient, double* S) noexcept nogil:
        """One round's penalty, in this unit of the loss, into the gradient and the matrix of a v."""
        join(&self.Q[which, 0, 0], v, unit, self.width, gradient, S)

    cdef void count(self, Row* row) noexcept nogil:
        """The round stands, and its units are not committed yet: count what it reads, zeros not, and what it sees first."""
        cdef Py_ssize_t i, j, k
        for j in range(row.n - self.setting.intercept):
            self.numbers[0] += row.z[j] != 0.0
        for k in range(self.scale.grew):
            j = self.scale.grown[k]
            i = row.index[j] if row.index != NULL else j
            self.numbers[1] += i < self.setting.d and self.scale.scale[i] == 0.0

    cdef void commit(self, const double[:, ::1] v) noexcept nogil:
        """Renew Q where that is due."""
        if self.numbers[0] >= fmax(NUMBERS * self.numbers[1], AT_LEAST * self.setting.d):
            self.numbers[0] = 0.0
            self.renew(v)

    cdef void renew(self, const double[:, ::1] v) noexcept nogil:
        cdef Py_ssize_t a, i, k, r, e, which
        cdef Py_ssize_t K = self.setting.K
        cdef double kept = 1.0
        self.Q[:, :, :] = 0.0
        for i in range(self.setting.d):
            if self.scale.scale[i] == 0.0:
                continue
            if self.structure.memory is not None:        # a coordinate forgets when it is touched
                kept = self.structure.memory.after(self.clock.t - self.structure.charged[i])
            for k in range(K):
                which = 0 if self.setting.joint else k
                for r in range(self.setting.R):
                    e = i * self.cells.stride + r * K + k
                    self.w[self.averages + r] = self.cells.x[e]
                    if self.averages:
                        self.w[r] = self.cells.x[e] - kept * self.cells.u[e] / self.clock.C
                for a in range(self.width):
                    self.w[a] /= self.scale.scale[i]
                touch(&self.w[0], &v[which, 0], self.width, self.setting.l1, self.setting.l2, &self.Q[which, 0, 0])


cdef void touch(const double* w, const double* v, Py_ssize_t width, double l1, double l2, double* Q) noexcept nogil:
    """Q += (l1/|v·w| + l2) w wᵀ, where |v·w| counts as a tenth of the largest |w_a| at least: else a v that has once made it 0 would
    never leave that again."""
    cdef Py_ssize_t a, b
    cdef double factor, m = 0.0, size = 0.0
    for a in range(width):
        m += v[a] * w[a]
        size = fmax(size, fabs(w[a]))
    if size == 0.0:
        return
    factor = l1 / fmax(fabs(m), 0.1 * size) + l2
    for a in range(width):
        for b in range(width):
            Q[a * width + b] += (factor * w[a]) * w[b]


cdef void join(const double* Q, const double* v, double unit, Py_ssize_t width, double* gradient, double* S) noexcept nogil:
    """Q v and Q, in this unit of the loss, into the gradient and the matrix of a v."""
    cdef Py_ssize_t a, b
    for a in range(width):
        for b in range(width):
            gradient[a] += Q[a * width + b] / unit * v[b]
            S[a * width + b] += Q[a * width + b] / unit
