"""sketch: the rows of all sketches make one, which is shrunk to its rank again.

Up to that shrink everything is exact, so order matters within the error of a sketch. Everything is done in the small space that the
rows of all models span.
"""

import numpy as np

from ._matrices import residual_units
from ._points import points, start_of, sums_of_gradients, write_point

RIDGE_OF_INTERCEPT = 0.1  # of Newton steps on a sketch
NEGLIGIBLE = 1e-14


def merge_sketch(company, new):
    """Algorithm 1 on a sketch: G = (ε + escaped)I + BᵀB."""
    scale, ratios = company.units()
    _, _, moves = company.offsets()
    company.write_units(new.arrays, scale)
    escaped = company.add(lambda each: each.arrays["escaped"])
    x, begun = points(company, lambda each: each.last_iterate(), ratios, moves)
    parts = [(x, begun)]
    if company.averaging:
        parts.append(points(company, lambda each: each.average(), ratios, moves))
    theta = sums_of_gradients(company, ratios) if company.recipe.dual else None
    out = np.zeros((len(parts), company.L, company.D))
    rho = residual_units(new.arrays, company)
    for lane in range(company.L):
        rows = [_rows(each, lane) * ratios[id(each)] for each in company.everyone]
        values, vectors = _joined(company, rows)
        for k, (points_of, origin) in enumerate(parts):
            out[k, lane] = _mean(company, lane, points_of, origin, rows, values, vectors)
        kept, more = _shrunk(values, new.arrays["B"].shape[1])
        new.arrays["escaped"][lane] = escaped[lane] + more
        write_rows(new.arrays, lane, np.sqrt(kept)[:, None] * vectors[: len(kept)])
        if theta is not None:
            base = company.setting.epsilon + new.arrays["escaped"][lane]
            eta = float(company.recipe.eta) * rho[lane]
            step = _times_psi(new, base, kept, vectors[: len(kept)], theta[lane])
            out[0, lane] = start_of(company, ratios)[lane] - eta * step
    if theta is not None:
        new.field("theta")[:] = theta
    write_point(company, new, out[0], out[-1], lambda name, value: _put(new, name, value))


def _put(new, name, values):
    new.field(name)[:] = values


def _rows(structure, lane):
    return structure.arrays["B"][lane, : int(structure.arrays["filled"][lane])]


def _joined(company, rows):
    """Eigenvalues, falling, and eigenvectors of Σ BᵀB, where what is the base's counts once."""
    weights = [np.ones(len(part)) for part in rows]
    if company.base is not None:
        weights[-1] *= 1.0 - len(company.structures)
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


def _mean(company, lane, values, origin, rows, eigenvalues, vectors):
    """The precision-weighted mean by G as it is before the shrink, by Woodbury's identity."""
    escaped = [each.arrays["escaped"][lane] for each in company.everyone]
    base, behind = 0.0, None
    if company.base is not None:
        base, behind = escaped[-1], rows[-1]
    total = 0.0
    for k, x in enumerate(values):
        gap = x[lane] - origin[lane]
        level = company.caution(company.new_rounds[k]) + escaped[k]
        part = rows[k].T @ (rows[k] @ gap)
        if behind is not None and not company.inverse:
            level -= base
            part -= behind.T @ (behind @ gap)
        total = total + level * gap + part
    level = company.caution(max(company.new_rounds.sum(), 1.0)) + sum(escaped[: len(values)])
    level -= (len(values) - company.inverse) * base
    if behind is not None and not company.inverse:
        new = [*rows[:-1], behind]
        weights = [np.ones(len(part)) for part in new]
        weights[-1] *= -float(len(values))
        eigenvalues, vectors = spectrum(np.concatenate(new), np.concatenate(weights))
    along = vectors @ total
    return (
        origin[lane] + (total - vectors.T @ (eigenvalues / (level + eigenvalues) * along)) / level
    )


def _shrunk(values, room):
    """Eigenvalues that fit into the rows there are, and how much has escaped: robust frequent directions."""
    if len(values) <= room:
        return values, 0.0
    rank = room // 2
    return values[:rank] - values[rank], values[rank]


def write_rows(arrays, lane, rows):
    """The rows of a sketch, and their Gram matrix."""
    n = len(rows)
    arrays["B"][lane] = 0.0
    arrays["B"][lane, :n] = rows
    arrays["K"][lane] = 0.0
    arrays["K"][lane, :n, :n] = rows @ rows.T
    arrays["filled"][lane] = n


def _times_psi(new, base, values, vectors, b):
    psi = new.potential(np.append(base + values, base))
    along = vectors @ b
    return psi[-1] * b + vectors.T @ ((psi[:-1] - psi[-1]) * along)


def merge_newton_sketch(company, new):
    """Newton steps on a sketch: G = Λ + BᵀB, with B in the coordinates in which Λ is I."""
    scale, ratios = company.units()
    _, _, moves = company.offsets()
    company.write_units(new.arrays, scale)
    L, D, K = company.L, company.D, company.K
    prior = np.full(D, float(np.ravel(company.recipe.epsilon)[0]))
    if company.recipe.intercept:
        prior[company.recipe.d] = RIDGE_OF_INTERCEPT
    parts = [points(company, lambda each: each.last_iterate(), ratios, moves)]
    if company.averaging:
        parts.append(points(company, lambda each: each.average(), ratios, moves))
    diagonals = company.add(lambda each: each.arrays["root"] ** -2.0 - prior) + prior
    diagonals = np.maximum(diagonals, prior)
    out = np.zeros((len(parts), L, D))
    for lane in range(L):
        natural = [
            _rows(each, lane) / each.arrays["root"][lane] * ratios[id(each)]
            for each in company.everyone
        ]
        root = 1.0 / np.sqrt(diagonals[lane])
        values, vectors = _joined(company, [rows * root for rows in natural])
        for k, (points_of, origin) in enumerate(parts):
            total = 0.0
            for each, rows, x in zip(company.structures, natural, points_of, strict=False):
                gap = x[lane] - origin[lane]
                total = total + gap * each.arrays["root"][lane] ** -2.0 + rows.T @ (rows @ gap)
            along = vectors @ (total * root)
            turned = total * root - vectors.T @ (values / (1.0 + values) * along)
            out[k, lane] = origin[lane] + company.part_of_moves()[lane] * turned * root
        rank = new.arrays["B"].shape[1] // 2
        if (
            len(values) > 2 * rank
        ):  # the largest stay whole, and the first members give the rest to the diagonal
            kept = np.sqrt(values[:rank])[:, None] * vectors[:rank] / root
            if lane < K:
                rest = (np.sqrt(values[rank:])[:, None] * vectors[rank:] / root) ** 2
                diagonals[lane] += rest.sum(axis=0)
        else:
            kept = np.sqrt(values)[:, None] * vectors / root
        new.arrays["root"][lane] = 1.0 / np.sqrt(diagonals[lane])
        write_rows(new.arrays, lane, kept * new.arrays["root"][lane])
    # points are kept in the coordinates in which Λ is I
    put = {name: values for name, values in zip(("x", "average"), (out[0], out[-1]), strict=True)}
    write_point(
        company,
        new,
        put["x"],
        put["average"],
        lambda name, value: _put(new, name, value / new.arrays["root"]),
    )
