# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What a committee can predict with, and what each candidate counts: weights from losses, and losses from margins.

``numbers`` holds, per group of weight vectors that learn jointly, faded or discounted sums of losses and the two regressions (where,
``layout`` says). A round reads them, writes ``new_numbers``, and ``Committee.commit`` makes those the numbers: nothing that
outlives the round changes before. ``_committee`` says which candidates there are, and why.
"""
from libc.math cimport exp, fabs
from libc.string cimport memcpy

from ._committee_penalty cimport CommitteePenalty
from ._methods cimport Method
from ._setting cimport Setting
from ._structures cimport Structure
from ._units cimport MeanLoss

import numpy as np

cdef double PRIOR = 10.0                  # of the regressions, towards the first member alone
cdef double KEPT = 0.998                  # of the losses that the recent candidates, and the two sides, are judged by
cdef double KEPT_BY_REGRESSION = 0.999
cdef double HEAD_START = 2.0              # in nats: of the steady side, which chance must not overtake
cdef double REST_LEAD = 1.0               # in nats: so far ahead, the steady side lets the recent one rest, unless it is surprised:
cdef double KEPT_OF_SURPRISE = 0.9        # its last ten losses are in the mean more than twice those of the last 500, and
cdef double SURPRISE = 0.3                # this much
cdef double LARGEST_MARGIN = 20.0         # beyond it a probability is 0 or 1
cdef double[DISCOUNTS] DISCOUNT = [0.95, 0.99, 0.999, 1.0]


def layout(Setting setting):
    """Where the numbers of a group are, and how many they are."""
    R = setting.R
    S = sum(setting.kept_by(r) == 1.0 for r in range(R))
    sizes = {"steady_losses": S + 1 if S else 0, "steady_v": S, "steady_S": S * S, "steady_mixed": min(S, 1)}
    if R > S:
        sizes |= {"discounted": DISCOUNTS * R, "recent_losses": DISCOUNTS + 1, "recent_v": R, "recent_S": R * R,
                  "side_losses": 2, "surprise": 1}
    starts, size = {}, 0
    for name, count in sizes.items():
        starts[name], size = size, size + count
    return S, starts, size


cdef class Candidates(Method):
    """R members for each of K weight vectors, S of which never forget, and what they are combined to."""

    @classmethod
    def allocate(cls, structure, Setting setting, bint sparse):
        arrays = super().allocate(structure, setting, sparse)
        groups = 1 if setting.joint else setting.K
        S, starts, size = layout(setting)
        arrays["committee"], arrays["committee_mean"] = np.zeros((groups, size)), np.zeros(setting.K + 1)
        for name in ("steady_v", "recent_v"):
            if name in starts and (S or name == "recent_v"):
                arrays["committee"][:, starts[name]] = 1.0
        arrays.update(CommitteePenalty.allocate(setting, groups, S, DISCOUNTS + 4))
        return arrays

    def __init__(self, Structure structure):
        super().__init__(structure)
        setting, K, R = self.setting, self.setting.K, self.setting.R
        self.S, starts, self.size = layout(setting)
        self.R = R
        for name in ("steady_losses", "steady_v", "steady_S", "steady_mixed", "discounted", "recent_losses", "recent_v", "recent_S",
                     "side_losses", "surprise"):
            starts.setdefault(name, 0)
        self.steady_mixed = starts["steady_mixed"]
        self.steady_losses, self.steady_v, self.steady_S = starts["steady_losses"], starts["steady_v"], starts["steady_S"]
        self.discounted, self.recent_losses = starts["discounted"], starts["recent_losses"]
        self.recent_v, self.recent_S, self.side_losses = starts["recent_v"], starts["recent_S"], starts["side_losses"]
        self.surprise = starts["surprise"]
        self.groups = 1 if setting.joint else K
        self.members_of_group = K // self.groups
        self.stacked = self.members_of_group == 1
        self.steady_members = np.array([r for r in range(R) if setting.kept_by(r) == 1.0], dtype=np.intp)
        self.steady, self.recent = SmallRegression(self.S, PRIOR), SmallRegression(R, PRIOR)
        self.numbers, self.mean = self.arrays["committee"], MeanLoss(self.arrays["committee_mean"])
        self.new_numbers = np.array(self.numbers)
        self.shares, self.discounted_shares = np.zeros(self.S + DISCOUNTS + 4), np.zeros((DISCOUNTS, R))
        self.coefficients = np.zeros((K, self.S + R))
        self.f_steady, self.f_recent = np.zeros((K, max(self.S, 1))), np.zeros((K, R))
        self.candidates = np.zeros((DISCOUNTS + 4, K))
        self.M, self.M_slopes, self.scratch = np.empty(K), np.empty(K), np.empty(K)
        self.slopes_at, self.curvatures_at = np.zeros((2, K)), np.zeros((2, K))
        self.penalty = CommitteePenalty(structure, self.steady_members, DISCOUNTS + 4) if structure.penalised else None
        self.penalties = np.zeros((self.groups, self.S + R + DISCOUNTS + 4)) if self.penalty is None else self.penalty.numbers

    cdef bint may_rest(self, const double* numbers) noexcept nogil:
        """Whether the recent side has nothing to say."""
        cdef const double* sides = numbers + self.side_losses
        cdef double usual = (1.0 - KEPT) * sides[0]
        cdef double last = (1.0 - KEPT_OF_SURPRISE) * numbers[self.surprise]
        return sides[1] + HEAD_START - sides[0] > REST_LEAD and last < 2.0 * usual + SURPRISE

    cdef void find_weights(self, Py_ssize_t group) noexcept nogil:
        """What the members count in what predicts, from the losses so far."""
        cdef Py_ssize_t j, k, r
        cdef Py_ssize_t S = self.S
        cdef Py_ssize_t R = self.R
        cdef const double* numbers = &self.numbers[group, 0]
        cdef double* steady = &self.shares[0]
        cdef double* recent = &self.shares[S + 1]
        cdef double* sides = &self.shares[S + 1 + DISCOUNTS + 1]
        cdef double* out = &self.coefficients[group, 0]
        cdef double side
        sides[0], sides[1] = 1.0, 0.0
        if R > S and not self.asleep:
            sides[0], sides[1] = numbers[self.side_losses], numbers[self.side_losses + 1] + HEAD_START
            exponential_weights(sides, sides, 2)
            if S == 0:
                sides[0], sides[1] = 0.0, 1.0
            for j in range(DISCOUNTS):
                exponential_weights(numbers + self.discounted + j * R, &self.discounted_shares[j, 0], R)
            recent[DISCOUNTS] = 0.0
            exponential_weights(numbers + self.recent_losses, recent, DISCOUNTS + self.stacked)
        if S > 0:
            exponential_weights(numbers + self.steady_losses, steady, S + self.stacked)
            for r in range(S):
                side = steady[r]
                if self.stacked:
                    side += steady[S] * numbers[self.steady_v + r]
                out[r] = sides[0] * side
        for r in range(R):
            out[S + r] = 0.0
            if sides[1] > 0.0:
                side = recent[DISCOUNTS] * numbers[self.recent_v + r]
                for j in range(DISCOUNTS):
                    side += recent[j] * self.discounted_shares[j, r]
                out[S + r] = sides[1] * side
        for k in range(1, self.members_of_group):
            memcpy(&self.coefficients[k, 0], out, (S + R) * sizeof(double))

    cdef void predict_candidates(self, Py_ssize_t group) noexcept nogil:
        """Margins of what the sides are made of, of the sides, and of their combination."""
        cdef Py_ssize_t a, j, k, r
        cdef Py_ssize_t S = self.S
        cdef const double* numbers = &self.numbers[group, 0]
        cdef const double* steady = &self.shares[0]
        cdef const double* recent = &self.shares[S + 1]
        cdef double total, candidate
        for k in range(group, group + self.members_of_group):
            total = candidate = 0.0
            for a in range(S):
                total += steady[a] * self.f_steady[k, a]
                candidate += numbers[self.steady_v + a] * self.f_steady[k, a]
            self.candidates[0, k] = candidate                        # the regression on steady members,
            self.candidates[1, k] = total + (steady[S] * candidate if self.stacked and S > 0 else 0.0)       # and their side
            if self.R > S and not self.asleep:
                total = candidate = 0.0
                for r in range(self.R):
                    candidate += numbers[self.recent_v + r] * self.f_recent[k, r]
                self.candidates[2, k] = candidate
                for j in range(DISCOUNTS):
                    candidate = 0.0
                    for r in range(self.R):
                        candidate += self.discounted_shares[j, r] * self.f_recent[k, r]
                    self.candidates[4 + j, k] = candidate
                    total += recent[j] * candidate
                self.candidates[3, k] = total + (recent[DISCOUNTS] * self.candidates[2, k])
            self.M[k] = 0.0
            for a in range(S):
                self.M[k] += self.coefficients[k, a] * self.f_steady[k, a]
            if self.asleep or self.R == S:
                continue
            for r in range(self.R):
                self.M[k] += self.coefficients[k, S + r] * self.f_recent[k, r]

    cdef void judge(self, Py_ssize_t group, const double* target, double weight) noexcept nogil:
        """Add the loss of each candidate at the margin that it would publish; committed when the round stands."""
        cdef Py_ssize_t j, k, r
        cdef Py_ssize_t S = self.S
        cdef Py_ssize_t R = self.R
        cdef const double* old = &self.numbers[group, 0]
        cdef double* new = &self.new_numbers[group, 0]
        cdef double t = self.clock.t
        cdef double fade = (t / (t + 1.0)) * (t / (t + 1.0))
        cdef double cap, loss, mixed = 0.0, unit = 1.0
        cdef const double* penalties = &self.penalties[group, 0]          # of a round, whatever its weight
        if not self.combined.plain:
            unit = self.mean.propose(group, self.combined.loss_at(group, self.M[group], target), weight)
        memcpy(new, old, self.size * sizeof(double))
        if not unit > 0.0:
            return
        unit, cap = weight / unit, weight * self.mean.cap(self.combined.plain)
        for r in range(S):
            for k in range(group, group + self.members_of_group):
                self.scratch[k] = self.f_steady[k, r]
            loss = self.loss_of(group, &self.scratch[group], target) + penalties[r] / weight
            new[self.steady_losses + r] = fade * old[self.steady_losses + r] + capped(unit * loss, cap)
        if S > 0 and self.stacked:
            loss = self.loss_of(group, &self.candidates[0, group], target) + penalties[S + R] / weight
            new[self.steady_losses + S] = fade * old[self.steady_losses + S] + capped(unit * loss, cap)
            self.regress(self.steady, group, &self.candidates[0, group], target, weight, fade)
        if S > 0:
            loss = self.loss_of(group, &self.candidates[1, group], target) + penalties[S + R + 1] / weight
            mixed = capped(unit * loss, cap)
            new[self.steady_mixed] = fade * old[self.steady_mixed] + mixed
        if R == S:
            return
        new[self.surprise] = KEPT_OF_SURPRISE * old[self.surprise] + mixed
        if self.asleep:
            return
        for r in range(R):
            for k in range(group, group + self.members_of_group):
                self.scratch[k] = self.f_recent[k, r]
            loss = capped(unit * (self.loss_of(group, &self.scratch[group], target) + penalties[S + r] / weight), cap)
            for j in range(DISCOUNTS):
                new[self.discounted + j * R + r] = DISCOUNT[j] * old[self.discounted + j * R + r] + loss
        for j in range(DISCOUNTS + self.stacked):
            r = 4 + j if j < DISCOUNTS else 2
            loss = self.loss_of(group, &self.candidates[r, group], target) + penalties[S + R + r] / weight
            new[self.recent_losses + j] = KEPT * old[self.recent_losses + j] + capped(unit * loss, cap)
        if self.stacked:
            self.regress(self.recent, group, &self.candidates[2, group], target, weight, KEPT_BY_REGRESSION)
        new[self.side_losses] = KEPT * old[self.side_losses] + mixed
        loss = self.loss_of(group, &self.candidates[3, group], target) + penalties[S + R + 3] / weight if S > 0 else 0.0
        new[self.side_losses + 1] = KEPT * old[self.side_losses + 1] + capped(unit * loss, cap)

    cdef void regress(self, SmallRegression regression, Py_ssize_t group, const double* margins, const double* target, double weight,
                      double fade) noexcept nogil:
        """A step of one of the regressions, from the slope and the curvature at what it predicted; a loss in the unit of its mean."""
        cdef bint steady = regression is self.steady
        cdef Py_ssize_t at_v = self.steady_v if steady else self.recent_v
        cdef Py_ssize_t at_S = self.steady_S if steady else self.recent_S
        cdef const double* old = &self.numbers[group, 0]
        cdef double* new = &self.new_numbers[group, 0]
        cdef const double* f = &self.f_steady[group, 0] if steady else &self.f_recent[group, 0]
        cdef double slope, curvature, unit
        regression.begin(old + at_S, fade, 0.0 if steady else (1.0 - fade) * PRIOR, new + at_S)
        if self.combined.plain:
            weight *= shortened(f, regression.width)
            regression.add(f, self.slopes_at[0 if steady else 1, group], self.curvatures_at[0 if steady else 1, group], weight,
                           new + at_S)
        else:
            slope = self.combined.slope_at(group, margins[0], target, &curvature)
            regression.add(f, slope, curvature, weight, new + at_S)
        if self.penalty is not None:
            unit = self.combined.loss_units[group] * self.combined.step_units[group]
            self.penalty.add(group, steady, old + at_v, unit, &regression.gradient[0], new + at_S)
        if not regression.step(old + at_v, new + at_S, new + at_v):
            memcpy(new + at_v, old + at_v, regression.width * sizeof(double))
            memcpy(new + at_S, old + at_S, regression.width * regression.width * sizeof(double))

    cdef double loss_of(self, Py_ssize_t group, const double* margins, const double* target) noexcept nogil:
        return self.combined.loss_of(group, self.members_of_group, margins, target, &self.M_slopes[0])

    cdef void renew_penalty(self, Py_ssize_t group) noexcept nogil:
        """The penalties of the candidates as they are now, in the order of ``candidates``."""
        cdef Py_ssize_t j, r
        cdef Py_ssize_t S = self.S
        cdef Py_ssize_t R = self.R
        cdef const double* numbers = &self.numbers[group, 0]
        cdef const double* recent = &self.shares[S + 1]
        cdef double[:, ::1] of = self.penalty.candidates
        self.asleep = False
        self.find_weights(group)
        for r in range(S):
            of[0, r] = numbers[self.steady_v + r]
            of[1, r] = self.shares[r] + (self.shares[S] * of[0, r] if self.stacked else 0.0)
        if R > S:
            for r in range(R):
                of[2, S + r] = numbers[self.recent_v + r]
                of[3, S + r] = recent[DISCOUNTS] * of[2, S + r]
                for j in range(DISCOUNTS):
                    of[4 + j, S + r] = self.discounted_shares[j, r]
                    of[3, S + r] += recent[j] * self.discounted_shares[j, r]
        self.penalty.renew(group, self.members_of_group, numbers + self.steady_v, numbers + self.recent_v)


cdef inline double capped(double loss, double cap) noexcept nogil:
    """The smaller one, and ``cap`` for a NaN: one instruction, where fmin is a call."""
    return loss if loss < cap else cap


cdef double shortened(const double* f, Py_ssize_t n) noexcept nogil:
    """What a row counts in a regression on margins: less where they are beyond all measure, or S would remember them for long."""
    cdef Py_ssize_t j
    cdef double largest = 0.0
    for j in range(n):
        largest = largest if largest > fabs(f[j]) else fabs(f[j])
    return 1.0 if largest <= LARGEST_MARGIN else (LARGEST_MARGIN / largest) * (LARGEST_MARGIN / largest)


cdef void exponential_weights(const double* losses, double* out, Py_ssize_t n) noexcept nogil:
    """exp(−loss), divided by their sum."""
    cdef Py_ssize_t j
    cdef double least = losses[0], total = 0.0
    for j in range(1, n):
        least = least if least < losses[j] else losses[j]
    for j in range(n):
        out[j] = exp(least - losses[j])
        total += out[j]
    for j in range(n):
        out[j] /= total
