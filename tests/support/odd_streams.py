"""Short streams whose scale is not settled: an outlier beside a new feature, columns that grow or are rare, powers of time.

A poor model of a few rows is no finding; an absurd one is: beyond 10 nats a row and 2 more than a batch model of the same rows,
beyond 30 times the variance of targets, or predictions that are not the linear model on rows within the ranges read so far.
"""

import itertools

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

KINDS = ("tails", "jumps", "rare", "time")
OUTLIERS = tuple(itertools.product((2, 3, 5, 10, 20, 40), (30, 300, 3e3, 3e5, 1e9), (1, 3)))


def log_loss(model, X, y):
    own = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(own, 1e-300)).mean())


def batch_log_loss(X, y, X_test, y_test):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return log_loss(model.fit(X, y), X_test, y_test)


def is_linear(model, X, read):
    """Whether margins of rows within the ranges of those that were read are X·coef + intercept."""
    low, high = read.min(axis=0), read.max(axis=0)
    inside = X[((low <= X) & (high >= X)).all(axis=1)][:50]
    if not len(inside):
        return True
    expected = inside @ np.atleast_2d(model.coef_).T + model.intercept_
    found = getattr(model, "decision_function", model.predict)(inside).reshape(len(inside), -1)
    return np.allclose(found, expected, rtol=1e-6, atol=1e-8 * (1 + abs(expected).max()))


def is_sane_beside_an_outlier(task, row, size, new, seed=0, n=300):
    """An outlier in one feature, in the very row that introduces others."""
    rng = np.random.default_rng(seed)
    late = np.zeros((n, new))
    late[row], late[row + 1 :] = 1, rng.random((n - row - 1, new)) < 0.5
    heavy = rng.integers(1, 3, n).astype(float)
    heavy[row] = size
    X = np.c_[rng.standard_normal((n, 3)), heavy, late]
    score, read = X[:, :3] @ [1, -1, 0.5], slice(None, 50)
    rest = slice(50, None)
    if task == "regression":
        y = score + 0.3 * rng.standard_normal(n)
        model = AdaRegRegressor().partial_fit(X[read], y[read])
        error = np.mean((model.predict(X[rest]) - y[rest]) ** 2)
        return error <= 30 * np.var(y[rest]) and is_linear(model, X[rest], X[read])
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    y[row], y[:row] = 1, 0
    model = AdaRegClassifier()
    margins = model.partial_fit_predict(X[read], y[read], classes=[0, 1], method="decision_function")
    progressive = np.logaddexp(0, -(2 * y[read] - 1) * margins).max()
    allowed = batch_log_loss(X[read], y[read], X[rest], y[rest]) + 2
    lost = log_loss(model, X[rest], y[rest])
    return lost <= allowed and progressive <= 50 and is_linear(model, X[rest], X[read])


def growing_rows(kind, rng, n=300, d=8):
    if kind == "tails":
        return np.floor(np.exp(3 * rng.standard_normal((n, d))))
    if kind == "jumps":
        return rng.standard_normal((n, d)) * 10.0 ** rng.integers(0, 6, (n, d))
    if kind == "rare":
        return (rng.random((n, d)) < 0.03) * np.exp(2 * rng.standard_normal((n, d)))
    time = np.arange(1.0, n + 1)[:, None] ** (1 + np.arange(d) % 3)
    return time * (1 + 0.1 * rng.random((n, d)))


def is_sane_while_columns_grow(classes, kind, seed):
    """Columns whose scale is not settled, and labels or targets that they say nothing about; 0 classes: numbers."""
    rng = np.random.default_rng(seed)
    X = growing_rows(kind, rng)
    if not classes:
        y = rng.standard_normal(len(X))
        model = AdaRegRegressor().partial_fit(X[:200], y[:200])
        return np.median((model.predict(X[200:]) - y[200:]) ** 2) <= 30
    y, model, worst = rng.integers(0, classes, len(X)), AdaRegClassifier(), 0.0
    if batch_log_loss(X[:200], y[:200], X[200:], y[200:]) > 2:
        return True
    for i in range(0, 200, 20):
        model.partial_fit(X[i : i + 20], y[i : i + 20], classes=np.unique(y))
        worst = max(worst, log_loss(model, X[i + 20 : i + 40], y[i + 20 : i + 40]))
    return worst <= 10
