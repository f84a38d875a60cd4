"""Merging: what adds up does, order and grouping do not matter where that is promised, and the model goes on."""

from contextlib import suppress
from copy import deepcopy
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from support.attack_cases import Chunk, make_rows

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, merge
from sklearn_adareg.merging._methods import regression
from sklearn_adareg.model._runtime import method_of

rng = np.random.default_rng(0)
N, D = 240, 5
UNITS = np.array([1.0, 50.0, 0.01, 3.0, 1.0])
X = rng.normal(size=(N, D)) * UNITS + np.array([0.0, 100.0, 0.0, 0.0, 0.0])
Z = (X - X.mean(axis=0)) / UNITS
W = np.array([1.5, -1.0, 0.5, 0.0, -0.5])
Y = np.where(Z @ W + rng.logistic(size=N) > 0, 1, -1)
TARGETS = Z @ W + 0.3 * rng.normal(size=N) + 20.0
THREE = np.array(["a", "b", "c"])[np.clip((Z @ W > -0.7).astype(int) + (Z @ W > 0.7), 0, 2)]
SHARDS = [slice(0, 40), slice(40, 110), slice(110, 150), slice(150, N)]

EXACT = [
    {"structure": structure, "potential": potential, "scaling": scaling, "update": update}
    for structure, potential, scaling, update in product(
        ("full", "block", "diag", "iso"),
        ("adagrad", "ons", "pnorm"),
        ("online", None),
        ("mirror_descent", "dual_averaging"),
    )
]
STRUCTURES = ("auto", "full", "block", "sketch", "diag", "iso")


def learn(make, y, rows, classes=None):
    extra = {} if classes is None else {"classes": classes}
    return make().partial_fit(X[rows], y[rows], **extra)


def binary(**params):
    if params.get("structure") == "block":
        params["blocks"] = 2
    if params.get("structure") == "sketch":
        params.setdefault("rank", 2)
    return AdaRegClassifier(**params)


def shards(make, y=Y, classes=(-1, 1)):
    return [learn(make, y, rows, classes) for rows in SHARDS]


def same(one, other, tolerance=1e-9):
    scale = np.abs(one.coef_) @ np.abs(X).max(axis=0) + np.abs(one.intercept_)
    assert np.allclose(X @ one.coef_.T, X @ other.coef_.T, rtol=0, atol=tolerance * scale.max())
    assert np.allclose(one.intercept_, other.intercept_, rtol=tolerance, atol=tolerance * scale.max())


# ---- order and grouping ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", EXACT, ids=lambda params: "-".join(map(str, params.values())))
def test_neither_order_nor_grouping_matters(params):
    models = shards(lambda: binary(eta=0.5, epsilon=1.0, **params))
    whole = merge(models)
    same(whole, merge(models[::-1]))
    same(whole, merge([merge(models[:2]), merge(models[2:])]))
    later = learn_on(whole), learn_on(merge(models[::-1]))
    same(*later)


def learn_on(model, rows=slice(0, 30)):
    return deepcopy(model).partial_fit(X[rows], Y[rows])


@pytest.mark.parametrize("half_life", [None, 30.0])
@pytest.mark.parametrize("structure", ["full", "block", "diag", "iso"])
def test_order_does_not_matter_with_a_penalty_or_a_half_life(structure, half_life):
    models = shards(lambda: binary(structure=structure, eta=0.5, epsilon=1.0, alpha=0.01, half_life=half_life))
    same(merge(models), merge(models[::-1]))


# ---- what adds up ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_counts_losses_and_curves_add_up(structure):
    models = shards(lambda: binary(structure=structure))
    model, single = (merge(models), learn(lambda: binary(structure=structure), Y, slice(None), (-1, 1)))
    assert model.t_ == N == single.t_
    totals = sum(each.progressive_loss_ * each.t_ for each in models)
    assert np.isclose(model.progressive_loss_, totals / N)
    curve, expected = model.progressive_curve_, single.progressive_curve_
    assert np.array_equal(curve["rows"], expected["rows"])
    assert np.isclose(curve["mean_loss"][-1], model.progressive_loss_)
    assert np.array_equal(model._state.class_counts, single._state.class_counts)
    again, straight = model.partial_fit(X, Y), single.partial_fit(X, Y)
    assert np.array_equal(again.progressive_curve_["rows"], straight.progressive_curve_["rows"])


@pytest.mark.parametrize("structure", ["full", "block", "sketch", "diag", "iso"])
def test_sums_of_dual_averaging_on_linear_losses_are_those_of_all_gradients(structure):
    make = lambda: binary(  # noqa: E731
        structure=structure,
        potential="adagrad",
        update="dual_averaging",
        loss="hinge",
        eta=1e-9,  # so short that every margin stays below 1, where the slope is constant
        epsilon=1.0,
        scaling=None,
        average=False,
        fit_intercept=False,
        **({"rank": D} if structure == "sketch" else {}),
    )
    whole = learn(make, Y, slice(None), (-1, 1))
    merged = merge(shards(make))
    assert np.allclose(merged.coef_, whole.coef_, rtol=1e-9)


def test_evidence_and_units_of_constant_gradients_are_those_of_all_rows():
    make = lambda: binary(  # noqa: E731
        structure="full", potential="ons", loss="hinge", eta=1e-9, epsilon=1.0, fit_intercept=False
    )
    whole, merged = learn(make, Y, slice(None), (-1, 1)), merge(shards(make))
    arrays = [model._state.blocks[0].arrays for model in (whole, merged)]
    assert np.array_equal(arrays[0]["scale"], arrays[1]["scale"])
    assert np.allclose(_matrix(arrays[0]), _matrix(arrays[1]), rtol=1e-9)
    assert np.allclose(arrays[1]["P"][0] @ _matrix(arrays[1]), np.eye(D), atol=1e-9)


def _matrix(arrays):
    lower = np.tril(arrays["G"][0])
    waiting = arrays["pending_g"][0, : int(arrays["count"][0])]
    return lower + np.tril(lower, -1).T + waiting.T @ waiting


def test_newton_steps_on_the_squared_error_come_near_ridge_regression_on_all_rows():
    models = [AdaRegRegressor(epsilon=0.5).partial_fit(X[rows], TARGETS[rows]) for rows in SHARDS]
    reference = Ridge(alpha=1e-3).fit(Z, TARGETS)
    error = np.mean((merge(models).predict(X) - reference.predict(Z)) ** 2)
    assert error < 0.01 * np.mean((TARGETS - reference.predict(Z)) ** 2)


def test_a_merged_regression_is_that_of_all_rows_in_the_merged_units():
    """Ridge regressions on features f of each model, and one on c f of all: the coefficients of a stack when its vectors grow."""
    rng, prior, start = np.random.default_rng(5), 3.0, np.eye(3)[0]
    F, targets = rng.normal(size=(2, 20, 3)), rng.normal(size=(2, 20))
    units = rng.uniform(0.5, 2.0, size=(2, 3))

    def ridge(f, y):
        S = f.T @ f
        return S, start + np.linalg.solve(S + prior * np.eye(3), f.T @ (y - f @ start))

    matrices, coefficients = zip(*map(ridge, F, targets), strict=True)
    S, v = regression(matrices, coefficients, units, start, prior)
    scaled = np.concatenate(F * units[:, None])
    expected_S, expected = ridge(scaled, targets.ravel())
    assert np.allclose(S, expected_S, rtol=1e-12)
    assert np.allclose(v, expected, rtol=1e-10)


def test_the_coefficients_of_a_stack_follow_the_lengths_of_its_outputs():
    """By hand for a model merged with its copy, in the norm of the merged evidence."""
    model = learn(lambda: binary(structure="diag"), Y, slice(None), (-1, 1))
    one, merged = (method_of(each._state.blocks[0]) for each in (model, merge([model, deepcopy(model)])))
    evidence = (merged.structure.field("G") - merged.structure.setting.epsilon)[:, :D]
    lengths = [
        np.sqrt((evidence * points[:, :D] ** 2).sum(axis=1))
        for method in (merged, one)
        for points in (method.structure.average(), method.structure.last_iterate())
    ]
    c = np.concatenate(lengths[:2]) / np.concatenate(lengths[2:])
    assert not np.allclose(c, 1.0, atol=0.01)
    own = [one.arrays["stack_S"][0]] * 2, [one.arrays["stack_v"][0]] * 2
    S, v = regression(*own, [c, c], np.eye(4)[0], 20.0)
    assert np.allclose(merged.arrays["stack_S"][0], S, rtol=1e-9)
    assert np.allclose(merged.arrays["stack_v"][0], v, rtol=1e-9)


# ---- quality --------------------------------------------------------------------------------------------------------


def log_loss(model):
    return np.mean(np.logaddexp(0, -Y * model.decision_function(X)))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_merged_model_is_better_than_its_parts_and_near_that_of_one_pass(structure):
    models = shards(lambda: binary(structure=structure))
    merged = merge(models)
    single = learn(lambda: binary(structure=structure), Y, slice(None), (-1, 1))
    batch = LogisticRegression(C=10.0).fit(Z, Y)
    floor = np.mean(np.logaddexp(0, -Y * batch.decision_function(Z)))
    assert log_loss(merged) < np.mean([log_loss(model) for model in models])
    assert log_loss(merged) - log_loss(single) < 0.2 * (np.log(2) - floor)


@pytest.mark.parametrize("structure", ["auto", "kronecker", "diag", "sketch"])
def test_three_classes(structure):
    models = shards(lambda: binary(structure=structure), THREE, ["a", "b", "c"])
    merged = merge(models)
    assert merged.score(X, THREE) >= np.mean([model.score(X, THREE) for model in models]) - 0.01
    merged.partial_fit(X, THREE)
    assert np.isfinite(merged.coef_).all()


def test_offsets_of_targets_are_united():
    models = [AdaRegRegressor().partial_fit(X[rows], TARGETS[rows] + 1e4) for rows in SHARDS]
    merged = merge(models)
    assert np.mean((merged.predict(X) - TARGETS - 1e4) ** 2) < 0.2


@pytest.mark.parametrize("structure", ["full", "diag", "sketch"])
@pytest.mark.parametrize("loss", ["squared_error", "poisson", "huber"])
def test_regression_goes_on(structure, loss):
    y = np.round(np.exp(np.clip(Z @ W, -3, 3))) if loss == "poisson" else TARGETS
    models = [AdaRegRegressor(structure=structure, loss=loss).partial_fit(X[rows], y[rows]) for rows in SHARDS]
    merged = merge(models)
    error = np.mean(np.abs(merged.predict(X) - y))
    assert error < np.mean(np.abs(np.median(y) - y))
    assert error <= max(np.mean(np.abs(model.predict(X) - y)) for model in models)
    assert np.isfinite(merged.partial_fit(X, y).coef_).all()


def test_dense_rows_with_coordinates_of_their_own():
    d = 120
    mixed = rng.normal(size=(1200, 3)) @ rng.normal(size=(3, d)) + rng.normal(size=(1200, d)) + 5.0
    y = np.where((mixed - 5.0)[:, 0] > 0, 1, -1)
    parts = np.array_split(np.arange(1200), 2)
    models = [AdaRegClassifier().partial_fit(mixed[p], y[p], classes=[-1, 1]) for p in parts]
    assert all(model._state.feature_transform is not None for model in models)
    merged = merge(models)
    losses = [np.mean(np.logaddexp(0, -y * model.decision_function(mixed))) for model in (merged, *models)]
    assert losses[0] < np.mean(losses[1:])
    merged.partial_fit(mixed[:50], y[:50])


@pytest.mark.parametrize("structure", STRUCTURES)
def test_features_that_some_models_or_all_have_never_seen(structure):
    seen = np.column_stack([X, np.zeros(N), np.where(np.arange(N) >= 150, X[:, 0], 0.0), np.ones(N)])
    make = lambda: binary(structure=structure)  # noqa: E731
    models = [make().partial_fit(seen[rows], Y[rows], classes=[-1, 1]) for rows in SHARDS]
    merged = merge(models)
    assert abs(merged.coef_[0, 5]) < 1e-12 * np.abs(merged.coef_).max()
    assert merged.coef_[0, 6] != 0.0
    assert np.isfinite(merged.partial_fit(seen, Y).coef_).all()


# ---- base -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_comes_from_the_base_counts_once(structure):
    base = learn(lambda: binary(structure=structure), Y, SHARDS[0], (-1, 1))
    models = [deepcopy(base).partial_fit(X[rows], Y[rows]) for rows in SHARDS[1:]]
    merged = merge(models, base=base)
    assert merged.t_ == N
    assert np.isclose(merged._state.class_counts.sum(), N)
    alone = merge([models[0]], base=base)
    same(alone, models[0], 1e-6)
    nothing = merge([deepcopy(base) for _ in range(3)], base=base)
    same(nothing, base, 1e-6)
    assert nothing.t_ == base.t_


def test_a_model_that_has_learnt_less_than_the_base_is_refused():
    first, second = shards(binary)[:2]
    with pytest.raises(ValueError, match="cannot have gone on from the base"):
        merge([first], base=second)


# ---- one model, copies, and what stays ------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_merging_one_model_keeps_it(structure):
    model = learn(lambda: binary(structure=structure), Y, slice(None), (-1, 1))
    before = model.coef_.copy()
    same(merge([model]), model, 1e-6)
    assert np.array_equal(model.coef_, before)


def test_the_models_stay_as_they_are():
    models = shards(binary)
    before = [model.coef_.copy() for model in models]
    merge(models).partial_fit(X, Y)
    assert all(np.array_equal(a, model.coef_) for a, model in zip(before, models, strict=True))


def test_the_method_merges_two():
    one, other = shards(binary)[:2]
    same(one.merge(other), merge([one, other]), 1e-15)
    with pytest.raises(NotFittedError):
        one.merge(binary())


def test_sparse_and_dense_models_are_merged():
    one = learn(lambda: binary(structure="diag"), Y, SHARDS[0], (-1, 1))
    other = binary(structure="diag").partial_fit(sparse.csr_matrix(X[SHARDS[1]]), Y[SHARDS[1]], classes=[-1, 1])
    dense = learn(lambda: binary(structure="diag"), Y, SHARDS[1], (-1, 1))
    same(merge([one, other]), merge([one, dense]), 1e-6)


@pytest.mark.parametrize("structure", ["diag", "full", "iso"])
@pytest.mark.parametrize("domain", ["l2", "l1", "box", "nonnegative"])
def test_a_merged_point_is_in_its_domain(structure, domain):
    models = shards(lambda: binary(structure=structure, domain=domain, radius=0.5, eta=1.0, epsilon=1.0))
    merged = merge(models)
    check(merged.coef_[0], domain)
    check(merged.partial_fit(X, Y).coef_[0], domain)


def check(w, domain):
    size = {"l2": np.linalg.norm(w), "l1": np.abs(w).sum(), "box": np.abs(w).max()}
    if domain == "nonnegative":
        assert (w >= 0).all()
    else:
        assert size[domain] <= 0.5 * (1 + 1e-9)


# ---- classes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("structure", ["auto", "diag", "full"])
def test_classes_are_united(structure, loss):
    four = np.append(THREE[:-60], ["d"] * 60)
    make = lambda: AdaRegClassifier(structure=structure, loss=loss)  # noqa: E731
    one = make().partial_fit(X[:180], four[:180], classes=["a", "b", "c"])
    other = make().partial_fit(X[100:], four[100:], classes=["a", "c", "d", "b"])
    merged = merge([one, other])
    assert merged.classes_.tolist() == ["a", "b", "c", "d"]
    assert merged.coef_.shape == (4, D)
    known = merge([one, make().partial_fit(X[100:], four[100:], classes=["a", "b", "c", "d"])])
    same(merged, known, 1e-9)
    merged.partial_fit(X, four)


def test_two_classes_and_more_are_refused():
    one = binary().partial_fit(X[:2], ["a", "b"], classes=["a", "b"])
    other = learn(binary, THREE, slice(None), ["a", "b", "c"])
    with pytest.raises(ValueError, match="pass all classes to the first partial_fit"):
        merge([one, other])


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_refusals():
    one = shards(binary)[0]
    with pytest.raises(ValueError, match="no models to merge"):
        merge([])
    with pytest.raises(ValueError, match="one of these is LogisticRegression"):
        merge([one, LogisticRegression()])
    with pytest.raises(ValueError, match=r"since eta is 'auto' in one and 0[.]5 in another"):
        merge([one, shards(lambda: binary(eta=0.5))[0]])
    with pytest.raises(ValueError, match="cannot be merged with a AdaRegRegressor"):
        merge([one, AdaRegRegressor().fit(X, TARGETS)])
    narrow = binary().partial_fit(X[:, :3], Y, classes=[-1, 1])
    with pytest.raises(ValueError, match="since d is 5 in one and 3 in another; merge models of the same"):
        merge([one, narrow])
    with pytest.raises(ValueError, match="partial_fit in all of them or with a shuffled fit"):
        merge([one, binary().fit(X, Y)])
    with pytest.raises(NotFittedError):
        merge([one, binary()])


def test_losses_whose_squares_are_not_represented_are_merged():
    base = AdaRegRegressor().partial_fit(X[:1], [1e130])
    merged = merge([base, deepcopy(base)], base=base)
    assert not np.isnan(merged._state.progress.points).any()
    assert not np.isnan(merged._state.progress.sums).any()


@pytest.mark.parametrize(
    "params", [{"structure": "diag"}, {"potential": "ons", "structure": "block", "blocks": 2}], ids=str
)
def test_a_feature_that_only_one_model_has_seen_may_have_any_unit(params):
    zero, tiny = X.copy(), X.copy()
    zero[:, 0], tiny[:, 0] = 0.0, 1e-280 * Z[:, 0]
    merged = merge([AdaRegRegressor(**params).partial_fit(rows, TARGETS) for rows in (zero, tiny)])
    assert np.isfinite(merged.coef_).all()


def test_stacks_of_features_in_tiny_units_are_merged():
    chunks = [
        Chunk(seed, n, sizes, "ordinary", "none", "dense", None)
        for seed, n, sizes in ((153750, 25, "tiny"), (0, 10, "ordinary"))
    ]
    (tiny, _), (rows, rng) = (make_rows(chunk, 101) for chunk in chunks)
    model = AdaRegClassifier().partial_fit(tiny, np.arange(25) % 2, classes=[0, 1])
    twin = deepcopy(model).partial_fit(rows, rng.integers(0, 2, size=10))
    assert np.isfinite(merge([model, twin]).coef_).all()


@pytest.mark.parametrize(
    "params", [{"potential": "adagrad", "structure": "full", "alpha": 0.01}, {"structure": "sketch", "rank": 1}]
)
def test_what_cannot_be_merged_in_doubles_is_refused_or_finite(params):
    model = AdaRegClassifier(epsilon=1e-300, **params)
    with suppress(ValueError):  # some stop in mid-stream
        model.partial_fit(X[:10, :3], Y[:10], classes=[-1, 1])
    with suppress(ValueError):
        assert np.isfinite(merge([model, deepcopy(model)]).coef_).all()
