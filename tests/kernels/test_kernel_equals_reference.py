"""Every kernel is Algorithm 1: the estimators against the slow reference, on the whole grid."""

import itertools

import numpy as np
import pytest
from reference import adareg
from scipy import sparse
from streams import STRUCTURES

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, SpectralPotential, _registry

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

POTENTIALS = list(_registry.POTENTIALS)
DOMAINS = list(_registry.DOMAINS)
LOSSES = [*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES]
OF_STRUCTURE = {"block": {"blocks": [[0, 2], [1, 3]]}, "sketch": {"rank": 2}}
RADIUS = 0.4


class FourthRoot(SpectralPotential):
    operator_antitone = True

    def psi(self, eigenvalues):
        return 0.3 * eigenvalues**-0.25


def rows(seed, n=40, d=4, zeros=0.4):
    """Rows with zeros in them, a target of either kind, and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) * (rng.random((n, d)) > zeros)
    score = Z @ rng.normal(size=d) + 0.5 * rng.normal(size=n) + 0.3
    weight = rng.integers(0, 4, size=n) / 2.0
    return Z, score, weight


def estimator(loss, **params):
    cls = AdaRegClassifier if loss in _registry.CLASSIFICATION_LOSSES else AdaRegRegressor
    return cls(loss=loss, scaling=None, refresh=0.0, max_iter=1, shuffle=False, tol=None, **params)


def target(loss, score):
    if loss in _registry.CLASSIFICATION_LOSSES:
        return np.where(score > 0, 1.0, -1.0)
    return np.round(np.abs(score)) if _registry.loss(loss).nonnegative_targets else score


def weights_of(model):
    return np.append(np.ravel(model.coef_), model.intercept_ if model.fit_intercept else [])


def assert_equals_reference(seed=0, average=True, sample_weight=False, **params):
    Z, score, weight = rows(seed)
    weight = weight if sample_weight else None
    params = {**OF_STRUCTURE.get(params["structure"], {}), **params}
    y = target(params["loss"], score)
    reference_params = dict(params)
    if not isinstance(params["potential"], str):
        reference_params["potential"] = params["potential"].psi
        params = {name: value for name, value in params.items() if name != "eta"}
    run = adareg(Z, y, average=average, sample_weight=weight, **reference_params)
    expected = run.x_last if average is False else run.x_mean
    for X in (Z, sparse.csr_array(Z)):
        model = estimator(average=average, **params).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(weights_of(model), expected, rtol=1e-9, atol=1e-9)
        live = slice(None) if weight is None else weight > 0
        assert model.t_ == len(y[live])
        expected_loss = np.average(run.losses, weights=None if weight is None else weight[live])
        assert model.progressive_loss_ == pytest.approx(expected_loss, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_domain_and_average(loss, potential, structure, update):
    for domain, average in itertools.product(DOMAINS, (True, False)):
        assert_equals_reference(
            loss=loss,
            potential=potential,
            structure=structure,
            update=update,
            domain=domain,
            radius=RADIUS,
            eta=0.3,
            epsilon=0.05,
            p=2.0,
            average=average,
            seed=LOSSES.index(loss),
        )


@pytest.mark.every_case
@pytest.mark.parametrize("d", [57, 105], ids=["own loops", "LAPACK"])
@pytest.mark.parametrize("potential", ["adagrad", "pnorm"])
def test_full_matrices_of_many_rows(potential, d):
    """Also with a basis that serves for many rounds: δ changes no result by more than it may."""
    Z, score, _ = rows(0, n=80, d=d)
    y, make = target("log_loss", score), {"eta": 0.3, "epsilon": 0.05, "p": 2.0}
    run = adareg(Z, y, loss="log_loss", potential=potential, structure="full", average=True, **make)
    model = estimator("log_loss", potential=potential, structure="full", average=True, **make)
    for delta, error in ((0.0, 1e-9), (1e-12, 1e-9), (1e-3, 1e-2)):
        weights = weights_of(model.set_params(refresh=delta).fit(Z, y))
        gap = np.abs(weights - run.x_mean).max() / np.abs(run.x_mean).max()
        assert gap < error


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("average", [False, True, 2.0, 0.5])
@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", [None, "l2", "box", "simplex"])
def test_weights_averages_and_intercept(domain, structure, update, average, fit_intercept):
    assert_equals_reference(
        loss="log_loss",
        potential="pnorm",
        p=3.0,
        structure=structure,
        update=update,
        domain=domain,
        radius=RADIUS,
        eta=0.5,
        epsilon=0.01,
        average=average,
        sample_weight=True,
        fit_intercept=fit_intercept,
    )


@pytest.mark.parametrize("average", [False, 2.0])
@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("domain", [None, "box", "nonnegative"])
@pytest.mark.parametrize(
    ("structure", "l1_ratio"),
    [
        ("diag", 0.0),
        ("diag", 0.6),
        ("iso", 0.0),
        ("iso", 1.0),
        ("full", 0.0),
        ("block", 0.0),
        ("sketch", 0.0),
    ],
)
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_penalties(loss, structure, l1_ratio, domain, update, average):
    for potential in POTENTIALS:
        assert_equals_reference(
            loss=loss,
            potential=potential,
            structure=structure,
            update=update,
            domain=domain,
            radius=RADIUS,
            alpha=0.05,
            l1_ratio=l1_ratio,
            eta=0.5,
            epsilon=0.05,
            average=average,
            sample_weight=True,
        )


@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_users_potential(domain, structure, update):
    assert_equals_reference(
        loss="log_loss",
        potential=FourthRoot(),
        structure=structure,
        update=update,
        domain=domain,
        radius=RADIUS,
        epsilon=0.05,
    )


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, 7.0])
def test_every_power(potential, structure, p):
    assert_equals_reference(
        loss="log_loss",
        potential=potential,
        structure=structure,
        p=p,
        eta=0.7,
        epsilon=0.02,
        average=2.0,
    )


@pytest.mark.parametrize("potential", ["ons", "adagrad"])
def test_hundreds_of_full_rounds_stay_on_the_reference(potential):
    Z, score, _ = rows(3, n=400, d=6, zeros=0.2)
    y = target("log_loss", score)
    run = adareg(
        Z, y, loss="log_loss", potential=potential, structure="full", eta=1.0, epsilon=0.01
    )
    for X in (Z, sparse.csr_array(Z)):
        model = estimator(
            "log_loss", potential=potential, structure="full", eta=1.0, epsilon=0.01, average=True
        )
        np.testing.assert_allclose(weights_of(model.fit(X, y)), run.x_mean, rtol=1e-9, atol=1e-9)
