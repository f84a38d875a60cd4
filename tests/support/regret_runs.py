"""Recorded runs for the tests of the regret bounds: who plays, against what, compared with whom."""

from types import SimpleNamespace

import numpy as np
from reference.algorithm import LOSSES, POTENTIALS, WeightVector

from sklearn_adareg import regret

STRUCTURES = ("full", "diag", "iso")
D = 3
T = 40
RADIUS = 1.5
NO_PARAMETERS = {"huber_delta": 1.35, "quantile": 0.5, "insensitivity": 0.1}


class Shifted:
    """ψ(λ) = 1/(λ + c), a potential that only a user would bring: φ(h) = log h − c h."""

    def __init__(self, c):
        self.c = c

    def __call__(self, eigenvalues):
        return 1 / (eigenvalues + self.c)

    def value(self, h):
        return np.sum(self.c * h - np.log(h))


SHIFTED = Shifted(0.5)
ALL_POTENTIALS = ("adagrad", "pnorm", "ons", SHIFTED)


# --- runs -----------------------------------------------------------------------------------------


def play(
    gradient,
    *,
    dimension,
    potential,
    structure,
    eta=1.0,
    p=2.0,
    epsilon=1.0,
    update="mirror_descent",
    domain=None,
    radius=None,
    rounds=100_000,
):
    """A run against `gradient(t, x_t, H_{t−1})`, which ends the run with None."""
    psi = potential if callable(potential) else POTENTIALS[potential](eta, p)
    output = WeightVector(dimension, dimension, psi, structure, epsilon, update, domain, radius, alpha=0, l1_ratio=0)
    for t in range(rounds):
        g = gradient(t, output.x[-1], output.H[-1] if output.H else output.H0)
        if g is None:
            break
        output.step(np.asarray(g), 1.0)
    return SimpleNamespace(x=np.array(output.x), g=np.array(output.g), H=np.array(output.H), H0=output.H0, G=output.G)


def rows(kind):
    """Features and ±1 targets, norms at most about 2."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(T, D)) / 2
    y = rng.choice([-1.0, 1.0], size=T)
    if kind == "sign flips":
        Z, y = np.tile([1.0, -0.5, 0.25], (T, 1)), np.resize([1.0, -1.0], T)
    elif kind == "sparse bursts":
        burst = np.arange(T) // 10 % D
        Z = np.where((np.arange(D) == burst[:, None]) & (np.arange(T) % 10 < 4)[:, None], Z * 3, 0)
    elif kind == "growing":
        Z *= 1.1 ** (np.arange(T) - T + 1)[:, None]
    return Z, y


KINDS_OF_ROWS = ("random", "sign flips", "sparse bursts", "growing")


def linear_losses(Z, y):
    """Targets so far away that |z·x − y| is linear wherever an iterate can go."""
    return {"Z": Z, "y": 1e3 * y, "loss": "absolute_error"}


def comparators(run, domain):
    """Points of the domain, among them the best for the linearised losses and the last iterate."""
    dimension = run.g.shape[1]
    cloud = np.random.default_rng(5).uniform(-1, 1, size=(20, dimension))
    theta = np.sum(run.g, axis=0)
    if domain == "l2":
        cloud /= np.maximum(1, np.linalg.norm(cloud, axis=1, keepdims=True))
        best = -theta / max(np.linalg.norm(theta), 1e-300)
    elif domain == "l1":
        cloud /= np.maximum(1, np.sum(np.abs(cloud), axis=1, keepdims=True))
        best = np.where(np.arange(dimension) == np.argmax(np.abs(theta)), -np.sign(theta), 0.0)
    else:
        best = -np.sign(theta)
    return [*RADIUS * cloud, RADIUS * best, run.x[0], run.x[-1]]


def measured_regret(run, Z, y, loss, x_star):
    """Σ ℓ(z·x_t, y) − ℓ(z·x*, y), intercept included if x has one."""
    if len(x_star) > Z.shape[1]:
        Z = np.column_stack([Z, np.ones(len(Z))])
    ell = LOSSES[loss]
    return sum(run.losses) - sum(ell(m, target, NO_PARAMETERS)[0] for m, target in zip(Z @ x_star, y, strict=True))


def directions_of(structure):
    """Directions that a structure tells apart, scaled to add one to the eigenvalues they touch."""
    return {
        "full": np.array([[0.6, 0.8], [0.8, -0.6]]),
        "diag": np.ones((1, 2)),
        "iso": np.sqrt(2) * np.array([[0.6, 0.8]]),
    }[structure]


POWERS = [("adagrad", 1.0), ("pnorm", 0.5), ("pnorm", 2.0)]


def power_bound(G_T, diameter, potential, p, **parameters):
    if potential == "adagrad":
        return regret.adagrad_bound(G_T, diameter, **parameters)
    return regret.pnorm_bound(G_T, diameter, p=p, **parameters)


def theorem_1(run, x_star, potential, **parameters):
    return regret.theorem_1(run.x, run.g, run.H, x_star, H0=run.H0, potential=potential, **parameters)
