"""Every kernel with a half-life is Algorithm 1 with the G of ``reference_memory``, on the grids of the kernels without."""

import itertools

import pytest
from reference_stack import stacked
from test_kernel_equals_reference import (
    LOSSES,
    POTENTIALS,
    RADIUS,
    FourthRoot,
    assert_equals_reference,
)
from test_scaling_equals_reference import (
    DIAGONALS,
    VARIANTS,
    assert_equals,
    assert_scaled_equals_reference,
    estimator,
    rows,
    target,
)

from sklearn_adareg import _registry

pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

STRUCTURES = [name for name, entry in _registry.STRUCTURES.items() if entry.forgets]
TAKE_L1 = [name for name in STRUCTURES if _registry.STRUCTURES[name].takes_l1]
DOMAINS = list(_registry.DOMAINS)


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
            half_life=7.0,
            seed=LOSSES.index(loss),
        )


@pytest.mark.parametrize("half_life", [1.0, 2.5, 30.0, 1e6])
@pytest.mark.parametrize(("average", "fit_intercept"), [(False, True), (True, False), (2.0, True)])
@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", [None, "l2", "box", "simplex"])
def test_weights_averages_and_intercept(
    domain, structure, update, average, fit_intercept, half_life
):
    for potential in POTENTIALS:
        assert_equals_reference(
            loss="log_loss",
            potential=potential,
            p=3.0,
            structure=structure,
            update=update,
            domain=domain,
            radius=RADIUS,
            eta=0.5,
            epsilon=0.1,
            average=average,
            sample_weight=True,
            fit_intercept=fit_intercept,
            half_life=half_life,
        )


@pytest.mark.parametrize("average", [False, 2.0])
@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("domain", [None, "box", "nonnegative"])
@pytest.mark.parametrize(
    ("structure", "l1_ratio"),
    [*((name, 0.0) for name in STRUCTURES), *((name, 0.6) for name in TAKE_L1)],
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
            half_life=5.0,
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
        half_life=5.0,
    )


# ---- online scaling ------------------------------------------------------------------------------


@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("domain", [None, "box", "l2", "l1", "nonnegative"])
@pytest.mark.parametrize("potential", POTENTIALS)
def test_scaled_rounds_in_every_domain(potential, domain, structure, update):
    for loss, average in itertools.product(
        ("log_loss", "hinge", "squared_error", "absolute_error"), (False, 2.0)
    ):
        assert_scaled_equals_reference(
            loss,
            potential=potential,
            structure=structure,
            update=update,
            domain=domain,
            average=average,
            half_life=9.0,
        )


@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize(
    ("structure", "l1_ratio"),
    [*((name, 0.0) for name in STRUCTURES), *((name, 0.6) for name in TAKE_L1)],
)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_scaled_rounds_with_penalties(potential, structure, l1_ratio, update):
    for loss, domain, average in itertools.product(
        ("log_loss", "squared_error", "absolute_error"), (None, "box"), (True, False)
    ):
        assert_scaled_equals_reference(
            loss,
            potential=potential,
            structure=structure,
            update=update,
            domain=domain,
            alpha=0.02,
            l1_ratio=l1_ratio,
            average=average,
            half_life=9.0,
        )


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", LOSSES)
def test_scaled_rounds_of_every_loss(loss, structure):
    for fit_intercept, weighted in itertools.product((True, False), (True, False)):
        assert_scaled_equals_reference(
            loss,
            weighted,
            seed=LOSSES.index(loss),
            structure=structure,
            potential="pnorm",
            p=3.0,
            average=0.5,
            fit_intercept=fit_intercept,
            half_life=4.0,
        )


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("loss", [*LOSSES, "softmax"])
def test_the_stack_of_two_step_sizes(loss, variant):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    for potential, structure in itertools.product(POTENTIALS, DIAGONALS):
        params = {"potential": potential, "structure": structure, "half_life": 12.0, **variant}
        for w in (None, weight):
            expected = stacked(Z, y, sample_weight=w, **reference, **params)
            assert_equals(*expected, lambda params=params: estimator(loss, **params), Z, y, w)
