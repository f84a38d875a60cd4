"""What stands around the structures: units of residuals, the combinations of a stack and of a committee.

The numbers of a combination are losses and regressions on margins of the models themselves. They tell what to expect of the merged
lanes, and rows to come correct them: losses add up, and coefficients are precision-weighted means. What fades counts as
it has faded.
"""

import numpy as np

from .._kernels import _candidates, _committee, _stack

UNITS = ("weight", "residuals", "curvatures")


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
            merger(company, new.arrays)


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


def regression(matrices, coefficients, start, prior, S):
    """v of a merged regression: v_1 + (S + prior I)⁻¹ Σ (S_k + prior I)(v_k − v_1)."""
    identity = np.eye(len(start))
    parts = zip(matrices, coefficients, strict=True)
    b = sum((own + prior * identity) @ (v - start) for own, v in parts)
    return start + np.linalg.solve(S + prior * identity, b)


def positive(S):
    """A symmetric matrix without its negative part, which differences may have."""
    S = (S + S.T) / 2
    values, vectors = np.linalg.eigh(S)
    return S if values[0] >= 0.0 else (vectors * np.maximum(values, 0.0)) @ vectors.T


def shares_of(company):
    """The share of each model in a mean: the rows that it has seen since the base."""
    new = company.new_seen if company.new_seen.sum() > 0.0 else company.rounds
    return new / new.sum() if new.sum() > 0.0 else np.full(len(new), 1.0 / len(new))


def _merge_stack(company, arrays):
    v, S = arrays["stack_v"], arrays["stack_S"]
    faded = Faded(company, "stack_S")
    for k in range(len(v)):
        S[k] = positive(faded.sum(k))
        own = [each.arrays["stack_v"][k] for each in company.structures]
        if company.base is None:
            matrices = [each.arrays["stack_S"][k] for each in company.structures]
            start = np.eye(len(v[k]))[0]
            v[k] = regression(matrices, own, start, _stack.Stack.prior(), S[k])
        else:
            v[k] = shares_of(company) @ own


def _merge_committee(company, arrays):
    """Losses that decide between members are means over the models.

    What a member loses by its prior, or by too few rows, falls like 1/t, so the last third of all rows tells as much as that of one
    model's rows. So it is with the coefficients of a regression on members, which make up for too few rows: with K times as many
    rows, a Kth of what they are beside the first member.
    """
    steady_members, starts, _ = _candidates.layout(company.setting)
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
