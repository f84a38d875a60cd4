"""From margins, (rows, n_outputs), to probabilities of the classes, (rows, classes), for the losses that have them."""

import math

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

BOTH_WAYS = np.array([-1.0, 1.0])
FARTHEST = np.finfo(np.float64).max / 4


def logistic(margins):
    """Logistic for two classes, softmax for more."""
    if margins.size == 1:  # without NumPy's machinery
        margin = margins.item()
        rare = math.exp(-abs(margin))
        likely, rare = 1.0 / (1.0 + rare), rare / (1.0 + rare)
        return np.array([[rare, likely] if margin > 0 else [likely, rare]])
    if margins.shape[1] > 1:
        return softmax(_apart(margins), axis=1)
    return expit(margins * BOTH_WAYS)


def log_logistic(margins):
    """Logarithms of ``logistic``, exact where the probabilities round to 0 or 1."""
    if margins.shape[1] > 1:
        return log_softmax(_apart(margins), axis=1)
    return log_expit(margins * BOTH_WAYS)


def clipped(margins):
    """Margins clipped to [−1, 1] and moved to [0, 1], as in SGDClassifier for the modified Huber loss."""
    odds = (np.clip(margins, -1, 1) + 1) / 2
    if odds.shape[1] == 1:
        return np.column_stack([1 - odds[:, 0], odds[:, 0]])
    total = odds.sum(axis=1, keepdims=True)
    return np.where(total > 0, odds / np.where(total > 0, total, 1), 1 / odds.shape[1])


def log_clipped(margins):
    """Logarithms of ``clipped``; −inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log(clipped(margins))


def _apart(margins):
    """Margins whose differences can be represented."""
    return np.clip(margins, -FARTHEST, FARTHEST)
