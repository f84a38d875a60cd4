"""What Algorithm 1 becomes without tuning, in slow NumPy: online scaling, and the stack.

Like `algorithm.py`, whose losses, potentials and projections it takes, this imports nothing of the
package and takes no short cut: whole matrices, every iterate stored, averages summed at the end.
Weight vectors share nothing but the row, so a model of K weight vectors is a list of K weight vectors.
"""

import numpy as np

from reference.algorithm import JOINT, LOSSES, POTENTIALS, FrequentDirections, preconditioner, prox, turns
from reference.domains import project
from reference.half_life import Memory, discounted, forgetting

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


def mean_of(iterates, average, lam=1.0):
    """Σ c_t x_t / Σ c_t over the iterates that predicted, c_t = t^γ λ^(T−t)."""
    gamma = 0.0 if isinstance(average, bool) else average
    c = discounted(np.arange(1.0, len(iterates) + 1) ** gamma, lam)
    return np.tensordot(c, np.array(iterates), 1) / c.sum()


class Residuals:
    """Regression in units of its own: an offset, and the residuals' running root mean square ρ.

    The offset is the first target, under a log link the log of the first positive one. Under a log
    link margins have no unit: the residual is the slope, over its root mean square, and steps are
    multiplied with that root mean square over the mean curvature.
    """

    def __init__(self, loss, shifted, lam=1.0):
        self.lam = lam
        self.loss, self.degree, self.shifted = loss, DEGREES.get(loss, 0), shifted
        self.offset, self.started = 0.0, False
        self.squares = self.weight = 0.0
        self.rho = self.unit = 1.0
        self.curvatures = 0.0

    def meet(self, y):
        """Take the target's part in the offset."""
        if self.shifted and not self.started and (self.degree or y > 0):
            self.offset, self.started = (y if self.degree else np.log(y)), True

    def evaluate_loss(self, margin, y, omega):
        """Loss in its own unit; slope and curvature in units of ρ."""
        if not self.degree:
            m = self.offset + np.clip(margin, -15, 15) if self.shifted else margin
            value, slope = LOSSES[self.loss](m, y, PARAMETERS)
            curvature = CURVATURES.get(self.loss, lambda m, y: 0.0)(m, y)
            if self.loss != "poisson":
                return value, slope, curvature
            slope = slope if abs(slope) > 1e-12 * y else 0.0  # what exp(log y) − y is by rounding
            self.curvatures = self.lam * self.curvatures + omega * curvature
            self.squares = self.lam * self.squares + omega * self.counted(slope)
            self.weight = self.lam * self.weight + omega
            mean = self.curvatures / self.weight or 1.0
            self.unit = np.sqrt(self.squares / self.weight) or 1.0
            self.rho = self.unit / mean if self.squares else 1.0
            return value, slope / self.unit, curvature / mean
        r = margin + self.offset - y
        self.squares = self.lam * self.squares + omega * self.counted(r)
        self.weight = self.lam * self.weight + omega
        self.rho = np.sqrt(self.squares / self.weight) or 1.0
        self.unit = self.rho if self.degree == 2 else 1.0
        value, slope = LOSSES[self.loss](r / self.rho, 0.0, PARAMETERS)
        curvature = CURVATURES.get(self.loss, lambda m, y: 0.0)(r / self.rho, 0.0)
        return value * self.rho**self.degree, slope, curvature

    def look(self, margin, y):
        """Loss, slope and curvature at another margin, in the units of the round; a log link's loss above the least."""
        if self.degree:
            r = (margin + self.offset - y) / self.rho
            value, slope = LOSSES[self.loss](r, 0.0, PARAMETERS)
            curvature = CURVATURES.get(self.loss, lambda m, y: 0.0)(r, 0.0)
            return value * self.rho**self.degree, slope / self.rho, curvature / self.rho**2
        m = self.offset + np.clip(margin, -15, 15) if self.shifted else margin
        value, slope = LOSSES[self.loss](m, y, PARAMETERS)
        curvature = CURVATURES.get(self.loss, lambda m, y: 0.0)(m, y)
        if self.loss != "poisson":
            return value, slope, curvature
        least = LOSSES[self.loss](np.log(y), y, PARAMETERS)[0] if y > 0 else 0.0
        unit = self.rho * self.unit
        return max(0.0, value - least), slope / unit, curvature / unit

    def counted(self, residual):
        """Its square; beyond a hundred root mean squares it counts as a hundred."""
        known = self.squares / self.weight if self.squares else np.inf
        return min(residual**2, 100**2 * known)

    @property
    def gradient_unit(self):
        """ℓ' of the loss itself, over the slope in units of ρ."""
        return self.unit


class Scale:
    """s_i = max |z_i| so far; ``cautious``: a value beyond (1 + 4/n) s_i counts as that, n the number of values, halved with each
    that exceeds s_i.

    With a half-life, s_i becomes max |z_i| λ^k (k later values) once that is below 0.4 s_i.
    """

    def __init__(self, D, cautious=False, lam=1.0):
        self.s, self.cautious, self.often = np.zeros(D), cautious, np.zeros(D)
        self.peak, self.lam = np.zeros(D), lam

    def take(self, z):
        """The row in the new units, the growth κ, and the features seen for the first time."""
        if self.cautious:
            for i in np.flatnonzero(z):
                known = self.often[i] > 0
                exceeds = known and abs(z[i]) > self.s[i] > 0
                if known:
                    most = (1 + 4 / self.often[i]) * self.s[i]
                    z = np.where(np.arange(len(z)) == i, np.clip(z, -most, most), z)
                self.often[i] += 1
                if exceeds:
                    self.often[i] = max(1.0, self.often[i] / 2)
        before, self.s = self.s, np.maximum(self.s, abs(z))
        self.peak = np.where(z != 0, np.maximum(abs(z), self.lam * self.peak), self.peak)
        self.s = np.where((z != 0) & (self.peak < 0.4 * self.s), self.peak, self.s)
        fresh = (before == 0) & (self.s > 0)
        growth = np.where(before > 0, self.s / np.where(before > 0, before, 1), 1.0)
        return z / self.units, growth, fresh

    @property
    def units(self):
        return np.where(self.s > 0, self.s, 1.0)


def carried(G, growth, epsilon):
    """Row and column i over κ_i, and ε(1 − κ_i⁻²) made up for on the diagonal where a unit grows."""
    return G / np.outer(growth, growth) + epsilon * np.diag(np.maximum(0, 1 - growth**-2))


def softmax_of(margins):
    p = np.exp(margins - margins.max())
    return p / p.sum()


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


class ScaledVector:
    """One weight vector in normalised coordinates; domain and penalty in raw units."""

    def __init__(
        self,
        D,
        d,
        psi,
        structure,
        epsilon,
        update,
        domain,
        radius,
        alpha,
        l1_ratio,
        blocks=(),
        half_life=None,
        inverse=False,
        rank=2,
    ):
        self.sketch = FrequentDirections(D, rank, epsilon) if structure == "sketch" else None
        self.d, self.psi, self.structure, self.epsilon = d, psi, structure, epsilon
        self.blocks = all_blocks(blocks, D)
        self.dual, self.domain, self.radius = update == "dual_averaging", domain, radius
        self.alpha, self.l1_ratio = np.where(np.arange(D) < d, alpha, 0.0), l1_ratio
        self.composite = alpha > 0 and structure not in JOINT
        self.lam, self.floor, self.rounds = forgetting(half_life), epsilon, 0.0
        in_turn = turns(structure, blocks, D) if inverse else ()
        if in_turn and self.lam < 1:  # the prior is not whole in every round
            self.floor = 0.0
        self.memory = Memory(D, epsilon, self.lam, in_turn)
        self.theta, self.x = np.zeros(D), np.zeros(D)
        self.last_touched = np.zeros(D, dtype=int)
        self.predicting = []
        self.H = None  # of the last round that moved, with the common factor and ρ in it

    def psi_of_G(self):
        G = self.memory.G if self.sketch is None else self.sketch.G
        return preconditioner(G, self.psi, self.structure, self.floor, self.blocks)

    def touched(self, z):
        if self.structure != "block":
            return z != 0
        whole = self.domain in ("l2", "l1", "simplex") and self.lam < 1
        return touched_blocks(z, self.blocks) | self.alpha.any() | whole

    def keep_raw_weights(self, growth):
        """Where a unit shrinks, x and the iterates before it keep their raw values."""
        self.x = np.minimum(growth, 1) * self.x
        self.predicting = [np.minimum(growth, 1) * x for x in self.predicting]

    def change_units(self, z, growth, fresh, rho, factor):
        """G to the new units; θ such that x keeps its value, x_1 being 0."""
        self.memory.catch_up(self.touched(z))
        before = self.psi_of_G()
        self.memory.G = carried(self.memory.G, growth, self.epsilon)
        if self.sketch is not None:
            self.sketch.scale(growth)
        changed = (growth != 1) | fresh
        if not self.dual or not changed.any():
            return
        if self.structure == "block":  # each block by itself
            for block in self.blocks:
                if changed[block].any():
                    H = factor * rho * self.psi_of_G()[np.ix_(block, block)]
                    self.theta[block] = -np.linalg.solve(H, self.x[block])
        elif self.structure in JOINT:
            self.theta = -np.linalg.solve(self.psi_of_G(), self.x) / rho
        else:  # of the point before projection and prox
            point = np.minimum(growth, 1) * (before @ self.theta)
            self.theta = np.linalg.solve(self.psi_of_G(), point)

    def step(self, t, z, slope, units, factor, rho, gradient_unit):
        """Steps 2 to 4; ``factor`` is the common one, ``z`` and x in normalised coordinates."""
        g = slope * z
        if self.structure in JOINT:
            g = g + self.alpha * self.x / units**2 / gradient_unit
        touched = self.touched(z)
        self.memory.take(g, touched)
        if self.sketch is not None:
            self.sketch.add(g)
        self.theta = self.lam * self.theta + g
        self.rounds = self.lam * self.rounds + 1
        H = self.psi_of_G()
        self.memory.end_round(touched)
        if slope == 0 and not self.alpha.any() and not (self.dual and self.lam < 1):
            return
        self.H = factor * rho * H
        u = -self.H @ self.theta if self.dual else self.x - self.H @ g
        # The common factor and ρ move every coordinate of −Hθ a little. Coordinates that the row
        # does not touch wait for their turn, except where the whole point is worked out anyway.
        if self.composite:
            u = self.charged(u, t, units, gradient_unit)
        if self.composite or (
            self.dual and self.structure in ("diag", "block") and self.domain in (None, "box", "nonnegative")
        ):
            u = np.where(touched, u, self.x)
        self.last_touched[touched] = t
        self.x = self.projected(u, units)

    def projected(self, u, units):
        return units * project(u / units, self.H / np.outer(units, units), self.domain, self.radius, self.d)

    def charged(self, u, t, units, gradient_unit):
        """The prox in raw units of the rounds not charged yet (all of them, in dual averaging)."""
        rounds = self.rounds if self.dual else t - self.last_touched
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
    rank=2,
    eta=1.0,
    epsilon=1.0,
    half_life=None,
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
    domains, inverse, lam = ((update, domain, radius, alpha, l1_ratio), potential == "ons", forgetting(half_life))
    output = ScaledVector(D, d, psi, structure, epsilon, *domains, blocks, half_life, inverse, rank)
    residuals = Residuals(loss, loss in (*DEGREES, "poisson") and fit_intercept, lam)
    scale, spread, t, total = Scale(D, False, lam), 0.0, 0, 0.0
    for row in np.flatnonzero(omega > 0):
        t += 1
        z, growth, fresh = scale.take(Z[row])
        spread = lam * spread + shares(z, structure, blocks)
        rounds = discounted(np.ones(t), lam).sum()
        factor = 1.0 if structure in ("full", "sketch") else np.sqrt(rounds / spread)
        residuals.meet(y[row])
        output.keep_raw_weights(growth)
        value, slope, _ = residuals.evaluate_loss(z @ output.x, y[row], omega[row])
        total += omega[row] * value
        output.change_units(z, growth, fresh, residuals.rho, factor)
        output.predicting.append(output.x)
        unit = residuals.gradient_unit
        output.step(t, z, omega[row] * slope, scale.units, factor, residuals.rho, unit)
    last = output.last_iterate(t, scale.units, residuals.gradient_unit)
    x = (last if average is False else mean_of(output.predicting, average, lam)) / scale.units
    x[d:] += residuals.offset
    return x, total / omega.sum()
