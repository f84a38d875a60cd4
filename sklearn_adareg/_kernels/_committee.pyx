# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""A committee: members that differ in memory, prior and structure read each row together, and their losses say who is right.

Members are lanes of one structure, lane r·K + k is member r of weight vector k, so they share the row and the statistics of its
features. Every weight below is known before the row is learnt from, so each loss is honest.

- *Steady* members never forget. Their averages are combined with weights ∝ exp(−L), L the sum of a member's losses, faded by
  (t/(t+1))² so that it is about the last third of the rows that counts; a regression on the averages is one more candidate.
- *Recent*: the iterates of all members, combined with weights ∝ exp(−L) for losses discounted by four factors, and by a regression
  with a memory of a thousand rows; these five are combined in the same way.
- The two sides are combined once more, by losses of the last 500 rows or so, with a head start for the steady one: rows in random
  order are left to it.
- A softmax has no regressions, which would only sharpen it.

Members rest, that is neither learn nor forget, while they have no part in what predicts: the recent side while the steady one is
ahead and not surprised, but for a quarter of the rounds, in which it may show that it has become better; a steady member of larger
prior while it counts less than another. All learn from the first thousand rows.

A combination of linear models is a linear model: the published weights are the same combination, brought into the domain where a
regression leads out of it. A regression loss is divided by its running mean first, so that the unit of the targets does not
matter, and no row counts more than CAP, so that none silences a member for good.
"""
from libc.math cimport fabs, fmax
from libc.string cimport memcpy

from ._committee_candidates cimport Candidates
from ._losses cimport Loss
from ._rows cimport Row
from ._setting cimport Setting
from ._structures cimport Structure

import numpy as np

cdef double NEGLIGIBLE = 0.01             # a steady member that counts less than this part of the most may rest,
cdef double MINOR = 0.8                   # and so may one of larger prior, or in a later pass any, that counts less than this one
cdef double FIRST_REST = 1000.0           # rounds that all members learn from
cdef Py_ssize_t CYCLE = 256, AWAKE = 64   # a recent side that may rest is awake for this many rounds of each cycle


cdef class Committee(Candidates):
    """R members for each of K weight vectors, which learn independently or, as a softmax, jointly."""

    @classmethod
    def allocate(cls, structure, Setting setting, bint sparse):
        arrays = super().allocate(structure, setting, sparse)
        arrays.update(cls.allocate_units(setting, setting.K, "committee_"))
        return arrays

    def __init__(self, Structure structure):
        super().__init__(structure)
        self.combined = self.objective_of(self.setting.K, "committee_")
        self.objective.resting = &structure.rests[0]
        self.told = self.predicting = &self.M[0]
        self.predictor, self.combines = self.combined, True
        self.in_units = True                     # losses have to be committed too
        self.iterate_margins, self.published_shares = np.zeros(self.setting.L), np.zeros((2, self.setting.K, self.R))
        structure.average_margins, structure.iterate_margins = &self.average_margins[0], &self.iterate_margins[0]

    def bind_loss(self, Loss loss):
        super().bind_loss(loss)
        self.combined.loss = loss

    def published(self):
        """The same combination of the members' weights, (K, D)."""
        cdef Py_ssize_t a, k, r
        self.begin_new_row()
        for k in range(self.setting.K):
            for a in range(self.S):
                self.published_shares[0, k, self.steady_members[a]] = self.coefficients[k, a]
            for r in range(self.R):
                self.published_shares[1, k, r] = self.coefficients[k, self.S + r]
        combined = self.structure.mixed(self.published_shares)
        if self.setting.zeros:                   # of the members' quadratics, each with what it counts
            parts = np.abs(self.published_shares).sum(axis=0)
            combined = self.with_zeros(combined, parts / parts.sum(axis=1, keepdims=True))
        return self.with_offsets(combined)

    def restart(self, weights, subgradient):
        super().restart(weights, subgradient)
        for v, many in ((self.steady_v, self.S), (self.recent_v, self.R if self.R > self.S else 0)):
            self.arrays["committee"][:, v:v + many] = np.eye(1, many)       # all members are this model

    def present_coefficients(self):
        """What the averages of the steady members and the iterates of all count, (K, S + R)."""
        self.begin_new_row()
        return np.array(self.coefficients)

    cdef void begin_new_row(self) noexcept nogil:
        """What the members would count if a row came that was never seen, whatever rows came last: it is told by the state alone."""
        cdef bint before = self.first_sight
        self.first_sight = True
        self.begin_round()
        self.first_sight = before

    def learning_later(self):
        """Which lanes learn in later passes, (L,), where none forgets."""
        before = self.first_sight
        self.first_sight = False
        self.begin_round()
        self.first_sight = before
        return np.array([not self.structure.rests[lane] for lane in range(self.setting.L)])

    def memory(self):
        """The number of rows in use, Σ w (1 − λ^t)/(1 − λ) / Σ w with w what the members of one λ count together; where that is
        negative, the combination takes those rows away from what others have of them, and w is 0."""
        kept = np.array([self.setting.kept_by(r) for r in range(self.R)])
        factors, which = np.unique(np.concatenate([kept[np.asarray(self.steady_members)], kept]), return_inverse=True)
        together = self.present_coefficients() @ (which[:, None] == np.arange(len(factors)))
        counts = np.maximum(together, 0.0).mean(axis=0)
        rounds = self.arrays["clock"][0]
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.where(factors < 1.0, -np.expm1(rounds * np.log(factors)) / (1.0 - factors), rounds)
        return float(counts @ rows / counts.sum()) if counts.sum() > 0.0 else float(rounds)

    def steady_losses_so_far(self):
        """Faded sums of losses: what the steady members are combined to, (groups,), and of each candidate, (groups, candidates)."""
        first, many = self.steady_losses, self.S + self.stacked
        kept = np.asarray(self.numbers)
        return kept[:, self.steady_mixed].copy(), kept[:, first:first + many].copy()

    # ---- a round ----------------------------------------------------------------------------------------------------

    cdef double suffer(self, const double* target, double weight) noexcept nogil:
        """The combined margin predicts; each lane learns from the loss at its own."""
        cdef Py_ssize_t a, g, k, r
        cdef Py_ssize_t K = self.setting.K
        cdef double value
        for k in range(K):
            for a in range(self.S):
                self.f_steady[k, a] = self.average_margins[self.steady_members[a] * K + k]
            for r in range(self.R):
                self.f_recent[k, r] = self.iterate_margins[r * K + k]
        for g in range(self.groups):
            self.predict_candidates(g)
        if self.offsets is not None:
            self.offsets.propose(self.loss, target)
        value = self.combined.evaluate(&self.M[0], target, weight, &self.M_slopes[0])
        if self.first_sight:                     # later margins are no longer progressive
            self.mean.begin(weight)
            if self.combined.plain and self.members_of_group == 1:
                for a in range(1 if self.R == self.S or self.asleep else 2):
                    self.loss.find_slopes(&self.candidates[2 * a, 0], target, &self.slopes_at[a, 0], K)
                    self.loss.curvatures(&self.candidates[2 * a, 0], target, &self.curvatures_at[a, 0], K)
            for g in range(self.groups):
                self.judge(g, target, weight)
        self.objective.find_slopes(&self.margins[0], target, weight, &self.slopes[0])
        if self.structure.curvatures != NULL:
            self.objective.find_curvatures(&self.margins[0], target, &self.curvatures[0])
        for r in range(self.setting.L):
            if self.structure.rests[r]:
                self.slopes[r] = self.curvatures[r] = 0.0
        return value

    cdef void begin_round(self) noexcept nogil:
        """What the members count in this round, and which of them rest."""
        cdef Py_ssize_t a, g, k, r
        cdef Py_ssize_t K = self.setting.K
        cdef bint larger, late = not self.first_sight or self.clock.now[0] >= FIRST_REST
        cdef double most
        self.structure.familiar = not self.first_sight
        self.asleep = self.first_sight and late and self.R > self.S > 0 and <Py_ssize_t> self.clock.now[0] % CYCLE >= AWAKE
        if self.asleep:
            for g in range(self.groups):
                self.asleep = self.asleep and self.may_rest(&self.numbers[g, 0])
        for g in range(self.groups):
            self.find_weights(g)
        for k in range(K):
            for r in range(self.R):
                self.structure.rests[r * K + k] = late and (
                    self.asleep or self.R == self.S or (not self.first_sight and fabs(self.coefficients[k, self.S + r]) < NEGLIGIBLE))
            most = 0.0
            for a in range(self.S):
                most = fmax(most, fabs(self.coefficients[k, a]))
            for a in range(self.S):
                r = self.steady_members[a] * K + k
                larger = self.setting.epsilons[r] > self.setting.epsilons[self.steady_members[0] * K + k]
                self.structure.rests[r] = self.structure.rests[r] and fabs(self.coefficients[k, a]) < most * (
                    MINOR if larger or not self.first_sight else NEGLIGIBLE)

    cdef void commit(self, Row* row) noexcept nogil:
        cdef Py_ssize_t group
        Candidates.commit(self, row)
        self.combined.commit()
        if self.first_sight:
            memcpy(&self.numbers[0, 0], &self.new_numbers[0, 0], self.groups * self.size * sizeof(double))
            self.mean.commit()
            if self.penalty is not None and self.penalty.due():
                for group in range(self.groups):
                    self.renew_penalty(group)
