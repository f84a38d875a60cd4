"""Online scaling, the stack and Newton steps are what their slow references say."""

import itertools
from functools import partial

import numpy as np
import pytest
import reference_committee
import reference_newton
from reference_auto import scaled_adareg
from reference_newton import newton
from reference_sketch import SketchNewtonLane
from reference_stack import Sides, stacked
from scipy import sparse
from streams import STRUCTURES

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, _auto, _registry

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

POTENTIALS = list(_registry.POTENTIALS)
LOSSES = [*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES]
DIAGONALS = ("diag", "iso")
OF_STRUCTURE = {"block": {"blocks": [[0, 2], [1, 3]]}, "sketch": {"rank": 2}}
RADIUS = 0.3


def rows(seed=0, n=60):
    """Columns with zeros, one that grows, one never zero, one first seen late; and weights."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4)) * [1.0, 3.0, 0.3, 5.0]
    Z[:, [0, 1, 3]] *= rng.random((n, 3)) < 0.6
    Z[n // 2 :, 0] *= 8
    Z[:, 2] += 3
    Z[: n // 3, 3] = 0
    score = (
        (Z - [0, 0, 3, 0]) / [8, 3, 0.3, 5] @ rng.normal(size=4) + 0.5 * rng.normal(size=n) + 0.3
    )
    weight = rng.integers(0, 4, size=n) / 2.0
    return Z, score, weight


def target(loss, score):
    if loss == "softmax":
        return np.digitize(score, [-0.5, 0.7])
    if loss in _registry.CLASSIFICATION_LOSSES:
        return np.where(score > 0, 1.0, -1.0)
    return np.round(np.abs(score)) if _registry.loss(loss).nonnegative_targets else score


def estimator(loss, **params):
    cls = AdaRegRegressor if loss in _registry.REGRESSION_LOSSES else AdaRegClassifier
    loss = "log_loss" if loss == "softmax" else loss
    return cls(loss=loss, max_iter=1, shuffle=False, tol=None, **{"refresh": 0.0, **params})


def assert_equals(expected, expected_loss, make, Z, y, weight):
    expected = np.atleast_2d(expected)
    for X in (Z,) if sparse.issparse(Z) else (Z, sparse.csr_array(Z)):
        model = make().fit(X, y, sample_weight=weight)
        weights = np.atleast_2d(model.coef_)
        if model.fit_intercept:
            weights = np.column_stack([weights, model.intercept_])
        np.testing.assert_allclose(
            weights, expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected))
        )
        assert model.progressive_loss_ == pytest.approx(expected_loss, rel=1e-9)


# ---- (A) numeric eta -----------------------------------------------------------------------------


def assert_scaled_equals_reference(loss, weighted=True, seed=0, **params):
    Z, score, weight = rows(seed)
    weight = weight if weighted else None
    y = target(loss, score)
    params = {"eta": 0.5, "epsilon": 0.1, "radius": RADIUS, **params}
    params = {**OF_STRUCTURE.get(params["structure"], {}), **params}
    expected = scaled_adareg(Z, y, loss=loss, sample_weight=weight, **params)
    assert_equals(*expected, lambda: estimator(loss, **params), Z, y, weight)


COMBINATIONS = [
    pytest.param(structure, update, domain)
    for structure, update, domain in itertools.product(
        STRUCTURES, _registry.UPDATES, (None, "box", "l2", "l1", "nonnegative")
    )
]


@pytest.mark.parametrize(("structure", "update", "domain"), COMBINATIONS)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_scaled_rounds_in_every_domain(potential, structure, update, domain):
    for loss in ("log_loss", "hinge", "squared_error", "absolute_error"):
        for average in (False, 2.0):
            assert_scaled_equals_reference(
                loss,
                potential=potential,
                structure=structure,
                update=update,
                domain=domain,
                average=average,
            )


PENALTIES = [
    pytest.param(*combination)
    for combination in (
        (structure, l1_ratio, update, domain, average)
        for (structure, l1_ratio), update, domain, average in itertools.product(
            [
                ("full", 0.0),
                ("block", 0.0),
                ("sketch", 0.0),
                ("diag", 0.0),
                ("diag", 0.6),
                ("iso", 0.0),
                ("iso", 1.0),
            ],
            _registry.UPDATES,
            (None, "box"),
            (True, False),
        )
    )
]


@pytest.mark.parametrize(("structure", "l1_ratio", "update", "domain", "average"), PENALTIES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_scaled_rounds_with_penalties(potential, structure, l1_ratio, update, domain, average):
    for loss in ("log_loss", "squared_error", "absolute_error"):
        assert_scaled_equals_reference(
            loss,
            potential=potential,
            structure=structure,
            update=update,
            domain=domain,
            alpha=0.02,
            l1_ratio=l1_ratio,
            average=average,
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
        )


@pytest.mark.parametrize("potential", POTENTIALS)
def test_rows_without_zeros_by_diagonal_dual_averaging(potential):
    """With every coordinate touched in every round nobody has to wait: dense and sparse agree."""
    Z, score, weight = rows()
    Z = np.where(Z == 0, 0.1, Z)
    for loss, domain in itertools.product(("log_loss", "squared_error"), (None, "box")):
        y = target(loss, score)
        params = {
            "potential": potential,
            "structure": "diag",
            "update": "dual_averaging",
            "average": True,
        }
        params |= {"eta": 0.5, "epsilon": 0.1, "domain": domain, "radius": RADIUS}
        expected = scaled_adareg(Z, y, loss=loss, sample_weight=weight, **params)
        assert_equals(
            *expected, lambda loss=loss, params=params: estimator(loss, **params), Z, y, weight
        )


# ---- (B) and (C) eta="auto" ----------------------------------------------------------------------

# members as (λ, ε, whether they keep the matrix, η if it is not 2)
STEADY = ((1.0, 0.5, True), (1.0, 8.0, True))
STEADY_JOINT = ((1.0, 0.5, True), (1.0, 0.5, True, 4.0), (1.0, 8.0, True), (1.0, 2.0, False))
FORGETTING = ((0.998, 0.25, True), (0.97, 0.5, False), (0.9, 0.5, False))


def committee(loss, *, forgets=False):
    members = (STEADY_JOINT if loss == "softmax" else STEADY) + FORGETTING * forgets
    members = tuple(sorted(members, key=lambda member: not member[2]))  # matrices first
    return {"members": members, **({"n_classes": 3} if loss == "softmax" else {"loss": loss})}


VARIANTS = [
    {"average": 1.0},
    {"average": 10.0, "fit_intercept": False},
    {"average": False},
    {"average": 2.0},
    {"average": True, "fit_intercept": False},
]
every_loss = pytest.mark.parametrize("loss", [*LOSSES, "softmax"])


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@every_loss
def test_the_stack_of_two_step_sizes(loss, variant):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    for potential, structure in itertools.product(POTENTIALS, DIAGONALS):
        params = {"potential": potential, "structure": structure, **variant}
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
                SketchNewtonLane(D, rank, 1.0, eta, share, residuals(), intercept)
                for eta, share in ((2.0, 1.0), (8.0, 0.0))
            ]

        params = {"structure": "sketch", "rank": rank, **variant}
        for w in (None, weight):
            expected = stacked(Z, y, sample_weight=w, make_lanes=members, **reference, **variant)
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
        expected, _ = stacked(
            Z, y, sample_weight=w, potential="auto", recent=True, **reference, **variant
        )
        model = estimator(loss, **variant).fit(sparse.csr_array(Z), y, sample_weight=w)
        weights = np.atleast_2d(model.coef_)
        if model.fit_intercept:
            weights = np.column_stack([weights, model.intercept_])
        most = np.max(np.abs(expected))
        np.testing.assert_allclose(weights, expected, rtol=1e-8, atol=1e-8 * most)
        never = estimator(loss, half_life=None, **variant).fit(
            sparse.csr_array(Z), y, sample_weight=w
        )
        yield model, never


@pytest.mark.parametrize("intercept", [True, False])
@every_loss
def test_the_recent_side(loss, intercept, monkeypatch):
    for model, never in recent_side_equals_reference(
        loss, 60, monkeypatch, fit_intercept=intercept
    ):
        assert not np.allclose(model.coef_, never.coef_, rtol=1e-4, atol=0)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_the_recent_side_rests(loss, monkeypatch):
    """From row 1,001 on, but for surprises."""
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


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@every_loss
def test_newton_steps(loss, variant):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20, n=100)
    y = target(loss, score)
    for w in (None, weight):
        expected = newton(Z, y, sample_weight=w, **committee(loss), **variant)
        assert_equals(*expected, lambda: estimator(loss, **variant), Z, y, w)


@pytest.mark.parametrize("fit_intercept", [True, False])
@every_loss
def test_members_that_forget(loss, fit_intercept):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20, n=100)
    y = target(loss, score)
    for w in (None, weight):
        params = {"fit_intercept": fit_intercept}
        expected = newton(
            Z,
            y,
            sample_weight=w,
            average=20.0,
            as_published=True,
            **committee(loss, forgets=True),
            **params,
        )
        assert_equals(*expected, lambda params=params: estimator(loss, **params), Z, y, w)


@pytest.mark.parametrize(
    ("loss", "alpha"), [("log_loss", 0), ("log_loss", 1e-3), ("softmax", 0), ("squared_error", 0)]
)
def test_members_that_rest(loss, alpha):
    """Stationary rows let the recent side rest; reversed ones wake it before its turn."""
    rng = np.random.default_rng(3)
    Z, reversed_from = rng.normal([0.0, 2.0], size=(1420, 2)), 1350  # 1350 % 256 ≥ 64: asleep
    score = (Z - [0.0, 2.0]) @ [3.0, -1.0] + rng.normal(size=len(Z))
    score[reversed_from:] *= -1
    y = target(loss, score)
    committees = []

    class Watched(reference_committee.Committee):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.nights = []
            committees.append(self)

        def judge(self, *args):
            self.nights.append(self.asleep())
            super().judge(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_newton, "Committee", Watched)
        reference = {"as_published": True, "average": 20.0, **committee(loss, forgets=True)}
        expected = newton(Z, y, alpha=alpha, **reference)
    assert_equals(*expected, lambda: estimator(loss, alpha=alpha, average="auto"), Z, y, None)
    nights = np.array(committees[0].nights)
    assert not nights[:1000].any()
    assert nights[1100:1270].mean() > 0.7
    assert not nights[reversed_from + 30 :].any()  # rounds of its sleep, were it not surprised


@every_loss
def test_newton_steps_with_a_given_epsilon(loss):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20, n=100)
    y = target(loss, score)
    reference = {"n_classes": 3} if loss == "softmax" else {"loss": loss}
    expected = newton(Z, y, members=((1.0, 2.0, True),), sample_weight=weight, **reference)
    assert_equals(*expected, lambda: estimator(loss, epsilon=2.0, average=10.0), Z, y, weight)


CONSTRAINED = [
    {"alpha": 0.02, "average": 2.0},
    {"alpha": 1e-9, "average": False, "fit_intercept": False},
    {"domain": "box", "radius": RADIUS, "average": 2.0},
    {"domain": "l2", "radius": RADIUS, "average": False},
    {"domain": "l1", "radius": RADIUS, "average": 1.0, "fit_intercept": False},
    {"domain": "nonnegative", "alpha": 0.02, "average": 3.0},
    {"alpha": 0.02, "l1_ratio": 1.0, "average": 2.0},
    {"alpha": 0.02, "l1_ratio": 0.4, "average": False},
]


@pytest.mark.parametrize("variant", CONSTRAINED, ids=str)
@some_losses
def test_newton_steps_with_a_penalty_or_a_domain(loss, variant):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20, n=100)
    y = target(loss, score)
    for w in (None, weight):
        expected = newton(Z, y, sample_weight=w, **committee(loss), **variant)
        assert_equals(*expected, lambda: estimator(loss, **variant), Z, y, w)


@pytest.mark.slow
@some_losses
def test_newton_steps_restore_the_zeros_of_an_l1_penalty(loss):
    Z, score, weight = rows(LOSSES.index(loss) if loss in LOSSES else 20, n=100)
    y = target(loss, score)
    for w in (None, weight):
        for alpha, half_life in itertools.product((0.02, 1.0), ("auto", None)):
            params = {"alpha": alpha, "l1_ratio": 0.9}
            reference = committee(loss, forgets=half_life == "auto")
            expected = newton(
                Z, y, sample_weight=w, average=20.0, zeros=True, **reference, **params
            )
            make = partial(estimator, loss, half_life=half_life, **params)
            assert_equals(*expected, make, Z, y, w)
        assert np.count_nonzero(expected[0]) < expected[0].size


def test_hundreds_of_rounds_stay_on_the_references():
    Z, score, weight = rows(5, n=500)
    for loss in ("log_loss", "squared_error"):
        y = target(loss, score)
        expected = newton(Z, y, average=10.0, sample_weight=weight, **committee(loss))
        assert_equals(*expected, lambda loss=loss: estimator(loss, average=10.0), Z, y, weight)
        expected = stacked(Z, y, loss=loss, sample_weight=weight)
        # a number as average: "auto" has the same one, and its progressive loss is in the units from before each row
        make = partial(estimator, loss, structure="diag", average=1.0)
        assert_equals(*expected, make, Z, y, weight)
