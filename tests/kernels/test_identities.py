"""Special cases of the algorithms that must coincide, whichever kernels are behind them."""

import numpy as np
import pytest
from support.data import POTENTIALS, STRUCTURES, UPDATES, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegRegressor

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

EXACT = {"rtol": 1e-10, "atol": 1e-12}


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", [None, "l2", "l1"])
def test_pnorm_with_p_1_is_adagrad(domain, structure, update):
    X, score = rows()
    y = target("log_loss", score)
    shared = {"structure": structure, "update": update, "domain": domain, "radius": 0.4}
    pnorm = learn(estimator("pnorm", p=1.0, **shared), X, y)
    adagrad = learn(estimator("adagrad", **shared), X, y)
    np.testing.assert_allclose(weights_of(pnorm), weights_of(adagrad), **EXACT)
    other = learn(estimator("pnorm", p=1.5, **shared), X, y)
    assert not np.allclose(weights_of(other), weights_of(adagrad), rtol=1e-4)


@pytest.mark.parametrize("average", [False, True, 2.0])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_full_equals_diag_on_one_hot_rows(potential, update, average):
    rng = np.random.default_rng(1)
    X = np.eye(6)[rng.integers(0, 6, size=150)] * rng.normal(size=(150, 1))
    y = target("log_loss", X.sum(axis=1) + rng.normal(size=150))
    full, diag, iso = (
        weights_of(learn(estimator(potential, structure, update=update, average=average, fit_intercept=False), X, y))
        for structure in ("full", "diag", "iso")
    )
    np.testing.assert_allclose(full, diag, **EXACT)
    assert not np.allclose(iso, diag, rtol=1e-3)


@pytest.mark.parametrize("domain", [None, "l2", "box", "l1", "nonnegative"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_all_structures_are_one_in_one_dimension(potential, update, domain):
    X, score = rows(2, d=1)
    y = target("squared_error", score)
    full, diag, iso = (
        weights_of(
            learn(
                estimator(
                    potential,
                    structure,
                    loss="squared_error",
                    update=update,
                    fit_intercept=False,
                    domain=domain,
                    radius=0.4,
                ),
                X,
                y,
            )
        )
        for structure in ("full", "diag", "iso")
    )
    np.testing.assert_allclose(full, diag, **EXACT)
    np.testing.assert_allclose(iso, diag, **EXACT)
    assert diag != 0.0


def test_the_balls_are_one_in_one_dimension():
    X, score = rows(2, d=1)
    for structure in STRUCTURES:
        l2, box, l1 = (
            weights_of(learn(estimator("ons", structure, loss="squared_error", domain=domain, radius=0.2), X, score))
            for domain in ("l2", "box", "l1")
        )
        np.testing.assert_allclose(l2, box, **EXACT)
        np.testing.assert_allclose(l1, box, **EXACT)


@pytest.mark.parametrize("domain", [None, "l2"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_full_sketch_and_iso_follow_a_rotation_and_diag_does_not(potential, update, domain):
    X, score = rows(3, n=120)
    y = target("log_loss", score)
    Q, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(5, 5)))
    for structure in STRUCTURES:
        params = {"update": update, "domain": domain, "radius": 0.4}
        still = learn(estimator(potential, structure, **params), X, y)
        turned = learn(estimator(potential, structure, **params), X @ Q, y)
        # z·x = (zQ)·(Qᵀx): the coefficients turn with the rows, and the predictions stay.
        same = np.allclose(turned.coef_, still.coef_ @ Q, rtol=1e-9, atol=1e-10)
        assert same == (structure in ("full", "sketch", "iso"))
        if same:
            np.testing.assert_allclose(
                turned.decision_function(X @ Q), still.decision_function(X), rtol=1e-9, atol=1e-10
            )


@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_structure_follows_a_permutation_and_a_change_of_signs(structure):
    X, score = rows(5)
    y = target("hinge", score)
    order, signs = [3, 0, 4, 1, 2], np.array([1, -1, 1, 1, -1])
    params = {"loss": "hinge", "domain": "l1", "radius": 0.4}
    if structure == "block":
        params["blocks"] = [[0, 1], [2, 3]]
    still = learn(estimator("pnorm", structure, **params), X, y)
    if structure == "block":  # they move along
        params["blocks"] = [[1, 3], [4, 0]]
    moved = learn(estimator("pnorm", structure, **params), X[:, order] * signs, y)
    np.testing.assert_allclose(moved.coef_, still.coef_[:, order] * signs, rtol=1e-9, atol=1e-10)


def test_adagrad_iso_is_adaptive_gradient_descent():
    X, score = rows(6)
    y = target("log_loss", score)
    eta, epsilon = 0.3, 0.05
    x, squares = np.zeros(6), 6 * epsilon
    c = eta * np.sqrt(6)
    for z, label in zip(np.column_stack([X, np.ones(len(X))]), y, strict=True):
        g = -label / (1 + np.exp(label * (z @ x))) * z
        squares += g @ g
        x = x - c / np.sqrt(squares) * g
    model = learn(estimator("adagrad", "iso", eta=eta, epsilon=epsilon, average=False), X, y)
    np.testing.assert_allclose(weights_of(model), x, **EXACT)


def test_ons_iso_is_gradient_descent_for_strongly_convex_losses():
    X, score = rows(6)
    x, squares = np.zeros(5), 5 * 0.05
    for z, y in zip(X, score, strict=True):
        g = (z @ x - y) * z
        squares += g @ g
        x = x - 0.3 * 5 / squares * g
    model = estimator("ons", "iso", loss="squared_error", eta=0.3, average=False, fit_intercept=False)
    np.testing.assert_allclose(weights_of(learn(model, X, score)), x, **EXACT)


def test_adagrad_diag_is_duchis_recursion():
    X, score = rows(6)
    x, squares = np.zeros(5), np.full(5, 0.05)
    for z, y in zip(X, score, strict=True):
        g = np.sign(z @ x - y) * z
        squares += g**2
        x = x - 0.3 / np.sqrt(squares) * g
    model = estimator("adagrad", "diag", loss="absolute_error", eta=0.3, average=False, fit_intercept=False)
    np.testing.assert_allclose(weights_of(learn(model, X, score)), x, **EXACT)


@pytest.mark.parametrize("average", [False, True])
def test_ons_full_is_recursive_least_squares_in_the_gradients(average):
    """G_t⁻¹ by Kalman's gain, on enough rounds for several folds."""
    X, score = rows(7, n=200)
    eta, epsilon = 2.0, 0.5
    x, P, seen = np.zeros(6), np.eye(6) / epsilon, []
    for z, y in zip(np.column_stack([X, np.ones(len(X))]), score, strict=True):
        seen.append(x)
        g = (z @ x - y) * z
        gain = P @ g / (1 + g @ P @ g)
        P = P - np.outer(gain, g @ P)
        x = x - eta * gain  # P_t g_t = P_{t−1} g_t / (1 + g_tᵀ P_{t−1} g_t)
    model = estimator("ons", "full", loss="squared_error", eta=eta, epsilon=epsilon, average=average)
    expected = np.mean(seen, axis=0) if average else x
    np.testing.assert_allclose(weights_of(learn(model, X, score)), expected, rtol=1e-9, atol=1e-11)


def test_ons_full_dual_averaging_solves_the_regularised_normal_equations():
    """Of linear losses: x_{T+1} = −η (εI + Σ g gᵀ)⁻¹ Σ g, solved once at the end."""
    X, score = rows(8, n=90)
    y = 1e3 * np.sign(score)  # so far away that |m − y| is linear in the iterates
    g = -np.sign(y)[:, None] * X
    expected = -0.5 * np.linalg.solve(0.05 * np.eye(5) + g.T @ g, g.sum(axis=0))
    model = estimator("ons", "full", loss="absolute_error", update="dual_averaging", average=False, fit_intercept=False)
    np.testing.assert_allclose(weights_of(learn(model, X, y)), expected, rtol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_weight_is_a_factor_on_the_gradient(potential, structure, update):
    """ω|m − y| is |ωm − ωy|: weighing a row is the same as multiplying it, target included."""
    X, score = rows(9)
    weight = np.random.default_rng(9).integers(1, 5, size=len(X)).astype(float)
    params = {"loss": "absolute_error", "update": update, "fit_intercept": False}
    weighed = learn(estimator(potential, structure, **params), X, score, sample_weight=weight)
    multiplied = learn(estimator(potential, structure, **params), X * weight[:, None], score * weight)
    np.testing.assert_allclose(weights_of(weighed), weights_of(multiplied), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_adagrad_without_epsilon_forgets_a_common_factor_of_the_weights(structure):
    X, score = rows(10)
    y = target("log_loss", score)
    light = learn(estimator("adagrad", structure, epsilon=0.01), X, y)
    heavy = learn(estimator("adagrad", structure, epsilon=0.01 * 49), X, y, sample_weight=np.full(len(X), 7.0))
    np.testing.assert_allclose(weights_of(heavy), weights_of(light), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_row_of_weight_zero_is_no_round(structure):
    X, score = rows(11)
    y = target("log_loss", score)
    live = np.arange(len(X)) % 3 > 0
    some = learn(estimator("ons", structure, average=2.0), X, y, sample_weight=live.astype(float))
    without = learn(estimator("ons", structure, average=2.0), X[live], y[live])
    np.testing.assert_array_equal(weights_of(some), weights_of(without))
    assert some.t_ == without.t_ == live.sum()


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_zero_gradient_is_a_round(structure, update):
    """The weights stand still for it, and the average counts it."""
    X, score = rows(12, n=40)
    y = target("hinge", score)
    params = {"loss": "hinge", "update": update, "fit_intercept": False}
    empty = np.zeros((5, 5))
    last = learn(estimator("adagrad", structure, average=False, **params), X, y)
    before = weights_of(last).copy()
    learn(last, empty, np.ones(5))
    np.testing.assert_array_equal(weights_of(last), before)
    mean = learn(estimator("adagrad", structure, average=True, **params), X, y)
    expected = (40 * weights_of(mean) + 5 * before) / 45
    learn(mean, empty, np.ones(5))
    assert mean.t_ == 45
    np.testing.assert_allclose(weights_of(mean), expected, **EXACT)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_quantile_one_half_is_half_the_absolute_error(structure):
    X, score = rows(13)
    half = learn(estimator("adagrad", structure, loss="quantile", quantile=0.5), X, score)
    whole = learn(estimator("adagrad", structure, loss="absolute_error"), X, score, np.full(len(X), 0.5))
    np.testing.assert_allclose(weights_of(half), weights_of(whole), **EXACT)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_swapping_the_classes_mirrors_the_model(structure):
    X, score = rows(14)
    y = target("squared_hinge", score)
    one = learn(estimator("pnorm", structure, loss="squared_hinge"), X, y)
    other = learn(estimator("pnorm", structure, loss="squared_hinge"), X, -y)
    np.testing.assert_allclose(weights_of(other), -weights_of(one), **EXACT)


def test_a_domain_that_never_binds_changes_nothing():
    X, score = rows(15)
    for structure in STRUCTURES:
        for update in UPDATES:
            params = {"loss": "squared_error", "update": update}
            free = weights_of(learn(estimator("adagrad", structure, **params), X, score))
            for domain in ("l2", "box", "l1"):
                bound = estimator("adagrad", structure, domain=domain, radius=1e3, **params)
                np.testing.assert_allclose(weights_of(learn(bound, X, score)), free, **EXACT)


@pytest.mark.parametrize("eta", [0.3, 1.0, 4.0])
def test_dual_averaging_of_ons_goes_to_a_shrunken_model(eta):
    """Its regulariser grows like t, see the theory's page on the algorithms; mirror descent goes to the minimiser."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20_000, 3))
    y = Z @ [1.0, -2.0, 0.5] + rng.normal(size=len(Z))
    params = {"eta": eta, "scaling": None, "fit_intercept": False, "average": False}
    found = AdaRegRegressor("ons", "full", update="dual_averaging", **params).partial_fit(Z, y).coef_
    g = (Z @ found - y)[:, np.newaxis] * Z
    np.testing.assert_allclose(found, -eta * np.linalg.solve(g.T @ g / len(Z), g.mean(axis=0)), rtol=0.1, atol=0.02)
    assert np.linalg.norm(found) < 0.9 * np.linalg.norm([1.0, -2.0, 0.5])
    right = AdaRegRegressor("ons", "full", **{**params, "eta": 4.0}).partial_fit(Z, y).coef_
    np.testing.assert_allclose(right, [1.0, -2.0, 0.5], atol=0.1)
