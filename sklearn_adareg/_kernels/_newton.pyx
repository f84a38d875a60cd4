# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What "auto" is where the full matrix is affordable: the Online Newton Step without a step size to tune, in any units.

Beside the paper's g gᵀ the matrix takes the curvature that the loss has: a row z with slope ℓ' and curvature ℓ'' adds w z zᵀ with
w = (ℓ'² + ℓ'')/2, or ℓ'' alone where slopes are unbounded, and the step is implicit,

    P ← P − w/(1 + wq) P z zᵀ P,    x ← x − η ℓ' / (1 + (w + η ℓ'') q) P z,    q = zᵀ P z.

It does not depend on the units of the features (``_columns``): the ridge of feature i is ε times its root mean square times its
largest value, which is kept up with by pseudo-rows along e_i; a feature that is mostly not zero is measured from its mean, as if the
intercept had been moved there.

O(D²) a row and weight vector, O(D·nnz) between folds for sparse rows; O(D) for lanes that keep the diagonal.

What a lane would publish is predicted in the units that it has been published in. Then the row's own features change units, since a
feature that jumps must shrink its weight before it is learnt from. They look at the features only, so the loss stays progressive.
What they change is logged, and undone when the round fails.
"""
from libc.math cimport ceil, fmax, fmin, isfinite
from libc.string cimport memset

from ._columns cimport Columns
from ._domains cimport Domain
from ._free_step cimport FreeStep, free_step
from ._loops cimport axpy, dot
from ._measured cimport Measured
from ._metric cimport NOT_PREPARED
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Setting
from ._structures cimport NOT_FINITE, NOT_PROJECTED, TOO_HEAVY

from ._lasso import minimised

import numpy as np

cdef double STRONGEST = 1e6              # what a penalty may add at a time, in ridges
cdef double HEAVY = 1e200                # the weight of a row whose square may take G past ...
cdef double LARGEST = 1e290              # ... what a double holds
cdef double SURPRISE = 1000.0            # a row so wrong that ℓ'² is beyond this many ℓ'' tells nothing more about curvature


cdef class Newton(Measured):
    """G takes slopes and curvatures; features bring their own units."""

    cdef double[:, ::1] subgradient      # of the L1 penalty, in −1 to 1, or None
    cdef FreeStep by_G                   # or None
    cdef double[::1] lengths             # of this round's steps, in P z

    @classmethod
    def allocate(cls, Setting setting, bint sparse):
        arrays = super().allocate(setting, sparse)
        if setting.l1 > 0.0:
            arrays["subgradient"] = np.zeros((setting.L, setting.D))
        return arrays

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.tells = self.unconstrained and not setting.zeros
        self.always_steps = setting.forgets          # what is forgotten is forgotten in every round
        self.subgradient = arrays.get("subgradient")
        self.longest_step = 0.0
        self.by_G = free_step(domain, self.members.inverse)
        self.lengths = np.zeros(setting.L)

    def accumulated(self):
        """G of each lane, (L, D, D), in features measured from their centers; a diagonal matrix where only the diagonal is kept."""
        inflation = self.arrays["inflation"][:, None, None]
        diagonals = [np.diag(diagonal)[None] for diagonal in self.arrays["diagonal"]]
        return np.concatenate([self.members.inverse.accumulated() / inflation, *diagonals])

    cdef object mixed(self, double[:, :, ::1] shares):
        """As in ``Structure``, in loops: a model of few features may be asked for after every row."""
        cdef Py_ssize_t k, r, lane
        cdef Py_ssize_t K = self.setting.K
        cdef Py_ssize_t D = self.setting.D
        cdef double C = self.clock.now[1]
        result = np.zeros((K, D))
        cdef double[:, ::1] total = result
        for k in range(K):
            for r in range(self.setting.R):
                lane = r * K + k
                axpy(shares[0, k, r] + shares[1, k, r], self.x + lane * D, &total[k, 0], D)
                if self.u != NULL and C > 0.0 and shares[0, k, r] != 0.0:
                    axpy(-shares[0, k, r] / C, self.u + lane * D, &total[k, 0], D)
        return result

    def restart(self, x, subgradient):
        super().restart(x, subgradient)
        if "subgradient" in self.arrays:
            self.arrays["subgradient"][:] = subgradient

    def with_zeros(self, weights, shares):
        """The minimiser of the lanes' own quadratic and the L1 penalty, from the combined weights (K, D) of members with ``shares``.

        ½ (x − w)ᵀ G/t (x − w) − l1 s·(x − w) + l1 ‖x‖₁ with s the subgradient, t the rounds in G: at the optimum x is w, but for its
        zeros.
        """
        cdef Py_ssize_t d = self.setting.d
        K = self.setting.K
        G, s = self.mean_matrices(), self.arrays["subgradient"]
        rate, unit = self.residual_rates()
        factor = self.arrays["columns"][:d, Columns.names().index("factor")]
        low, high = self.domain.lower, self.domain.upper
        found = np.array(weights)
        with np.errstate(all="ignore"):
            lower, upper = (np.where(factor > 0.0, bound / factor, bound) if np.isfinite(bound) else np.full(d, bound)
                            for bound in (low, high))
        for k in range(K):
            lanes = np.arange(self.setting.R) * K + k
            matrix = np.tensordot(shares[k], G[lanes], 1)
            due = self.setting.l1 * factor * (shares[k] @ (rate / unit)[lanes, 0])
            slope = np.zeros(self.setting.D)
            slope[:d] = due * (shares[k] @ s[lanes, :d])
            found[k] = minimised(matrix, slope, due, lower, upper, found[k])
        return found

    def mean_matrices(self):
        """G of each lane, (L, D, D), over the number of rounds in it."""
        G = self.accumulated()
        t, kept = self.arrays["clock"][0], np.asarray(self.setting.kept)
        with np.errstate(all="ignore"):
            rounds = np.where(kept < 1.0, (1.0 - kept**t) / (1.0 - kept), t)
        return G / np.maximum(rounds, 1.0)[:, None, None]

    # ---- the verbs of a round -----------------------------------------------------------------------------------

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        return True

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        cdef Py_ssize_t l
        cdef const double* shown = self.iterate_margins
        for l in range(self.setting.L):
            if self.rests[l]:                        # nobody asks it, and it will not learn
                margins[l] = 0.0
            elif shown != NULL and not self.moved:
                margins[l] = shown[l]
            else:
                margins[l] = self.times_row(self.x + l * self.setting.D)

    cdef void show_margins(self) noexcept nogil:
        """What the lanes would publish: margins of their averages, and of their iterates."""
        cdef Py_ssize_t l
        cdef Py_ssize_t D = self.setting.D
        cdef double* iterates = self.iterate_margins         # of a committee, which looks at no others
        cdef double* averages = self.average_margins
        self.changed = iterates == NULL and self.watched
        if self.changed:
            iterates, averages = &self.old_margins[0], &self.old_averages[0]
        if iterates == NULL:
            return
        for l in range(self.setting.L):
            if self.rests[l] and self.setting.kept[l] < 1.0:
                continue
            iterates[l] = averages[l] = self.times_row(self.x + l * D)
            if self.u != NULL and self.setting.kept[l] == 1.0 and self.clock.now[1] > 0.0:
                averages[l] -= self.times_row(self.u + l * D) / self.clock.now[1]

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
        cdef Py_ssize_t l
        cdef Py_ssize_t D = self.setting.D
        cdef double slope, curvature, w, q, factor, square, total = 0.0, heaviest = 0.0
        for l in range(self.setting.L):
            self.members.weights[l] = self.lengths[l] = 0.0
            if self.rests[l]:
                continue
            if self.slopes[l] == 0.0 and self.curvatures[l] == 0.0:      # neither x nor P would change
                memset(&self.move[l, 0], 0, D * sizeof(double))
                continue
            q = self.members.find_direction(l, self.index, self.z, self.n)
            slope, curvature = self.slopes[l], self.round_weight * self.curvatures[l]
            square = slope * slope / self.round_weight
            w = curvature if self.steep and curvature > 0.0 else 0.5 * (square + curvature)
            factor = self.setting.eta[l] * self.rho[l] * slope / (1.0 + (w + self.setting.eta[l] * curvature) * q)
            self.lengths[l] = factor
            total += self.members.move(l, factor, self.index, self.z, self.n, &self.move[l, 0])
            if not self.steep and curvature > 0.0:
                w = 0.5 * (fmin(square, SURPRISE * curvature) + curvature)
            self.members.propose(l, w, q)
            heaviest = fmax(heaviest, w)
        if heaviest > HEAVY and not heaviest * dot(self.z, self.z, self.n) < LARGEST:
            return TOO_HEAVY
        return 0 if isfinite(self.clock.C * total) else NOT_FINITE

    cdef int update(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i, l
        cdef Py_ssize_t D = self.setting.D
        if not self.unconstrained:
            for l in range(self.setting.L):
                if self.rests[l]:
                    continue
                for i in range(D):
                    self.goal[l, i] = self.x[l * D + i] - self.move[l, i]
                if self.project(l) != 0:
                    return NOT_PROJECTED
                for i in range(D):
                    self.move[l, i] = self.x[l * D + i] - self.goal[l, i]
        for l in range(self.setting.L):
            if self.rests[l]:
                continue
            if self.u != NULL and self.setting.kept[l] == 1.0:
                axpy(-self.clock.C, &self.move[l, 0], self.u + l * D, D)
            axpy(-1.0, &self.move[l, 0], self.x + l * D, D)
            self.members.enter(l, self.index, self.z, self.n)
            if self.penalised and self.entered > 0:
                self.penalise(l)
            if self.setting.kept[l] < 1.0:
                self.forget_in(l)
        return 0

    cdef void penalise(self, Py_ssize_t lane) noexcept nogil:
        """The penalty, of one coordinate a round and as many times as there are: L2 a pseudo-row, L1 a prox along it."""
        cdef Py_ssize_t i = self.order[<Py_ssize_t> self.clock.t % self.entered]
        cdef double factor = self.columns.columns[i].factor
        # in the units of the lane's curvatures, for a weight in the feature's own unit
        cdef double unit = self.entered * self.rho[lane] / self.loss_units[lane]
        cdef double growth, most, taken
        if self.setting.l2 > 0.0:
            # more would only cancel digits of P: a weight that is multiplied by this little each time is as good as 0
            growth = fmin(self.setting.l2 * (factor * factor) * unit,
                          STRONGEST * self.setting.epsilons[lane] * self.columns.columns[i].ridge)
            self.members.pull(lane, i, growth, self.clock.C)
        if self.setting.l1 > 0.0:
            most = self.setting.eta[lane] * self.setting.l1 * factor * unit
            taken = self.members.threshold(lane, i, most, self.clock.C)
            if isfinite(taken):
                # averaged as x is, it is a subgradient of |x_i| for the model to be published with
                unit = fmax((self.setting.gamma + 1.0) / self.clock.t, 1.0 - self.setting.kept[lane])
                unit = fmin(1.0, unit * self.entered)
                self.subgradient[lane, i] += unit * (taken / most - self.subgradient[lane, i])

    cdef void forget_in(self, Py_ssize_t lane) noexcept nogil:
        """G ← λG + (1 − λ)G_0, the prior in turns where the lane keeps a matrix."""
        cdef Py_ssize_t j, k
        cdef Py_ssize_t many = self.entered + self.setting.intercept
        cdef Py_ssize_t turns = many
        cdef double lost = 1.0 - self.setting.kept[lane]
        self.members.forget(lane)
        if lane < self.members.whole:
            turns = <Py_ssize_t> ceil(many * lost)
        for j in range(turns):
            k = (<Py_ssize_t> self.clock.t * turns + j) % many
            k = self.setting.d if k == self.entered else self.order[k]
            self.members.return_prior(lane, k, lost * many / turns * self.ridge_of(lane, k))

    cdef int project_by_G(self, Py_ssize_t lane) noexcept nogil:
        """With the row in G, G times the step is the row times the length of the step, over the weight 1/(1 + wq)."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t D = self.setting.D
        cdef double weight = self.members.weights[lane]
        cdef double length = self.lengths[lane] / weight if weight != 0.0 else self.lengths[lane]
        if self.by_G is None or lane >= self.members.whole:
            return NOT_PREPARED
        for i in range(D):
            self.by_G.x[i] = self.by_G.a[i] = self.x[lane * D + i] / (self.units[i] if i < self.setting.d else 1.0)
            self.by_G.f[i] = 0.0
        for j in range(self.n):
            i = self.index[j] if self.index != NULL else j
            self.by_G.f[i] = -length * self.z[j] * (self.units[i] if i < self.setting.d else 1.0)
        return self.by_G.project(lane, weight, self.members.inflation[lane], self.members.inverse.next_g(lane), &self.units[0],
                                 &self.goal[lane, 0])

    cdef void explicit_H(self, Py_ssize_t lane) noexcept nogil:
        self.members.explicit(lane, self.index, self.z, self.n, &self.H[0, 0])
