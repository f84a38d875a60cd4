"""Newton steps on a sketch: what "auto" is where a full matrix is not affordable and a diagonal says too little. O(rank·D) a row.

A row z with slope ℓ' and curvature ℓ'' adds w z zᵀ to G, and the step is implicit,

    x ← x − η ℓ' / (1 + (w + η ℓ'') q) P z,    q = zᵀ P z,    P = G⁻¹,

with w = (ℓ'² + ℓ'')/2, or ℓ'' alone where slopes are unbounded. G is a diagonal Λ and the rows of a sketch, G = Λ + BᵀB, of which
P is had by Woodbury's identity. Coordinates are √Λ_i x_i, so that Λ is I and all of ``_sketch`` and ``_directions`` applies: a row
is z_i/√Λ_i, ``root`` has 1/√Λ_i.

A shrink keeps the largest directions whole (nothing is taken from them, unlike in Algorithm 1, whose bound asks for it), and drops
the others. Of what is dropped, each member gives the share ``given_back`` to the diagonal, Λ_i += share · Σ dropped_i². With 1,
diag G is kept: features far from each other learn as with a diagonal. With 0, dropped directions keep the prior's long steps, which
an average makes good: combinations of features whose sum dominates are learnt fast. Which of the two is right depends on
the data, so both learn side by side, and ``_stack`` combines them: vector r·K + k is member r of output k, the first
member gives everything back, the others nothing.

Rows come in the units of ``FeatureScale``. There is no domain, penalty or dual averaging here; the registry asks for Algorithm 1
there.
"""
from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memset

from scipy.linalg.cython_blas cimport dsyrk

from ...domains._domains cimport Domain
from ...linalg._loops cimport axpy, dot, mirror, sparse_dot
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from ._sketch_ons cimport SketchONS
from .._structures cimport NOT_FINITE

import numpy as np

cdef double RIDGE_OF_INTERCEPT = 0.1
cdef double LOSS_JUMP = 1000.0            # a row so wrong that ℓ'² is beyond this many ℓ'' tells nothing more about curvature


cdef class SketchNewton(SketchONS):
    """G takes slopes and curvatures; a diagonal takes what the sketch drops."""

    cdef double[:, ::1] root             # per weight vector and coordinate: 1/√Λ_i
    cdef double largest_root             # no root was ever larger
    cdef double[::1] given_back          # per weight vector
    cdef double[:, ::1] v                # per weight vector: the row in these coordinates, as long as the row
    cdef double[::1] squares             # per weight vector: vᵀv
    cdef double[:, ::1] solved           # per weight vector: A⁻¹ B v
    cdef double[::1] weights             # per weight vector: how v enters the sketch
    cdef double[::1] dropped

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        arrays["root"] = np.full((setting.L, setting.D), 1.0 / np.sqrt(setting.epsilon))
        if setting.intercept:
            arrays["root"][:, setting.d] = 1.0 / np.sqrt(RIDGE_OF_INTERCEPT)
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        L, room = arrays["B"].shape[:2]
        self.root = arrays["root"]
        self.largest_root = fmax(1.0, 1.0 / sqrt(fmin(setting.epsilon, RIDGE_OF_INTERCEPT)))
        self.given_back = np.where(np.arange(L) < setting.K, 1.0, 0.0)
        self.sketch.taken[:] = 0.0
        self.squares, self.weights, self.solved = np.empty(L), np.zeros(L), np.empty((L, room))
        self.v, self.dropped = np.empty((L, 1)), np.empty(setting.D)
        self.longest_step, self.always_steps = 0.0, False

    def prepare(self, Py_ssize_t widest):
        super().prepare(widest)
        if self.v.shape[1] < widest:
            self.v = np.empty((self.setting.L, widest))

    def combined(self, name, coefficients):
        return super().combined(name, coefficients) * self.arrays["root"]

    def accumulated(self):
        """Λ + BᵀB of each weight vector, (L, D, D)."""
        scale = 1.0 / self.arrays["root"]
        return self.sketch.accumulated(1.0) * scale[:, :, None] * scale[:, None, :]

    cdef double base(self, Py_ssize_t vector) noexcept nogil:
        return 1.0

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        return True

    cdef double times_v(self, Py_ssize_t vector, Row* row, const double* numbers) noexcept nogil:
        if row.index == NULL:
            return dot(&self.v[vector, 0], numbers, row.n)
        return sparse_dot(&self.v[vector, 0], row.index, numbers, row.n)

    cdef void find_along(self, Row* row) noexcept nogil:
        cdef Py_ssize_t j, l
        cdef double* v
        for l in range(self.setting.L):
            v = &self.v[l, 0]
            for j in range(row.n):
                v[j] = row.z[j] * self.root[l, row.index[j] if row.index != NULL else j]
            self.squares[l] = dot(v, v, row.n)
            if row.index == NULL:
                self.sketch.times(l, v, &self.along[l, 0])
            else:
                self.sketch.times_sparse(l, row.index, v, row.n, &self.along[l, 0])

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l, n
        cdef Py_ssize_t D = self.setting.D
        cdef double part
        self.find_along(row)
        for l in range(self.setting.L):
            n = self.sketch.kept(l)
            margins[l] = self.times_v(l, row, self.x + l * D) + dot(&self.along[l, 0], &self.c[l, 0], n)
            if self.average_margins != NULL:
                self.average_margins[l] = margins[l]
                if self.clock.now[1] > 0.0:
                    part = self.times_v(l, row, self.u + l * D) + dot(&self.along[l, 0], &self.cu[l, 0], n)
                    self.average_margins[l] -= part / self.clock.now[1]

    cdef int precondition(self, Row* row) noexcept nogil:
        """The step of each weight vector: −factor (v − Bᵀ A⁻¹ B v), and the weight with which v is to enter the sketch."""
        cdef Py_ssize_t j, l, n
        cdef double slope, curvature, square, w, q, total = 0.0
        for l in range(self.setting.L):
            self.factors[l] = self.weights[l] = 0.0
            slope, curvature = self.slopes[l], self.round_weight * self.curvatures[l]
            if (slope == 0.0 and curvature == 0.0) or self.squares[l] == 0.0:
                continue
            n = self.sketch.kept(l)
            self.extend(l)
            self.forwards(l, &self.along[l, 0], &self.solved[l, 0], n)
            q = fmax(self.squares[l] - dot(&self.solved[l, 0], &self.solved[l, 0], n), 0.0)
            self.backwards(l, &self.solved[l, 0], n)
            square = slope * slope / self.round_weight
            w = curvature if self.steep and curvature > 0.0 else 0.5 * (square + curvature)
            self.factors[l] = self.setting.eta[l] * self.rho[l] * slope / (1.0 + (w + self.setting.eta[l] * curvature) * q)
            if not self.steep and curvature > 0.0:
                w = 0.5 * (fmin(square, LOSS_JUMP * curvature) + curvature)
            total += self.sizes[l] + fabs(self.factors[l]) * sqrt(self.squares[l])
            for j in range(n):
                total += (fabs(self.c[l, j]) + fabs(self.factors[l] * self.solved[l, j])) * self.sketch.length(l, j)
            self.weights[l] = sqrt(w)
            self.sketch.square[l] = w * self.squares[l]
            for j in range(n):
                self.sketch.border[l, j] = self.weights[l] * self.along[l, j]
            if not isfinite(self.sketch.square[l]) or self.sketch.make_room(l) != 0:
                return NOT_FINITE
        return 0 if isfinite(self.clock.C * total * self.largest_root) else NOT_FINITE

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t l, n
        cdef double step
        cdef double* g
        for l in range(self.setting.L):
            if self.factors[l] == 0.0 and self.weights[l] == 0.0:
                continue
            n = <Py_ssize_t> self.sketch.filled[l]
            axpy(self.factors[l], &self.solved[l, 0], &self.c[l, 0], n)
            if self.u != NULL:
                axpy(self.clock.C * self.factors[l], &self.solved[l, 0], &self.cu[l, 0], n)
            if self.sketch.square[l] > 0.0 and not self.sketch.shrunk[l]:
                step = self.factors[l] / self.weights[l]
                self.c[l, n] = -step
                if self.u != NULL:
                    self.cu[l, n] = -self.clock.C * step
            else:
                self.add_row(l, row, -self.factors[l], self.x + l * D)
                if self.u != NULL:
                    self.add_row(l, row, -self.clock.C * self.factors[l], self.u + l * D)
            if self.sketch.shrunk[l]:
                self.write_down(l, row)
            g = self.sketch.commit(l)
            if g != NULL:
                if row.index != NULL:
                    memset(g, 0, D * sizeof(double))
                self.put_row(l, row, self.weights[l], g)
        return 0

    cdef void add_row(self, Py_ssize_t vector, Row* row, double factor, double* out) noexcept nogil:
        """out += factor · v."""
        cdef Py_ssize_t j
        if row.index == NULL:
            axpy(factor, &self.v[vector, 0], out, row.n)
        else:
            for j in range(row.n):
                out[row.index[j]] += factor * self.v[vector, j]
        if out == self.x + vector * self.setting.D:
            self.sizes[vector] += fabs(factor) * sqrt(self.squares[vector] * row.n)

    cdef void put_row(self, Py_ssize_t vector, Row* row, double factor, double* out) noexcept nogil:
        """out = factor · v where the row has values."""
        cdef Py_ssize_t j
        for j in range(row.n):
            out[row.index[j] if row.index != NULL else j] = factor * self.v[vector, j]

    cdef void write_down(self, Py_ssize_t vector, Row* row) noexcept nogil:
        """A shrink stands: x and its average without the rows, the diagonal with its share of what was dropped, and the new rows,
        v among them, in the coordinates that follow from it."""
        cdef int D = <int> self.setting.D
        cdef int rank = <int> self.sketch.rank
        cdef Py_ssize_t i, j
        cdef double one = 1.0, zero = 0.0, share = self.given_back[vector]
        cdef double* x = self.x + vector * D
        cdef double* u = self.u + vector * D if self.u != NULL else NULL
        cdef double* dropped = &self.dropped[0]
        cdef double* rows
        self.sketch.shrunk[vector] = False
        self.sketch.add_combined(vector, &self.c[vector, 0], 1.0, x)
        memset(&self.c[vector, 0], 0, self.sketch.room * sizeof(double))
        if u != NULL:
            self.sketch.add_combined(vector, &self.cu[vector, 0], 1.0, u)
            memset(&self.cu[vector, 0], 0, self.sketch.room * sizeof(double))
        self.sketch.shrunk[vector] = True
        if share > 0.0:
            memset(dropped, 0, D * sizeof(double))
            for j in range(self.sketch.room):
                rows = &self.sketch.B[vector, j, 0]
                for i in range(D):
                    dropped[i] += rows[i] * rows[i]
            for j in range(rank):
                rows = &self.sketch.new_B[vector, j, 0]
                for i in range(D):
                    dropped[i] -= rows[i] * rows[i]
            for i in range(D):                       # the factor by which √Λ grows
                dropped[i] = sqrt(1.0 + share * fmax(dropped[i], 0.0))
                x[i] *= dropped[i]
                self.root[vector, i] /= dropped[i]
            if u != NULL:
                for i in range(D):
                    u[i] *= dropped[i]
            for j in range(rank):
                rows = &self.sketch.new_B[vector, j, 0]
                for i in range(D):
                    rows[i] /= dropped[i]
            for j in range(row.n):
                self.v[vector, j] /= dropped[row.index[j] if row.index != NULL else j]
            dsyrk("U", "T", &rank, &D, &one, &self.sketch.new_B[vector, 0, 0], &D, &zero, &self.sketch.new_K[vector, 0, 0], &rank)
            mirror(&self.sketch.new_K[vector, 0, 0], rank)
            self.squares[vector] = dot(&self.v[vector, 0], &self.v[vector, 0], row.n)
            self.sketch.square[vector] = self.weights[vector] * self.weights[vector] * self.squares[vector]
            if row.index == NULL:
                self.sketch.times(vector, &self.v[vector, 0], &self.sketch.border[vector, 0])
            else:
                self.sketch.times_sparse(vector, row.index, &self.v[vector, 0], row.n, &self.sketch.border[vector, 0])
            for j in range(rank):
                self.sketch.border[vector, j] *= self.weights[vector]
        self.forget_rows(vector)
        self.sizes[vector] = 0.0
        for i in range(D):
            self.sizes[vector] += fabs(x[i])
