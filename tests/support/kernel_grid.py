"""Rows, targets and estimators of the grids that compare kernels with the slow reference."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

POTENTIALS = list(_registry.POTENTIALS)
LOSSES = [*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES]
OF_STRUCTURE = {"block": {"blocks": [[0, 2], [1, 3]]}, "sketch": {"rank": 2}}


def rows(seed, n=40, d=4, zeros=0.4):
    """Rows with zeros in them, a score for targets of either kind, and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) * (rng.random((n, d)) > zeros)
    score = Z @ rng.normal(size=d) + 0.5 * rng.normal(size=n) + 0.3
    weight = rng.integers(0, 4, size=n) / 2.0
    return Z, score, weight


def rows_in_many_units(seed=0, n=60):
    """Columns with zeros, one that grows, one never zero, one first seen late; and weights."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4)) * [1.0, 3.0, 0.3, 5.0]
    Z[:, [0, 1, 3]] *= rng.random((n, 3)) < 0.6
    Z[n // 2 :, 0] *= 8
    Z[:, 2] += 3
    Z[: n // 3, 3] = 0
    score = (Z - [0, 0, 3, 0]) / [8, 3, 0.3, 5] @ rng.normal(size=4) + 0.5 * rng.normal(size=n) + 0.3
    weight = rng.integers(0, 4, size=n) / 2.0
    return Z, score, weight


def target(loss, score):
    if loss == "softmax":
        return np.digitize(score, [-0.5, 0.7])
    if loss in _registry.CLASSIFICATION_LOSSES:
        return np.where(score > 0, 1.0, -1.0)
    return np.round(np.abs(score)) if _registry.loss(loss).nonnegative_targets else score


def estimator(loss, **params):
    cls = AdaRegRegressor if loss in _registry.REGRESSION_LOSSES else AdaRegClassifier
    loss = "log_loss" if loss == "softmax" else loss
    return cls(loss=loss, max_iter=1, shuffle=False, tol=None, **{"refresh": 0.0, **params})


def assert_equals(expected, expected_loss, make, Z, y, weight):
    """Weights, mean loss of the rounds and their number, dense and sparse."""
    expected = np.atleast_2d(expected)
    for X in (Z,) if sparse.issparse(Z) else (Z, sparse.csr_array(Z)):
        model = make().fit(X, y, sample_weight=weight)
        weights = np.atleast_2d(model.coef_)
        if model.fit_intercept:
            weights = np.column_stack([weights, model.intercept_])
        np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))
        assert model.loss_curve_ == [pytest.approx(expected_loss, rel=1e-9)]
        assert model.t_ == (len(y) if weight is None else np.count_nonzero(weight))
