"""kronecker: one matrix over the K weight vectors and one over the D coordinates, for all of them (Shampoo, for a linear model).

The gradient of a round is the matrix s zᵀ of slopes and row, and

    L_t = ε I_K + Σ ‖z‖² s sᵀ,    R_t = ε I_D + Σ ‖s‖² z zᵀ,    X_{t+1} = X_t − η L_t^(−a/2) s zᵀ R_t^(−a/2),

a the exponent of ψ(λ) = η λ^(−a). Both factors take the square of one vector a round, so each has a ``Basis`` of its own, which is
reused while that is certified. With L_τ ⪯ L_t ⪯ (1 + δ) L_τ and the same of R, the matrix of the step is at most (1 + δ)^(a/2)
twice, so (1 + δ)^a, of that of L_t and R_t. A step has rank one: O(K² + D² + K D) a round between refreshes.

An L2 penalty makes the gradient s zᵀ + α X, whose rank is that of X: L then takes the squares of its columns and R those of its rows,
O(K D (K + D)) a round. Under online scaling R is carried over to a larger unit as G is elsewhere; L, which sums over the coordinates,
stays as it is.
"""
from libc.math cimport isfinite, sqrt
from libc.string cimport memset

from ..full._eigenbasis cimport Basis
from ...domains._domains cimport Domain
from ..full._full cimport Full
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from ..full._step_loops cimport propose_outer, take_goal
from .._structures cimport NOT_FINITE, POTENTIAL_RAISED

from ...potentials._potentials import HalfPower

import numpy as np

cdef Py_ssize_t SMALL, ROOM
SMALL, ROOM = 40, 16                 # squares for a factor up to this size wait, so many of them


cdef class Kronecker(Full):
    """η L^(−a/2) ⊗ R^(−a/2) over all weight vectors."""

    cdef readonly Potential half_potential       # λ^(−a/2)
    cdef Basis left, right
    cdef double[::1] slopes_in, row_in           # ‖z‖ s and ‖s‖ z: what joins L and R
    cdef double[::1] left_move, right_move       # L^(−a/2) s and R^(−a/2) z, with η and ρ in the first
    cdef double[:, ::1] rows_in, columns_in      # the same of a gradient of any rank
    cdef double[:, ::1] half_move                # that gradient times R^(−a/2)
    cdef double[::1] column

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        for side, size in (("left", setting.L), ("right", setting.D)):
            room = ROOM if size <= SMALL and setting.l2 == 0.0 else 0
            factor = Basis.allocate(setting, 1, size, room)
            arrays.update({f"{side}:{name}": array for name, array in factor.items()})
        return arrays

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        return Basis.mismatch(of_side(arrays, "left")) or Basis.mismatch(of_side(arrays, "right"))

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        cdef Py_ssize_t K = setting.L
        cdef Py_ssize_t D = setting.D
        half = self.half_potential = HalfPower(potential)
        self.left = Basis(setting, half, of_side(arrays, "left"), D if self.penalised else 1)
        self.right = Basis(setting, half, of_side(arrays, "right"), K if self.penalised else 1)
        self.slopes_in, self.left_move = np.empty(K), np.empty(K)
        self.row_in, self.right_move = np.empty(D), np.empty(D)
        if self.penalised:
            self.rows_in, self.columns_in = np.empty((K, D)), np.empty((D, K))
            self.half_move, self.column = np.empty((K, D)), np.empty(K)

    def accumulated(self):
        """L_t and R_t."""
        return self.left.accumulated()[0], self.right.accumulated()[0]

    def preconditioner(self):
        """L^(−a/2) and R^(−a/2) of the last step, whose decompositions may be older than L and R; H is η times their product."""
        one = np.ones(1)
        L, R = self.accumulated()
        return self.left.preconditioner(L[np.newaxis], one)[0], self.right.preconditioner(R[np.newaxis], one)[0]

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """What joins L and R; where a row of weight ω counts as ω rows, their squares have ω and not ω²."""
        cdef Py_ssize_t K = self.setting.L
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t j, l
        cdef double root = self.weight_root()
        cdef double size = 0.0, length = sqrt(row.norm2)
        if self.penalised:
            if Full.accumulate(self, row, slopes) != 0:
                return POTENTIAL_RAISED
            for l in range(K):
                for j in range(D):
                    self.rows_in[l, j] = self.columns_in[j, l] = self.g[l, j] / root
            return 0
        self.slopes = slopes
        if self.take_units(row) != 0:
            return POTENTIAL_RAISED
        for l in range(K):
            self.slopes_in[l] = length * (slopes[l] / root)
            size += slopes[l] * slopes[l]
        size = sqrt(size) / root
        if row.index == NULL:
            for j in range(D):
                self.row_in[j] = size * row.z[j]
        else:
            memset(&self.row_in[0], 0, D * sizeof(double))
            for j in range(row.n):
                self.row_in[row.index[j]] += size * row.z[j]
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        cdef double* s = &self.slopes_in[0]
        cdef double* z = &self.row_in[0]
        cdef double weight, size = 0.0
        if self.penalised:
            return self.precondition_any_rank()
        if self.left.times_H(0, s, s, 1.0, &self.left_move[0]) != 0 or self.right.times_H(0, z, z, 1.0, &self.right_move[0]) != 0:
            return POTENTIAL_RAISED
        for l in range(self.setting.L):
            size += self.slopes[l] * self.slopes[l]
        # ‖z‖ s and ‖s‖ z, both over √ω where rows count as ω, have a factor too many
        weight = self.round_weight if self.setting.weights_as_rows else 1.0
        size = sqrt(size) * sqrt(row.norm2)
        for l in range(self.setting.L):
            self.left_move[l] *= self.setting.eta[l] * self.rho[l] * (weight / size if size > 0.0 else 0.0)
        return 0

    cdef int precondition_any_rank(self) noexcept nogil:
        """move = η L^(−a/2) g R^(−a/2) of a gradient with the penalty's in it."""
        cdef Py_ssize_t K = self.setting.L
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t i, l
        if self.left.take(0, &self.columns_in[0, 0], D) != 0 or self.right.take(0, &self.rows_in[0, 0], K) != 0:
            return POTENTIAL_RAISED
        for l in range(K):
            self.right.times(0, &self.g[l, 0], False, self.setting.eta[l], &self.half_move[l, 0])
        for i in range(D):
            for l in range(K):
                self.column[l] = self.half_move[l, i]
            self.left.times(0, &self.column[0], False, 1.0, &self.left_move[0])
            for l in range(K):
                self.move[l, i] = self.left_move[l]
        return 0

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t K = self.setting.L
        cdef Py_ssize_t D = self.setting.D
        cdef double total
        if self.penalised:
            return Full.update(self, row)
        total = propose_outer(&self.left_move[0], &self.right_move[0], self.x, &self.goal[0, 0], K, D)
        if not isfinite(self.clock.C * total):
            return NOT_FINITE
        take_goal(1.0, self.clock.C, &self.goal[0, 0], self.x, self.u, K * D)
        self.commit()
        return 0

    cdef void commit(self) noexcept nogil:
        if self.penalised:
            self.left.commit(0, &self.columns_in[0, 0], self.setting.D)
            self.right.commit(0, &self.rows_in[0, 0], self.setting.L)
        else:
            self.left.commit(0, &self.slopes_in[0])
            self.right.commit(0, &self.row_in[0])

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void save_matrices(self) noexcept nogil:
        self.right.save(self.undo, 0, 1)

    cdef void carry(self, Py_ssize_t vector, Py_ssize_t i, double growth) noexcept nogil:
        if vector == 0:                                # the matrix is that of all weight vectors
            self.right.carry(0, i, growth)


def of_side(arrays, side):
    """The arrays of one factor."""
    return {name.partition(":")[2]: array for name, array in arrays.items() if name.startswith(side + ":")}
