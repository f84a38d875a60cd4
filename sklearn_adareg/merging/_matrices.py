"""What the structures know, merged: evidence of each coordinate (diag, iso), and in whole matrices (full, kronecker, block)."""

import numpy as np

from .._kernels.preconditioners.block._block import partition_of
from .._kernels.preconditioners.diagonal import _isotropic
from ._context import all_points, at_least, averages, mean, start_of, sums_of_gradients, write_means, write_point


def merge_coordinatewise(context, new):
    diagonal = "G" in new.arrays["fields"]
    epsilon = context.setting.epsilon

    def read(structure):
        if not diagonal:
            return (structure.accumulated() - epsilon)[:, None]
        kept = structure.kept()
        G = kept * structure.field("G") + (1.0 - kept) * epsilon
        return np.maximum(G - epsilon, 0.0) * context.ratios[id(structure)] ** 2

    evidence, base_evidence = context.new_evidence(read)
    evidence = [np.maximum(M, 0.0) for M in evidence]
    context.write_units(new.arrays)
    if diagonal:
        new.field("G")[:] = epsilon + base_evidence + sum(evidence)
    if isinstance(new, _isotropic.Isotropic):
        # where units may differ the evidence of each coordinate is kept, and is what it is judged by
        levels = epsilon + base_evidence + sum(evidence)
        new.arrays["trace"][:] = context.D * levels.mean(axis=1)
    for name in ("last", "charged"):
        if name in new.arrays:
            new.arrays[name][:] = context.total
    new.arrays["astray"][:] = 1.0  # the next round sees to the domain, and its gauge
    if context.recipe.dual:
        _write_coordinatewise_sums(context, new, evidence, base_evidence)
    else:
        write_means(context, new, evidence, base_evidence)


def _write_coordinatewise_sums(context, new, evidence, base_evidence):
    """Dual averaging: x = x_1 − HΣg."""
    unmultiplied = isinstance(new, _isotropic.IsotropicDual)
    fade = "fade" if unmultiplied and "fade" in new.arrays else None

    def kept(structure):
        if unmultiplied:
            return structure.arrays["fade"][0] if fade else 1.0
        return structure.kept()

    new.arrays["clock"][:] = context.total, context.averaging_weight()  # which steps depend on
    theta, d = sums_of_gradients(context, kept), context.recipe.d
    rate, _ = new.present_rates()
    h = rate * new.present_steps()
    if context.recipe.intercept and any(move.any() for move in context.moves.values()):
        # offsets differ: the intercept is brought to where the mean of the intercepts is
        shares = context.rounds / max(context.rounds.sum(), 1.0)
        move = sum(share * context.moves[id(each)] for share, each in zip(shares, context.structures, strict=True))
        theta = theta.copy()
        theta[:, d] -= move / h[:, d]
    new.field("theta")[:] = theta
    average = averages(context, evidence, base_evidence)
    if unmultiplied:
        new.arrays["step"][:] = h[:, 0]
        if average is not None:
            new.field("u")[:] = average * context.averaging_weight()
        return
    x = start_of(context) - h * theta
    new.field("x")[:] = x
    if new.arrays.get("last") is not None:
        x = new.last_iterate()  # with the penalty of all rounds
    write_point(context, new, x, x if average is None else average)


def merge_full(context, new):
    epsilon, D = context.setting.epsilon, context.D

    def read(structure):
        G = structure.accumulated()
        G[:, np.arange(D), np.arange(D)] -= epsilon
        r = context.ratios[id(structure)]
        return G * np.outer(r, r)

    evidence, base_evidence = context.new_evidence(read)
    G = base_evidence + sum(evidence)
    G[:, np.arange(D), np.arange(D)] += epsilon
    context.write_units(new.arrays)
    write_matrices(new.arrays, at_least(G, epsilon))
    if "refreshes" in new.arrays:
        new.arrays["refreshes"][:] = context.add(lambda each: each.arrays["refreshes"])
    if not context.recipe.dual:
        write_means(context, new, evidence, base_evidence)
        return
    theta = sums_of_gradients(context)
    H = new.preconditioner() * residual_units(new.arrays, context)[:, None, None]
    x = start_of(context) - np.einsum("lij,lj->li", H, theta)
    new.field("theta")[:] = theta
    average = averages(context, evidence, base_evidence)
    write_point(context, new, x, x if average is None else average)


def write_matrices(arrays, G):
    """Matrices G, with their inverses where those are kept, and nothing that waits."""
    arrays["G"][:] = G
    if "P" in arrays:
        for output, one in enumerate(G):
            roots = np.sqrt(np.diag(one))  # in any units
            P = np.linalg.inv(one / np.outer(roots, roots)) / np.outer(roots, roots)
            arrays["P"][output] = (P + P.T) / 2


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
    epsilon = context.setting.epsilon
    context.write_units(new.arrays)

    def read(structure, side):
        G = structure.accumulated()[side][np.newaxis]
        G = G - epsilon * np.eye(G.shape[1])
        if side == 0:
            return G
        r = context.ratios[id(structure)]
        return G * np.outer(r, r)

    for side, name in enumerate(("left", "right")):
        evidence, base_evidence = context.new_evidence(lambda each, side=side: read(each, side))
        G = base_evidence + sum(evidence)
        G = at_least(G + epsilon * np.eye(G.shape[1]), epsilon)
        new.arrays[f"{name}:G"][:] = G
        new.arrays[f"{name}:refreshes"][:] = context.add(lambda each, name=name: each.arrays[f"{name}:refreshes"])
    wide = [np.broadcast_to(M, (context.L, context.D, context.D)) for M in evidence]
    base_evidence = np.broadcast_to(base_evidence, wide[0].shape)
    write_means(context, new, wide, base_evidence)


def merge_blocks(context, new):
    """Block by block, as the full structure is."""
    blocks, epsilon, L = partition_of(context.setting), context.setting.epsilon, context.L
    context.write_units(new.arrays)
    parts = all_points(context)
    order = np.argsort(blocks.place)  # the coordinate at each position
    found = np.empty((len(parts), L, context.D))
    theta = None
    if context.recipe.dual:
        theta = sums_of_gradients(context, lambda each: each.kept_so_far())
    first = position = 0
    rho = residual_units(new.arrays, context) * _share_of_blocks(context, new)
    for size, count in zip(blocks.sizes, blocks.counts, strict=True):
        here = order[position : position + size * count].reshape(count, size)

        def read(structure, size=size, count=count, first=first, here=here):
            G = _family(structure, size, count)
            kept = structure.kept_of_blocks()[first : first + count, None, None, None]
            G = kept * G + (1.0 - kept) * epsilon * np.eye(size)
            r = context.ratios[id(structure)][here]
            return (G - epsilon * np.eye(size)) * (r[:, :, None] * r[:, None, :])[:, None]

        evidence, base_evidence = context.new_evidence(read)
        flat = [M.reshape(count * L, size, size) for M in evidence]
        base = base_evidence.reshape(count * L, size, size)
        G = at_least(base + sum(flat) + epsilon * np.eye(size), epsilon)
        _write_family(new.arrays, size, G)

        squares = [np.repeat(context.ratios[id(each)][here] ** 2, L, axis=0)[:, :, None] for each in context.structures]

        def of(values, here=here, count=count, size=size):
            return values[:, here].transpose(1, 0, 2).reshape(count * L, size)

        to_mean = parts if theta is None else parts[1:]
        moved = [mean(context, list(map(of, own)), of(begun), flat, base, squares) for own, begun in to_mean]
        if theta is not None:
            eta = np.tile(np.asarray(context.recipe.eta, dtype=float), (count * L, 1))
            values, vectors = np.linalg.eigh(G)
            h = new.potential(np.maximum(values, epsilon).ravel()).reshape(values.shape)  # without η
            step = np.einsum("bij,bj->bi", np.einsum("bik,bk,bjk->bij", vectors, h, vectors), of(theta)) * eta
            moved.insert(0, of(start_of(context)) - step * np.tile(rho, count)[:, None])
        found[:, :, here] = np.reshape(moved, (len(parts), count, L, size)).transpose(0, 2, 1, 3)
        first, position = first + count, position + size * count

    def put(name, values):
        fields = new.arrays["fields"]
        new.arrays["cells"][fields.index(name)][:, blocks.place] = values

    if theta is not None:
        put("theta", theta)
    if "charged" in new.arrays:
        new.arrays["charged"][:] = context.total
    write_point(context, new, found[0], found[-1], put)


def _share_of_blocks(context, new):
    """The factor on steps that blocks share, between rounds."""
    if not context.recipe.scaled or not new.arrays["spread"][0] > 0.0:
        return 1.0
    lost = context.setting.forgotten
    rounds = context.total
    if lost > 0.0:
        rounds = (1.0 - context.setting.forgetting**rounds) / lost
    return np.sqrt(rounds / new.arrays["spread"][0])


def _family(structure, size, count):
    """G of the blocks of one size, (count, L, size, size)."""
    arrays = {name.partition(":")[2]: array for name, array in structure.arrays.items() if name.startswith(f"{size}:")}
    L = structure.setting.L
    if size == 1:
        return arrays["G"].reshape(count, L, 1, 1).copy()
    lower = np.tril(arrays["G"])
    G = lower + np.tril(lower, -1).transpose(0, 2, 1)
    if "pending_g" in arrays:
        for k, waiting in enumerate(arrays["count"].astype(int)):
            rows = arrays["pending_g"][k, :waiting]
            G[k] += rows.T @ rows
    if "fade" in arrays:
        fade = arrays["fade"][:, None, None]
        # an inverse gives the prior back in turn, a basis has it in 1 − fade
        G = fade * G
        if "P" not in arrays:
            G += (1.0 - fade) * structure.setting.epsilon * np.eye(size)
    return G.reshape(count, L, size, size)


def _write_family(arrays, size, G):
    if size == 1:
        arrays["1:G"][:] = G[:, 0, 0]
    else:
        write_matrices({name: arrays[f"{size}:{name}"] for name in "GP" if f"{size}:{name}" in arrays}, G)
