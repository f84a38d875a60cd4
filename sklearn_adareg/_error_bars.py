r"""Standard errors of weights and margins, from the matrix that the steps are taken with.

The fitted weights estimate the minimiser of the expected loss. Let A be the sum of :math:`\ell'' z z^\top` over n rows, and
:math:`\varphi A` that of :math:`\ell'^2 z z^\top`: :math:`\varphi` is 1 for the log-loss of a logistic model, and the variance of the
noise for squared errors. The sandwich :math:`A^{-1} (\varphi A) A^{-1}`, the covariance of the minimiser on the rows, is then
:math:`\varphi A^{-1}`. G, with residuals in units of their root mean square, is A and a small prior.

A learner that takes Newton steps of gain a, :math:`x \leftarrow x - \frac{a}{t} A_1^{-1} g` with :math:`A_1 = A/n`, and averages with
weights :math:`t^\gamma`, has a larger variance: its error is :math:`\frac1T \sum_t k f(t/T) A_1^{-1} g_t` with
:math:`f(u) = u^{a-1} - u^\gamma`, :math:`k = a(\gamma+1)/(\gamma+1-a)`, where kf has the mean 1. After m passes in random orders
the sum of the gradients of all rows counts once, and what is left is the variance of f within each pass: the factor is
:math:`1 + \frac{k^2}{m^2} \sum_j \mathrm{var}_j f`. For a = 2 and :math:`\gamma` = 20 it is 1.30 after one pass, 1.05 after two.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from . import _registry, _workers

# without curvatures in G, the errors of the first iterates have to be outgrown by long steps and a late average, or by passes
LEAST_ETA, LEAST_POWER, LEAST_PASSES = 3.0, 8.0, 3
COUNTS = 0.01  # the least part of a member in the combination, over the largest
POINTS = 4096  # at which f is evaluated
ROWS_AT_ONCE = 1024


def refusal(state):
    """Why there are no standard errors, in a sentence; None if there are."""
    recipe, progress = state.recipe, state.progress
    method, structure = _registry.METHODS[recipe.method], _registry.STRUCTURES[recipe.structure]
    if recipe.half_life is not None or any(kept < 1.0 for kept in recipe.kept):
        return (
            "Standard errors are of a model that counts all rows alike, and this one may forget; pass half_life=None, or call fit "
            'with shuffle=True and half_life="auto".'
        )
    if _registry.loss(recipe.loss).dispersion is None:
        return (
            f"loss={recipe.loss!r} has no standard errors, since the variance of its slopes is not known from its curvature; use "
            f"{' or '.join(_with_dispersion())}."
        )
    if recipe.lanes_are_classes:
        return (
            "Standard errors of more than two classes are not known; compare two classes at a time."
        )
    if not structure.tells_errors or not _registry.potential(recipe.potential).inverse:
        return (
            f"Steps of potential={recipe.potential!r}, structure={recipe.structure!r} tell no standard errors; use potential='ons' "
            "with structure='full', or 'block' or 'diag' where features are uncorrelated across blocks."
        )
    if method.several and not method.newton:
        return "Several step sizes are combined here, which tell no standard errors; pass a number as eta, e.g. eta=2.0."
    if recipe.dual:
        return 'Standard errors are those of Newton steps, and dual averaging takes others; use update="mirror_descent".'
    if not recipe.plain:
        return "A penalty or a domain moves weights away from where rows would put them; use alpha=0 and domain=None."
    if progress.weighted:
        return (
            "This model has learnt from rows with weights other than 1, or before losses were recorded, and standard errors count "
            "rows alike; fit without sample_weight and class_weight."
        )
    if recipe.degree and not recipe.relative:
        return 'Standard errors of a regression need residuals in units of their own; use scaling="online".'
    if progress.total("rows") <= recipe.D:
        return (
            f"This model has seen {int(progress.total('rows'))} rows for {recipe.D} weights, which tell nothing about their errors; "
            "learn from more rows, at least 50 for each weight."
        )
    if not method.newton and not _outgrows_the_start(recipe, _passes(state)):
        return (
            f"With eta={np.ravel(recipe.eta)[0]:g} and average={recipe.average!r} the first iterates count too much for standard "
            'errors; pass eta=3.0 and average=20.0, or leave eta="auto" with structure="full".'
        )
    return None


def _passes(state):
    return max(1, round(state.rounds / state.progress.total("rows")))


def _outgrows_the_start(recipe, passes):
    late = recipe.average is False or (recipe.average is not True and recipe.average >= LEAST_POWER)
    return recipe.eta >= LEAST_ETA and (late or passes >= LEAST_PASSES)


def _with_dispersion():
    tables = (_registry.CLASSIFICATION_LOSSES, _registry.REGRESSION_LOSSES)
    return [name for table in tables for name in _registry.names(table, lambda e: e.dispersion)]


class ErrorBars:
    """Covariances of the weight vectors of a state that ``refusal`` lets pass.

    Attributes
    ----------
    dispersions : ndarray of shape (lanes,)
        The noise :math:`\\varphi`.
    """

    def __init__(self, state, shuffled):
        self.recipe = recipe = state.recipe
        self.dispersions = _dispersions(state)
        rounds, rows = state.rounds, state.progress.total("rows")
        factor = inflation(np.ravel(recipe.eta)[0], recipe.average, _passes(state), shuffled)
        self.of_lanes = []
        for block in state.blocks:
            method = _workers.method_of(block)
            matrices = method.structure.accumulated()
            for k in range(block.recipe.lanes):
                lane, learnt = _lane_of_least_prior(method, block.recipe, k, rounds, rows)
                phi = self.dispersions[block.first_lane + k]
                own = _Covariance(method.structure, matrices[lane], phi * factor * learnt / rows)
                self.of_lanes.append(own)

    def std(self):
        """Standard errors of the weights, (lanes, D)."""
        return np.array([own.std() for own in self.of_lanes])

    def margin_std(self, X):
        """Standard errors of the margins of rows, (n_rows, lanes)."""
        Z = X
        if self.recipe.intercept:
            ones = np.ones((X.shape[0], 1))
            Z = (
                sparse.hstack([X, ones], format="csr")
                if sparse.issparse(X)
                else np.hstack([X, ones])
            )
        parts = [
            np.column_stack([own.margin_std(Z[i : i + ROWS_AT_ONCE]) for own in self.of_lanes])
            for i in range(0, Z.shape[0], ROWS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.of_lanes)))


class _Covariance:
    """The covariance scale · R' G⁻¹ R of one weight vector: G in the units of the steps, R from them to raw units."""

    def __init__(self, structure, G, scale):
        self.diagonal = G.ndim == 1
        D = len(G)
        self.known = (
            G if self.diagonal else np.diag(G)
        ) > 0.0  # a feature that never varied is in no matrix
        if self.diagonal:
            self.R = structure.in_raw_units(np.ones((1, D)))[0]
            with np.errstate(divide="ignore"):
                self.P = np.where(self.known, scale / G, 0.0)
            return
        self.R = structure.in_raw_units(np.eye(D))
        self.P = np.zeros((D, D))
        inside = np.ix_(self.known, self.known)
        size = np.sqrt(
            np.diag(G)[self.known]
        )  # a diagonal of 1 makes the factor as accurate as can be
        factor = cho_factor(G[inside] / np.outer(size, size))
        self.P[inside] = scale * cho_solve(factor, np.eye(len(size))) / np.outer(size, size)

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


def _lane_of_least_prior(method, recipe, k, rounds, rows):
    """The lane of weight vector k with the smallest epsilon among the members that count, and the rounds that it has learnt from."""
    if recipe.rates == 1:
        return k, rounds
    parts = np.abs(method.present_coefficients()[k])
    members = recipe.rates  # none forgets: averages of all, then iterates of all
    parts = parts[:members] + parts[members:]
    lane = int(np.where(parts >= COUNTS * parts.max(), recipe.epsilon, np.inf).argmin())
    lane = lane * recipe.lanes + k
    return lane, rounds if method.learning_later()[lane] else rows


def _dispersions(state):
    """The noise of each weight vector: of the second half of the rows at first sight, whose predictions are good; of several
    targets, whose losses are recorded as one, of all rows."""
    dispersion, progress = _registry.loss(state.recipe.loss).dispersion, state.progress
    if state.recipe.lanes > 1:
        return dispersion(0.5 * _workers.residual_units(state) ** 2)
    rows, losses = progress.grid("rows"), progress.grid("loss")
    half = int(np.abs(rows - rows[-1] / 2).argmin())
    return dispersion(np.array([(losses[-1] - losses[half]) / (rows[-1] - rows[half])]))
