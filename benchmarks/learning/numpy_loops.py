"""Full-matrix rounds as one would write them in NumPy: the peers of the compiled ones.

Both return what they learnt, so that anyone can see that like is compared with like.
"""

import numpy as np


def _with_intercept(X):
    return np.column_stack([X, np.ones(len(X))])


def _log_loss(margin, y):
    """Loss and slope of log(1 + exp(-y·margin))."""
    return np.logaddexp(0.0, -y * margin), -y / (1.0 + np.exp(y * margin))


def full_adagrad(X, y, eta=1.0, epsilon=1.0):
    """H = η G^(-1/2) from an eigendecomposition a round; progressive loss and average iterate."""
    Z = _with_intercept(X)
    D = Z.shape[1]
    x, average, G, total = np.zeros(D), np.zeros(D), epsilon * np.eye(D), 0.0
    for t, (z, label) in enumerate(zip(Z, y, strict=True), start=1):
        loss, slope = _log_loss(z @ x, label)
        total += loss
        average += (x - average) / t
        g = slope * z
        G += np.outer(g, g)
        values, vectors = np.linalg.eigh(G)
        x -= vectors @ ((vectors.T @ g) * (eta / np.sqrt(values)))
    return total / len(y), average


def full_ons(X, y, eta=1.0, epsilon=1.0):
    """H = η G⁻¹ by Sherman and Morrison's formula; progressive loss and average iterate."""
    Z = _with_intercept(X)
    D = Z.shape[1]
    x, average, inverse, total = np.zeros(D), np.zeros(D), np.eye(D) / epsilon, 0.0
    change = np.empty((D, D))
    for t, (z, label) in enumerate(zip(Z, y, strict=True), start=1):
        loss, slope = _log_loss(z @ x, label)
        total += loss
        average += (x - average) / t
        g = slope * z
        u = inverse @ g
        growth = 1.0 + g @ u
        np.multiply.outer(u, u / growth, out=change)
        inverse -= change
        x -= (eta / growth) * u
    return total / len(y), average
