"""Losses of arrays of margins, and the quadratic that a row leaves behind at its margin: value, slope g and curvature h.

h is ℓ'' where that is neither 0 nor too short-sighted; of a kink it is that of the parabola which touches the loss at the
residual, or
at ``NEAR`` scales of the residuals from 0. Parameters of a loss are in units of the scale of residuals.
"""

import numpy as np

NEAR, NEAR_THE_HINGE = 1.5, 0.25
DELTA, LEVEL, WIDTH = 1.35, 0.5, 0.1  # huber_delta, quantile, insensitivity


def log_loss(m, y, scale):
    p = np.exp(-np.logaddexp(0, y * m))
    return np.logaddexp(0, -y * m), -y * p, p * (1 - p)


def hinge(m, y, scale):
    gap = 1 - y * m
    return (np.maximum(gap, 0), np.where(gap > 0, -y, 0.0), 0.5 / np.maximum(abs(gap), NEAR_THE_HINGE))


def squared_hinge(m, y, scale):
    gap = np.maximum(1 - y * m, 0)
    return gap**2, -2 * y * gap, 2.0 * (gap > 0)


def modified_huber(m, y, scale):
    value, g, _ = squared_hinge(m, y, scale)
    far = y * m < -1
    value, g = np.where(far, -4 * y * m, value), np.where(far, -4 * y, g)
    return value, g, np.where(abs(y * m) < 1, 2.0, abs(g) / np.maximum(abs(1 - y * m), 2))


def squared_error(m, y, scale):
    return (m - y) ** 2 / 2, m - y, np.ones_like(m - y)


def huber(m, y, scale):
    r, delta = m - y, DELTA * scale
    value = np.where(abs(r) <= delta, r**2 / 2, delta * (abs(r) - delta / 2))
    return value, np.clip(r, -delta, delta), delta / np.maximum(abs(r), delta)


def kink(r, scale, below, above):
    return 2 * below * above / (below + above) / np.maximum(abs(r), NEAR * scale)


def absolute_error(m, y, scale):
    return abs(m - y), np.sign(m - y), kink(m - y, scale, 1, 1)


def quantile(m, y, scale):
    r = m - y
    value = np.maximum((1 - LEVEL) * r, -LEVEL * r)
    return value, np.where(r > 0, 1 - LEVEL, -LEVEL * (r < 0)), kink(r, scale, LEVEL, 1 - LEVEL)


def epsilon_insensitive(m, y, scale):
    beyond = np.maximum(abs(m - y) - WIDTH * scale, 0)
    return beyond, np.sign(m - y) * (beyond > 0), kink(m - y, scale, 1, 1)


def squared_epsilon_insensitive(m, y, scale):
    beyond = np.maximum(abs(m - y) - WIDTH * scale, 0)
    return beyond**2, 2 * beyond * np.sign(m - y), 2.0 * (beyond > 0)


def poisson(m, y, scale):
    """From below the curvature of the chord to log y, where the slope is 0."""
    mean = np.exp(m)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.log(y) - m
        chord = (y - mean) / gap
    return mean - y * m, mean - y, np.where(gap > 1e-6, np.maximum(mean, chord), mean)


LOSSES = {
    f.__name__: f
    for f in (
        *(log_loss, hinge, squared_hinge, modified_huber, squared_error, huber),
        *(absolute_error, quantile, epsilon_insensitive, squared_epsilon_insensitive, poisson),
    )
}
DEGREES = {  # ℓ(ρr) = ρ^degree ℓ(r), but for constants of the loss
    **dict.fromkeys(("squared_error", "huber", "squared_epsilon_insensitive"), 2),
    **dict.fromkeys(("absolute_error", "quantile", "epsilon_insensitive"), 1),
}


def softmax(m, y):
    """The loss of margins (..., C), and the probabilities."""
    top = m.max(axis=-1, keepdims=True)
    e = np.exp(m - top)
    total = e.sum(axis=-1, keepdims=True)
    own = np.take_along_axis(m - top, np.broadcast_to(y, m.shape[:-1])[..., None].astype(int), -1)
    return (np.log(total) - own)[..., 0], e / total
