"""Every kernel is Algorithm 1: the estimators against the slow reference, on one grid.

Beside loss, potential, structure, update, domain, penalty and average, its dimensions are ``scaling`` (rows as they are, or in
running units, where rows have columns of very different units) and ``half_life`` ("auto" is none where eta is a number).
"""

import itertools

import numpy as np
import pytest
from reference.algorithm import adareg
from reference.scaling import scaled_adareg
from scipy import sparse
from support.data import STRUCTURES, weights_of
from support.kernel_grid import (
    LOSSES,
    OF_STRUCTURE,
    POTENTIALS,
    assert_equals,
    estimator,
    rows,
    rows_in_many_units,
    target,
)

from sklearn_adareg import SpectralPotential
from sklearn_adareg.model import _registry

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

DOMAINS = list(_registry.DOMAINS)
SCALED_DOMAINS = [None, "box", "l2", "l1", "nonnegative"]
FORGET = [name for name, entry in _registry.STRUCTURES.items() if entry.forgets]
TAKE_L1 = [name for name, entry in _registry.STRUCTURES.items() if entry.takes_l1]
RADIUS = {None: 0.4, "online": 0.3}
ROWS = {None: rows, "online": rows_in_many_units}


class FourthRoot(SpectralPotential):
    operator_antitone = True

    def psi(self, eigenvalues):
        return 0.3 * eigenvalues**-0.25


def structures(*half_lives):
    """Each structure, and those that forget again with each half-life."""
    pairs = [*itertools.product(STRUCTURES, ["auto"]), *itertools.product(FORGET, half_lives)]
    return pytest.mark.parametrize(("structure", "half_life"), pairs)


updates = pytest.mark.parametrize("update", _registry.UPDATES)
potentials = pytest.mark.parametrize("potential", POTENTIALS)
scalings = pytest.mark.parametrize("scaling", [None, "online"])


def assert_equals_reference(scaling=None, seed=0, average=True, weighted=False, **params):
    Z, score, weight = ROWS[scaling](seed)
    weight = weight if weighted else None
    y = target(params["loss"], score)
    params = {"radius": RADIUS[scaling], **OF_STRUCTURE.get(params["structure"], {}), **params}
    of_reference = {**params, "average": average, "sample_weight": weight}
    if params.get("half_life") == "auto":
        of_reference["half_life"] = None
    if not isinstance(params["potential"], str):
        of_reference["potential"] = params["potential"].psi
    if scaling is None:
        run = adareg(Z, y, **of_reference)
        expected = run.x_last if average is False else run.x_mean
        loss = np.average(run.losses, weights=None if weight is None else weight[weight > 0])
    else:
        expected, loss = scaled_adareg(Z, y, **of_reference)
    params |= {"scaling": scaling, "average": average}
    assert_equals(expected, loss, lambda: estimator(**params), Z, y, weight)


@structures(7.0)
@updates
@potentials
@pytest.mark.parametrize(
    ("scaling", "loss"),
    [
        *itertools.product([None], LOSSES),
        *itertools.product(["online"], ["log_loss", "hinge", "squared_error", "absolute_error"]),
    ],
)
def test_every_domain_and_average(scaling, loss, potential, structure, half_life, update):
    if scaling is None:
        domains, averages, rest = DOMAINS, (True, False), {"eta": 0.3, "epsilon": 0.05}
        rest["seed"] = LOSSES.index(loss)
    else:
        domains, averages, rest = SCALED_DOMAINS, (2.0, False), {"eta": 0.5, "epsilon": 0.1}
        rest["weighted"] = True
    for domain, average in itertools.product(domains, averages):
        assert_equals_reference(
            scaling,
            loss=loss,
            potential=potential,
            structure=structure,
            half_life=half_life,
            update=update,
            domain=domain,
            average=average,
            p=2.0,
            **rest,
        )


@scalings
@structures(4.0)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_with_and_without_weights_and_intercept(loss, structure, half_life, scaling):
    for fit_intercept, weighted in itertools.product((True, False), (True, False)):
        assert_equals_reference(
            scaling,
            loss=loss,
            structure=structure,
            half_life=half_life,
            potential="pnorm",
            p=3.0,
            eta=0.5,
            epsilon=0.1,
            average=0.5,
            fit_intercept=fit_intercept,
            weighted=weighted,
            seed=LOSSES.index(loss),
        )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("average", [False, True, 2.0, 0.5])
@updates
@structures(1.0, 2.5, 30.0, 1e6)
@pytest.mark.parametrize("domain", [None, "l2", "box", "simplex"])
def test_weights_averages_and_intercept(domain, structure, half_life, update, average, fit_intercept):
    for potential in POTENTIALS:
        assert_equals_reference(
            loss="log_loss",
            potential=potential,
            p=3.0,
            structure=structure,
            half_life=half_life,
            update=update,
            domain=domain,
            eta=0.5,
            epsilon=0.01 if half_life == "auto" else 0.1,
            average=average,
            weighted=True,
            fit_intercept=fit_intercept,
        )


@pytest.mark.parametrize(
    ("scaling", "loss", "domain", "average"),
    [
        *itertools.product([None], ["log_loss", "hinge", "squared_error"], [None, "box", "nonnegative"], [False, 2.0]),
        *itertools.product(["online"], ["log_loss", "squared_error", "absolute_error"], [None, "box"], [False, True]),
    ],
)
@updates
@pytest.mark.parametrize(
    ("structure", "l1_ratio", "half_life"),
    [
        *itertools.product(STRUCTURES, [0.0], ["auto"]),
        *itertools.product(TAKE_L1, [0.6, 1.0], ["auto"]),
        *itertools.product(FORGET, [0.0], [5.0]),
        *itertools.product([name for name in TAKE_L1 if name in FORGET], [0.6], [5.0]),
    ],
)
def test_penalties(structure, l1_ratio, half_life, update, scaling, loss, domain, average):
    for potential in POTENTIALS:
        assert_equals_reference(
            scaling,
            loss=loss,
            potential=potential,
            structure=structure,
            half_life=half_life,
            update=update,
            domain=domain,
            alpha=0.05 if scaling is None else 0.02,
            l1_ratio=l1_ratio,
            eta=0.5,
            epsilon=0.05 if scaling is None else 0.1,
            average=average,
            weighted=True,
        )


@updates
@structures(5.0)
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_users_potential(domain, structure, half_life, update):
    assert_equals_reference(
        loss="log_loss",
        potential=FourthRoot(),
        structure=structure,
        half_life=half_life,
        update=update,
        domain=domain,
        epsilon=0.05,
    )


@scalings
@structures(5.0)
@potentials
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, 7.0])
def test_every_power(potential, structure, half_life, scaling, p):
    assert_equals_reference(
        scaling,
        loss="log_loss",
        potential=potential,
        structure=structure,
        half_life=half_life,
        p=p,
        eta=0.7,
        epsilon=0.02,
        average=2.0,
    )


@potentials
def test_rows_without_zeros_in_running_units_by_diagonal_dual_averaging(potential):
    """With every coordinate touched in every round nobody has to wait: dense and sparse agree."""
    Z, score, weight = rows_in_many_units()
    Z = np.where(Z == 0, 0.1, Z)
    for loss, domain in itertools.product(("log_loss", "squared_error"), (None, "box")):
        y = target(loss, score)
        params = {"potential": potential, "structure": "diag", "update": "dual_averaging", "average": True}
        params |= {"eta": 0.5, "epsilon": 0.1, "domain": domain, "radius": RADIUS["online"]}
        expected = scaled_adareg(Z, y, loss=loss, sample_weight=weight, **params)
        assert_equals(*expected, lambda loss=loss, params=params: estimator(loss, **params), Z, y, weight)


@pytest.mark.every_case
@pytest.mark.parametrize("d", [57, 105], ids=["own loops", "LAPACK"])
@pytest.mark.parametrize("potential", ["adagrad", "pnorm"])
def test_full_matrices_of_many_rows(potential, d):
    """Also with a basis that serves for many rounds: δ changes no result by more than it may."""
    Z, score, _ = rows(0, n=80, d=d)
    y, make = target("log_loss", score), {"eta": 0.3, "epsilon": 0.05, "p": 2.0}
    run = adareg(Z, y, loss="log_loss", potential=potential, structure="full", average=True, **make)
    model = estimator("log_loss", scaling=None, potential=potential, structure="full", average=True, **make)
    for delta, error in ((0.0, 1e-9), (1e-12, 1e-9), (1e-3, 1e-2)):
        weights = weights_of(model.set_params(refresh=delta).fit(Z, y))
        gap = np.abs(weights - run.x_mean).max() / np.abs(run.x_mean).max()
        assert gap < error


@pytest.mark.parametrize("potential", ["ons", "adagrad"])
def test_hundreds_of_full_rounds_stay_on_the_reference(potential):
    Z, score, _ = rows(3, n=400, d=6, zeros=0.2)
    y = target("log_loss", score)
    run = adareg(Z, y, loss="log_loss", potential=potential, structure="full", eta=1.0, epsilon=0.01)
    for X in (Z, sparse.csr_array(Z)):
        model = estimator(
            "log_loss", scaling=None, potential=potential, structure="full", eta=1.0, epsilon=0.01, average=True
        )
        np.testing.assert_allclose(weights_of(model.fit(X, y)), run.x_mean, rtol=1e-9, atol=1e-9)
