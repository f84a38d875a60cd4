"""What stands around the structures: units of residuals, the combinations of a stack and of a committee.

The numbers of a combination are losses and regressions on margins of the models themselves. They tell what to expect of the merged
lanes, and rows to come correct them: losses add up, and coefficients are precision-weighted means. What fades counts as
it has faded.
"""

import numpy as np

from .._kernels import _committee, _committee_candidates, _stack, _stack_regression

UNITS = ("weight", "residuals", "curvatures")
LONGEST = 4.0  # times the margins of a model: more would be a model that has learnt next to nothing


def merge_units(company, arrays):
    """Offsets, and the sums that residuals and curvatures are measured by."""
    offset, started, _ = company.offsets()
    if offset is not None:
        arrays["offset"][:], arrays["started"][:] = offset, started
    for name in arrays:
        if name in UNITS or name.endswith(("_residuals", "_curvatures")):
            arrays[name][:] = company.add(lambda each, name=name: each.arrays[name])


def merge_method(company, new):
    """Fill the arrays of what combines lanes; there are none in Algorithm 1."""
    for kind, merger in MERGERS.items():
        if isinstance(new, kind):
            merger(company, new)


class Faded:
    """A sum over the rows at first sight that fades by (t/(t + 1))² with each of them, as if rows had come by turns."""

    def __init__(self, company, name):
        self.parts = [each.arrays[name] for each in company.structures]
        self.base = None if company.base is None else company.base_structure.arrays[name]
        begun, new = company.begun + 1.0, company.new_seen
        self.left = (begun / (begun + new)) ** 2
        self.left_in_all = (begun / (begun + new.sum())) ** 2

    def sum(self, at):
        """Of one part of the array."""
        total = sum(part[at] for part in self.parts)
        if self.base is None:
            return total
        return total - (self.left.sum() - self.left_in_all) * self.base[at]


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


def shares_of(company):
    """The share of each model in a mean: the rows that it has seen since the base."""
    new = company.new_seen if company.new_seen.sum() > 0.0 else company.rounds
    return new / new.sum() if new.sum() > 0.0 else np.full(len(new), 1.0 / len(new))


def _merge_stack(company, new):
    v, S = new.arrays["stack_v"], new.arrays["stack_S"]
    faded = Faded(company, "stack_S")
    units = _units_of_margins(company, new.structure, *v.shape)
    for k in range(len(v)):
        own = [each.arrays["stack_v"][k] for each in company.structures]
        if company.base is None:
            matrices = [each.arrays["stack_S"][k] for each in company.structures]
            start = np.eye(len(v[k]))[0]
            S[k], v[k] = regression(
                matrices, own, units[:, k], start, _stack_regression.StackRegression.prior()
            )
        else:
            S[k] = positive(faded.sum(k))
            v[k] = shares_of(company) @ own
    if company.recipe.recent:
        _merge_recent_side(company, new)


def _merge_recent_side(company, new):
    """What remembers the last rows alone is a mean over the models, each of which has seen others last.

    None of them tells how the merged iterates are to be combined, so the regression that forgets begins as the one that does not,
    and rows to come tell them apart; unless one model has made all the rounds.
    """
    shares, arrays = shares_of(company), new.arrays
    _, ratios = company.units()
    *_, moves = company.offsets()
    arrays["recent"][:] = 0.0
    for share, structure in zip(shares, company.structures, strict=True):
        recent = structure.arrays["recent"].T / ratios[id(structure)]
        recent[:, company.recipe.d :] += moves[id(structure)][: company.K, None]
        arrays["recent"] += share * recent.T
    for name in ("recent_v", "recent_S", "stack_losses"):
        arrays[name][:] = np.tensordot(
            shares, [each.arrays[name] for each in company.structures], 1
        )
    arrays["stack_mean"][:] = company.add(lambda each: each.arrays["stack_mean"])
    if shares.max() < 1.0:
        arrays["recent_v"][:, :-1], arrays["recent_v"][:, -1] = arrays["stack_v"], 0.0
        arrays["stack_losses"][:, 1] = arrays["stack_losses"][:, 0]


def _units_of_margins(company, new, stacks, width):
    """How much longer the margins of the merged lanes are than those of each model, (models, stacks, width).

    By the lengths of the weights in the norm of the evidence, which is large where features are; 1 where it is not kept for each
    coordinate, and not beyond LONGEST.
    """
    units = np.ones((len(company.structures), stacks, width))
    if "G" not in new.arrays.get("fields", ()):
        return units
    _, ratios = company.units()
    evidence = np.maximum(new.field("G") - company.setting.epsilon, 0.0)
    evidence[:, company.recipe.d :] = 0.0

    def squares(structure, ratio):
        points = [structure.average()] if company.averaging else []
        sums = [evidence * (x / ratio) ** 2 for x in (*points, structure.last_iterate())]
        each = np.sum(sums, axis=-1).reshape(len(sums), company.R, company.K)
        return each.sum(axis=2).reshape(1, -1) if stacks == 1 else each.reshape(width, -1).T

    merged = squares(new, 1.0)
    for k, structure in enumerate(company.structures):
        own = squares(structure, ratios[id(structure)])
        there = (own > 0.0) & (merged > 0.0)
        units[k][there] = np.sqrt(merged[there] / own[there])
    return np.clip(units, 1.0 / LONGEST, LONGEST)


def _merge_committee(company, new):
    """Losses that decide between members are means over the models.

    What a member loses by its prior, or by too few rows, falls like 1/t, so the last third of all rows tells as much as that of one
    model's rows. So it is with the coefficients of a regression on members, which make up for too few rows: with K times as many
    rows, a Kth of what they are beside the first member.
    """
    arrays = new.arrays
    steady_members, starts, _ = _committee_candidates.layout(company.setting)
    numbers, shares = arrays["committee"], shares_of(company)
    arrays["committee_mean"][:] = company.add(lambda each: each.arrays["committee_mean"])
    own = np.array([each.arrays["committee"] for each in company.structures])
    numbers[:] = np.tensordot(shares, own, 1)
    faded = Faded(company, "committee")
    for side, width in (("steady", steady_members), ("recent", company.R)):
        if f"{side}_v" not in starts:
            continue
        at_v = slice(starts[f"{side}_v"], starts[f"{side}_v"] + width)
        at_S = slice(starts[f"{side}_S"], starts[f"{side}_S"] + width**2)
        for group in range(len(numbers)):
            if company.base is None:
                first = np.eye(width)[0]
                numbers[group, at_v] = first + (numbers[group, at_v] - first) * (shares @ shares)
            if side == "steady":
                S = faded.sum((group, at_S)).reshape(width, width)
                numbers[group, at_S] = positive(S).ravel()


MERGERS = {_stack.Stack: _merge_stack, _committee.Committee: _merge_committee}
