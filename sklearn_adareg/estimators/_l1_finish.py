"""How ``fit`` ends under an L1 penalty: proximal Newton steps over the rows, from the model that the pass over them has learnt.

The objective is F(w, b) = (1/n) Σ ω_i ℓ(z_i·w + b, y_i) + α ρ ‖w‖₁ + α (1 − ρ)/2 ‖w‖², in a domain of intervals. A step takes the
gradient over all rows, O(nnz), then minimises the quadratic model of F over a working set, the nonzero weights and those that the
gradient pulls harder than the penalty, by coordinate descent, and is halved until F decreases. Weights outside of the working set
stay exactly 0. Weight vectors that learn jointly (softmax) take turns.
"""

import warnings
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from .._kernels.solvers import _coordinate_descent
from ..model import _feature_transform, _recipe, _runtime

DUE = 0.01  # the L1 penalty over the standard error of the gradient, from which on the minimum is sought
MOST_STEPS = 100
SMALL_SET = 300  # up to here the matrix of the quadratic model costs less than sweeps over columns
MOST_HALVINGS, ENOUGH = 30, 1e-4  # of a step, and the part of the decrease it promises that has to come
MORE = 100  # weights that may join the working set at a time, or as many as it has
SWEEPS, MOST_SWEEPS = 30, 100  # of coordinate descent over columns, and over the matrix, which are shorter
CANCELLED = 1e-12  # of a column's square: one that varies by less is one more intercept
INNER = 1e-8  # the largest decrease by one coordinate with which it ends
SETTLED = 1e-5  # a decrease, relative to the objective, after which to stop
TOLERATED = 1e-2  # a gradient beyond the penalty outside of the working set, relative to the penalty
CHUNK = 4096  # rows of lower precision that are converted at a time


class Penalty(NamedTuple):
    """The penalty and the bounds of every weight."""

    l1: float
    l2: float
    lower: float
    upper: float

    def value(self, w):
        """R(w)."""
        return self.l1 * np.abs(w).sum() + self.l2 / 2 * (w * w).sum()

    def unmet(self, gradient, w):
        """How far the gradient of the loss is from the penalty's optimality conditions, for each weight."""
        g = gradient + self.l2 * w
        beyond = np.sign(g) * np.maximum(np.abs(g) - self.l1, 0.0)
        distance = np.where(w == 0, beyond, g + self.l1 * np.sign(w))
        outwards = ((w <= self.lower) & (distance > 0)) | ((w >= self.upper) & (distance < 0))
        return np.where(outwards, 0.0, distance)


class Rows:
    """The rows of positive weight, by rows and by columns."""

    def __init__(self, X, order):
        self.X = X if len(order) == X.shape[0] else X[order]
        self.sparse = sparse.issparse(X)
        if self.sparse:
            self.X = sparse.csr_matrix(self.X, dtype=np.float64)
            if not self.X.has_canonical_format:
                self.X = self.X.copy()
                self.X.sum_duplicates()
            filled = self.X.nnz / max(1, self.X.shape[0])
            self.cheap_matrix = filled <= 2 * SWEEPS  # numbers per row, squared, against sweeps over them

    @cached_property
    def columns(self):
        """The same by columns."""
        return self.X.tocsc()

    def times(self, w):
        """Z w."""
        return self.X @ w if self.sparse else np.concatenate([part @ w for part in self._parts()])

    def transposed_times(self, s):
        """Zᵀ s."""
        if self.sparse:
            return self.X.T @ s
        starts = range(0, len(s), len(s) if self.X.dtype == np.float64 else CHUNK)
        parts = zip(starts, self._parts(), strict=True)
        return sum(part.T @ s[start : start + len(part)] for start, part in parts)

    def squares_times(self, s):
        """(Z∘Z)ᵀ s."""
        if self.sparse:
            return self.X.power(2).T @ s
        starts = range(0, len(s), CHUNK)
        parts = (self.X[start : start + CHUNK].astype(np.float64) for start in starts)
        return sum((z * z).T @ s[i : i + CHUNK] for i, z in zip(starts, parts, strict=True))

    def _parts(self):
        """The rows in double precision, a part at a time where they have to be converted."""
        if self.X.dtype == np.float64:
            return [self.X]
        return (self.X[i : i + CHUNK].astype(np.float64) for i in range(0, len(self.X), CHUNK))

    def model(self, chosen, curvatures, slopes, gradient, penalty, w, b, intercept):
        """The minimiser of the quadratic model over the chosen weights and the intercept, and how margins move on the way.

        ``gradient`` is Zᵀ slopes of the chosen.
        """
        own, m = w[chosen], len(chosen)
        Z, means = self._centred(chosen, intercept)
        if m > SMALL_SET or (self.sparse and not self.cheap_matrix):
            descent = _coordinate_descent.ColumnDescent(self.columns[:, chosen] if self.sparse else Z)
            goal, level, moves = descent.minimise(curvatures, slopes, penalty, own, intercept, SWEEPS, INNER)
            return goal, b + level - means @ (goal - own), moves
        G, border, corner = self._products(chosen, Z, curvatures)
        free = intercept and corner > 0
        along = slopes.sum() if free else 0.0
        pull = means * along - gradient - penalty.l2 * own
        if free:  # the intercept follows every step, as if columns had been centred
            part = np.diag(G).copy()
            G = G - np.outer(border, border / corner)
            pull += border * (along / corner)
            G[np.diag_indices(m)] *= np.diag(G) > CANCELLED * part
        G[np.diag_indices(m)] += penalty.l2
        bounds = np.full(m, penalty.l1), np.full(m, penalty.lower), np.full(m, penalty.upper)
        goal = _coordinate_descent.minimised(G, pull, *bounds, own, most_sweeps=MOST_SWEEPS, tol=INNER)
        change = goal - own
        level = -(along + border @ change) / corner if free else 0.0
        if self.sparse:
            whole = np.zeros(self.X.shape[1])
            whole[chosen] = change
            return goal, b + level, self.X @ whole + level
        return goal, b + level - means @ change, Z @ change + level

    def _products(self, chosen, Z, curvatures):
        """ZᵀCZ of the chosen columns, ZᵀC1 and 1ᵀC1; C the diagonal of curvatures."""
        m = len(chosen)
        if not self.sparse:
            weighted = curvatures[:, None] * Z
            return Z.T @ weighted, weighted.sum(axis=0), curvatures.sum()
        position = np.full(self.X.shape[1], -1)
        position[chosen] = np.arange(m)
        start = self.X.indptr.astype(np.int64, copy=False)
        index = self.X.indices.astype(np.int32, copy=False)
        G = _coordinate_descent.gram(self.X.data, index, start, curvatures, position, m)
        return G[:m, :m], G[m, :m], G[m, m]

    def _centred(self, chosen, intercept):
        """Dense columns in double precision, less their means where an intercept makes up for them; and those."""
        if self.sparse:
            return None, np.zeros(len(chosen))
        Z = np.asfortranarray(self.X[:, chosen], dtype=np.float64)
        if not intercept:
            return Z, np.zeros(len(chosen))
        means = Z.mean(axis=0)
        return Z - means, means


class Objective:
    """The loss of some weight vectors, with the units that the state measures residuals in."""

    def __init__(self, loss, targets, weights, units, degree):
        self.loss, self.weights, self.units, self.degree = loss, weights / len(targets), units, degree
        self.targets = np.ascontiguousarray(targets)

    def __call__(self, margins):
        """The mean loss, and the slopes and curvatures of every row in it."""
        targets = self.targets
        if self.degree:
            margins, targets = (margins - targets) / self.units, np.zeros_like(targets)
        values, slopes, curvatures = _coordinate_descent.evaluated(self.loss, np.ascontiguousarray(margins), targets)
        unit, omega = self.units, self.weights[:, None]
        value = (values * self.weights).sum() * (unit[0] ** self.degree if self.degree else 1.0)
        if self.degree:
            slopes, curvatures = slopes * unit ** (self.degree - 1), curvatures * unit ** (self.degree - 2)
        return value, slopes * omega, curvatures * omega


class Search:
    """Steps of the weight vectors of one objective. ``w`` (K, d) and ``b`` (K,) are changed in place."""

    def __init__(self, rows, objective, penalty, w, b, fit_intercept):
        self.rows, self.objective, self.penalty = rows, objective, penalty
        self.w, self.b, self.fit_intercept = w, b, fit_intercept
        self.margins = np.column_stack([rows.times(w[k]) + b[k] for k in range(len(w))])
        self.loss, self.slopes, self.curvatures = objective(self.margins)

    def minimise(self):
        """Steps until F settles; whether it did."""
        for _ in range(MOST_STEPS):
            before = self.loss + self.penalty.value(self.w)
            outside = max(self.step(k) for k in range(len(self.w)))
            decrease = before - self.loss - self.penalty.value(self.w)
            settled = not decrease > SETTLED * max(abs(before), self.penalty.value(self.w))
            if settled and outside <= TOLERATED * self.penalty.l1:
                return bool(np.isfinite(before))
        return False

    def step(self, k):
        """One step of weight vector k; how far weights outside of its working set are from the optimality conditions."""
        w, slopes = self.w[k], np.ascontiguousarray(self.slopes[:, k])
        curvatures = np.ascontiguousarray(self.curvatures[:, k])
        gradient = self.rows.transposed_times(slopes)
        chosen, outside = _working_set(w, np.abs(self.penalty.unmet(gradient, w)))
        goal, level, moves = self.rows.model(
            chosen, curvatures, slopes, gradient[chosen], self.penalty, w, self.b[k], self.fit_intercept
        )
        along, penalised = slopes @ moves, self.penalty.value(w)
        for halvings in range(MOST_HALVINGS):
            share = 0.5**halvings
            trial = w.copy()
            trial[chosen] = goal if share == 1 else w[chosen] + share * (goal - w[chosen])
            margins = self.margins.copy()
            margins[:, k] += share * moves
            loss, slopes, curvatures = self.objective(margins)
            extra = self.penalty.value(trial) - penalised
            if loss - self.loss + extra <= min(0.0, ENOUGH * (share * along + extra)):
                self.w[k], self.b[k] = trial, self.b[k] + share * (level - self.b[k])
                self.margins, self.loss = margins, loss
                self.slopes, self.curvatures = slopes, curvatures
                break
        return outside

    def subgradient(self):
        """Of ‖w‖₁, where F is at its minimum."""
        found = np.empty_like(self.w)
        for k, w in enumerate(self.w):
            g = self.rows.transposed_times(self.slopes[:, k]) + self.penalty.l2 * w
            found[k] = np.where(w != 0, np.sign(w), np.clip(-g / self.penalty.l1, -1, 1))
        return found


def _working_set(w, unmet):
    """The nonzero weights, and those that fail the optimality conditions by most; how far others fail them."""
    at_zero = np.flatnonzero((w == 0) & (unmet > 0))
    nonzero = np.flatnonzero(w)
    room = max(MORE, len(nonzero))
    outside = 0.0
    if len(at_zero) > room:
        split = np.argpartition(-unmet[at_zero], room)
        outside = unmet[at_zero[split[room:]]].max()
        at_zero = at_zero[split[:room]]
    return np.sort(np.concatenate([nonzero, at_zero])), outside


def finish(state, X, order, targets, weights):
    """Bring the model of ``state`` to the minimum of the penalised loss over these rows; whether that was due.

    It is, unless the L1 penalty is far below the standard error of most gradients: the minimum is then nearly the one without a
    penalty, which overfits, and not what the model of the pass tends to as alpha goes to 0. The state goes on from the minimum.
    """
    recipe, transform = state.recipe, state.feature_transform
    if transform is not None and _feature_transform.mixes(transform):
        return False  # where a penalty was next to nothing (``_kept_beginning``)
    coef, intercept = _runtime.published(state)
    domain = _recipe.domain_kernel(recipe)
    l1, l2 = recipe.alpha * recipe.l1_ratio, recipe.alpha * (1 - recipe.l1_ratio)
    penalty = Penalty(l1, l2, domain.lower, domain.upper)
    rows, units = Rows(X, order), _runtime.residual_units(state)
    omega = weights[order] if len(weights) else np.ones(len(order))
    own = targets[order]
    with np.errstate(all="ignore"):  # what is not finite is no decrease
        searches = []
        step = recipe.n_outputs if recipe.joint else 1  # weight vectors that learn from one loss
        for first in range(0, recipe.n_outputs, step):
            part = slice(first, first + step)
            seen = own if own.shape[1] == 1 else own[:, part]
            objective = Objective(_recipe.loss_kernel(recipe, first), seen, omega, units[part], recipe.degree)
            searches.append(Search(rows, objective, penalty, coef[part], intercept[part], recipe.intercept))
        # of the gradient in each feature: the roots of Σ_i s_i² z_ij²
        errors = np.sqrt(sum(rows.squares_times((each.slopes**2).sum(axis=1)) for each in searches))
        errors = errors[errors > 0]
        if len(errors) and l1 < DUE * np.median(errors):  # none: the model fits
            return False
        reached = [each.minimise() for each in searches]
        subgradient = np.concatenate([each.subgradient() for each in searches])
    if not all(reached):
        warnings.warn(
            f"fit did not reach the minimum of the loss with its L1 penalty in {MOST_STEPS} Newton steps; the weights are those of "
            "the last one. Scale the features, or raise alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if recipe.intercept:
        if transform is not None:
            intercept = intercept + coef @ transform[0]
        coef, subgradient = np.column_stack([coef, intercept]), np.pad(subgradient, ((0, 0), (0, 1)))
    for block in state.blocks:
        _runtime.method_of(block).restart(coef[block.outputs()], subgradient[block.outputs()])
    state.snapshot = state.beginning = None  # rows are not to be learnt anew from here
    return True
