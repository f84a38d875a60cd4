"""Structure "kronecker": one matrix over the classes or targets, and one over the coordinates."""

import itertools

import numpy as np
import pytest
from reference.kronecker import kronecker
from scipy import sparse
from support.data import POTENTIALS
from support.kronecker_data import (
    CONTAINERS,
    PROBLEMS,
    REGRESSION,
    K,
    estimator,
    learn,
    stream,
    structure_of,
    weights_of,
)

from sklearn_adareg import regret
from sklearn_adareg.model import _registry

# --- the reference --------------------------------------------------------------------------------


def assert_equals_reference(problem, potential, weighted=True, **params):
    X, y, weights = stream(problem)
    weights = weights if weighted else None
    reference = {"eta": 0.3, "epsilon": 0.05, **params}
    run = kronecker(X, y, loss=problem, K=K, potential=potential, sample_weight=weights, **reference)
    for change in CONTAINERS:
        model = estimator(problem, potential, **params).fit(change(X), y, sample_weight=weights)
        np.testing.assert_allclose(weights_of(model), run.published, rtol=1e-9, atol=1e-9 * abs(run.published).max())
        assert model.loss_curve_ == [pytest.approx(run.loss, rel=1e-9)]


@pytest.mark.parametrize("scaling", [None, "online"])
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_loss_and_penalty_is_the_reference(problem, potential, scaling):
    for alpha, average in itertools.product((0.0, 0.02), (True, False)):
        if scaling is None and problem == "poisson":
            continue  # e^m of an explicit step overflows in raw units
        assert_equals_reference(problem, potential, alpha=alpha, average=average, scaling=scaling)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("average", [False, True, 2.0, 0.5])
@pytest.mark.parametrize("scaling", [None, "online"])
def test_weights_averages_and_intercept(scaling, average, fit_intercept):
    for weighted, p in itertools.product((True, False), (0.5, 1.0, 3.0)):
        make = {"average": average, "fit_intercept": fit_intercept, "p": p, "scaling": scaling}
        assert_equals_reference("softmax", "pnorm", weighted, **make)


@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize("problem", ["softmax", "squared_error"])
def test_under_auto_a_row_of_weight_w_enters_ons_as_w_rows(problem, alpha):
    X, y, weights = stream(problem)
    eta, epsilon = _registry.POTENTIALS["ons"].auto_steps("kronecker")
    make = {"scaling": "online", "alpha": alpha, "average": 2.0}
    run = kronecker(
        X,
        y,
        loss=problem,
        K=K,
        potential="ons",
        eta=eta,
        epsilon=epsilon,
        sample_weight=weights,
        weights_as_rows=True,
        **make,
    )
    model = estimator(problem, "auto", **{**make, "eta": "auto", "epsilon": "auto"})
    model.set_params(average="auto").fit(X, y, sample_weight=weights)
    assert (model.potential_, model.method_, model.eta_) == ("ons", "algorithm1", eta)
    np.testing.assert_allclose(weights_of(model), run.published, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
@pytest.mark.parametrize(("d", "K"), [(45, 5), (5, 43), (105, 4), (4, 103)])
def test_wide_rows_and_many_classes_are_the_reference(d, K, potential, alpha):
    """Squares for factors of more than 40 rows do not wait, and those of more than 100 have BLAS and LAPACK in place of loops."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60 + K // 2, d)), np.arange(60 + K // 2) % K
    make = {"eta": 0.3, "epsilon": 0.05, "alpha": alpha, "average": True}
    run = kronecker(X, y, loss="softmax", K=K, potential=potential, **make)
    model = estimator("softmax", potential, **make).fit(X, y)
    np.testing.assert_allclose(weights_of(model), run.published, rtol=1e-9, atol=1e-9)


# --- identities -----------------------------------------------------------------------------------


def test_the_pnorm_of_p_1_is_adagrad():
    X, y, _ = stream()
    one, other = estimator("softmax", "pnorm", p=1.0), estimator("softmax", "adagrad")
    np.testing.assert_allclose(weights_of(one.fit(X, y)), weights_of(other.fit(X, y)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("potential", POTENTIALS)
def test_permuted_classes_and_rotated_features_give_the_same_model(potential):
    X, y, _ = stream()
    turn = np.array([2, 0, 1])
    model = estimator("softmax", potential).fit(X, y)
    turned = estimator("softmax", potential).fit(X, turn[y])
    np.testing.assert_allclose(turned.coef_[turn], model.coef_, rtol=1e-9, atol=1e-12)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    rotated = estimator("softmax", potential).fit(X @ Q, y)
    np.testing.assert_allclose(rotated.coef_ @ Q.T, model.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("potential", POTENTIALS)
def test_opposite_targets_of_one_feature_are_the_full_matrix_of_one(potential):
    """L and R then both have ε + 2 Σ z²s² where G has ε/2 + Σ z²s², so that η is 2^a of theirs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1))
    y = 2 * X[:, 0] + rng.normal(size=50)
    a = {"adagrad": 1 / 2, "ons": 1.0, "pnorm": 1 / 3}[potential]
    make = {"fit_intercept": False, "average": 2.0}
    pair = estimator("squared_error", potential, eta=0.1 * 2**a, epsilon=0.4, **make)
    pair.fit(X, np.column_stack([y, -y]))
    alone = estimator("squared_error", potential, eta=0.1, epsilon=0.2, **make)
    alone.set_params(structure="full").fit(X, y)
    np.testing.assert_allclose(pair.coef_, [alone.coef_, -alone.coef_], rtol=1e-9)


def test_whole_rotations_of_the_targets_rotate_the_model():
    X, Y, _ = stream("squared_error")
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(K, K)))[0]
    make = {"problem": "squared_error", "eta": 0.1}
    one, other = estimator(**make).fit(X, Y), estimator(**make).fit(X, Y @ Q)
    np.testing.assert_allclose(weights_of(other), Q.T @ weights_of(one), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("problem", ["softmax", "hinge", "squared_error", "absolute_error"])
@pytest.mark.parametrize("eta", ["auto", 0.5])
@pytest.mark.parametrize("potential", POTENTIALS)
def test_units_do_not_matter(potential, eta, problem):
    X, y, _ = stream(problem)
    make = {"eta": eta, "epsilon": 1.0, "scaling": "online"}
    factors = np.array([2.0**20, 1.0, 2.0**-9, 2.0**3])
    model = estimator(problem, potential, **make).fit(X, y)
    changed = estimator(problem, potential, **make).fit(X * factors, y)
    np.testing.assert_array_equal(changed.coef_ * factors, model.coef_)
    if problem in REGRESSION:
        units = np.array([2.0**7, 1.0, 2.0**-5])
        changed = estimator(problem, potential, **make).fit(X, y * units)
        np.testing.assert_allclose(changed.coef_.T / units, model.coef_.T, rtol=1e-12)


# --- what is certified ----------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("delta", [0.1, 0.5, 2.0])
def test_both_factors_are_within_their_refresh(delta, alpha):
    """G_τ ⪯ G_t ⪯ (1 + δ)G_τ of L and of R, what waits included; both are reused for many rounds."""
    X, y, _ = stream(n=400)
    model = learn(estimator(refresh=delta, alpha=alpha), X, y)
    factors = structure_of(model).accumulated()
    for side, G in zip(("left", "right"), factors, strict=True):
        arrays = model._state.blocks[0].arrays
        V, eigenvalues = arrays[f"{side}:V"][0], arrays[f"{side}:eigenvalues"][0]
        assert 1 < arrays[f"{side}:refreshes"][0] < 200
        ratios = np.linalg.eigvalsh(V @ G @ V.T / np.sqrt(np.outer(eigenvalues, eigenvalues)))
        assert ratios.min() > 1 - 1e-9
        assert ratios.max() < (1 + delta) * (1 + 1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_refreshes_leave_the_factors_as_they_are(alpha):
    X, y, weights = stream()
    run = kronecker(X, y, loss="softmax", K=K, eta=0.3, alpha=alpha, sample_weight=weights)
    model = learn(estimator(alpha=alpha), X, y, weights)
    for found, expected in zip(structure_of(model).accumulated(), (run.L, run.R), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    lazy = learn(estimator(alpha=alpha, refresh=0.1), X, y, weights)
    assert lazy.progressive_loss_ == pytest.approx(model.progressive_loss_, rel=0.02)


# --- regret ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 0.5])
@pytest.mark.parametrize("problem", ["softmax", "hinge", "absolute_error", "squared_error"])
def test_measured_regret_is_within_the_bound(problem, delta):
    X, y, weights = stream(problem, n=120)
    rng = np.random.default_rng(1)
    for eta in (0.03, 0.3, 3.0):
        run = regret.record(estimator(problem, eta=eta, refresh=delta), X, y, weights)
        assert 1.0 <= run.refresh_factor <= (1 + delta) ** 0.5 * (1 + 1e-9)
        last = run.x[-1]
        for x_star in (0 * last, last, 5 * last, rng.normal(size=last.shape), -last):
            b = max(np.linalg.norm(x - x_star) for x in run.x)
            known = regret.linear_regret(run.x, run.g, x_star)
            factor = {"refresh_factor": run.refresh_factor}
            assert known <= regret.kronecker_bound(run.L, run.R, b, eta=eta, **factor)
            best = regret.kronecker_bound(run.L, run.R, b)
            assert best <= regret.kronecker_bound(run.L, run.R, b, eta=eta) * (1 + 1e-12)


def test_the_bound_of_one_number_is_adagrads():
    G, b = 4.0, 3.0
    for eta in (None, 0.7):
        one = regret.kronecker_bound([[G]], [[G]], b, eta=eta, refresh_factor=1.5)
        assert one == pytest.approx(regret.adagrad_bound([G], b, eta=eta, refresh_factor=1.5))


def test_the_bound_is_nearly_met_by_gradients_that_point_away_from_the_comparator():
    """One target of two moves, around 0: Σ g·x is over half of the bound."""
    X, g = [np.zeros((2, 1))], []
    L = R = np.zeros((1, 1))
    for _ in range(400):
        g.append(np.array([[1.0 if X[-1][0, 0] >= 0 else -1.0], [0.0]]))
        L, R = sum(a @ a.T for a in g), sum(a.T @ a for a in g)
        X.append(X[-1] - g[-1] * (L[0, 0] * R[0, 0]) ** -0.25)
    b = max(np.linalg.norm(x) for x in X)
    measured = regret.linear_regret(np.array(X), np.array(g), np.zeros((2, 1)))
    bound = regret.kronecker_bound(L, R, b, eta=1.0)
    assert 0.5 * bound < measured <= bound


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_product_of_the_factors_covers_the_full_matrix(rank):
    """rεI + Σ vec(g) vec(g)ᵀ ⪯ r L^(1/2) ⊗ R^(1/2): what the bound rests on, met with equality."""
    rng = np.random.default_rng(rank)
    isometry = np.eye(3, rank) @ np.eye(rank, 4)
    for same in (False, True):
        epsilon = 0.1
        L, R, G = epsilon * np.eye(3), epsilon * np.eye(4), rank * epsilon * np.eye(12)
        for _ in range(20):
            g = isometry if same else rng.normal(size=(3, rank)) @ rng.normal(size=(rank, 4))
            L, R, G = L + g @ g.T, R + g.T @ g, G + np.outer(g, g)
        roots = [(V * np.sqrt(lam)) @ V.T for lam, V in map(np.linalg.eigh, (L, R))]
        cover = rank * np.kron(*roots)
        assert np.linalg.eigvalsh(cover - G).min() > -1e-9
        assert np.linalg.eigvalsh(0.99 * cover - G).min() < 0 or not same


def test_a_recorded_run_is_the_references():
    X, y, weights = stream()
    run = regret.record(estimator(), sparse.csr_array(X), y, weights)
    expected = kronecker(X, y, loss="softmax", K=K, eta=0.3, sample_weight=weights)
    for found, wanted in ((run.x, expected.X), (run.g, expected.g), (run.L, expected.L)):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.R, expected.R, rtol=1e-9, atol=1e-12)
    assert run.losses.sum() / weights.sum() == pytest.approx(expected.loss)
