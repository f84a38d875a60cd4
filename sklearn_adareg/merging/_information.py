"""The default learner: rows that are still held are joined, sums are added, and everything else is solved from them.

A model whose beginning lasts holds all of its rows. Such models are joined: a new one learns their rows by turns, as if these had
come to one model. Where that would be more than a beginning holds, and where a model's beginning has ended, there are sums over rows

    G = Σ h z zᵀ,    r = Σ z (h m − g),    z = (row − c_k, 1),

which are moved to one reference c, the mean of all rows, by S = I + (c_k − c) e_bᵀ: G ← S G Sᵀ, r ← S r. They add up, and so do
masses, counts, sums of squares about the common mean, and the sums of regressions. The prior is in none of them, so it counts once.
What all models went on from is subtracted where it would count more than once; memories that forget have that part of it left
which they had not forgotten. Limits follow from what is known of the columns then, and candidates are the minimisers.

Weights of candidates are multiplied, each divided by what all began with: those of several posteriors with one prior. Diagonal
candidates, which have no right side, are at the mean of their points, weighed by their G.
"""

import numpy as np
from scipy import sparse

from .._kernels.aggregation import _fixed_share
from .._kernels.loop import _learner, _rounds
from ..model import _runtime
from ..model._rows import make_rows
from ..model._state import Block

MEAN, SQUARES, MODE, ENTRIES, SIZE, LOW, HIGH, LEAST, MOST = range(9)  # in ``columns``
DELTA, PRODUCT, RESTED, RATIO = 0, 3, 5, 6  # in ``share_sums``
FEW = 64  # entries of a column, up to which they are counted
SMALLEST = 1e-300  # weight of a candidate that is carried on


def merge_learners(new, blocks, base=None):
    """Fill the arrays of a new block from those of several, which stay as they are; ``base``: what all of them went on from."""
    young = [block for block in blocks if is_young(block)]
    old = [block for block in blocks if not is_young(block)]
    parts = _joined(new, young, base if base is not None and is_young(base) else None)
    if len(parts) == 1 and not old:
        new.arrays = parts[0].arrays
        return
    parts = [absorbed(block) for block in (*old, *parts)]
    _add(new, parts, None if base is None else absorbed(base))


def is_young(block):
    """Whether the block still holds all of its rows."""
    return _runtime.method_of(block).begins()


def absorbed(block):
    """A copy that holds no rows."""
    twin = block.copy()
    if _runtime.method_of(twin).held():
        _runtime.method_of(twin).forget_rows()
    return twin


# ---- rows that are held -------------------------------------------------------------------------------------------


def held(block, first=0):
    """The rows of a young block from ``first`` on, their targets and weights."""
    arrays, recipe = block.arrays, block.recipe
    rows = slice(first, _runtime.method_of(block).held())
    values = arrays["row_values"][rows]
    if recipe.sparse:
        index = arrays["row_index"][rows]
        there = np.arange(values.shape[1]) < arrays["row_length"][rows, None]
        there &= index < recipe.d  # without the intercept
        pointers = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        shape = len(values), recipe.d
        values = sparse.csr_array((values[there], index[there], pointers), shape=shape)
    else:
        values = np.ascontiguousarray(values[:, : recipe.d])
    return values, arrays["row_targets"][rows].copy(), arrays["row_weights"][rows].copy()


def learn_rows(block, parts):
    """Let a new block learn the rows of all parts, one after the other; whether it has."""
    X, targets, weights = stacked(parts)
    rows = make_rows(X, _runtime.reading_of(block))
    tally = _runtime.method_of(block).play(rows, np.arange(len(weights)), targets, weights)
    return tally.status == _rounds.FINISHED


def by_turns(parts):
    """The rows of all parts, each spread evenly."""
    places = np.concatenate([(np.arange(len(w)) + 0.5) / max(len(w), 1) for _, _, w in parts])
    order = np.argsort(places, kind="stable")
    return tuple(part[order] for part in stacked(parts))


def stacked(parts):
    """Rows, targets and weights of all parts."""
    X, targets, weights = zip(*parts, strict=True)
    if any(map(sparse.issparse, X)):
        X = [sparse.vstack(list(map(sparse.csr_array, X)), format="csr")]
    return tuple(np.concatenate(part) if len(part) > 1 else part[0] for part in (X, targets, weights))


def _joined(new, young, base):
    """Young blocks, of which as few are left as can hold all rows."""
    begun = 0 if base is None else _runtime.method_of(base).held()
    sizes = np.array([_runtime.method_of(block).held() - begun for block in young], dtype=int)
    groups = []
    fewest = -(-sizes.sum() // max(_learner.KEPT - begun, 1))
    for k in np.argsort(-np.array(sizes), kind="stable"):
        fitting = [g for g in groups if begun + sizes[[*g, k]].sum() <= _learner.KEPT]
        if len(groups) < fewest or not fitting:
            groups.append([k])
        else:
            min(fitting, key=lambda group: sizes[group].sum()).append(k)
    out = []
    for group in groups:
        members = [young[k] for k in sorted(group)]
        if len(members) > 1:
            block = Block(new.recipe, new.first_output, new.recipe.n_outputs)
            rows = by_turns([held(member, begun) for member in members])
            if learn_rows(block, [rows] if base is None else [held(base), rows]):  # no round has stopped
                members = [block]
        out += members
    return out


# ---- sums -----------------------------------------------------------------------------------------------------------


class Parts:
    """The arrays of blocks that hold no rows, and of the block that all of them went on from; sums over them."""

    def __init__(self, blocks, base):
        self.models = [block.arrays for block in blocks]
        self.base = None if base is None else base.arrays
        self.begun = 0.0 if base is None else self.base["clock"][0]
        self.rows = np.array([arrays["clock"][0] for arrays in self.models]) - self.begun
        new = self.rows if self.rows.sum() > 0.0 else np.ones(len(self.rows))
        self.shares = new / new.sum()
        known = [*blocks] if base is None else [*blocks, base]
        self.prices = {id(block.arrays): _runtime.method_of(block).price() for block in known}

    @property
    def everyone(self):
        """The arrays of the models, and those of the base last."""
        return self.models + ([] if self.base is None else [self.base])

    def add(self, read, kept=1.0, left=None):
        """Σ read(arrays), the base once. What so many rows leave of it in a model is ``left(rows)``, or ``kept`` to this power."""
        total = sum(map(read, self.models))
        if self.base is None:
            return total
        left = [np.power(kept, rows) if left is None else left(rows) for rows in self.rows]
        return total - (sum(left) - sum(left) / len(left)) * read(self.base)

    def mean(self, read):
        """Of the models, by the rows that are theirs alone."""
        return sum(share * read(each) for share, each in zip(self.shares, self.models, strict=True))


def _add(block, blocks, base):
    """The sums of blocks that hold no rows, and what is solved from them."""
    recipe, parts = block.recipe, Parts(blocks, base)
    layout, arrays = _learner.Layout(recipe, recipe.n_outputs), block.arrays
    d = recipe.d
    arrays["clock"][:] = parts.add(lambda each: each["clock"])
    _add_columns(arrays, parts, "columns", bool(recipe.intercept))
    _add_columns(arrays, parts, "target_columns", True)
    if recipe.intercept and not recipe.sparse:
        arrays["centre"][:d] = arrays["columns"][MEAN, :d]
    moves = [each["centre"][:d] - arrays["centre"][:d] for each in parts.everyone]
    moves = dict(zip(map(id, parts.everyone), moves, strict=True))
    kept = np.array(layout.kept)
    arrays["mass"][:] = parts.add(lambda each: each["mass"], kept)
    matrices = parts.add(lambda each: _moved_matrices(each["G"], moves[id(each)], recipe), kept[:, None, None, None])
    arrays["G"][:] = matrices if base is None else _definite(matrices, layout)
    arrays["r"][:] = parts.add(lambda each: _moved_sums(each["r"], moves[id(each)], recipe), kept[:, None, None])
    arrays["x"][:] = parts.mean(lambda each: _moved_points(each["x"], moves[id(each)], recipe))
    arrays["origin"][:] = parts.mean(lambda each: each["origin"])
    for name in ("counts", "levels"):
        arrays[name][:] = parts.add(lambda each, name=name: each[name])
    t = parts.begun + 1.0  # residual units are sums that fade by (s + 1)/(s + 3) with row s
    fading = parts.add(lambda each: each["units"], left=lambda n: t * (t + 1.0) / ((t + n) * (t + n + 1.0)))
    arrays["units"][:] = np.maximum(fading, 0.0)
    _mean_of_diagonals(arrays, parts, layout, moves, recipe)
    _combine(arrays, parts, layout.B)
    method = _runtime.method_of(block)
    method.solve_all()
    _pay_once(arrays, parts.add(lambda each: parts.prices[id(each)]) - method.price(), layout)


# ---- columns --------------------------------------------------------------------------------------------------------


def _add_columns(arrays, parts, name, offsets):
    """Means, sums of squares about them, ranges, and what is known of the size of entries."""
    table, rows = arrays[name], max(arrays["clock"][0], 1.0)
    centre = parts.models[0][name][MEAN]  # near the means, so that no digits are lost
    near = parts.add(lambda each: each["clock"][0] * (each[name][MEAN] - centre)) / rows
    mean = table[MEAN] = centre + near
    about = parts.add(lambda each: each[name][SQUARES] + each["clock"][0] * (each[name][MEAN] - mean) ** 2)
    table[SQUARES] = np.maximum(about, 0.0)
    seen = [each[name] for each in parts.models if each["clock"][0] > 0.0]
    if not seen:
        return
    table[LEAST] = np.min([each[LEAST] for each in seen], axis=0)
    table[MOST] = np.max([each[MOST] for each in seen], axis=0)
    most = max(parts.models, key=lambda each: each["clock"][0])
    table[MODE] = most[name][MODE]

    def entries(each):
        """Entries beside the common mode, and the sum of their sizes."""
        own, t = each[name], each["clock"][0]
        away = np.abs(own[MODE] - table[MODE])
        others = np.where((own[ENTRIES] < FEW) & (away > 0.0), np.maximum(t - own[ENTRIES], 0.0), 0.0)
        return np.array([own[ENTRIES] + others, own[ENTRIES] * own[SIZE] + others * away])

    number, sizes = np.maximum(parts.add(entries), 0.0)
    table[ENTRIES] = number
    table[SIZE] = np.divide(sizes, number, out=np.zeros(len(number)), where=number > 0.0)


# ---- sums about another reference -------------------------------------------------------------------------------------


def _moved_matrices(G, by, recipe):
    """S G Sᵀ of the upper triangles."""
    upper = np.triu(G)
    whole = upper + np.triu(upper, 1).swapaxes(-1, -2)
    if recipe.intercept and by.any():
        d = recipe.d
        whole[..., :d, :] += by[:, None] * whole[..., d, None, :]
        whole[..., :, :d] += by * whole[..., :, d, None]
    return np.triu(whole)


def _moved_sums(r, by, recipe):
    """S r."""
    r = r.copy()
    if recipe.intercept:
        r[..., : recipe.d] += by * r[..., recipe.d, None]
    return r


def _moved_points(x, by, recipe):
    """Weights (P, room, numbers) whose margins are the same at rows about the other reference."""
    x = x.copy()
    if recipe.intercept:
        x[:, recipe.d] -= np.einsum("i,piv->pv", by, x[:, : recipe.d])
    return x


def _definite(G, layout):
    """Matrices without their negative parts, which differences may have."""
    G, size = G.copy(), layout.room
    blocks = [[q] for q in range(layout.pairs)]
    if layout.couples:
        pairs = [(c, e) for c in range(layout.C) for e in range(c, layout.C)]
        blocks = [range(layout.pairs)]
    for at in np.ndindex(G.shape[:2]):
        for block in blocks:
            upper = G[at][block]
            whole = upper + np.triu(upper, 1).swapaxes(-1, -2)
            if layout.couples:
                joint = np.zeros((layout.C, size, layout.C, size))
                for (c, e), part in zip(pairs, whole, strict=True):
                    joint[c, :, e] = joint[e, :, c] = part
                whole = joint.reshape(1, layout.C * size, layout.C * size)
            roots = np.sqrt(np.maximum(np.diag(whole[0]), 0.0))
            units = np.where(roots > 0.0, roots, 1.0)
            scaled = whole[0] / np.outer(units, units)
            values, vectors = np.linalg.eigh(scaled)
            if values[0] >= -1e-12 * len(values):
                continue
            raised = ((vectors * np.maximum(values, 0.0)) @ vectors.T) * np.outer(units, units)
            if layout.couples:
                joint = raised.reshape(layout.C, size, layout.C, size)
                G[at] = [np.triu(joint[c, :, e]) for c, e in pairs]
            else:
                G[at][block] = np.triu(raised)
    return G


# ---- scales, diagonals and weights of candidates --------------------------------------------------------------------------


def _mean_of_diagonals(arrays, parts, layout, moves, recipe):
    """Diagonal candidates: the mean of the models' points by their G, which add up."""
    number = len(layout.diagonals) * layout.C
    if not number:
        return

    def matrices(each):
        return each["diagonal_G"] * each["diagonal_scale"]

    kept = np.ones(layout.W)
    kept[:number] = np.repeat(layout.diagonals, layout.C)
    arrays["diagonal_G"][:] = np.maximum(parts.add(matrices, kept), 0.0)
    points = [_moved_points(each["diagonal_x"], moves[id(each)], recipe) for each in parts.models]
    evidence = [matrices(each) for each in parts.models]
    total = sum(evidence)
    weighted = sum(G * x for G, x in zip(evidence, points, strict=True))
    plain = sum(share * x for share, x in zip(parts.shares, points, strict=True))
    arrays["diagonal_x"][:] = np.divide(weighted, total, out=plain, where=total > 0.0)


def _combine(arrays, parts, B):
    """Losses, sums of bounds and of regressions add up; weights are products of what each model has made of the first ones."""
    arrays["share_losses"][:] = parts.add(lambda each: each["share_losses"])
    arrays["share_sums"][:] = parts.add(lambda each: _terms(each["share_sums"]))
    arrays["share_sums"][..., [PRODUCT, RATIO]] = 1.0
    rates = np.array(_fixed_share.RATES[: arrays["share_layers"].shape[1]])
    _multiply(arrays, parts, "shares", rates[:, None])
    _multiply(arrays, parts, "share_layers", np.zeros(1))
    if "share_regressions" in arrays:
        sums = slice(B * B + B)
        kept = np.array(_fixed_share.KEPT)[:, None]
        arrays["share_regressions"][..., sums] = parts.add(lambda each: each["share_regressions"][..., sums], kept)
        rest = slice(B * B + B, None)
        arrays["share_regressions"][..., rest] = parts.mean(lambda each: each["share_regressions"][..., rest])


def _terms(sums):
    """Sums of bounds without the products whose logarithms are two of them."""
    sums = sums.copy()
    for term, product, sign in ((DELTA, PRODUCT, 1.0), (RESTED, RATIO, -1.0)):
        factor = sums[..., product]
        sums[..., term] += sign * np.log(np.where(factor > 0.0, factor, 1.0))
        sums[..., product] = 0.0
    return sums


def _multiply(arrays, parts, name, rates):
    """Weights as they were at first times what each model has made of them, of which a share of a base's part is left.

    A row at rate a (0 stands for 1/t) moves a part a of all weights to the first ones. A base is one row later here: it may be a
    product itself, with weights that no model keeps, and that would be divided by.
    """
    first, goes_on = arrays[name].copy(), parts.base is not None and parts.rows.sum() > 0.0
    there = first > 0.0
    logs_first = np.log(np.where(there, first, 1.0))

    def logs(each):
        weights = each[name]
        if goes_on:
            a = np.where(rates > 0.0, rates, 1.0 / (each["clock"][0] + 1.0))
            weights = (1.0 - a) * weights + a * first
        return np.log(np.where(there, np.maximum(weights, SMALLEST), 1.0)) - logs_first

    def left(rows):
        return np.where(rates > 0.0, (1.0 - rates) ** rows, (parts.begun + 1.0) / (parts.begun + rows + 1.0))

    arrays[name][:] = _normalised(logs_first + parts.add(logs, left=left), there)


def _pay_once(arrays, saved, layout):
    """Weights of the long memory's candidates, (P,) of whose losses the models had for learning what the merged model knows.

    A part of a candidate has the square of it.
    """
    logs = np.log(np.maximum(arrays["shares"], SMALLEST))
    places = _fixed_share.positions(layout.B, len(layout.priors))[:, : len(layout.priors)]
    for scale, of_priors in zip(_fixed_share.SCALES, places, strict=True):
        logs[..., of_priors] += scale**2 * saved[:, None, None]
    arrays["shares"][:] = _normalised(logs, arrays["shares"] > 0.0)


def _normalised(logs, there):
    """Weights that sum to 1, of which none is 0 but those of no candidate."""
    logs = np.where(there, logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.where(there, np.maximum(weights / weights.sum(axis=-1, keepdims=True), SMALLEST), 0.0)
