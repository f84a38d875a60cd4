"""The compiled projections: optimality conditions, a peer, closed forms, corner cases."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from sklearn_adareg._kernels.domains import _domains, _l2_ball, _polyhedra

DOMAINS = {
    "l2": _l2_ball.L2Ball,
    "box": _polyhedra.Box,
    "l1": _polyhedra.L1Ball,
    "simplex": _polyhedra.Simplex,
    "nonnegative": _polyhedra.Nonnegative,
}
POLYHEDRA = [name for name in DOMAINS if name != "l2"]

every_domain = pytest.mark.parametrize("name", DOMAINS)
every_polyhedron = pytest.mark.parametrize("name", POLYHEDRA)


def support(name, w, r):
    """max of w·y over the domain; the projection is the feasible c that attains it."""
    if name == "nonnegative":
        return 0.0 if w.max() <= 0 else np.inf
    norm = {"l2": np.linalg.norm(w), "box": np.abs(w).sum(), "l1": np.abs(w).max(), "simplex": w.max()}
    return r * norm[name]


def infeasibility(name, c, r):
    excess = {
        "l2": lambda: np.linalg.norm(c) / r - 1,
        "box": lambda: np.abs(c).max() / r - 1,
        "l1": lambda: np.abs(c).sum() / r - 1,
        "simplex": lambda: max(abs(c.sum() / r - 1), -c.min() / r),
        "nonnegative": lambda: -c.min() / r,
    }
    return max(excess[name](), 0.0)


def kkt_residual(name, u, H, c, w, r):
    """The largest relative violation of u − c = Hw, of feasibility and of w·c = support(w)."""
    root = np.sqrt(np.diag(H))
    scale = np.abs(u) + np.abs(c) + root * (root @ np.abs(w)) + 1e-300
    equations = np.abs(u - c - H @ w) / scale
    gap = abs(support(name, w, r) - w @ c) / (np.abs(w) @ (np.abs(c) + r) + 1e-300)
    return max(equations.max(), infeasibility(name, c, r), gap)


def random_spd(rng, d, condition=100.0, spread=0.0):
    """Eigenvalues from 1 to 1/condition, then rows and columns scaled by up to 10^±spread."""
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    H = (basis * np.logspace(0, -np.log10(condition), d)) @ basis.T
    scale = 10 ** rng.uniform(-spread, spread, d)
    H = (H + H.T) / 2
    return H * scale[:, None] * scale


def points(rng, d, r, H):
    """Generic, with ties, with zeros, one step away from the domain, far away, constant."""
    yield 3 * r * rng.normal(size=d)
    yield r * np.round(2 * rng.normal(size=d))
    yield np.where(rng.random(d) < 0.5, 0.0, 2 * r)
    yield np.full(d, r / d) - H @ rng.normal(size=d)
    yield 1e4 * r * rng.normal(size=d)
    yield np.full(d, -2 * r)
    yield np.full(d, 2 * r)
    yield np.zeros(d)


def exact_diagonal_projection(name, u, h, r):
    """The same one-dimensional equations, by bisection in extended precision."""
    u, h = np.asarray(u, dtype=np.longdouble), np.asarray(h, dtype=np.longdouble)
    if name == "box":
        return np.clip(u, -r, r)
    if name == "nonnegative":
        return np.maximum(u, 0)
    if name == "l2":
        inside = (u @ u) <= np.longdouble(r) ** 2

        def at(mu):
            return u / (1 + mu * h)

        def excess(c):
            return c @ c - np.longdouble(r) ** 2
    else:
        inside = name == "l1" and np.abs(u).sum() <= r
        v = np.abs(u) if name == "l1" else u

        def at(mu):
            return np.maximum(v - mu * h, 0)

        def excess(c):
            return c.sum() - r

    if inside:
        return u
    low, high = np.longdouble(0), np.longdouble(1)
    if name == "simplex":
        low, high = (u / h).min() - (r / h).max() - 1, (u / h).max()
    while excess(at(high)) > 0:
        high = 2 * high
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(at(middle)) > 0 else (low, middle)
    return np.sign(u) * at(high) if name == "l1" else at(high)


@every_domain
@pytest.mark.parametrize("spread", [0, 6])
def test_diagonal_projection_equals_bisection_in_extended_precision(name, spread):
    rng = np.random.default_rng(0)
    for d in (1, 2, 7, 50):
        for r in (0.01, 1.0, 30.0):
            h = 10 ** rng.uniform(-spread, spread, d)
            for u in points(rng, d, r, np.diag(h / h.max())):
                c = DOMAINS[name](d, r).project(u, h)
                expected = exact_diagonal_projection(name, u, h, r)
                # c = u − μh: rounding of u is all that may show.
                scale = 1e-14 * np.maximum(np.abs(u), r)
                assert np.all(np.abs(c - expected) <= d * scale)


def test_simplex_projection_that_drops_one_coordinate_at_a_time_is_exact():
    # Each mean lies between the two smallest values, so filtering alone would take d passes.
    d = 40
    u = -(100.0 ** np.arange(d))
    u[:3] = 0.5, 0.4, 0.3
    permuted = np.random.default_rng(0).permutation(d)
    c = _polyhedra.Simplex(d, 1.0).project(u[permuted], np.ones(d))
    expected = np.zeros(d)
    expected[:3] = u[:3] - 0.2 / 3
    np.testing.assert_allclose(c, expected[permuted], rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["l2", "l1", "simplex"])
def test_far_points_land_on_the_boundary_to_the_last_digits(name):
    rng = np.random.default_rng(11)
    for _ in range(20):
        u = 1e8 + rng.uniform(0, 1, 30)
        c = DOMAINS[name](30, 1.0).project(u, rng.uniform(0.999999999, 1, 30))
        length = np.linalg.norm(c) if name == "l2" else np.abs(c).sum()
        assert length == pytest.approx(1.0, rel=1e-14)


@every_domain
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("spread", [0, 3])
def test_full_projection_satisfies_the_optimality_conditions(name, condition, spread):
    rng = np.random.default_rng(1)
    for d in (1, 2, 5, 20, 60):
        for r in (0.05, 4.0):
            H = random_spd(rng, d, condition, spread)
            domain = DOMAINS[name](d, r)
            for u in points(rng, d, r, H):
                c, w = domain.project_in(u, H)
                assert kkt_residual(name, u, H, c, w, r) <= 1e-13


@every_polyhedron
def test_bracketed_levels_and_descent_satisfy_the_optimality_conditions_too(name):
    rng = np.random.default_rng(2)
    for d in (1, 2, 20, 40):
        for condition in (1.0, 1e8):
            H = random_spd(rng, d, condition)
            domain = DOMAINS[name](d, 1.0)
            domain.prepare_full()
            domain.solver.patience = 0
            for u in points(rng, d, 1.0, H):
                c, w = domain.project_in(u, H)
                assert kkt_residual(name, u, H, c, w, 1.0) <= 1e-13


def peer_projection(name, u, H, r):
    """SLSQP on c = c⁺ − c⁻, which makes every polyhedron linear."""
    d = len(u)
    K = np.linalg.inv(H)
    signed = np.hstack([np.eye(d), -np.eye(d)])

    def objective(parts):
        residual = signed @ parts - u
        return 0.5 * residual @ K @ residual, signed.T @ K @ residual

    bounds = {"box": (0, r), "l1": (0, None), "l2": (0, None)}.get(name)
    bounds = [bounds] * (2 * d) if bounds else [(0, None)] * d + [(0, 0)] * d
    constraints = []
    if name in ("l1", "simplex"):
        constraints = LinearConstraint(np.ones(2 * d), r if name == "simplex" else 0, r)
    elif name == "l2":
        constraints = {
            "type": "ineq",
            "fun": lambda parts: r**2 - np.sum((signed @ parts) ** 2),
            "jac": lambda parts: -2 * signed.T @ (signed @ parts),
        }
    found = minimize(
        objective,
        np.full(2 * d, r / (4 * d)),
        jac=True,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return signed @ found.x


@every_domain
def test_full_projection_equals_a_general_solver(name):
    rng = np.random.default_rng(3)
    for d in (2, 3, 6):
        for _ in range(4):
            H = random_spd(rng, d, 20.0)
            u = 2 * rng.normal(size=d)
            c, _ = DOMAINS[name](d, 1.0).project_in(u, H)
            np.testing.assert_allclose(c, peer_projection(name, u, H, 1.0), atol=2e-5)


@every_domain
def test_full_projection_in_a_diagonal_matrix_equals_the_diagonal_one(name):
    rng = np.random.default_rng(4)
    for d in (1, 3, 30):
        h = 10 ** rng.uniform(-3, 3, d)
        domain = DOMAINS[name](d, 0.7)
        for u in points(rng, d, 0.7, np.diag(h / h.max())):
            c, w = domain.project_in(u, np.diag(h))
            np.testing.assert_allclose(c, domain.project(u, h), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(h * w, u - c, rtol=1e-12, atol=1e-12 * np.abs(u).max())


@every_domain
def test_w_is_the_step_back_in_the_dual_norm(name):
    rng = np.random.default_rng(5)
    H = random_spd(rng, 8, 50.0)
    u = 3 * rng.normal(size=8)
    c, w = DOMAINS[name](8, 1.0).project_in(u, H)
    assert np.abs(w).max() > 0.1
    np.testing.assert_allclose(w, np.linalg.solve(H, u - c), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["l2", "box", "l1", "nonnegative"])
def test_points_inside_stay_to_the_bit(name):
    u = np.array([0.0, 0.3, 0.1, 0.2])
    H = random_spd(np.random.default_rng(6), 4)
    domain = DOMAINS[name](4, 1.0)
    np.testing.assert_array_equal(domain.project(u, np.ones(4)), u)
    c, w = domain.project_in(u, H)
    np.testing.assert_array_equal(c, u)
    np.testing.assert_array_equal(w, np.zeros(4))


def test_a_point_of_the_simplex_projects_to_itself():
    u = np.array([0.5, 0.0, 1.5, 1.0])
    H = random_spd(np.random.default_rng(7), 4)
    np.testing.assert_allclose(_polyhedra.Simplex(4, 3.0).project(u, [1.0, 2.0, 3.0, 4.0]), u, atol=1e-15)
    np.testing.assert_allclose(_polyhedra.Simplex(4, 3.0).project_in(u, H)[0], u, atol=1e-14)


@pytest.mark.parametrize("name", ["l2", "box", "l1", "nonnegative"])
def test_projected_points_are_inside_to_the_last_digit(name):
    rng = np.random.default_rng(8)
    for d in (1, 3, 17, 60):
        H = random_spd(rng, d, 1e4)
        for r in rng.uniform(0.1, 10, 20):
            domain = DOMAINS[name](d, r)
            u = 5 * r * rng.normal(size=d)
            outside = np.full(d, -1.1 * r)
            assert not domain.holds(outside)
            assert domain.holds(domain.project(u, np.diag(H)))
            assert domain.holds(domain.project_in(u, H)[0])


def test_gauges_are_additive_and_exceeded_just_below_the_limit():
    c = np.array([0.6, -0.8])
    for ball, limit in ((_l2_ball.L2Ball, 1.0), (_polyhedra.L1Ball, 1.4)):
        radius = limit
        total, exceeded = ball(2, radius).measure(c)
        assert total == pytest.approx(limit)
        assert exceeded
        assert total == sum(ball(2, radius).measure(c[i : i + 1])[0] for i in range(2))
        assert not ball(2, radius).measure(0.999999 * c)[1]
        assert ball(2, radius).measure((1 - 1e-11) * c)[1]
    assert _polyhedra.Simplex(2, 1.0).measure(c)[1]
    assert not _polyhedra.Simplex(2, 1.0).holds([0.5, 0.5])
    assert not _polyhedra.Box(2, 0.1).measure(c)[1]


@every_domain
def test_the_leading_block_of_a_wider_matrix_is_enough(name):
    rng = np.random.default_rng(9)
    wide = random_spd(rng, 7)
    u = 2 * rng.normal(size=6)
    domain = DOMAINS[name](6, 1.0)
    alone, block = domain.project_in(u, wide[:6, :6].copy()), domain.project_in(u, wide[:6])
    np.testing.assert_array_equal(alone, block)


@every_domain
def test_a_projection_does_not_depend_on_earlier_ones(name):
    rng = np.random.default_rng(10)
    used = DOMAINS[name](9, 1.0)
    for _ in range(5):
        H, u = random_spd(rng, 9), 3 * rng.normal(size=9)
        np.testing.assert_array_equal(used.project_in(u, H), DOMAINS[name](9, 1.0).project_in(u, H))
        h = np.diag(H)
        np.testing.assert_array_equal(used.project(u, h), DOMAINS[name](9, 1.0).project(u, h))


@every_domain
def test_what_is_not_finite_gets_a_status_instead_of_a_point(name):
    u = np.array([5.0, np.nan, -3.0])
    with pytest.raises(ArithmeticError, match="status"):
        DOMAINS[name](3, 1.0).project_in(u, np.eye(3))


@every_domain
def test_a_nan_stays_visible_after_a_diagonal_projection(name):
    c = DOMAINS[name](3, 1.0).project([5.0, np.nan, -3.0], np.ones(3))
    assert np.isnan(c[1])


@pytest.mark.parametrize("name", ["l2", "l1", "simplex"])
def test_an_infinity_becomes_a_nan_where_it_has_no_projection(name):
    assert np.isnan(DOMAINS[name](3, 1.0).project([5.0, np.inf, -3.0], np.ones(3))).any()


@every_domain
def test_an_indefinite_matrix_gets_a_status_instead_of_a_point(name):
    H = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    # The indefinite block is what binds: bounds for the first two, zeros in a sum.
    u = [-7.0, -6.0, -3.0] if name in ("box", "nonnegative") else [0.0, 0.01, 3.0]
    with pytest.raises(ArithmeticError, match="status"):
        DOMAINS[name](3, 0.1).project_in(np.array(u), H)


def test_no_domain_changes_nothing():
    u = np.array([1e9, -3.0])
    domain = _domains.NoDomain(2)
    assert domain.holds(u)
    np.testing.assert_array_equal(domain.project(u, np.ones(2)), u)
    c, w = domain.project_in(u, np.eye(2))
    np.testing.assert_array_equal(c, u)
    np.testing.assert_array_equal(w, np.zeros(2))


def test_only_boxes_and_orthants_are_clips():
    clips = [name for name in DOMAINS if DOMAINS[name](3, 2.0).coordinatewise]
    assert clips == ["box", "nonnegative"]
    assert (_polyhedra.Box(3, 2.0).lower, _polyhedra.Box(3, 2.0).upper) == (-2.0, 2.0)
    assert (_polyhedra.Nonnegative(3, 2.0).lower, _polyhedra.Nonnegative(3, 2.0).upper) == (0.0, np.inf)


# ---- any scale, any spread of units, and matrices that are positive definite up to rounding only


def best_state(name, u, H, r):
    """The projection onto a polyhedron of few dimensions: the best of all combinations of active constraints."""
    d, K = len(u), np.linalg.inv(H)
    best, best_value = None, np.inf
    for signs in product((-1, 0, 1), repeat=d):
        sign = np.array(signs)
        if name in ("simplex", "nonnegative") and sign.min() < 0:
            continue
        if name in ("box", "nonnegative"):
            pinned = sign != 0
            value = r * sign if name == "box" else np.zeros(d)
            c = np.where(pinned, value, 0.0)
            free = ~pinned
            right = K[free] @ u - K[np.ix_(free, pinned)] @ c[pinned]
            c[free] = np.linalg.solve(K[np.ix_(free, free)], right)
        else:  # Σ sign·c = r on the support of the signs
            free = sign != 0
            if not free.any():
                continue
            n = free.sum()
            system = np.zeros((n + 1, n + 1))
            system[:n, :n] = K[np.ix_(free, free)]
            system[:n, n] = system[n, :n] = sign[free]
            c = np.zeros(d)
            c[free] = np.linalg.solve(system, np.append(K[free] @ u, r))[:n]
            if (sign * c).min() < -1e-12 * r:
                continue
        if infeasibility(name, c, r) <= 1e-12 and (c - u) @ K @ (c - u) < best_value:
            best, best_value = c, (c - u) @ K @ (c - u)
    return u if name in ("box", "l1", "nonnegative") and infeasibility(name, u, r) == 0 else best


@every_polyhedron
def test_full_projection_equals_the_best_of_all_active_sets(name):
    rng = np.random.default_rng(20)
    for d in (1, 2, 4):
        for _ in range(6):
            H, u = random_spd(rng, d, 30.0), 2 * rng.normal(size=d)
            c, _ = DOMAINS[name](d, 1.0).project_in(u, H)
            np.testing.assert_allclose(c, best_state(name, u, H, 1.0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [1, 4, 20, 60])
def test_every_coordinate_has_bounds_of_its_own(d):
    """Finite, infinite on one side or both, and equal; c is optimal where w pushes against a bound or is 0."""
    rng = np.random.default_rng(d)
    for _ in range(10):
        H, u = random_spd(rng, d, 1e3, 1.0), 2 * rng.normal(size=d)
        lower = np.where(rng.random(d) < 0.3, -np.inf, rng.normal(size=d))
        upper = np.where(rng.random(d) < 0.3, np.inf, np.maximum(lower, -1) + rng.exponential(size=d))
        fixed = (rng.random(d) < 0.2) & np.isfinite(lower)
        upper[fixed] = lower[fixed]
        solver = DOMAINS["box"](d, 1.0)
        solver.prepare_full()
        c, w = solver.solver.between(u, H, lower, upper)
        scale = np.abs(u) + np.abs(c) + np.sqrt(H.diagonal()) * (np.sqrt(H.diagonal()) @ np.abs(w))
        assert np.all(np.abs(u - c - H @ w) <= 1e-13 * scale)
        assert np.all((lower <= c) & (c <= upper))
        assert np.all((w == 0) | (w > 0) & (c == upper) | (w < 0) & (c == lower))
        again, _ = solver.solver.between(u, H, lower, upper, start=c)
        np.testing.assert_allclose(again, c, rtol=1e-12, atol=1e-13)


def test_equal_bounds_everywhere_are_those_of_the_box():
    rng = np.random.default_rng(3)
    H, u = random_spd(rng, 12, 1e3), 3 * rng.normal(size=12)
    box = DOMAINS["box"](12, 0.5)
    expected = box.project_in(u, H)
    found = box.solver.between(u, H, np.full(12, -0.5), np.full(12, 0.5))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_l2_projection_equals_bisection_in_the_eigenbasis():
    rng = np.random.default_rng(21)
    for d in (1, 2, 8, 64):
        for r in (0.01, 1.0, 30.0):
            H = random_spd(rng, d, 1e3)
            values, basis = np.linalg.eigh(H)
            u = 3 * r * rng.normal(size=d)
            if np.linalg.norm(u) <= r:
                continue
            along = exact_diagonal_projection("l2", basis.T @ u, values, r).astype(float)
            c, _ = DOMAINS["l2"](d, r).project_in(u, H)
            np.testing.assert_allclose(c, basis @ along, rtol=0, atol=1e-12 * r)


@every_domain
@pytest.mark.parametrize("spread", [5, 10])
def test_optimality_does_not_depend_on_the_spread_of_units(name, spread):
    # Entries of H from 1e-20 to 1e20; residuals are relative, coordinate by coordinate.
    rng = np.random.default_rng(22)
    for d in (2, 9, 40):
        for condition in (1.0, 1e6):
            H = random_spd(rng, d, condition, spread)
            root = np.sqrt(np.diag(H))
            for r in (1e-3, 1.0, 1e3):
                domain = DOMAINS[name](d, r)
                for u in (r * rng.normal(size=d), r / d - H @ (rng.normal(size=d) / root)):
                    c, w = domain.project_in(u, H)
                    assert kkt_residual(name, u, H, c, w, r) <= 1e-12


@every_domain
@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e200, 1e300])
def test_projection_does_not_depend_on_a_common_factor_of_the_matrix(name, factor):
    rng = np.random.default_rng(23)
    H, u = random_spd(rng, 7), 3 * rng.normal(size=7)
    expected, w = DOMAINS[name](7, 1.0).project_in(u, H)
    c, scaled = DOMAINS[name](7, 1.0).project_in(u, factor * H)
    np.testing.assert_allclose(c, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(scaled * factor, w, rtol=1e-9, atol=1e-10)


@every_domain
def test_units_stand_for_a_matrix_with_scaled_rows_and_columns(name):
    rng = np.random.default_rng(24)
    H, u, units = random_spd(rng, 6), 3 * rng.normal(size=6), 10 ** rng.uniform(-3, 3, 6)
    expected = DOMAINS[name](6, 1.0).project_in(u, H / units / units[:, None])
    found = DOMAINS[name](6, 1.0).project_in(u, H, units=units)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-12)


@every_domain
def test_a_start_changes_the_effort_and_not_the_point(name):
    rng = np.random.default_rng(25)
    with_start = without = 0
    for d in (1, 5, 30):
        domain = DOMAINS[name](d, 0.3)
        for _ in range(5):
            H, u = random_spd(rng, d, 1e4), 3 * rng.normal(size=d)
            c, _ = domain.project_in(u, H)
            without += domain.metric.factorizations
            for start in (c, domain.project(rng.normal(size=d), np.ones(d)), np.zeros(d)):
                found, _ = domain.project_in(u, H, start=start)
                np.testing.assert_allclose(found, c, rtol=0, atol=1e-12)
                with_start += domain.metric.factorizations if start is c else 0
    assert with_start <= without


@every_domain
@pytest.mark.parametrize("excess", [1e-15, 1e-12, 1e-8, 1e-4])
def test_points_hardly_outside_are_projected(name, excess):
    rng = np.random.default_rng(26)
    for spread in (0, 5):
        for r in (0.01, 1.0, 100.0):
            H = random_spd(rng, 12, 1e3, spread)
            domain = DOMAINS[name](12, r)
            u = domain.project(rng.normal(size=12) * r * 9, np.ones(12)) * (1 + excess) - excess * r
            c, w = domain.project_in(u, H)
            assert infeasibility(name, c, r) <= 1e-13
            assert domain.holds(c) or name == "simplex"
            root = np.sqrt(np.diag(H))
            # A rounded sum is the sum for a slightly different radius.
            rounded = r * np.abs(w).max() / np.sqrt(w @ H @ w + 1e-300)
            slack = np.abs(u) + root * (root @ np.abs(w) + rounded) + 1e-300
            assert np.all(np.abs(u - c - H @ w) <= 1e-13 * slack)


@every_domain
@pytest.mark.parametrize("negative", [0.0, 1e-15, 1e-12, 1e-8, 1e-5])
def test_a_matrix_with_small_negative_eigenvalues_is_enlarged_as_little_as_it_takes(name, negative):
    rng = np.random.default_rng(27)
    for d in (3, 20):
        basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
        values = np.r_[np.full(d // 3, -negative), np.logspace(-2, 0, d - d // 3)]
        H = (basis * values) @ basis.T
        scale = 10 ** rng.uniform(-5, 5, d)
        H = (H + H.T) / 2 * scale[:, None] * scale
        domain = DOMAINS[name](d, 0.1)
        for u in (rng.normal(size=d), 0.1 / d - H @ (rng.normal(size=d) / scale), -np.ones(d)):
            c, w = domain.project_in(u, H)
            assert np.isfinite(c).all()
            assert infeasibility(name, c, 0.1) <= 1e-12
            smallest = np.linalg.eigvalsh(H / np.sqrt(np.diag(H)) / np.sqrt(np.diag(H))[:, None])[0]
            assert domain.metric.ridge <= max(100 * abs(smallest), 1e-10)
            enlarged = H + domain.metric.ridge * np.diag(np.diag(H))
            assert kkt_residual(name, u, enlarged, c, w, 0.1) <= 1e-11


@every_domain
def test_coordinates_without_an_entry_in_the_matrix_are_projected_too(name):
    rng = np.random.default_rng(28)
    H = np.zeros((5, 5))
    H[1:4, 1:4] = random_spd(rng, 3)
    for matrix in (H, np.zeros((5, 5))):
        domain = DOMAINS[name](5, 0.5)
        c, _ = domain.project_in(np.array([3.0, -1.0, 2.0, -4.0, -2.0]), matrix)
        assert infeasibility(name, c, 0.5) <= 1e-13


@every_domain
def test_points_up_to_the_largest_numbers_are_projected_or_refused(name):
    rng = np.random.default_rng(29)
    for size in (1e20, 1e100, 1e200, 1e290):
        H = random_spd(rng, 6, 1e3, 3)
        c, _ = DOMAINS[name](6, 1.0).project_in(size * rng.normal(size=6), H)
        assert infeasibility(name, c, 1.0) <= 1e-12


@every_domain
def test_confine_leaves_points_inside_alone_and_brings_the_others_in(name):
    rng = np.random.default_rng(30)
    domain = DOMAINS[name](4, 2.0)
    inside = np.array([0.5, 0.0, 1.0, 0.5])
    np.testing.assert_array_equal(domain.confine(inside), inside)
    for _ in range(10):
        outside = 5 * rng.normal(size=4)
        c = domain.confine(outside)
        assert infeasibility(name, c, 2.0) <= 1e-15
        assert domain.holds(c) or name == "simplex"
    np.testing.assert_allclose(DOMAINS["simplex"](4, 2.0).confine(0.9 * inside), inside, rtol=1e-15)
    assert DOMAINS["simplex"](4, 2.0).confine(-inside).sum() == 2.0


@every_domain
@pytest.mark.parametrize("d", [1, 4, 5, 11, 128, 129])
def test_factors_of_every_size(name, d):
    """Own loops up to 128 rows, four at a time and what is left of them; LAPACK beyond."""
    rng = np.random.default_rng(d)
    H, u = random_spd(rng, d), 10 * rng.normal(size=d)
    c, w = DOMAINS[name](d, 1.0).project_in(u, H)
    assert kkt_residual(name, u, H, c, w, 1.0) <= 1e-12
