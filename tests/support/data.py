"""Small streams of rows, and estimators that are Algorithm 1 to the letter, for the tests."""

import numpy as np

from sklearn_adareg import AdaReg, AdaRegClassifier, AdaRegRegressor, SpectralPotential
from sklearn_adareg.model import _registry

POTENTIALS = list(_registry.POTENTIALS)
# of a model with one weight vector; those that couple several have tests of their own
STRUCTURES = [name for name, entry in _registry.STRUCTURES.items() if not entry.couples_outputs]
UPDATES = list(_registry.UPDATES)
RADIUS = 0.4


class FourthRoot(SpectralPotential):
    """A user's potential, its step size inside."""

    operator_antitone = True

    def __init__(self, eta=0.3):
        self.eta = eta

    def psi(self, eigenvalues):
        return self.eta * eigenvalues**-0.25


def rows(seed=0, n=100, d=5, zeros=0.3):
    """Rows with zeros in them, and a score for each of which targets are made."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) >= zeros)
    return X, X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) + 0.3


def target(loss, score):
    """What this loss learns from a score."""
    if loss in _registry.CLASSIFICATION_LOSSES:
        return np.where(score > 0, 1, -1)
    return np.round(np.abs(score)) if _registry.loss(loss).nonnegative_targets else score


def estimator(potential="adagrad", structure="diag", loss="log_loss", **params):
    """One pass in the order given, raw units, numeric step sizes unless given otherwise."""
    cls = AdaRegClassifier if loss in _registry.CLASSIFICATION_LOSSES else AdaRegRegressor
    eta = {"eta": 0.5} if isinstance(potential, str) else {}
    defaults = {
        "epsilon": 0.05,
        "refresh": 0.0,
        "scaling": None,
        "max_iter": 1,
        "shuffle": False,
        "tol": None,
        **blocks_of(structure),
    }
    return cls(potential, structure, loss=loss, **{**defaults, **eta, **params})


def blocks_of(structure):
    """The parameter that only this structure has: pairs of coordinates, or two directions."""
    return {"block": {"blocks": 2}, "sketch": {"rank": 2}}.get(structure, {})


def pairs(d):
    """The same as lists of coordinates, for the reference."""
    return [list(range(i, min(i + 2, d))) for i in range(0, d, 2)]


def core(dimension, potential, structure, **params):
    """The core, with blocks where the structure has any."""
    return AdaReg(dimension, potential, structure, **{**blocks_of(structure), **params})


def learn(model, X, y, sample_weight=None):
    """partial_fit, with the classes where there are any."""
    classes = {"classes": [-1, 1]} if isinstance(model, AdaRegClassifier) else {}
    return model.partial_fit(X, y, sample_weight=sample_weight, **classes)


def weights_of(model):
    """(coef, intercept) in one vector."""
    return np.append(np.ravel(model.coef_), model.intercept_ if model.fit_intercept else [])
