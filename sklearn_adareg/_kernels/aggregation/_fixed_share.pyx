"""Candidates combined by fixed share on their losses (Herbster & Warmuth 1998), and several rates of it by fixed share again
(learn-α, Monteleoni & Jaakkola 2003).

Candidates are the base candidates, a part of each (``SCALES``: one that is overconfident costs less), and regressions on
the margins of all base candidates. Those of the longest memory and the constant, with their parts, come first (``positions``).
A layer has a rate a and weights w of them all; after a row with losses ℓ, each at most ``CAP``,

    w_k ← (1 − a) w_k e^(−ℓ_k) / Σ_j w_j e^(−ℓ_j) + a w_1(k).

The layers are weighed in the same way, by the losses of their own margins Σ_k w_k m_k. What is published is linear in the margins of
base candidates, so it is a linear model if they are.

Losses of a row are weighted, divided by a unit of the loss, and measured from the least one among the candidates of the round; ℓᶜ are
those up to CAP above it. For a convex loss, every layer r and every sequence of candidates k_t that changes at the times S,

    Σ ℓ(m_t) ≤ Σ ℓᶜ(k_t) − ln w_1(k_1) − Σ_{t∈S} ln(a_t w_1(k_{t+1})) − Σ_{t∉S} ln(1 − a_t)
                + Σ δ_t + Σ o_t + Σ s_t + those of the layers,

with w_1 the first weights, δ_t = Σ w ℓᶜ + ln Σ w e^(−ℓᶜ) in [0, c²/8], o_t = Σ w (ℓ − ℓᶜ), and s_t = ℓ(m_r) − Σ w ℓ of the layer in
the rounds in which candidates take no part, 0 in others. Those of the layers are −ln of the first weight of r, −ln(1 − a_t), δ_t and
o_t of the fixed share over the layers. ``sums`` has these terms as they happened.

A candidate may rest for some rounds: it is not evaluated, and counts as the mixture of the others does, ℓ_k = −ln Σ ŵ_j e^(−ℓ_j) over
those that do not, ŵ being their weights divided by their sum (Freund, Schapire, Singer & Warmuth 1997). Then its weight stays but for
a, m_r and δ_t are those of ŵ, and the inequality holds with these losses. They are those of the first layer; where they add up to
more in layer r, the difference is added to s_t.
"""
from libc.math cimport fabs, fmax, fmin, isfinite, log
from libc.string cimport memcpy, memset

from ..linalg._cholesky_loops cimport cholesky, cholesky_solve
from ..losses._losses cimport LogLoss, PointLoss
from ..information._information_loops cimport (
    add_row, capped, exp_of_minus, layer_margins, log_losses, probabilities, shared, softmax)

import numpy as np

CAP = 6.0                       # nats, or units of the loss: more does not count against a candidate
SCALES = (1.0, 0.5)
RATES = (0.0, 0.003, 0.03, 0.1)  # of the layers; 0 stands for 1/t
KEPT = (1.0, 0.999, 0.99)        # what a row leaves of the sums of each regression
PRIOR = 10.0                     # of the regressions
cdef double[4] ALL_RATES = RATES
cdef double[2] ALL_SCALES = SCALES
cdef double[3] ALL_KEPT = KEPT
cdef double LARGEST_LOSS = CAP
OF_THE_OTHERS = 1e-12            # weight of each candidate but the one that has all of it, so that products of weights are numbers
OTHERS = 0.2                     # weight of all but the candidates of the longest memory and the constant, at first
TRACKING = 0.03                  # weight of each layer that follows changes, at first
cdef double TRACKS = TRACKING
cdef double RIDGE = PRIOR
cdef double FARTHEST = 20.0      # margin of a feature of the regressions
cdef enum:
    EVERY = 16                   # rows between two solutions of the regressions
    WIDTH = 4


cdef inline void add_terms(double* sums, double mean, double total, double beyond, double a) noexcept nogil:
    """What the bound of a layer grows by. The logarithm of a product of totals is taken before it is too small for a double."""
    sums[DELTA] += mean
    sums[BEYOND] += beyond
    sums[SWITCHES] += a * (1.0 + a * (0.5 + a / 3.0)) if a < 1e-4 else -log(1.0 - a)
    sums[PRODUCT] *= total
    if 0.0 < sums[PRODUCT] < 1e-200:
        sums[DELTA] += log(sums[PRODUCT])
        sums[PRODUCT] = 1.0


cdef inline void add_ratio(double* sums, double ratio) noexcept nogil:
    """The same of what candidates that rest lose."""
    sums[RATIO] *= ratio
    if sums[RATIO] > 0.0 and not 1e-100 < sums[RATIO] < 1e100:
        sums[RESTED] -= log(sums[RATIO])
        sums[RATIO] = 1.0


def rounded(n):
    """As many candidates as whole vectors hold."""
    return -(-n // WIDTH) * WIDTH


def positions(B, long_ones):
    """Where a part of each base candidate stands among all candidates, (parts, B): first those that never rest."""
    always = np.isin(np.arange(B), [*range(long_ones), B - 1])
    ranks = np.where(always, np.cumsum(always), np.cumsum(~always)) - 1
    number, part = np.where(always, always.sum(), (~always).sum()), np.arange(len(SCALES))[:, None]
    return ranks + part * number + np.where(always, 0, len(SCALES) * always.sum())


cdef class FixedShare:
    """The combination of B base candidates with C margins each, bound to arrays that ``allocate`` makes."""

    @staticmethod
    def allocate(Py_ssize_t problems, Py_ssize_t B, Py_ssize_t C, bint tracks, bint regresses, Py_ssize_t long_ones):
        """The arrays of so many combinations; one that ``tracks`` follows changes of the best candidate."""
        layers = len(RATES) if tracks or regresses else 1
        regressions = len(KEPT) if regresses and C == 1 else 0
        N = len(SCALES) * B + regressions
        weights = np.zeros((problems, layers, rounded(N)))
        weights[:, :, :N] = FixedShare.first_weights(N, long_ones)
        arrays = {
            "shares": weights,
            "share_layers": np.tile(FixedShare.first_layers(layers), (problems, 1)),
            "share_sums": np.tile(np.eye(TERMS)[[PRODUCT, RATIO]].sum(axis=0), (problems, layers + 2, 1)),
            "share_losses": np.zeros((problems, rounded(N))),
        }
        if regressions:
            arrays["share_regressions"] = np.zeros((problems, regressions, B * B + 2 * B))
            arrays["share_regressions"][..., -1] = 1.0       # they begin as the constant prediction
        return arrays

    @staticmethod
    def first_weights(N, long_ones):
        """What candidates weigh before the first row: those of the longest memory and the constant share most of it."""
        main = np.arange(N) <= long_ones
        return np.where(main, (1.0 - OTHERS) / main.sum(), OTHERS / (N - main.sum()))

    @staticmethod
    def first_layers(layers):
        """What layers weigh before the first row."""
        return np.array([1.0 - (layers - 1) * TRACKING] + (layers - 1) * [TRACKING])

    def __init__(self, dict arrays, Py_ssize_t B, Py_ssize_t C, Loss loss, Py_ssize_t long_ones):
        cdef double[:, :, ::1] weights = arrays["shares"]
        cdef double[:, ::1] top = arrays["share_layers"], totals = arrays["share_losses"]
        cdef double[:, :, ::1] sums = arrays["share_sums"]
        cdef double[:, :, ::1] regression
        cdef double[::1] scratch
        cdef unsigned char[::1] active
        cdef double[::1] first, mask
        cdef Py_ssize_t[:, ::1] place = positions(B, long_ones).astype(np.intp)
        self.arrays, self.B, self.C, self.place = arrays, B, C, &place[0, 0]
        self.layers, self.room = weights.shape[1], weights.shape[2]
        self.regressions = 0
        if "share_regressions" in arrays:
            regression = arrays["share_regressions"]
            self.regressions, self.regression = regression.shape[1], &regression[0, 0, 0]
        self.N = len(SCALES) * B + self.regressions
        self.always = len(SCALES) * (long_ones + 1)
        self.weights, self.top, self.totals, self.sums = &weights[0, 0, 0], &top[0, 0], &totals[0, 0], &sums[0, 0, 0]
        scratch = np.zeros(self.room * (C + 2) + (self.layers + WIDTH) * (C + 3) + self.room + B * B + 4 * B + C)
        active = np.ones(B, dtype=np.uint8)
        first = self.first_weights(self.N, long_ones)
        first = np.concatenate([first, np.zeros(self.room - self.N)])
        self.first = &first[0]
        mask = np.zeros(2 * self.room)
        self.mask, self.awake = &mask[0], &mask[self.room]
        self.owners = (weights, top, totals, sums, scratch, active, first, mask, place)
        self.active = &active[0]
        self.m = &scratch[0]
        self.losses = self.m + self.room * C
        self.powers = self.losses + self.room
        self.of_layers = self.powers + self.room
        self.means = self.of_layers + (self.layers + WIDTH) * (C + 2)
        self.scratch = self.of_layers + (self.layers + WIDTH) * (C + 3)
        self.whole = True
        self.resting = True
        self.rest(False)
        self.bind_loss(loss)

    def bind_loss(self, Loss loss):
        """The loss of the rows to come."""
        self.loss = loss
        self.point = loss if isinstance(loss, PointLoss) else None
        self.logistic = isinstance(loss, LogLoss)
        self.regresses = loss.degree > 0 or loss.log_link

    cdef inline double* of_problem(self, Py_ssize_t p, Py_ssize_t s) noexcept nogil:
        """The sums of a regression, and behind them its coefficients."""
        return self.regression + (p * self.regressions + s) * (self.B * self.B + 2 * self.B)

    cdef void rest(self, bint resting) noexcept nogil:
        """Whether the candidates that may rest do."""
        if resting != self.resting:
            self.resting = resting
            self.lanes = ((self.always if resting else self.N) + WIDTH - 1) // WIDTH * WIDTH
            self.find_masks()

    cdef void take_part(self, Py_ssize_t b, bint active) noexcept nogil:
        """Whether a base candidate and its parts count in what is published; they are evaluated all the same."""
        self.active[b] = active
        self.find_masks()

    cdef void find_masks(self) noexcept nogil:
        cdef Py_ssize_t b, s, k, awake = self.always if self.resting else self.N
        self.whole = True
        for b in range(self.B):
            self.whole = self.whole and self.active[b]
            for s in range(2):
                k = self.place[s * self.B + b]
                self.awake[k] = k < awake
                self.mask[k] = self.active[b] and k < awake
        for k in range(2 * self.B, self.N):
            self.awake[k] = self.mask[k] = k < awake

    cdef double resting_part(self, Py_ssize_t p) noexcept nogil:
        """The weight of the candidates that may rest."""
        cdef Py_ssize_t r, k
        cdef double part, total = 0.0
        for r in range(self.layers):
            part = 0.0
            for k in range(self.always, self.N):
                part += self.weights[(p * self.layers + r) * self.room + k]
            total += self.top[p * self.layers + r] * part
        return total

    cdef void combine(self, Py_ssize_t p, const double* base, double* published) noexcept nogil:
        """The margins of all candidates from those of the base candidates, and what is published of them."""
        cdef Py_ssize_t b, c, s, r, n
        cdef Py_ssize_t B = self.B, C = self.C, pads = self.lanes
        cdef double total, part
        cdef const double* w
        cdef const double* v
        cdef const double* top = self.top + p * self.layers
        for b in range(B):
            n, s = self.place[b], self.place[B + b]
            if n >= pads:
                continue
            for c in range(C):
                self.m[n * C + c] = base[b * C + c]
                self.m[s * C + c] = ALL_SCALES[1] * base[b * C + c] + (1.0 - ALL_SCALES[1]) * base[(B - 1) * C + c]
        if self.resting:             # lanes behind those that count
            for n in range(self.always * C, pads * C):
                self.m[n] = base[(B - 1) * C + n % C]
        else:
            for s in range(self.regressions):
                v = self.of_problem(p, s) + B * B + B
                total = 0.0
                for b in range(B):
                    total += v[b] * base[b] if self.active[b] else 0.0
                self.m[2 * B + s] = total
        memset(published, 0, C * sizeof(double))
        if C == 1:
            layer_margins(self.weights + p * self.layers * self.room, self.layers, self.room, pads, self.m, self.mask, self.of_layers)
            for r in range(self.layers):
                published[0] += top[r] * self.of_layers[r]
            self.of_layers[self.layers] = published[0]
            return
        for r in range(self.layers):
            w = self.weights + (p * self.layers + r) * self.room
            memset(self.of_layers + r * C, 0, C * sizeof(double))
            part = 0.0
            for n in range(min(pads, self.N)):
                part += w[n] * self.mask[n]
                for c in range(C):
                    self.of_layers[r * C + c] += w[n] * self.mask[n] * self.m[n * C + c]
            for c in range(C):
                self.of_layers[r * C + c] /= part
                published[c] += top[r] * self.of_layers[r * C + c]
        memcpy(self.of_layers + self.layers * C, published, C * sizeof(double))

    cdef Py_ssize_t heaviest(self, Py_ssize_t p, Py_ssize_t n) noexcept nogil:
        """That of the first n base candidates that take part which weighs most."""
        cdef Py_ssize_t b, r, most = 0
        cdef double own, largest = -1.0
        for b in range(n):
            own = 0.0
            for r in range(self.layers):
                own += self.top[p * self.layers + r] * self.weights[(p * self.layers + r) * self.room + self.place[b]]
            if self.mask[self.place[b]] != 0.0 and own > largest:
                most, largest = b, own
        return most

    cdef void publish(self, const double* margins, double* published) noexcept nogil:
        """These margins instead of those of ``combine``."""
        memcpy(published, margins, self.C * sizeof(double))
        memcpy(self.of_layers + self.layers * self.C, margins, self.C * sizeof(double))

    def lead_with(self, Py_ssize_t p, Py_ssize_t b):
        """Base candidate b of a problem leads, and has all the weight but for traces.

        What is proved of weights that follow the losses ends here."""
        weights = np.asarray(self.arrays["shares"])[p]
        weights[:, :self.N] = OF_THE_OTHERS
        weights[:, b] = 1.0 - (self.N - 1) * OF_THE_OTHERS
        totals = np.asarray(self.arrays["share_losses"])[p]
        totals[b] = totals[: self.N].min() - 1.0
        np.asarray(self.arrays["share_sums"])[p] = 0.0       # a product of 0 says so

    cdef void shares(self, Py_ssize_t p, double* of_base) noexcept nogil:
        """What each base candidate counts in what is published, (B,): in all, signs of regressions included."""
        cdef Py_ssize_t b, s, r, n
        cdef Py_ssize_t B = self.B
        cdef double part
        cdef const double* w
        cdef const double* v
        cdef const double* top = self.top + p * self.layers
        memset(of_base, 0, B * sizeof(double))
        for r in range(self.layers):
            w = self.weights + (p * self.layers + r) * self.room
            part = 0.0
            for n in range(self.N):
                part += w[n] * self.mask[n]
            for b in range(B):
                for s in range(2):
                    n = self.place[s * B + b]
                    of_base[b] += top[r] / part * w[n] * self.mask[n] * ALL_SCALES[s]
                    of_base[B - 1] += top[r] / part * w[n] * self.mask[n] * (1.0 - ALL_SCALES[s])
                for s in range(self.regressions):
                    v = self.of_problem(p, s) + B * B + B
                    of_base[b] += top[r] / part * w[2 * B + s] * self.mask[2 * B + s] * v[b] * self.active[b]

    cdef void evaluate(self, const double* margins, Py_ssize_t n, const double* target, double* losses) noexcept nogil:
        """The losses of n candidates; finite where their margins are."""
        cdef Py_ssize_t k
        cdef double slope
        if self.logistic:
            log_losses(margins, target[0], n, losses)
        elif self.point is not None:
            for k in range(n):
                losses[k] = self.point.point(margins[k], target[0], &slope)
        else:
            for k in range(n):
                losses[k] = softmax(margins + k * self.C, self.C, <Py_ssize_t> target[0], self.scratch)

    cdef void learn(self, Py_ssize_t p, const double* target, double weight, double unit, double scale, double t) noexcept nogil:
        """Weigh the candidates by the losses of a row of this weight, in this unit, with residuals of this scale; ``combine`` was
        called with their margins."""
        cdef Py_ssize_t k, r
        cdef Py_ssize_t N = min(self.N, self.lanes), lanes = self.lanes, room = self.room
        cdef double least, mixture
        cdef double[4] rates
        cdef double[12] found
        cdef double* sums = self.sums + p * (self.layers + 2) * TERMS
        self.evaluate(self.m, lanes if self.logistic else N, target, self.losses)     # whole vectors
        for k in range(N, lanes):
            self.losses[k] = self.losses[0]
        # above that of the best one, since a loss may be negative
        least = capped(self.losses, weight / unit, LARGEST_LOSS, lanes, self.scratch)
        exp_of_minus(self.scratch, lanes, self.powers)
        for r in range(self.layers):
            rates[r] = ALL_RATES[r] if ALL_RATES[r] > 0.0 else 1.0 / (t + 1.0)
        shared(self.weights + p * self.layers * room, self.layers, self.awake, self.scratch, self.powers, self.losses, self.first,
               rates, lanes, room, found)
        for k in range(lanes):
            self.totals[p * room + k] += self.scratch[k]
        for r in range(self.layers):
            add_terms(sums + r * TERMS, found[3 * r], found[3 * r + 1], found[3 * r + 2], rates[r])
            self.means[r] = found[3 * r] + found[3 * r + 2]
        if self.resting:
            for r in range(1, self.layers):
                add_ratio(sums + r * TERMS, found[3 * r + 1] / found[1])
            mixture = log(found[1])
            for k in range(self.always, self.N):
                self.totals[p * room + k] -= mixture
        self.note(p, target, weight / unit, least)
        if self.layers > 1:
            self.learn_layers(p, 1.0 / (t + 1.0))
        if self.regressions and not self.resting:
            self.learn_regressions(p, target, weight, unit, scale, t)

    cdef void note(self, Py_ssize_t p, const double* target, double factor, double least) noexcept nogil:
        """The losses of the layers and of what is published, above the least one; what was lost where candidates take no part."""
        cdef Py_ssize_t r, R = self.layers
        cdef double* losses = self.of_layers + (R + WIDTH) * self.C
        cdef double* sums = self.sums + p * (R + 2) * TERMS
        self.evaluate(self.of_layers, (R + WIDTH) // WIDTH * WIDTH if self.logistic else R + 1, target, losses)
        self.published_loss = losses[R]
        for r in range(R + 1):
            losses[r] = losses[r] * factor - least if isfinite(losses[r] * factor) else 1e300
        if not self.whole:
            for r in range(R):
                sums[r * TERMS + APART] += losses[r] - self.means[r]
        sums[(R + 1) * TERMS + LEAST] += least
        sums[(R + 1) * TERMS + PUBLISHED] += losses[R]

    cdef void learn_layers(self, Py_ssize_t p, double a) noexcept nogil:
        cdef Py_ssize_t r, R = self.layers
        cdef double* losses = self.of_layers + (R + WIDTH) * self.C
        cdef double* powers = losses + R + WIDTH
        cdef double* top = self.top + p * R
        cdef double total = 0.0, mean = 0.0, beyond = 0.0, least = -LARGEST_LOSS
        for r in range(R):
            least = fmin(least, losses[r])
        for r in range(R):
            if least < -LARGEST_LOSS:        # better than all candidates, in a row of a huge weight; the terms do not notice
                losses[r] -= least
            if losses[r] > LARGEST_LOSS:
                beyond += top[r] * (losses[r] - LARGEST_LOSS)
                losses[r] = LARGEST_LOSS
            mean += top[r] * losses[r]
        exp_of_minus(losses, R, powers)
        for r in range(R):
            top[r] *= powers[r]
            total += top[r]
        add_terms(self.sums + (p * (R + 2) + R) * TERMS, mean, total, beyond, a)
        for r in range(R):
            top[r] = (1.0 - a) * top[r] / total + a * (TRACKS if r > 0 else 1.0 - (R - 1) * TRACKS)

    cdef void learn_regressions(self, Py_ssize_t p, const double* target, double weight, double unit, double scale,
                                double t) noexcept nogil:
        """Newton's method on the margins of the base candidates: sums of curvatures and slopes, solved every few rows."""
        cdef Py_ssize_t s, b
        cdef Py_ssize_t B = self.B
        cdef double g, h
        cdef double[4] totals
        cdef double[4] found
        cdef double* f = self.scratch + self.room
        cdef double* G
        cdef double* v
        cdef double total, constant = self.m[self.place[B - 1]] if self.regresses else 0.0, farthest = FARTHEST * scale
        if self.regresses and not scale > 1e-9 * fabs(constant):     # residuals are rounding
            return
        for b in range(B):
            f[b] = fmin(fmax(self.m[self.place[b]] - constant, -farthest), farthest) if self.active[b] else 0.0
        for s in range(self.regressions):
            v = self.of_problem(p, s) + B * B + B
            totals[s] = 0.0
            for b in range(B):
                totals[s] += v[b] * f[b]
        if self.logistic:
            probabilities(totals, self.regressions, 1, found)
        for s in range(self.regressions):
            G, total = self.of_problem(p, s), totals[s]
            if self.logistic:
                g = found[s] - (target[0] > 0.0)
                h = fmax(found[s] * (1.0 - found[s]), g * g)
            else:
                h = self.point.surrogate(constant + total, target[0], scale, &g)
            add_row(G, G + B * B, ALL_KEPT[s], weight * h, weight * (h * total - g), f, B)
        if <Py_ssize_t> t % EVERY == 0:
            self.solve_regressions(p, unit)

    cdef void solve_regressions(self, Py_ssize_t p, double unit) noexcept nogil:
        """v = v₁ + (G + prior I)⁻¹ (r − G v₁), v₁ the candidate that leads."""
        cdef Py_ssize_t s, a, b, first = self.B - 1
        cdef Py_ssize_t B = self.B
        cdef double* A = self.scratch + self.room + B
        cdef double* G
        cdef double* r
        cdef double* v
        cdef const double* totals = self.totals + p * self.room
        for b in range(B - 1, -1, -1):
            if self.active[b] and totals[self.place[b]] <= totals[self.place[first]]:
                first = b
        for s in range(self.regressions):
            G = self.of_problem(p, s)
            r, v = G + B * B, G + B * B + B
            memcpy(A, G, B * B * sizeof(double))
            for a in range(B):
                A[a * B + a] += RIDGE * unit
                v[a] = r[a] - (G[a * B + first] if a <= first else G[first * B + a])
            if cholesky(A, B) == 0:
                cholesky_solve(A, v, B)
                v[first] += 1.0
            else:
                memset(v, 0, B * sizeof(double))
                v[first] = 1.0
            if self.regresses:   # on differences from the constant, which has the rest
                v[B - 1] = 1.0
                for b in range(B - 1):
                    v[B - 1] -= v[b]

    def order(self):
        """Where each candidate stands, (N,): all base candidates, their parts, regressions."""
        return np.array([*(self.place[k] for k in range(2 * self.B)), *range(2 * self.B, self.N)])

    def terms(self):
        """The sums of the inequality at the head of this file for each problem, by name; of layers, with the one over them last.
        Candidates come as base candidates, then their parts, then regressions."""
        cdef Py_ssize_t k, R = self.layers
        order = self.order()
        sums = self.arrays["share_sums"]
        product, ratio = sums[:, :R + 1, PRODUCT], sums[:, :R, RATIO]
        rested = sums[:, :R, RESTED] - np.log(np.where(ratio > 0.0, ratio, 1.0))
        return {
            "delta": sums[:, :R + 1, DELTA] + np.log(np.where(product > 0.0, product, np.nan)),
            "beyond": sums[:, :R + 1, BEYOND],
            "switches": sums[:, :R + 1, SWITCHES],
            "apart": sums[:, :R, APART] + np.maximum(rested, 0.0),
            "least": sums[:, R + 1, LEAST],
            "published": sums[:, R + 1, PUBLISHED],
            "losses": self.arrays["share_losses"][:, order],
            "first": np.array([self.first[k] for k in order]),
            "first_layers": self.first_layers(R),
        }
