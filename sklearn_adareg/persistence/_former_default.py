"""Models of the methods "newton" and "committee", the defaults of versions 0.1 and 0.2.0.dev0, as ones of the method "information".

A member kept a matrix G of slopes and curvatures, in features measured from centres and in units of its own, and an iterate x with
its average. A committee published their combination by exponential weights and small regressions. What is read from such a model is

- the weights x₀ that it published: all candidates begin there, and so does their prior;
- the G of the member that counts most, without its prior, about the means of the features and in their own units; r is such that
  x₀ is the minimiser of the sums and the penalty;
- what it knew of the features, of its residuals and of its classes.

So it predicts as it did and goes on from there. No value that it knew is limited: the limits of values come with the next rows.
"""

from dataclasses import MISSING, replace
from types import SimpleNamespace

import numpy as np

from .._kernels.loop import _learner
from .._kernels.solvers import _coordinate_descent
from ..estimators._starting import place_candidates
from ..model import _auto, _registry
from ..model._prequential import COUNT
from ..model._recipe import Recipe, to_plain

METHODS = ("newton", "committee")
COLUMNS = (  # what was known of a feature, in this order
    *("seen", "last", "center", "first", "second", "low", "high", "total", "varied", "limit"),
    *("ridge", "factor", "entered"),
)
RIDGE_OF_INTERCEPT = 0.1
LARGEST = np.finfo(np.float64).max
# of a committee
DISCOUNTS = 4  # factors by which its losses were discounted
HEAD_START, INACTIVE_LEAD = 2.0, 1.0
KEPT, KEPT_OF_JUMP, LOSS_JUMP = 0.998, 0.9, 0.3
FIRST_INACTIVE, CYCLE, ACTIVE = 1000, 256, 64


def is_former(recipe):
    """Whether a plain recipe is of one of these methods."""
    return recipe["method"] in METHODS


def upgrade(kept, parameters):
    """A plain state of one of these methods, in the words of format 4, as one of the method "information"."""
    old = _former_recipe(kept["recipe"])
    recipe = _recipe(old, parameters)
    counts, weight = kept["class_counts"], float(kept["progress"]["sums"][COUNT("weight")])
    blocks, first = [], 0
    for block in kept["blocks"]:
        outputs = block["n_outputs"]
        member = FormerBlock(old, outputs, block["arrays"])
        arrays = _arrays(replace(recipe, n_outputs=outputs), member, weight)
        if counts is not None:
            _count_classes(arrays["counts"], counts, first, arrays["clock"])
        blocks.append({"n_outputs": outputs, "arrays": arrays})
        first += outputs
    return {**kept, "recipe": to_plain(recipe), "blocks": blocks}


def _former_recipe(plain):
    """The fields of a former recipe, those that it had not at their defaults."""
    fields = Recipe.__dataclass_fields__.values()
    defaults = {field.name: field.default for field in fields if field.default is not MISSING}
    old = SimpleNamespace(**{"diagonal_members": 0, **defaults, **plain})
    old.D = old.d + bool(old.intercept)
    old.epsilons = np.ravel(np.asarray(old.epsilon, dtype=np.float64))
    forgetting = 1.0 if old.half_life is None else np.exp(-np.log(2.0) / old.half_life)
    old.memories = np.array(old.kept or [forgetting] * len(old.epsilons), dtype=np.float64)
    old.degree = _registry.loss(old.loss).degree
    return old


def _recipe(old, parameters):
    """What such a model would begin with today, as far as it says."""
    joint = bool(old.joint and old.n_outputs > 1)
    few = old.D <= _auto.FEW_COORDINATES
    follows = bool((old.memories < 1.0).any())  # changes
    asked = {name: vars(old)[name] for name in ("half_life", "domain", "loss", "alpha", "l1_ratio")}
    if follows and old.half_life is None:
        asked["half_life"] = "auto"
    kept, diagonal_kept = _auto.choose_memories(asked, few, joint, follows)
    epsilon = (parameters or {}).get("epsilon", "auto")
    if isinstance(epsilon, str):
        epsilon = _auto.JOINT_PRIORS if joint else _auto.PRIORS
    known = {name: vars(old)[name] for name in Recipe.__dataclass_fields__}
    none = "average paired transformed scaled relative counted shifted weights_as_rows zeros recent".split()
    chosen = {
        "method": "information",
        "epsilon": tuple(np.ravel(epsilon).tolist()),
        "kept": kept,
        "diagonal_kept": diagonal_kept,
        "coupled": joint and old.n_outputs * old.D <= _auto.MOST_COUPLED,
        "sparse": bool(old.sparse) and not few,
    }
    return Recipe(**{**known, **dict.fromkeys(none, False), **chosen, "eta": 1.0, "start": 0.0})


class FormerBlock:
    """What the arrays of a block of such a model say, for K weight vectors of R members each."""

    def __init__(self, old, K, arrays):
        self.old, self.K, self.arrays = old, K, arrays
        self.R, self.d, self.D = len(old.epsilons), old.d, old.D
        whole = (self.R - old.diagonal_members) * K
        shapes = {"cells": (len(arrays["fields"]), self.R * K, self.D), "G": (whole, self.D, self.D)}
        shapes |= {"columns": (max(self.d, 1), len(COLUMNS)), "clock": (2,)}
        if any(np.shape(arrays[name]) != shape for name, shape in shapes.items()) or whole < 1:
            raise ValueError("its arrays are not those of its recipe")
        cells = arrays["cells"].reshape(-1, self.R, K, self.D)
        self.rounds, averaging = arrays["clock"]
        self.x = cells[arrays["fields"].index("x")]
        self.averages = self.x
        if "u" in arrays["fields"] and averaging > 0.0:
            self.averages = self.x - cells[arrays["fields"].index("u")] / averaging
        columns = arrays["columns"][: self.d]
        self.columns = {name: columns[:, place] for place, name in enumerate(COLUMNS)}
        factor = self.columns["factor"]
        self.factor = np.where(factor > 0.0, factor, 1.0)
        if old.method == "committee":
            self.of_averages, self.of_iterates = _combination(self)
        else:
            self.of_averages = np.full((K, 1), float(old.average is not False))
            self.of_iterates = 1.0 - self.of_averages

    def published(self):
        """Raw weights, (K, D)."""
        weights = np.einsum("kr,rkd->kd", self.of_averages, self.averages)
        weights += np.einsum("kr,rkd->kd", self.of_iterates, self.x)
        if self.old.zeros:
            weights = self.with_zeros(weights)
        weights[:, : self.d] *= self.columns["factor"]
        if self.old.intercept:
            centers = self.columns["center"] / self.factor
            weights[:, self.d] -= weights[:, : self.d] @ centers
            if "offset" in self.arrays:
                weights[:, self.d] += self.arrays["offset"]
        return np.clip(weights, -LARGEST, LARGEST)

    def with_zeros(self, weights):
        """The minimiser of the members' quadratics and the L1 penalty, from the combined weights."""
        old, d = self.old, self.d
        parts = np.abs(self.of_averages) + np.abs(self.of_iterates)
        parts /= parts.sum(axis=1, keepdims=True)
        rates, units = self.rates()
        subgradient = self.arrays["subgradient"].reshape(self.R, self.K, self.D)
        low, high = {"box": (-1.0, 1.0), "nonnegative": (0.0, np.inf)}.get(old.domain, (-np.inf, np.inf))
        size = old.radius if old.domain == "box" else 1.0
        low, high = (np.full(d, bound) * size / self.factor for bound in (low, high))
        rounds = self.effective_rows(old.memories)
        found = np.array(weights)
        for k in range(self.K):
            matrix = sum(parts[k, r] * self.matrix(r, k) / max(rounds[r], 1.0) for r in range(self.R))
            due = old.alpha * old.l1_ratio * self.columns["factor"] * (parts[k] @ (rates / units)[:, k])
            slope = np.zeros(self.D)
            slope[:d] = due * (parts[k] @ subgradient[:, k, :d])
            found[k] = _coordinate_descent.minimised(matrix, slope, due, low, high, found[k])
        return found

    def effective_rows(self, memories):
        """Σ λ^s over the rounds so far."""
        lost = 1.0 - np.asarray(memories)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(lost > 0.0, (1.0 - np.power(memories, self.rounds)) / lost, self.rounds)

    def mean_of(self, name):
        """A running mean of each member and weight vector, (R, K); 1 where there is none."""
        shape = (self.R, self.K)
        if name not in self.arrays or not self.arrays["weight"][0] > 0.0:
            return np.ones(shape)
        mean = self.arrays[name].reshape(shape) / self.arrays["weight"][0]
        return np.where(mean > 0.0, mean, 1.0)

    def rates(self):
        """What steps were multiplied with in the units of residuals, and the unit of gradients, (R, K) each."""
        rho = np.sqrt(self.mean_of("residuals"))
        units = rho if self.old.degree != 1 else np.ones_like(rho)
        return rho / self.mean_of("curvatures"), units

    def matrix(self, r, k):
        """G of a member in the units of the features, its prior included."""
        arrays, vector = self.arrays, r * self.K + k
        whole = len(arrays["G"])
        if vector >= whole:
            return np.diag(arrays["diagonal"][vector - whole])
        lower = np.tril(arrays["G"][vector])
        waiting = arrays["pending_g"][vector, : int(arrays["count"][vector])]
        G = lower + np.tril(lower, -1).T + waiting.T @ waiting
        return G / (arrays["inflation"][vector] if "inflation" in arrays else 1.0)

    def sums(self, k, means):
        """Σ h z zᵀ of the rows about these means, in raw units, as the member that counts most has it, and its λ."""
        old, d = self.old, self.d
        steady = old.memories[: len(self.arrays["G"]) // self.K] == 1.0
        counts = np.abs(self.of_averages[k] + self.of_iterates[k])[: len(steady)]
        r = int(np.argmax(np.where(steady, 1.0 + counts, counts / (1.0 + counts.max()))))
        G = self.matrix(r, k)
        prior = np.full(self.D, RIDGE_OF_INTERCEPT)
        prior[:d] = old.epsilons[r] * self.columns["ridge"]
        values, vectors = np.linalg.eigh(G - np.diag(prior))
        G = (vectors * np.maximum(values, 0.0)) @ vectors.T
        rho = np.sqrt(self.mean_of("residuals")[r, k])
        G *= rho ** (old.degree - 2) if old.degree else self.mean_of("curvatures")[r, k]
        S = np.diag(np.append(1.0 / self.factor, np.ones(self.D - d)))
        if old.intercept:
            S[:d, d] = self.columns["center"] / self.factor - means
        return S @ G @ S.T, old.memories[r]

    def residual(self, k):
        """The root mean square of the residuals of what was published; 0 where residuals had no unit."""
        name = "committee_residuals" if self.old.method == "committee" else "residuals"
        if name not in self.arrays or not self.arrays["weight"][0] > 0.0:
            return 0.0
        return np.sqrt(self.arrays[name][k] / self.arrays["weight"][0])


# ---- what a committee published --------------------------------------------------------------------------------------


def _combination(block):
    """What the averages and the iterates of the members counted, (K, R) each."""
    old, R, K = block.old, block.R, block.K
    numbers = block.arrays["committee"]
    groups = 1 if old.joint else K
    alone = groups == K
    steady = np.flatnonzero(old.memories == 1.0)
    S = len(steady)
    sizes = {"steady_losses": S + 1 if S else 0, "v": S, "S": S * S, "mixed": min(S, 1)}
    if R > S:
        sizes |= {"discounted": DISCOUNTS * R, "recent_losses": DISCOUNTS + 1, "recent_v": R}
        sizes |= {"recent_S": R * R, "sides": 2, "surprise": 1}
    if numbers.shape != (groups, sum(sizes.values())):
        raise ValueError("its arrays are not those of its recipe")
    ends = np.cumsum(list(sizes.values()))[:-1]
    parts = [dict(zip(sizes, np.split(row, ends), strict=True)) for row in numbers]
    rest = block.rounds >= FIRST_INACTIVE and R > S > 0 and block.rounds % CYCLE >= ACTIVE
    rest = rest and all(_has_nothing_to_say(part) for part in parts)
    of_averages, of_iterates = np.zeros((groups, R)), np.zeros((groups, R))
    for group, part in enumerate(parts):
        sides = np.array([1.0, 0.0])
        if R > S and not rest:
            sides = _weights(part["sides"] + [0.0, HEAD_START]) if S else np.array([0.0, 1.0])
        if S:
            weights = _weights(part["steady_losses"][: S + alone])
            of_averages[group, steady] = weights[:S] + (weights[S] * part["v"] if alone else 0.0)
        if sides[1] > 0.0:
            weights = _weights(part["recent_losses"][: DISCOUNTS + alone])
            each = np.array([_weights(row) for row in part["discounted"].reshape(DISCOUNTS, R)])
            of_iterates[group] = weights[:DISCOUNTS] @ each
            of_iterates[group] += weights[DISCOUNTS] * part["recent_v"] if alone else 0.0
        of_averages[group] *= sides[0]
        of_iterates[group] *= sides[1]
    return tuple(np.repeat(found, K // groups, axis=0) for found in (of_averages, of_iterates))


def _has_nothing_to_say(part):
    """Whether the members that forget had no part in what predicted."""
    usual, last = (1.0 - KEPT) * part["sides"][0], (1.0 - KEPT_OF_JUMP) * part["surprise"][0]
    lead = part["sides"][1] + HEAD_START - part["sides"][0]
    return lead > INACTIVE_LEAD and last < 2.0 * usual + LOSS_JUMP


def _weights(losses):
    """exp(−loss), divided by their sum."""
    powers = np.exp(losses.min() - losses)
    return powers / powers.sum()


# ---- what it begins with ---------------------------------------------------------------------------------------------

MEAN, SQUARES, MODE, ENTRIES, SIZE, LEAST, MOST = 0, 1, 2, 3, 4, 7, 8  # rows of ``columns``


def _arrays(recipe, block, weight):
    """The arrays of a learner that has learnt what a former block had, from rows of this total weight."""
    arrays = recipe.method_class.allocate(recipe, recipe.n_outputs)
    layout = _learner.Layout(recipe, recipe.n_outputs)
    d, rounds = layout.d, block.rounds
    weight = weight if weight > 0.0 else rounds
    arrays["clock"][:] = rounds, weight
    _describe_columns(arrays["columns"][:, :d], block)
    means = arrays["columns"][MEAN, :d]
    if layout.intercept and not layout.sparse:
        arrays["centre"][:d] = means
    schedule = len(arrays["numbers"]) - 2 * layout.memories
    arrays["numbers"][schedule - 2] = 0.0  # its beginning is over
    arrays["numbers"][schedule : schedule + layout.memories] = rounds + 1.0
    weights = block.published()
    intercepts = weights[:, d] if layout.intercept else np.zeros(len(weights))
    place_candidates(arrays, layout, weights[:, :d], intercepts)
    _begin_sums(arrays, layout, recipe, block, weight)
    _begin_residuals(arrays, layout, recipe, block, weights, weight)
    return arrays


def _describe_columns(table, block):
    """Means, sums of squares and ranges of the features, from what was known of their values that were not 0."""
    seen, rounds, factor = block.columns["seen"], max(block.rounds, 1.0), block.factor
    center, zeros = block.columns["center"], block.rounds - block.columns["seen"]
    first = block.columns["first"] - zeros * center
    second = block.columns["second"] + zeros * center**2
    table[MEAN] = (center + first / rounds) / factor
    table[SQUARES] = np.maximum(second - first**2 / rounds, 0.0) / factor**2
    table[MODE] = np.where(2.0 * seen > rounds, center, 0.0) / factor
    table[ENTRIES] = block.columns["varied"]
    sizes = block.columns["total"] / np.maximum(block.columns["varied"], 1.0)
    table[SIZE] = np.maximum(sizes, 0.0) / factor
    anywhere = np.where(zeros > 0.0, 0.0, block.columns["low"])  # a value of rows
    table[LEAST] = np.minimum(block.columns["low"], anywhere) / factor
    table[MOST] = np.maximum(block.columns["high"], anywhere) / factor


def _begin_sums(arrays, layout, recipe, block, weight):
    """G of each memory, and r with which the published weights minimise the quadratic and the penalty."""
    d, D = layout.d, layout.D
    rows = block.effective_rows(layout.kept)
    arrays["mass"][:] = weight * rows / max(block.rounds, 1.0)
    l2, l1 = recipe.alpha * (1.0 - recipe.l1_ratio), recipe.alpha * recipe.l1_ratio
    for k in range(block.K):
        p, c = (0, k) if layout.joint else (k, 0)
        pair = c * layout.C - c * (c - 1) // 2 if layout.couples else c  # of class c with itself
        G, memory = block.sums(k, arrays["centre"][:d])
        x = arrays["x"][p, :D, c]
        penalty = np.zeros(D)
        penalty[:d] = l2 * x[:d] + l1 * np.sign(x[:d])
        for memory_of_new in range(layout.memories):
            part = rows[memory_of_new] / max(float(block.effective_rows(memory)), 1e-300)
            arrays["G"][p, memory_of_new, pair, :D, :D] = part * G
            arrays["r"][p, memory_of_new, c, :D] = part * (G @ x) + arrays["mass"][memory_of_new] * penalty


def _begin_residuals(arrays, layout, recipe, block, weights, weight):
    """The unit of residuals, the constant prediction, and what is known of targets: at least as wide as they were."""
    d, rounds = layout.d, max(block.rounds, 1.0)
    means = arrays["columns"][MEAN, :d]
    spread = np.abs(weights[:, :d]) @ np.sqrt(arrays["columns"][SQUARES, :d] / rounds)
    level = weights[:, :d] @ means + (weights[:, d] if layout.intercept else 0.0)
    if layout.joint:
        return
    arrays["levels"][:, 0], arrays["levels"][:, 1] = weight, weight * level
    if recipe.outputs_are_classes or recipe.loss in _registry.CLASSIFICATION_LOSSES:
        return
    residuals = np.array([block.residual(k) for k in range(block.K)])
    if recipe.degree:
        arrays["units"][:, 1] = weight / 3.0  # about as much as counts after many rows
        arrays["units"][:, 0] = arrays["units"][:, 1] * residuals**2
    table = arrays["target_columns"]
    deviation = spread + residuals
    if _registry.loss(recipe.loss).link.logarithmic:
        level = np.exp(np.clip(level, -300.0, 300.0))
        deviation = level * np.exp(np.minimum(spread, 300.0)) + residuals
    with np.errstate(over="ignore"):
        table[MEAN], table[SQUARES] = level, np.minimum(rounds * deviation**2, 1e300)
    table[LEAST], table[MOST] = level - deviation, level + deviation


def _count_classes(counts, of_state, first, clock):
    """The rows of each class, as the constant prediction counts them; ``first`` is the first class of the block."""
    unit = clock[1] / clock[0] if clock[0] > 0.0 else 1.0
    if counts.shape[0] == 1 and len(of_state) == counts.shape[1]:  # two classes, or a softmax
        counts[0] = unit * of_state
        return
    own = np.asarray(of_state[first : first + len(counts)])
    counts[:, 0], counts[:, 1] = unit * (of_state.sum() - own), unit * own
