"""What ``eta="auto"`` runs beside the default learner is what its slow references say: stacks, of diagonals and of sketches."""

import itertools
from functools import partial

import numpy as np
import pytest
from reference.sketch import SketchNewtonVector
from reference.stack import Sides, stacked
from scipy import sparse
from support.kernel_grid import LOSSES, POTENTIALS, assert_equals, estimator, target
from support.kernel_grid import rows_in_many_units as rows

from sklearn_adareg.model import _auto

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

DIAGONALS = ("diag", "iso")
RADIUS = 0.3

VARIANTS = [
    {"average": 1.0},
    {"average": 10.0, "fit_intercept": False},
    {"average": False},
    {"average": 2.0},
    {"average": True, "fit_intercept": False},
]
every_loss = pytest.mark.parametrize("loss", [*LOSSES, "softmax"])


@pytest.mark.parametrize("half_life", [None, 12.0])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@every_loss
def test_the_stack_of_two_step_sizes(loss, variant, half_life):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    for potential, structure in itertools.product(POTENTIALS, DIAGONALS):
        params = {"potential": potential, "structure": structure, **variant}
        if half_life is not None:  # "auto" otherwise, which is none here
            params["half_life"] = half_life
        for w in (None, weight):
            expected = stacked(Z, y, sample_weight=w, **reference, **params)
            assert_equals(*expected, lambda params=params: estimator(loss, **params), Z, y, w)


STACKED = [
    {"alpha": 0.02, "average": 2.0},
    {"alpha": 0.5, "average": False, "fit_intercept": False},
    {"alpha": 0.05, "l1_ratio": 1.0, "average": 1.0},
    {"alpha": 0.05, "l1_ratio": 0.5, "average": True, "domain": "box", "radius": RADIUS},
    {"domain": "box", "radius": RADIUS, "average": 2.0},
    {"domain": "l2", "radius": RADIUS, "average": False},
    {"domain": "l1", "radius": RADIUS, "average": 1.0, "fit_intercept": False},
    {"domain": "nonnegative", "alpha": 0.02, "average": 3.0},
]
some_losses = pytest.mark.parametrize(
    "loss", ["log_loss", "squared_error", "huber", "absolute_error", "poisson", "softmax"]
)


@pytest.mark.parametrize("variant", STACKED, ids=str)
@some_losses
def test_the_stack_with_a_penalty_or_a_domain(loss, variant):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    for potential, structure in zip(POTENTIALS, itertools.cycle(DIAGONALS), strict=False):
        params = {"potential": potential, "structure": structure, **variant}
        expected = stacked(Z, y, sample_weight=weight, **reference, **params)
        assert_equals(*expected, lambda params=params: estimator(loss, **params), Z, y, weight)


@pytest.mark.slow
@some_losses
def test_the_stack_restores_the_zeros_of_an_l1_penalty(loss):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20, n=100)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    zeros = 0
    for structure, w in itertools.product(DIAGONALS, (None, weight)):
        for alpha in (0.02, 1.0):
            params = {"alpha": alpha, "l1_ratio": 0.9, "structure": structure}
            expected = stacked(Z, y, sample_weight=w, zeros=True, **reference, **params)
            assert_equals(*expected, lambda params=params: estimator(loss, **params), Z, y, w)
            zeros += expected[0].size - np.count_nonzero(expected[0])
    assert zeros > 0


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@every_loss
def test_newton_steps_on_a_sketch(loss, variant):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    intercept = variant.get("fit_intercept", True)
    for rank in (1, 2):

        def members(D, residuals, rank=rank):
            return [
                SketchNewtonVector(D, rank, 1.0, eta, share, residuals(), intercept)
                for eta, share in ((2.0, 1.0), (8.0, 0.0))
            ]

        params = {"structure": "sketch", "rank": rank, **variant}
        for w in (None, weight):
            expected = stacked(Z, y, sample_weight=w, make_outputs=members, **reference, **variant)
            assert_equals(*expected, lambda params=params: estimator(loss, **params), Z, y, w)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@every_loss
def test_the_pair_of_potentials(loss, variant, monkeypatch):
    monkeypatch.setattr(_auto, "FULL_UP_TO", 0)
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    for w in (None, weight):
        expected = stacked(Z, y, sample_weight=w, potential="auto", **reference, **variant)
        assert_equals(*expected, lambda: estimator(loss, **variant), sparse.csr_array(Z), y, w)


def recent_side_equals_reference(loss, n, monkeypatch, turn=0.5, **variant):
    """Models that go on in order; n rows, in which the rule turns in the middle."""
    monkeypatch.setattr(_auto, "FULL_UP_TO", 0)
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20, n)
    if n > 1000:  # nothing changes but for the rule
        Z = np.random.default_rng(0).normal(size=(n, 4))
        score = Z @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(1).normal(size=n)
        weight = weight + 0.5
    y = target(loss, np.where(np.arange(n) < turn * n, score, 1 - score))
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    for w in (None, weight):
        expected, _ = stacked(Z, y, sample_weight=w, potential="auto", recent=True, **reference, **variant)
        model = estimator(loss, **variant).fit(sparse.csr_array(Z), y, sample_weight=w)
        weights = np.atleast_2d(model.coef_)
        if model.fit_intercept:
            weights = np.column_stack([weights, model.intercept_])
        most = np.max(np.abs(expected))
        np.testing.assert_allclose(weights, expected, rtol=1e-8, atol=1e-8 * most)
        never = estimator(loss, half_life=None, **variant).fit(sparse.csr_array(Z), y, sample_weight=w)
        yield model, never


@pytest.mark.parametrize("intercept", [True, False])
@every_loss
def test_the_recent_side(loss, intercept, monkeypatch):
    for model, never in recent_side_equals_reference(loss, 60, monkeypatch, fit_intercept=intercept):
        assert not np.allclose(model.coef_, never.coef_, rtol=1e-4, atol=0)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_the_recent_side_rests(loss, monkeypatch):
    """From row 1,001 on, but for jumps of the loss."""
    shares = []
    share = Sides.share

    def noted(self, t):
        shares.append(share(self, t))
        return shares[-1]

    monkeypatch.setattr(Sides, "share", noted)
    for _ in recent_side_equals_reference(loss, 1100, monkeypatch, turn=0.96):
        assert None not in shares[:1000]
        assert 10 < sum(share is None for share in shares[1000:]) < len(shares[1000:])
        shares.clear()


@pytest.mark.parametrize("variant", STACKED, ids=str)
@some_losses
def test_the_pair_of_potentials_with_a_penalty_or_a_domain(loss, variant, monkeypatch):
    monkeypatch.setattr(_auto, "FULL_UP_TO", 0)
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    expected = stacked(Z, y, sample_weight=weight, potential="auto", **reference, **variant)
    assert_equals(*expected, lambda: estimator(loss, **variant), sparse.csr_array(Z), y, weight)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_hundreds_of_rounds_stay_on_the_reference(loss):
    Z, score, weight = rows(5, n=500)
    y = target(loss, score)
    expected = stacked(Z, y, loss=loss, sample_weight=weight)
    # a number as average: "auto" has the same one, and its progressive loss is in the units from before each row
    make = partial(estimator, loss, structure="diag", average=1.0)
    assert_equals(*expected, make, Z, y, weight)
