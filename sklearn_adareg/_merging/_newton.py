"""Newton steps: matrices and weights in the coordinates of united statistics of the features.

A feature's values are z' = f'z − c' in a model. The merged model has another factor f and center c, so rows (z', 1) become T (z', 1)
with f/f' on the diagonal of T and c' f/f' − c in its last column: G becomes T G Tᵀ, and b = G x becomes T b. Ridges are pseudo-rows
(e_i, 0), which T only scales. They are taken out before evidence is added, and those of the united statistics are put in once. The
small ridge of the intercept stays in each.

G x is a sum of pseudo-targets over rows, so the mean is (R + Σ M)⁻¹ Σ G x: for the squared error and steps of least squares it is the
model of all rows.
"""

from typing import NamedTuple

import numpy as np

from .._kernels._columns import Columns
from .._kernels._inverse import Inverse
from ._company import at_least, solve
from ._matrices import inverse_of
from ._points import write_point

NAMES = Columns.names()
AT = {name: place for place, name in enumerate(NAMES)}
SCALED = ("center", "first", "low", "high", "total", "limit")  # as a feature's values are
SQUARED = ("second", "ridge")
ADDED = ("seen", "first", "second", "total", "varied")
RIDGE_OF_INTERCEPT = 0.1
LEAST = 1e-3  # of the ridges: what must be left of G where differences are taken, or the prior is given back in turns


class Piece(NamedTuple):
    """One lane of one model, in the coordinates of the merged model; matrices, or diagonals."""

    M: np.ndarray  # G without the ridges
    G: np.ndarray
    b: np.ndarray  # G x
    b_average: np.ndarray  # G times the average
    x: np.ndarray
    average: np.ndarray


def merge_newton(company, new):
    """Fill the arrays of Newton lanes."""
    recipe, whole = company.recipe, company.setting.whole_lanes
    d, L = recipe.d, company.L
    columns = united_columns(company)
    new.arrays["columns"][:] = columns
    _, _, moves = company.offsets()
    epsilons = np.repeat(np.zeros(company.R) + np.asarray(recipe.epsilon, dtype=float), company.K)
    present = np.append(columns[:d, AT["ridge"]] > 0.0, [True] * recipe.intercept)
    models = [Lanes(each, company, columns, moves[id(each)]) for each in company.everyone]
    x, average = np.zeros((L, company.D)), np.zeros((L, company.D))
    for lane in range(L):
        kept = company.setting.kept_by(lane // company.K)
        ridges = np.zeros(company.D)
        ridges[:d] = epsilons[lane] * columns[:d, AT["ridge"]]
        pieces = [model.piece(lane, epsilons[lane], kept) for model in models]
        left = kept**company.new_rounds
        x[lane], average[lane], G = _combined(company, lane, pieces, ridges, left, present)
        if lane < whole:
            at = np.ix_(present, present)
            new.arrays["G"][lane], new.arrays["P"][lane] = G, 0.0
            new.arrays["P"][lane][at] = inverse_of(G[at])
        else:
            new.arrays["diagonal"][lane - whole] = G
    write_point(company, new, x, average, lambda name, values: _put(new, name, values))


class Lanes:
    """The lanes of one model, and the way from its coordinates to those of the merged model."""

    def __init__(self, structure, company, united, move):
        self.structure, self.recipe, self.move = structure, company.recipe, move
        self.whole, d = company.setting.whole_lanes, company.recipe.d
        columns = structure.arrays["columns"]
        self.ridges = np.zeros(company.D)
        self.ridges[:d] = columns[:d, AT["ridge"]]
        self.T, self.scales = _transform(columns, united, d, company.D)
        self.G = accumulated(structure)

    def piece(self, lane, epsilon, kept):
        """A lane in the merged model's coordinates; only lanes that do not forget have an average."""
        T, G = self.T, self.G[lane]
        x = self.structure.field("x")[lane].copy()
        if self.recipe.intercept:
            x[self.recipe.d] += self.move[lane]
        average, weight = x, self.structure.arrays["clock"][1]
        if kept == 1.0 and "u" in self.structure.arrays["fields"] and weight > 0.0:
            average = x - self.structure.field("u")[lane] / weight
        if lane < self.whole:
            M = T @ (G - np.diag(epsilon * self.ridges)) @ T.T
            moved = _moved(T, x), _moved(T, average)
            return Piece(M, T @ G @ T.T, T @ (G @ x), T @ (G @ average), *moved)
        M, G = (G - epsilon * self.ridges) * self.scales**2, G * self.scales**2
        x, average = _moved(T, x), _moved(T, average)
        return Piece(M, G, G * x, G * average, x, average)


def _combined(company, lane, pieces, ridges, left, present):
    """Point, average and G of one lane; ``left``: what of the base each model has not forgotten."""
    models = pieces[: len(company.structures)]
    M = sum(piece.M for piece in models)
    x = average = np.zeros(len(ridges))
    if company.base is not None:
        base = pieces[-1]
        M = M - (left.sum() - left.mean()) * base.M
        x, average = base.x, base.average
    b = sum(piece.b - _times(piece.G, x) for piece in models)
    b_average = sum(piece.b_average - _times(piece.G, average) for piece in models)
    G = _definite(M, ridges, present)
    part = company.part_of_moves()[lane]
    return x + part * _divided(G, b, present), average + part * _divided(G, b_average, present), G


def _definite(M, ridges, present):
    """M and the ridges, not below a small part of them in any direction; zeros where a feature is in no matrix."""
    sizes = np.where(ridges > 0.0, ridges, RIDGE_OF_INTERCEPT)
    if M.ndim == 1:
        return np.where(present, np.maximum(M + ridges, LEAST * sizes), 0.0)
    at, roots = np.ix_(present, present), np.sqrt(sizes[present])
    inner = (M + np.diag(ridges))[at] / np.outer(roots, roots)
    G = np.zeros_like(M)
    G[at] = at_least(inner[np.newaxis], LEAST)[0] * np.outer(roots, roots)
    return G


def _divided(G, b, present):
    x = np.zeros(len(b))
    if G.ndim == 1:
        x[present] = b[present] / G[present]
    elif present.any():
        x[present] = solve(G[np.ix_(present, present)][np.newaxis], b[present][np.newaxis])[0]
    return x


def _times(G, x):
    return G @ x if G.ndim == 2 else G * x


def _put(new, name, values):
    new.field(name)[:] = values


def accumulated(structure):
    """G of each lane, (D, D) or its diagonal (D,)."""
    arrays = structure.arrays
    matrices = Inverse({**arrays, "P": arrays["P"].copy(), "pending_w": arrays["pending_w"].copy()})
    matrices = matrices.accumulated() / arrays["inflation"][:, None, None]
    return [*matrices, *arrays["diagonal"]]


# ---- coordinates --------------------------------------------------------------------------------------------------


def united_columns(company):
    """Statistics of the features over all models' rows: sums, and what follows from them."""
    parts = [each.arrays["columns"].copy() for each in company.everyone]
    models = parts[: len(company.structures)]
    factors = np.array([part[:, AT["factor"]] for part in parts])
    factor = np.min(np.where(factors > 0.0, factors, np.inf), axis=0)
    factor = np.where(np.isfinite(factor), factor, 0.0)
    for part, own in zip(parts, factors, strict=True):
        by = np.where(own > 0.0, factor / np.where(own > 0.0, own, 1.0), 1.0)
        part[:, [AT[name] for name in SCALED]] *= by[:, None]
        part[:, [AT[name] for name in SQUARED]] *= (by * by)[:, None]
    seen = np.array([part[:, AT["seen"]] for part in models])
    near = sum(part[:, AT["seen"]] * part[:, AT["center"]] for part in models)
    near = near / np.maximum(seen.sum(axis=0), 1.0)
    for part in parts:
        _measure_from(part, near)
    out = models[0].copy()
    for name in ADDED:
        out[:, AT[name]] = sum(part[:, AT[name]] for part in models)
        if company.base is not None:
            out[:, AT[name]] -= (len(models) - 1) * parts[-1][:, AT[name]]
    for name, extreme, nothing in (("low", np.min, np.inf), ("high", np.max, -np.inf)):
        values = np.array([part[:, AT[name]] for part in models])
        values = extreme(np.where(seen > 0.0, values, nothing), axis=0)
        out[:, AT[name]] = np.where(np.isfinite(values), values, 0.0)
    for name in ("last", "limit"):
        out[:, AT[name]] = np.max([part[:, AT[name]] for part in models], axis=0)
    out[:, AT["factor"]] = factor
    _measure_from(out, _centers(company, out))
    out[:, AT["ridge"]] = Columns.squares(out, company.total, bool(company.recipe.intercept))
    enters = out[:, AT["ridge"]] > 0.0
    out[:, AT["entered"]] = 0.0
    out[enters, AT["entered"]] = np.arange(1.0, enters.sum() + 1.0)
    return out


def _measure_from(columns, center):
    """Σ (z − c) and Σ (z − c)² from another center."""
    by = columns[:, AT["center"]] - center
    seen, first = columns[:, AT["seen"]], columns[:, AT["first"]].copy()
    columns[:, AT["second"]] = np.maximum(
        columns[:, AT["second"]] + by * (2 * first + by * seen), 0.0
    )
    columns[:, AT["first"]] = first + by * seen
    columns[:, AT["center"]] = center


def _centers(company, columns):
    """The means of features that are mostly not zero; 0 for others, and where no intercept makes up for a center."""
    seen, first, center = (columns[:, AT[name]] for name in ("seen", "first", "center"))
    if not company.recipe.intercept:
        return np.zeros(len(columns))
    mean = (first + center * seen) / max(company.total, 1.0)
    return np.where(2.0 * seen > company.total, mean, 0.0)


def _transform(columns, united, d, D):
    """T, and the scales D on its diagonal."""
    own, common = columns[:d, AT["factor"]], united[:d, AT["factor"]]
    scales = np.ones(D)
    scales[:d] = np.where(own > 0.0, common / np.where(own > 0.0, own, 1.0), 1.0)
    T = np.diag(scales)
    if d < D:
        T[:d, d] = scales[:d] * columns[:d, AT["center"]] - united[:d, AT["center"]]
    return T, scales


def _moved(T, x):
    """The weights in other coordinates: Tᵀx'' = x'."""
    d = len(x) - 1
    out = x / np.diag(T)
    if np.count_nonzero(T[:-1, d]):
        out[d] = x[d] - T[:d, d] @ out[:d]
    return out
