"""The rounds of an estimator, played once and written down."""

import numpy as np
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.utils import Bunch

from ..estimators._base import BaseAdaReg
from ..model import _recipe, _registry, _runtime


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
    model, batch = begin(estimator, X, y, sample_weight, "record")
    state = batch.state
    if _registry.STRUCTURES[state.recipe.structure].couples_outputs:
        return _play_coupled(model, batch)
    check_one_weight_vector(state, "record")
    return _play(model, batch)


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
    """Plays one round after the other; yields its weighted loss, the gradient, and the iterate after it."""
    [block] = state.blocks
    method = _runtime.method_of(block)
    intercept = np.ones(int(state.recipe.intercept))
    for k, row in enumerate(order):
        weight = weights[row] if len(weights) else 1.0
        loss = weight * model._play(state, X, order[k : k + 1], targets, weights, True)
        z = X[[row]].toarray()[0] if hasattr(X, "toarray") else X[row]
        g = method.slopes[0] * np.concatenate([z, intercept])
        yield loss, g, method.structure.last_iterate()[0]


def _play(model, batch):
    state, X, _, targets, weights, order = batch
    recipe = state.recipe
    [block] = state.blocks
    method = _runtime.method_of(block)
    structure, D = method.structure, recipe.D
    x, g, H = np.empty((len(order) + 1, D)), np.empty((len(order), D)), np.empty((len(order), D, D))
    H0, losses, factor = _matrix(structure.preconditioner()[0], D), np.empty(len(order)), 1.0
    x[0] = structure.last_iterate()[0]
    for k, played in enumerate(rounds(model, state, X, targets, weights, order)):
        losses[k], g[k], x[k + 1] = played
        H[k] = _matrix(structure.preconditioner()[0], D)
        if recipe.refresh > 0:
            psi = _recipe.potential_kernel(recipe)
            factor = max(factor, _outgrown(H[k], structure.accumulated()[0], recipe.eta, psi, recipe))
    return Bunch(
        x=x,
        g=g,
        H=H,
        H0=H0,
        losses=losses,
        potential=recipe.potential,
        eta=recipe.eta,
        epsilon=recipe.epsilon,
        p=model.p,
        refresh_factor=factor,
    )


def _play_coupled(model, batch):
    """The same where one H is that of all weight vectors: matrices in place of vectors, and the factors in place of H."""
    state, X, _, targets, weights, order = batch
    recipe = state.recipe
    [block] = state.blocks
    method = _runtime.method_of(block)
    structure, shape = method.structure, (recipe.n_outputs, recipe.D)
    intercept = np.ones(int(recipe.intercept))
    x, g = np.empty((len(order) + 1, *shape)), np.empty((len(order), *shape))
    losses, factor = np.empty(len(order)), 1.0
    x[0] = structure.last_iterate()
    for k, row in enumerate(order):
        weight = weights[row] if len(weights) else 1.0
        losses[k] = weight * model._play(state, X, order[k : k + 1], targets, weights, True)
        z = X[[row]].toarray()[0] if hasattr(X, "toarray") else X[row]
        g[k] = np.outer(method.slopes, np.concatenate([z, intercept]))
        x[k + 1] = structure.last_iterate()
        if recipe.refresh > 0:
            half = structure.half_potential
            pairs = zip(structure.preconditioner(), structure.accumulated(), strict=True)
            factor = max(factor, np.prod([_outgrown(*pair, 1.0, half, recipe) for pair in pairs]))
    L, R = structure.accumulated()
    names = ("potential", "eta", "epsilon")
    return Bunch(
        x=x,
        g=g,
        L=L,
        R=R,
        losses=losses,
        p=model.p,
        refresh_factor=float(factor),
        **{name: getattr(recipe, name) for name in names},
    )


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
