"""Units that the data bring along: each is proposed while a round is under way, and committed when the round stands.

Features are measured in the largest value that each has had, residuals in their root mean square, curvatures in their mean, and
margins from an offset.
``propose`` never changes what lives between rounds, so a round that fails leaves the units as they were.
"""
from libc.math cimport INFINITY, copysign, fabs, fmax, fmin, log, sqrt

from ..linalg._loops cimport dot
from ..losses._losses cimport PointLoss

import numpy as np

cdef double FARTHEST = 15.0          # from the offset, under a log link
cdef double EXACT = 1e-12            # relative to the target: what exp(log y) − y is by rounding
cdef double MONSTROUS = 100.0        # a residual beyond so many root mean squares counts as so many
cdef double SHRUNK = 0.4             # no power of λ where h is rational, so that rounding does not decide
cdef double SMALLEST = 1e-290        # a value below counts as 0: a weight for it would overflow
cdef double LARGEST_SUM = 1e300      # of curvatures


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


cdef class Objective:
    """The loss as the weight vectors of a model see it, in units of its own.

    A regression loss of degree 1 or 2 is evaluated on r/ρ, the residual in units of its running root mean square: slopes then have no
    unit, steps are multiplied by ρ, and the loss is reported in its own unit. Under a log link the residual e^m − y is the slope, and
    is divided by ρ likewise; the margin has no unit, so curvatures are divided by their running mean and steps multiplied by ρ over
    that mean. The margin is kept within ±15 of the offset there, and a residual that is rounding is 0: the first row, whose target is
    the offset, is exact in every unit of y.

    Margins of ``vectors`` weight vectors and a target in; loss, slopes and curvatures out. Vector l is of output l mod K.
    """

    def __init__(self, Py_ssize_t vectors, Py_ssize_t K, Residuals residuals, Offsets offsets, Curvatures curvatures):
        self.vectors, self.K, self.groups = vectors, K, vectors // K
        self.residuals, self.offsets, self.curvatures = residuals, offsets, curvatures
        self.plain = residuals is None and offsets is None
        self.step_units, self.curvature_units, self.loss_units = np.ones(vectors), np.ones(vectors), np.ones(vectors)

    cdef double evaluate(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil:
        """The loss, and dℓ/dm of each weight vector in units of ρ. Offsets have been proposed before."""
        cdef Py_ssize_t l
        cdef double total = 0.0
        if self.plain:
            return self.loss.evaluate(margins, target, slopes, self.vectors)
        for l in range(self.vectors):
            total += self.value_of_vector(l, margins[l], target[l % self.K], weight, &slopes[l])
        return total

    cdef void find_slopes(self, const double* margins, const double* target, double weight, double* slopes) noexcept nogil:
        """The slopes alone, for weight vectors that hold several members of the K weight vectors; 0 for those that rest."""
        cdef Py_ssize_t k, l
        if self.plain:
            for l in range(self.groups):
                if self.all_inactive(l):
                    for k in range(l * self.K, (l + 1) * self.K):
                        slopes[k] = 0.0
                else:
                    self.loss.find_slopes(margins + l * self.K, target, slopes + l * self.K, self.K)
            return
        for l in range(self.vectors):
            self.value_of_vector(l, margins[l], target[l % self.K], weight, &slopes[l])

    cdef void find_curvatures(self, const double* margins, const double* target, double* curvatures) noexcept nogil:
        """ℓ'' at the margins just evaluated, in the same units."""
        cdef Py_ssize_t l
        cdef double margin
        if self.plain:
            for l in range(self.groups):
                if not self.all_inactive(l):
                    self.loss.curvatures(margins + l * self.K, target, curvatures + l * self.K, self.K)
            return
        for l in range(self.vectors):
            margin = self.from_offset(l, margins[l])
            if self.residuals is None or self.curvatures is not None:
                curvatures[l] = (<PointLoss> self.loss).curvature(margin, target[l % self.K]) / self.curvature_units[l]
            else:
                curvatures[l] = (<PointLoss> self.loss).curvature((margin - target[l % self.K]) / self.step_units[l], 0.0)

    cdef bint all_inactive(self, Py_ssize_t member) noexcept nogil:
        """Whether none of its weight vectors learns in this round."""
        cdef Py_ssize_t k
        if self.inactive == NULL:
            return False
        for k in range(member * self.K, (member + 1) * self.K):
            if not self.inactive[k]:
                return False
        return True

    cdef double from_offset(self, Py_ssize_t vector, double margin) noexcept nogil:
        """The margin with its offset."""
        cdef double offset
        if self.offsets is None:
            return margin
        offset = self.offsets.proposed[vector % self.K]
        return margin + offset if not self.loss.log_link else offset + fmax(-FARTHEST, fmin(FARTHEST, margin))

    cdef double value_of_vector(self, Py_ssize_t vector, double margin, double target, double weight, double* slope) noexcept nogil:
        cdef double rho, value = 0.0
        cdef double residual
        margin = self.from_offset(vector, margin)
        residual = margin - target
        self.step_units[vector] = self.loss_units[vector] = 1.0
        if self.residuals is None or self.curvatures is not None:
            value = (<PointLoss> self.loss).point(margin, target, slope)
            if self.residuals is None:
                return value
            residual = slope[0] if fabs(slope[0]) > EXACT * target else 0.0
            self.curvature_units[vector] = self.curvatures.propose(vector, (<PointLoss> self.loss).curvature(margin, target), weight)
        rho = self.residuals.propose(vector, residual, weight)
        slope[0] = 0.0
        if rho == 0.0:
            return value
        if self.curvatures is not None:
            slope[0] = residual / rho
            self.step_units[vector], self.loss_units[vector] = rho / self.curvature_units[vector], rho
            return value
        self.step_units[vector], self.loss_units[vector] = rho, rho if self.loss.degree == 2 else 1.0
        return (<PointLoss> self.loss).point(residual / rho, 0.0, slope) * (rho if self.loss.degree == 1 else rho * rho)

    cdef double loss_at(self, Py_ssize_t k, double margin, const double* target) noexcept nogil:
        """The loss of weight vector k; under a log link what it is above that of the best margin, which is never negative."""
        cdef double slope, rho, least
        if self.plain:
            return self.loss.value_of_vector(k, margin, target)
        margin = self.from_offset(k, margin)
        if self.loss.degree > 0:
            rho = self.step_units[k]
            least = (<PointLoss> self.loss).point((margin - target[k]) / rho, 0.0, &slope)
            return least * (rho if self.loss.degree == 1 else rho * rho)
        least = (<PointLoss> self.loss).point(log(target[k]), target[k], &slope) if target[k] > 0.0 else 0.0
        return fmax(0.0, (<PointLoss> self.loss).point(margin, target[k], &slope) - least)

    cdef double slope_at(self, Py_ssize_t k, double margin, const double* target, double* curvature) noexcept nogil:
        """dℓ/dm and ℓ'' of weight vector k, of the loss in its unit, with margins in the unit of the targets; not where ``plain``."""
        cdef double slope, unit = self.step_units[k]
        margin = self.from_offset(k, margin)
        if self.loss.degree > 0:
            (<PointLoss> self.loss).point((margin - target[k]) / unit, 0.0, &slope)
            curvature[0] = (<PointLoss> self.loss).curvature((margin - target[k]) / unit, 0.0) / (unit * unit)
        else:
            unit *= self.loss_units[k]
            (<PointLoss> self.loss).point(margin, target[k], &slope)
            curvature[0] = (<PointLoss> self.loss).curvature(margin, target[k]) / unit
        return slope / unit

    cdef void commit(self) noexcept nogil:
        """The round stands."""
        if self.residuals is not None:
            self.residuals.commit()
        if self.offsets is not None:
            self.offsets.commit()
        if self.curvatures is not None:
            self.curvatures.commit()
