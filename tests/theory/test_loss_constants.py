"""The constants that a loss claims on bounded margins hold on a grid, and most of them are the best there are."""

import numpy as np
import pytest
from reference.algorithm import LOSSES

from sklearn_adareg import regret
from sklearn_adareg.model import _registry

PARAMETERS = {"huber_delta": 1.35, "quantile": 0.3, "insensitivity": 0.4}
ALL = {**_registry.CLASSIFICATION_LOSSES, **_registry.REGRESSION_LOSSES}
Y = 1.5
MOST_COUNTED = 6.0  # of a Poisson target: beyond e^B for the smaller B


def own_parameters(loss):
    return {name: PARAMETERS[name] for name in ALL[loss].parameters}


def targets_of(loss):
    if loss in _registry.CLASSIFICATION_LOSSES:
        return [-1.0, 1.0]
    return np.linspace(-Y, Y, 7) if loss != "poisson" else np.linspace(0.0, MOST_COUNTED, 7)


def on_a_grid(loss, B, points=61):
    """Margins, and the values and slopes of the loss there, a row for each target."""
    grid = np.linspace(-B, B, points)
    pairs = [[LOSSES[loss](m, y, PARAMETERS) for m in grid] for y in targets_of(loss)]
    return grid, *np.moveaxis(np.array(pairs), 2, 0)


@pytest.mark.parametrize("B", [0.05, 0.8, 1.7, 4.0])
@pytest.mark.parametrize("loss", ALL)
def test_the_constants_hold_and_are_not_needlessly_weak(loss, B):
    own = regret.loss_constants(loss, margin=B, target=np.max(targets_of(loss)), **own_parameters(loss))
    grid, values, slopes = on_a_grid(loss, B)
    steepest = np.abs(slopes).max()
    assert steepest <= own.lipschitz * (1 + 1e-12)
    assert own.lipschitz <= steepest + 1e-12
    assert own.lowest - 1e-12 <= values.min()
    assert values.max() <= own.largest * (1 + 1e-12)
    np.testing.assert_allclose(values.max(), own.largest, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values.min(), own.lowest, atol=0.03 * (1 + own.largest))
    along = slopes[:, :, None] * (grid[:, None] - grid[None, :])
    slack = along - (values[:, :, None] - values[:, None, :])
    gaps = (grid[:, None] - grid[None, :]) ** 2
    assert np.all(slack >= own.strong_convexity / 2 * gaps - 1e-12)
    assert np.all(slack >= own.exp_concavity / 2 * along**2 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.where(gaps > 1e-9, 2 * slack / gaps, np.inf).min()
        beta = np.where(np.abs(along) > 1e-6, 2 * slack / along**2, np.inf).min()
    assert own.strong_convexity >= 0.9 * sigma - 1e-9
    if not own.reason and loss != "poisson":  # whose largest slope and least curvature are far apart
        assert own.exp_concavity >= 0.9 * beta
    assert (own.exp_concavity == 0) == bool(own.reason)
    if own.reason:
        assert beta < 1e-9


@pytest.mark.parametrize("B", [0.2, 1.5])
@pytest.mark.parametrize("K", [3, 7])
def test_the_constants_of_the_softmax_hold_and_are_reached(K, B):
    own = regret.loss_constants("log_loss", margin=B, classes=K)
    rng = np.random.default_rng(0)
    worst = np.where(np.arange(K) == 0, -B, B)
    margins = np.concatenate([rng.uniform(-B, B, size=(300, K)), [worst, -worst]])
    p = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    losses = -np.log(p[:, 0])
    slopes = p - np.eye(K)[0]
    assert np.abs(slopes).max() == pytest.approx(own.lipschitz)
    assert losses.max() == pytest.approx(own.largest)
    assert losses.min() == pytest.approx(own.lowest)
    assert (own.strong_convexity, own.exp_concavity) == (0.0, 0.0)
    assert "jointly" in own.reason
    # what the docstring says of the Hessian
    for q, g in zip(p, slopes, strict=True):
        rest = np.diag(q) - np.outer(q, q) - q[0] / (1 - q[0]) * np.outer(g, g)
        assert np.linalg.eigvalsh(rest)[0] > -1e-12


def test_overflow_is_no_error():
    own = regret.loss_constants("poisson", margin=800.0, target=2.0)
    assert (own.lipschitz, own.exp_concavity) == (np.inf, 0.0)
    assert regret.loss_constants("log_loss", margin=1000.0).largest == 1000.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"loss": "linear", "margin": 1.0}, "constants of loss='linear' are not known; give log_loss"),
        ({"loss": "huber", "margin": 1.0}, r"has the parameters \['huber_delta'\], and \[\] were given"),
        ({"loss": "hinge", "margin": 1.0, "quantile": 0.5}, r"\['quantile'\] were given"),
        ({"loss": "hinge", "margin": -1.0}, "margin=-1.0 .* finite and not negative"),
        ({"loss": "hinge", "margin": np.inf}, "margin=inf"),
    ],
)
def test_what_has_no_constants_is_refused_in_a_sentence(given, words):
    with pytest.raises(ValueError, match=words):
        regret.loss_constants(**given)
