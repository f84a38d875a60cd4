r"""Standard errors of weights and margins, from the matrix that the steps are taken with.

The fitted weights estimate the minimiser of the expected loss. Let A be the sum of :math:`\ell'' z z^\top` over n rows, and
:math:`\varphi A` that of :math:`\ell'^2 z z^\top`: :math:`\varphi` is 1 for the log-loss of a logistic model, and the variance of the
noise for squared errors. The sandwich :math:`A^{-1} (\varphi A) A^{-1}`, the covariance of the minimiser on the rows, is then
:math:`\varphi A^{-1}`.

**The default learner** keeps A itself, the sum G of its longest memory, and is solved with the ridges R of several priors.
With :math:`P_k = (G + R_k)^{-1}`, candidate k has the covariance :math:`\varphi P_k` under its own prior. What is published is
a mean of the candidates, with weights :math:`w_k` that sum to 1 with that of the constant prediction. It differs from the candidate
with the weakest prior by :math:`b = \bar x - x_1`, which is known, so the standard errors are the roots of the diagonal of

.. math:: \varphi P_1 + b b^\top .

Where rows decide, b is small and this is the covariance of the minimiser. The covariance of the candidates' mean,
:math:`\varphi \bar P G \bar P` with :math:`\bar P = \sum_k w_k P_k / \sum_k w_k`, is close to that of the minimiser then, and so is
that of each weak prior. If one of them is less than half of it in some weight, the priors decide that weight rather than the rows,
and standard errors of weights are refused: what is published depends on noise, and intervals would not cover as they say.

**Algorithm 1** with potential "ons": G, with residuals in units of their root mean square, is A and a small prior. Its Newton
steps of gain a, :math:`x \leftarrow x - \frac{a}{t} A_1^{-1} g` with :math:`A_1 = A/n`, averaged with weights :math:`t^\gamma`, have
a larger variance: the error is :math:`\frac1T \sum_t k f(t/T) A_1^{-1} g_t` with :math:`f(u) = u^{a-1} - u^\gamma`,
:math:`k = a(\gamma+1)/(\gamma+1-a)`, where kf has the mean 1. After m passes in random orders the sum of the gradients of all rows
counts once, and what is left is the variance of f within each pass: the factor is
:math:`1 + \frac{k^2}{m^2} \sum_j \mathrm{var}_j f`. For a = 3 and :math:`\gamma` = 20 it is 1.68 after one pass.
"""

import numpy as np
from scipy import sparse

from ..model import _auto, _registry, _runtime
from . import _candidates

# without curvatures in G, the errors of the first iterates have to be outgrown by long steps and a late average, or by passes
LEAST_ETA, LEAST_POWER, LEAST_PASSES = 3.0, 8.0, 3
LEAST_VARIANCE = 0.5  # of other candidates and their mean, over that of the one with the weakest prior
WEAK = 0.1  # priors up to here are to agree
POINTS = 4096  # at which f is evaluated
ROWS_AT_ONCE = 1024


class NoErrorBars(AttributeError, ValueError):
    """What an attribute or a method raises where there are no standard errors."""


def refusal(state):
    """Why there are no standard errors, in a sentence; None if there are."""
    recipe, progress = state.recipe, state.progress
    method = _registry.METHODS[recipe.method]
    if recipe.half_life is not None or any(kept < 1.0 for kept in recipe.kept):
        return (
            "Standard errors are of a model that counts all rows alike, and this one may forget; pass half_life=None, or call fit "
            'with shuffle=True and half_life="auto".'
        )
    if _registry.loss(recipe.loss).dispersion is None:
        tables = _registry.CLASSIFICATION_LOSSES, _registry.REGRESSION_LOSSES
        return (
            f"loss={recipe.loss!r} has no standard errors, since the variance of its slopes is not known from its curvature; use "
            f"{' or '.join(name for table in tables for name in _registry.names(table, lambda e: e.dispersion))}."
        )
    why_not = _without_matrix(recipe) if method.learner else _without_inverse(recipe, method)
    if why_not:
        return why_not
    if not recipe.plain:
        return "A penalty or a domain moves weights away from where rows would put them; use alpha=0 and domain=None."
    if progress.weighted:
        return (
            "This model has learnt from rows with weights other than 1, or before losses were recorded, and standard errors count "
            "rows alike; fit without sample_weight and class_weight."
        )
    if recipe.degree and not (method.learner or recipe.relative):
        return 'Standard errors of a regression need residuals in units of their own; use scaling="online".'
    if progress.total("rows") <= recipe.D:
        return (
            f"This model has seen {int(progress.total('rows'))} rows for {recipe.D} weights, which tell nothing about their errors; "
            "learn from more rows, at least 50 for each weight."
        )
    late = recipe.average is False or (recipe.average is not True and recipe.average >= LEAST_POWER)
    outgrown = method.learner or (recipe.eta >= LEAST_ETA and (late or _passes(state) >= LEAST_PASSES))
    if not outgrown:  # what the first steps have left
        return (
            f"With eta={np.ravel(recipe.eta)[0]:g} and average={recipe.average!r} the first iterates count too much for standard "
            'errors; pass eta=3.0 and average=20.0, or leave eta="auto" with structure="full".'
        )
    return None


def _without_matrix(recipe):
    """Why the sums of the default learner tell no covariance; None if they do."""
    if recipe.joint and recipe.n_outputs > 1 and not recipe.coupled:
        return (
            f"{recipe.n_outputs} classes times {recipe.D} weights are more than {_auto.MOST_COUPLED}, so each class has a matrix of "
            "its own, which tells no standard errors; compare two classes at a time."
        )
    return None


def _without_inverse(recipe, method):
    """Why the steps of Algorithm 1 tell no covariance; None if they do."""
    if recipe.outputs_are_classes:
        return (
            f"Standard errors of more than two classes are not known for structure={recipe.structure!r}; use structure='full', or "
            "compare two classes at a time."
        )
    tells = _registry.STRUCTURES[recipe.structure].tells_errors
    if not tells or not _registry.potential(recipe.potential).inverse:
        return (
            f"Steps of potential={recipe.potential!r}, structure={recipe.structure!r} tell no standard errors; use potential='ons' "
            "with structure='full', or 'block' or 'diag' where features are uncorrelated across blocks."
        )
    if method.several:
        return (
            "Several step sizes are combined here, which tell no standard errors; pass a number as eta, e.g. eta=2.0."
        )
    if recipe.dual:
        return (
            'Standard errors are those of Newton steps, and dual averaging takes others; use update="mirror_descent".'
        )
    return None


def _passes(state):
    return max(1, round(state.rounds / state.progress.total("rows")))


class ErrorBars:
    """Covariances of the weight vectors of a state that ``refusal`` lets pass.

    Attributes
    ----------
    dispersions : ndarray of shape (n_outputs,)
        The noise :math:`\\varphi`.
    """

    def __init__(self, state, shuffled):
        self.recipe = recipe = state.recipe
        self.dispersions = _dispersions(state)
        rounds, rows = state.rounds, state.progress.total("rows")
        self.of_outputs = []
        if _registry.METHODS[recipe.method].learner:
            for block in state.blocks:
                self.of_outputs += _covariances_of_sums(block, self.dispersions)
            return
        factor = inflation(np.ravel(recipe.eta)[0], recipe.average, _passes(state), shuffled)
        for block in state.blocks:
            structure = _runtime.method_of(block).structure
            for k, G in enumerate(structure.accumulated()):
                phi = self.dispersions[block.first_output + k]
                self.of_outputs.append(_Covariance(structure, G, phi * factor * rounds / rows))

    def std(self):
        """Standard errors of the weights, (n_outputs, D)."""
        return np.array([own.std() for own in self.of_outputs])

    def margin_std(self, X):
        """Standard errors of the margins of rows, (n_rows, n_outputs)."""
        if self.recipe.outputs_are_classes:
            raise NoErrorBars(
                "Intervals of the probabilities of more than two classes are not known; compare two classes at a time."
            )
        Z = X
        if self.recipe.intercept:
            ones = np.ones((X.shape[0], 1))
            Z = sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])
        parts = [
            np.column_stack([own.margin_std(Z[i : i + ROWS_AT_ONCE]) for own in self.of_outputs])
            for i in range(0, Z.shape[0], ROWS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.of_outputs)))


def _covariances_of_sums(block, dispersions):
    """One for each weight vector of a block of the default learner."""
    now, method, recipe = _runtime.method_of(block), _candidates.absorbed(block), block.recipe
    priors = np.ravel(recipe.epsilon)
    of_priors = [_candidates.systems(method, k) for k in range(len(priors))]
    means = method.means()
    found = []
    for p, (shares, candidates) in enumerate(zip(now.candidate_weights(), now.candidates(), strict=True)):
        phi = dispersions[block.first_output + p]
        active = np.flatnonzero(method.takes_part())
        weakest = min(active, key=priors.__getitem__)
        away = np.einsum("b,bcd->cd", shares, candidates) - candidates[weakest]
        if recipe.intercept:  # about the means
            away[:, -1] += away @ means
        own = [systems[p] for systems in of_priors]
        inverses = [_candidates.inverse(system.A) for system in own]
        parts = shares[: len(priors)] / shares[: len(priors)].sum()
        of_priors_together = sum(part * P for part, P in zip(parts, inverses, strict=True))
        G, n_classes = own[0].G, len(away)
        others = [inverses[k] for k in active if priors[k] <= WEAK]
        V, *others = [
            _without_common_part(phi * W, n_classes)
            for W in (inverses[weakest], *(P @ G @ P for P in (of_priors_together, *others)))
        ]
        least = np.min([np.diagonal(W, axis1=1, axis2=2) for W in others], axis=0)
        coordinates = own[0].coordinate[: len(G) // n_classes]
        found += [_CovarianceOfSums(V[c], least[c], away[c], coordinates, means, recipe) for c in range(n_classes)]
    return found


def _without_common_part(V, n_classes):
    """The blocks of each class on the diagonal of a covariance, (n_classes, n, n). What all classes of a softmax have in common
    changes no probability, and the weights of classes sum to 0."""
    if n_classes == 1:
        return V[None]
    V = V.reshape(n_classes, -1, n_classes, len(V) // n_classes)
    V = V - V.mean(axis=0, keepdims=True)
    V = V - V.mean(axis=2, keepdims=True)
    return np.moveaxis(np.diagonal(V, axis1=0, axis2=2), -1, 0)


class _CovarianceOfSums:
    """The covariance φ P_1 + bb' of one weight vector, in coordinates about the means; features without a part have none."""

    def __init__(self, of_weakest, least, away, coordinates, means, recipe):
        self.at, self.means, self.recipe = coordinates, means, recipe
        self.known = np.zeros(recipe.D, dtype=bool)
        self.known[coordinates] = True
        own = away[coordinates]
        self.V = of_weakest + np.outer(own, own)
        features = coordinates < recipe.d
        decided = least >= LEAST_VARIANCE * np.diag(of_weakest)
        self.undecided = coordinates[features & ~decided]

    def std(self):
        if len(self.undecided):
            raise NoErrorBars(
                f"The weight of feature {self.undecided[0]} is decided by the priors that are combined, more than by the rows, so it "
                "has no standard error; learn from more rows, or pass one epsilon, e.g. epsilon=1e-6."
            )
        std = np.full(self.recipe.D, np.inf)
        std[self.at] = np.sqrt(np.diag(self.V))
        if self.recipe.intercept:  # from about the means to 0
            u = -self.means[self.at]
            u[-1] = 1.0
            std[-1] = np.sqrt(max(u @ self.V @ u, 0.0))
        return std

    def margin_std(self, Z):
        Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z, dtype=np.float64)
        Z = Z - self.means
        own = Z[:, self.at]
        variances = np.einsum("ij,ij->i", own @ self.V, own)
        unknown = (Z[:, ~self.known] != 0.0).any(axis=1)
        return np.where(unknown, np.inf, np.sqrt(np.maximum(variances, 0.0)))


class _Covariance:
    """The covariance scale · R' G⁻¹ R of one weight vector: G in the units of the steps, R from them to raw units."""

    def __init__(self, structure, G, scale):
        self.diagonal = G.ndim == 1
        D = len(G)
        self.known = (G if self.diagonal else np.diag(G)) > 0.0  # a feature that never varied is in no matrix
        if self.diagonal:
            self.R = structure.in_raw_units(np.ones((1, D)))[0]
            with np.errstate(divide="ignore"):
                self.P = np.where(self.known, scale / G, 0.0)
            return
        self.R = structure.in_raw_units(np.eye(D))
        self.P = np.zeros((D, D))
        inside = np.ix_(self.known, self.known)
        self.P[inside] = scale * _candidates.inverse(G[inside])

    def std(self):
        if self.diagonal:
            return np.where(self.known, np.abs(self.R) * np.sqrt(self.P), np.inf)
        variances = np.einsum("ij,ik,kj->j", self.R, self.P, self.R)
        return np.where(self.known, np.sqrt(variances), np.inf)

    def margin_std(self, Z):
        if self.diagonal:
            squares = Z.multiply(Z) if sparse.issparse(Z) else np.square(Z, dtype=np.float64)
            variances = np.asarray(squares @ (self.P * self.R**2)).ravel()
            unknown = np.asarray(squares @ (~self.known).astype(float)).ravel() > 0.0
        else:
            moved = np.asarray(Z @ self.R.T)
            variances = np.einsum("ij,ij->i", moved @ self.P, moved)
            unknown = (moved[:, ~self.known] != 0.0).any(axis=1)
        return np.where(unknown, np.inf, np.sqrt(np.maximum(variances, 0.0)))


def inflation(gain, average, passes, shuffled):
    """The variance of the fitted weights over that of the minimiser on the rows: the factor at the head of this file."""
    gamma = 0.0 if isinstance(average, bool) else float(average)
    u = (np.arange(passes * POINTS) + 0.5) / (passes * POINTS)
    if average is False:
        kf = gain * u ** (gain - 1)
    else:
        if abs(gamma + 1 - gain) < 1e-6:  # the limit, from nearby
            gain += 1e-5
        kf = gain * (gamma + 1) / (gamma + 1 - gain) * (u ** (gain - 1) - u**gamma)
    kf = kf.reshape(passes, POINTS)
    within = kf.var(axis=1).sum() if shuffled else kf.sum(axis=0).var()
    return 1.0 + within / passes**2


def _dispersions(state):
    """The noise of each weight vector: of the second half of the rows at first sight, whose predictions are good, without what the
    weights add, D/t in round t; of several targets, whose losses are recorded as one, of all rows."""
    recipe, progress = state.recipe, state.progress
    dispersion, learner = _registry.loss(recipe.loss).dispersion, _registry.METHODS[recipe.method].learner
    rows = progress.grid("rows")
    part = recipe.D / rows[-1] if recipe.degree and learner else 0.0
    if recipe.outputs_are_classes:
        return dispersion(np.ones(recipe.n_outputs))
    if recipe.n_outputs > 1:
        if not learner:
            return dispersion(0.5 * _runtime.residual_units(state) ** 2)
        sums = np.concatenate([block.arrays["units"] for block in state.blocks])
        # squares of residuals, each with the weight (t/T)²
        return dispersion(0.5 * sums[:, 0] / sums[:, 1]) / (1.0 + 1.5 * part)
    losses = progress.grid("loss")
    half = int(np.abs(rows - rows[-1] / 2).argmin())
    found = dispersion(np.array([(losses[-1] - losses[half]) / (rows[-1] - rows[half])]))
    return found / (1.0 + part * np.log(rows[-1] / rows[half]) * rows[-1] / (rows[-1] - rows[half]))
