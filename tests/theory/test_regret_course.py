"""The course of the regret: the comparator is the best there is, the sums are Theorem 1, and the bounds are above."""

import numpy as np
import pytest
from reference.algorithm import LOSSES
from scipy import optimize, sparse
from support.data import STRUCTURES, FourthRoot, estimator, rows, target

from sklearn_adareg import AdaRegClassifier, regret
from sklearn_adareg.model import _registry
from sklearn_adareg.theory._comparators import best_weights

X, SCORE = rows(0, n=70, d=4)
R = 0.8
RAW = {"fit_intercept": False, "radius": R}
NAMES = ("H0", "epsilon", "potential", "eta", "p", "refresh_factor")
PARAMETERS = {"huber_delta": 1.35, "quantile": 0.5, "insensitivity": 0.1}
BOUNDED = [name for name, entry in _registry.DOMAINS.items() if entry.bounded]
ALL = [*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES]


def total(loss, x, Z, y, weights):
    values = [LOSSES[loss](m, t, PARAMETERS)[0] for m, t in zip(Z @ x, y, strict=True)]
    return weights @ values


def points_of(domain, n, rng):
    """Random points of a domain, its corners among them."""
    cloud = rng.normal(size=(n, 4))
    if domain == "simplex":
        cloud = np.concatenate([rng.dirichlet(np.full(4, 0.5), size=n), np.eye(4)])
        return R * cloud
    order = {"l2": 2, "box": np.inf, "l1": 1}[domain]
    cloud /= np.linalg.norm(cloud, ord=order, axis=1, keepdims=True)
    cloud = np.concatenate([cloud, np.sign(cloud), np.eye(4), -np.eye(4)])
    sizes = np.linalg.norm(cloud, ord=order, axis=1, keepdims=True)
    return R * cloud / np.maximum(sizes, 1) * rng.uniform(0.5, 1, size=(len(cloud), 1))


@pytest.mark.parametrize(
    ("loss", "domain"),
    [(loss, "l2") for loss in ALL] + [("poisson", name) for name in BOUNDED] + [("hinge", "simplex")],
)
def test_no_point_of_the_domain_is_better_than_the_best_weights_by_more_than_their_gap(loss, domain):
    y = target(loss, SCORE).astype(float)
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, size=70).astype(float)
    model = estimator("adagrad", "diag", loss, domain=domain, **RAW)
    state, Z, _, targets, *_ = model._take_in(X, y, None)
    found = best_weights(state.recipe, Z, targets[:, 0], weights)
    assert found.loss == pytest.approx(total(loss, found.weights, X, y, weights), abs=1e-9)
    near = found.weights + 0.05 * (points_of(domain, 20, rng) - found.weights)
    cloud = np.concatenate([near, points_of(domain, 20, rng)])
    least = min(total(loss, x, X, y, weights) for x in cloud)
    assert found.loss <= least + 1e-4 * weights.sum() + 1e-9
    assert found.loss - found.gap <= least
    assert found.gap < 1e-4 * found.loss + 2e-2 * weights.sum()
    again = best_weights(state.recipe, sparse.csr_array(Z), targets[:, 0], weights)
    np.testing.assert_allclose(again.loss, found.loss, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_without_a_domain_the_best_weights_are_those_of_a_batch_solver(intercept):
    y = target("log_loss", SCORE).astype(float)
    Z = np.column_stack([X, np.ones(70)]) if intercept else X
    model = estimator("adagrad", "diag", fit_intercept=intercept)
    state, rows_of_x, _, targets, *_ = model._take_in(X, y, None)
    found = best_weights(state.recipe, rows_of_x, targets[:, 0], np.ones(70))
    batch = optimize.minimize(lambda x: np.sum(np.logaddexp(0, -y * (Z @ x))), np.zeros(Z.shape[1]))
    np.testing.assert_allclose(found.weights, batch.x, rtol=1e-3)
    assert found.loss == pytest.approx(batch.fun, rel=1e-6)
    assert found.gap == np.inf
    boxed = estimator("adagrad", "diag", fit_intercept=intercept, domain="box", radius=0.1)
    state, *_ = boxed._take_in(X, y, None)
    found = best_weights(state.recipe, rows_of_x, targets[:, 0], np.ones(70))
    limits = [(-0.1, 0.1)] * 4 + [(None, None)] * intercept
    batch = optimize.minimize(lambda x: np.sum(np.logaddexp(0, -y * (Z @ x))), np.zeros(Z.shape[1]), bounds=limits)
    assert found.loss == pytest.approx(batch.fun, rel=1e-5)


@pytest.mark.parametrize("domain", [None, "l2", "box", "simplex"])
@pytest.mark.parametrize("structure", [name for name in STRUCTURES if name != "sketch"])
@pytest.mark.parametrize("potential", ["adagrad", "pnorm", "ons"])
def test_the_bound_of_the_run_is_theorem_1(potential, structure, domain):
    y = target("log_loss", SCORE)
    size = {"domain": domain, **(RAW if domain else {})}
    model = estimator(potential, structure, eta=2.0, **size)
    found, run = regret.course(model, X, y, points=4), regret.record(model, X, y)
    for t, x_star, bound, linear in zip(found.rounds, found.weights, found.run_bound, found.linear_regret, strict=True):
        given = {name: run[name] for name in NAMES}
        expected = regret.theorem_1(run.x[: t + 1], run.g[:t], run.H[:t], x_star, **given)
        assert bound == pytest.approx(expected, rel=1e-7)
        assert linear == pytest.approx(regret.linear_regret(run.x[:t], run.g[:t], x_star))
    assert np.all(found.regret <= found.linear_regret + 1e-9)
    assert np.all(found.linear_regret <= found.run_bound + 1e-9)
    np.testing.assert_allclose(found.loss, np.cumsum(run.losses)[found.rounds - 1])
    if domain:
        assert np.all(found.linear_regret <= found.bound)
    else:
        assert np.isnan(found.bound).all()
        assert "unbounded" in found.missing[0]


@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_the_bound_of_dual_averaging(potential):
    y = target("log_loss", SCORE)
    for structure in ("full", "diag"):
        model = estimator(potential, structure, update="dual_averaging", domain="l2", **RAW)
        found, run = regret.course(model, X, y, points=2), regret.record(model, X, y)
        expected = regret.dual_averaging_bound(run.x, run.g, run.H, found.weights[-1], H0=run.H0)
        assert found.run_bound[-1] == pytest.approx(expected)


def test_a_sketch_and_a_lazy_refresh_stay_below_the_bound_of_their_run():
    y = target("log_loss", SCORE)
    for potential in ("adagrad", "pnorm", "ons"):
        for structure in ("sketch", "full", "block"):
            model = estimator(potential, structure, refresh=0.5, domain="box", **RAW)
            found = regret.course(model, X, y, points=5)
            assert np.all(found.linear_regret <= found.run_bound + 1e-9)
            assert np.all(found.run_bound <= found.bound * (1 + 1e-9))


def test_a_potential_without_value_has_a_regret_and_no_bound():
    found = regret.course(estimator(FourthRoot(0.3), "diag"), X, target("log_loss", SCORE), points=3)
    assert np.isfinite(found.regret).all()
    assert np.isnan(found.run_bound).all()


def test_weights_count_as_rows_where_the_loss_does():
    y, weights = target("log_loss", SCORE), np.arange(70) % 3.0
    found = regret.course(estimator(domain="l2", **RAW), X, y, weights, points=3)
    assert found.rounds[-1] == np.count_nonzero(weights)
    last = regret.course(estimator(domain="l2", **RAW), X, y, weights, points=1)
    assert last.rounds == found.rounds[-1:]
    np.testing.assert_allclose(last.regret, found.regret[-1:], rtol=1e-4)
    assert np.all(found.regret <= found.linear_regret + 1e-9)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"estimator": AdaRegClassifier()}, "course needs scaling=None"),
        ({"points": 0}, "points=0 is no number of points"),
        ({"points": 2.5}, "points=2.5 is no number of points"),
        ({"y": np.digitize(SCORE, [-1, 1])}, "course takes two classes or one target"),
    ],
)
def test_what_has_no_course_is_refused_in_a_sentence(given, sentence):
    made = {"estimator": estimator(), "X": X, "y": target("log_loss", SCORE), **given}
    with pytest.raises(ValueError, match=sentence):
        regret.course(**made)
