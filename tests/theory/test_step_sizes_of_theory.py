"""eta="theory" and epsilon="theory" are the paper's, and their bounds hold for the estimators."""

import numpy as np
import pytest
from reference.algorithm import LOSSES
from scipy import sparse
from support.data import STRUCTURES, FourthRoot, blocks_of, estimator, rows, target

from sklearn_adareg import regret
from sklearn_adareg.model import _registry

R = 0.8
DIAMETERS = {  # b and b_∞ for d = 5
    "l2": (2 * R, 2 * R),
    "box": (2 * R * np.sqrt(5), 2 * R),
    "l1": (2 * R, 2 * R),
    "simplex": (R * np.sqrt(2), R),
}
DUAL_NORM = {"l2": 2, "box": 1, "l1": np.inf, "simplex": np.inf}
X, SCORE = rows(0, n=60)


def theory(potential, structure, **params):
    defaults = {"eta": "theory", "epsilon": "theory", "domain": "l2", "radius": R, "fit_intercept": False}
    return estimator(potential, structure, **{**defaults, **params})


def block_diameter(domain):
    """Of what a domain is in the coordinates of a block, which have two features here."""
    return {"l2": 2 * R, "box": 2 * R * np.sqrt(2), "l1": 2 * R, "simplex": R * np.sqrt(2)}[domain]


# --- the formulas ---------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DIAMETERS)
def test_the_step_size_of_adagrad(domain):
    b, b_inf = DIAMETERS[domain]
    expected = {"full": b / np.sqrt(2), "diag": b_inf / np.sqrt(2), "iso": b / np.sqrt(2 * 5)}
    expected["block"] = block_diameter(domain) / np.sqrt(2)
    expected["sketch"] = expected["full"]
    for structure in STRUCTURES:
        model = theory("adagrad", structure, loss="hinge", domain=domain).fit(X, target("hinge", SCORE))
        assert model.eta_ == pytest.approx(expected[structure], rel=1e-14)
        assert model.epsilon_ == 1e-10


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("domain", DIAMETERS)
@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "squared_hinge", "poisson"])
def test_the_step_size_and_epsilon_of_ons(loss, domain, change):
    y = target(loss, SCORE)
    B = R * np.max(np.linalg.norm(X, ord=DUAL_NORM[domain], axis=1))
    largest = np.max(np.abs(y))
    beta = {
        "log_loss": np.exp(-B),
        "squared_error": 1 / (B + largest) ** 2,
        "squared_hinge": (3 * B - 1) / (8 * B**2 * (1 + B)) if B > 1 else 1 / (2 * (1 + B) ** 2),
        "poisson": np.exp(-B) / max(np.exp(B), largest - np.exp(-B)) ** 2,
    }[loss]
    model = theory("ons", "full", loss=loss, domain=domain).fit(change(X), y)
    assert 1 / model.eta_ == pytest.approx(beta, rel=1e-12)
    assert model.epsilon_ == pytest.approx(5 / (beta * DIAMETERS[domain][0]) ** 2, rel=1e-12)
    weighed = theory("ons", "full", loss=loss, domain=domain).fit(change(X), y, np.full(60, 3.0))
    assert 1 / weighed.eta_ == pytest.approx(beta / 3, rel=1e-12)


def test_one_of_the_two_may_be_a_number():
    y = target("hinge", SCORE)
    eta = theory("adagrad", "diag", loss="hinge", epsilon=0.3).fit(X, y)
    assert (eta.eta_, eta.epsilon_) == (pytest.approx(R * np.sqrt(2)), 0.3)
    epsilon = theory("adagrad", "diag", loss="hinge", eta=0.3).fit(X, y)
    assert (epsilon.eta_, epsilon.epsilon_) == (0.3, 1e-10)


# --- exp-concavity in the paper's sense -----------------------------------------------------------


def largest_beta(loss, B, y, points=161):
    """The largest β with f(a) − f(b) ≤ f'(a)(a − b) − β/2 (f'(a)(a − b))² on a grid of [−B, B]."""
    grid = np.linspace(-B, B, points)
    value, slope = np.array([LOSSES[loss](m, y, {}) for m in grid]).T
    along = slope[:, None] * (grid[:, None] - grid[None, :])
    slack = along - (value[:, None] - value[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.min(np.where(np.abs(along) > 1e-9, 2 * slack / along**2, np.inf))


@pytest.mark.parametrize("B", [0.3, 1.0, 1.7, 4.0])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "squared_hinge", "poisson"])
def test_beta_is_valid_and_not_needlessly_small(loss, B):
    targets = {"squared_error": [-1.5, 0.0, 0.7, 1.5], "poisson": [0.0, 1.0, 1.5]}.get(loss, [-1.0, 1.0])
    # One feature, so that the margin reaches radius · |z| = B at the edge of the domain.
    Z = np.full((len(targets), 1), B / R)
    model = theory("ons", "full", loss=loss).fit(Z, np.array(targets))
    beta = 1 / model.eta_
    most = min(largest_beta(loss, B, y) for y in targets)
    assert beta <= most * (1 + 1e-6)
    if loss != "poisson":  # where the largest slope and the least curvature are not at one point
        assert beta >= 0.9 * most


# --- refusals -------------------------------------------------------------------------------------

REFUSED = [
    ({"domain": None, "radius": None}, "needs a bounded domain"),
    ({"domain": "nonnegative"}, "needs a bounded domain.*domain='nonnegative'"),
    ({"fit_intercept": True}, "needs fit_intercept=False, since a free intercept"),
    ({"potential": "ons", "structure": "diag"}, "not coordinate-wise exp-concave"),
    ({"potential": "ons", "structure": "iso"}, "not strongly convex"),
    ({"potential": "ons", "structure": "full", "loss": "hinge"}, "the loss 'hinge' has linear parts"),
    ({"potential": FourthRoot()}, "a user's potential brings its own step size"),
]
LINEAR_PARTS = ["hinge", "modified_huber", "perceptron", "huber", "absolute_error", "quantile"]
LINEAR_PARTS += ["epsilon_insensitive"]


@pytest.mark.parametrize("asked", [{"epsilon": 1.0}, {"eta": 1.0}, {}], ids=["eta", "epsilon", "both"])
@pytest.mark.parametrize(("params", "words"), REFUSED)
def test_where_the_paper_has_no_step_size(params, words, asked):
    model = theory("adagrad", "diag").set_params(**params).set_params(**asked)
    names = "eta='theory' and epsilon='theory'" if not asked else "='theory'"
    with pytest.raises(ValueError, match=f"{names} .*{words}.*pass|{names} .*{words}.*number"):
        model.fit(X, target("hinge", SCORE))
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("loss", LINEAR_PARTS)
def test_ons_has_no_step_size_for_losses_with_linear_parts(loss):
    assert loss in {**_registry.CLASSIFICATION_LOSSES, **_registry.REGRESSION_LOSSES}
    with pytest.raises(ValueError, match=f"the loss '{loss}' has linear parts"):
        theory("ons", "full", loss=loss).fit(X, target(loss, SCORE))


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("what", ["margin", "target", "weight"])
def test_a_later_row_beyond_those_of_the_first_call_is_refused(what, change):
    model = theory("ons", "full", loss="squared_error")
    model.partial_fit(change(X), SCORE, sample_weight=np.ones(60))
    model.partial_fit(change(X[::-1]), SCORE / 2, sample_weight=np.full(60, 0.5))
    before, Z, y, weight = model.coef_.copy(), X.copy(), SCORE.copy(), np.ones(60)
    if what == "margin":
        Z[41] = 1.01 * X[np.argmax(np.linalg.norm(X, axis=1))]
    elif what == "target":
        y[41] = -1.01 * np.max(np.abs(SCORE))
    else:
        weight[41] = 1.01
    with pytest.raises(ValueError, match=f"computed for a largest {what} of .* these rows reach"):
        model.partial_fit(change(Z), y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.t_ == 120


def test_adagrad_needs_no_limits():
    model = theory("adagrad", "full", loss="squared_error").partial_fit(X, SCORE)
    assert model.partial_fit(10 * X, 10 * SCORE).t_ == 120


# --- the bounds hold on a run of the estimator ----------------------------------------------------


def recorded(model, Z, y):
    """A run of the estimator, its losses and gradients those of the reference."""
    run = regret.record(model, Z, y)
    for t, (z, label) in enumerate(zip(Z, y, strict=True)):
        value, slope = LOSSES[model.loss](z @ run.x[t], label, {"huber_delta": 1.35})
        assert run.losses[t] == pytest.approx(value, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(run.g[t], slope * z, rtol=1e-9, atol=1e-12)
    return run


def best_point(loss, Z, y, domain, candidates=400):
    """The best of many points of the domain in hindsight, and its total loss."""
    rng = np.random.default_rng(0)
    cloud = rng.uniform(-1, 1, size=(candidates, Z.shape[1]))
    radii = rng.uniform(0, 1, size=(candidates, 1)) ** (1 / 3)
    order = {"l2": 2, "box": np.inf, "l1": 1, "simplex": 1}[domain]
    cloud = R * radii * cloud / np.linalg.norm(cloud, ord=order, axis=1, keepdims=True)
    if domain == "simplex":
        cloud = R * np.abs(cloud) / np.abs(cloud).sum(axis=1, keepdims=True)
    ell = np.vectorize(lambda m, label: LOSSES[loss](m, label, {"huber_delta": 1.35})[0])
    totals = ell(Z @ cloud.T, y[:, None]).sum(axis=0)
    return cloud[np.argmin(totals)], totals.min()


@pytest.mark.parametrize("domain", DIAMETERS)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "huber"])
def test_the_regret_of_adagrad_is_below_its_bound(loss, structure, domain):
    Z, y = X[:, :3], target(loss, SCORE)
    model = theory("adagrad", structure, loss=loss, domain=domain, average=False)
    run = recorded(model, Z, y)
    x_star, best = best_point(loss, Z, y, domain)
    incurred = run.losses.sum() - best
    b = {"l2": 2 * R, "box": 2 * R * np.sqrt(3), "l1": 2 * R, "simplex": R * np.sqrt(2)}[domain]
    b_inf = R if domain == "simplex" else 2 * R
    G = 1e-10 * np.eye(3) + run.g.T @ run.g
    if structure == "block":
        b = block_diameter(domain)
    known = {"structure": structure, **blocks_of(structure)}
    bound = regret.adagrad_bound(G, b_inf if structure == "diag" else b, eta=run.eta, **known)
    assert incurred <= regret.linear_regret(run.x, run.g, x_star) + 1e-9
    assert regret.linear_regret(run.x, run.g, x_star) <= bound
    # With the best η the two terms are equal, and the bound is √2 b tr √G.
    assert bound == pytest.approx(regret.adagrad_bound(G, b_inf if structure == "diag" else b, **known))


@pytest.mark.parametrize("domain", DIAMETERS)
@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "squared_hinge"])
def test_the_regret_of_ons_is_below_its_bound(loss, domain):
    Z, y = X[:, :3] / 4, target(loss, SCORE)
    run = recorded(theory("ons", "full", loss=loss, domain=domain), Z, y)
    _, best = best_point(loss, Z, y, domain)
    G = run.epsilon * np.eye(3) + run.g.T @ run.g
    b = {"l2": 2 * R, "box": 2 * R * np.sqrt(3), "l1": 2 * R, "simplex": R * np.sqrt(2)}[domain]
    bound = regret.ons_bound(G, b, epsilon=run.epsilon, eta=run.eta)
    assert run.losses.sum() - best <= bound
    # The bound is the paper's: (1/2β)(D + D + log det(G)/ε^D) with ε = D/(β²b²).
    closed = run.eta / 2 * (6 + np.linalg.slogdet(G / run.epsilon)[1])
    assert bound == pytest.approx(closed)
