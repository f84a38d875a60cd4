# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What a penalty on the combined weights means to those who combine: its gradient and curvature in v.

Each lane of a stack minimises loss and penalty, but a v that saw the loss alone would scale their weights up again. With w_i the
i-th coefficient of every candidate, the combined coefficient is v·w_i, so

    R(v) = Σ_i l1 |v·w_i| + l2/2 (v·w_i)²,    ∇R = l1 Σ_i sign(v·w_i) w_i + (l2 Σ_i w_i w_iᵀ) v.

Both sums take O(d); they are renewed each time that as many numbers of rows have been read, so a round stays O(nnz) amortised.
"""
from ._cells cimport Cells
from ._coordinatewise cimport Coordinatewise
from ._rows cimport Row
from ._setting cimport Setting

import numpy as np

cdef double ROWS_OF_NUMBERS = 4.0    # between renewals, in coefficients


cdef class CombinedPenalty:
    """The penalty of a stack whose lanes are those of ``structure``."""

    @staticmethod
    def allocate(Setting setting, Py_ssize_t stacks, Py_ssize_t width):
        if setting.l1 == 0.0 and setting.l2 == 0.0:
            return {}
        return {"stack_penalty_Q": np.zeros((stacks, width, width)), "stack_penalty_q": np.zeros((stacks, width)),
                "stack_penalty_work": np.zeros(1)}

    def __init__(self, Coordinatewise structure, dict arrays):
        self.setting, self.clock, self.scale, self.cells = structure.setting, structure.clock, structure.scale, structure.cells
        self.Q, self.q = arrays["stack_penalty_Q"], arrays["stack_penalty_q"]
        self.work = arrays["stack_penalty_work"]
        self.width = self.q.shape[1]
        self.averages = self.width - self.setting.R
        self.w = np.empty(self.width)

    cdef void add(self, Py_ssize_t which, const double* v, double unit, double* gradient, double* S) noexcept nogil:
        """One round's penalty, in this unit of the loss, into the gradient and the matrix of a v."""
        cdef Py_ssize_t a, b
        for a in range(self.width):
            gradient[a] += self.q[which, a] / unit
            for b in range(self.width):
                gradient[a] += self.Q[which, a, b] / unit * v[b]
                S[a * self.width + b] += self.Q[which, a, b] / unit

    cdef void commit(self, Row* row, const double[:, ::1] v) noexcept nogil:
        """The round stands."""
        self.work[0] += row.n
        if self.work[0] >= ROWS_OF_NUMBERS * self.setting.d:
            self.work[0] = 0.0
            self.renew(v)

    cdef void renew(self, const double[:, ::1] v) noexcept nogil:
        cdef Py_ssize_t a, b, i, k, r, e, which
        cdef Py_ssize_t K = self.setting.K
        cdef double total, size = self.clock.C
        self.Q[:, :, :] = 0.0
        self.q[:, :] = 0.0
        for i in range(self.setting.d):
            for k in range(K):
                which = 0 if self.setting.joint else k
                total = 0.0
                for r in range(self.setting.R):
                    e = i * self.cells.stride + r * K + k
                    self.w[self.averages + r] = self.cells.x[e]
                    if self.averages:
                        self.w[r] = self.cells.x[e] - self.cells.u[e] / size
                for a in range(self.width):
                    if self.scale is not None:
                        self.w[a] /= self.scale.unit(i)
                    total += v[which, a] * self.w[a]
                for a in range(self.width):
                    self.q[which, a] += self.setting.l1 * ((total > 0.0) - (total < 0.0)) * self.w[a]
                    for b in range(self.width):
                        self.Q[which, a, b] += self.setting.l2 * self.w[a] * self.w[b]
