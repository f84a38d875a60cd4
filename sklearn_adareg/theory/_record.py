"""The rounds of an estimator, played once and written down; and the course of their regret (:mod:`sklearn_adareg.regret`)."""

import numpy as np
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.utils import Bunch

from ..estimators._base import BaseAdaReg
from ..model import _recipe, _registry, _runtime
from . import _bounds
from ._comparators import best_weights

INSIDE = 1.0 + 1e-9  # a point that is still inside when stretched by this was not projected


def record(estimator, X, y, sample_weight=None):
    r"""The iterates, gradients and matrices of one pass over the rows, in the order given.

    A clone of the estimator plays the rounds; the estimator itself stays as it is. Costs one pass, and O(D²) memory
    and time more per round (O(D³) where the structure is ``"full"`` and a decomposition is reused).

    Parameters
    ----------
    estimator : AdaRegClassifier or AdaRegRegressor
        With ``scaling=None`` and ``alpha=0``, whose rounds are Algorithm 1 on the features as they are.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their targets: two classes, or one number each; several of either where the structure is ``"kronecker"``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; a row of weight 0 is no round.

    Returns
    -------
    run : :class:`~sklearn.utils.Bunch`
        The run, T rounds on D coordinates (the features, and the intercept last if there is one).

        x : ndarray of shape (T + 1, D)
            The iterates that predicted, and the one after the last round.
        g : ndarray of shape (T, D)
            The gradients, with the weights in them.
        H : ndarray of shape (T, D, D)
            The matrices of the steps.
        H0 : ndarray of shape (D, D)
            The matrix before the first round, :math:`\psi(\varepsilon I)`.
        losses : ndarray of shape (T,)
            The weighted losses of the iterates.
        potential : str or SpectralPotential
            The potential in use.
        eta, epsilon, p : float
            Step size, initial value of G's diagonal, and exponent of ``pnorm``.
        refresh_factor : float
            The smallest κ ≥ 1 such that :math:`H \preceq \kappa\, \psi(P_S G_t)` in every round: 1 where no decomposition
            was reused.
        L, R : ndarray of shape (K, K) and (D, D)
            With structure ``"kronecker"``, which has them in place of H and H0: the two matrices at the end. x and g then have
            the shapes (T + 1, K, D) and (T, K, D) for K weight vectors, and :func:`kronecker_bound` is their bound.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_adareg import AdaRegRegressor
    >>> from sklearn_adareg.regret import linear_regret, record, theorem_1
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=100)
    >>> model = AdaRegRegressor("adagrad", "full", scaling=None, fit_intercept=False)
    >>> run = record(model, X, y)
    >>> run.x.shape, run.g.shape, run.H.shape
    ((101, 3), (100, 3), (100, 3, 3))
    >>> x_star = [1.0, -1.0, 0.5]
    >>> names = ("H0", "epsilon", "potential", "eta", "p", "refresh_factor")
    >>> bound = theorem_1(run.x, run.g, run.H, x_star, **{name: run[name] for name in names})
    >>> linear_regret(run.x, run.g, x_star) < bound
    True
    """
    model, (state, X, _, targets, weights, order) = begin(estimator, X, y, sample_weight, "record")
    recipe, T, D = state.recipe, len(order), state.recipe.D
    coupled = _registry.STRUCTURES[recipe.structure].couples_outputs  # one H is that of all weight vectors
    if not coupled:
        check_one_weight_vector(state, "record")
    structure, psi = _runtime.method_of(state.blocks[0]).structure, _recipe.potential_kernel(recipe)
    eta, psi = (1.0, structure.half_potential) if coupled else (recipe.eta, psi)
    x, g = np.empty((T + 1, recipe.n_outputs, D)), np.empty((T, recipe.n_outputs, D))
    H, losses, factor = np.empty((0 if coupled else T, D, D)), np.empty(T), 1.0
    x[0], H0 = structure.last_iterate(), _matrix(structure.preconditioner()[0], D)
    for k, played in enumerate(rounds(model, state, X, targets, weights, order)):
        losses[k], g[k], x[k + 1] = played
        if not coupled:
            H[k] = _matrix(structure.preconditioner()[0], D)
        if recipe.refresh > 0:
            pairs = zip(structure.preconditioner(), structure.accumulated(), strict=True)
            factor = max(factor, np.prod([_outgrown(*pair, eta, psi, recipe) for pair in pairs]))
    run = {name: getattr(recipe, name) for name in ("potential", "eta", "epsilon")}
    run |= {"losses": losses, "p": model.p, "refresh_factor": float(factor)}
    if coupled:
        L, R = structure.accumulated()
        return Bunch(x=x, g=g, L=L, R=R, **run)
    return Bunch(x=x[:, 0], g=g[:, 0], H=H, H0=H0, **run)


def begin(estimator, X, y, sample_weight, caller):
    """A clone whose rounds are Algorithm 1 on raw features, and what its first pass over these rows takes."""
    if not isinstance(estimator, BaseAdaReg):
        raise ValueError(
            f"{caller} plays the rounds of an AdaRegClassifier or an AdaRegRegressor, and this is {type(estimator).__name__}; pass "
            "one of the two, out of its pipeline."
        )
    estimator._validate_params()
    if estimator.scaling is not None:
        raise ValueError(
            f"{caller} needs scaling=None, since x, g and H under scaling={estimator.scaling!r} are in units that change from "
            "round to round; set scaling=None."
        )
    if estimator.alpha > 0:
        raise ValueError(
            f"{caller} needs alpha=0, since the regret bounds are about the loss alone and alpha is {estimator.alpha!r}; set alpha=0."
        )
    if not (estimator.half_life is None or estimator.half_life == "auto"):
        raise ValueError(
            f"{caller} needs half_life=None, since the regret bounds are proved for a G that only grows and half_life is "
            f"{estimator.half_life!r}; set half_life=None."
        )
    model = clone(estimator).set_params(verbose=0)
    return model, model._take_in(X, y, sample_weight)


def check_one_weight_vector(state, caller):
    """Refuse several."""
    if state.recipe.n_outputs > 1:
        raise ValueError(
            f"{caller} takes two classes or one target, and y asks for {state.recipe.n_outputs} weight vectors; record one class "
            "against the rest, or one target, at a time."
        )


def rounds(model, state, X, targets, weights, order):
    """Plays one round after the other; yields its weighted loss, the gradients and the iterates after it, (n_outputs, D) each."""
    method = _runtime.method_of(state.blocks[0])
    intercept = np.ones(int(state.recipe.intercept))
    for k, row in enumerate(order):
        weight = weights[row] if len(weights) else 1.0
        loss = weight * model._play(state, X, order[k : k + 1], targets, weights, True)
        z = X[[row]].toarray()[0] if hasattr(X, "toarray") else X[row]
        yield loss, np.outer(method.slopes, np.concatenate([z, intercept])), method.structure.last_iterate()


def _matrix(kept, D):
    """A matrix from a matrix, its diagonal, or one number."""
    return kept if np.ndim(kept) == 2 else np.diag(np.broadcast_to(kept, D))


def _outgrown(H, G, eta, psi, recipe):
    """The smallest κ such that H ⪯ κ η ψ(G)."""
    if np.ndim(G) < 2:
        return 1.0
    values, vectors = np.linalg.eigh(G)
    h = eta * psi(np.maximum(values, recipe.epsilon))
    turned = vectors / np.sqrt(h)
    return float(eigh(turned.T @ H @ turned, eigvals_only=True)[-1])


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
        proved = np.nan if bound.value is None else bound.value
        linear, run_bound = sums.linear - sums.theta @ best.weights, sums.run_bound(best.weights)
        found.append((t, sums.loss, sums.loss - best.loss, best.gap, linear, run_bound, proved, best.weights))
    names = ("rounds", "loss", "regret", "gap", "linear_regret", "run_bound", "bound", "weights")
    kept = {name: np.array(values) for name, values in zip(names, zip(*found, strict=True), strict=True)}
    return Bunch(**kept, missing=bound.missing)


class _Sums:
    """What the bound of a run needs of its rounds."""

    def __init__(self, state):
        self.state, recipe = state, state.recipe
        self.structure = _runtime.method_of(state.blocks[0]).structure
        self.domain, self.d = _recipe.domain_kernel(recipe), recipe.d
        # points inside of these are known not to be projected
        self.has_inside = _registry.DOMAINS[recipe.domain].bounded and recipe.start == 0.0
        self.free = recipe.domain is None
        self.x = self.first = self.structure.last_iterate()[0].copy()
        self.loss = self.linear = self.along = 0.0
        self.theta, self.normal = np.zeros(recipe.D), np.zeros(recipe.D)
        self.H = self.structure.preconditioner()[0] if recipe.dual else None

    def add(self, loss, g, x):
        """A round: its loss, its gradient, and the iterate after it, of the only weight vector."""
        [g], [x] = g, x
        self.loss += loss
        self.linear += g @ self.x
        self.theta += g
        if self.state.recipe.dual:
            self.along += g @ (self.H @ g if np.ndim(self.H) == 2 else self.H * g)
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


def _solve(H, v):
    return np.linalg.solve(H, v) if np.ndim(H) == 2 else v / H
