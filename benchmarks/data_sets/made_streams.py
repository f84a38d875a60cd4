"""Streams whose rule changes on the way: river's generators, and two made here. Labels as in ``folder``."""

from itertools import islice

import numpy as np
from scipy.special import expit

ROWS = 10_000


def _river_rows(generator, rows):
    """Rows and labels of one of river's streams."""
    X, y = [], []
    for row, label in islice(generator, rows):
        X.append([float(value) for value in row.values()])
        y.append(label)
    return np.array(X), np.array(y)


def _binary(generator, rows):
    X, y = _river_rows(generator, rows)
    return X, np.where(y.astype(bool), 1.0, -1.0)


def _drifting(make, concepts, rows, seed, width):
    """Concepts one after the other; each turns into the next over about ``width`` rows, in which both come."""
    rng = np.random.default_rng(seed)
    made = [iter(make(concept)) for concept in concepts]
    changes = np.arange(1, len(concepts)) * rows / len(concepts)
    turned = expit(4.0 * (np.arange(rows)[:, None] - changes) / width)
    for which in (rng.random((rows, 1)) < turned).sum(axis=1):
        yield next(made[which])


def sea(rows, seed, width):
    """Three features of which two matter, by thresholds that change three times; a tenth of the labels is wrong."""
    from river.datasets import synth

    def make(variant):
        return synth.SEA(variant=variant, noise=0.1, seed=seed)

    return _binary(_drifting(make, (0, 1, 2, 3), rows, seed, width), rows)


def hyperplane(rows, seed):
    """Ten features whose weights move all the time."""
    from river.datasets import synth

    made = synth.Hyperplane(seed=seed, n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05)
    return _binary(made, rows)


def agrawal(rows, seed):
    """Nine features of people who ask for a loan, in units from years to dollars, by rules that change three times."""
    from river.datasets import synth

    def make(function):
        return synth.Agrawal(classification_function=function, seed=seed, perturbation=0.05)

    return _binary(_drifting(make, (0, 2, 6, 8), rows, seed, 1), rows)


def led(rows, seed):
    """The digits of a display of seven segments, a tenth of them wrong, among 17 features of noise; four change places."""
    from river.datasets import synth

    def make(n_drift):
        return synth.LEDDrift(seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=n_drift)

    X, y = _river_rows(_drifting(make, (0, 4), rows, seed, 1), rows)
    return X, y.astype(float)


def swinging(rows, seed):
    """Two clouds of points whose frequencies swing between 5 and 95 % with a period of 2,000 rows."""
    rng = np.random.default_rng(seed)
    often = 0.5 + 0.45 * np.sin(2 * np.pi * np.arange(rows) / 2000)
    y = np.where(rng.random(rows) < often, 1.0, -1.0)
    return rng.normal(size=(rows, 5)) + 0.5 * y[:, None], y


def flipped(rows, seed):
    """A logistic model of eight features, in eight units, whose weights change sign in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 8))
    score = 2.0 * X @ rng.normal(size=8) * np.where(np.arange(rows) < rows / 2, 1.0, -1.0)
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
    return X * 10.0 ** np.arange(-4.0, 4.0), y


def turned(rows, seed):
    """A logistic model of twelve features, in units from 10⁻³ to 10³, whose weights change sign in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 12)) * 10.0 ** rng.integers(-3, 4, 12)
    score = 3.0 * X @ (rng.standard_normal(12) / X.std(axis=0)) * np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    return X, np.where(rng.random(rows) < expit(score), 1.0, -1.0)


def seasonal(rows, seed):
    """The same features with weights that stay, and an intercept that swings four times."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 12)) * 10.0 ** rng.integers(-3, 4, 12)
    score = 1.5 * X @ (rng.standard_normal(12) / X.std(axis=0)) + 3.0 * np.sin(8 * np.pi * np.arange(rows) / rows)
    return X, np.where(rng.random(rows) < expit(score), 1.0, -1.0)


MADE = {
    "SEA, abrupt": ("binary", lambda rows, seed: sea(rows, seed, 1)),
    "SEA, gradual": ("binary", lambda rows, seed: sea(rows, seed, rows // 8)),
    "hyperplane": ("binary", hyperplane),
    "Agrawal": ("binary", agrawal),
    "LED": ("multi", led),
    "swinging classes": ("binary", swinging),
    "weights flipped": ("binary", flipped),
    "weights turned": ("binary", turned),
    "seasonal intercept": ("binary", seasonal),
}
NEED_RIVER = ("SEA, abrupt", "SEA, gradual", "hyperplane", "Agrawal", "LED")
