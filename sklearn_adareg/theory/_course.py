"""The course of the regret of an estimator, and of its bounds; :mod:`sklearn_adareg.regret` has the symbols."""

import numpy as np
from sklearn.utils import Bunch

from ..model import _recipe, _registry, _runtime
from . import _bounds
from ._comparators import best_weights
from ._record import begin, check_one_weight_vector, rounds

INSIDE = 1.0 + 1e-9  # a point that is still inside when stretched by this was not projected


def course(estimator, X, y, sample_weight=None, *, points=25):
    r"""The regret of an estimator against the best fixed weights, and its bounds, after more and more rounds.

    A clone of the estimator plays the rows once, in the order given. After each of the rounds of a grid, the best fixed weights of
    the domain for the rows so far are found by Newton's method, and the regret against them is compared with Theorem 1, or the
    bound of dual averaging, for these weights, and with the closed form of ``regret_bound()``.

    Theorem 1 needs two sums beside those of the losses: with :math:`\nu_t = H_t^{-1}(x_t - x_{t+1})`, which is
    :math:`g_t` where no projection was needed,
    :math:`\sum_t \Delta_t(x^*) = \sum_t \nu_t \cdot (x_t + x_{t+1}) - 2 x^* \cdot \sum_t \nu_t`. So nothing is kept of a round, and
    there may be more rows than for :func:`record`. Costs a pass with O(D) more per round, O(D³) in rounds that are projected in a
    full matrix, and some Newton steps on the rows so far, O(nD²) each, per point.

    Parameters
    ----------
    estimator : AdaRegClassifier or AdaRegRegressor
        With ``scaling=None`` and ``alpha=0``, whose rounds are Algorithm 1 on the features as they are.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their targets: two classes, or one number each.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; a row of weight 0 is no round.
    points : int, default=25
        How many points the grid has at the most; they are spaced evenly on a logarithmic scale, and end with the last round.

    Returns
    -------
    course : :class:`~sklearn.utils.Bunch`
        Arrays with one entry per point.

        rounds : ndarray
            The number of rounds T.
        loss : ndarray
            The total loss of the iterates.
        regret : ndarray
            The total loss minus that of the best fixed weights for these rounds.
        gap : ndarray
            By how much the regret could be larger if the best weights were found exactly; infinite where the domain is unbounded.
        linear_regret : ndarray
            :func:`linear_regret` against these weights.
        run_bound : ndarray
            :func:`theorem_1` against these weights, or :func:`dual_averaging_bound`; NaN for a potential without ``value``.
        bound : ndarray
            The closed form, for all weights of the domain; NaN where nothing is proved.
        weights : ndarray of shape (points, D)
            The best fixed weights.
        missing : list of str
            Why there is no closed form, or no better one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_adareg import AdaRegRegressor, regret
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(500, 3))
    >>> y = X @ [0.5, -0.2, 0.1] + 0.1 * rng.normal(size=500)
    >>> model = AdaRegRegressor(
    ...     "ons", "full", eta="theory", epsilon="theory", domain="l2", radius=1.0, scaling=None, fit_intercept=False
    ... )
    >>> found = regret.course(model, X, y, points=5)
    >>> found.rounds
    array([  1,   5,  22, 106, 500])
    >>> bool(np.all(found.regret <= found.linear_regret) and np.all(found.regret <= found.bound))
    True
    """
    if isinstance(points, bool) or points != int(points) or points < 1:
        raise ValueError(f"points={points!r} is no number of points; pass a positive integer.")
    model, (state, X, _, targets, weights, order) = begin(estimator, X, y, sample_weight, "course")
    check_one_weight_vector(state, "course")
    if not len(order):
        raise ValueError("All rows have weight 0, so there is no round; give some a positive weight.")
    recipe = state.recipe
    sums = _Sums(state)
    grid = np.unique(np.rint(np.geomspace(len(order), 1, int(points))).astype(int))
    weights_of = weights if len(weights) else np.ones(X.shape[0])
    found, start = [], None
    for t, played in enumerate(rounds(model, state, X, targets, weights, order), 1):
        sums.add(*played)
        if t not in grid:
            continue
        own = order[:t]
        best = best_weights(recipe, X[own], targets[own, 0], weights_of[own], start)
        start, bound = best.weights, _bounds.regret_bound(state)
        found.append(
            {
                "rounds": t,
                "loss": sums.loss,
                "regret": sums.loss - best.loss,
                "gap": best.gap,
                "linear_regret": sums.linear - sums.theta @ best.weights,
                "run_bound": sums.run_bound(best.weights),
                "bound": np.nan if bound.value is None else bound.value,
                "weights": best.weights,
            }
        )
    kept = {name: np.array([point[name] for point in found]) for name in found[0]}
    return Bunch(**kept, missing=bound.missing)


class _Sums:
    """What the bound of a run needs of its rounds."""

    def __init__(self, state):
        self.state, recipe = state, state.recipe
        self.structure = _runtime.method_of(state.blocks[0]).structure
        self.domain, self.d = _recipe.domain_kernel(recipe), recipe.d
        entry = _registry.DOMAINS[recipe.domain]
        # points inside of these are known not to be projected
        self.has_inside = entry.bounded and recipe.start == 0.0
        self.free = recipe.domain is None
        self.x = self.first = self.structure.last_iterate()[0].copy()
        self.loss = self.linear = self.along = 0.0
        self.theta, self.normal = np.zeros(recipe.D), np.zeros(recipe.D)
        self.H = self.structure.preconditioner()[0] if recipe.dual else None

    def add(self, loss, g, x):
        """A round: its loss, its gradient, and the iterate after it."""
        self.loss += loss
        self.linear += g @ self.x
        self.theta += g
        if self.state.recipe.dual:
            self.along += g @ _times(self.H, g)
            self.H = self.structure.preconditioner()[0]
        else:
            inside = self.has_inside and self.domain.holds(INSIDE * x[: self.d])
            nu = g if self.free or inside else _solve(self.structure.preconditioner()[0], self.x - x)
            self.along += nu @ (self.x + x)
            self.normal += nu
        self.x = x.copy()

    def run_bound(self, x_star):
        """Theorem 1 against these weights, or the bound of dual averaging."""
        if self.state.recipe.dual:
            away = x_star - self.first
            return 0.5 * (away @ _solve(self.H, away) + self.along)
        first = _bounds.first_bracket(self.state)
        return first + 0.5 * self.along - self.normal @ x_star


def _times(H, v):
    return H @ v if np.ndim(H) == 2 else H * v


def _solve(H, v):
    return np.linalg.solve(H, v) if np.ndim(H) == 2 else v / H
