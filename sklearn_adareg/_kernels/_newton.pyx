# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What "auto" is where the full matrix is affordable: the Online Newton Step without a step size to tune, in any units.

Beside the paper's g gᵀ the matrix takes the curvature that the loss has: a row z with slope ℓ' and curvature ℓ'' adds w z zᵀ with
w = (ℓ'² + ℓ'')/2, or ℓ'' alone where slopes are unbounded, and the step is implicit,

    P ← P − w/(1 + wq) P z zᵀ P,    x ← x − η ℓ' / (1 + (w + η ℓ'') q) P z,    q = zᵀ P z.

It does not depend on the units of the features: the ridge of feature i is ε times its root mean square times its largest
value, which is kept up with by pseudo-rows along e_i; a feature that is never zero is measured from its smallest value, as if
the intercept had been moved there. O(D²) a row and weight vector, O(D·nnz) between folds for sparse rows.

Units come first in a round, since a feature that jumps must shrink its weight before it predicts. They look at the features only, so
the loss stays progressive. What they change is logged, and undone when the round fails.
"""
from libc.math cimport fabs, fmax, fmin, frexp, isfinite, ldexp, sqrt
from libc.string cimport memset

from ._columns cimport Column, Columns
from ._domains cimport Domain
from ._full cimport Full
from ._inverse cimport Inverse
from ._loops cimport axpy, dot, sparse_dot
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting
from ._structures cimport NOT_FINITE, NOT_PROJECTED

from ._lasso import minimised

import numpy as np

cdef double RIDGE_OF_INTERCEPT = 0.1
cdef double GROWTH = 1.2                 # a ridge is renewed when its feature has grown by this factor
cdef double JUMP = 1e4                   # a ridge that grows by more would cancel too many digits of P
cdef double STRONGEST = 1e6              # what a penalty may add at a time, in ridges
cdef double TINY = 1e-290, LARGE = 1e300
cdef double FARTHEST = 1e30              # how far values may be from 1 in their unit
cdef double SURPRISE = 1000.0            # a row so wrong that ℓ'² is beyond this many ℓ'' tells nothing more about curvature


cdef class Newton(Full):
    """G takes slopes and curvatures; features bring their own units."""

    cdef Inverse inverse
    cdef Columns columns
    cdef double[::1] zc                  # the row, centered
    cdef double[:, ::1] subgradient      # of the L1 penalty, in −1 to 1, or None
    cdef double[::1] weights             # per lane: how the proposed z enters the inverse; 0: not at all
    cdef Py_ssize_t centered             # how many features have a center
    cdef Py_ssize_t entered              # how many are in the matrices,
    cdef Py_ssize_t[::1] order           # and which, in the order in which they entered
    cdef bint weights_saved, matrices_saved

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = {**super().allocate(setting, sparse), **Inverse.allocate(setting.L, setting.D, 1.0)}
        arrays["P"][:] = arrays["G"][:] = 0.0
        if setting.intercept:
            arrays["P"][:, setting.d, setting.d] = 1.0 / RIDGE_OF_INTERCEPT
            arrays["G"][:, setting.d, setting.d] = RIDGE_OF_INTERCEPT
        arrays["columns"] = Columns.allocate(setting.d)
        if setting.l1 > 0.0:
            arrays["subgradient"] = np.zeros((setting.L, setting.D))
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.inverse, self.columns = Inverse(arrays, whole=not self.unconstrained), Columns(arrays["columns"])
        self.own_units, self.always_steps = True, False
        self.subgradient = arrays.get("subgradient")
        self.weights, self.zc = np.empty(setting.L), np.empty(1)
        self.longest_step = 0.0
        self.centered = np.count_nonzero(arrays["columns"][:, 1])
        entered = arrays["columns"][:, 7]
        self.entered = np.count_nonzero(entered)
        self.order = np.zeros(len(entered), dtype=np.intp)
        np.asarray(self.order)[entered[entered > 0].astype(np.intp) - 1] = np.flatnonzero(entered)

    def prepare(self, Py_ssize_t widest):
        super().prepare(widest)
        if self.zc.shape[0] < widest:
            self.zc = np.empty(widest)
        self.columns.make_room(widest + self.setting.d)

    def in_raw_units(self, weights):
        """Weights of the features themselves, the intercept as if nothing had been centered."""
        d = self.setting.d
        columns = self.arrays["columns"][:d]
        weights = np.array(weights)
        if self.setting.intercept:
            weights[:, d] -= weights[:, :d] @ columns[:, 1]
        weights[:, :d] *= columns[:, 6]
        return weights

    def from_raw_units(self, weights):
        d = self.setting.d
        columns = self.arrays["columns"][:d]
        weights = np.array(weights)
        weights[:, :d] /= np.where(columns[:, 6] > 0.0, columns[:, 6], 1.0)
        if self.setting.intercept:
            weights[:, d] += weights[:, :d] @ columns[:, 1]
        return weights

    def restart(self, x, subgradient):
        super().restart(x, subgradient)
        if "subgradient" in self.arrays:
            self.arrays["subgradient"][:] = subgradient

    def with_zeros(self, weights, shares):
        """The minimiser of the lanes' own quadratic and the L1 penalty, from the combined weights (K, D) of members with ``shares``.

        ½ (x − w)ᵀ G (x − w) − t l1 s·(x − w) + t l1 ‖x‖₁ with s the subgradient: at the optimum x is w, but for its zeros.
        """
        cdef Py_ssize_t d = self.setting.d
        K, t = self.setting.K, self.arrays["clock"][0]
        G, s = self.inverse.accumulated(), self.arrays["subgradient"]
        rate, unit = self.residual_rates()
        factor = self.arrays["columns"][:d, 6]
        low, high = self.domain.lower, self.domain.upper
        found = np.array(weights)
        with np.errstate(all="ignore"):
            lower, upper = (np.where(factor > 0.0, bound / factor, bound) if np.isfinite(bound) else np.full(d, bound)
                            for bound in (low, high))
        for k in range(K):
            lanes = np.arange(self.setting.R) * K + k
            matrix = np.tensordot(shares[k], G[lanes], 1)
            due = t * self.setting.l1 * factor * (shares[k] @ (rate / unit)[lanes, 0])
            slope = np.zeros(self.setting.D)
            slope[:d] = due * (shares[k] @ s[lanes, :d])
            found[k] = minimised(matrix, slope, due, lower, upper, found[k])
        return found

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        return True

    cdef void enter(self, Row* row) noexcept nogil:
        self.undo.clear()
        self.columns.changed = 0
        self.weights_saved = self.matrices_saved = False
        self.measure(row)

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l
        cdef const double* x
        for l in range(self.setting.L):
            x = self.x + l * self.setting.D
            margins[l] = self.times_row(row, x)
            if self.average_margins != NULL:
                self.average_margins[l] = margins[l]
                if self.clock.now[1] > 0.0:
                    self.average_margins[l] -= self.times_row(row, self.u + l * self.setting.D) / self.clock.now[1]

    cdef double times_row(self, Row* row, const double* numbers) noexcept nogil:
        """Σ_j z_j numbers_j of the centered row."""
        return dot(&self.zc[0], numbers, row.n) if row.index == NULL else sparse_dot(&self.zc[0], row.index, numbers, row.n)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        return 0

    cdef int rest(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        if self.penalised and self.entered > 0:
            for l in range(self.setting.L):
                self.penalise(l)
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        """P z of each lane, and the weight with which z is to enter the matrix."""
        cdef Py_ssize_t i, j, l
        cdef Py_ssize_t D = self.setting.D
        cdef double slope, curvature, w, q, root, factor, square, total = 0.0
        cdef double* v
        cdef double* z
        for l in range(self.setting.L):
            self.weights[l] = 0.0
            if self.slopes[l] == 0.0 and self.curvatures[l] == 0.0:      # neither x nor P would change
                memset(&self.move[l, 0], 0, D * sizeof(double))
                continue
            v, z = self.inverse.next_v(l), self.inverse.next_g(l)
            memset(z, 0, D * sizeof(double))
            for j in range(row.n):
                i = row.index[j] if row.index != NULL else j
                z[i] = self.zc[j]
            if row.index == NULL:
                self.inverse.times(l, z, v)
            else:
                self.inverse.times_sparse(l, row.index, &self.zc[0], row.n, v)
            q = dot(z, v, D)
            slope, curvature = self.slopes[l], self.round_weight * self.curvatures[l]
            square = slope * slope / self.round_weight
            w = curvature if self.steep and curvature > 0.0 else 0.5 * (square + curvature)
            factor = self.setting.eta[l] * self.rho[l] * slope / (1.0 + (w + self.setting.eta[l] * curvature) * q)
            for i in range(D):
                self.move[l, i] = factor * v[i]
            total += fabs(factor) * dot(v, v, D)         # v is in units in which its squares are numbers
            if not self.steep and curvature > 0.0:
                w = 0.5 * (fmin(square, SURPRISE * curvature) + curvature)
            if w * q > 0.0:
                root = sqrt(w)
                for i in range(D):
                    v[i] *= root
                    z[i] *= root
                self.weights[l] = 1.0 / (1.0 + w * q)
        return 0 if isfinite(self.clock.C * total) else NOT_FINITE

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        if not self.unconstrained:
            for l in range(self.setting.L):
                for i in range(D):
                    self.goal[l, i] = self.x[l * D + i] - self.move[l, i]
                if self.project(l) != 0:
                    return NOT_PROJECTED
                for i in range(D):
                    self.move[l, i] = self.x[l * D + i] - self.goal[l, i]
        for l in range(self.setting.L):
            if self.u != NULL:
                axpy(-self.clock.C, &self.move[l, 0], self.u + l * D, D)
            axpy(-1.0, &self.move[l, 0], self.x + l * D, D)
            if self.weights[l] != 0.0:
                self.inverse.commit(l, self.weights[l])
            if self.penalised and self.entered > 0:
                self.penalise(l)
        return 0

    cdef void penalise(self, Py_ssize_t lane) noexcept nogil:
        """The penalty, of one coordinate a round and as many times as there are."""
        cdef Py_ssize_t i = self.order[<Py_ssize_t> self.clock.t % self.entered]
        cdef double factor = self.columns.columns[i].factor
        # in the units of the lane's curvatures, for a weight in the feature's own unit
        cdef double unit = self.entered * self.rho[lane] / self.loss_units[lane]
        if self.setting.l2 > 0.0:
            self.shrink(lane, i, self.setting.l2 * (factor * factor) * unit)
        if self.setting.l1 > 0.0:
            self.threshold(lane, i, self.setting.eta[lane] * self.setting.l1 * factor * unit)

    cdef void shrink(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """L2: a pseudo-row along e_i of target 0, which steps as the rows do."""
        cdef double eta = self.setting.eta[lane]
        cdef double weight, step
        # more would only cancel digits of P: a weight that is multiplied by this little each time is as good as 0
        growth = fmin(growth, STRONGEST * self.setting.epsilons[lane] * self.columns.columns[i].ridge)
        weight = self.propose_along(lane, i, growth)
        step = eta * sqrt(growth) * self.x[lane * self.setting.D + i] * weight / (weight + (1.0 + eta) * (1.0 - weight))
        self.move_along(lane, step)
        if weight != 1.0:
            self.inverse.commit(lane, weight)

    cdef void threshold(self, Py_ssize_t lane, Py_ssize_t i, double most) noexcept nogil:
        """L1: the prox of most·|x_i| in the norm of P⁻¹, which moves x along P e_i until x_i is 0, and at the most by ``most``.

        The share of it that was taken, averaged as x is, is a subgradient of |x_i| for the model to be published with.
        """
        cdef double x_i = self.x[lane * self.setting.D + i]
        cdef double taken, share
        self.propose_along(lane, i, 1.0)
        taken = x_i / self.inverse.next_v(lane)[i]
        taken = most if taken > most else (-most if taken < -most else taken)
        if not isfinite(taken):                          # P_ii is 0, or has lost its digits
            return
        self.move_along(lane, taken)
        if fabs(taken) < most:
            self.x[lane * self.setting.D + i] = 0.0
        share = fmin(1.0, (self.setting.gamma + 1.0) * self.entered / self.clock.t)
        self.subgradient[lane, i] += share * (taken / most - self.subgradient[lane, i])

    cdef void move_along(self, Py_ssize_t lane, double step) noexcept nogil:
        """x −= step P e_i as proposed, and the average with it."""
        cdef Py_ssize_t D = self.setting.D
        cdef const double* v = self.inverse.next_v(lane)
        if self.u != NULL:
            axpy(-self.clock.C * step, v, self.u + lane * D, D)
        axpy(-step, v, self.x + lane * D, D)

    cdef double propose_along(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """Propose a pseudo-row √growth e_i; returns 1 / (1 + growth P_ii)."""
        cdef double* g = self.inverse.next_g(lane)
        cdef double* v = self.inverse.next_v(lane)
        cdef int at = <int> i
        memset(g, 0, self.setting.D * sizeof(double))
        g[i] = sqrt(growth)
        self.inverse.times_sparse(lane, &at, &g[i], 1, v)
        return 1.0 / (1.0 + g[i] * v[i])

    cdef double unit(self, Py_ssize_t i) noexcept nogil:
        return 1.0 / self.columns.columns[i].factor if self.columns.columns[i].factor > 0.0 else 1.0

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t i
        self.inverse.explicit(lane, self.weights[lane], 1.0, &self.H[0, 0])
        for i in range(self.setting.d):
            if self.H[i, i] == 0.0:                      # a feature that is in no matrix stays where it is
                self.H[i, i] = 1.0

    cdef void abandon(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i
        self.columns.undo()
        self.undo.restore()
        self.centered = self.entered = 0             # counted anew: a row may name a feature twice
        for i in range(self.setting.d):
            self.centered += self.columns.columns[i].center != 0.0
            self.entered += self.columns.columns[i].entered != 0.0

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void measure(self, Row* row) noexcept nogil:
        """Take the row into the features' statistics, move centers and renew ridges, and center the row."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t coefs = row.n - self.setting.intercept
        cdef double z, square, limit, bound
        cdef double* zc = &self.zc[0]
        cdef Column* column
        for j in range(coefs):
            i = row.index[j] if row.index != NULL else j
            zc[j] = 0.0
            if fabs(row.z[j]) < TINY:                 # a weight for it would overflow
                continue
            column = self.columns.change(i)
            if column.factor == 0.0:
                column.factor = power_near(row.z[j])
            z = row.z[j] * column.factor
            if fabs(z) > FARTHEST:
                self.start_anew(i, column, power_near(row.z[j]))
                z = row.z[j] * column.factor
            zc[j] = z
            column.seen += 1.0
            if self.setting.intercept and column.seen == self.clock.t:
                if column.seen == 1.0:
                    self.move_center(i, column, z)
                elif column.center != 0.0:
                    if z * column.center < 0.0:
                        self.move_center(i, column, 0.0)
                    elif fabs(z) < fabs(column.center):
                        self.move_center(i, column, z)
            z -= column.center
            column.first += z
            column.second += z * z
        if self.centered > 0:
            for i in range(self.setting.d):
                if self.columns.columns[i].center != 0.0 and self.columns.columns[i].seen < self.clock.t:   # it was zero in this row
                    self.move_center(i, self.columns.change(i), 0.0)
        for j in range(coefs):
            if zc[j] == 0.0:
                continue
            i = row.index[j] if row.index != NULL else j
            column = &self.columns.columns[i]
            zc[j] -= column.center
            if zc[j] != 0.0:
                if fabs(zc[j]) > column.biggest:
                    column.biggest = fabs(zc[j])
                limit = GROWTH * GROWTH * column.ridge
                bound = column.seen * limit * limit
                if TINY < bound < LARGE and column.second * column.biggest * column.biggest <= bound:
                    continue                             # the same in squares, where those are numbers
                square = sqrt(fmax(column.second, 0.0) / column.seen) * column.biggest
                if square > limit:
                    self.renew_ridge(i, column, square)
        if self.setting.intercept:
            zc[coefs] = 1.0

    cdef void save_weights(self) noexcept nogil:
        if not self.weights_saved:
            self.undo.save(self.x, self.numbers)
            self.undo.save(&self.inverse.count[0], self.setting.L)
            self.weights_saved = True

    cdef void save_matrices(self) noexcept nogil:
        self.save_weights()
        if not self.matrices_saved:
            self.inverse.save(self.undo, 0, self.setting.L)
            self.matrices_saved = True

    cdef void move_center(self, Py_ssize_t i, Column* column, double to) noexcept nogil:
        """Measure feature i from elsewhere: the intercept makes up for it, and so do the matrices."""
        cdef Py_ssize_t b = self.setting.d
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t l
        cdef double by = to - column.center
        cdef double passed = column.seen - 1.0 if column.seen == self.clock.t else column.seen
        self.centered += (to != 0.0) - (column.center != 0.0)
        column.center = to
        column.second += by * (by * passed - 2.0 * column.first)
        column.first -= by * passed
        if column.ridge == 0.0:                  # it has not varied yet, and is in no matrix
            return
        self.save_weights()
        for l in range(self.setting.L):
            if not self.matrices_saved:
                self.inverse.save_shift(self.undo, l, i, b)
            self.inverse.shift(l, i, b, by)
            self.x[l * D + b] += by * self.x[l * D + i]
            if self.u != NULL:
                self.u[l * D + b] += by * self.u[l * D + i]

    cdef void renew_ridge(self, Py_ssize_t i, Column* column, double square) noexcept nogil:
        """ε times this is what feature i weighs before any row; its growth is a pseudo-row (e_i, 0)."""
        cdef Py_ssize_t l
        cdef double growth = square - column.ridge
        cdef bint jumps = square > JUMP * column.ridge
        if column.ridge == 0.0:
            if column.entered == 0.0:
                self.order[self.entered] = i
                self.entered += 1
                column.entered = self.entered
            for l in range(self.setting.L):
                self.undo.save(&self.inverse.P[l, i, i], 1)
                self.undo.save(&self.inverse.G[l, i, i], 1)
                self.inverse.start(l, i, self.setting.epsilons[l] * growth)
        else:
            self.save_weights()
            for l in range(self.setting.L):
                if jumps or self.inverse.changes_matrices(l):
                    self.save_matrices()
                self.raise_ridge(l, i, self.setting.epsilons[l] * growth, jumps)
        column.ridge = square

    cdef void raise_ridge(self, Py_ssize_t lane, Py_ssize_t i, double growth, bint jumps) noexcept nogil:
        """The pseudo-row of weight ``growth`` in one lane: x ← x − growth x_i P e_i / (1 + growth P_ii), and so the average."""
        cdef Py_ssize_t D = self.setting.D
        cdef double* x = self.x + lane * D
        cdef double* u = self.u + lane * D if self.u != NULL else NULL
        cdef double* v
        cdef double weight, x_i, root = sqrt(growth)
        if jumps:                                # corrections that wait know of a much larger P_ii
            self.inverse.fold(lane)
        weight = self.propose_along(lane, i, growth)
        v = self.inverse.next_v(lane)
        x_i = x[i]
        axpy(-weight * root * x_i, v, x, D)
        x[i] = weight * x_i                      # the same, without cancellation
        if u != NULL:
            x_i = u[i]
            axpy(-weight * root * x_i, v, u, D)
            u[i] = weight * x_i
        if weight != 1.0 and not (jumps and self.inverse.raise_anew(lane, i, growth)):
            self.inverse.commit(lane, weight)

    cdef void start_anew(self, Py_ssize_t i, Column* column, double factor) noexcept nogil:
        """Values have grown beyond all measure: what was learnt from the earlier ones weighs nothing beside them. The weight is
        withdrawn as by an infinite ridge, x ← x − x_i P e_i / P_ii."""
        cdef Py_ssize_t l
        cdef Py_ssize_t D = self.setting.D
        self.save_matrices()
        for l in range(self.setting.L):
            if column.ridge > 0.0:
                self.inverse.fold(l)
                withdraw(&self.inverse.P[l, i, 0], i, self.x + l * D, D)
                if self.u != NULL:
                    withdraw(&self.inverse.P[l, i, 0], i, self.u + l * D, D)
                self.inverse.remove(l, i)
        self.centered -= column.center != 0.0
        column.center = column.first = column.second = column.biggest = column.ridge = 0.0
        column.factor = factor


cdef void withdraw(const double* P_i, Py_ssize_t i, double* x, Py_ssize_t D) noexcept nogil:
    axpy(-x[i] / P_i[i], P_i, x, D)
    x[i] = 0.0


cdef double power_near(double z) noexcept nogil:
    """The power of 2 that brings z to between 1/2 and 1."""
    cdef int exponent
    frexp(z, &exponent)
    return ldexp(1.0, -exponent)
