"""What Algorithm 1 becomes without tuning, in slow NumPy: online scaling, and the stack.

Like `reference.py`, whose losses, potentials and projections it takes, this imports nothing of the
package and takes no short cut: whole matrices, every iterate stored, averages summed at the end.
Lanes share nothing but the row, so a model of K weight vectors is a list of K lanes.
"""

import numpy as np
from reference import JOINT, LOSSES, POTENTIALS, preconditioner, project, prox

DEGREES = {  # of a loss in the unit of its residual; losses not named here have no such unit
    "squared_error": 2,
    "huber": 2,
    "squared_epsilon_insensitive": 2,
    "absolute_error": 1,
    "quantile": 1,
    "epsilon_insensitive": 1,
}
PARAMETERS = {"huber_delta": 1.35, "quantile": 0.5, "insensitivity": 0.1}
CURVATURES = {  # of the losses that have any; the others are piecewise linear
    "log_loss": lambda m, y: np.exp(-np.logaddexp(0, m) - np.logaddexp(0, -m)),
    "squared_hinge": lambda m, y: 2.0 * (y * m < 1),
    "modified_huber": lambda m, y: 2.0 * (abs(y * m) < 1),
    "squared_error": lambda m, y: 1.0,
    "huber": lambda m, y: 1.0 * (abs(m - y) <= PARAMETERS["huber_delta"]),
    "squared_epsilon_insensitive": lambda m, y: 2.0 * (abs(m - y) > PARAMETERS["insensitivity"]),
    "poisson": lambda m, y: np.maximum(np.exp(m), y),
}
STEEP = tuple(name for name in CURVATURES if name != "log_loss")  # unbounded slopes


def with_intercept(Z, fit_intercept):
    return np.column_stack([Z, np.ones(len(Z))]) if fit_intercept else np.asarray(Z, dtype=float)


def mean_of(iterates, average):
    """Σ c_t x_t / Σ c_t over the iterates that predicted, c_t = t^γ."""
    gamma = 0.0 if isinstance(average, bool) else average
    c = np.arange(1.0, len(iterates) + 1) ** gamma
    return np.tensordot(c, np.array(iterates), 1) / c.sum()


class Residuals:
    """Regression in units of its own: an offset, and the residuals' running root mean square ρ.

    The offset is the first target, under a log link the log of the first positive one. Under a log
    link margins have no unit: the residual is the slope, over its root mean square, and steps are
    multiplied with that root mean square over the mean curvature.
    """

    def __init__(self, loss, shifted):
        self.loss, self.degree, self.shifted = loss, DEGREES.get(loss, 0), shifted
        self.offset, self.started = 0.0, False
        self.squares = self.weight = 0.0
        self.rho = self.unit = 1.0
        self.curvatures = 0.0

    def meet(self, y):
        """Take the target's part in the offset."""
        if self.shifted and not self.started and (self.degree or y > 0):
            self.offset, self.started = (y if self.degree else np.log(y)), True

    def suffer(self, margin, y, omega):
        """Loss in its own unit; slope and curvature in units of ρ."""
        if not self.degree:
            m = self.offset + np.clip(margin, -15, 15) if self.shifted else margin
            value, slope = LOSSES[self.loss](m, y, PARAMETERS)
            curvature = CURVATURES.get(self.loss, lambda m, y: 0.0)(m, y)
            if self.loss != "poisson":
                return value, slope, curvature
            slope = slope if abs(slope) > 1e-12 * y else 0.0  # what exp(log y) − y is by rounding
            self.curvatures += omega * curvature
            self.squares += omega * slope**2
            self.weight += omega
            mean = self.curvatures / self.weight or 1.0
            self.unit = np.sqrt(self.squares / self.weight) or 1.0
            self.rho = self.unit / mean if self.squares else 1.0
            return value, slope / self.unit, curvature / mean
        r = margin + self.offset - y
        self.squares += omega * r**2
        self.weight += omega
        self.rho = np.sqrt(self.squares / self.weight) or 1.0
        self.unit = self.rho if self.degree == 2 else 1.0
        value, slope = LOSSES[self.loss](r / self.rho, 0.0, PARAMETERS)
        curvature = CURVATURES.get(self.loss, lambda m, y: 0.0)(r / self.rho, 0.0)
        return value * self.rho**self.degree, slope, curvature

    @property
    def gradient_unit(self):
        """ℓ' of the loss itself, over the slope in units of ρ."""
        return self.unit


class Scale:
    """s_i = max |z_i| so far."""

    def __init__(self, D):
        self.s = np.zeros(D)

    def take(self, z):
        """The row in the new units, the growth κ, and the features seen for the first time."""
        before, self.s = self.s, np.maximum(self.s, abs(z))
        fresh = (before == 0) & (self.s > 0)
        growth = np.where(before > 0, self.s / np.where(before > 0, before, 1), 1.0)
        return z / self.units, growth, fresh

    @property
    def units(self):
        return np.where(self.s > 0, self.s, 1.0)


def carried(G, growth, epsilon):
    """Row and column i over κ_i, and ε(1 − κ_i⁻²) made up for on the diagonal."""
    return G / np.outer(growth, growth) + epsilon * np.diag(1 - growth**-2)


# --- (A) numeric eta: Algorithm 1 in normalised coordinates ---------------------------------------


def all_blocks(blocks, D):
    """The blocks, and those of one coordinate that the others leave."""
    taken = [i for block in blocks for i in block]
    return [list(block) for block in blocks] + [[i] for i in range(D) if i not in taken]


def touched_blocks(z, blocks):
    """Which coordinates are in a block with a value in z."""
    touched = np.zeros(len(z), dtype=bool)
    for block in blocks:
        touched[block] = (z[block] != 0).any()
    return touched


def shares(z, structure, blocks):
    """What a row adds to the sum that the common factor divides by."""
    if structure == "block":
        return sum(np.max(z[block] ** 2) for block in all_blocks(blocks, len(z)))
    return z @ z


class ScaledLane:
    """One weight vector in normalised coordinates; domain and penalty in raw units."""

    def __init__(
        self, D, d, psi, structure, epsilon, update, domain, radius, alpha, l1_ratio, blocks=()
    ):
        self.d, self.psi, self.structure, self.epsilon = d, psi, structure, epsilon
        self.blocks = all_blocks(blocks, D)
        self.dual, self.domain, self.radius = update == "dual_averaging", domain, radius
        self.alpha, self.l1_ratio = np.where(np.arange(D) < d, alpha, 0.0), l1_ratio
        self.composite = alpha > 0 and structure not in JOINT
        self.G, self.theta, self.x = epsilon * np.eye(D), np.zeros(D), np.zeros(D)
        self.last_touched = np.zeros(D, dtype=int)
        self.predicting = []
        self.H = None  # of the last round that moved, with the common factor and ρ in it

    def psi_of_G(self):
        return preconditioner(self.G, self.psi, self.structure, self.epsilon, self.blocks)

    def change_units(self, growth, fresh, rho, factor):
        """G to the new units; θ such that x keeps its value, x_1 being 0."""
        before = self.psi_of_G()
        self.G = carried(self.G, growth, self.epsilon)
        changed = (growth > 1) | fresh
        if not self.dual or not changed.any():
            return
        if self.structure == "block":  # each block by itself
            for block in self.blocks:
                if changed[block].any():
                    H = factor * rho * self.psi_of_G()[np.ix_(block, block)]
                    self.theta[block] = -np.linalg.solve(H, self.x[block])
        elif self.structure == "full":
            self.theta = -np.linalg.solve(self.psi_of_G(), self.x) / rho
        else:  # of the point before projection and prox
            self.theta = np.linalg.solve(self.psi_of_G(), before @ self.theta)

    def step(self, t, z, slope, units, factor, rho, gradient_unit):
        """Steps 2 to 4; ``factor`` is the common one, ``z`` and x in normalised coordinates."""
        if slope == 0 and not self.alpha.any():
            return
        g = slope * z
        if self.structure in JOINT:
            g = g + self.alpha * self.x / units**2 / gradient_unit
        self.G = self.G + np.outer(g, g)
        self.theta = self.theta + g
        self.H = factor * rho * self.psi_of_G()
        u = -self.H @ self.theta if self.dual else self.x - self.H @ g
        # The common factor and ρ move every coordinate of −Hθ a little. Coordinates that the row
        # does not touch wait for their turn, except where the whole point is worked out anyway.
        touched = z != 0
        if self.structure == "block":
            touched = touched_blocks(z, self.blocks) | self.alpha.any()
        if self.composite:
            u = self.charged(u, t, units, gradient_unit)
        if self.composite or (
            self.dual
            and self.structure in ("diag", "block")
            and self.domain in (None, "box", "nonnegative")
        ):
            u = np.where(touched, u, self.x)
        self.last_touched[touched] = t
        self.x = self.projected(u, units)

    def projected(self, u, units):
        return units * project(
            u / units, self.H / np.outer(units, units), self.domain, self.radius, self.d
        )

    def charged(self, u, t, units, gradient_unit):
        """The prox in raw units of the rounds not charged yet (all of them, in dual averaging)."""
        rounds = t if self.dual else t - self.last_touched
        h = np.diag(self.H) / units**2 / gradient_unit
        return units * prox(u / units, h, self.alpha * rounds, self.l1_ratio)

    def last_iterate(self, t, units, gradient_unit):
        if not (self.composite and self.H is not None):
            return self.x
        u = -self.H @ self.theta if self.dual else self.x
        return self.projected(self.charged(u, t, units, gradient_unit), units)


def scaled_adareg(
    Z,
    y,
    *,
    loss="log_loss",
    potential="adagrad",
    structure="diag",
    blocks=(),
    eta=1.0,
    epsilon=1.0,
    p=2.0,
    update="mirror_descent",
    domain=None,
    radius=None,
    alpha=0.0,
    l1_ratio=0.0,
    average=True,
    fit_intercept=True,
    sample_weight=None,
):
    """One pass under online scaling: (coef, intercept) in one vector, and the progressive loss."""
    d = np.shape(Z)[1]
    Z = with_intercept(Z, fit_intercept)
    D = Z.shape[1]
    omega = np.ones(len(Z)) if sample_weight is None else sample_weight
    psi = POTENTIALS[potential](eta, p)
    lane = ScaledLane(
        D, d, psi, structure, epsilon, update, domain, radius, alpha, l1_ratio, blocks
    )
    residuals = Residuals(loss, shifted=loss in (*DEGREES, "poisson") and fit_intercept)
    scale, spread, t, total = Scale(D), 0.0, 0, 0.0
    for row in np.flatnonzero(omega > 0):
        t += 1
        z, growth, fresh = scale.take(Z[row])
        spread += shares(z, structure, blocks)
        factor = 1.0 if structure == "full" else np.sqrt(t / spread)
        residuals.meet(y[row])
        value, slope, _ = residuals.suffer(z @ lane.x, y[row], omega[row])
        total += omega[row] * value
        lane.change_units(growth, fresh, residuals.rho, factor)
        lane.predicting.append(lane.x)
        unit = residuals.gradient_unit
        lane.step(t, z, omega[row] * slope, scale.units, factor, residuals.rho, unit)
    last = lane.last_iterate(t, scale.units, residuals.gradient_unit)
    x = (last if average is False else mean_of(lane.predicting, average)) / scale.units
    x[d:] += residuals.offset
    return x, total / omega.sum()


# --- (B) eta="auto", a diagonal: a stack of two step sizes ----------------------------------------


class StackLane:
    """One step size of one weight vector: mirror descent with a diagonal H."""

    def __init__(self, D, d, psi, structure, epsilon, residuals, bounds, penalty):
        self.psi, self.structure, self.epsilon, self.residuals = psi, structure, epsilon, residuals
        self.d, (self.domain, self.radius), (self.alpha, self.l1_ratio) = d, bounds, penalty
        self.x, self.G = np.zeros(D), epsilon * np.eye(D)
        if self.domain == "simplex":
            self.x[:d] = self.radius / d
        self.last_touched, self.subgradient = np.zeros(D, dtype=int), np.zeros(D)
        self.predicting = []

    def average(self, gamma):
        return mean_of(self.predicting, gamma) if self.predicting else np.zeros_like(self.x)

    def step(self, t, z, slope, curvature, omega, factor, newtonian, units, memory):
        """An implicit step where slopes are unbounded; stacked ONS takes ω g gᵀ, not ω² g gᵀ.

        Penalty and domain are in raw units; a penalty is charged to the coordinates that are touched.
        """
        entering = np.sqrt(omega) * slope if newtonian else omega * slope
        self.G = self.G + entering**2 * np.outer(z, z)
        self.H = factor * preconditioner(self.G, self.psi, self.structure, self.epsilon)
        shorter = 1.0
        if self.residuals.loss in STEEP:
            shorter = 1 / (1 + omega * curvature * (z @ self.H @ z))
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
            weight = min(1.0, memory * (t - self.last_touched[i]) / t)
            taken = np.clip(u[i] / units[i] / most[i], -1, 1)
            self.subgradient[i] += weight * (taken - self.subgradient[i])

    def projected(self, u, units):
        H = self.H / np.outer(units, units)
        return units * project(u / units, H, self.domain, self.radius, self.d)

    def last_iterate(self, t, units):
        if not self.alpha:
            return self.x
        return np.where(
            self.due(t) > 0, self.projected(self.charged(self.x, t, units), units), self.x
        )


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


class Combination:
    """v of M = v·f, learnt by Newton steps with forgetting."""

    def __init__(self, width):
        self.v, self.S = np.eye(width)[0], np.zeros((width, width))

        self.Q = np.zeros((width, width))  # of the penalty, ½ v'Qv, as last computed
        self.numbers = 0  # read since then

    def learn(self, t, hessian, gradient, unit):
        self.S = self.S * (t / (t + 1)) ** 2 + hessian + self.Q / unit
        gradient = gradient + self.Q @ self.v / unit
        self.v = self.v - np.linalg.solve(self.S + 10 * np.eye(len(self.v)), gradient)

    def read(self, z, seen, candidates, l1, l2):
        """Renew Q when four numbers have been read per feature seen, or one in eight features.

        ``candidates``: raw coefficients, (weight vectors, candidates, d).
        """
        self.numbers += np.count_nonzero(z)
        if self.numbers >= max(4 * seen, len(z) / 8):
            self.numbers, self.Q = 0, np.zeros_like(self.Q)
            for w in np.concatenate(list(candidates), axis=1).T:
                size = max(abs(self.v @ w), 1e-3 * np.abs(self.v * w).sum())
                if size:
                    self.Q += (l1 / size + l2) * np.outer(w, w)


def softmax_of(margins):
    p = np.exp(margins - margins.max())
    return p / p.sum()


def stacked(
    Z,
    y,
    *,
    loss="log_loss",
    potential="adagrad",
    structure="diag",
    p=2.0,
    epsilon=1.0,
    average=1.0,
    fit_intercept=True,
    sample_weight=None,
    n_classes=None,
    alpha=0.0,
    l1_ratio=0.0,
    domain=None,
    radius=None,
    zeros=False,
):
    """One pass; ``n_classes`` for softmax. (K, D) weights and the progressive loss.

    ``zeros`` restores those of the L1 penalty where the combination is published.
    """
    d = np.shape(Z)[1]
    Z = with_intercept(Z, fit_intercept)
    D, K = Z.shape[1], n_classes or 1
    gamma = 0.0 if isinstance(average, bool) else average
    omega = np.ones(len(Z)) if sample_weight is None else sample_weight
    rates = (1.0, 10.0) if potential == "ons" else (0.5, 5.0)
    shifted = loss in (*DEGREES, "poisson") and fit_intercept

    def lane(eta):
        psi = POTENTIALS[potential](eta, p)
        residuals = Residuals(loss, shifted)
        return StackLane(
            D, d, psi, structure, epsilon, residuals, (domain, radius), (alpha, l1_ratio)
        )

    def candidates_of(vector):
        lasts = [lane.x for lane in vector]
        return [*([lane.average(average) for lane in vector] if average is not False else []), *lasts]

    lanes = [[lane(eta) for eta in rates] for _ in range(K)]
    own = Residuals(loss, shifted)  # of the combined margin
    stack = Combination(4 if average is not False else 2)
    scale, spread, t, total = Scale(D), 0.0, 0, 0.0
    for row in np.flatnonzero(omega > 0):
        t, w = t + 1, omega[row]
        z, growth, fresh = scale.take(Z[row])
        spread += z @ z
        factor = np.sqrt(t / spread)
        for one in (own, *(lane.residuals for vector in lanes for lane in vector)):
            one.meet(y[row])
        lasts = np.array([[lane.x @ z for lane in vector] for vector in lanes])
        f = lasts
        if average is not False:
            averages = [[lane.average(average) @ z for lane in vector] for vector in lanes]
            f = np.hstack([averages, lasts])
        M = f @ stack.v
        if n_classes:
            label = int(y[row])
            hit = np.eye(K)[label]
            probabilities = softmax_of(M)
            value = -np.log(probabilities[label])
            b = (probabilities - hit) @ f
            centred = f - probabilities @ f
            excess = max(0.0, 2 * (1 - probabilities[label]) - 1)
            hessian = centred.T @ (probabilities[:, None] * centred) + excess * np.outer(b, b)
            stack.learn(t, w * hessian, w * b, 1.0)
            slopes = np.array([softmax_of(m) - hit for m in lasts.T]).T
            curvatures = np.zeros((K, 2))
        else:
            value, g, h = own.suffer(M[0], y[row], w)
            h = max(h, g**2) / own.rho**2
            unit = own.rho * own.gradient_unit
            stack.learn(t, w * h * np.outer(f[0], f[0]), w * g / own.rho * f[0], unit)
            answers = [
                lane.residuals.suffer(m, y[row], w)
                for lane, m in zip(lanes[0], lasts[0], strict=True)
            ]
            slopes = np.array([[slope for _, slope, _ in answers]])
            curvatures = np.array([[curvature for _, _, curvature in answers]])
        total += w * value
        for k, vector in enumerate(lanes):
            for r, lane in enumerate(vector):
                if domain == "simplex":  # a weight that was there before its feature keeps its raw value
                    lane.x = np.where(fresh, lane.x * scale.units, lane.x)
                    lane.predicting = [
                        np.where(fresh, x * scale.units, x) for x in lane.predicting
                    ]
                lane.predicting.append(lane.x)
                lane.G = carried(lane.G, growth, epsilon)
                lane.step(
                    t,
                    z,
                    slopes[k, r],
                    curvatures[k, r],
                    w,
                    factor,
                    potential == "ons",
                    scale.units,
                    gamma + 1,
                )
        if alpha:
            raw = [np.array(candidates_of(vector))[:, :d] / scale.units[:d] for vector in lanes]
            seen = np.count_nonzero(scale.s[:d])
            stack.read(z[:d], seen, raw, alpha * l1_ratio, alpha * (1 - l1_ratio))
    weights = []
    for vector in lanes:
        candidates = [lane.last_iterate(t, scale.units) for lane in vector]
        if average is not False:
            candidates = [lane.average(average) for lane in vector] + candidates
        own_weights = stack.v @ np.array(candidates) / scale.units
        if zeros:
            share = np.abs(stack.v).reshape(-1, 2).sum(axis=0)
            share = share / share.sum()
            s = share @ [lane.subgradient for lane in vector]
            h = share @ [
                lane.residuals.rho
                / lane.residuals.gradient_unit
                * t
                / (np.diag(lane.G) if structure == "diag" else np.trace(lane.G) / D)
                for lane in vector
            ]
            small = np.abs(own_weights) <= h / scale.units**2 * alpha * l1_ratio * (1 - np.abs(s))
            own_weights[:d][small[:d]] = 0.0
        own_weights[:d] = confined(own_weights[:d], domain, radius)
        weights.append(own_weights)
    weights = np.array(weights)
    weights[:, d:] += own.offset
    return weights, total / omega.sum()
