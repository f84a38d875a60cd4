"""Algorithm 1 of Gupta, Koren & Singer in slow NumPy, with the paper's letters.

The yardstick for the compiled kernels, so it imports nothing of the package and follows the
definitions rather than any short cut: G_t and H_t are whole matrices whatever the structure, ψ acts
on the eigenvalues of an eigendecomposition, every iterate is stored, and the average is a sum over
them. Projections onto domains are in `domains.py`.

The vector is x = (coef, intercept): the intercept comes last, its feature is 1, and neither domain
nor penalty concerns it. One `Weight vector` is one weight vector; a row is read by `adareg`, which turns
margins into slopes and hands each weight vector its own.
"""

from dataclasses import dataclass

import numpy as np

from reference.domains import project
from reference.half_life import Memory, discounted, forgetting

# --- losses: (margin m, target y, parameters) -> (loss, slope in m) -------------------------------


def log_loss(m, y, parameters):
    return np.logaddexp(0.0, -y * m), -y * np.exp(-np.logaddexp(0.0, y * m))


def hinge(m, y, parameters):
    return (1 - y * m, -y) if y * m < 1 else (0.0, 0.0)


def squared_hinge(m, y, parameters):
    return ((1 - y * m) ** 2, -2 * y * (1 - y * m)) if y * m < 1 else (0.0, 0.0)


def modified_huber(m, y, parameters):
    if y * m < -1:
        return -4 * y * m, -4 * y
    return squared_hinge(m, y, parameters)


def perceptron(m, y, parameters):
    # Slope −y at margin 0: with 0 there, x_1 = 0 would never move.
    return (-y * m, -y) if y * m <= 0 else (0.0, 0.0)


def squared_error(m, y, parameters):
    return (m - y) ** 2 / 2, m - y


def huber(m, y, parameters):
    r, delta = m - y, parameters["huber_delta"]
    if abs(r) <= delta:
        return r**2 / 2, r
    return delta * abs(r) - delta**2 / 2, delta * np.sign(r)


def absolute_error(m, y, parameters):
    return abs(m - y), np.sign(m - y)


def quantile(m, y, parameters):
    r, q = y - m, parameters["quantile"]
    if r == 0:
        return 0.0, 0.0
    return (q * r, -q) if r > 0 else ((q - 1) * r, 1 - q)


def epsilon_insensitive(m, y, parameters):
    r, beyond = m - y, abs(m - y) - parameters["insensitivity"]
    return (beyond, np.sign(r)) if beyond > 0 else (0.0, 0.0)


def squared_epsilon_insensitive(m, y, parameters):
    r, beyond = m - y, abs(m - y) - parameters["insensitivity"]
    return (beyond**2, 2 * beyond * np.sign(r)) if beyond > 0 else (0.0, 0.0)


def poisson(m, y, parameters):
    return np.exp(m) - y * m, np.exp(m) - y


CLASSIFIER_LOSSES = {f.__name__: f for f in (log_loss, hinge, squared_hinge, modified_huber, perceptron)}
REGRESSOR_LOSSES = {
    f.__name__: f
    for f in (squared_error, huber, absolute_error, quantile, epsilon_insensitive, squared_epsilon_insensitive, poisson)
}
LOSSES = CLASSIFIER_LOSSES | REGRESSOR_LOSSES

# --- step 3: H = ψ(P_S G) -------------------------------------------------------------------------

POTENTIALS = {
    "adagrad": lambda eta, p: lambda lam: eta * lam ** (-1 / 2),
    "pnorm": lambda eta, p: lambda lam: eta * lam ** (-1 / (p + 1)),
    "ons": lambda eta, p: lambda lam: eta / lam,
}


def keep_blocks(G, blocks):
    """G inside the blocks, lists of coordinates, and zero outside; a coordinate in none is alone."""
    kept = np.diag(np.diag(G))
    for block in blocks:
        kept[np.ix_(block, block)] = G[np.ix_(block, block)]
    return kept


STRUCTURES = {
    "full": lambda G: G,
    "diag": lambda G: np.diag(np.diag(G)),
    "iso": lambda G: np.trace(G) / len(G) * np.eye(len(G)),
}


class FrequentDirections:
    """G as (ε + escaped)I + BᵀB with at most 2·rank rows, and nothing escaping while rank ≥ D."""

    def __init__(self, D, rank, epsilon):
        self.rank, self.epsilon, self.escaped = min(rank, D), epsilon, 0.0
        self.B = np.zeros((0, D))

    def add(self, g):
        """One more row; with all rows in use, B is shrunk to ``rank`` rows first."""
        if not g.any():
            return
        if len(self.B) == 2 * self.rank:
            lam, V = np.linalg.eigh(self.B.T @ self.B)
            lam, V = np.maximum(lam[::-1], 0.0), V[:, ::-1]
            removed = lam[self.rank] if self.rank < len(lam) else 0.0
            kept = np.maximum(lam[: self.rank] - removed, 0.0)
            self.B = np.sqrt(kept)[:, None] * V[:, : self.rank].T
            self.escaped += removed
        self.B = np.vstack([self.B, g])

    def scale(self, growth):
        """Coordinate i in a unit larger by growth_i; ε and what has escaped are made up for."""
        self.B = self.B / growth

    @property
    def G(self):
        return (self.epsilon + self.escaped) * np.eye(self.B.shape[1]) + self.B.T @ self.B


# whose H mixes coordinates; an L2 penalty is part of the gradient there
JOINT = ("full", "block", "sketch")


def touched_blocks(z, blocks):
    """Which coordinates are in a block with a value in z; a coordinate in none is alone."""
    touched = z != 0
    for block in blocks:
        touched[block] = (z[block] != 0).any()
    return touched


def turns(structure, blocks, D):
    """The matrices of more than one coordinate whose inverse is kept by rank-one updates."""
    return {"full": [range(D)], "block": [b for b in blocks if len(b) > 1]}.get(structure, ())


def preconditioner(G, psi, structure, epsilon, blocks=()):
    """H = ψ(P_S G), where a sketch is its own G; no eigenvalue is below ε, rounding notwithstanding."""
    projected = keep_blocks(G, blocks) if structure == "block" else G
    if structure in STRUCTURES:
        projected = STRUCTURES[structure](G)
    lam, V = np.linalg.eigh(projected)
    H = (V * psi(np.maximum(lam, epsilon))) @ V.T
    return (H + H.T) / 2


# --- the penalty R(x) = α((1−ρ)/2 ‖coef‖² + ρ‖coef‖₁) ---------------------------------------------


def prox(u, h, alpha, l1_ratio):
    """argmin_x R(x) + (x − u)²/(2h), coordinate by coordinate; arguments broadcast."""
    soft = np.sign(u) * np.maximum(np.abs(u) - h * alpha * l1_ratio, 0)
    return soft / (1 + h * alpha * (1 - l1_ratio))


# --- the algorithm --------------------------------------------------------------------------------


class WeightVector:
    """One weight vector: its G, its iterates, and steps 2 to 4 of a round."""

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
        self.blocks = blocks
        self.update, self.domain, self.radius = update, domain, radius
        self.alpha, self.l1_ratio = alpha, l1_ratio
        self.penalised = np.arange(D) < d
        self.lam, self.floor = forgetting(half_life), epsilon
        in_turn = turns(structure, blocks, D) if inverse else ()
        if in_turn and self.lam < 1:  # the prior is not whole in every round
            self.floor = 0.0
        self.memory = Memory(D, epsilon, self.lam, in_turn)
        self.theta, self.rounds = np.zeros(D), 0.0
        self.last_touched = np.zeros(D, dtype=int)
        x_1 = np.zeros(D)
        if domain == "simplex":
            x_1[:d] = radius / d
        self.x, self.g, self.H = [x_1], [], []
        self.H0 = self.preconditioner()

    @property
    def G(self):
        return self.memory.G

    def preconditioner(self):
        G = self.G if self.sketch is None else self.sketch.G
        return preconditioner(G, self.psi, self.structure, self.floor, self.blocks)

    def step(self, z, slope):
        """Steps 2 to 4, for the row z and the weighted slope of its loss at z·x_t."""
        t, x_t = len(self.x), self.x[-1]
        g = slope * z
        if self.structure in JOINT:
            g = g + self.alpha * np.where(self.penalised, x_t, 0.0)
        touched = self.touched(z)
        self.memory.take(g, touched)
        if self.sketch is not None:
            self.sketch.add(g)
        self.theta = self.lam * self.theta + g
        self.rounds = self.lam * self.rounds + 1
        H = self.preconditioner()
        self.memory.end_round(touched)
        u = x_t - H @ g if self.update == "mirror_descent" else self.x[0] - H @ self.theta
        if self.composite:
            u = np.where(touched, self.charged(u, H, t), x_t)
            self.last_touched[touched] = t
        elif self.stands_still:
            u = np.where(touched, u, x_t)
        self.x.append(project(u, H, self.domain, self.radius, self.d))
        self.g.append(g)
        self.H.append(H)

    def touched(self, z):
        """The coordinates that a round is about, where a structure has rounds about some of them."""
        if self.structure != "block":
            return z != 0
        whole = self.domain in ("l2", "l1", "simplex")
        return touched_blocks(z, self.blocks) | (self.alpha > 0) | whole

    @property
    def stands_still(self):
        """Whether a coordinate that is not touched waits with forgetting too, in dual averaging."""
        alone = self.structure in ("diag", "block") and self.domain in (None, "box", "nonnegative")
        return self.lam < 1 and self.update == "dual_averaging" and alone

    @property
    def composite(self):
        return self.alpha > 0 and self.structure not in JOINT

    def charged(self, u, H, t):
        """u after the prox of all rounds not yet charged (mirror descent) or of all t (dual)."""
        rounds = t - self.last_touched if self.update == "mirror_descent" else self.rounds
        alpha = np.where(self.penalised, self.alpha, 0.0)
        return prox(u, np.diag(H), alpha * rounds, self.l1_ratio)

    def last_iterate(self):
        """x_{T+1}, with the penalty charged of the rounds a coordinate has sat out."""
        if not (self.composite and self.H):
            return self.x[-1].copy()
        H, T = self.H[-1], len(self.H)
        u = self.x[-1] if self.update == "mirror_descent" else self.x[0] - H @ self.theta
        return project(self.charged(u, H, T), H, self.domain, self.radius, self.d)


@dataclass
class Run:
    """x_1 … x_{T+1} (T+1, D), g_t (T, D), H_t, ℓ(z·x_t, y) unweighted (T,), G_T, H_0, models."""

    x: np.ndarray
    g: np.ndarray
    H: list
    losses: np.ndarray
    G: np.ndarray
    H0: np.ndarray
    x_last: np.ndarray
    x_mean: np.ndarray
    d: int
    average: bool | float

    @property
    def published(self):
        return self.x_last if self.average is False else self.x_mean

    @property
    def coef(self):
        return self.published[: self.d]

    @property
    def intercept(self):
        return float(self.published[self.d]) if len(self.published) > self.d else 0.0


def mean_iterate(x, average, lam=1.0):
    """Σ c_t x_t / Σ c_t over x_1 … x_T, the iterates that predicted; c_t = t^γ λ^(T−t)."""
    T = len(x) - 1
    if T == 0:
        return x[0].copy()
    c = np.arange(1, T + 1) ** float(0.0 if isinstance(average, bool) else average)
    c = discounted(c, lam)
    return sum(c_t * x_t for c_t, x_t in zip(c, x, strict=False)) / sum(c)


def adareg(
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
    huber_delta=1.35,
    quantile=0.5,
    insensitivity=0.1,
):
    """One pass over the rows in their order; a callable `potential` is ψ itself, η inside."""
    if update not in ("mirror_descent", "dual_averaging"):
        raise ValueError(f"unknown update {update!r}")
    if alpha > 0 and domain in ("l2", "l1", "simplex"):
        raise ValueError(f"a penalty with the {domain} domain: prox then project is no argmin")
    if alpha > 0 and l1_ratio > 0 and structure in JOINT:
        raise ValueError("an L1 penalty has no closed-form prox in a full norm")
    Z, y = np.asarray(Z, dtype=float), np.asarray(y, dtype=float)
    d = Z.shape[1]
    if fit_intercept:
        Z = np.column_stack([Z, np.ones(len(Z))])
    omega = np.ones(len(Z)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    psi = potential if callable(potential) else POTENTIALS[potential](eta, p)
    parameters = {"huber_delta": huber_delta, "quantile": quantile, "insensitivity": insensitivity}
    D = Z.shape[1]
    domains = (update, domain, radius, alpha, l1_ratio)
    inverse = potential == "ons"
    output = WeightVector(D, d, psi, structure, epsilon, *domains, blocks, half_life, inverse, rank)
    losses = []
    for t in np.flatnonzero(omega > 0):
        ell, slope = LOSSES[loss](Z[t] @ output.x[-1], y[t], parameters)
        losses.append(ell)
        output.step(Z[t], omega[t] * slope)
    x = np.array(output.x)
    return Run(
        x=x,
        g=np.array(output.g).reshape(-1, D),
        H=output.H,
        losses=np.array(losses),
        G=output.G,
        H0=output.H0,
        x_last=output.last_iterate(),
        x_mean=mean_iterate(x, average, output.lam),
        d=d,
        average=average,
    )
