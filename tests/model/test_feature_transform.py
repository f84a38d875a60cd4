"""Beyond 100 dense features the first rows choose centres and take out correlations."""

import pickle

import numpy as np
import pytest
from reference.stack import stacked
from scipy import sparse
from sklearn.linear_model import Lasso, LogisticRegression

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _auto, _feature_transform, _kept_beginning

STAGES = (8, 16, 48)


def contrasts(n, d, rho=0.99, offset=0.0, seed=0):
    """Pairs of correlated features of which the difference matters."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, d // 2))
    b = rho * a + np.sqrt(1 - rho**2) * rng.normal(size=a.shape)
    score = 3 * (a - b) / np.sqrt(2 - 2 * rho) @ rng.normal(size=d // 2) / np.sqrt(d // 2)
    X = np.empty((n, 2 * (d // 2)))
    X[:, ::2], X[:, 1::2] = a, b
    return X + offset, np.where(score + rng.logistic(size=n) > 0, 1, -1)


def in_coordinates_of(transform, X):
    """The same rows in other coordinates, feature by feature."""
    centre, start, partner, share = transform
    Z = X - centre
    out = Z.copy()
    for i in range(X.shape[1]):
        for k in range(start[i], start[i + 1]):
            out[:, i] -= share[k] * Z[:, partner[k]]
    return out


@pytest.mark.parametrize("whiten_from", [10, 1000])
def test_the_model_is_the_stack_with_its_last_transform(whiten_from, monkeypatch):
    monkeypatch.setattr(_auto, "FULL_UP_TO", 0)
    monkeypatch.setattr(_kept_beginning, "STAGES", STAGES)
    monkeypatch.setattr(_kept_beginning, "WHITEN_FROM", whiten_from)
    X, y = contrasts(80, 6, offset=5.0)
    model = AdaRegClassifier().partial_fit(X, y, classes=[-1, 1])
    transform = model._state.feature_transform
    assert (len(transform[3]) > 0) == (whiten_from == 10)
    [expected], _ = stacked(in_coordinates_of(transform, X), y, potential="auto", recent=True)
    margins = in_coordinates_of(transform, X) @ expected[:-1] + expected[-1]
    np.testing.assert_allclose(model.decision_function(X), margins, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": 0.02},
        {"alpha": 0.05, "l1_ratio": 0.5, "average": 2.0},
        {"alpha": 0.05, "l1_ratio": 1.0},
        {"domain": "box", "radius": 0.3},
        {"domain": "l2", "radius": 0.3},
    ],
    ids=str,
)
def test_a_penalty_or_a_domain_is_kept_where_features_are_centred(params, monkeypatch):
    monkeypatch.setattr(_auto, "FULL_UP_TO", 0)
    monkeypatch.setattr(_kept_beginning, "STAGES", STAGES)
    X, y = contrasts(80, 6, offset=5.0)
    model = AdaRegClassifier(**params).partial_fit(X, y, classes=[-1, 1])
    centred = in_coordinates_of(model._state.feature_transform, X)
    zeros = params.get("l1_ratio") == 1.0
    [expected], _ = stacked(centred, y, potential="auto", zeros=zeros, **params)
    np.testing.assert_allclose(model.coef_[0], expected[:-1], rtol=1e-8, atol=1e-8)
    margins = centred @ expected[:-1] + expected[-1]
    np.testing.assert_allclose(model.decision_function(X), margins, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", [1, 7, 40])
def test_chunks_do_not_matter(size, monkeypatch):
    monkeypatch.setattr(_kept_beginning, "STAGES", STAGES)
    X, y = contrasts(100, 102, offset=3.0)
    weights = np.random.default_rng(0).integers(0, 3, size=100).astype(float)
    whole = AdaRegClassifier().partial_fit(X, y, classes=[-1, 1], sample_weight=weights)
    parts = AdaRegClassifier()
    for at in range(0, 100, size):
        rows = slice(at, at + size)
        parts.partial_fit(X[rows], y[rows], classes=[-1, 1], sample_weight=weights[rows])
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    assert whole.progressive_loss_ == parts.progressive_loss_
    assert whole.t_ == parts.t_ == np.count_nonzero(weights)


def test_offsets_do_not_matter():
    X, y = contrasts(600, 120, rho=0.0)
    margins = [
        AdaRegClassifier(max_iter=1, shuffle=False).fit(X + offset, y).decision_function(X + offset)
        for offset in (3.0, 300.0)
    ]
    np.testing.assert_allclose(*margins, rtol=1e-6, atol=1e-6)


LOOSE = [
    {"alpha": 1e-12},
    {"alpha": 1e-12, "l1_ratio": 1.0},
    {"domain": "box", "radius": 1e6},
    {"domain": "l2", "radius": 1e6},
    {"domain": "l1", "radius": 1e6},
]


@pytest.mark.parametrize("params", LOOSE, ids=str)
def test_a_penalty_that_does_nothing_and_a_domain_that_never_binds(params, monkeypatch):
    monkeypatch.setattr(_kept_beginning, "STAGES", STAGES)
    monkeypatch.setattr(_kept_beginning, "WHITEN_FROM", 10)
    X, y = contrasts(200, 102, offset=3.0)
    model, free = (AdaRegClassifier(half_life=None, **own).partial_fit(X, y, classes=[-1, 1]) for own in (params, {}))
    assert _feature_transform.mixes(model._state.feature_transform)
    np.testing.assert_allclose(model.coef_, free.coef_, rtol=1e-6, atol=1e-6)


def test_a_domain_that_binds_and_an_l1_penalty_are_not_for_mixed_features():
    X, y = contrasts(1500, 102, offset=3.0)
    for params in ({"domain": "nonnegative"}, {"alpha": 1e-3, "l1_ratio": 1.0}):
        model = AdaRegClassifier(**params).partial_fit(X, y, classes=[-1, 1])
        assert model._state.feature_transform is not None
        assert not _feature_transform.mixes(model._state.feature_transform)
        assert params.get("domain") is None or model.coef_.min() == 0


def test_a_domain_is_kept_where_features_are_mixed():
    X, y = contrasts(3000, 102)
    free = AdaRegClassifier().partial_fit(X[:1500], y[:1500], classes=[-1, 1])
    radius = 2.5 * np.abs(free.coef_).max()
    model = AdaRegClassifier(domain="box", radius=radius)
    model.partial_fit(X[:1500], y[:1500], classes=[-1, 1])
    assert _feature_transform.mixes(model._state.feature_transform)
    for _ in range(3):  # rows that ask for far larger weights
        model.partial_fit(X[1500:] / 10, y[1500:])
        assert np.abs(model.coef_).max() <= radius


def test_mixed_features_help_under_a_slight_l2_penalty_and_are_left_under_a_strong_one():
    X, y = contrasts(4000, 102, offset=1.0)
    alpha = 1e-4
    model = AdaRegClassifier(alpha=alpha, random_state=0).fit(X, y)
    best = LogisticRegression(C=1 / (len(y) * alpha), max_iter=5000).fit(X, y)

    def objective(of):
        loss = np.mean(np.logaddexp(0, -y * of.decision_function(X)))
        return loss + alpha / 2 * np.sum(of.coef_**2)

    assert objective(model) < objective(best) + 0.1 * (np.log(2) - objective(best))
    strong = AdaRegClassifier(alpha=0.1).partial_fit(X, y, classes=[-1, 1])
    assert not _feature_transform.mixes(strong._state.feature_transform)


def test_zeros_of_centred_features():
    """``fit`` comes to the same minimum in coordinates of its own, and goes on from it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 120)) + 30.0
    y = X[:, :5].sum(axis=1) + rng.normal(size=600)
    model = AdaRegRegressor(alpha=0.1, l1_ratio=1.0, random_state=0).fit(X, y)
    best = Lasso(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-3)
    assert model.intercept_ == pytest.approx(best.intercept_, abs=0.1)
    coef = model.coef_.copy()
    for part in np.split(np.arange(600), 6):
        model.partial_fit(X[part], y[part])
    assert np.abs(model.coef_ - coef).max() < 0.2


def test_correlated_contrasts_are_learnt():
    X, y = contrasts(6000, 200)
    model = AdaRegClassifier(max_iter=1, shuffle=False).fit(X[:5000], y[:5000])
    diagonal = AdaRegClassifier("adagrad", "diag", max_iter=1, shuffle=False).fit(X[:5000], y[:5000])
    assert model.score(X[5000:], y[5000:]) > diagonal.score(X[5000:], y[5000:]) + 0.02


def test_a_year_among_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 101))
    X[:, 0] = rng.integers(1990, 2024, size=3000)
    y = X[:, 0] + 0.3 * rng.normal(size=3000)
    model = AdaRegRegressor(max_iter=1, shuffle=False).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.99


def test_rows_that_are_mostly_zeros_are_learnt_as_sparse_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 150)) * (rng.random((400, 150)) < 0.1)
    y = np.where(X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=400) > 0, 1, -1)
    dense = AdaRegClassifier().partial_fit(X, y, classes=[-1, 1])
    thin = AdaRegClassifier().partial_fit(sparse.csr_array(X), y, classes=[-1, 1])
    np.testing.assert_allclose(dense.coef_, thin.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("at", [5, 60])
def test_sparse_rows_after_dense_ones_are_learnt_with_the_same_transform(at, monkeypatch):
    monkeypatch.setattr(_kept_beginning, "STAGES", STAGES)
    X, y = contrasts(100, 102, offset=3.0)
    dense = AdaRegClassifier().partial_fit(X, y, classes=[-1, 1])
    mixed = AdaRegClassifier().partial_fit(X[:at], y[:at], classes=[-1, 1])
    mixed.partial_fit(sparse.csr_array(X[at:70]), y[at:70])
    mixed.partial_fit(X[70:], y[70:])
    assert mixed._state.feature_transform is not None
    np.testing.assert_allclose(mixed.coef_, dense.coef_, rtol=1e-9, atol=1e-12)


def test_a_row_that_stops_a_round_is_not_kept():
    X, y = contrasts(60, 102)
    model = AdaRegClassifier().partial_fit(X[:10], y[:10], classes=[-1, 1])
    bad = X[10:20].copy()
    bad[5, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[10:20])
    rows = np.r_[0 : model.t_, 20:60]
    model.partial_fit(X[20:], y[20:])
    clean = AdaRegClassifier().partial_fit(X[rows], y[rows], classes=[-1, 1])
    np.testing.assert_array_equal(model.coef_, clean.coef_)


def test_one_monstrous_row_is_outlived():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 120))
    y = X @ rng.normal(size=120)
    X[1500] *= 1e6
    model = AdaRegRegressor().partial_fit(X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > 0.9


@pytest.mark.parametrize("field", range(4))
def test_a_damaged_transform_is_refused(field):
    X, _ = contrasts(300, 102)
    transform = _feature_transform.whitening(X, *_feature_transform.describe(X, True))
    assert _feature_transform.mismatch(transform, 102) is None
    broken = list(transform)
    broken[field] = broken[field][:-1] if field != 2 else broken[field] + 102
    assert _feature_transform.mismatch(tuple(broken), 102) is not None


def test_transforms_are_undone():
    X, _ = contrasts(300, 20, offset=4.0)
    transform = _feature_transform.whitening(X, *_feature_transform.describe(X, True))
    weights, intercept = np.random.default_rng(1).normal(size=(2, 20)), np.array([1.0, -2.0])
    coef, constant = _feature_transform.to_raw(transform, weights, intercept)
    np.testing.assert_allclose(
        X @ coef.T + constant, in_coordinates_of(transform, X) @ weights.T + intercept, atol=1e-9
    )
