"""Units that the data bring along: each is proposed while a round is under way, and committed when the round stands.

Features are measured in the largest value that each has had, residuals in their root mean square, curvatures in their mean, and
margins from an offset.
``propose`` never changes what lives between rounds, so a round that fails leaves the units as they were.
"""
from libc.math cimport INFINITY, copysign, fabs, fmax, fmin, log, sqrt
from libc.string cimport memcpy

from ..linalg._loops cimport dot

import numpy as np

cdef double MONSTROUS = 100.0        # a residual beyond so many root mean squares counts as so many
cdef double SHRUNK = 0.4             # no power of λ where h is rational, so that rounding does not decide
cdef double SMALLEST = 1e-290        # a value below counts as 0: a weight for it would overflow
cdef double LARGEST_SUM = 1e300      # of curvatures
cdef double CAP = 10.0               # of the loss of one row where candidates are weighed by their losses,
cdef double CAP_OF_RESIDUALS = 200.0     # or of half its square over the mean square


cdef class FeatureScale:
    """s_i = max |z_i|. The row is divided by it; weights live in these units.

    With a half-life a unit can shrink: s_i becomes max λ^k |z_i|, k the number of later values of the feature, when that is less than
    0.4 s_i. Waiting keeps changes rare, and each makes a decomposition of G anew. The raw weight stays then.

    Where several step sizes learn side by side, a value beyond (1 + 4/n) s_i counts as that. n is how often the feature has had a
    value, and is halved whenever one exceeds s_i: the second value of a feature may be five times the first, one monstrous value
    among thousands hardly moves the unit, heavy tails move it like √n, and a change of the unit is followed within log₂ n rows or so.
    """

    @staticmethod
    def allocate(Setting setting):
        if not setting.scaled:
            return {}
        more = ["peak"] * (setting.forgotten > 0.0) + ["often"] * (setting.R > 1)
        return {"scale": np.zeros(setting.D), "spread": np.zeros(1), **{name: np.zeros(setting.D) for name in more}}

    def __init__(self, dict arrays, double forgetting=1.0):
        self.forgetting = forgetting
        self.scale, self.spread, self.peak = arrays["scale"], arrays["spread"], arrays.get("peak")
        self.often = arrays.get("often")
        self.make_room(1)

    @staticmethod
    def in_raw_units(dict arrays, weights, at=None):
        """Weights (L, D) of scaled features as weights of the features themselves; of the coordinates ``at``, if given."""
        scale = arrays["scale"] if at is None else arrays["scale"][at]
        with np.errstate(over="ignore"):
            return weights / np.where(scale > 0.0, scale, 1.0)

    @staticmethod
    def from_raw_units(dict arrays, weights):
        """The inverse."""
        scale = arrays["scale"]
        return weights * np.where(scale > 0.0, scale, 1.0)

    cdef void make_room(self, Py_ssize_t widest):
        """For rows that touch up to ``widest`` coordinates."""
        if self.proposed is None or self.proposed.shape[0] < widest:
            self.proposed, self.ratios, self.grown = np.empty(widest), np.empty(widest), np.empty(widest, dtype=np.intp)
            self.new_peak = np.empty(widest)

    cdef void propose(self, Row* row) noexcept nogil:
        """Divide the row by the scales that it would leave behind."""
        cdef Py_ssize_t i, j
        cdef double size
        self.grew = 0
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            size = fabs(row.z[j])
            self.proposed[j] = self.scale[i]
            if size > self.scale[i]:
                if size < SMALLEST:
                    row.z[j] = 0.0
                    continue
                self.ratios[self.grew] = size / self.scale[i] if self.scale[i] > 0.0 else 1.0
                if self.often is not None and self.believed(i) < size < INFINITY:
                    size = self.believed(i)
                    row.z[j] = copysign(size, row.z[j])
                self.proposed[j] = size
                self.grown[self.grew] = j
                self.grew += 1
            if size > 0.0:
                row.z[j] /= self.proposed[j]
        self.outgrown = self.grew
        if self.peak is not None:
            self.propose_peaks(row)
        row.norm2 = dot(row.z, row.z, row.n)
        self.norm2 = row.norm2

    cdef void restore(self, Row* row) noexcept nogil:
        """The row in the units from before it; a feature that was not seen then has weight 0, or a raw one that is kept."""
        cdef Py_ssize_t k
        for k in range(self.grew):
            row.z[self.grown[k]] = copysign(self.ratios[k], row.z[self.grown[k]])

    cdef void renew(self, Row* row) noexcept nogil:
        """The row as ``propose`` left it: a value that is the largest so far is 1 in its unit."""
        cdef Py_ssize_t k
        for k in range(self.grew):
            row.z[self.grown[k]] = copysign(1.0, row.z[self.grown[k]])

    cdef void propose_peaks(self, Row* row) noexcept nogil:
        """The largest values in memory, and smaller units where they call for them."""
        cdef Py_ssize_t i, j
        cdef double size
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            self.new_peak[j] = self.peak[i]
            if row.z[j] == 0.0:
                continue
            size = fabs(row.z[j]) * self.proposed[j]
            self.new_peak[j] = fmax(size, self.forgetting * self.peak[i])
            if self.new_peak[j] < SHRUNK * self.scale[i] and self.new_peak[j] > SMALLEST:
                row.z[j] *= self.proposed[j] / self.new_peak[j]
                self.proposed[j] = self.new_peak[j]
                self.grown[self.grew] = j
                self.grew += 1

    cdef void commit(self, Row* row) noexcept nogil:
        cdef Py_ssize_t i, j, k
        if self.peak is not None:
            for j in range(row.n):
                self.peak[row.index[j] if row.index != NULL else j] = self.new_peak[j]
        self.spread[0] = self.new_spread()
        if self.often is not None:
            self.count(row)
        for k in range(self.grew):
            j = self.grown[k]
            i = row.index[j] if row.index != NULL else j
            self.scale[i] = self.proposed[j]

    cdef void count(self, Row* row) noexcept nogil:
        """The values of the row; a feature whose unit grows has been seen half as often, but for its first value."""
        cdef Py_ssize_t i, j, k
        cdef Py_ssize_t apart = self.often.strides[0] // sizeof(double)
        cdef double* often = &self.often[0]
        cdef const double* z = row.z
        if row.index != NULL:
            for j in range(row.n):
                often[row.index[j] * apart] += z[j] != 0.0
        elif apart == 1:                         # a loop in vectors
            for j in range(row.n):
                often[j] += 1.0 if z[j] != 0.0 else 0.0
        else:
            for j in range(row.n):
                often[j * apart] += z[j] != 0.0
        for k in range(self.outgrown):
            if self.ratios[k] > 1.0:
                i = row.index[self.grown[k]] if row.index != NULL else self.grown[k]
                self.often[i] = fmax(1.0, 0.5 * self.often[i])


cdef class RunningMean:
    """Σ ω v / Σ ω of each weight vector, the round under way included; λ per round where it forgets."""

    def __init__(self, double[::1] sums, double[::1] weight, double forgetting=1.0):
        self.sums, self.weight, self.new_sums, self.forgetting = sums, weight, np.array(sums), forgetting

    cdef void enter(self, Py_ssize_t vector, double value, double weight) noexcept nogil:
        self.new_weight = self.forgetting * self.weight[0] + weight
        self.new_sums[vector] = self.forgetting * self.sums[vector] + weight * value

    cdef void commit(self) noexcept nogil:
        self.weight[0] = self.new_weight
        self.sums[:] = self.new_sums


cdef class Residuals(RunningMean):
    """ρ², the mean square of residuals."""

    cdef double propose(self, Py_ssize_t vector, double residual, double weight) noexcept nogil:
        """ρ of a weight vector with this residual; 0 while all residuals are 0."""
        cdef double square = residual * residual
        if self.sums[vector] > 0.0:            # one row must not make all others count nothing
            square = fmin(square, MONSTROUS * MONSTROUS * self.sums[vector] / self.weight[0])
        self.enter(vector, square, weight)
        return sqrt(self.new_sums[vector] / self.new_weight)


cdef class Curvatures(RunningMean):
    """The mean curvature, for losses with a log link: what a residual over it moves a margin by has no unit."""

    cdef double propose(self, Py_ssize_t vector, double curvature, double weight) noexcept nogil:
        """The mean with this curvature; 1 while all are 0."""
        self.enter(vector, curvature, weight)
        self.new_sums[vector] = fmin(self.new_sums[vector], LARGEST_SUM)
        return self.new_sums[vector] / self.new_weight if self.new_sums[vector] > 0.0 else 1.0


cdef class Offsets:
    """Margins are measured from the first target, under a log link from the log of the first positive one."""

    @staticmethod
    def allocate(Setting setting):
        return {"offset": np.zeros(setting.K), "started": np.zeros(setting.K)} if setting.shifted else {}

    def __init__(self, dict arrays):
        self.offset, self.started = arrays["offset"], arrays["started"]
        self.proposed, self.new_started = np.array(self.offset), np.array(self.started)

    cdef void propose(self, Loss loss, const double* target) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.offset.shape[0]):
            self.proposed[k], self.new_started[k] = self.offset[k], self.started[k]
            if self.started[k] == 0.0 and (not loss.log_link or target[k] > 0.0):
                self.proposed[k] = log(target[k]) if loss.log_link else target[k]
                self.new_started[k] = 1.0

    cdef void commit(self) noexcept nogil:
        self.offset[:] = self.proposed
        self.started[:] = self.new_started


cdef class MeanLoss:
    """Σ ω ℓ of what predicts, of each group of weight vectors, and Σ ω behind them: the unit of losses that weights are made from.

    No row counts more than a multiple of the mean, or all others would count nothing beside it.
    """

    def __init__(self, double[::1] sums):
        self.sums, self.new_sums = sums, np.array(sums)
        self.groups = sums.shape[0] - 1

    cdef void begin(self, double weight) noexcept nogil:
        """A round of this weight; ``propose`` then gives units."""
        self.new_sums[self.groups] = self.sums[self.groups] + weight

    cdef double propose(self, Py_ssize_t group, double loss, double weight) noexcept nogil:
        """Twice the mean loss, this round's included: half the square of a residual is 1/2 in the mean."""
        if self.sums[group] > 0.0:
            loss = fmin(loss, 2.0 * CAP_OF_RESIDUALS * self.sums[group] / self.sums[self.groups])
        self.new_sums[group] = self.sums[group] + weight * loss
        return 2.0 * self.new_sums[group] / self.new_sums[self.groups]

    cdef double cap(self, bint plain) noexcept nogil:
        """The most that one row may count, so that none silences a candidate for good; ``plain``: in nats."""
        return CAP if plain else CAP_OF_RESIDUALS

    cdef void commit(self) noexcept nogil:
        memcpy(&self.sums[0], &self.new_sums[0], (self.groups + 1) * sizeof(double))
