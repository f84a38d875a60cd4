"""The reference is what the paper defines: every closed form in it against its argmin.

Nothing of the package is imported here. Step 3, the projections, the prox and whole rounds are
compared with general-purpose optimisers or with the optimality conditions of their definitions.
"""

from itertools import product

import numpy as np
import pytest
from reference.algorithm import CLASSIFIER_LOSSES, LOSSES, POTENTIALS, STRUCTURES, adareg, prox
from reference.domains import DOMAINS, PROJECTIONS_DIAGONAL, PROJECTIONS_FULL, project
from scipy.optimize import minimize, minimize_scalar

UPDATES = ("mirror_descent", "dual_averaging")
BOUNDED = tuple(domain for domain in DOMAINS if domain is not None)


def classification(n=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) * np.geomspace(0.5, 2, d)
    y = np.where(Z @ rng.normal(size=d) + rng.normal(size=n) > 0.3, 1.0, -1.0)
    return Z, y


# --- step 3 ---------------------------------------------------------------------------------------

ETA, P = 0.7, 2.5
PHI = {  # the paper's Φ, of the eigenvalues of H
    "adagrad": lambda h: ETA**2 * np.sum(1 / h),
    "pnorm": lambda h: ETA ** (P + 1) / P * np.sum(h**-P),
    "ons": lambda h: -ETA * np.sum(np.log(h)),
}


def full_cone(v, D):
    L = np.zeros((D, D))
    L[np.tril_indices(D)] = v
    L[np.diag_indices(D)] = np.exp(np.diag(L))
    return L @ L.T


CONES = {  # unconstrained coordinates of H: their number, and the map
    "full": (lambda D: D * (D + 1) // 2, full_cone),
    "diag": (lambda D: D, lambda v, D: np.diag(np.exp(v))),
    "iso": (lambda D: 1, lambda v, D: np.exp(v[0]) * np.eye(D)),
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_preconditioner_is_the_argmin_of_step_3(potential, structure):
    Z, y = classification(n=12, d=2)
    run = adareg(Z, y, potential=potential, structure=structure, eta=ETA, p=P, epsilon=0.3)
    D = 3
    for t in (0, 1, 5, 12):
        g = run.g[:t]
        G = 0.3 * np.eye(D) + g.T @ g
        H_t = run.H[t - 1] if t else run.H0
        size, cone = CONES[structure]

        def objective(H, G=G):
            return np.sum(G * H) + PHI[potential](np.linalg.eigvalsh(H))

        found = minimize(lambda v, cone=cone, f=objective: f(cone(v, D)), np.zeros(size(D)), options={"gtol": 1e-7})
        assert objective(H_t) <= found.fun + 1e-10
        np.testing.assert_allclose(H_t, cone(found.x, D), atol=1e-4 * np.max(np.abs(H_t)))
    np.testing.assert_allclose(run.G, G, rtol=1e-12)


def test_eigenvalues_of_g_are_floored_at_epsilon():
    seen = []

    def psi(lam):
        seen.extend(lam)
        return lam**-0.5

    # Parallel gradients of size 1e6 leave rounding errors far above ε in the null space of Σgg'.
    Z = 1e6 * np.ones((5, 4))
    adareg(Z, np.ones(5), loss="perceptron", potential=psi, structure="full", epsilon=1e-8)
    assert min(seen) == 1e-8


def test_a_callable_potential_is_psi_with_eta_inside():
    Z, y = classification()
    named = adareg(Z, y, potential="pnorm", p=3.0, eta=0.5, structure="full")
    called = adareg(Z, y, potential=lambda lam: 0.5 * lam**-0.25, eta=99.0, structure="full")
    np.testing.assert_allclose(called.x, named.x, rtol=1e-13)


# --- step 4: projections --------------------------------------------------------------------------


def norm_matrix(structure, D, rng, spread=10.0):
    if structure == "iso":
        return rng.uniform(0.1, 3) * np.eye(D)
    h = np.geomspace(1 / spread, 1, D) * rng.uniform(0.5, 2, D)
    if structure == "diag":
        return np.diag(rng.permutation(h))
    V = np.linalg.qr(rng.normal(size=(D, D)))[0]
    H = (V * h) @ V.T
    return (H + H.T) / 2


def assert_minimises_over_domain(x, gradient, domain, radius, d, tol):
    """x is in X and gradient·(y − x) ≥ 0 for every y in X, the gradient being the one at x."""
    c, v = x[:d], gradient[:d]
    np.testing.assert_allclose(gradient[d:], 0, atol=tol)
    if domain is None:
        np.testing.assert_allclose(v, 0, atol=tol)
    elif domain == "nonnegative":
        assert np.min(c) >= 0
        assert np.min(v) >= -tol
        assert abs(v @ c) <= tol
    else:
        reach = {  # max over c in X of the domain's gauge, and min over y in X of v·y
            "l2": (np.linalg.norm(c), -radius * np.linalg.norm(v)),
            "box": (np.max(np.abs(c)), -radius * np.sum(np.abs(v))),
            "l1": (np.sum(np.abs(c)), -radius * np.max(np.abs(v))),
            "simplex": (np.sum(c), radius * np.min(v)),
        }
        gauge, least = reach[domain]
        assert gauge <= radius * (1 + 1e-11)
        if domain == "simplex":
            assert np.min(c) >= 0
            assert gauge >= radius * (1 - 1e-11)
        assert v @ c <= least + tol


def projection_by_slsqp(u, H, domain, radius, d):
    """The definition handed to a general solver, coefficients split as a − b with a, b ≥ 0."""
    M, k = np.linalg.inv(H), len(u) - d

    def x_of(v):
        return np.concatenate([v[:d] - v[d : 2 * d], v[2 * d :]])

    def value_and_gradient(v):
        r = x_of(v) - u
        s = M @ r
        return r @ s / 2, np.concatenate([s[:d], -s[:d], s[d:]])

    constraints = {
        "l2": [{"type": "ineq", "fun": lambda v: radius**2 - x_of(v)[:d] @ x_of(v)[:d]}],
        "l1": [{"type": "ineq", "fun": lambda v: radius - np.sum(v[: 2 * d])}],
        "simplex": [{"type": "eq", "fun": lambda v: np.sum(v[:d]) - radius}],
    }.get(domain, [])
    top = radius if domain == "box" else None
    negative_top = {"nonnegative": 0.0, "simplex": 0.0}.get(domain, top)
    found = minimize(
        value_and_gradient,
        np.concatenate([np.full(2 * d, radius / (4 * d)), np.zeros(k)]),
        jac=True,
        method="SLSQP",
        bounds=[(0, top)] * d + [(0, negative_top)] * d + [(None, None)] * k,
        constraints=constraints,
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return x_of(found.x)


@pytest.mark.parametrize("intercept", [0, 1])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", BOUNDED)
def test_projection_agrees_with_a_general_solver(domain, structure, intercept):
    rng = np.random.default_rng(1)
    for _ in range(4):
        d, radius = 4, 0.8
        u, H = rng.normal(size=d + intercept), norm_matrix(structure, d + intercept, rng)
        u[0] = -1.0  # outside every domain
        x = project(u, H, domain, radius, d)
        expected = projection_by_slsqp(u, H, domain, radius, d)
        np.testing.assert_allclose(x, expected, atol=2e-5)


@pytest.mark.parametrize("intercept", [0, 1])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", BOUNDED)
def test_projection_satisfies_its_variational_inequality(domain, structure, intercept):
    rng = np.random.default_rng(2)
    for d, size in product((1, 2, 3, 5, 6), (0.1, 1.0, 10.0)):
        for spread in (1.5, 1e3):
            D = d + intercept
            H = norm_matrix(structure, D, rng, spread)
            draws = size * rng.normal(size=D)
            ties = size * rng.integers(-1, 2, size=D).astype(float)
            for u in (draws, ties):
                before = u.copy()
                x = project(u, H, domain, 0.8, d)
                gradient = np.linalg.solve(H, x - u)
                # Rounding of H⁻¹(x − u) is in proportion to the condition of H.
                scale = np.linalg.cond(H) * np.linalg.norm(np.linalg.inv(H), 2) * (1 + size)
                assert_minimises_over_domain(x, gradient, domain, 0.8, d, tol=1e-13 * scale)
                np.testing.assert_array_equal(u, before)


@pytest.mark.parametrize("domain", PROJECTIONS_FULL)
def test_both_ways_to_project_agree_in_a_diagonal_norm(domain):
    rng = np.random.default_rng(3)
    for _ in range(20):
        u, h = 2 * rng.normal(size=5), np.geomspace(1e-3, 1, 5)
        x, w = PROJECTIONS_FULL[domain](u, np.diag(h), 1.5)
        np.testing.assert_allclose(x, PROJECTIONS_DIAGONAL[domain](u, h, 1.5), atol=1e-13)
        np.testing.assert_allclose(x, u - h * w, atol=1e-13)


@pytest.mark.parametrize("domain", [*BOUNDED, None])
def test_projection_leaves_points_of_the_domain_alone(domain):
    u = np.array([0.5, 0.0, 0.3, -7.0])  # sums to the radius; the intercept may be anything
    H = norm_matrix("full", 4, np.random.default_rng(4))
    np.testing.assert_allclose(project(u, H, domain, 0.8, 3), u, atol=1e-15)


# --- whole rounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_every_round_minimises_its_objective(potential, domain, structure, update):
    """x_{t+1} = argmin over X of g_t·x + ½‖x − x_t‖²_{H_t*}, or of Σg·x + ½‖x − x_1‖²_{H_t*}."""
    Z, y = classification()
    run = adareg(Z, y, potential=potential, structure=structure, update=update, domain=domain, radius=0.5)
    for t in range(len(Z)):
        linear, centre = run.g[t], run.x[t]
        if update == "dual_averaging":
            linear, centre = run.g[: t + 1].sum(axis=0), run.x[0]
        M = np.linalg.inv(run.H[t])
        gradient = linear + M @ (run.x[t + 1] - centre)
        tol = 1e-12 * np.linalg.norm(M, 2)
        assert_minimises_over_domain(run.x[t + 1], gradient, domain, 0.5, 3, tol)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_is_weight_times_slope_times_row_with_the_intercept_last(fit_intercept):
    Z, y = classification(n=8)
    weight = np.array([1.0, 2, 0, 0.5, 1, 0, 3, 1])
    run = adareg(Z, y, sample_weight=weight, fit_intercept=fit_intercept)
    kept = np.flatnonzero(weight)
    assert run.x.shape == (len(kept) + 1, 3 + fit_intercept)
    for t, row in enumerate(kept):
        z = np.append(Z[row], 1.0) if fit_intercept else Z[row]
        m = z @ run.x[t]
        assert run.losses[t] == pytest.approx(np.log1p(np.exp(-y[row] * m)), rel=1e-13)
        slope = -y[row] / (1 + np.exp(y[row] * m))
        np.testing.assert_allclose(run.g[t], weight[row] * slope * z, rtol=1e-13)
    assert len(run.coef) == 3
    assert run.intercept == (run.x_mean[3] if fit_intercept else 0.0)


def test_first_iterate_is_zero_or_the_middle_of_the_simplex():
    Z, y = classification()
    for domain in DOMAINS:
        x_1 = adareg(Z, y, domain=domain, radius=0.75).x[0]
        np.testing.assert_array_equal(x_1, [0.25, 0.25, 0.25, 0] if domain == "simplex" else 0 * x_1)


@pytest.mark.parametrize(
    ("average", "expected"), [(True, 11 / 27), (1.0, 19 / 36), (2.0, 17 / 28), (False, 13 / 18 - 936 / 3433)]
)
def test_average_of_three_rounds_worked_by_hand(average, expected):
    # H = 1/G: g = −1, G = 2; g = −1/2, G = 9/4; g = 26/9, G = 3433/324. Weights t^γ on x_1 to x_3.
    run = adareg(
        [[1.0], [1.0], [2.0]],
        [1.0, 1.0, 0.0],
        loss="squared_error",
        potential="ons",
        fit_intercept=False,
        average=average,
    )
    iterates = [0, 1 / 2, 13 / 18, 13 / 18 - 936 / 3433]
    np.testing.assert_allclose(run.x[:, 0], iterates, atol=1e-15)
    np.testing.assert_allclose(run.losses, [1 / 2, 1 / 8, (13 / 9) ** 2 / 2], rtol=1e-14)
    np.testing.assert_allclose(run.coef, expected, rtol=1e-14)


# --- the penalty ----------------------------------------------------------------------------------


def penalty_argmin(linear, centre, h, alpha, l1_ratio, low=-np.inf, high=np.inf):
    """argmin_x linear·x + α((1−ρ)/2 x² + ρ|x|) + (x − centre)²/(2h), within the bounds."""

    def objective(x):
        penalty = alpha * ((1 - l1_ratio) / 2 * x**2 + l1_ratio * abs(x))
        return linear * x + penalty + (x - centre) ** 2 / (2 * h)

    reach = 2 * abs(centre) + 2 * abs(h * linear) + 1
    pieces = ((max(low, -reach), 0.0), (0.0, min(high, reach)))  # the kink at 0 is an end of each
    ends = [minimize_scalar(objective, bounds=b, options={"xatol": 1e-12}).x for b in pieces]
    return min((0.0, high, low, *ends), key=lambda x: objective(x) if np.isfinite(x) else np.inf)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.4, 1.0])
def test_prox_is_an_argmin(l1_ratio):
    for u, h, alpha in product((-2.0, -0.3, 0.0, 0.1, 1.5), (0.2, 3.0), (0.0, 0.25, 2.0)):
        expected = penalty_argmin(0.0, u, h, alpha, l1_ratio)
        assert prox(u, h, alpha, l1_ratio) == pytest.approx(expected, abs=1e-7)


def sparse_rows(n=25, d=4, seed=5):
    """Rows with zeros, and a last column that is seen in the fourth row only."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    Z[:, -1] = 0
    Z[3, -1] = 2.0
    return Z, np.where(rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("domain", [None, "box", "nonnegative"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", ["diag", "iso"])
@pytest.mark.parametrize(("alpha", "l1_ratio"), [(0.05, 0.0), (0.02, 1.0), (0.04, 0.6)])
def test_penalty_of_a_sat_out_coordinate_is_charged_at_its_next_touch(alpha, l1_ratio, structure, update, domain):
    Z, y = sparse_rows()
    run = adareg(
        Z,
        y,
        loss="perceptron",
        structure=structure,
        update=update,
        alpha=alpha,
        l1_ratio=l1_ratio,
        domain=domain,
        radius=0.2,
        eta=0.5,
        average=False,
    )
    low, high = {None: (-np.inf, np.inf), "box": (-0.2, 0.2), "nonnegative": (0, np.inf)}[domain]
    T, touched = len(Z), np.column_stack([Z != 0, np.ones(len(Z), dtype=bool)])

    def minimiser(i, t, g, x, rounds):
        if update == "dual_averaging":
            g, x, rounds = run.g[:t, i].sum(), 0.0, t
        if i == 4:
            return x - run.H[t - 1][i, i] * g  # the intercept
        return penalty_argmin(g, x, run.H[t - 1][i, i], rounds * alpha, l1_ratio, low, high)

    last = np.zeros(5, dtype=int)
    for t, i in product(range(1, T + 1), range(5)):
        if touched[t - 1, i]:
            expected = minimiser(i, t, run.g[t - 1, i], run.x[t - 1, i], rounds=t - last[i])
            assert run.x[t, i] == pytest.approx(expected, abs=1e-7)
            last[i] = t
        else:
            assert run.x[t, i] == run.x[t - 1, i]
    assert np.any(touched & (run.g == 0))  # a touched coordinate of zero slope is charged as well
    assert last[3] == 4
    for i in range(5):
        expected = minimiser(i, T, 0.0, run.x[T, i], rounds=T - last[i])
        assert run.x_last[i] == pytest.approx(expected, abs=1e-7)
    if domain is None and l1_ratio == 0:
        assert run.x_last[3] != run.x[T, 3]
    np.testing.assert_array_equal(run.coef, run.x_last[:4])
    np.testing.assert_allclose(run.x_mean, run.x[:T].mean(axis=0), rtol=1e-13)


@pytest.mark.parametrize("update", UPDATES)
def test_full_structure_adds_the_l2_penalty_to_the_gradient(update):
    Z, y = classification()
    run = adareg(Z, y, structure="full", alpha=0.1, update=update, average=False)
    for z, target, x, g in zip(np.column_stack([Z, np.ones(30)]), y, run.x, run.g, strict=False):
        slope = -target / (1 + np.exp(target * (z @ x)))
        np.testing.assert_allclose(g, slope * z + 0.1 * x * [1, 1, 1, 0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run.G, np.eye(4) + run.g.T @ run.g, rtol=1e-12)
    np.testing.assert_array_equal(run.x_last, run.x[-1])


def test_what_has_no_definition_is_refused():
    Z, y = classification()
    for domain in ("l2", "l1", "simplex"):
        with pytest.raises(ValueError, match=f"penalty with the {domain} domain"):
            adareg(Z, y, alpha=0.1, domain=domain, radius=1.0)
    with pytest.raises(ValueError, match="L1 penalty"):
        adareg(Z, y, alpha=0.1, l1_ratio=0.5, structure="full")
    with pytest.raises(ValueError, match="unknown update"):
        adareg(Z, y, update="mirror")


# --- losses ---------------------------------------------------------------------------------------

PARAMETERS = {"huber_delta": 1.5, "quantile": 0.25, "insensitivity": 0.5}


def kinks(loss, y):
    """Margins around which a loss is not smooth, or not twice so."""
    at = {"quantile": [y], "absolute_error": [y], "huber": [y - 1.5, y + 1.5]}
    if "epsilon" in loss:
        return [y - 0.5, y + 0.5]
    return at.get(loss, [-1.0, 0.0, 1.0])


@pytest.mark.parametrize("loss", LOSSES)
def test_slope_is_the_derivative_of_the_loss(loss):
    step, targets = 1e-6, (-1.0, 1.0) if loss in CLASSIFIER_LOSSES else (0.0, 0.7, 3.0)
    for y, m in product(targets, np.linspace(-4, 4, 83)):
        if min(abs(m - kink) for kink in kinks(loss, y)) > 2 * step:
            above, below = (LOSSES[loss](m + s, y, PARAMETERS)[0] for s in (step, -step))
            slope = LOSSES[loss](m, y, PARAMETERS)[1]
            assert slope == pytest.approx((above - below) / (2 * step), rel=1e-7, abs=1e-8)


WORKED = [  # loss, margin, target, value, slope; kinks have the subgradient stated for them
    ("log_loss", 0.0, 1.0, np.log(2), -0.5),
    ("log_loss", 800.0, -1.0, 800.0, 1.0),
    ("hinge", -2.0, 1.0, 3.0, -1.0),
    ("hinge", 1.0, 1.0, 0.0, 0.0),
    ("hinge", -1.0, -1.0, 0.0, 0.0),
    ("squared_hinge", -2.0, 1.0, 9.0, -6.0),
    ("squared_hinge", 1.0, 1.0, 0.0, 0.0),
    ("modified_huber", 0.5, 1.0, 0.25, -1.0),
    ("modified_huber", -0.5, 1.0, 2.25, -3.0),
    ("modified_huber", -2.0, 1.0, 8.0, -4.0),
    ("modified_huber", -1.0, 1.0, 4.0, -4.0),
    ("modified_huber", 1.0, 1.0, 0.0, 0.0),
    ("perceptron", 2.0, -1.0, 2.0, 1.0),
    ("perceptron", 2.0, 1.0, 0.0, 0.0),
    ("perceptron", 0.0, 1.0, 0.0, -1.0),
    ("perceptron", 0.0, -1.0, 0.0, 1.0),
    ("squared_error", 3.0, 1.0, 2.0, 2.0),
    ("huber", 2.0, 1.0, 0.5, 1.0),
    ("huber", 5.0, 1.0, 4.875, 1.5),
    ("huber", 0.5, 2.0, 1.125, -1.5),
    ("absolute_error", 3.0, 5.0, 2.0, -1.0),
    ("absolute_error", 2.0, 2.0, 0.0, 0.0),
    ("quantile", 3.0, 5.0, 0.5, -0.25),
    ("quantile", 5.0, 3.0, 1.5, 0.75),
    ("quantile", 2.0, 2.0, 0.0, 0.0),
    ("epsilon_insensitive", 3.0, 5.0, 1.5, -1.0),
    ("epsilon_insensitive", 2.5, 2.0, 0.0, 0.0),
    ("epsilon_insensitive", 1.5, 2.0, 0.0, 0.0),
    ("squared_epsilon_insensitive", 3.0, 5.0, 2.25, -3.0),
    ("squared_epsilon_insensitive", 2.5, 2.0, 0.0, 0.0),
    ("poisson", 0.0, 3.0, 1.0, -2.0),
    ("poisson", 2.0, 3.0, np.exp(2) - 6, np.exp(2) - 3),
]


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_and_slope_have_their_worked_values(loss):
    rows = [row[1:] for row in WORKED if row[0] == loss]
    assert rows
    for m, y, value, slope in rows:
        assert LOSSES[loss](m, y, PARAMETERS) == pytest.approx((value, slope), rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("loss", "name", "value"),
    [("huber", "huber_delta", 0.1), ("quantile", "quantile", 0.9)]
    + [(loss, "insensitivity", 0.2) for loss in LOSSES if "epsilon" in loss],
)
def test_loss_parameters_reach_the_loss(loss, name, value):
    run = adareg([[1.0]], [1.0], loss=loss, fit_intercept=False, **{name: value})
    expected = LOSSES[loss](0.0, 1.0, {**PARAMETERS, name: value})
    assert (run.losses[0], run.g[0, 0]) == expected
