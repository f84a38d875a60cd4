"""block: each block as a full structure of its own."""

import numpy as np

from .._kernels.preconditioners.block._block import partition_of
from ._context import at_least
from ._matrices import residual_units, write_matrices
from ._points import mean, points, start_of, sums_of_gradients, write_point


def merge_blocks(context, new):
    """Block by block, as the full structure is."""
    scale, ratios = context.units()
    _, _, moves = context.offsets()
    blocks, epsilon, L = partition_of(context.setting), context.setting.epsilon, context.L
    context.write_units(new.arrays, scale)
    x, _ = points(context, lambda each: each.last_iterate(), ratios, moves)
    begun = points(context, lambda each: each.last_iterate(), ratios, moves)[1]
    if context.averaging:
        averages_of, average_begun = points(context, lambda each: each.average(), ratios, moves)
    order = np.argsort(blocks.place)  # the coordinate at each position
    out, average = np.empty((L, context.D)), np.empty((L, context.D))
    theta = None
    if context.recipe.dual:
        theta = sums_of_gradients(context, ratios, lambda each: each.kept_so_far())
    first = position = 0
    rho = residual_units(new.arrays, context) * _share_of_blocks(context, new)
    for size, count in zip(blocks.sizes, blocks.counts, strict=True):
        here = order[position : position + size * count].reshape(count, size)

        def read(structure, size=size, count=count, first=first, here=here):
            G = _family(structure, size, count)
            kept = structure.kept_of_blocks()[first : first + count, None, None, None]
            G = kept * G + (1.0 - kept) * epsilon * np.eye(size)
            r = ratios[id(structure)][here]
            return (G - epsilon * np.eye(size)) * (r[:, :, None] * r[:, None, :])[:, None]

        evidence, base_evidence = context.new_evidence(read)
        flat = [M.reshape(count * L, size, size) for M in evidence]
        base = base_evidence.reshape(count * L, size, size)
        G = at_least(base + sum(flat) + epsilon * np.eye(size), epsilon)
        _write_family(new.arrays, size, G)

        squares = [np.repeat(ratios[id(each)][here] ** 2, L, axis=0)[:, :, None] for each in context.structures]

        def of(values, here=here, count=count, size=size):
            return values[:, here].transpose(1, 0, 2).reshape(count * L, size)

        def back(values, target, here=here, count=count, size=size):
            target[:, here] = values.reshape(count, L, size).transpose(1, 0, 2)

        if theta is None:
            moved = mean(context, [of(part) for part in x], of(begun), flat, base, squares)
        else:
            eta = np.tile(np.asarray(context.recipe.eta, dtype=float), (count * L, 1))
            h = _psi(new, G, epsilon)
            step = np.einsum("bij,bj->bi", h, of(theta)) * eta
            moved = of(start_of(context, ratios)) - step * np.tile(rho, count)[:, None]
        back(moved, out)
        if context.averaging:
            parts = [of(part) for part in averages_of]
            back(mean(context, parts, of(average_begun), flat, base, squares), average)
        first, position = first + count, position + size * count

    def put(name, values):
        fields = new.arrays["fields"]
        new.arrays["cells"][fields.index(name)][:, blocks.place] = values

    if theta is not None:
        put("theta", theta)
    if "charged" in new.arrays:
        new.arrays["charged"][:] = context.total
    write_point(context, new, out, average if context.averaging else out, put)


def _share_of_blocks(context, new):
    """The factor on steps that blocks share, between rounds."""
    if not context.recipe.scaled or not new.arrays["spread"][0] > 0.0:
        return 1.0
    lost = context.setting.forgotten
    rounds = context.total
    if lost > 0.0:
        rounds = (1.0 - context.setting.forgetting**rounds) / lost
    return np.sqrt(rounds / new.arrays["spread"][0])


def _psi(new, G, epsilon):
    """ψ of each matrix, without η."""
    values, vectors = np.linalg.eigh(G)
    h = new.potential(np.maximum(values, epsilon).ravel()).reshape(values.shape)
    return np.einsum("bik,bk,bjk->bij", vectors, h, vectors)


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
        return
    own = {"G": arrays[f"{size}:G"]}
    if f"{size}:P" in arrays:
        own["P"] = arrays[f"{size}:P"]
    write_matrices(own, G)
