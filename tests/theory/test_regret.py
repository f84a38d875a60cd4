"""The measured regret stays below every bound, and comes so close that no constant can be smaller.

A bound that is merely large is never violated, so each one is tested from both sides: on random and
adversarial sequences from above, and from below by an opponent built for it, whose share of the
bound is asserted. Here Theorem 1, dual averaging and older matrices; the closed forms have a file
of their own.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from reference.algorithm import POTENTIALS, adareg
from support.regret_runs import (
    ALL_POTENTIALS,
    KINDS_OF_ROWS,
    POWERS,
    RADIUS,
    SHIFTED,
    STRUCTURES,
    D,
    comparators,
    directions_of,
    linear_losses,
    measured_regret,
    play,
    power_bound,
    rows,
    theorem_1,
)

from sklearn_adareg import regret

# --- Theorem 1 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, "l2", "box", "l1"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ALL_POTENTIALS)
def test_regret_on_rows_is_below_theorem_1(potential, structure, domain):
    numbers = {"eta": 0.7, "p": 2.0, "epsilon": 0.3}
    for kind in KINDS_OF_ROWS:
        Z, y = rows(kind)
        run = adareg(Z, y, potential=potential, structure=structure, domain=domain, radius=RADIUS, **numbers)
        for x_star in comparators(run, domain):
            bound = theorem_1(run, x_star, potential, **numbers)
            assert measured_regret(run, Z, y, "log_loss", x_star) <= bound + 1e-9, kind


def doubling_opponent(t, x, H):
    """Gradients that double every third round and charge the iterate for where it went."""
    return 2.0 ** (t // 3) * np.where(x > 0, 1.0, -1.0) * (np.arange(len(x)) == t % len(x))


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ALL_POTENTIALS)
def test_regret_against_an_adaptive_opponent_is_below_theorem_1(potential, structure):
    numbers = {"eta": 0.7, "p": 2.0, "epsilon": 0.3}
    run = play(
        doubling_opponent,
        dimension=D,
        potential=potential,
        structure=structure,
        domain="box",
        radius=RADIUS,
        rounds=30,
        **numbers,
    )
    for x_star in comparators(run, "box"):
        bound = theorem_1(run, x_star, potential, **numbers)
        assert regret.linear_regret(run.x, run.g, x_star) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ALL_POTENTIALS)
def test_theorem_1_is_an_equality_up_to_small_gradients(potential, structure):
    # Without projection the lemma on mirror descent loses nothing, and with g² ≪ G the
    # follow-the-leader lemma loses next to nothing; what the paper drops is −½ G_0 • H_0.
    rng = np.random.default_rng(7)
    numbers = {"eta": 0.7, "p": 2.0, "epsilon": 0.3}
    directions = np.linalg.qr(rng.normal(size=(D, D)))[0]
    size = [0.05]

    def gradient(t, x, H):
        size[0] *= 1.006
        return size[0] * rng.choice([-1, 1]) * directions[t % D]

    run = play(gradient, dimension=D, potential=potential, structure=structure, rounds=750, **numbers)
    dropped = numbers["epsilon"] * np.trace(run.H0) / 2
    standing_still = np.tile(run.x[0], (len(run.x), 1))
    bracket = regret.theorem_1(standing_still, run.g, run.H, run.x[0], H0=run.H0, potential=potential, **numbers)
    for x_star in (run.x[-1], run.x[0], 30 * rng.normal(size=D)):
        gap = theorem_1(run, x_star, potential, **numbers) - regret.linear_regret(run.x, run.g, x_star)
        assert 0 <= gap - dropped <= 0.02 * bracket


@pytest.mark.parametrize("potential", ["adagrad", "pnorm", "ons", SHIFTED])
def test_recorded_matrices_may_be_given_as_matrices_diagonals_or_scalars(potential):
    Z, y = rows("random")
    numbers = {"eta": 0.7, "p": 2.0, "epsilon": 0.3}
    run = adareg(Z, y, potential=potential, structure="iso", **numbers)
    whole, whole_0 = np.array(run.H), run.H0
    x_star = np.arange(1.0, D + 2)
    forms = [
        (whole, whole_0),
        (np.diagonal(whole, axis1=1, axis2=2), np.diagonal(whole_0)),
        (whole[:, 0, 0], whole_0[0, 0]),
        (whole, whole_0[0, 0]),
        (whole[:, 0, 0], whole_0),
    ]
    for bound, extra in ((regret.theorem_1, {"potential": potential, **numbers}), (regret.dual_averaging_bound, {})):
        values = [bound(run.x, run.g, H, x_star, H0=H0, **extra) for H, H0 in forms]
        np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_the_potential_is_the_one_whose_minimiser_is_the_step_matrix():
    # H = ψ(G) minimises G • H + Φ(H): the derivative in every direction is zero there.
    rng = np.random.default_rng(11)
    A, B = rng.normal(size=(2, D, D))
    G, direction = A @ A.T + np.eye(D), B + B.T
    for potential in ALL_POTENTIALS:
        psi = potential if callable(potential) else POTENTIALS[potential](0.7, 3.0)
        eigenvalues, U = np.linalg.eigh(G)
        H = (U * psi(eigenvalues)) @ U.T

        def objective(step, H=H, potential=potential):
            moved = H + step * direction
            return np.sum(G * moved) + regret.potential_value(moved, potential, eta=0.7, p=3.0)

        step = 1e-4
        assert abs(objective(step) - objective(-step)) / (2 * step) < 1e-4
        assert objective(step) + objective(-step) > 2 * objective(0)


# --- dual averaging -------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, "l2", "box"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ALL_POTENTIALS)
def test_regret_of_dual_averaging_is_below_its_bound(potential, structure, domain):
    common = {
        "potential": potential,
        "structure": structure,
        "update": "dual_averaging",
        "domain": domain,
        "radius": RADIUS,
        "eta": 0.7,
        "epsilon": 0.3,
    }
    runs = [adareg(**linear_losses(*rows(kind)), **common) for kind in KINDS_OF_ROWS]
    runs.append(play(doubling_opponent, dimension=D, rounds=30, **common))
    for run in runs:
        for x_star in comparators(run, domain):
            bound = regret.dual_averaging_bound(run.x, run.g, run.H, x_star, H0=run.H0)
            assert regret.linear_regret(run.x, run.g, x_star) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("far", [0.2, 5.0])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ALL_POTENTIALS)
def test_an_opponent_reaches_98_percent_of_the_dual_averaging_bound(potential, structure, far):
    # Pairs of opposite gradients leave x where it is while H shrinks; then tiny gradients lead to
    # x*, whose share of the bound is `far` times the share of the pairs.
    v, pairs, strides = directions_of(structure)[0], 300, 600
    energy, spent = 0.3, 0.0
    walk = None

    def gradient(t, x, H):
        nonlocal energy, spent, walk
        h = (v @ H @ v) / (v @ v)
        if t < 2 * pairs:
            size = np.sqrt(0.01 * energy)
            spent += h * size**2
            if t % 2:
                energy += 2 * size**2
            return -v * size if t % 2 else v * size
        if walk is None:
            walk = np.sqrt(far * spent / h) / strides
        return v * walk

    run = play(
        gradient,
        dimension=2,
        potential=potential,
        structure=structure,
        eta=0.7,
        epsilon=0.3,
        update="dual_averaging",
        rounds=2 * pairs + strides,
    )
    x_star = run.x[-1]
    bound = regret.dual_averaging_bound(run.x, run.g, run.H, x_star, H0=run.H0)
    assert 0.98 * bound <= regret.linear_regret(run.x, run.g, x_star) <= bound


def test_dual_averaging_must_measure_gradients_by_the_matrix_before():
    run = play(
        lambda t, x, H: [(-100.0) ** t],
        dimension=1,
        potential="adagrad",
        structure="full",
        update="dual_averaging",
        rounds=3,
    )
    measured = regret.linear_regret(run.x, run.g, run.x[-1])
    one_later = [*run.H[1:], run.H[-1]]
    assert measured <= regret.dual_averaging_bound(run.x, run.g, run.H, run.x[-1], H0=run.H0)
    assert measured > regret.dual_averaging_bound(run.x, run.g, one_later, run.x[-1], H0=run.H[0])


def test_dual_averaging_measures_the_first_gradient_by_the_matrix_before_any():
    x, g, H = [[0.0], [-1.0]], [[3.0]], [[1.0]]
    bounds = [regret.dual_averaging_bound(x, g, H, [2.0], H0=[H0]) for H0 in (2.0, 4.0)]
    assert bounds == [2.0**2 / 2 + 2 * 3.0**2 / 2, 2.0**2 / 2 + 4 * 3.0**2 / 2]


# --- older matrices -------------------------------------------------------------------------------


@pytest.mark.parametrize(("potential", "p"), [("adagrad", 1.0), ("pnorm", 2.0)])
def test_a_run_with_older_matrices_needs_the_refresh_factor(potential, p):
    delta, epsilon, eta = 2.0, 1e-4, 0.7
    psi = POTENTIALS[potential](eta, p)
    rng = np.random.default_rng(19)
    G = epsilon * np.eye(2)
    x, g, H, G_tau, H_tau = [np.zeros(2)], [], [], G, psi(epsilon) * np.eye(2)
    for t in range(1500):
        g.append(0.01 * 1.005**t * rng.choice([-1, 1]) * directions_of("full")[t % 2])
        G = G + np.outer(g[-1], g[-1])
        if np.max(np.linalg.eigvals(np.linalg.solve(G_tau, G)).real) > 1 + delta:
            eigenvalues, U = np.linalg.eigh(G)
            G_tau, H_tau = G, (U * psi(eigenvalues)) @ U.T
        H.append(H_tau)
        x.append(x[-1] - H_tau @ g[-1])
    factor = (1 + delta) ** (1 / (p + 1))
    run = SimpleNamespace(x=x, g=g, H=H, H0=psi(epsilon) * np.eye(2))
    numbers = {"eta": eta, "p": p, "epsilon": epsilon}
    measured = regret.linear_regret(x, g, x[-1])
    assert measured > theorem_1(run, x[-1], potential, **numbers)
    assert measured <= theorem_1(run, x[-1], potential, refresh_factor=factor, **numbers)
    widest = max(np.linalg.norm(x_t - x[-1]) for x_t in x)
    assert measured <= power_bound(G, widest, potential, p, eta=eta, refresh_factor=factor)


# --- the closed forms and Theorem 1 share their first bracket -------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_with_diameter_zero_the_closed_form_is_theorem_1_for_who_stands_still(structure):
    Z, y = rows("random")
    for potential, p in [*POWERS, ("ons", None)]:
        numbers = {"eta": 0.7, "epsilon": 0.3}
        run = adareg(Z, y, potential=potential, p=p, structure=structure, **numbers)
        run.x = np.zeros_like(run.x)
        factor = 1.0 if potential == "ons" else 1.4
        value = theorem_1(run, run.x[0], potential, p=p, refresh_factor=factor, **numbers)
        if potential == "ons":
            closed = regret.ons_bound(run.G, 0.0, structure=structure, **numbers)
        else:
            closed = power_bound(run.G, 0.0, potential, p, structure=structure, eta=0.7, refresh_factor=factor)
            # The closed form has dropped −½ Φ(H_0) < 0.
            closed -= factor / 2 * regret.potential_value(run.H0, potential, eta=0.7, p=p)
        np.testing.assert_allclose(value, closed, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: regret.potential_value([1.0], "newton", eta=1.0), "'newton' is not known"),
        (lambda: regret.potential_value([1.0], "ons"), "depends on eta"),
        (lambda: regret.potential_value(np.ones((2, 3)), "ons", eta=1.0), "square matrix"),
        (lambda: regret.adagrad_bound([1.0], 1.0, structure="banded"), "'banded' is not known"),
        (lambda: one_round(refresh_factor=0.5), "below 1"),
        (lambda: one_round(x=[[0.0]]), "iterate after the last round"),
        (lambda: one_round(g=np.empty((0, 1))), "T ≥ 1"),
        (lambda: one_round(H=[[1.0], [1.0]]), "H of shape"),
        (lambda: one_round(x_star=[0.0, 0.0]), "do not fit"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def one_round(**changes):
    run = {"x": [[0.0], [-1.0]], "g": [[1.0]], "H": [[1.0]], "x_star": [0.0], "H0": [1.0]}
    return regret.theorem_1(**{**run, **changes}, epsilon=1.0, potential="ons", eta=1.0)
