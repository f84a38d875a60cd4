"""full and kronecker: evidence in whole matrices."""

import numpy as np

from ._context import at_least
from ._points import averages, start_of, sums_of_gradients, write_means, write_point


def merge_full(context, new):
    scale, ratios = context.units()
    _, _, moves = context.offsets()
    epsilon, D = context.setting.epsilon, context.D

    def read(structure):
        G = structure.accumulated()
        G[:, np.arange(D), np.arange(D)] -= epsilon
        r = ratios[id(structure)]
        return G * np.outer(r, r)

    evidence, base_evidence = context.new_evidence(read)
    G = base_evidence + sum(evidence)
    G[:, np.arange(D), np.arange(D)] += epsilon
    context.write_units(new.arrays, scale)
    write_matrices(new.arrays, at_least(G, epsilon))
    _add_refreshes(context, new)
    if context.recipe.dual:
        _write_full_sums(context, new, ratios, moves, evidence, base_evidence)
    else:
        write_means(context, new, evidence, base_evidence, ratios, moves, _put_rows(new))


def _put_rows(new):
    def put(name, values):
        new.field(name)[:] = values

    return put


def write_matrices(arrays, G):
    """Matrices G, with their inverses where those are kept, and nothing that waits."""
    arrays["G"][:] = G
    if "P" in arrays:
        for output, one in enumerate(G):
            arrays["P"][output] = inverse_of(one)


def inverse_of(G):
    """G⁻¹, symmetric, for a positive definite G in any units."""
    roots = np.sqrt(np.diag(G))
    P = np.linalg.inv(G / np.outer(roots, roots)) / np.outer(roots, roots)
    return (P + P.T) / 2


def _add_refreshes(context, new):
    if "refreshes" in new.arrays:
        new.arrays["refreshes"][:] = context.add(lambda each: each.arrays["refreshes"])


def _write_full_sums(context, new, ratios, moves, evidence, base_evidence):
    theta = sums_of_gradients(context, ratios)
    rho = residual_units(new.arrays, context)
    H = new.preconditioner() * rho[:, None, None]
    start = start_of(context, ratios)
    x = start - np.einsum("lij,lj->li", H, theta)
    _put_rows(new)("theta", theta)
    average = averages(context, ratios, moves, evidence, base_evidence)
    write_point(context, new, x, x if average is None else average, _put_rows(new))


def residual_units(arrays, context):
    """ρ of each weight vector, that steps are multiplied with; 1 where residuals have no unit."""
    if "residuals" not in arrays or not arrays["weight"][0] > 0.0:
        return np.ones(context.L)
    rho = np.sqrt(arrays["residuals"] / arrays["weight"][0])
    rho = np.where(rho > 0.0, rho, 1.0)
    if "curvatures" in arrays:
        means = arrays["curvatures"] / arrays["weight"][0]
        rho = rho / np.where(means > 0.0, means, 1.0)
    return rho


def merge_kronecker(context, new):
    """Both factors add up; the weights are a mean by the evidence on the features, which all weight vectors share."""
    scale, ratios = context.units()
    _, _, moves = context.offsets()
    epsilon = context.setting.epsilon
    context.write_units(new.arrays, scale)

    def read(structure, side):
        G = structure.accumulated()[side][np.newaxis]
        G = G - epsilon * np.eye(G.shape[1])
        if side == 0:
            return G
        r = ratios[id(structure)]
        return G * np.outer(r, r)

    for side, name in enumerate(("left", "right")):
        evidence, base_evidence = context.new_evidence(lambda each, side=side: read(each, side))
        G = base_evidence + sum(evidence)
        G = at_least(G + epsilon * np.eye(G.shape[1]), epsilon)
        new.arrays[f"{name}:G"][:] = G
        new.arrays[f"{name}:refreshes"][:] = context.add(lambda each, name=name: each.arrays[f"{name}:refreshes"])
    wide = [np.broadcast_to(M, (context.L, context.D, context.D)) for M in evidence]
    base_evidence = np.broadcast_to(base_evidence, wide[0].shape)
    write_means(context, new, wide, base_evidence, ratios, moves, _put_rows(new))
