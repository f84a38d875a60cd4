"""sketch: the rows of all sketches make one, which is shrunk to its rank again.

Up to that shrink everything is exact, so order matters within the error of a sketch. Everything is done in the small space that the
rows of all models span.
"""

import numpy as np

from ._context import all_points, start_of, sums_of_gradients, write_point
from ._matrices import residual_units

RIDGE_OF_INTERCEPT = 0.1  # of Newton steps on a sketch
NEGLIGIBLE = 1e-14


def merge_sketch(context, new):
    """Algorithm 1 on a sketch: G = (ε + escaped)I + BᵀB."""
    context.write_units(new.arrays)
    escaped = context.add(lambda each: each.arrays["escaped"])
    parts = all_points(context)
    theta = sums_of_gradients(context) if context.recipe.dual else None
    out = np.zeros((len(parts), context.L, context.D))
    rho = residual_units(new.arrays, context)
    for output in range(context.L):
        rows = [_rows(each, output) * context.ratios[id(each)] for each in context.everyone]
        values, vectors = _joined(context, rows)
        for k, (points_of, origin) in enumerate(parts):
            out[k, output] = _mean(context, output, points_of, origin, rows, values, vectors)
        kept, more, room = values, 0.0, new.arrays["B"].shape[1]
        if len(values) > room:  # robust frequent directions
            kept, more = values[: room // 2] - values[room // 2], values[room // 2]
        new.arrays["escaped"][output] = escaped[output] + more
        write_rows(new.arrays, output, np.sqrt(kept)[:, None] * vectors[: len(kept)])
        if theta is not None:
            base = context.setting.epsilon + new.arrays["escaped"][output]
            eta = float(context.recipe.eta) * rho[output]
            psi = new.potential(np.append(base + kept, base))
            along = vectors[: len(kept)] @ theta[output]
            step = psi[-1] * theta[output] + vectors[: len(kept)].T @ ((psi[:-1] - psi[-1]) * along)
            out[0, output] = start_of(context)[output] - eta * step
    if theta is not None:
        new.field("theta")[:] = theta
    write_point(context, new, out[0], out[-1])


def _rows(structure, output):
    return structure.arrays["B"][output, : int(structure.arrays["filled"][output])]


def _joined(context, rows):
    """Eigenvalues, falling, and eigenvectors of Σ BᵀB, where what is the base's counts once."""
    weights = [np.ones(len(part)) for part in rows]
    if context.base is not None:
        weights[-1] *= 1.0 - len(context.structures)
    return spectrum(np.concatenate(rows), np.concatenate(weights))


def spectrum(rows, weights):
    """Eigenvalues, falling, and eigenvectors of Σ w b bᵀ over the rows b; those that are not positive are left out."""
    if not len(rows):
        return np.zeros(0), rows
    basis, R = np.linalg.qr(rows.T)
    values, turned = np.linalg.eigh((R * weights) @ R.T)
    values, vectors = values[::-1], (basis @ turned[:, ::-1]).T
    positive = values > NEGLIGIBLE * max(values[0], 0.0)
    return values[positive], vectors[positive]


def _mean(context, output, values, origin, rows, eigenvalues, vectors):
    """The precision-weighted mean by G as it is before the shrink, by Woodbury's identity."""
    escaped = [each.arrays["escaped"][output] for each in context.everyone]
    base, behind = 0.0, None
    if context.base is not None:
        base, behind = escaped[-1], rows[-1]
    total = 0.0
    for k, x in enumerate(values):
        gap = x[output] - origin[output]
        level = context.caution(context.new_rounds[k]) + escaped[k]
        part = rows[k].T @ (rows[k] @ gap)
        if behind is not None and not context.inverse:
            level -= base
            part -= behind.T @ (behind @ gap)
        total = total + level * gap + part
    level = context.caution(max(context.new_rounds.sum(), 1.0)) + sum(escaped[: len(values)])
    level -= (len(values) - context.inverse) * base
    if behind is not None and not context.inverse:
        new = [*rows[:-1], behind]
        weights = [np.ones(len(part)) for part in new]
        weights[-1] *= -float(len(values))
        eigenvalues, vectors = spectrum(np.concatenate(new), np.concatenate(weights))
    along = vectors @ total
    return origin[output] + (total - vectors.T @ (eigenvalues / (level + eigenvalues) * along)) / level


def write_rows(arrays, output, rows):
    """The rows of a sketch, and their Gram matrix."""
    n = len(rows)
    arrays["B"][output] = 0.0
    arrays["B"][output, :n] = rows
    arrays["K"][output] = 0.0
    arrays["K"][output, :n, :n] = rows @ rows.T
    arrays["filled"][output] = n


def merge_newton_sketch(context, new):
    """Newton steps on a sketch: G = Λ + BᵀB, with B in the coordinates in which Λ is I."""
    context.write_units(new.arrays)
    L, D, K = context.L, context.D, context.K
    prior = np.full(D, float(np.ravel(context.recipe.epsilon)[0]))
    if context.recipe.intercept:
        prior[context.recipe.d] = RIDGE_OF_INTERCEPT
    parts = all_points(context)
    diagonals = context.add(lambda each: each.arrays["root"] ** -2.0 - prior) + prior
    diagonals = np.maximum(diagonals, prior)
    out = np.zeros((len(parts), L, D))
    for output in range(L):
        natural = [
            _rows(each, output) / each.arrays["root"][output] * context.ratios[id(each)] for each in context.everyone
        ]
        root = 1.0 / np.sqrt(diagonals[output])
        values, vectors = _joined(context, [rows * root for rows in natural])
        for k, (points_of, origin) in enumerate(parts):
            total = 0.0
            for each, rows, x in zip(context.structures, natural, points_of, strict=False):
                gap = x[output] - origin[output]
                total = total + gap * each.arrays["root"][output] ** -2.0 + rows.T @ (rows @ gap)
            along = vectors @ (total * root)
            turned = total * root - vectors.T @ (values / (1.0 + values) * along)
            out[k, output] = origin[output] + context.part_of_moves()[output] * turned * root
        rank = new.arrays["B"].shape[1] // 2
        if len(values) > 2 * rank:  # the largest stay whole, and the first members give the rest to the diagonal
            kept = np.sqrt(values[:rank])[:, None] * vectors[:rank] / root
            if output < K:
                rest = (np.sqrt(values[rank:])[:, None] * vectors[rank:] / root) ** 2
                diagonals[output] += rest.sum(axis=0)
        else:
            kept = np.sqrt(values)[:, None] * vectors / root
        new.arrays["root"][output] = 1.0 / np.sqrt(diagonals[output])
        write_rows(new.arrays, output, kept * new.arrays["root"][output])

    def put(name, values):  # points are kept in the coordinates in which Λ is I
        new.field(name)[:] = values / new.arrays["root"]

    write_point(context, new, out[0], out[-1], put)
