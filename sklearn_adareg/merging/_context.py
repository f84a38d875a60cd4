"""The models that are merged, block by block: the sums over them, the point of a merged structure, and its average.

The evidence of a model is M = G − εI in common units. Evidence adds up. The weights are its precision-weighted mean: with P what is
added for caution (``MergeContext.caution``), o where the models began, and sums over the models,

    x = o + (P + Σ M)⁻¹ Σ (P + M)(x − o).

Both sums are sums over models, and where P does not depend on how rows are split neither order nor grouping matters. Dual averaging
has no mean to take: its sums of gradients add up, and its point follows from them.
"""

from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..model import _registry

CAUTION, LESS = 0.1, 0.02  # times √rounds: see ``MergeContext.caution``
EXACTLY = 2**20  # rounds whose averaging weights are added one by one
PANELS = 50


class MergeContext:
    """The compiled methods of one block in each model, and in the base that all of them went on from, if there is one.

    ``recipe`` is that of the merged block, ``new_seen`` the rows that each model has seen for the first time since the base;
    ``finally_`` says whether this is the last merge of a tree.
    """

    def __init__(self, recipe, methods, base, new_seen, finally_=True):
        self.finally_ = finally_
        self.recipe, self.methods, self.base, self.new_seen = recipe, methods, base, new_seen
        self.structures = [method.structure for method in methods]
        self.base_structure = None if base is None else base.structure
        self.rounds = np.array([_rounds(structure) for structure in self.structures])
        self.begun = 0.0 if base is None else _rounds(base.structure)
        self.new_rounds = self.rounds - self.begun
        self.total = self.begun + self.new_rounds.sum()
        setting = self.structures[0].setting
        self.setting, self.K, self.R, self.L, self.D = setting, setting.K, setting.R, setting.L, setting.D
        self.averaging = setting.averaging
        self.inverse = _registry.potential(recipe.potential).inverse
        self.kept = setting.forgetting**self.new_rounds  # what of the base each model still has
        self.scale, self.ratios = self._units()
        self.offset, self.started, self.moves = self._offsets()

    @property
    def everyone(self):
        """The structures of the models, and that of the base last."""
        return self.structures + ([] if self.base is None else [self.base_structure])

    def add(self, read):
        """Σ read(structure), where what comes from the base counts once."""
        parts = [read(each) for each in self.structures]
        if self.base is None:
            return sum(parts[1:], parts[0])
        own = read(self.base_structure)
        new = [part - own for part in parts]
        return own + sum(new[1:], new[0])

    def new_evidence(self, read):
        """What the models have learnt of G since the base, and what of the base is left: (K arrays, an array)."""
        parts = [read(structure) for structure in self.structures]
        if self.base is None:
            return parts, np.zeros_like(parts[0])
        own = read(self.base_structure)
        new = [part - kept * own for part, kept in zip(parts, self.kept, strict=True)]
        return new, self.kept.mean() * own

    def caution(self, rounds):
        """What is added to the evidence of so many rounds before a mean is taken.

        ONS and Newton steps follow the mean of a posterior, and this is its prior, ε. Other potentials take longer steps while
        there is little evidence, so a weight that few rounds have touched is not as sure as its G says: there this much, which
        grows slowly, keeps it from outweighing what all models together say. Those of a stack whose potential falls faster need
        less of it.
        """
        epsilon = self.setting.epsilon
        if self.inverse:
            return epsilon
        sizes = CAUTION * epsilon * np.sqrt(rounds)
        if not self.recipe.paired:
            return sizes
        fast = np.arange(self.L) >= self.K
        return np.where(fast, LESS / CAUTION, 1.0)[:, None] * sizes

    def part_of_moves(self):
        """How much of the moves from a base is taken, (L,): all of them where there is none, or one model has made them all.

        With a step size η of ONS or Newton steps, moves are η times what the gradients and the evidence ask for; a model makes up
        for that as it goes on, a sum of the moves of many models would not.
        """
        if self.base is None or not self.inverse or not self.finally_:
            return np.ones(self.L)
        shares = self.new_rounds / max(self.new_rounds.sum(), 1.0)
        eta = np.repeat(np.zeros(self.R) + np.asarray(self.recipe.eta, dtype=np.float64), self.K)
        return np.maximum(1.0 / np.maximum(eta, 1.0), shares @ shares)

    def averaging_weight(self):
        """C of as many rounds as all models have played."""
        rate = np.log(self.setting.forgetting) if self.setting.forgotten > 0.0 else 0.0
        return sum_of_weights(self.total, self.setting.gamma, rate)

    def _units(self):
        """The unit of each feature for all models, and what the units of each model are of it; None, 1 where there are none."""
        if not self.recipe.scaled:
            return None, {id(structure): np.ones(self.D) for structure in self.everyone}
        scale = np.max([structure.arrays["scale"] for structure in self.everyone], axis=0)
        unit = np.where(scale > 0.0, scale, 1.0)
        ratios = {}
        for structure in self.everyone:
            own = structure.arrays["scale"]
            # an unseen feature counts in ones; squares of the ratio stay numbers
            ratios[id(structure)] = np.minimum(np.where(own > 0.0, own, 1.0) / unit, 1e150)
        return scale, ratios

    def write_units(self, arrays):
        """Features in common units."""
        if self.scale is not None:
            arrays["scale"][:] = self.scale
            arrays["spread"][:] = self.add(lambda structure: structure.arrays["spread"])
        if "often" in arrays:
            arrays["often"][:] = self.add(lambda structure: structure.arrays["often"])
        if "peak" in arrays:
            arrays["peak"][:] = np.max([each.arrays["peak"] for each in self.everyone], axis=0)

    def _offsets(self):
        """What margins are measured from for all models, and how far the intercepts of each model move: (K,) and (L,) each."""
        nowhere = {id(structure): np.zeros(self.L) for structure in self.everyone}
        if not self.recipe.shifted:
            return None, None, nowhere
        started = self.add(lambda each: _rounds(each) * each.arrays["started"])
        sums = self.add(lambda each: _rounds(each) * each.arrays["started"] * each.arrays["offset"])
        offset = np.where(started > 0.0, sums / np.where(started > 0.0, started, 1.0), 0.0)
        moves = {}
        for structure in self.everyone:
            own = np.where(structure.arrays["started"] > 0.0, structure.arrays["offset"], offset)
            moves[id(structure)] = np.tile(own - offset, self.R)
        return offset, (started > 0.0).astype(np.float64), moves


def _rounds(structure):
    return float(structure.arrays["clock"][0])


def sum_of_weights(rounds, gamma, log_kept=0.0):
    """Σ λ^(T−t) t^γ over the rounds t up to T; O(1) in T beyond a million, by Euler and Maclaurin."""
    rounds = int(rounds)

    def weigh(t):
        return np.exp((rounds - t) * log_kept) * t**gamma

    if rounds <= EXACTLY:
        return float(np.sum(weigh(np.arange(1.0, rounds + 1.0))))
    first, last = float(EXACTLY), float(rounds)
    total = np.sum(weigh(np.arange(1.0, first)))
    nodes, shares = np.polynomial.legendre.leggauss(20)
    edges = last - (last - first) * 0.5 ** np.arange(PANELS + 1)
    edges[-1] = last
    for low, high in pairwise(edges):
        half = (high - low) / 2
        total += half * np.sum(shares * weigh(low + half * (1 + nodes)))
    for end, sign in ((first, -1.0), (last, 1.0)):
        slope = weigh(end) * (gamma / end - log_kept)
        total += weigh(end) / 2 + sign * slope / 12
    return float(total)


def solve(G, b):
    """G⁻¹b of each weight vector, (L, D): G is positive definite, in any units."""
    found = np.empty_like(b)
    for k, roots in enumerate(np.sqrt(np.diagonal(G, axis1=1, axis2=2))):
        scaled, part = G[k] / np.outer(roots, roots), b[k] / roots
        try:
            found[k] = cho_solve(cho_factor(scaled), part) / roots
        except LinAlgError:
            values, vectors = np.linalg.eigh(scaled)
            values = np.maximum(values, values[-1] * len(values) * np.finfo(float).eps)
            found[k] = vectors @ ((vectors.T @ part) / values) / roots
    return found


def at_least(G, least):
    """Matrices with their eigenvalues raised to ``least`` where differences, or rounding, have left them below."""
    for output in range(len(G)):
        G[output] = (G[output] + G[output].T) / 2
        values = np.linalg.eigvalsh(G[output])
        if not values[0] >= least * (1 - 1e-9):
            values, vectors = np.linalg.eigh(G[output])
            G[output] = (vectors * np.maximum(values, least)) @ vectors.T
    return G


def points(context, read):
    """read(model), (L, D), of each model and of what they began with, in common units."""
    found = []
    for structure in context.everyone:
        x = read(structure) / context.ratios[id(structure)]
        if context.recipe.intercept:
            x[:, context.recipe.d] += context.moves[id(structure)]
        found.append(x)
    if context.base is None:
        found.append(start_of(context))
    return found[:-1], found[-1]


def all_points(context):
    """``points`` of the last iterates and, where there are any, of the averages."""
    reads = [lambda each: each.last_iterate(), lambda each: each.average()]
    return [points(context, read) for read in reads[: 1 + bool(context.averaging)]]


def start_of(context):
    """x_1 in common units: what no model has seen counts in ones there."""
    start = np.zeros((context.L, context.D))
    if context.recipe.start:
        unit = 1.0 if context.scale is None else np.where(context.scale > 0.0, context.scale, 1.0)[: context.recipe.d]
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


def write_means(context, new, evidence, base_evidence):
    """x and the accumulator of its average."""
    x = means(context, lambda each: each.last_iterate(), evidence, base_evidence)
    average = averages(context, evidence, base_evidence)
    write_point(context, new, x, x if average is None else average)


def write_point(context, new, x, average, put=None):
    """A point in its domain, and the accumulator of the average that belongs to it; ``put`` writes a field of the new structure."""
    d = context.recipe.d
    weights = new.in_raw_units(x)
    for output in range(len(x)):
        inside = new.domain.confine(weights[output, :d])
        if not np.array_equal(inside, weights[output, :d]):
            scale = new.arrays.get("scale")
            unit = 1.0 if scale is None else np.where(scale > 0.0, scale, 1.0)[:d]
            x[output, :d] = inside * unit
    weight = context.averaging_weight()
    written = {"x": x, "u": (x - average) * weight} if context.averaging else {"x": x}
    for name, values in written.items():
        if put is None:
            new.field(name)[:] = values
        else:
            put(name, values)
    new.arrays["clock"][:] = context.total, weight


def sums_of_gradients(context, kept=lambda each: 1.0):
    """Σ g of all models, in common units."""

    def read(structure):
        return kept(structure) * structure.field("theta") * context.ratios[id(structure)]

    new, of_base = context.new_evidence(read)
    return of_base + sum(new)


def averages(context, evidence, base_evidence):
    """The mean of the models' averages, for a point that comes from elsewhere; None where there is none."""
    return means(context, lambda each: each.average(), evidence, base_evidence) if context.averaging else None


def means(context, read, evidence, base_evidence):
    """The mean of the points that ``read`` gives of each model."""
    squares = [context.ratios[id(each)] ** 2 for each in context.structures]
    return mean(context, *points(context, read), evidence, base_evidence, squares)
