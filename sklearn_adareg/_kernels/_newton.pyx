# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What "auto" is where the full matrix is affordable: the Online Newton Step without a step size to tune, in any units.

Beside the paper's g gᵀ the matrix takes the curvature that the loss has: a row z with slope ℓ' and curvature ℓ'' adds w z zᵀ with
w = (ℓ'² + ℓ'')/2, or ℓ'' alone where slopes are unbounded, and the step is implicit,

    P ← P − w/(1 + wq) P z zᵀ P,    x ← x − η ℓ' / (1 + (w + η ℓ'') q) P z,    q = zᵀ P z.

It works in raw units and does not depend on them: the ridge of feature i is ε times its root mean square times its largest
value, which is kept up with by pseudo-rows along e_i; a feature that is never zero is measured from its smallest value, as if
the intercept had been moved there. O(D²) a row and weight vector, O(D·nnz) between folds for sparse rows.
"""
from libc.math cimport fabs, fmax, fmin, sqrt
from libc.string cimport memset

from ._domains cimport Domain
from ._inverse cimport FullInverse
from ._loops cimport axpy, dot, sparse_dot
from ._losses cimport Loss
from ._potentials cimport Potential
from ._rows cimport Row
from ._structures cimport Setting, Structure

import numpy as np

cdef double RIDGE_OF_INTERCEPT = 0.1
cdef double GROWTH = 1.2                 # a ridge is renewed when its feature has grown by this factor
cdef double TINY = 1e-290, LARGE = 1e300
cdef double SURPRISE = 1000.0            # a row so wrong that ℓ'² is beyond this many ℓ'' tells nothing more about curvature


cdef class Newton(FullInverse):
    """G takes slopes and curvatures; features bring their own units."""

    cdef double[::1] seen        # rows in which a feature was not zero
    cdef double[::1] center      # what it is measured from
    cdef double[::1] first       # Σ (z − center)
    cdef double[::1] second      # Σ (z − center)²
    cdef double[::1] biggest     # max |z − center|
    cdef double[::1] ridge       # the square that its ridge stands for
    cdef double[::1] zc          # the row, centered
    cdef double[::1] curvatures
    cdef bint measured           # the row has been taken into the features' statistics
    cdef bint steep
    cdef Py_ssize_t centered     # how many features have a center

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        arrays["P"][:] = arrays["G"][:] = 0.0
        if setting.intercept:
            arrays["P"][:, setting.d, setting.d] = 1.0 / RIDGE_OF_INTERCEPT
            arrays["G"][:, setting.d, setting.d] = RIDGE_OF_INTERCEPT
        arrays["columns"] = np.zeros((6, max(setting.d, 1)))
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        cdef double[:, ::1] columns = arrays["columns"]
        self.seen, self.center, self.first = columns[0], columns[1], columns[2]
        self.second, self.biggest, self.ridge = columns[3], columns[4], columns[5]
        self.curvatures = np.zeros(setting.L + setting.K)
        self.zc = np.empty(1)
        self.reach = 0.0

    def prepare(self, Py_ssize_t widest):
        super().prepare(widest)
        if self.zc.shape[0] < widest:
            self.zc = np.empty(widest)
        self.centered = np.count_nonzero(self.arrays["columns"][1])

    def in_raw_units(self, weights):
        """The intercept as if nothing had been centered."""
        weights = super().in_raw_units(np.array(weights))
        if self.setting.intercept:
            d = self.setting.d
            weights[:, d] -= weights[:, :d] @ self.arrays["columns"][1, :d]
        return weights

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef void enter(self, Row* row) noexcept nogil:
        """Units first: a feature that jumps must shrink its weight before it predicts. They look at the features only, so the
        loss stays progressive. A row that may overflow predicts as it is, so that it can stop without a trace."""
        self.measured = row.norm2 < 1e200
        if self.measured:
            self.measure(row)

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t i, l
        cdef const double* x
        cdef const double* z
        for l in range(self.setting.L):
            x = self.x + l * self.setting.D
            z = &self.zc[0] if self.measured else row.z
            margins[l] = dot(z, x, row.n) if row.index == NULL else sparse_dot(z, row.index, x, row.n)
            if not self.measured:
                for i in range(self.setting.d):
                    margins[l] -= self.center[i] * x[i]

    cdef double suffer(self, Loss loss, const double* margins, const double* target, double weight, double* slopes) noexcept nogil:
        cdef Py_ssize_t l
        cdef double value = Structure.suffer(self, loss, margins, target, weight, slopes)
        if self.setting.relative or self.setting.shifted:
            for l in range(self.setting.L):
                self.curvatures[l] = self.lane_curvature(loss, l, margins[l], target[l])
        else:
            loss.curvatures(margins, target, &self.curvatures[0], self.setting.L)
        return value

    cdef void meet(self, Loss loss) noexcept nogil:
        self.steep = loss.steep

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        if not self.measured:
            self.measure(row)

    cdef void rest(self, Row* row) noexcept nogil:
        if not self.measured:
            self.measure(row)

    cdef int precondition(self, Row* row) noexcept nogil:
        """P z of each lane, and w z zᵀ into the matrix."""
        cdef Py_ssize_t i, j, k, l
        cdef Py_ssize_t D = self.setting.D
        cdef double slope, curvature, w, q, root, factor, square
        cdef double* v
        cdef double* g
        for l in range(self.setting.L):
            k = <Py_ssize_t> self.count[l]
            v, g = &self.pending_v[l, k, 0], &self.pending_g[l, k, 0]
            memset(g, 0, D * sizeof(double))
            for j in range(row.n):
                i = row.index[j] if row.index != NULL else j
                g[i] = self.zc[j]
            if row.index == NULL:
                self.times_inverse(l, g, v)
            else:
                self.times_inverse_sparse(l, row, &self.zc[0], v)
            q = dot(g, v, D)
            slope, curvature = self.slopes[l], self.round_weight * self.curvatures[l]
            square = slope * slope / self.round_weight
            w = curvature if self.steep and curvature > 0.0 else 0.5 * (square + curvature)
            factor = self.setting.eta[l] * self.factor[l] * slope / (1.0 + (w + self.setting.eta[l] * curvature) * q)
            for i in range(D):
                self.move[l, i] = factor * v[i]
            if not self.steep and curvature > 0.0:
                w = 0.5 * (fmin(square, SURPRISE * curvature) + curvature)
            if w * q > 0.0:
                root = sqrt(w)
                for i in range(D):
                    v[i] *= root
                    g[i] *= root
                self.wait(l, 1.0 / (1.0 + w * q))
        return 0

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t l
        cdef Py_ssize_t D = self.setting.D
        for l in range(self.setting.L):
            if self.u != NULL:
                axpy(-self.clock.C, &self.move[l, 0], self.u + l * D, D)
            axpy(-1.0, &self.move[l, 0], self.x + l * D, D)
        self.settled()
        return 0

    # ---- units --------------------------------------------------------------------------------------------------

    cdef void measure(self, Row* row) noexcept nogil:
        """Take the row into the features' statistics, move centers and renew ridges, and center the row."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t coefs = row.n - self.setting.intercept
        cdef double z, square, limit, bound
        cdef double* seen = &self.seen[0]
        cdef double* center = &self.center[0]
        cdef double* first = &self.first[0]
        cdef double* second = &self.second[0]
        cdef double* biggest = &self.biggest[0]
        cdef double* ridge = &self.ridge[0]
        cdef double* zc = &self.zc[0]
        for j in range(coefs):
            i = row.index[j] if row.index != NULL else j
            z = row.z[j]
            if z == 0.0:
                continue
            seen[i] += 1.0
            if self.setting.intercept and seen[i] == self.clock.t:
                if seen[i] == 1.0:
                    self.move_center(i, z)
                elif center[i] != 0.0:
                    if z * center[i] < 0.0:
                        self.move_center(i, 0.0)
                    elif fabs(z) < fabs(center[i]):
                        self.move_center(i, z)
            first[i] += z - center[i]
            second[i] += (z - center[i]) * (z - center[i])
        if self.centered > 0:
            for i in range(self.setting.d):
                if center[i] != 0.0 and seen[i] < self.clock.t:      # it was zero in this row
                    self.move_center(i, 0.0)
        for j in range(coefs):
            i = row.index[j] if row.index != NULL else j
            zc[j] = row.z[j] - center[i] if row.z[j] != 0.0 else 0.0
            if zc[j] != 0.0:
                if fabs(zc[j]) > biggest[i]:
                    biggest[i] = fabs(zc[j])
                limit = GROWTH * GROWTH * ridge[i]
                bound = seen[i] * limit * limit
                if TINY < bound < LARGE and second[i] * biggest[i] * biggest[i] <= bound:
                    continue                             # the same in squares, where those are numbers
                square = sqrt(fmax(second[i], 0.0) / seen[i]) * biggest[i]
                if square > limit:
                    self.renew_ridge(i, square)
        if self.setting.intercept:
            zc[coefs] = 1.0

    cdef void move_center(self, Py_ssize_t i, double to) noexcept nogil:
        """Measure feature i from elsewhere: the intercept makes up for it, and so do the matrices."""
        cdef Py_ssize_t b = self.setting.d
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t j, k, l
        cdef double by = to - self.center[i]
        cdef double passed = self.seen[i] - 1.0 if self.seen[i] == self.clock.t else self.seen[i]
        self.centered += (to != 0.0) - (self.center[i] != 0.0)
        self.center[i] = to
        self.second[i] += by * (by * passed - 2.0 * self.first[i])
        self.first[i] -= by * passed
        if self.ridge[i] == 0.0:                 # it has not varied yet, and is in no matrix
            return
        for l in range(self.setting.L):
            self.x[l * D + b] += by * self.x[l * D + i]
            if self.u != NULL:
                self.u[l * D + b] += by * self.u[l * D + i]
            for k in range(<Py_ssize_t> self.count[l]):
                self.pending_v[l, k, b] += by * self.pending_v[l, k, i]
                self.pending_g[l, k, i] -= by * self.pending_g[l, k, b]
            axpy(by, &self.P[l, i, 0], &self.P[l, b, 0], D)
            for j in range(D):
                self.P[l, j, b] += by * self.P[l, j, i]
            self.shift_G(l, i, by)

    cdef void shift_G(self, Py_ssize_t lane, Py_ssize_t i, double by) noexcept nogil:
        """G[i, :] −= by G[b, :], then the same on columns; only the triangle that LAPACK calls upper is kept."""
        cdef Py_ssize_t b = self.setting.d
        cdef Py_ssize_t j
        cdef double corner = self.G[lane, b, b]
        cdef double cross = self.G[lane, b, i]
        for j in range(self.setting.D):
            if j == i:
                continue
            if j < i:
                self.G[lane, i, j] -= by * self.G[lane, b, j]
            else:
                self.G[lane, j, i] -= by * (self.G[lane, b, j] if j <= b else self.G[lane, j, b])
        self.G[lane, i, i] += by * (by * corner - 2.0 * cross)

    cdef void renew_ridge(self, Py_ssize_t i, double square) noexcept nogil:
        """ε times this is what feature i weighs before any row; its growth is a pseudo-row (e_i, 0)."""
        cdef Py_ssize_t l
        cdef Py_ssize_t D = self.setting.D
        cdef double growth = self.setting.epsilon * (square - self.ridge[i])
        cdef double weight, along
        cdef const double* v
        for l in range(self.setting.L):
            if self.ridge[i] == 0.0:
                self.P[l, i, i] = 1.0 / growth
                self.G[l, i, i] = growth
                continue
            v = &self.pending_v[l, <Py_ssize_t> self.count[l], 0]
            memset(&self.g[l, 0], 0, D * sizeof(double))
            self.g[l, i] = sqrt(growth)
            weight = self.append(l, NULL)
            along = weight * sqrt(growth)
            if self.u != NULL:
                axpy(-along * self.u[l * D + i], v, self.u + l * D, D)
            axpy(-along * self.x[l * D + i], v, self.x + l * D, D)
            self.settle_lane(l)
        self.ridge[i] = square

    cdef void settle_lane(self, Py_ssize_t lane) noexcept nogil:
        if self.count[lane] == self.pending_w.shape[1]:
            self.fold(lane)
