"""Merging models of the default learner: rows that are held are joined, sums add up, and the rest is solved from them."""

import pickle
from copy import deepcopy
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, merge
from sklearn_adareg.merging._information import _definite
from sklearn_adareg.merging._merge import with_classes
from sklearn_adareg.model import _registry
from sklearn_adareg.model._runtime import method_of

rng = np.random.default_rng(3)
N, D = 480, 4
OFFSETS, UNITS = np.array([0.0, 100.0, -3.0, 0.0]), np.array([1.0, 50.0, 0.01, 3.0])
X = OFFSETS + UNITS * rng.uniform(-1.0, 1.0, size=(N, D))
Z = (X - OFFSETS) / UNITS
Y = Z @ [1.5, -1.0, 0.5, 0.0] + 0.3 * rng.uniform(-1.0, 1.0, size=N)
THREE = np.digitize(Y, [-0.5, 0.5])
SHARDS = [slice(0, 80), slice(80, 220), slice(220, 300), slice(300, N)]
PRIOR = 2  # the number of the candidate of the longest memory with the prior 0.5
SPARSE = sparse.csr_array(sparse.random(N, 80, density=0.08, random_state=0))
SPARSE_TARGETS = SPARSE @ rng.normal(size=80)


def block_of(model):
    return model._state.blocks[0]


def learner(model):
    return method_of(block_of(model))


def forgotten(model):
    """The model, which holds no row now."""
    for block in model._state.blocks:
        method_of(block).forget_rows()
    model._state.snapshot = None
    return model


def regressors(parts, X=X, y=Y, weights=None, **params):
    return [
        AdaRegRegressor(**params).partial_fit(X[rows], y[rows], None if weights is None else weights[rows])
        for rows in parts
    ]


def classifiers(parts, X=X, y=THREE, **params):
    return [AdaRegClassifier(**params).partial_fit(X[rows], y[rows], classes=np.unique(y)) for rows in parts]


def by_turns(parts):
    """The numbers of rows, each part spread evenly."""
    found = [
        ((k + 0.5) / (part.stop - part.start), number)
        for number, part in enumerate(parts)
        for k in range(part.stop - part.start)
    ]
    taken = [part.start for part in parts]
    order = []
    for _, number in sorted(found):
        order.append(taken[number])
        taken[number] += 1
    return np.array(order)


def margins(model, rows=X):
    values = model.predict(rows) if isinstance(model, AdaRegRegressor) else model.decision_function(rows)
    return np.asarray(values, dtype=float)


def same(one, other, tolerance=1e-9, rows=X):
    first, second = margins(one, rows), margins(other, rows)
    assert np.allclose(first, second, rtol=0.0, atol=tolerance * (1.0 + np.abs(first).max()))


def blocks_equal(one, other):
    held = method_of(one).held()
    for name, array in one.arrays.items():
        rows = slice(held if name.startswith("row_") else None)  # there may be more room
        assert np.array_equal(array[rows], other.arrays[name][rows]), name


def models_equal(one, other):
    for pair in zip(one._state.blocks, other._state.blocks, strict=True):
        blocks_equal(*pair)


# ---- rows that are held -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_young_regressors_joined_equal_one_that_learnt_their_rows_by_turns(weighted):
    weights = rng.uniform(0.5, 2.0, size=N) if weighted else None
    order = by_turns(SHARDS)
    [whole] = regressors([order], weights=weights)
    merged = merge(regressors(SHARDS, weights=weights))
    models_equal(merged, whole)
    models_equal(merged.partial_fit(X[:50], Y[:50]), whole.partial_fit(X[:50], Y[:50]))


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_young_classifiers_joined_equal_one_that_learnt_their_rows_by_turns(loss):
    [whole] = classifiers([by_turns(SHARDS)], loss=loss)
    merged = merge(classifiers(SHARDS, loss=loss))
    models_equal(merged, whole)
    assert np.array_equal(merged.coef_, whole.coef_)


@pytest.mark.parametrize("y", [SPARSE_TARGETS, np.column_stack([SPARSE_TARGETS, -SPARSE_TARGETS])], ids=["one", "two"])
def test_young_models_of_sparse_and_dense_rows_are_joined(y):
    models = regressors(SHARDS[:2], SPARSE, y) + regressors(SHARDS[2:], SPARSE.toarray(), y)
    order = by_turns(SHARDS)
    [whole] = regressors([order], SPARSE, y)
    same(merge(models), whole, 1e-12, SPARSE)
    assert learner(merge(models)).held() == N


@pytest.mark.parametrize(("sizes", "joined"), [((700, 300), True), ((700, 350), False), ((300, 300, 300, 300), False)])
def test_rows_are_held_as_long_as_one_model_holds_them(sizes, joined):
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, size=(1500, 3))
    cuts = np.cumsum([0, *sizes])
    merged = merge(regressors([slice(*pair) for pair in pairwise(cuts)], rows, rows @ [1.0, 2.0, 3.0]))
    assert learner(merged).begins() == joined
    assert learner(merged).held() == joined * cuts[-1]
    assert merged.t_ == cuts[-1]


def test_the_rows_of_a_base_are_joined_once_and_first():
    [base] = regressors([slice(0, 100)])
    parts = [slice(100, 250), slice(250, N)]
    models = [deepcopy(base).partial_fit(X[rows], Y[rows]) for rows in parts]
    [whole] = regressors([np.concatenate([np.arange(100), by_turns(parts)])])
    models_equal(merge(models, base=base), whole)


# ---- sums -----------------------------------------------------------------------------------------------------------


def limited(model, rows, y):
    """The rows and targets of a model that has forgotten them, as they are in its sums."""
    table = block_of(model).arrays["target_columns"]
    return np.clip(rows, *learner(model).limits()), np.clip(y, table[5, 0], table[6, 0])


def ridge(rows, y, weights, level=None, intercept=True, prior=0.5):
    """The minimiser of ½ Σ ω (m − y)² + ½ prior Σ v_i x_i², v_i what the learner measures feature i with; in raw units.

    The intercept has a small prior at the constant prediction."""
    centre = rows.mean(axis=0) * intercept
    away = rows - centre
    v = (away**2).mean(axis=0)
    v = np.maximum(v, 0.25 * np.maximum(v, (np.abs(away).max(axis=0) / 3.0) ** 2))
    design = np.column_stack([away, np.ones(len(y))]) if intercept else away
    level = np.average(y, weights=weights) if level is None else level
    R, start = (np.append(prior * v, [0.1] * intercept), np.append(np.zeros(rows.shape[1]), [level] * intercept))
    x = np.linalg.solve(design.T * weights @ design + np.diag(R), design.T @ (weights * y) + R * start)
    return np.append(x[: len(centre)], x[-1] - x[:-1] @ centre) if intercept else x


def candidate(model, number=PRIOR):
    return learner(model).candidates()[0, number, 0]


@pytest.mark.parametrize(
    ("tails", "weighted", "intercept"),
    [(False, False, True), (True, False, True), (False, True, True), (True, True, True), (False, True, False)],
)
def test_sums_of_shards_are_ridge_regression_on_all_limited_rows(tails, weighted, intercept):
    rows, y = X.copy(), Y.copy()
    if tails:
        rows[::9] = OFFSETS + UNITS * np.random.default_rng(1).standard_cauchy(size=rows[::9].shape) * 20.0
        y[::11] += 50.0 * np.random.default_rng(2).standard_cauchy(size=len(y[::11]))
    weights = np.random.default_rng(4).uniform(0.5, 2.0, size=N) if weighted else np.ones(N)
    models = [forgotten(model) for model in regressors(SHARDS, rows, y, weights, fit_intercept=intercept)]
    parts = [limited(model, rows[part], y[part]) for model, part in zip(models, SHARDS, strict=True)]
    assert tails == any(not np.array_equal(part[0], rows[at]) for part, at in zip(parts, SHARDS, strict=True))
    sums = sum(block_of(model).arrays["levels"][0] for model in models)
    expected = ridge(*map(np.concatenate, zip(*parts, strict=True)), weights, sums[1] / sums[0], intercept)
    found = candidate(merge(models))
    scale = np.append(UNITS, [1.0] * intercept)
    assert np.allclose(found * scale, expected * scale, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("mature", [True, False])
def test_the_sums_of_a_base_count_once(mature):
    [base] = regressors([slice(0, 96)])
    base = forgotten(base) if mature else base
    models = [forgotten(deepcopy(base).partial_fit(X[rows], Y[rows])) for rows in (slice(96, 250), slice(250, N))]
    merged = merge(models, base=base)
    expected = ridge(X, Y, np.ones(N))
    assert np.allclose(candidate(merged), expected, rtol=1e-6)
    arrays = block_of(merged).arrays
    assert np.array_equal(arrays["clock"], [N, N])
    assert np.isclose(arrays["mass"][0], N)
    assert np.isclose(arrays["levels"][0, 0], N)
    twice = merge(models)
    assert np.isclose(block_of(twice).arrays["mass"][0], N + 96)


def test_copies_of_a_base_merge_to_the_base():
    base = forgotten(regressors([slice(0, N)])[0])
    merged = merge([deepcopy(base) for _ in range(3)], base=base)
    same(merged, base)
    for name in ("G", "r", "counts", "levels", "units", "share_losses", "shares", "share_layers", "diagonal_x"):
        found, own = (np.triu(block_of(model).arrays[name]) for model in (merged, base))
        assert np.allclose(found, own, rtol=1e-8, atol=1e-8), name


@pytest.mark.parametrize("params", [{}, {"half_life": 50.0}, {"alpha": 0.01, "l1_ratio": 0.5}, {"loss": "huber"}])
def test_neither_order_nor_grouping_of_sums_matters(params):
    models = [forgotten(model) for model in regressors(SHARDS, **params)]
    whole = merge(models)
    same(whole, merge(models[::-1]))
    for grouped in (merge([merge(models[:2]), merge(models[2:])]), merge([models[0], merge(models[1:])])):
        # grouping shows in the intercepts of diagonal candidates alone
        solved = learner(whole).layout.whole
        found, expected = (learner(model).candidates()[:, :solved] for model in (grouped, whole))
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-11)
        assert np.allclose(learner(grouped).candidate_weights(), learner(whole).candidate_weights(), atol=1e-10)
    same(*(deepcopy(m).partial_fit(X[:40], Y[:40]) for m in (whole, merge(models[::-1]))), 1e-7)


def test_softmax_sums_do_not_depend_on_order():
    models = [forgotten(model) for model in classifiers(SHARDS)]
    whole = merge(models)
    same(whole, merge(models[::-1]))
    same(whole, merge([merge(models[:2]), merge(models[2:])]))
    assert np.array_equal(block_of(whole).arrays["counts"][0], np.bincount(THREE))


def test_sums_are_moved_to_one_reference_however_far_it_is():
    rows = X + np.repeat([0.0, 1e7, -1e7, 3e7], 120)[:, None] * np.array([1.0, 0.0, 0.0, 0.0])
    parts = [slice(120 * k, 120 * k + 120) for k in range(4)]
    merged = merge([forgotten(model) for model in regressors(parts, rows)])
    assert np.allclose(candidate(merged), ridge(rows, Y, np.ones(N)), rtol=1e-6)


def test_dense_and_sparse_sums_are_brought_to_reference_zero():
    dense, found = (SPARSE.toarray() > 0.0).astype(float), []
    for other in (dense, sparse.csr_array(dense)):
        models = regressors([slice(0, 240)], dense, SPARSE_TARGETS) + regressors([slice(240, N)], other, SPARSE_TARGETS)
        merged = merge([forgotten(model) for model in models])
        assert sparse.issparse(other) == block_of(merged).recipe.sparse
        found.append(candidate(merged))
    assert np.allclose(*found, rtol=1e-7, atol=1e-9)


def test_memories_that_forget_add_up_what_they_have_not_forgotten():
    models = [forgotten(model) for model in regressors(SHARDS, half_life=20.0)]
    masses = [block_of(model).arrays["mass"][0] for model in models]
    assert np.isclose(block_of(merge(models)).arrays["mass"][0], sum(masses))


def test_what_a_memory_has_not_forgotten_of_a_base_counts_once():
    base = forgotten(regressors([slice(0, 100)], half_life=40.0)[0])
    models = [forgotten(deepcopy(base).partial_fit(X[rows], Y[rows])) for rows in (slice(100, 130), slice(130, 160))]
    left = 0.5 ** (30 / 40.0)
    for name in ("mass", "r"):
        own, *parts = (block_of(model).arrays[name] for model in (base, *models))
        if name == "r":  # the intercept's, which no reference changes
            own, *parts = (part[0, 0, 0, D] for part in (own, *parts))
        found = block_of(merge(models, base=base)).arrays[name]
        assert np.allclose(found if name == "mass" else found[0, 0, 0, D], sum(parts) - left * own, rtol=1e-10)


@pytest.mark.parametrize("couples", [False, True])
def test_differences_of_sums_lose_their_negative_part(couples):
    """That of each matrix, or of the one that the classes of a softmax share."""
    classes, room = 2, 3
    layout = SimpleNamespace(room=room, C=classes, couples=couples, pairs=3 if couples else 2)
    pairs = [(0, 0), (0, 1), (1, 1)] if couples else [(0, 0), (1, 1)]

    def joint(G):
        out = np.zeros((classes, room, classes, room))
        for (c, e), part in zip(pairs, G[0, 0], strict=True):
            out[c, :, e] = out[e, :, c] = np.triu(part) + np.triu(part, 1).T
        return out.reshape(6, 6)

    diagonal = np.array([4.0, 9.0, 1.0, 4.0, 9.0, 1.0])  # in whose roots all is measured
    sums = np.zeros((1, 1, layout.pairs, room, room))
    for at, (c, e) in enumerate(pairs):
        sums[0, 0, at] = np.diag(diagonal[:3]) * (c == e)
    assert np.array_equal(_definite(sums, layout), sums)
    sums[0, 0, 0, 0, 1] = 12.0  # twice what a positive matrix has at the most
    if couples:
        sums[0, 0, 1, 2, 2] = 3.0
    units = np.outer(np.sqrt(diagonal), np.sqrt(diagonal))
    values, vectors = np.linalg.eigh(joint(sums) / units)
    assert values[0] < -0.5
    expected = (vectors * np.maximum(values, 0.0)) @ vectors.T * units
    assert np.allclose(joint(_definite(sums, layout)), expected, rtol=1e-12, atol=1e-12)


# ---- columns ----------------------------------------------------------------------------------------------------------


def test_what_is_known_of_columns_is_that_of_all_rows():
    rows = np.column_stack([X, np.zeros(N), np.ones(N), np.repeat([0.0, 7.0], N // 2), np.arange(N) % 97 == 0])
    merged = merge([forgotten(model) for model in regressors([slice(0, N // 2), slice(N // 2, N)], rows)])
    table = block_of(merged).arrays["columns"][:, : rows.shape[1]]
    assert np.allclose(table[0], rows.mean(axis=0), rtol=1e-12)
    assert np.allclose(table[1], ((rows - rows.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-10)
    assert np.array_equal(table[7], rows.min(axis=0))
    assert np.array_equal(table[8], rows.max(axis=0))
    low, high = learner(merged).limits()
    assert (low <= rows.min(axis=0)).all()
    assert (high >= rows.max(axis=0)).all()
    assert (table[3, 4:6] == 0.0).all()
    # rows beside the common mode, though neither model has seen one
    assert table[3, 6] == N // 2
    assert np.isclose(table[4, 6], 7.0)
    weights = merged.coef_
    assert (weights[4:6] == 0.0).all()
    assert weights[6] != 0.0


# ---- candidates -------------------------------------------------------------------------------------------------------


def generated(n, d, strength, seed):
    """Rows of two classes, and the excess of a model over the truth as a part of a constant's."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n + 3000, d)) * 10.0 ** rng.uniform(-2, 2, d) + rng.uniform(-30, 30, d)
    w = strength * rng.standard_normal(d) / np.sqrt(d) / rows.std(axis=0)
    q = expit((rows - rows.mean(axis=0)) @ w - 0.5)
    y = (rng.random(len(q)) < q).astype(int)
    T, p = rows[n:], q[n:]

    def risk(m):
        return np.mean(np.logaddexp(0, m) - p * m)

    best, constant = (risk(np.log(p / (1 - p))), risk(np.full(len(p), np.log(p.mean() / (1 - p.mean())))))
    return (rows[:n], y[:n], lambda model: (risk(model.decision_function(T)) - best) / (constant - best))


@pytest.mark.parametrize(
    ("count", "by_feature", "most"), [(4, False, 0.001), (16, False, 0.003), (4, True, 0.001), (16, True, 0.003)]
)
def test_merged_shards_are_nearly_as_good_as_one_pass(count, by_feature, most):
    rows, y, share = generated(12000, 20, 1.5, seed=1)
    order = np.argsort(rows[:, 0]) if by_feature else np.arange(len(y))
    [one] = classifiers([np.arange(len(y))], rows, y)
    assert share(merge(classifiers(np.array_split(order, count), rows, y))) < share(one) + most


def test_shards_of_a_weak_signal_do_not_vote_for_the_constant():
    """Each is better off with next to no weights, and all together are not."""
    rows, y, share = generated(17600, 50, 0.3, seed=2)
    models = classifiers(np.array_split(np.arange(len(y)), 16), rows, y)
    assert np.mean([share(model) for model in models]) > 0.6
    assert share(merge(models)) < 0.25


def test_further_rounds_from_a_merged_model_do_not_harm():
    """Weights that a merged model has may be far below what any row leaves of them."""
    rows, y, share = generated(12000, 20, 1.5, seed=1)
    parts = np.array_split(np.arange(len(y)), 8)
    found = [merge(classifiers(parts, rows, y))]
    for _ in range(3):
        models = [deepcopy(found[-1]).partial_fit(rows[part], y[part]) for part in parts]
        found.append(merge(models, base=found[-1]))
    assert found[-1].t_ == 4 * len(y)
    assert all(share(after) < share(before) + 0.0005 for before, after in pairwise(found))


def test_terms_of_bounds_add_up():
    models = [forgotten(model) for model in regressors(SHARDS[:2])]

    def terms(model):
        """The sums; two of them lack the logarithms of products."""
        sums = block_of(model).arrays["share_sums"].copy()
        sums[..., 0] += np.log(sums[..., 3])
        sums[..., 5] -= np.log(sums[..., 6])
        return np.delete(sums, [3, 6], axis=-1)

    assert np.allclose(terms(merge(models)), sum(map(terms, models)), rtol=1e-12)


def test_weights_of_candidates_are_products_of_the_models():
    """Their ratios multiply, where no price is paid back: for candidates that keep no sums of all rows."""
    models = [forgotten(model) for model in regressors(SHARDS[:2])]
    merged, fresh = merge(models), AdaRegRegressor().partial_fit(X[:1], Y[:1])
    begun = type(learner(fresh)).allocate(block_of(fresh).recipe, 1)["shares"]
    short = slice(10, 15)

    def ratios(shares):
        return np.diff(np.log(shares[0, :, short] / begun[0, :, short]))

    found = [ratios(block_of(model).arrays["shares"]) for model in (*models, merged)]
    assert np.allclose(found[0] + found[1], found[2], rtol=1e-9)
    weights = block_of(merged).arrays["shares"]
    assert np.allclose(weights.sum(axis=2), 1.0)


def test_diagonal_candidates_are_the_mean_of_points_by_their_information():
    models = [forgotten(model) for model in regressors(SHARDS[:2])]
    merged = block_of(merge(models)).arrays
    parts = [block_of(model).arrays for model in models]
    G = [part["diagonal_G"] * part["diagonal_scale"] for part in parts]
    assert np.allclose(merged["diagonal_G"], sum(G), rtol=1e-12)
    mean = sum(g * part["diagonal_x"] for g, part in zip(G, parts, strict=True))[0, :D, :3] / sum(G)[0, :D, :3]
    assert np.allclose(merged["diagonal_x"][0, :D, :3], mean, rtol=1e-10)
    at_centre = [
        part["diagonal_x"][0, D] + (merged["centre"] - part["centre"])[:D] @ part["diagonal_x"][0, :D] for part in parts
    ]
    mean = sum(g[0, D] * x for g, x in zip(G, at_centre, strict=True))[:3] / sum(G)[0, D, :3]
    assert np.allclose(merged["diagonal_x"][0, D, :3], mean, rtol=1e-10)


# ---- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_a_class_that_a_model_does_not_know_changes_nothing_of_the_others(loss):
    [model] = classifiers([slice(0, 300)], y=np.array(["a", "c", "d"])[THREE], loss=loss)
    grown = with_classes(forgotten(model)._state, np.array(["a", "b", "c", "d"]))
    assert grown.class_counts.tolist() == np.insert(np.bincount(THREE[:300]), 1, 0).tolist()
    before, after = (
        np.concatenate(
            [
                method_of(block).candidates().swapaxes(1, 2).reshape(-1, 10 if loss == "hinge" else 4, D + 1)
                for block in blocks
            ]
        )
        for blocks in (model._state.blocks, grown.blocks)
    )
    assert np.array_equal(after[[0, 2, 3], :-1], before[:, :-1])  # but for the constant
    new = grown.blocks[0].arrays["r"][0, 0, 1] if loss == "log_loss" else grown.blocks[1].arrays["r"][0, 0, 0]
    assert (new == 0.0).all()


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_sums_of_models_with_other_classes_add_up(loss):
    four = np.append(THREE[:400], np.full(80, 3))
    one = AdaRegClassifier(loss=loss).partial_fit(X[:240], four[:240], classes=[0, 1, 2])
    other = AdaRegClassifier(loss=loss).partial_fit(X[240:], four[240:], classes=[0, 1, 2, 3])
    merged = merge([forgotten(one), forgotten(other)])
    assert merged.classes_.tolist() == [0, 1, 2, 3]
    assert merged.score(X, four) >= other.score(X, four) - 0.02
    same(merged, merge([other, one]))
    assert np.isfinite(merged.partial_fit(X, four).coef_).all()


# ---- every configuration ------------------------------------------------------------------------------------------------

DOMAINS = [None, "l2", "box", "l1", "nonnegative"]  # that have 0 in them
LOSSES = [
    name
    for name in (*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES)
    if _registry.loss(name).has_minimiser
]
PENALTIES = [{}, {"alpha": 0.01, "l1_ratio": 0.0}, {"alpha": 0.01, "l1_ratio": 0.7}]
# 65 columns are the fewest of a sparse layout
SMALL, NARROW = SPARSE[:60, :65], np.ascontiguousarray(X[:60])
ALL = [
    (loss, several, wide, intercept, domain, penalty)
    for loss, several, wide, intercept, domain, penalty in product(
        LOSSES, [False, True], [False, True], [True, False], DOMAINS, PENALTIES
    )
    if not (penalty and domain in ("l2", "l1"))  # which are refused
]


@pytest.mark.parametrize(("loss", "several", "wide", "intercept", "domain", "penalty"), ALL)
def test_every_configuration_merges_publishes_and_goes_on(loss, several, wide, intercept, domain, penalty):
    """Young models, sums, and both at once; each is finite, inside its domain, pickles, and learns on."""
    rows, mean = (SMALL, SPARSE_TARGETS[:60]) if wide else (NARROW, Y[:60])
    params = {"loss": loss, "fit_intercept": intercept, "domain": domain, "structure": "full", **penalty}
    params |= {"radius": 0.7} if domain not in (None, "nonnegative") else {}
    if loss in _registry.CLASSIFICATION_LOSSES:
        y, make, extra = (
            np.digitize(mean, [-0.3, 0.3] if several else [0.0]),
            AdaRegClassifier,
            {"classes": [0, 1, 2][: 2 + several]},
        )
    else:
        y = np.round(np.exp(np.clip(mean, -3, 3))) if loss == "poisson" else mean
        y, make, extra = np.column_stack([y, 2.0 * y + 1.0]) if several else y, AdaRegRegressor, {}
    parts = [make(**params).partial_fit(rows[at], y[at], **extra) for at in (slice(0, 25), slice(25, 60))]
    old = [forgotten(deepcopy(part)) for part in parts]
    for models in (parts, old, [parts[0], old[1]]):
        merged = merge(models)
        assert merged.t_ == 60
        check(merged, rows, domain)
        check(pickle.loads(pickle.dumps(merged)).partial_fit(rows[:20], y[:20]), rows, domain)


def check(model, rows, domain):
    assert model.method_ == "information"
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.predict(rows)).all()
    for w in np.atleast_2d(model.coef_):
        sizes = {"l2": np.linalg.norm(w), "l1": np.abs(w).sum(), "box": np.abs(w).max()}
        assert domain not in sizes or sizes[domain] <= 0.7 * (1 + 1e-9)
        assert domain != "nonnegative" or (w >= 0.0).all()


def test_merged_models_know_what_losses_are_usual():
    """By which candidates that rest are woken; sums of models say nothing of it, so it begins with the next row."""
    models = [forgotten(model) for model in regressors(SHARDS[:2])]
    merged = merge(models)
    for row, target in zip(X[:300], Y[:300], strict=True):
        merged.partial_fit(row[None], [target])
    _, _, level, spread, lately = block_of(merged).arrays["rests"][0]
    assert spread > 0.0
    assert 0.0 < level < 100.0 * lately
