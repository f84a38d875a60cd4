"""Structure "block": between diagonal and full, and what its blocks may be."""

import pickle

import numpy as np
import pytest
from reference.algorithm import adareg
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.data import POTENTIALS, RADIUS, UPDATES, FourthRoot, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, regret
from sklearn_adareg.model import _feature_blocks

pytestmark = pytest.mark.filterwarnings("ignore:radius=.* has no effect:UserWarning")
DOMAINS = [None, "l2", "box", "l1", "simplex", "nonnegative"]
ALL = [*POTENTIALS, FourthRoot()]


def arrays_of(model):
    [state] = model._state.blocks
    return state.arrays


def of_size(model, size):
    """The arrays of the blocks of one size, by their own names."""
    prefix = f"{size}:"
    kept = arrays_of(model).items()
    return {name[len(prefix) :]: value for name, value in kept if name.startswith(prefix)}


def stream(n=120, d=6, seed=2):
    X, score = rows(seed, n=n, d=d)
    return X, target("log_loss", score)


# --- identities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("refresh", [0.0, 0.5])
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", ALL, ids=[*POTENTIALS, "custom"])
def test_one_block_is_full_and_singletons_are_diag(potential, update, domain, refresh):
    X, y = stream()
    make = {"update": update, "domain": domain, "radius": RADIUS, "refresh": refresh}
    make |= {"fit_intercept": False, "average": 2.0}
    for structure, blocks in (("full", 6), ("full", [range(6)]), ("diag", 1), ("diag", [])):
        if structure == "diag" and refresh:
            continue
        expected = weights_of(learn(estimator(potential, structure, **make), X, y))
        for of in (X, sparse.csr_array(X)):
            model = learn(estimator(potential, "block", blocks=blocks, **make), of, y)
            np.testing.assert_allclose(weights_of(model), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_blocks_on_rows_that_touch_one_block_are_full(potential, update):
    """G is block-diagonal then, and P_S changes nothing."""
    X, y = stream()
    X[::2, :3] = X[1::2, 3:] = 0.0
    make = {"update": update, "fit_intercept": False}
    full = learn(estimator(potential, "full", **make), X, y)
    block = learn(estimator(potential, "block", blocks=3, **make), X, y)
    np.testing.assert_allclose(weights_of(block), weights_of(full), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [3, 4, 7, 8, 16, 20, 32, 33, 41])
@pytest.mark.parametrize("potential", ["ons", "adagrad"])
def test_every_size_of_block_is_the_reference(potential, size):
    """Sizes have loops of their own; hundreds of rounds pass several folds of what waits."""
    d = 2 * size + 1
    X, y = stream(n=150, d=d, seed=size)
    groups = [list(range(1, d, 2)), list(range(0, 2 * size, 2))]
    run = adareg(X, y, potential=potential, structure="block", blocks=groups, eta=0.5, epsilon=0.05)
    model = learn(estimator(potential, "block", blocks=groups, average=True), X, y)
    np.testing.assert_allclose(weights_of(model), run.x_mean, rtol=1e-9, atol=1e-9)


def test_the_order_of_groups_and_of_their_members_does_not_matter():
    X, y = stream()
    one = learn(estimator("adagrad", "block", blocks=[[0, 3], [1, 2, 5]]), X, y)
    other = learn(estimator("adagrad", "block", blocks=[(5, 2, 1), np.array([3, 0]), [4]]), X, y)
    np.testing.assert_array_equal(weights_of(one), weights_of(other))


# --- rows touch their blocks only -----------------------------------------------------------------


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_row_leaves_the_blocks_that_it_does_not_touch(potential, update):
    X, y = stream(d=9)
    model = learn(estimator(potential, "block", blocks=3, refresh=0.5, update=update), X, y)
    before = {name: np.array(value) for name, value in arrays_of(model).items() if ":" in name}
    row = np.zeros((1, 9))
    row[0, 4] = 2.0
    learn(model, sparse.csr_array(row), y[:1])
    changed = False
    for name, value in arrays_of(model).items():
        if name.startswith("3:"):
            np.testing.assert_array_equal(value[[0, 2]], before[name][[0, 2]], err_msg=name)
            changed = changed or not np.array_equal(value[1], before[name][1])
    assert changed


# --- what is certified ----------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.1, 0.5, 2.0])
@pytest.mark.parametrize(("size", "potential"), [(4, "adagrad"), (16, "adagrad"), (16, "pnorm")])
def test_every_block_is_within_its_refresh(size, potential, delta):
    """G_τ ⪯ G_t ⪯ (1 + δ)G_τ in each block, what waits included."""
    X, y = stream(n=400, d=2 * size)
    model = learn(estimator(potential, "block", blocks=size, refresh=delta), X, y)
    kept = of_size(model, size)
    assert 1 < kept["refreshes"].max() < 300
    for k in range(2):
        waiting = kept["pending_g"][k, : int(kept["count"][k])]
        G = np.tril(kept["G"][k]) + np.tril(kept["G"][k], -1).T + waiting.T @ waiting
        V, eigenvalues = kept["V"][k], kept["eigenvalues"][k]
        np.testing.assert_allclose(V @ V.T, np.eye(size), atol=2e-13)
        np.testing.assert_allclose((V.T * eigenvalues) @ V, kept["past"][k], atol=1e-13 * G.max())
        ratios = np.linalg.eigvalsh(V @ G @ V.T / np.sqrt(np.outer(eigenvalues, eigenvalues)))
        assert ratios.min() >= 1 - 1e-10
        assert ratios.max() <= 1 + delta + 1e-10


def test_the_inverse_stays_one_over_thousands_of_rounds():
    for size in (6, 16):
        X, y = stream(n=3000, d=2 * size)
        model = learn(estimator("ons", "block", blocks=size, epsilon=1e-3), X, y)
        kept = of_size(model, size)
        for k in range(len(kept["P"])):
            waiting = kept["pending_g"][k, : int(kept["count"][k])]
            G = kept["G"][k] + waiting.T @ waiting
            np.testing.assert_allclose(G @ kept["P"][k], np.eye(size), atol=1e-8)


def test_lazy_blocks_of_16_stand_features_twice_and_in_other_units():
    """The eigenvalues of G lie eight orders of magnitude apart; with so small a δ nearly every round decomposes."""
    X, y = stream(n=300, d=32)
    X[:, 5], X[:, 8] = X[:, 4], 0.0
    X[:, 16:] *= np.logspace(-2, 2, 16)
    exact, lazy = (
        learn(estimator("adagrad", "block", blocks=16, refresh=delta, epsilon=1e-2), X, y) for delta in (0.0, 1e-9)
    )
    assert np.linalg.cond(of_size(exact, 16)["G"][1]) > 1e7
    np.testing.assert_allclose(lazy.coef_, exact.coef_, rtol=1e-6, atol=1e-9)


def test_a_block_of_16_that_rows_touch_by_turns_is_the_same_in_pieces():
    """Inverses are held otherwise while a call lasts, and go back where they came from."""
    X, y = stream(n=120, d=48)
    X[::2, :16], X[1::3, 16:32] = 0.0, 0.0
    whole = learn(estimator("ons", "block", blocks=16), X, y)
    parts = estimator("ons", "block", blocks=16)
    for i in range(0, 120, 7):
        learn(parts, X[i : i + 7], y[i : i + 7])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(arrays_of(parts)["16:P"], arrays_of(whole)["16:P"])


def test_regret_in_blocks_is_below_theorem_1_and_the_closed_forms():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(60, 4)), rng.choice([-1.0, 1.0], size=60)
    groups = [[0, 2], [1, 3]]
    numbers = {"eta": 0.7, "epsilon": 0.3}
    make = {"structure": "block", "blocks": groups, "fit_intercept": False, **numbers}
    for potential in POTENTIALS:
        run = adareg(Z, y, potential=potential, domain="box", radius=1.0, **make)
        for x_star in rng.uniform(-1, 1, size=(20, 4)):
            known = regret.linear_regret(run.x, run.g, x_star)
            assert known <= regret.theorem_1(
                run.x, run.g, run.H, x_star, H0=run.H0, potential=potential, p=2.0, **numbers
            )
            b = 2 * np.sqrt(2)  # of two coordinates in a box
            of = {"structure": "block", "blocks": groups, "eta": 0.7}
            if potential == "adagrad":
                assert known <= regret.adagrad_bound(run.G, b, **of)
            if potential == "pnorm":
                assert known <= regret.pnorm_bound(run.G, b, p=2.0, **of)


def test_closed_forms_in_blocks_lie_between_those_of_their_relatives():
    A = np.random.default_rng(1).normal(size=(6, 6))
    G = A @ A.T + np.eye(6)
    for bound in (regret.adagrad_bound, regret.pnorm_bound):
        assert bound(G, 2.0, structure="block", blocks=6) == pytest.approx(bound(G, 2.0))
        diag = bound(G, 2.0, structure="diag")
        assert bound(G, 2.0, structure="block", blocks=1) == pytest.approx(diag)
    ons = [regret.ons_bound(G, 2.0, epsilon=1.0, eta=1.0, structure="block", blocks=size) for size in (6, 3, 1)]
    assert ons == sorted(ons)  # log det grows as entries beside the blocks are dropped
    with pytest.raises(ValueError, match="structure='block' needs blocks"):
        regret.adagrad_bound(G, 2.0, structure="block")
    with pytest.raises(ValueError, match="need the matrix G_T, not its diagonal"):
        regret.adagrad_bound(np.diag(G), 2.0, structure="block", blocks=2)


# --- the parameter --------------------------------------------------------------------------------


def test_names_slices_and_indices_are_the_same_blocks():
    pandas = pytest.importorskip("pandas")
    X, y = stream()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    by_index = learn(estimator("ons", "block", blocks=[[0, 1, 2], [-1, 3]]), X, y)
    by_name = learn(estimator("ons", "block", blocks=[slice(0, 3), ["f", "d"]]), frame, y)
    np.testing.assert_array_equal(weights_of(by_index), weights_of(by_name))


def test_the_groups_of_a_column_transformer_are_blocks():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 2)), rng.integers(0, 3, size=80)])
    y = np.where(X[:, 0] + (X[:, 2] == 1) > 0.3, 1, -1)
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), [0, 1]), ("kind", OneHotEncoder(), [2])], sparse_threshold=0
    )
    Z = columns.fit_transform(X)
    groups = list(columns.output_indices_.values())
    model = estimator("ons", "block", blocks=groups).fit(Z, y)
    assert model._state.recipe.blocks == (0, 0, 1, 1, 1)


REFUSED = [
    ([[0, 9]], "blocks has the index 9, and X has 6 features"),
    ([[0, 1], [1, 2]], "blocks has feature 1 twice"),
    ([[3, 3]], "blocks has feature 3 twice"),
    ([["a"]], "blocks names the feature 'a', and X has no feature names"),
    ([0, 1], "blocks has the element 0, and each must be a group"),
    ([[0.5]], "blocks has 0.5 for a feature"),
    ([[True]], "blocks has True for a feature"),
    (["ab"], "blocks has the element 'ab', and each must be a group"),
]


@pytest.mark.parametrize(("blocks", "message"), REFUSED)
def test_blocks_that_make_no_partition_are_refused(blocks, message):
    X, y = stream()
    with pytest.raises(ValueError, match=message):
        estimator("ons", "block", blocks=blocks).fit(X, y)


def test_an_unknown_name_is_refused():
    pandas = pytest.importorskip("pandas")
    X, y = stream()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    with pytest.raises(ValueError, match="names the feature 'z', and X has none of that name"):
        estimator("ons", "block", blocks=[["a", "z"]]).fit(frame, y)
    with pytest.raises(ValueError, match="blocks has feature 'a' twice"):
        estimator("ons", "block", blocks=[["a", 0]]).fit(frame, y)


@pytest.mark.parametrize("blocks", [0, -1, 1.5, "all", None, {0: [1]}])
def test_what_is_no_value_of_blocks_is_refused(blocks):
    X, y = stream()
    with pytest.raises(ValueError, match="'blocks' parameter"):
        estimator("ons", "block", blocks=blocks).fit(X, y)


def test_blocks_without_the_structure_are_warned_of():
    X, y = stream()
    with pytest.warns(UserWarning, match="blocks=2 has no effect with structure='diag'"):
        estimator("ons", "diag", blocks=2).fit(X, y)


def test_an_l1_penalty_is_refused_in_a_sentence():
    X, y = stream()
    with pytest.raises(ValueError, match="l1_ratio > 0 with structure='block' is not supported"):
        estimator("ons", "block", alpha=0.1, l1_ratio=0.5).fit(X, y)


def test_the_step_size_of_theory_is_refused_for_ons_in_blocks():
    X, y = stream()
    model = estimator("ons", "block", eta="theory", domain="l2", radius=1.0, fit_intercept=False)
    with pytest.raises(ValueError, match="not exp-concave in each block"):
        model.fit(X, y)


def test_a_running_model_keeps_its_blocks():
    X, y = stream()
    groups = [np.array([0, 1]), [2, 3]]
    model = learn(estimator("ons", "block", blocks=groups), X, y)
    model.set_params(blocks=[[0, 1], (2, 3)])  # the same
    learn(model, X, y)
    model.set_params(blocks=[[0, 1], [2, 4]])
    with pytest.raises(ValueError, match=r"blocks was .* when this model began"):
        learn(model, X, y)


def test_models_with_groups_are_cloned_and_pickled():
    X, y = stream()
    model = learn(estimator("adagrad", "block", blocks=[np.array([0, 4]), range(1, 3)]), X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(weights_of(learn(again, X, y)), weights_of(learn(model, X, y)))
    learn(clone(model), X, y)


# --- "auto" ---------------------------------------------------------------------------------------


def test_few_features_are_one_block():
    X, y = stream(d=32)
    model = AdaRegClassifier("adagrad", "block").fit(X, y)
    assert set(model._state.recipe.blocks) == {0}


def test_correlated_features_share_a_block():
    rng = np.random.default_rng(0)
    sources = rng.normal(size=(500, 20))
    X = np.repeat(sources, 3, axis=1) + 0.3 * rng.normal(size=(500, 60))
    order = rng.permutation(60)
    found = np.array(_feature_blocks.resolve("auto", X[:, order]))
    source = np.repeat(np.arange(20), 3)[order]
    np.testing.assert_array_equal(found[:, None] == found, source[:, None] == source)
    raw = _feature_blocks.resolve("auto", (X * 10.0 ** rng.integers(-9, 9, size=60))[:, order])
    np.testing.assert_array_equal(raw, found)  # units do not matter


def test_blocks_have_a_largest_size_and_noise_makes_none():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(300, 1)) + 0.5 * rng.normal(size=(300, 100))
    assert np.bincount(_feature_blocks.resolve("auto", common)).max() == 32
    noise = rng.normal(size=(2000, 100))
    assert np.bincount(_feature_blocks.resolve("auto", noise)).max() <= 2
    constant = np.column_stack([common[:, :40], np.ones((300, 2))])
    assert (np.bincount(_feature_blocks.resolve("auto", constant))[-2:] == 1).all()


@pytest.mark.parametrize("change", [sparse.csr_array, lambda X: X[:49], lambda X: np.tile(X, 80)])
def test_neighbours_share_a_block_where_correlations_are_not_worked_out(change):
    X = change(np.random.default_rng(0).normal(size=(60, 40)))
    found = np.array(_feature_blocks.resolve("auto", X))
    np.testing.assert_array_equal(found, np.arange(X.shape[1]) // 8)


def test_the_first_call_decides_about_auto_blocks():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(200, 20)), 2, axis=1) + 0.1 * rng.normal(size=(200, 40))
    y = X @ rng.normal(size=40)
    model = AdaRegRegressor("adagrad", "block").partial_fit(X[:100], y[:100])
    before = model._state.recipe.blocks
    model.partial_fit(-X[::-1], y)
    assert model._state.recipe.blocks == before
    assert before == _feature_blocks.resolve("auto", X[:100])
