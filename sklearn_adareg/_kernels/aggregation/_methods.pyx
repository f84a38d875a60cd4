"""How a row is turned into a loss and into slopes for the weight vectors, and what of the state is published.

``Method`` is Algorithm 1: each weight vector predicts for itself. ``_stack`` combines several step sizes.
"""
from libc.math cimport copysign, isfinite
from libc.string cimport memcpy

from ..losses._losses cimport Loss, PointLoss
from ..data._rows cimport Row
from ..state._setting cimport Setting
from ..preconditioners._structures cimport Structure
from ..scaling._units cimport Curvatures, Objective, Offsets, Residuals

import numpy as np

cdef double LARGEST = np.finfo(np.float64).max
cdef double ONE = 1.0
cdef double LARGEST_LOSS = 1e290        # that is recorded of a row: sums stay finite


cdef class Method:
    """A structure and the loss that its weight vectors see, bound to the arrays of one state."""

    @classmethod
    def allocate(cls, structure, Setting setting, bint sparse):
        """The arrays of a new state of this structure."""
        arrays = structure.allocate(setting, sparse)
        arrays.update(Offsets.allocate(setting))
        arrays.update(cls.allocate_units(setting, setting.all_vectors))
        return arrays

    @classmethod
    def mismatch(cls, structure, Setting setting, dict arrays):
        """Why saved arrays, which have the shapes of new ones, are none of this method, in a clause; None if they are."""
        return structure.mismatch(setting, arrays)

    @staticmethod
    def allocate_units(Setting setting, vectors, prefix=""):
        """The arrays of an objective's units."""
        arrays = {"weight": np.zeros(1)} if setting.relative or setting.counted else {}
        if arrays:
            arrays[prefix + "residuals"] = np.zeros(vectors)
        if setting.counted:
            arrays[prefix + "curvatures"] = np.zeros(vectors)
        return arrays

    def objective_of(self, vectors, prefix=""):
        """The loss of so many weight vectors, in units that lie in arrays with this prefix."""
        cdef Residuals residuals = None
        cdef Curvatures curvatures = None
        arrays = self.arrays
        if prefix + "residuals" in arrays:
            residuals = Residuals(arrays[prefix + "residuals"], arrays["weight"], self.setting.forgetting)
        if prefix + "curvatures" in arrays:
            curvatures = Curvatures(arrays[prefix + "curvatures"], arrays["weight"], self.setting.forgetting)
        return Objective(vectors, self.setting.K, residuals, self.offsets, curvatures)

    def __init__(self, Structure structure):
        cdef Setting setting = structure.setting
        arrays = structure.arrays
        self.setting, self.structure, self.arrays = setting, structure, arrays
        self.clock, self.scale = structure.clock, structure.scale
        self.offsets = Offsets(arrays) if setting.shifted else None
        self.objective = self.objective_of(setting.all_vectors)
        structure.rho, structure.loss_units = self.objective.step_units, self.objective.loss_units
        self.in_units = setting.scaled or not self.objective.plain
        self.margins, self.slopes, self.curvatures = (np.zeros(setting.all_vectors) for _ in range(3))
        self.prequential = self.predicting = &self.margins[0]
        self.predictor = self.objective
        self.shown, self.shown_slopes, self.average_margins = np.zeros(setting.K), np.zeros(setting.K), np.zeros(setting.L)
        self.first_sight = True

    def bind_loss(self, Loss loss):
        """The loss of the rounds to come."""
        self.loss = self.objective.loss = loss
        self.structure.logistic = loss.logistic
        wanted = self.structure.wants_curvatures(loss.steep)
        self.structure.bind_loss(&self.curvatures[0] if wanted else NULL, loss.steep)
        self.direct = type(self) is Method and self.objective.plain and not wanted

    def watch(self, bint shown, bint recorded):
        """Work out what would have been published before each round, for who asks or for the records."""
        self.looked_up = not self.structure.evaluates_published
        self.as_published = recorded and (self.looked_up or self.setting.averaging or self.setting.scaled)    # else x_t is
        self.watched = shown or self.as_published
        self.predicting = &self.shown[0] if self.as_published else self.prequential
        if not self.combines:
            asked = self.watched and self.setting.averaging and not self.looked_up
            self.structure.average_margins = &self.average_margins[0] if asked else NULL

    def published(self, *at):
        """The fitted model, (K, D): the average, or the last iterate with its pending penalty charged."""
        weights = self.structure.average(*at) if self.setting.averaging else self.structure.last_iterate(*at)
        return self.with_offsets(self.with_zeros(weights, np.ones((self.setting.K, 1))), *at)

    def with_zeros(self, weights, shares):
        """Combined weights (K, D) with the zeros of an L1 penalty where they are to be restored; ``shares`` is (K, R)."""
        return self.structure.with_zeros(weights, shares) if self.setting.zeros else weights

    def with_offsets(self, weights, *at):
        """Weights in raw units and in the domain, with the offset in the intercept, which comes last.

        The largest double stands for what is beyond it. An average of points of the domain in earlier units may lie outside.
        """
        cdef Py_ssize_t i, k
        cdef Py_ssize_t d = self.setting.d
        weights = self.structure.in_raw_units(weights, *at)
        cdef double[:, :] raw = weights
        for k in range(raw.shape[0]):
            if self.offsets is not None:
                raw[k, raw.shape[1] - 1] += self.offsets.offset[k]
            for i in range(raw.shape[1]):
                if raw[k, i] > LARGEST:
                    raw[k, i] = LARGEST
                elif raw[k, i] < -LARGEST:
                    raw[k, i] = -LARGEST
        if not self.structure.unconstrained:
            for vector in weights:
                vector[:d] = self.structure.domain.confine(vector[:d])
        return weights

    def restart(self, weights, subgradient):
        """Go on from a model (K, D) in raw units, with a ``subgradient`` (K, D) of its L1 penalty."""
        weights = np.array(weights)
        if self.setting.shifted:
            weights[:, self.setting.d] -= self.arrays["offset"]
        x = self.structure.from_raw_units(weights)
        self.structure.restart(np.tile(x, (self.setting.R, 1)), np.tile(subgradient, (self.setting.R, 1)))

    def memory(self):
        """The number of rows in use, Σ λ^(t−s) over the rounds s: t where nothing is forgotten."""
        cdef double rounds = self.clock.now[0]
        return rounds if self.setting.forgotten == 0.0 else self.clock.discounted(rounds)

    cdef void begin_round(self) noexcept nogil:
        """What is to be known before the row is looked at; called where ``combines``."""

    cdef void show(self, const double* margins, const double* averages) noexcept nogil:
        """``shown`` from the margins of the weight vectors and of their averages, without offsets."""
        memcpy(&self.shown[0], averages if self.setting.averaging else margins, self.setting.K * sizeof(double))

    cdef void show_earlier(self, Row* row) noexcept nogil:
        """``shown`` in the units from before this row, whose values are the largest so far."""
        self.scale.restore(row)
        self.structure.enter(row)
        self.structure.predict(row, &self.margins[0])
        self.show(&self.margins[0], &self.average_margins[0])
        self.scale.renew(row)

    cdef void combination(self, Py_ssize_t k, const double** of_averages, const double** of_iterates) noexcept nogil:
        """What ``published`` combines into output k; NULL is nothing."""
        of_averages[0] = &ONE if self.setting.averaging else NULL
        of_iterates[0] = NULL if self.setting.averaging else &ONE

    cdef bint look_up(self, Row* row) noexcept nogil:
        """``shown`` at the weights that would be published now, where margins do not tell; False leaves an ``error``."""
        cdef Py_ssize_t k
        cdef const double* of_averages
        cdef const double* of_iterates
        for k in range(self.setting.K):
            self.combination(k, &of_averages, &of_iterates)
            if not self.structure.look_up(row, k, of_averages, of_iterates, &self.shown[k]):
                return self.look_up_in_all(row)
            if self.offsets is not None:
                self.shown[k] += self.offsets.offset[k]
        return True

    cdef bint look_up_in_all(self, Row* row) noexcept with gil:
        """The same by publishing all weights, which takes some 50 µs and O(D)."""
        cdef Py_ssize_t j, k
        cdef double[:, :] weights
        try:
            weights = self.published()
        except BaseException as error:
            self.error = error
            return False
        for k in range(self.setting.K):
            self.shown[k] = 0.0
            for j in range(row.n):
                self.shown[k] += row.z[j] * weights[k, row.index[j] if row.index != NULL else j]
        return True

    cdef double evaluate_published(self, const double* target, double value, bint earlier) noexcept nogil:
        """Complete ``shown`` after ``evaluate_loss``, which gave this value; its loss, where that is what predicts."""
        cdef Py_ssize_t k
        cdef bint same = not (earlier or self.looked_up) and (self.combines or not self.setting.averaging)      # the offset apart
        if self.combines and not (earlier or self.looked_up):
            memcpy(&self.shown[0], self.prequential, self.setting.K * sizeof(double))
        if self.offsets is not None and not self.looked_up:
            for k in range(self.setting.K):
                self.shown[k] += self.offsets.offset[k]
                same = same and self.offsets.started[k] != 0.0 and not self.loss.log_link
        for k in range(self.setting.K):
            if not isfinite(self.shown[k]):
                self.shown[k] = copysign(LARGEST, self.shown[k])
        if not self.as_published:
            return 0.0
        return value if same else self.shown_loss(target)

    cdef double shown_loss(self, const double* target) noexcept nogil:
        """The loss at ``shown``, in the unit of the residuals that the round has."""
        cdef Py_ssize_t k
        cdef double rho, value = 0.0
        if self.predictor.plain:
            value = self.loss.evaluate(&self.shown[0], target, &self.shown_slopes[0], self.setting.K)
        else:
            for k in range(self.setting.K):
                if self.predictor.residuals is None or self.predictor.curvatures is not None:
                    value += (<PointLoss> self.loss).point(self.shown[k], target[k], &self.shown_slopes[0])
                else:
                    rho = self.predictor.step_units[k]
                    value += (rho if self.loss.degree == 1 else rho * rho) * (<PointLoss> self.loss).point(
                        (self.shown[k] - target[k]) / rho, 0.0, &self.shown_slopes[0])
        return value if value < LARGEST_LOSS else LARGEST_LOSS

    cdef double evaluate_loss(self, const double* target, double weight) noexcept nogil:
        """The loss of the round at ``margins``; ``slopes``, and curvatures where the structure looks at them."""
        cdef double value
        if self.objective.plain:
            value = self.loss.evaluate(&self.margins[0], target, &self.slopes[0], self.setting.L)
            if self.structure.curvatures != NULL:
                self.loss.curvatures(&self.margins[0], target, &self.curvatures[0], self.setting.L)
            return value
        if self.offsets is not None:
            self.offsets.propose(self.objective.loss, target)
        value = self.objective.evaluate(&self.margins[0], target, weight, &self.slopes[0])
        if self.structure.curvatures != NULL:
            self.objective.find_curvatures(&self.margins[0], target, &self.curvatures[0])
        return value

    cdef void commit(self, Row* row) noexcept nogil:
        """The round stands: so do its units."""
        if self.scale is not None:
            self.scale.commit(row)
        self.objective.commit()
