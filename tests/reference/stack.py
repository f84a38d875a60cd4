"""The stack of two step sizes, in slow NumPy: eta="auto" where the structure is a diagonal."""

from functools import partial

import numpy as np
from scipy.optimize import brentq

from reference.algorithm import CLASSIFIER_LOSSES, POTENTIALS, preconditioner, project, prox
from reference.half_life import Memory, discounted, forgetting
from reference.scaling import DEGREES, STEEP, Residuals, Scale, carried, mean_of, softmax_of, with_intercept


class StackVector:
    """One step size of one weight vector: mirror descent with a diagonal H."""

    def __init__(self, D, d, psi, structure, epsilon, residuals, bounds, penalty):
        self.psi, self.structure, self.epsilon, self.residuals = psi, structure, epsilon, residuals
        self.d, (self.domain, self.radius), (self.alpha, self.l1_ratio) = d, bounds, penalty
        self.lam, self.memory = residuals.lam, Memory(D, epsilon, residuals.lam)
        self.x = np.zeros(D)
        if self.domain == "simplex":
            self.x[:d] = self.radius / d
        self.last_touched, self.subgradient = np.zeros(D, dtype=int), np.zeros(D)
        self.predicting = []
        self.implicit = False

    def average(self, gamma):
        return mean_of(self.predicting, gamma, self.lam) if self.predicting else np.zeros_like(self.x)

    def change_units(self, growth):
        self.memory.G = carried(self.memory.G, growth, self.epsilon)

    def at(self, t, units, recency):
        """The round under way, the features' units, and what part a round has in a mean of late ones."""
        self.t, self.units, self.recency = t, units, recency

    def step(self, z, slope, curvature, omega, factor, newtonian, implicit):
        """An implicit step where slopes are unbounded; stacked ONS takes ω g gᵀ, not ω² g gᵀ.

        ``implicit``: a function (margin, length) that gives the slope where the step leads.
        Penalty and domain are in raw units; a penalty is charged to the coordinates that are touched.
        """
        t, units, memory = self.t, self.units, self.recency
        entering = np.sqrt(omega) * slope if newtonian else omega * slope
        self.memory.take(entering * z, z != 0)
        self.H = factor * preconditioner(self.memory.G, self.psi, self.structure, self.epsilon)
        shorter = 1.0
        length = omega * (z @ self.H @ z)
        if implicit is not None and slope != 0:
            shorter = implicit(z @ self.x, length) / slope
        elif self.implicit or self.residuals.loss in STEEP:
            shorter = 1 / (1 + curvature * length)
        u = self.x - self.residuals.rho * shorter * omega * slope * (self.H @ z)
        if self.alpha:
            self.remember(u, t, z, units, memory)
            u = np.where(z != 0, self.charged(u, t, units), self.x)
            self.last_touched[z != 0] = t
        if slope or self.alpha or self.domain == "simplex":
            self.x = self.projected(u, units)

    def raw_steps(self, units):
        return self.residuals.rho / self.residuals.gradient_unit * np.diag(self.H) / units**2

    def due(self, t):
        return np.where(np.arange(len(self.x)) < self.d, self.alpha * (t - self.last_touched), 0.0)

    def charged(self, u, t, units):
        return units * prox(u / units, self.raw_steps(units), self.due(t), self.l1_ratio)

    def remember(self, u, t, z, units, memory):
        """The share of the L1 penalty that a coordinate has taken, as a subgradient of ‖x‖₁."""
        most = self.raw_steps(units) * self.due(t) * self.l1_ratio
        for i in np.flatnonzero((z != 0) & (most > 0)):
            weight = min(1.0, memory * (t - self.last_touched[i]))
            taken = np.clip(u[i] / units[i] / most[i], -1, 1)
            self.subgradient[i] += weight * (taken - self.subgradient[i])

    def projected(self, u, units):
        H = self.H / np.outer(units, units)
        return units * project(u / units, H, self.domain, self.radius, self.d)

    def last_iterate(self, t, units):
        if not self.alpha:
            return self.x
        return np.where(self.due(t) > 0, self.projected(self.charged(self.x, t, units), units), self.x)


def confined(c, domain, radius):
    """A combination of points of the domain, brought back into it: scaled, or clipped."""
    if domain == "box":
        return np.clip(c, -radius, radius)
    if domain in ("nonnegative", "simplex"):
        c = np.maximum(c, 0)
    if domain == "simplex":
        return radius * c / c.sum()
    size = {"l2": np.linalg.norm(c), "l1": np.abs(c).sum()}.get(domain, 0.0)
    return c * radius / size if radius is not None and size > radius else c


class RecentVector:
    """An iterate that moves as the fast weight vector would if a hundred rounds had made its G; no average."""

    def __init__(self, D, eta, epsilon, residuals):
        self.x, self.eta, self.most, self.residuals = (np.zeros(D), eta, epsilon ** (-2 / 3), residuals)

    def step(self, z, slope, curvature, omega, factor, fast, t, implicit):
        h = np.minimum(np.diag(fast.memory.G) ** (-2 / 3) * max(1, t / 100) ** (2 / 3), self.most)
        h = factor * self.eta * h
        length = omega * (z**2 @ h)
        exact = implicit is not None and slope != 0
        slope = implicit(z @ self.x, length) if exact else slope / (1 + curvature * length)
        self.x = self.x - self.residuals.rho * omega * slope * h * z


class Sides:
    """Whether a combination that forgets counts, and how much: by losses of the last 500 rows."""

    def __init__(self):
        self.steady = self.recent = self.jump = 0.0
        self.total, self.weight = 0.0, 0.0

    def share(self, t):
        """Of the steady combination in round t."""
        ahead = self.recent + 2 - self.steady > 1
        jumped = 0.03 * self.jump >= 1.2 * 0.002 * self.steady + 0.1
        if t > 1000 and (t - 1) % 4096 >= 512 and ahead and not jumped:
            return None
        return 1 / (1 + np.exp(self.steady - self.recent - 2))

    def judge(self, steady, recent, combined, weight, plain):
        unit, cap = 1.0, 10.0
        if not plain:
            cap = 200.0
            if self.total > 0:
                combined = min(combined, 2 * cap * self.total / self.weight)
            self.total, self.weight = self.total + weight * combined, self.weight + weight
            unit = 2 * self.total / self.weight
        if unit > 0:
            self.jump = 0.97 * self.jump + weight * min(steady / unit, cap)
            if recent is not None:
                self.steady = 0.998 * self.steady + weight * min(steady / unit, cap)
                self.recent = 0.998 * self.recent + weight * min(recent / unit, cap)


class Combination:
    """v of M = v·f, learnt by Newton steps with forgetting."""

    def __init__(self, width, lam, forgetful=False):
        self.v, self.S, self.lam = np.eye(width)[0], np.zeros((width, width)), lam
        self.forgetful = forgetful

        self.Q = np.zeros((width, width))  # of the penalty, ½ v'Qv, as last computed
        self.numbers = 0  # read since then

    def learn(self, t, hessian, gradient, unit):
        fade = 0.99 if self.forgetful else self.lam * (t / (t + 1)) ** 2
        self.S = self.S * fade + hessian + self.Q / unit
        gradient = gradient + self.Q @ self.v / unit
        self.v = self.v - np.linalg.solve(self.S + 20 * np.eye(len(self.v)), gradient)

    def read(self, z, seen, candidates, l1, l2):
        """Renew Q when four numbers have been read per feature seen, or one in eight features.

        ``candidates``: raw coefficients, (n_outputs, n_candidates, d).
        """
        self.numbers += np.count_nonzero(z)
        if self.numbers >= max(4 * seen, len(z) / 8):
            self.numbers, self.Q = 0, np.zeros_like(self.Q)
            for w in np.concatenate(list(candidates), axis=1).T:
                size = max(abs(self.v @ w), 0.1 * np.abs(w).max())
                if size:
                    self.Q += (l1 / size + l2) * np.outer(w, w)


def far_slope(y, margin, length):
    """ℓ'(m') of the log-loss at the m' = m − length · ℓ'(m')."""

    def slope(m):
        return -y * np.exp(-np.logaddexp(0.0, y * m))

    ends = sorted((margin, margin - length * slope(margin)))
    return slope(brentq(lambda m: m - margin + length * slope(m), *ends, xtol=1e-15, rtol=1e-15))


def stacked(
    Z,
    y,
    *,
    loss="log_loss",
    potential="adagrad",
    structure="diag",
    p=2.0,
    epsilon=1.0,
    half_life=None,
    average=1.0,
    fit_intercept=True,
    sample_weight=None,
    n_classes=None,
    alpha=0.0,
    l1_ratio=0.0,
    domain=None,
    radius=None,
    zeros=False,
    make_outputs=None,
    recent=False,
):
    """One pass; ``n_classes`` for softmax. (K, D) weights and the progressive loss.

    ``make_outputs``: a function (D, residuals) that gives the weight vectors of an output.

    "auto" is a pair of p-norm potentials, p = 2 with the first rate and p = 1/2 with the second, takes implicit
    steps wherever the loss has a curvature. A unit grows by at most 4/n of itself in a row. ``zeros`` restores those of
    the L1 penalty where the combination is published. ``recent``: with an iterate and a combination of short memory.
    """
    paired = potential == "auto"
    potential = "pnorm" if paired else potential
    d = np.shape(Z)[1]
    Z = with_intercept(Z, fit_intercept)
    D, K = Z.shape[1], n_classes or 1
    gamma = 0.0 if isinstance(average, bool) else average
    omega = np.ones(len(Z)) if sample_weight is None else sample_weight
    rates = (1.0, 10.0) if potential == "ons" else (0.5, 5.0)
    shifted = loss in (*DEGREES, "poisson") and fit_intercept
    lam = forgetting(half_life)

    def output(eta):
        psi = POTENTIALS[potential](eta, (2.0 if eta == rates[0] else 0.5) if paired else p)
        residuals = Residuals(loss, shifted, lam)
        return StackVector(D, d, psi, structure, epsilon, residuals, (domain, radius), (alpha, l1_ratio))

    def candidates_of(vector):
        lasts = [output.x for output in vector]
        return [*([output.average(average) for output in vector] if average is not False else []), *lasts]

    def residuals():
        return Residuals(loss, shifted, lam)

    members = make_outputs or (lambda D, residuals: [output(eta) for eta in rates])
    outputs = [members(D, residuals) for _ in range(K)]
    own = Residuals(loss, shifted, lam)  # of the combined margin
    stack = Combination(4 if average is not False else 2, lam)
    sides, forgetful = Sides(), Combination(5, 1.0, forgetful=True)
    recents = [RecentVector(D, rates[1], epsilon, residuals()) for _ in range(K if recent else 0)]
    scale, spread, t, total = Scale(D, True, lam), 0.0, 0, 0.0
    for row in np.flatnonzero(omega > 0):
        t, w = t + 1, omega[row]
        z, growth, fresh = scale.take(Z[row])
        spread = lam * spread + z @ z
        tau = discounted(np.ones(t), lam).sum()
        factor = np.sqrt(tau / spread)
        for one in (own, *(output.residuals for vector in [*outputs, recents] for output in vector)):
            one.meet(y[row])
        for output in (output for vector in outputs for output in vector):
            output.x = np.minimum(growth, 1) * output.x
            output.predicting = [np.minimum(growth, 1) * x for x in output.predicting]
        lasts = np.array([[output.x @ z for output in vector] for vector in outputs])
        f = lasts
        if average is not False:
            averages = [[output.average(average) @ z for output in vector] for vector in outputs]
            f = np.hstack([averages, lasts])
        M = steady = f @ stack.v
        share = sides.share(t) if recent else None
        if share is not None:
            f = np.column_stack([f, [output.x @ z for output in recents]])
            lately = f @ forgetful.v
            M = share * steady + (1 - share) * lately
        if recent:
            lasts = np.column_stack([lasts, M if share is None else f[:, 4]])

        def learn(combination, margins, f, t=t, w=w, target=y[row]):
            """The loss of a combination that gives these margins, which learns from it."""
            if not n_classes:
                value, g, h = own.look(margins[0], target)
                unit = own.rho * own.gradient_unit
                h = max(h, g**2)
                combination.learn(t, w * h * np.outer(f[0], f[0]), w * g * f[0], unit)
                return value
            label = int(target)
            probabilities = softmax_of(margins)
            b = (probabilities - np.eye(K)[label]) @ f
            centred = f - probabilities @ f
            excess = max(0.0, 2 * (1 - probabilities[label]) - 1)
            hessian = centred.T @ (probabilities[:, None] * centred) + excess * np.outer(b, b)
            combination.learn(t, w * hessian, w * b, 1.0)
            return -np.log(probabilities[label])

        if n_classes:
            hit = np.eye(K)[int(y[row])]
            value = -np.log(softmax_of(M)[int(y[row])])
            slopes = np.array([softmax_of(m) - hit for m in lasts.T]).T
            curvatures = (slopes + hit[:, None]) * (1 - slopes - hit[:, None])
        else:
            value = own.evaluate_loss(M[0], y[row], w)[0]
            answers = [
                output.residuals.evaluate_loss(m, y[row], w)
                for output, m in zip([*outputs[0], *recents], lasts[0], strict=True)
            ]
            slopes = np.array([[slope for _, slope, _ in answers]])
            curvatures = np.array([[curvature for _, _, curvature in answers]])
        of_steady = learn(stack, steady, f[:, : len(stack.v)])
        if recent:
            of_recent = None if share is None else learn(forgetful, lately, f)
            plain = bool(n_classes) or loss in CLASSIFIER_LOSSES
            of_both = value if plain else own.look(M[0], y[row])[0]
            sides.judge(of_steady, of_recent, of_both, w, plain)
        total += w * value
        for k, vector in enumerate(outputs):
            for r, output in enumerate(vector):
                if domain == "simplex":  # a weight that was there before its feature keeps its raw value
                    output.x = np.where(fresh, output.x * scale.units, output.x)
                    output.predicting = [np.where(fresh, x * scale.units, x) for x in output.predicting]
                output.predicting.append(output.x)
                output.change_units(growth)
                output.implicit = paired
                exact = paired and loss == "log_loss" and not n_classes
                implicit = partial(far_slope, y[row]) if exact else None
                if make_outputs is None:
                    output.at(t, scale.units, (gamma + 1) / tau)
                if np.any(slopes) or make_outputs is None:  # else no row enters a matrix
                    output.step(z, slopes[k, r], curvatures[k, r], w, factor, potential == "ons", implicit)
        if share is not None:
            for k, output in enumerate(recents):
                exact = loss == "log_loss" and not n_classes
                implicit = partial(far_slope, y[row]) if exact else None
                output.step(z, slopes[k, 2], curvatures[k, 2], w, factor, outputs[k][1], t, implicit)
        if alpha:
            raw = [np.array(candidates_of(vector))[:, :d] / scale.units[:d] for vector in outputs]
            seen = np.count_nonzero(scale.s[:d])
            stack.read(z[:d], seen, raw, alpha * l1_ratio, alpha * (1 - l1_ratio))
    weights = []
    share = sides.share(t + 1) if recent else None
    for k, vector in enumerate(outputs):
        candidates = [output.last_iterate(t, scale.units) if alpha else output.x for output in vector]
        if average is not False:
            candidates = [output.average(average) for output in vector] + candidates
        combined = stack.v @ np.array(candidates)
        if share is not None:
            lately = forgetful.v @ np.array([*candidates, recents[k].x])
            combined = share * combined + (1 - share) * lately
        own_weights = combined / scale.units
        if zeros:
            of_outputs = np.abs(stack.v).reshape(-1, 2).sum(axis=0)
            of_outputs = of_outputs / of_outputs.sum()
            s = of_outputs @ [output.subgradient for output in vector]
            h = of_outputs @ [
                output.residuals.rho
                / output.residuals.gradient_unit
                * tau
                / (np.diag(output.memory.G) if structure == "diag" else np.trace(output.memory.G) / D)
                for output in vector
            ]
            small = np.abs(own_weights) <= h / scale.units**2 * alpha * l1_ratio * (1 - np.abs(s))
            own_weights[:d][small[:d]] = 0.0
        own_weights[:d] = confined(own_weights[:d], domain, radius)
        weights.append(own_weights)
    weights = np.array(weights)
    weights[:, d:] += own.offset
    return weights, total / omega.sum()
