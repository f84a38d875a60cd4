"""diag: H_t = ψ(diag G_t), a step size for each coordinate. O(nnz) a round, 3 numbers a coefficient with the average.

What bounds a plain AdaGrad round. A short row: the chain from one step to the next row's margin, a sum, an exponential, a
division, an inverse root, a store that is loaded again, some 150 cycles that no width of vector shortens. A long row: 19 flops
a coordinate (2 of the margin, 3 of G, 9 of its inverse root, 5 of the step and the average), 8 bytes of the row from memory
(4 for float32, 12 for CSR), and 24 bytes of state, read and written, from the first-level cache up to some 1,300 features.
``benchmarks/bounds.py`` measures how near it runs.
"""
from libc.math cimport cbrt, exp, fabs, fmax, fmin

from ._coordinatewise cimport Coordinatewise
from ...domains._domains cimport Domain
from ...linalg._loops cimport square_in
from ...potentials._potentials cimport Potential
from ...data._rows cimport Row
from ...state._setting cimport Setting
from .._structures cimport POTENTIAL_RAISED

from ...potentials._potentials import stay_narrow as keep_potentials_narrow

import numpy as np

# The loops of "_fused_loops.h": whole rounds with a power ψ inlined.
ctypedef void (*descend_loop)(const double* z, const double* s, const double* es, double C, double* G, double* x,
                              double* u, Py_ssize_t n, Py_ssize_t L) noexcept nogil
ctypedef void (*records_loop)(double* x, double* G, double* u, Py_ssize_t stride, const int* index, const double* z,
                              const double* s, const double* es, double C, double* v, double* h, Py_ssize_t n,
                              Py_ssize_t L) noexcept nogil

cdef extern from "_fused_loops.h" nogil:
    bint c_stay_narrow "adareg_stay_narrow"(bint wish)

    descend_loop inverse_root_descend "adareg_inverse_root_descend"
    descend_loop inverse_descend "adareg_inverse_descend"
    descend_loop inverse_cube_root_descend "adareg_inverse_cube_root_descend"
    descend_loop inverse_fourth_root_descend "adareg_inverse_fourth_root_descend"
    records_loop inverse_root_records "adareg_inverse_root_records"
    records_loop inverse_records "adareg_inverse_records"
    records_loop inverse_cube_root_records "adareg_inverse_cube_root_records"
    records_loop inverse_fourth_root_records "adareg_inverse_fourth_root_records"

cdef extern from "_paired_loops.h" nogil:
    const Py_ssize_t VECTORS_TOGETHER "ADAREG_BLOCK"

    void paired_grow "adareg_paired_grow"(const double* z, const double* s, const double* fast, double* G, double* h, double* lengths,
                                          Py_ssize_t n, Py_ssize_t L)
    void paired_step "adareg_paired_step"(const double* z, const double* es, const double* h, double C, double* x, double* u,
                                          Py_ssize_t n, Py_ssize_t L)
    void paired_scatter "adareg_paired_scatter"(double* x, double* G, double* u, Py_ssize_t stride, const int* index, const double* z,
                                                const double* es, double C, const double* v, const double* h, Py_ssize_t n,
                                                Py_ssize_t L)
    void recent_dots "adareg_recent_dots"(const double* recent, Py_ssize_t stride, const int* index, const double* z, double* margins,
                                          Py_ssize_t n, Py_ssize_t K)
    void recent_steps "adareg_recent_steps"(const double* z, const double* h, double longer, double most, double* own,
                                            double* lengths, Py_ssize_t n, Py_ssize_t K)
    void recent_move "adareg_recent_move"(double* recent, Py_ssize_t stride, const int* index, const double* z, const double* es,
                                          const double* own, Py_ssize_t n, Py_ssize_t K)

cdef double NEAR = 1e-5                  # its third power is as good as rounding
cdef double MEMORY = 100.0               # rounds that the recent iterate remembers


def stay_narrow(bint wish):
    """Do not use AVX-512, for tests of the loops that other machines run; what was wished before."""
    keep_potentials_narrow(wish)
    return bool(c_stay_narrow(wish))


cdef class Diagonal(Coordinatewise):
    """Every coordinate keeps its own sum of squared gradients."""

    cdef descend_loop in_vectors     # a whole round with this potential's power inlined, or NULL
    cdef records_loop in_records     # the same on sparse rows whose numbers lie side by side

    @staticmethod
    def fields(Setting setting):
        return ("G",)

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        if potential.power == 0.5:
            self.in_vectors, self.in_records = inverse_root_descend, inverse_root_records
        elif potential.power == 1.0:
            self.in_vectors, self.in_records = inverse_descend, inverse_records
        elif potential.power == 1.0 / 3.0:
            self.in_vectors, self.in_records = inverse_cube_root_descend, inverse_cube_root_records
        elif potential.power == 0.25:
            self.in_vectors, self.in_records = inverse_fourth_root_descend, inverse_fourth_root_records

    def accumulated(self):
        kept = self.kept()
        return kept * self.field("G") + (1.0 - kept) * self.setting.epsilon

    cdef double square_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil:
        cdef double kept = self.kept_now(i)
        return kept * self.cells.G[i * self.cells.stride + vector] + (1.0 - kept) * self.setting.epsilon

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Coordinatewise.bind_loss(self, curvatures, steep)
        self.fused = self.plain and self.in_vectors != NULL and curvatures == NULL and self.memory is None

    cdef bint by_records(self) noexcept nogil:
        return self.fused

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        cdef const double* entering = self.entering(slopes) if self.setting.weights_as_rows else slopes
        self.slopes = slopes
        if self.scale is not None and self.scale.grew:
            self.change_units(row)
        self.vector_slopes()
        if self.cells.records:
            self.in_records(self.cells.x, self.cells.G, self.cells.u, self.cells.stride, row.index, row.z, entering, &self.es[0],
                            self.clock.C, self.cells.Gb, self.cells.hb, row.n, self.setting.L)
            return
        self.in_vectors(row.z, entering, &self.es[0], self.clock.C, self.cells.Gb, self.cells.xb, self.cells.ub,
                        self.cells.span, self.setting.L)
        if not self.cells.direct:
            self.cells.scatter_all(row)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        self.slopes = slopes
        if self.scale is not None and self.scale.grew and self.change_units(row) != 0:
            return POTENTIAL_RAISED
        self.forget(row)
        square_in(row.z, self.entering(slopes), self.cells.Gb, row.n, self.setting.L)
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        return self.potential.steps(self.cells.Gb, self.cells.hb, row.n * self.setting.L)

    cdef void vector_steps(self, Row* row, Py_ssize_t vector, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.setting.D
        cdef Py_ssize_t L = self.setting.L
        cdef double kept
        if row != NULL and row.index == NULL:                   # ψ of every coordinate is already here
            for i in range(D):
                h[i] = self.cells.hb[i * L + vector]
        else:
            for i in range(D):
                h[i] = self.cells.G[i * self.cells.stride + vector]
            if self.memory is not None and row == NULL:         # within a round all have caught up
                for i in range(D):
                    kept = self.memory.after(self.clock.now[0] - self.charged[i])
                    h[i] = kept * h[i] + (1.0 - kept) * self.setting.epsilon
            self.potential.steps(h, h, D)
        for i in range(D):
            h[i] *= self.setting.eta[vector] if row == NULL else self.vector_rate(vector)


cdef inline double first_guess(double a, double q, double* odds) noexcept nogil:
    """Where steps do not overshoot: the equation is concave beyond 0 and convex before. Takes σ(−a), leaves σ(−u) there."""
    cdef double u
    if a + 0.5 * q > 0.0:
        if a <= 0.0:
            odds[0] = 0.5
        return fmax(a, 0.0)
    u = fmin(a + q * odds[0], 0.0)
    odds[0] = 1.0 / (1.0 + exp(u))
    return u


cdef inline double halley_step(double u, double a, double q, double* odds) noexcept nogil:
    """Halley's step for u = a + q σ(−u); takes σ(−u), leaves what it is where the step leads, by its Taylor series."""
    cdef double now = odds[0]
    cdef double curvature = now * (1.0 - now)
    cdef double inverse = 1.0 / (1.0 + q * curvature)
    cdef double step = (u - a - q * now) * inverse
    step /= fmax(1.0 + step * q * curvature * (0.5 - now) * inverse, 0.5)
    odds[0] = now + step * curvature * (1.0 + step * (0.5 - now))
    return step


cdef void far_odds(double a, double q, double b, double r, double* odds) noexcept nogil:
    """σ(−u) at the u = a + q σ(−u) from σ(−a), and the same of b and r: neither waits for the other's exponential."""
    cdef double u = first_guess(a, q, &odds[0])
    cdef double v = first_guess(b, r, &odds[1])
    cdef double step, other
    cdef int _
    for _ in range(60):
        step, other = halley_step(u, a, q, &odds[0]), halley_step(v, b, r, &odds[1])
        if not (fabs(step) > NEAR or fabs(other) > NEAR):
            break
        u -= step
        v -= other
        odds[0], odds[1] = 1.0 / (1.0 + exp(u)), 1.0 / (1.0 + exp(v))


cdef class PairedDiagonal(Diagonal):
    """What the stack of "auto" runs on: diagonal weight vectors with two potentials, and implicit steps.

    The slow weight vectors have ψ(λ) = η λ^(−1/3), the p-norm potential with p = 2, the fast ones ψ(λ) = η λ^(−2/3), p = 1/2; AdaGrad
    is between them. The first moves rare and frequent features alike, the second moves frequent ones less and less, and what suits a
    data set differs: the stack weighs them.

    A step is implicit, with the slope at the margin m' where it leads: m' = m − q ℓ'(m'), q = Σ h_i z_i². For the log-loss this is
    solved; for other losses with a curvature it is solved to first order. A step then cannot overshoot, however long it is.

    Where rows come in order each weight vector has one more iterate, which forgets: it moves as the fast weight vector would if
    MEMORY rounds had made its G, of which those are the part MEMORY/t. ψ of that part is h (t/MEMORY)^(2/3) with h the step of the
    fast weight vector, and not more than ψ(ε). So it keeps no G, nor an average, and costs a sum and a step. It has no bound of its
    own: the potential varies with time.

    Weight vectors r·K + k of two step sizes: the first K slow, the others fast.
    """

    cdef double[::1] fast                # 1 for the weight vectors with the square of ψ
    cdef const double* row_margins       # of the weight vectors, in the round under way
    cdef double[::1] rates               # per weight vector: η, and behind them those of the recent iterates
    cdef double* recent                  # K numbers of each coordinate, or NULL: nothing is forgotten
    cdef Py_ssize_t apart                # from those of one coordinate to those of the next
    cdef double most                     # ψ(ε) of the fast weight vectors

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.fast = np.tile(np.repeat([0.0, 1.0], setting.K), max(1, VECTORS_TOGETHER // setting.L))
        self.longest_step = fmax(self.longest_step, self.longest_step * self.longest_step)
        eta = np.asarray(setting.eta)
        self.rates = np.concatenate([eta, eta[setting.L - setting.K:]])
        self.most = setting.epsilon ** (-2.0 / 3.0)
        self.recent = NULL
        cdef double[:, :] recent = arrays.get("recent")
        if recent is not None:
            self.recent, self.apart = &recent[0, 0], recent.strides[0] // sizeof(double)

    def recent_iterate(self, at=None):
        """(K, D), of the coordinates ``at`` if given."""
        recent = self.arrays["recent"]
        return np.array(recent.T if at is None else recent[at].T)

    def rows_in_memory(self):
        """Of the recent iterate."""
        return MEMORY

    def restart(self, x, subgradient):
        super().restart(x, subgradient)
        if self.recent != NULL:
            self.arrays["recent"][:] = x[:self.setting.K].T

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        return not (self.logistic and self.plain)

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        Diagonal.bind_loss(self, curvatures, steep)
        self.fused = self.plain and self.memory is None

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        self.row_margins = margins
        Coordinatewise.predict(self, row, margins)
        if self.recent != NULL and not self.inactive[self.setting.L]:
            recent_dots(self.recent, self.apart, row.index, row.z, margins + self.setting.L, row.n, self.setting.K)

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        cdef bint forgets = self.recent != NULL and not self.inactive[self.setting.L]
        cdef double longer
        self.slopes = slopes
        if self.scale.grew:
            self.change_units(row)
        paired_grow(row.z, self.entering(slopes), &self.fast[0], self.cells.Gb, self.cells.hb, &self.lengths[0], row.n,
                    self.setting.L)
        if forgets:
            longer = cbrt(fmax(1.0, self.clock.t / MEMORY))
            recent_steps(row.z, self.cells.hb, longer * longer, self.most, self.cells.nb, &self.lengths[self.setting.L], row.n,
                         self.setting.K)
        if not self.logistic:
            self.vector_slopes()
        self.shorten()
        if forgets:
            recent_move(self.recent, self.apart, row.index, row.z, &self.es[self.setting.L], self.cells.nb, row.n, self.setting.K)
        if self.cells.records:
            paired_scatter(self.cells.x, self.cells.G, self.cells.u, self.cells.stride, row.index, row.z, &self.es[0], self.clock.C,
                           self.cells.Gb, self.cells.hb, row.n, self.setting.L)
            return
        paired_step(row.z, &self.es[0], self.cells.hb, self.clock.C, self.cells.xb, self.cells.ub, row.n, self.setting.L)
        if not self.cells.direct:
            self.cells.scatter_all(row)

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        """G, and with it the steps and how far they lead: the verbs below find them done."""
        self.slopes = slopes
        if self.scale.grew:
            self.change_units(row)
        self.forget(row)
        paired_grow(row.z, self.entering(slopes), &self.fast[0], self.cells.Gb, self.cells.hb, &self.lengths[0], row.n,
                    self.setting.L)
        return 0

    cdef int precondition(self, Row* row) noexcept nogil:
        return 0

    cdef void measure_steps(self, Row* row) noexcept nogil:
        pass

    cdef void shorten(self) noexcept nogil:
        """Of two weight vectors at a time, those that follow one another, and perhaps of one at last."""
        cdef Py_ssize_t l, k
        cdef Py_ssize_t L = self.setting.L if self.recent == NULL or self.inactive[self.setting.L] else self.setting.all_vectors
        cdef double common, q, r
        cdef double odds[2]
        cdef const double* m = self.row_margins
        cdef const double* s = self.slopes
        common = self.vector_rate(0) / (self.setting.eta[0] * self.rho[0])
        if not self.logistic:
            Diagonal.shorten(self)
            for l in range(self.setting.L, L):
                q = common * self.rates[l]
                self.es[l] = q * self.rho[l] * s[l] / (1.0 + q * self.lengths[l] * (self.round_weight * self.curvatures[l]))
            return
        common *= self.round_weight                     # margins have no unit: ρ = 1
        for l in range(0, L - 1, 2):
            k = l + 1
            q, r = common * self.rates[l], common * self.rates[k]
            odds[0], odds[1] = fabs(s[l]) / self.round_weight, fabs(s[k]) / self.round_weight
            far_odds(m[l] if s[l] < 0.0 else -m[l], q * self.lengths[l], m[k] if s[k] < 0.0 else -m[k], r * self.lengths[k], odds)
            self.es[l] = -q * odds[0] if s[l] < 0.0 else (q * odds[0] if s[l] > 0.0 else 0.0)
            self.es[k] = -r * odds[1] if s[k] < 0.0 else (r * odds[1] if s[k] > 0.0 else 0.0)
        if L % 2:
            l = L - 1
            q = common * self.rates[l]
            odds[0], odds[1] = fabs(s[l]) / self.round_weight, 0.5
            far_odds(m[l] if s[l] < 0.0 else -m[l], q * self.lengths[l], 0.0, 0.0, odds)
            r = q * odds[0]
            self.es[l] = -r if s[l] < 0.0 else (r if s[l] > 0.0 else 0.0)

    cdef void vector_steps(self, Row* row, Py_ssize_t vector, double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef double rate = self.setting.eta[vector] if row == NULL else self.vector_rate(vector)
        Diagonal.vector_steps(self, row, vector, h)
        if vector >= self.setting.K and not (row != NULL and row.index == NULL):       # there ``precondition`` has squared them
            for i in range(self.setting.D):
                h[i] *= h[i] / rate

    cdef double step_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil:
        cdef double h = Diagonal.step_now(self, i, vector)
        return h * h / self.setting.eta[vector] if vector >= self.setting.K else h
