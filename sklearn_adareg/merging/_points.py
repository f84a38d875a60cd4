"""The point of a merged structure, and its average.

The evidence of a model is M = G − εI in common units. Evidence adds up. The weights are its precision-weighted mean: with P what is
added for caution (``MergeContext.priors``), o where the models began, and sums over the models,

    x = o + (P + Σ M)⁻¹ Σ (P + M)(x − o).

Both sums are sums over models, and where P does not depend on how rows are split neither order nor grouping matters. Dual averaging
has no mean to take: its sums of gradients add up, and its point follows from them.
"""

import numpy as np

from ._context import solve


def points(context, read, ratios, moves):
    """read(model), (L, D), of each model and of what they began with, in common units."""
    found = []
    for structure in context.everyone:
        x = read(structure) / ratios[id(structure)]
        if context.recipe.intercept:
            x[:, context.recipe.d] += moves[id(structure)]
        found.append(x)
    if context.base is None:
        found.append(start_of(context, ratios))
    return found[:-1], found[-1]


def start_of(context, ratios):
    """x_1 in common units: what no model has seen counts in ones there."""
    start = np.zeros((context.L, context.D))
    if context.recipe.start:
        scale, _ = context.units()
        unit = 1.0 if scale is None else np.where(scale > 0.0, scale, 1.0)[: context.recipe.d]
        start[:, : context.recipe.d] = context.recipe.start * unit
    return start


def mean(context, values, origin, evidence, base_evidence, squares):
    """The precision-weighted mean of (L, D) points, for evidence (L, D), (L, 1) or (L, D, D).

    ONS has moved from a base as far as the evidence of base and model together allowed; other potentials go as far as the new
    rows say. ``squares`` carry what is added to the evidence of each model over to common units, so that grouping does not matter. In
    a stack, of whose merge that is not promised, half as far does better.
    """
    behind = base_evidence if context.inverse else 0.0
    total = 0.0
    for k, (M, x, rounds) in enumerate(zip(evidence, values, context.new_rounds, strict=True)):
        carried = np.sqrt(squares[k]) if context.recipe.paired else squares[k]
        more = context.caution(rounds) * carried
        total = total + times(raised(M + behind, more), x - origin)
    whole = raised(sum(evidence) + behind, context.caution(max(context.new_rounds.sum(), 1.0)))
    moved = total / whole if whole.ndim == 2 else solve(whole, total)
    parts = context.part_of_moves()
    return origin + np.tile(parts, len(moved) // len(parts))[:, None] * moved


def raised(M, by):
    """M with more on its diagonal."""
    return M + by if M.ndim == 2 else M + by * np.eye(M.shape[1])


def times(M, x):
    """M x of each weight vector."""
    return M * x if M.ndim == 2 else np.einsum("lij,lj->li", M, x)


def write_means(context, new, evidence, base_evidence, ratios, moves, put):
    """x and the accumulator of its average; ``put`` writes a field of the new structure."""
    squares = [ratios[id(each)] ** 2 for each in context.structures]
    values, origin = points(context, lambda each: each.last_iterate(), ratios, moves)
    x = mean(context, values, origin, evidence, base_evidence, squares)
    average = averages(context, ratios, moves, evidence, base_evidence)
    average = x if average is None else average
    write_point(context, new, x, average, put)


def write_point(context, new, x, average, put):
    """A point in its domain, and the accumulator of the average that belongs to it."""
    d = context.recipe.d
    weights = new.in_raw_units(x)
    for output in range(len(x)):
        inside = new.domain.confine(weights[output, :d])
        if not np.array_equal(inside, weights[output, :d]):
            scale = new.arrays.get("scale")
            unit = 1.0 if scale is None else np.where(scale > 0.0, scale, 1.0)[:d]
            x[output, :d] = inside * unit
    weight = context.averaging_weight()
    put("x", x)
    if context.averaging:
        put("u", (x - average) * weight)
    new.arrays["clock"][:] = context.total, weight


def sums_of_gradients(context, ratios, kept=lambda each: 1.0):
    """Σ g of all models, in common units."""

    def read(structure):
        return kept(structure) * structure.field("theta") * ratios[id(structure)]

    parts = [read(structure) for structure in context.structures]
    if context.base is None:
        return sum(parts)
    own = read(context.base_structure)
    new = [part - left * own for part, left in zip(parts, context.kept, strict=True)]
    return context.kept.mean() * own + sum(new)


def averages(context, ratios, moves, evidence, base_evidence):
    """The mean of the models' averages, for a point that comes from elsewhere; None where there is none."""
    if not context.averaging:
        return None
    squares = [ratios[id(each)] ** 2 for each in context.structures]
    values, origin = points(context, lambda each: each.average(), ratios, moves)
    return mean(context, values, origin, evidence, base_evidence, squares)
