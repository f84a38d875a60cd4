# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What every structure is: the verbs of one round, over L lanes that read the row together.

A round calls ``enter`` (bring the touched coordinates together), ``predict``, ``accumulate`` (G_t), ``precondition`` (H_t)
and ``update`` (x_{t+1}, projected; the average moves along), or ``learn``, where a structure does those three in one pass, or
``rest`` when no lane has a slope. Nothing that outlives the call changes before ``update``, so a round that fails leaves the
state as it was.

Under online scaling the row arrives in units of the largest value that each feature has had, and x lives in those units: it
stays as it is when a unit grows, so the raw weight shrinks, and G is carried over to the new unit. Residuals are measured in
their root mean square.

The average Σ c_t x_t = C_T x_{T+1} − Σ C_s δ_s needs only the steps δ: ``u`` accumulates C_s δ_s, and costs what the step costs.
"""
from libc.math cimport fabs, fmax, fmin, log, sqrt

from ._domains cimport NoDomain
from ._losses cimport Loss, PointLoss
from ._loops cimport dot

import numpy as np


cdef class Setting:
    """The numbers of a problem that do not change while it learns."""

    def __init__(self, *, Py_ssize_t d, Py_ssize_t lanes, bint intercept, eta, double epsilon, bint dual=False,
                 average=True, double alpha=0.0, double l1_ratio=0.0, double start=0.0, bint scaled=False,
                 bint relative=False, bint shifted=False, Py_ssize_t rates=1, bint joint=False, double refresh=0.0, int degree=0,
                 bint lighter=False):
        self.d, self.D, self.K, self.L = d, d + intercept, lanes, lanes * rates
        self.intercept = intercept
        self.rates, self.joint, self.refresh, self.degree = rates, joint, refresh, degree
        self.eta = np.repeat(np.zeros(rates) + np.asarray(eta, dtype=np.float64), lanes)
        self.scaled, self.relative, self.shifted = scaled, relative, shifted
        self.lighter = lighter      # a row of weight ω enters G as ω rows; the paper's g gᵀ has ω² there
        self.epsilon = epsilon
        self.dual = dual
        self.averaging = average is not False
        self.gamma = 0.0 if isinstance(average, bool) else average
        self.ridge, self.lasso = alpha * (1.0 - l1_ratio), alpha * l1_ratio
        self.start = start


cdef class Clock:
    """Rounds t, averaging weights c_t = t^γ and their sum C_t."""

    def __init__(self, Setting setting, double[::1] now):
        self.now = now
        self.averaging, self.gamma = setting.averaging, setting.gamma


cdef class Structure:
    """A structure bound to the arrays of one state."""

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        self.setting, self.potential, self.domain, self.arrays = setting, potential, domain, arrays
        self.penalised = setting.ridge > 0.0 or setting.lasso > 0.0
        self.restless = self.penalised or (setting.scaled and setting.start != 0.0)
        self.has_units = setting.scaled or setting.relative or setting.shifted or setting.rates > 1
        self.free = isinstance(domain, NoDomain)
        self.wholly = not (self.free or domain.coordinatewise)
        self.clock = Clock(setting, arrays["clock"])
        cdef double epsilon = setting.epsilon
        cdef double longest = 0.0
        if not potential.fallible:
            potential.steps(&epsilon, &longest, 1)
        self.reach = longest * float(np.max(setting.eta))
        self.factor = np.ones(setting.L + setting.K)      # the last K are of the stack's own margins
        self.scale = self.offset = None
        if setting.scaled:
            self.scale, self.spread = arrays["scale"], arrays["spread"]
        if setting.shifted:
            self.offset, self.started = arrays["offset"], arrays["started"]
            self.new_offset, self.new_started = np.empty(setting.K), np.empty(setting.K)
        if setting.relative:
            self.residuals, self.weight = arrays["residuals"], arrays["weight"]
            self.new_residuals = np.zeros(setting.L + setting.K)

    @staticmethod
    def allocate_units(Setting setting):
        """The arrays that online scaling adds to a state."""
        arrays = {}
        if setting.scaled:
            arrays["scale"], arrays["spread"] = np.zeros(setting.D), np.zeros(1)
        if setting.shifted:
            arrays["offset"], arrays["started"] = np.zeros(setting.K), np.zeros(setting.K)
        if setting.relative:
            arrays["residuals"], arrays["weight"] = np.zeros(setting.L + setting.K), np.zeros(1)
        return arrays

    def in_raw_units(self, weights):
        """Weights (L, D) of normalised features as weights of the features themselves, with the offset in the intercept."""
        if self.setting.scaled:
            scale = self.arrays["scale"]
            weights = weights / np.where(scale > 0.0, scale, 1.0)
        if self.setting.shifted:
            weights[:, self.setting.d] += np.tile(self.arrays["offset"], len(weights) // self.setting.K)
        return weights

    def published(self):
        """The fitted model, (L, D): the average, or the last iterate with its pending penalty charged."""
        if not self.setting.averaging:
            return self.in_raw_units(self.last_iterate())
        return self.in_raw_units(self.average())

    cdef void room_for_units(self, Py_ssize_t widest):
        """Make room for rows that touch up to ``widest`` coordinates."""
        if self.setting.scaled and (self.new_scale is None or self.new_scale.shape[0] < widest):
            self.new_scale, self.grown = np.empty(max(widest, 1)), np.empty(max(widest, 1), dtype=np.intp)

    cdef void meet(self, Loss loss) noexcept nogil:
        """The loss of the rounds to come."""
        pass

    cdef void normalise(self, Row* row) noexcept nogil:
        """The row in units of the largest values so far, its own among them; nothing is noted yet."""
        cdef Py_ssize_t i, j
        cdef double size
        self.grew = 0
        for j in range(row.n):
            i = row.index[j] if row.index != NULL else j
            size = fabs(row.z[j])
            self.new_scale[j] = self.scale[i]
            if size > self.scale[i]:
                self.new_scale[j] = size
                self.grown[self.grew] = j
                self.grew += 1
            if size > 0.0:
                row.z[j] /= self.new_scale[j]
        row.norm2 = dot(row.z, row.z, row.n)
        self.norm2 = row.norm2

    cdef double suffer(self, Loss loss, const double* margins, const double* target, double weight, double* slopes) noexcept nogil:
        """The loss of the round, and a slope for each lane."""
        if self.setting.relative or self.setting.shifted:
            return self.suffer_relative(loss, margins, target, weight, slopes)
        return loss.evaluate(margins, target, slopes, self.setting.L)

    cdef double suffer_relative(self, Loss loss, const double* margins, const double* target, double weight,
                                double* slopes) noexcept nogil:
        """The same for regression in units of its own."""
        cdef Py_ssize_t l
        cdef double total = 0.0
        self.find_offset(loss, target)
        for l in range(self.setting.L):
            total += self.lane_loss(loss, l, margins[l], target[l % self.setting.K], weight, &slopes[l])
        return total

    cdef double lane_loss(self, Loss loss, Py_ssize_t lane, double margin, double target, double weight,
                          double* slope) noexcept nogil:
        """Residuals in units of their root mean square ρ, this one among them: slopes have no unit, steps are times ρ.

        A log link has its unit already; there the margin is kept within e^±15 of where it started.
        """
        cdef double residual, rho
        cdef double start = self.new_offset[lane % self.setting.K] if self.setting.shifted else 0.0
        if not self.setting.relative:
            return (<PointLoss> loss).point(start + fmax(-15.0, fmin(15.0, margin)), target, slope)
        residual = margin + start - target
        self.new_weight = self.weight[0] + weight
        self.new_residuals[lane] = self.residuals[lane] + weight * residual * residual
        rho = sqrt(self.new_residuals[lane] / self.new_weight)
        self.factor[lane] = rho if rho > 0.0 else 1.0
        slope[0] = 0.0
        if rho == 0.0:
            return 0.0
        return (<PointLoss> loss).point(residual / rho, 0.0, slope) * (rho if loss.degree == 1 else rho * rho)

    cdef double lane_curvature(self, Loss loss, Py_ssize_t lane, double margin, double target) noexcept nogil:
        """ℓ'' where ``lane_loss`` has just been, in the same units."""
        cdef double start = self.new_offset[lane % self.setting.K] if self.setting.shifted else 0.0
        if not self.setting.relative:
            return (<PointLoss> loss).curvature(start + fmax(-15.0, fmin(15.0, margin)), target)
        return (<PointLoss> loss).curvature((margin + start - target) / self.factor[lane], 0.0)

    cdef void find_offset(self, Loss loss, const double* target) noexcept nogil:
        """Margins start from the first target, under a log link from the log of the first positive one."""
        cdef Py_ssize_t k
        if not self.setting.shifted:
            return
        for k in range(self.setting.K):
            self.new_offset[k], self.new_started[k] = self.offset[k], self.started[k]
            if self.started[k] == 0.0 and (loss.degree > 0 or target[k] > 0.0):
                self.new_offset[k] = target[k] if loss.degree > 0 else log(target[k])
                self.new_started[k] = 1.0

    cdef double loss_unit(self, Py_ssize_t lane) noexcept nogil:
        """How many times the gradients of this lane go into those of the loss itself; the penalty is on that scale."""
        return self.factor[lane] if self.setting.degree == 2 else 1.0

    cdef void keep_units(self, Row* row) noexcept nogil:
        """The round stands: note the scales and residuals that it brought."""
        cdef Py_ssize_t i, j, l
        if self.setting.scaled:
            self.spread[0] += self.norm2
            for l in range(self.grew):
                j = self.grown[l]
                i = row.index[j] if row.index != NULL else j
                self.scale[i] = self.new_scale[j]
        if self.setting.shifted:
            for l in range(self.setting.K):
                self.offset[l], self.started[l] = self.new_offset[l], self.new_started[l]
        if self.setting.relative:
            self.weight[0] = self.new_weight
            for l in range(self.residuals.shape[0]):
                self.residuals[l] = self.new_residuals[l]

    cdef void enter(self, Row* row) noexcept nogil:
        pass

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        pass

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        pass

    cdef int precondition(self, Row* row) noexcept nogil:
        return -1

    cdef int update(self, Row* row) noexcept nogil:
        return -1

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        pass

    cdef void rest(self, Row* row) noexcept nogil:
        pass
