"""What stands around the structures: units of residuals, and the combination of a stack.

The numbers of a combination are losses and regressions on margins of the models themselves. They tell what to expect of the merged
weight vectors, and rows to come correct them: losses add up, and coefficients are precision-weighted means. What fades counts as
it has faded.
"""

import numpy as np

from .._kernels.aggregation import _stack

UNITS = ("weight", "residuals", "curvatures")
LONGEST = 4.0  # times the margins of a model: more would be a model that has learnt next to nothing


def merge_units(context, arrays):
    """Offsets, and the sums that residuals and curvatures are measured by."""
    if context.offset is not None:
        arrays["offset"][:], arrays["started"][:] = context.offset, context.started
    for name in arrays:
        if name in UNITS or name.endswith(("_residuals", "_curvatures")):
            arrays[name][:] = context.add(lambda each, name=name: each.arrays[name])


def merge_method(context, new):
    """Fill the arrays of what combines weight vectors: those of a stack; there are none in Algorithm 1."""
    if isinstance(new, _stack.Stack):
        _merge_stack(context, new)


def regression(matrices, coefficients, units, start, prior):
    """S and v of a merged regression, whose features are ``units`` times those of a model.

    (S_k + prior I)(v_k − v_1) + S_k v_1 is the sum of features times what the margins should have been. Both sums are taken over to
    the units of the merged features; a feature that has grown needs a smaller coefficient, and leaves less to the others.
    """
    identity = np.eye(len(start))
    S, sums = np.zeros_like(identity), np.zeros(len(start))
    for own, v, c in zip(matrices, coefficients, units, strict=True):
        S += own * np.outer(c, c)
        sums += c * ((own + prior * identity) @ (v - start) + own @ start)
    return S, start + np.linalg.solve(S + prior * identity, sums - S @ start)


def positive(S):
    """A symmetric matrix without its negative part, which differences may have."""
    S = (S + S.T) / 2
    values, vectors = np.linalg.eigh(S)
    return S if values[0] >= 0.0 else (vectors * np.maximum(values, 0.0)) @ vectors.T


def shares_of(context):
    """The share of each model in a mean: the rows that it has seen since the base."""
    new = context.new_seen if context.new_seen.sum() > 0.0 else context.rounds
    return new / new.sum() if new.sum() > 0.0 else np.full(len(new), 1.0 / len(new))


def _merge_stack(context, new):
    v, S = new.arrays["stack_v"], new.arrays["stack_S"]
    # S fades by (t/(t + 1))² with each row at first sight: what is left of the base in all models, and as if rows had come by turns
    begun, seen = context.begun + 1.0, context.new_seen
    left = ((begun / (begun + seen)) ** 2).sum() - (begun / (begun + seen.sum())) ** 2
    units = _units_of_margins(context, new.structure, *v.shape)
    for k in range(len(v)):
        own = [each.arrays["stack_v"][k] for each in context.structures]
        matrices = [each.arrays["stack_S"][k] for each in context.structures]
        if context.base is None:
            start = np.eye(len(v[k]))[0]
            S[k], v[k] = regression(matrices, own, units[:, k], start, _stack.StackRegression.prior())
        else:
            S[k] = positive(sum(matrices) - left * context.base_structure.arrays["stack_S"][k])
            v[k] = shares_of(context) @ own
    if context.recipe.recent:
        _merge_recent_side(context, new)


def _merge_recent_side(context, new):
    """What remembers the last rows alone is a mean over the models, each of which has seen others last.

    None of them tells how the merged iterates are to be combined, so the regression that forgets begins as the one that does not,
    and rows to come tell them apart; unless one model has made all the rounds.
    """
    shares, arrays = shares_of(context), new.arrays
    arrays["recent"][:] = 0.0
    for share, structure in zip(shares, context.structures, strict=True):
        recent = structure.arrays["recent"].T / context.ratios[id(structure)]
        recent[:, context.recipe.d :] += context.moves[id(structure)][: context.K, None]
        arrays["recent"] += share * recent.T
    for name in ("recent_v", "recent_S", "stack_losses"):
        arrays[name][:] = np.tensordot(shares, [each.arrays[name] for each in context.structures], 1)
    arrays["stack_mean"][:] = context.add(lambda each: each.arrays["stack_mean"])
    if shares.max() < 1.0:
        arrays["recent_v"][:, :-1], arrays["recent_v"][:, -1] = arrays["stack_v"], 0.0
        arrays["stack_losses"][:, 1] = arrays["stack_losses"][:, 0]


def _units_of_margins(context, new, stacks, width):
    """How much longer the margins of the merged weight vectors are than those of each model, (models, stacks, width).

    By the lengths of the weights in the norm of the evidence, which is large where features are; 1 where it is not kept for each
    coordinate, and not beyond LONGEST.
    """
    units = np.ones((len(context.structures), stacks, width))
    if "G" not in new.arrays.get("fields", ()):
        return units
    evidence = np.maximum(new.field("G") - context.setting.epsilon, 0.0)
    evidence[:, context.recipe.d :] = 0.0

    def squares(structure, ratio):
        points = [structure.average()] if context.averaging else []
        sums = [evidence * (x / ratio) ** 2 for x in (*points, structure.last_iterate())]
        each = np.sum(sums, axis=-1).reshape(len(sums), context.R, context.K)
        return each.sum(axis=2).reshape(1, -1) if stacks == 1 else each.reshape(width, -1).T

    merged = squares(new, 1.0)
    for k, structure in enumerate(context.structures):
        own = squares(structure, context.ratios[id(structure)])
        there = (own > 0.0) & (merged > 0.0) & np.isfinite(own) & np.isfinite(merged)
        units[k][there] = np.sqrt(merged[there] / own[there])
    return np.clip(units, 1.0 / LONGEST, LONGEST)
