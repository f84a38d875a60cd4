"""The closed forms hold on every sequence tried, and opponents come close to each of their terms.

The opponents exploit where the proofs lose nothing: many small gradients for the first bracket, and
an iterate far from x* while H shrinks, on x* in the end, for the diameter.
"""

import numpy as np
import pytest
from reference.algorithm import adareg
from support.regret_runs import (
    KINDS_OF_ROWS,
    POWERS,
    RADIUS,
    STRUCTURES,
    D,
    T,
    comparators,
    directions_of,
    linear_losses,
    measured_regret,
    play,
    power_bound,
    rows,
)

from sklearn_adareg import regret

# --- AdaGrad and the p-norm: closed forms ---------------------------------------------------------


def diameter_of(domain, structure, dimension):
    if domain == "box" and structure != "diag":
        return 2 * RADIUS * np.sqrt(dimension)
    return 2 * RADIUS


@pytest.mark.parametrize("domain", ["l2", "box"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("potential", "p"), POWERS)
def test_regret_on_rows_is_below_the_closed_form(potential, p, structure, domain):
    diameter = diameter_of(domain, structure, D)
    best_eta = diameter / np.sqrt(2 * D if structure == "iso" else 2)
    for kind in KINDS_OF_ROWS:
        Z, y = rows(kind)
        for problem, eta in ((linear_losses(Z, y), best_eta), ({"Z": Z, "y": y, "loss": "log_loss"}, 0.2)):
            run = adareg(
                **problem,
                potential=potential,
                p=p,
                eta=eta,
                epsilon=1e-10,
                structure=structure,
                domain=domain,
                radius=RADIUS,
                fit_intercept=False,
            )
            bound = power_bound(run.G, diameter, potential, p, structure=structure, eta=eta)
            for x_star in comparators(run, domain):
                assert measured_regret(run, x_star=x_star, **problem) <= bound, (kind, eta)


def linger_then_leave(u, r, epsilon, growth, kappa=0.005, strides=150):
    """Stay near r·u by gradients that cancel, while G grows; then walk to −r·u by tiny ones."""
    energy = [epsilon]

    def gradient(t, x, H):
        position, h = x[0] / u[0], (u @ H @ u) / (u @ u)
        if energy[0] < growth * epsilon:
            size = min(np.sqrt(kappa * energy[0]), r / 2 / h)
            energy[0] += size**2
            return u * (-size if position + h * size <= r else size)
        size = 2 * r / strides / h
        return u * size if position - h * size >= -r else None

    return gradient


@pytest.mark.parametrize("times_best", [0.5, 2.0])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("potential", "p"), POWERS)
def test_an_opponent_reaches_92_percent_of_the_closed_form(potential, p, structure, times_best):
    # At half the best step size four fifths of the bound is its diameter term, at twice it four
    # fifths is the other one, so neither constant could be a tenth smaller.
    u = np.ones(2) if structure == "diag" else np.array([0.6, 0.8])
    r = RADIUS
    epsilon, growth = 1e-4, 1e5
    energy_T = growth * epsilon / (2 if structure == "iso" else 1)
    eta = times_best * 2 * r * np.sqrt(p / (p + 1) * energy_T ** ((1 - p) / (1 + p)))
    if structure == "iso":
        eta /= np.sqrt(2)
    run = play(
        linger_then_leave(u, r, epsilon, growth),
        dimension=2,
        potential=potential,
        p=p,
        structure=structure,
        eta=eta,
        epsilon=epsilon,
    )
    assert np.all(np.abs(run.x @ u) / (u @ u) <= r)  # never left the domain: nothing to project
    measured = regret.linear_regret(run.x, run.g, -r * u)
    bound = power_bound(run.G, 2 * r, potential, p, structure=structure, eta=eta)
    assert 0.92 * bound <= measured <= bound


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("potential", "p"), POWERS)
def test_no_step_size_has_a_smaller_closed_form_than_the_default(potential, p, structure):
    A = np.random.default_rng(13).normal(size=(D, D))
    G_T = A @ A.T
    best = power_bound(G_T, 2.0, potential, p, structure=structure)
    grid = [power_bound(G_T, 2.0, potential, p, structure=structure, eta=eta) for eta in np.geomspace(1e-2, 1e2, 2001)]
    np.testing.assert_allclose(min(grid), best, rtol=1e-5)
    if potential == "adagrad":
        eta = 2.0 / np.sqrt(2 * D if structure == "iso" else 2)
        at_the_papers_eta = regret.adagrad_bound(G_T, 2.0, structure=structure, eta=eta)
        np.testing.assert_allclose(best, at_the_papers_eta, rtol=1e-12)


# --- ONS: closed forms ----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("kind", KINDS_OF_ROWS)
def test_regret_of_full_ons_on_rows_is_below_the_closed_form(kind, loss):
    Z, y = rows(kind)
    reach = RADIUS * np.max(np.linalg.norm(Z, axis=1))
    beta = np.exp(-reach) if loss == "log_loss" else 1 / (reach + 1) ** 2
    for epsilon in (1e-3, D / (2 * RADIUS * beta) ** 2):
        numbers = {"eta": 1 / beta, "epsilon": epsilon}
        run = adareg(
            Z,
            y,
            loss=loss,
            potential="ons",
            structure="full",
            domain="l2",
            radius=RADIUS,
            fit_intercept=False,
            **numbers,
        )
        bound = regret.ons_bound(run.G, 2 * RADIUS, **numbers)
        for x_star in comparators(run, "l2"):
            assert measured_regret(run, Z, y, loss, x_star) <= bound


def test_log_loss_is_exp_concave_with_the_constant_it_is_tested_with():
    for reach in (0.1, 1.0, 4.0):
        m, n = np.meshgrid(*2 * [np.linspace(-reach, reach, 201)])
        slope = -1 / (1 + np.exp(m))
        curvature = np.logaddexp(0, -n) - np.logaddexp(0, -m) - slope * (n - m)
        assert np.all(curvature >= np.exp(-reach) / 2 * (slope * (n - m)) ** 2 - 1e-15)


def centres(kind, rng):
    """The centre of round t's quadratic, as a function of t and x_t."""
    return {
        "random": lambda t, x: rng.uniform(-1, 1, size=D),
        "opposite": lambda t, x: np.where(x > 0, -1.0, 1.0),
        "flipping": lambda t, x: np.ones(D) * (-1) ** t,
        "drifting": lambda t, x: np.ones(D) * np.sin(t / 20),
    }[kind]


@pytest.mark.parametrize("kind", ["random", "opposite", "flipping", "drifting"])
@pytest.mark.parametrize("structure", ["diag", "iso"])
def test_regret_of_diagonal_and_isotropic_ons_on_quadratics_is_below_the_closed_form(structure, kind):
    # f_t(x) = ½ Σ_i a_ti (x_i − c_ti)²: coordinate-wise exp-concave with 1/β = a (r + |c|)², and
    # with one a for all coordinates α-strongly convex.
    rng = np.random.default_rng(17)
    centre = centres(kind, rng)
    domain, diameter = ("box", 2 * RADIUS * np.sqrt(D)) if structure == "diag" else ("l2", 3.0)
    if structure == "diag":
        a = np.where(rng.uniform(size=(T, D)) < 0.4, 0.0, rng.uniform(0.5, 2, size=(T, D)))
        beta = 1 / (2 * (RADIUS + 1) ** 2)
    else:
        a = np.repeat(rng.uniform(0.5, 2, size=(T, 1)), D, axis=1)
        beta = 0.5 * D / (2 * (RADIUS + np.sqrt(D))) ** 2
    c = np.empty((T, D))

    def gradient(t, x, H):
        c[t] = centre(t, x)
        return a[t] * (x - c[t])

    for epsilon in (1e-3, D / (beta * diameter) ** 2):
        numbers = {"eta": 1 / beta, "epsilon": epsilon, "structure": structure}
        run = play(gradient, dimension=D, potential="ons", domain=domain, radius=RADIUS, rounds=T, **numbers)
        bound = regret.ons_bound(run.G, diameter, **numbers)
        best = np.sum(a * c, axis=0) / np.sum(a, axis=0)
        best /= 1 if structure == "diag" else max(1, np.linalg.norm(best) / RADIUS)
        for x_star in (best, *comparators(run, domain)):
            measured = np.sum(a * ((run.x[:-1] - c) ** 2 - (x_star - c) ** 2)) / 2
            assert measured <= bound


def regret_of_the_least_curved(run, x_star, structure, beta):
    """Regret where f_t(y) = g·(y − x_t) + q, with just the curvature q that the bound asks for."""
    away = run.x[:-1] - x_star
    q = {
        "full": np.sum(run.g * away, axis=1) ** 2,
        "diag": np.sum((run.g * away) ** 2, axis=1),
        "iso": np.sum(run.g**2, axis=1) * np.mean(away**2, axis=1),
    }[structure]
    return regret.linear_regret(run.x, run.g, x_star) - beta / 2 * np.sum(q)


@pytest.mark.parametrize(("epsilon", "strides", "laps"), [(0.1, 100, 1000), (100.0, 800, 0)])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_opponent_reaches_95_percent_of_the_closed_form_of_ons(structure, epsilon, strides, laps):
    # Walk to −r by tiny gradients, then let G grow around that place. In the first case the
    # bound is nearly all logarithm, in the second nearly all distance.
    beta, r, kappa = 0.5, RADIUS, 0.03
    directions = directions_of(structure)

    def gradient(t, x, H):
        lap, turn = divmod(t, len(directions))
        v = directions[turn]
        h = (v @ H @ v) / (v @ v)
        if lap < strides:
            return v * (r / strides / h)
        size = np.sqrt(kappa / beta / h) * (-1) ** lap
        return v * size if lap < strides + laps else None

    numbers = {"eta": 1 / beta, "epsilon": epsilon, "structure": structure}
    run = play(gradient, dimension=2, potential="ons", **numbers)
    x_star = run.x[-1]
    bound = regret.ons_bound(run.G, np.linalg.norm(x_star), **numbers)
    measured = regret_of_the_least_curved(run, x_star, structure, beta)
    assert 0.95 * bound <= measured <= bound


def test_the_papers_simplified_logarithm_is_exceeded_by_small_gradients():
    beta, gamma = 0.5, 1e-2
    epsilon = 1 / (beta * 2 * RADIUS) ** 2
    numbers = {"eta": 1 / beta, "epsilon": epsilon}
    run = play(lambda t, x, H: [gamma], dimension=1, potential="ons", structure="full", rounds=1, **numbers)
    measured = regret_of_the_least_curved(run, np.array([-RADIUS]), "full", beta)
    simplified = (1 + np.log((beta * gamma * 2 * RADIUS) ** 2)) / beta
    assert simplified < measured <= regret.ons_bound(run.G, 2 * RADIUS, **numbers)
