"""Shampoo (Gupta, Koren & Singer 2018) for a linear model, in slow NumPy with the papers' letters.

Like `algorithm.py`, whose losses it takes, this imports nothing of the package. The parameter is a
matrix X (K, D), one row per class or target; the step uses H = η L^(−a/2) ⊗ R^(−a/2) as one matrix
over the K·D numbers of X.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from reference.algorithm import LOSSES, mean_iterate
from reference.scaling import PARAMETERS, Residuals, Scale, carried, with_intercept

EXPONENTS = {"adagrad": lambda p: 1 / 2, "ons": lambda p: 1.0, "pnorm": lambda p: 1 / (p + 1)}


def power(A, exponent, epsilon):
    """A^exponent; no eigenvalue of εI + … is below ε, rounding notwithstanding."""
    lam, V = np.linalg.eigh(A)
    return (V * np.maximum(lam, epsilon) ** exponent) @ V.T


class Softmax:
    """The loss of K classes; it has no unit."""

    rho = gradient_unit = 1.0
    offset = 0.0

    def __init__(self, K):
        self.K = K

    def evaluate_loss(self, m, y, omega):
        slopes = softmax(m) - np.eye(self.K)[int(y)]
        return logsumexp(m) - m[int(y)], slopes


class OneVsRest:
    """A margin loss of each class against all others."""

    rho = gradient_unit = 1.0
    offset = 0.0

    def __init__(self, K, loss):
        self.K, self.loss = K, LOSSES[loss]

    def evaluate_loss(self, m, y, omega):
        signs = 2 * np.eye(self.K)[int(y)] - 1
        pairs = [self.loss(m[k], signs[k], PARAMETERS) for k in range(self.K)]
        return sum(value for value, _ in pairs), np.array([slope for _, slope in pairs])


class Targets:
    """One regression loss for each of K targets, in units of its own under online scaling."""

    def __init__(self, K, loss, scaled, shifted):
        self.loss = LOSSES[loss]
        self.own = [Residuals(loss, shifted) for _ in range(K)] if scaled else None

    def evaluate_loss(self, m, y, omega):
        if self.own is None:
            pairs = [self.loss(a, b, PARAMETERS) for a, b in zip(m, y, strict=True)]
        else:
            for residuals, target in zip(self.own, y, strict=True):
                residuals.meet(target)
            pairs = [r.evaluate_loss(a, b, omega)[:2] for r, a, b in zip(self.own, m, y, strict=True)]
        return sum(value for value, _ in pairs), np.array([slope for _, slope in pairs])

    @property
    def rho(self):
        return np.array([[r.rho] for r in self.own]) if self.own else 1.0

    @property
    def gradient_unit(self):
        return np.array([[r.gradient_unit] for r in self.own]) if self.own else 1.0

    @property
    def offset(self):
        return np.array([r.offset for r in self.own]) if self.own else 0.0


@dataclass
class KroneckerRun:
    """X_1 … X_{T+1} (T+1, K, D), gradients (T, K, D), the factors, the model and its mean loss."""

    X: np.ndarray
    g: np.ndarray
    L: np.ndarray
    R: np.ndarray
    published: np.ndarray
    loss: float


def kronecker(
    Z,
    y,
    *,
    loss,
    K,
    potential="adagrad",
    eta=0.5,
    epsilon=0.05,
    p=2.0,
    alpha=0.0,
    average=True,
    fit_intercept=True,
    scaling=None,
    sample_weight=None,
    weights_as_rows=False,
):
    """One pass; `loss` is "softmax", or a name of algorithm.LOSSES for each class or target."""
    d = np.shape(Z)[1]
    Z = with_intercept(Z, fit_intercept)
    D, a = Z.shape[1], EXPONENTS[potential](p)
    omega = np.ones(len(Z)) if sample_weight is None else sample_weight
    if loss == "softmax":
        objective = Softmax(K)
    elif np.ndim(y) == 1:
        objective = OneVsRest(K, loss)
    else:
        objective = Targets(K, loss, scaling == "online", scaling == "online" and fit_intercept)
    X, G = [np.zeros((K, D))], []
    L, R = epsilon * np.eye(K), epsilon * np.eye(D)
    scale, total = Scale(D), 0.0
    penalised = np.arange(D) < d
    for t in np.flatnonzero(omega > 0):
        z, units = Z[t], np.ones(D)
        if scaling == "online":
            z, growth, _ = scale.take(z)
            units = scale.units
            R = carried(R, growth, epsilon)  # L sums over the coordinates and stays
        value, s = objective.evaluate_loss(X[-1] @ z, y[t], omega[t])
        total += omega[t] * value
        g = omega[t] * np.outer(s, z)
        g = g + alpha * penalised * X[-1] / units**2 / objective.gradient_unit
        entering = g / np.sqrt(omega[t]) if weights_as_rows else g
        L, R = L + entering @ entering.T, R + entering.T @ entering
        H = eta * np.kron(power(L, -a / 2, epsilon), power(R, -a / 2, epsilon))
        X.append(X[-1] - objective.rho * (H @ g.ravel()).reshape(K, D))
        G.append(g)
    published = X[-1] if average is False else mean_iterate(X, average)
    published = published / (scale.units if scaling == "online" else 1.0)
    published[:, d:] += np.reshape(objective.offset * np.ones(K), (K, 1))[:, : D - d]
    return KroneckerRun(np.array(X), np.array(G), L, R, published, total / omega.sum())
