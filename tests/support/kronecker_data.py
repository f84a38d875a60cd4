"""Streams of several classes or targets, and estimators of structure "kronecker", for the tests."""

import numpy as np
from scipy import sparse

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry, _runtime

K = 3
CLASSIFICATION = [*_registry.CLASSIFICATION_LOSSES, "softmax"]
REGRESSION = list(_registry.REGRESSION_LOSSES)
PROBLEMS = [*(name for name in CLASSIFICATION if name != "log_loss"), *REGRESSION]
CONTAINERS = [np.asarray, sparse.csr_array]


def stream(problem="softmax", n=60, d=4, seed=0):
    """Columns with zeros, one that grows, one first seen late; classes or targets; weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) > 0.3) * [1.0, 3.0, 0.3, 5.0][:d]
    X[n // 2 :, 0] *= 4
    X[: n // 3, d - 1] = 0
    scores = X @ rng.normal(size=(d, K)) / 3 + 0.5 * rng.normal(size=(n, K))
    weights = rng.integers(0, 4, size=n) / 2.0
    if problem in CLASSIFICATION:
        return X, scores.argmax(axis=1), weights
    counts = _registry.loss(problem).nonnegative_targets
    return X, np.round(np.exp(np.minimum(scores, 2))) if counts else scores, weights


def estimator(problem="softmax", potential="adagrad", **params):
    cls = AdaRegClassifier if problem in CLASSIFICATION else AdaRegRegressor
    defaults = {"eta": 0.3, "epsilon": 0.05, "refresh": 0.0, "scaling": None, "max_iter": 1}
    defaults |= {"shuffle": False, "tol": None}
    loss = "log_loss" if problem == "softmax" else problem
    return cls(potential, "kronecker", loss=loss, **{**defaults, **params})


def learn(model, X, y, weights=None):
    classes = {"classes": np.arange(K)} if isinstance(model, AdaRegClassifier) else {}
    return model.partial_fit(X, y, sample_weight=weights, **classes)


def weights_of(model):
    if not model.fit_intercept:
        return model.coef_
    return np.column_stack([model.coef_, model.intercept_])


def structure_of(model):
    [block] = model._state.blocks
    return _runtime.method_of(block).structure
