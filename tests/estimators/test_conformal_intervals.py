"""Conformal intervals: the quantiles equal a slow reference, cover their share of any stream, and survive chunks and pickles."""

import pickle
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, merge
from sklearn_adareg.model._recipe import DamagedState

LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])
FARTHEST = 50.0


class Reference:
    """Adaptive conformal inference by its formulas, for one target."""

    def __init__(self):
        self.lower, self.upper = ({c: s * np.sqrt(np.pi / 2) * norm.ppf((1 + c) / 2) for c in LEVELS} for s in (-1, 1))
        self.m, self.t = 0.0, 0

    def ends(self, c):
        """What to add to a prediction for an interval of coverage c."""
        if self.t < 2:
            return -np.inf, np.inf
        low, high = self.nested()[c], self.nested(upper=True)[c]
        low, high = sorted([low, high])
        return (-np.inf if low <= -FARTHEST else low * self.m, np.inf if high >= FARTHEST else high * self.m)

    def nested(self, upper=False):
        """The ends by level, none within those of a lower one."""
        ends, outer = (self.upper, max) if upper else (self.lower, min)
        return {c: outer(ends[b] for b in LEVELS if b <= c) for c in LEVELS}

    def learn(self, r):
        """The residual of one more row."""
        self.t += 1
        if self.t == 1:
            return
        seen, size = self.t - 1, abs(r)
        if self.m > 0:
            gamma = max(0.05, 1 / np.sqrt(seen))
            u = np.clip(r / self.m, -FARTHEST, FARTHEST)
            lower, upper = self.nested(), self.nested(upper=True)
            for c in LEVELS:
                self.lower[c] += gamma * ((u > lower[c]) - (1 + c) / 2)
                self.upper[c] += gamma * ((u > upper[c]) - (1 - c) / 2)
            size = min(size, 10 * self.m)
        self.m += (0.01 if seen >= 400 else 4 / (seen + 3)) * (size - self.m)


def drifting(n, seed=0):
    """Weights that wander, noise that swells, and a jump."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    weights = np.cumsum(0.03 * rng.normal(size=(n, 3)), axis=0)
    noise = np.exp(np.sin(np.arange(n) / 300)) * rng.standard_t(4, size=n)
    return X, np.sum(X * weights, axis=1) + noise + 5.0 * (np.arange(n) > n / 2)


X, Y = drifting(700)


@pytest.mark.parametrize(
    "params",
    [
        *({}, {"loss": "quantile", "quantile": 0.9}, {"loss": "poisson"}, {"structure": "diag"}),
        *({"structure": "diag", "average": False}, {"structure": "diag", "domain": "l2", "radius": 1.0}),
    ],
    ids=str,
)
def test_intervals_equal_the_reference_row_by_row(params):
    y = np.round(np.abs(Y)) if params.get("loss") == "poisson" else Y
    model, slow = AdaRegRegressor(**params), Reference()
    predicted = model.partial_fit_predict(X, y)
    for t in range(len(y)):
        slow.learn(y[t] - predicted[t])
    center = model.predict(X[:3])
    for c in LEVELS:
        low, high = slow.ends(c)
        expected = np.column_stack([center + low, center + high])
        if params.get("loss") == "poisson":
            expected = np.maximum(expected, 0.0)
        np.testing.assert_allclose(model.predict_interval(X[:3], coverage=c), expected, rtol=1e-9)


def test_the_next_row_is_inside_as_often_as_the_reference_says():
    model, slow, inside, expected = AdaRegRegressor(), Reference(), [], []
    for t in range(200):
        row, y = X[[t]], Y[t]
        center = model.predict(row)[0] if t else 0.0
        if t:
            low, high = model.predict_interval(row, coverage=0.8)[0]
            inside.append(low <= y <= high)
            expected.append(slow.ends(0.8)[0] <= y - center <= slow.ends(0.8)[1])
        model.partial_fit(row, Y[[t]])
        slow.learn(y - center)
    assert inside == expected
    assert not all(inside)


def covered(residuals):
    """The share of residuals inside, by level."""
    slow, inside = Reference(), []
    for r in residuals:
        inside.append([low <= r <= high for low, high in map(slow.ends, LEVELS)])
        slow.learn(r)
    return np.mean(inside, axis=0)


def test_coverage_holds_under_drift():
    rows, y = drifting(4000)
    residuals = y - AdaRegRegressor().partial_fit_predict(rows, y)
    np.testing.assert_allclose(covered(residuals), LEVELS, atol=0.01)


def test_coverage_holds_for_residuals_that_have_no_distribution():
    t = np.arange(3000.0)
    np.testing.assert_allclose(covered(np.where(t % 3 == 0, 1.0, -5.0) * (1 + t)), LEVELS, atol=0.02)
    growing = np.exp(t / 100) * np.sin(t)
    assert (covered(growing) > LEVELS - 0.02).all()


def test_intervals_are_nested_and_the_first_ones_infinite():
    model = AdaRegRegressor().partial_fit(X[:1], Y[:1])
    np.testing.assert_array_equal(model.predict_interval(X[:2]), [[-np.inf, np.inf]] * 2)
    model.partial_fit(X[1:300], Y[1:300])
    ends = [model.predict_interval(X[:5], coverage=c) for c in LEVELS]
    for inner, outer in pairwise(ends):
        assert (outer[:, 0] <= inner[:, 0]).all()
        assert (inner[:, 1] <= outer[:, 1]).all()
    assert (ends[0][:, 0] < ends[0][:, 1]).all()


def test_one_monstrous_residual_is_outlived():
    rng, slow = np.random.default_rng(0), Reference()
    for t in range(600):
        slow.learn(1e12 if t == 500 else rng.normal())
    assert np.ptp(slow.ends(0.9)) < 1.5 * 2 * 1.645


def test_they_do_not_depend_on_chunks_threads_or_pickles():
    several = np.column_stack([Y, -Y, Y**2, np.abs(Y), 3 * Y])
    for y in (Y, several):
        whole = AdaRegRegressor().partial_fit(X, y)
        chunked = AdaRegRegressor(n_jobs=2).partial_fit(X[:1], y[:1])
        for begin, end in ((1, 2), (2, 300), (300, 301), (301, 700)):
            chunked = pickle.loads(pickle.dumps(chunked)).partial_fit(X[begin:end], y[begin:end])
        np.testing.assert_array_equal(whole.predict_interval(X), chunked.predict_interval(X))
    assert whole.predict_interval(X).shape == (700, 5, 2)
    alone = AdaRegRegressor().partial_fit(X, Y).predict_interval(X)
    np.testing.assert_allclose(whole.predict_interval(X)[:, 0], alone, rtol=1e-6)


def test_units_of_targets_do_not_matter():
    plain = AdaRegRegressor().partial_fit(X, Y).predict_interval(X)
    np.testing.assert_allclose(AdaRegRegressor().partial_fit(X, 1024 * Y).predict_interval(X) / 1024, plain, rtol=1e-9)


def test_later_passes_and_failed_rounds_leave_them_alone():
    one, three = (AdaRegRegressor(max_iter=k, random_state=0, tol=None).fit(X, Y) for k in (1, 3))
    np.testing.assert_array_equal(one._state.progress.tracks, three._state.progress.tracks)
    before = one._state.progress.tracks.copy()
    with pytest.raises(ValueError, match="Stopped at row 0"):
        AdaRegRegressor.partial_fit(one, np.full((1, 3), 1e200), [1e300])
    np.testing.assert_array_equal(one._state.progress.tracks, before)


def test_a_merged_model_has_intervals_between_those_of_its_parts():
    base = AdaRegRegressor(half_life=None).partial_fit(X[:100], Y[:100])
    one = deepcopy(base).partial_fit(X[100:300], Y[100:300])
    two = deepcopy(base).partial_fit(X[300:], 3 * Y[300:])
    both = merge([one, two], base=base)
    widths = [np.ptp(model.predict_interval(X[:1])) for model in (one, both, two)]
    assert widths[0] < widths[1] < widths[2]
    assert both._state.progress.tracks[0, -1] == both._state.progress.total("rows") == 700
    same = merge([one, one], base=one)
    np.testing.assert_allclose(same._state.progress.tracks, one._state.progress.tracks, rtol=1e-12)


@pytest.mark.parametrize("coverage", [0.7, 90, None, "0.9", np.nan])
def test_other_levels_are_refused(coverage):
    model = AdaRegRegressor().partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"is not followed while learning; pass one of 0.5, 0.8, 0.9, 0.95, 0.99"):
        model.predict_interval(X, coverage=coverage)


def test_models_without_residuals_are_refused():
    model = AdaRegRegressor(structure="diag").partial_fit(X, Y)
    model._state.progress.tracks[:] = 0.0  # as of a model that followed none
    with pytest.raises(ValueError, match="No residuals were followed here"):
        model.predict_interval(X)
    assert not hasattr(AdaRegClassifier(), "predict_interval")


@pytest.mark.parametrize("damage", [lambda t: t[:, :-1], lambda t: t[0], lambda t: np.repeat(t, 2, axis=0)])
def test_damaged_quantiles_are_refused(damage):
    model = AdaRegRegressor().partial_fit(X, Y)
    kept = model.__getstate__()
    progress = kept["_state"]["progress"]
    progress["tracks"] = damage(progress["tracks"])
    with pytest.raises(DamagedState, match="quantiles of residuals"):
        AdaRegRegressor.__new__(AdaRegRegressor).__setstate__(kept)
