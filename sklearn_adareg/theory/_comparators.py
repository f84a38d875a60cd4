"""The best fixed weights of a domain for rows that are all known: what regret is measured against.

Newton's method: the quadratic model of the total loss is minimised over the domain by one projection in its own norm, and a line
search on the slope goes as far as the total loss falls. A loss with kinks is replaced by its mean over a small interval around each
margin, which shrinks from stage to stage.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..model import _recipe, _registry

MOST_STEPS = 60  # of each stage
SMALL_STEP = 1e-5  # in margins: for second differences
KINKED = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # half the width of the interval, stage by stage
NODES = np.linspace(-1.0, 1.0, 8)  # symmetric, so that the mean of a convex loss is not below it


class Best(NamedTuple):
    """The best fixed weights, as well as they were found."""

    weights: np.ndarray  # (D,)
    loss: float  # total
    gap: float  # no weights of the domain have a total loss below loss − gap; infinite where the domain is unbounded


class TotalLoss:
    """The total loss of rows as a function of the weights."""

    def __init__(self, recipe, X, targets, weights):
        if recipe.intercept:  # one more column
            ones = np.ones((X.shape[0], 1))
            X = sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])
        self.X, self.targets, self.weights = X, np.ascontiguousarray(targets), weights
        self.kernel = _recipe.loss_kernel(recipe)

    def margins(self, x):
        """Of all rows."""
        return self.X @ x

    def value(self, margins):
        """The total loss."""
        if np.all(self.weights == 1.0):
            return self.kernel(margins, self.targets)[0]
        pairs = zip(margins[:, np.newaxis], self.targets[:, np.newaxis], strict=True)
        return float(self.weights @ [self.kernel(m, y)[0] for m, y in pairs])

    def slopes(self, margins, width=0.0):
        """Of each row's loss, or of its mean over so much to both sides."""
        shifts = width * NODES if width else [0.0]
        total = sum(self.kernel(margins + shift, self.targets)[1] for shift in shifts)
        return self.weights * total / len(shifts)

    def curvatures(self, margins, width):
        """Second differences of the loss."""
        step = max(width, SMALL_STEP)
        return (self.slopes(margins + step, width) - self.slopes(margins - step, width)) / (2 * step)

    def gradient(self, slopes):
        """With respect to the weights."""
        return self.X.T @ slopes

    def hessian(self, curvatures):
        """With respect to the weights."""
        if sparse.issparse(self.X):
            return (self.X.T @ self.X.multiply(curvatures[:, np.newaxis])).toarray()
        return (self.X.T * curvatures) @ self.X


def best_weights(recipe, X, targets, weights, start=None, tolerance=1e-6):
    """The ``Best`` for one weight vector, with the loss and in the domain of a recipe.

    ``targets``, (n,), are as the loss reads them; ``start``, (D,), are weights of the domain to start from; ``tolerance`` is the gap,
    as a share of the total loss (or of 1), at which the search ends.
    """
    total, domain = TotalLoss(recipe, X, targets, weights), _recipe.domain_kernel(recipe)
    domain.prepare_full()
    x = np.zeros(recipe.D) if start is None else np.array(start)
    if start is None:
        x[: recipe.d] = recipe.start
    stages = (0.0,) if _registry.loss(recipe.loss).curved else KINKED
    for width in stages:
        x, slopes = _minimise(total, domain, recipe, x, width, tolerance)
    margins = total.margins(x)
    value = total.value(margins)
    gap = _gap(recipe, x, total.gradient(slopes))
    if stages[-1]:  # the mean is above the loss, by at most its slope times the mean distance
        constant = _largest_slope(recipe, margins, targets)
        gap += stages[-1] * np.mean(np.abs(NODES)) * constant * float(np.sum(weights))
    return Best(x, float(value), float(max(gap, 0.0)))


def _minimise(total, domain, recipe, x, width, tolerance):
    """Newton steps from x; the weights, and the slopes there."""
    margins = total.margins(x)
    slopes = total.slopes(margins, width)
    enough = tolerance * max(1.0, abs(total.value(margins)))
    for _ in range(MOST_STEPS):
        g = total.gradient(slopes)
        way = _newton_point(total, domain, recipe, x, margins, g, width) - x
        decrement = -(g @ way)
        if not decrement > enough / 10 or _gap(recipe, x, g) < enough:
            break
        length = _line_search(total, margins, total.margins(way), width)
        x = x + length * way
        x[: recipe.d] = domain.confine(x[: recipe.d])
        margins = total.margins(x)
        slopes = total.slopes(margins, width)
    return x, slopes


def _newton_point(total, domain, recipe, x, margins, g, width):
    """The minimiser of the quadratic model over the domain, the intercept free."""
    A = total.hessian(np.maximum(total.curvatures(margins, width), 0.0))
    size = np.trace(A) / len(A)
    A[np.diag_indices_from(A)] += 1e-9 * size + 1e-12 + (1e-3 * size if width else 0.0)
    H = np.linalg.inv(A)
    H = (H + H.T) / 2
    u, d = x - H @ g, recipe.d
    if recipe.domain is None:
        return u
    inside = np.ascontiguousarray(H[:d, :d])
    c, w = domain.project_in(u[:d], inside)
    return np.append(c, u[d:] - H[d:, :d] @ w)


def _line_search(total, margins, along, width):
    """How far to go, up to 1: to where the slope of the total loss along the way is 0, by bisection."""

    def slope(length):
        return total.slopes(margins + length * along, width) @ along

    low, high = 0.0, 1.0
    if slope(1.0) <= 0.0:
        return 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) <= 0.0 else (low, middle)
    return low if low > 0.0 else high


def _gap(recipe, x, g):
    """What a linear model promises at most: g·x − min g·y over the domain."""
    support = _registry.DOMAINS[recipe.domain].support
    return np.inf if support is None or recipe.intercept else float(g @ x + support(-g, recipe.radius))


def _largest_slope(recipe, margins, targets):
    """Of the loss, on margins as large as these."""
    loss = _registry.loss(recipe.loss)
    if loss.constants is None:
        return np.inf
    parameters = {name: recipe.loss_parameters[name] for name in loss.parameters}
    sizes = (np.float64(np.abs(values).max(initial=0.0)) for values in (margins, targets))
    return float(loss.constants(*sizes, **parameters).lipschitz)
