"""Fixed share on the losses of candidates, several rates of it by fixed share again, and regressions on their margins, in slow NumPy.

w_k ← (1 − a) w_k e^(−ℓ_k) / Σ_j w_j e^(−ℓ_j) + a v_k,    v the weights before the first row

A candidate that rests counts as the mixture of those that do not: ℓ_k = −ln Σ_j w_j e^(−ℓ_j) / Σ_j w_j over these.
"""

import numpy as np

CAP = 6.0
SCALES = (1.0, 0.5)
RATES = (0.0, 0.003, 0.03, 0.1)  # 0 stands for 1/t
OTHERS, TRACKING = 0.2, 0.03
ROUNDING = 1e-9
KEPT, PRIOR, EVERY, FARTHEST = (1.0, 0.999, 0.99), 10.0, 16, 20.0


def exponential(weights, losses, rate, first):
    weights = weights * np.exp(-losses)
    return (1 - rate) * weights / weights.sum() + rate * first


class Regression:
    """v of v·f, by the same two sums as the candidates themselves."""

    def __init__(self, B, kept):
        self.kept, self.G, self.r, self.v = kept, np.zeros((B, B)), np.zeros(B), np.eye(B)[-1]

    def learn(self, f, h, g, weight):
        self.G = self.kept * self.G + weight * h * np.outer(f, f)
        self.r = self.kept * self.r + weight * (h * (self.v @ f) - g) * f

    def solve(self, leader, prior, from_constant):
        start = np.eye(len(self.v))[leader]
        A = self.G + prior * np.eye(len(start))
        self.v = start + np.linalg.solve(A, self.r - self.G @ start)
        if from_constant:
            self.v[-1] = 1 - self.v[:-1].sum()


class FixedShare:
    """The combination of B base candidates, the last of which is the constant, with C margins each.

    ``evaluate`` gives the losses of margins (n, C); ``quadratic`` slope and curvature of a regression's margin.
    """

    def __init__(self, B, C, tracks, regresses, long_ones, evaluate, quadratic=None, from_constant=False):
        self.B, self.evaluate, self.quadratic, self.from_constant = (B, evaluate, quadratic, from_constant)
        self.rates = RATES if tracks or regresses else RATES[:1]
        self.regressions = [Regression(B, kept) for kept in KEPT] if regresses and C == 1 else []
        N, R = len(SCALES) * B + len(self.regressions), len(self.rates)
        main = np.isin(np.arange(N), [*range(long_ones), B - 1])
        self.first = np.where(main, (1 - OTHERS) / main.sum(), OTHERS / (~main).sum())
        self.top_first = np.r_[1 - (R - 1) * TRACKING, np.full(R - 1, TRACKING)]
        self.weights, self.top = np.tile(self.first, (R, 1)), self.top_first.copy()
        self.totals, self.active = np.zeros(N), np.ones(B, dtype=bool)
        self.judged, self.resting = np.ones(B, dtype=bool), False
        never = np.isin(np.arange(B), [*range(long_ones), B - 1])
        self.may_rest = not never.all()
        self.never_rests = np.r_[np.tile(never, len(SCALES)), np.zeros(len(self.regressions), dtype=bool)]

    def combine(self, base):
        """The margins of all candidates and of the layers from those of the base (B, C); what is published."""
        self.base = base
        parts = [scale * base + (1 - scale) * base[-1] for scale in SCALES]
        regressed = [regression.v[self.active] @ base[self.active] for regression in self.regressions]
        self.m = np.concatenate([*parts, *np.reshape(regressed, (-1, 1, base.shape[1]))])
        self.layers = self.part() @ self.m
        return self.top @ self.layers

    def there(self, bases):
        """Which of all candidates, (N,), are parts of these base candidates, or regressions, and do not rest."""
        there = np.r_[np.tile(bases, len(SCALES)), np.ones(len(self.regressions), dtype=bool)]
        return there & (self.never_rests | (not self.resting))

    def resting_part(self):
        """The weight of the candidates that may rest."""
        return (self.top @ self.weights)[~self.never_rests].sum()

    def part(self):
        """The weights of those who take part, (layers, N)."""
        part = self.weights * self.there(self.active)
        return part / part.sum(axis=1, keepdims=True)

    def shares(self):
        """What each base candidate counts in what is published."""
        identity = np.eye(self.B)
        parts = [scale * identity + (1 - scale) * identity[-1] for scale in SCALES]
        v = [regression.v * self.active for regression in self.regressions]
        return self.top @ self.part() @ np.concatenate([*parts, *np.reshape(v, (-1, 1, self.B))])

    def learn(self, weight, unit, scale, t):
        """The losses of a row of this weight, whose margins were combined last, in this unit."""
        losses = self.evaluate(self.m) * weight / unit
        losses = np.where(np.isfinite(losses), losses, np.inf)
        awake = self.there(self.judged)
        least = losses[awake].min()
        for r, rate in enumerate(self.rates):
            capped, own = np.minimum(losses - least, CAP), self.weights[r] * awake
            capped[~awake] = -np.log(own @ np.exp(-capped) / own.sum())
            self.totals += capped * (r == 0)
            self.weights[r] = exponential(self.weights[r], capped, rate or 1 / (t + 1), self.first)
        losses = np.minimum(self.evaluate(self.layers) * weight / unit - least, CAP)
        if len(self.top) > 1:
            self.top = exponential(self.top, losses, 1 / (t + 1), self.top_first)
        constant = self.base[-1, 0] if self.from_constant else 0.0
        if self.resting or (self.from_constant and not scale > ROUNDING * abs(constant)):
            return
        f = self.active * np.clip(self.base[:, 0] - constant, -FARTHEST * scale, FARTHEST * scale)
        for regression in self.regressions:
            g, h = self.quadratic(constant + regression.v @ f)
            regression.learn(f, h, g, weight)
        if t % EVERY == 0:
            for regression in self.regressions:
                regression.solve(self.leader(self.B), PRIOR * unit, self.from_constant)

    def leader(self, n):
        """The first of n base candidates that take part with the smallest losses so far."""
        return int(np.argmin(np.where(self.active[:n], self.totals[:n], np.inf)))

    def heaviest(self, n):
        """That of the first n base candidates that weighs most."""
        return int(np.argmax(np.where(self.active[:n], (self.top @ self.weights)[:n], -1)))
