"""Standard errors: those of OLS and logistic regression, in any units; refused where they are not known."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model._runtime import method_of
from sklearn_adareg.theory import _candidates
from sklearn_adareg.theory._error_bars import inflation

D = 4


def linear(seed, n, offset=0.0, signal=1.0):
    """Correlated rows in several units, margins, and the weights behind them."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(D), np.arange(D))))
    units = np.array([0.1, 1.0, 1.0, 30.0])
    X = (rng.normal(size=(n, D)) @ root.T + offset) * units
    coef = signal * rng.normal(size=D) / units / 2
    return rng, X, X @ coef + 0.3, coef


def noisy(rng, margins, classes):
    """Targets of these margins."""
    if classes:
        return (rng.random(len(margins)) < expit(margins)).astype(int)
    return margins + rng.normal(size=len(margins))


def stds(model):
    return np.append(np.ravel(model.coef_std_), model.intercept_std_)


def brute_force_weights(a, average, T):
    """How much each round's gradient counts in the fitted model, by the recursion x ← (1 − a/t) x + (a/t) ξ."""
    x, total, scale = np.zeros(T), np.zeros(T), 0.0
    for t in range(1, T + 1):
        if average is not False:
            total, scale = total + t**average * x, scale + t**average
        x = (1 - a / t) * x
        x[t - 1] += a / t
    return x if average is False else total / scale


@pytest.mark.parametrize(("a", "average"), [(2.0, 20.0), (4.0, 2.0), (3.0, 2.0), (4.0, False), (1.0, 0.0)])
def test_the_inflation_is_that_of_the_recursion(a, average):
    T, passes = 3000, 3
    weights = brute_force_weights(a, average, T)
    given = True if average is not False and average == 0.0 else average
    assert inflation(a, given, 1, True) == pytest.approx(T * np.sum(weights**2), rel=0.02)
    by_pass = weights.reshape(passes, -1)
    n = T // passes
    in_order = n * np.sum(by_pass.sum(axis=0) ** 2)
    assert inflation(a, given, passes, False) == pytest.approx(in_order, rel=0.02)
    rng = np.random.default_rng(0)
    shuffled = [n * np.sum(np.sum([rng.permutation(row) for row in by_pass], axis=0) ** 2) for _ in range(40)]
    assert inflation(a, given, passes, True) == pytest.approx(np.mean(shuffled), rel=0.03)


def learnt(make, X, y, call, **params):
    """A model whose rows all count alike."""
    if call == "fit":
        return make(random_state=0, **params).fit(X, y)
    known = {"classes": np.unique(y)} if make is AdaRegClassifier else {}
    return make(half_life=None, **params).partial_fit(X, y, **known)


def distance_to_the_candidate(model):
    """What is published less the candidate with the weakest prior."""
    candidates = method_of(model._state.blocks[0]).candidates()[0, :, 0]
    return np.append(np.ravel(model.coef_), model.intercept_) - candidates[0]


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("n", [700, 3000])
def test_standard_errors_are_those_of_statsmodels(classes, call, n):
    sm = pytest.importorskip("statsmodels.api")
    rng, X, margins, _ = linear(0, n, offset=1.0)
    y = noisy(rng, margins, classes)
    Z = np.column_stack([X, np.ones(len(X))])
    theirs = sm.Logit(y, Z).fit(disp=0) if classes else sm.OLS(y, Z).fit()
    model = learnt(AdaRegClassifier if classes else AdaRegRegressor, X, y, call, epsilon=1e-6)
    off = distance_to_the_candidate(model)
    np.testing.assert_allclose(stds(model), np.hypot(theirs.bse, off), rtol=0.08)
    of_margins = Z[:50] @ off
    prediction = theirs.get_prediction(Z[:50])
    if classes:
        middle = Z[:50] @ theirs.params
        own = np.einsum("ij,jk,ik->i", Z[:50], theirs.cov_params(), Z[:50])
        reach = 1.96 * np.sqrt(own + of_margins**2)
        ends = model.predict_proba_interval(X[:50])
        middle += of_margins
        expected = np.column_stack([expit(middle - reach), expit(middle + reach)])
        np.testing.assert_allclose(ends, expected, atol=0.03)
    else:
        expected = np.sqrt(prediction.var_resid + prediction.var_pred_mean + of_margins**2)
        np.testing.assert_allclose(model.predict(X[:50], return_std=True)[1], expected, rtol=0.05)


def copied(model):
    return {name: array.copy() for name, array in model._state.blocks[0].arrays.items()}


@pytest.mark.parametrize("n", [505, 1500])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_they_are_of_all_rows_those_that_wait_too_and_nothing_is_changed(n, intercept, storage):
    """Squared loss and one prior, whose matrix is known: (ZᵀZ + R)⁻¹ with Z about the means."""
    rng, X, margins, _ = linear(0, n, offset=2.0)
    model = AdaRegRegressor(half_life=None, epsilon=0.5, fit_intercept=intercept)
    model.partial_fit(storage(X), noisy(rng, margins, False))
    before = copied(model)
    assert n < 1024 or before["mass"][0] < n, "no row waits, so the test shows nothing"
    stds_of_weights = stds(model)
    for name, array in copied(model).items():
        np.testing.assert_array_equal(array, before[name])
    [system] = _candidates.systems(_candidates.absorbed(model._state.blocks[0]), 0)
    means = X.mean(axis=0) * intercept
    Z = np.column_stack([X - means, np.ones((n, int(intercept)))])
    np.testing.assert_allclose(system.G, Z.T @ Z, rtol=1e-9, atol=1e-9 * n)
    squares = (Z**2).mean(axis=0)
    assert (system.ridge[:D] >= 0.5 * squares[:D] * (1 - 1e-9)).all()
    bars = model._error_bars()
    phi, [own] = bars.dispersions[0], bars.of_outputs
    [candidate, constant] = method_of(model._state.blocks[0]).candidates()[0, :, 0]
    [part, of_constant] = model.candidate_weights_.values()
    assert part + of_constant == pytest.approx(1.0)
    b = part * candidate + of_constant * constant - candidate
    to_means = np.eye(len(b))
    to_means[-1, :D] += means if intercept else 0.0
    b = to_means @ b
    V = phi * np.linalg.inv(Z.T @ Z + np.diag(system.ridge)) + np.outer(b, b)
    np.testing.assert_allclose(own.V, V, rtol=1e-6, atol=1e-9 * np.abs(V).max())
    raw = np.linalg.solve(to_means, np.linalg.solve(to_means, V).T)
    np.testing.assert_allclose(stds_of_weights[: len(b)], np.sqrt(np.diag(raw)), rtol=1e-6)
    Z = np.column_stack([X, np.ones((n, int(intercept)))])[:9]
    expected = np.sqrt(phi + np.einsum("ij,jk,ik->i", Z, raw, Z))
    np.testing.assert_allclose(model.predict(X[:9], return_std=True)[1], expected, rtol=1e-6)


def softmax_data(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * [0.5, 1.0, 1.0, 3.0] + [0.0, 1.0, 0.0, 5.0]
    coef = np.random.default_rng(9).normal(size=(3, D)) / [0.5, 1.0, 1.0, 3.0]
    coef -= coef.mean(axis=0)
    margins = (X - [0.0, 1.0, 0.0, 5.0]) @ coef.T
    p = np.exp(margins - margins.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return X, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), coef


def test_those_of_a_softmax_are_of_the_joint_information():
    X, y, _ = softmax_data(0, 900)
    model = learnt(AdaRegClassifier, X, y, "partial_fit", epsilon=0.5)
    p, Z = model.predict_proba(X), np.column_stack([X, np.ones(len(X))])
    A = np.zeros((3, D + 1, 3, D + 1))
    for c in range(3):
        for e in range(3):
            A[c, :, e] = (Z.T * (p[:, c] * ((c == e) - p[:, e]))) @ Z
    # the pseudo-inverse has no part along what all classes have in common
    expected = np.sqrt(np.diag(np.linalg.pinv(A.reshape(3 * D + 3, -1), rcond=1e-9))).reshape(3, -1)
    assert model.coef_std_.shape == (3, D)
    np.testing.assert_allclose(model.coef_std_, expected[:, :D], rtol=0.12)
    np.testing.assert_allclose(model.intercept_std_, expected[:, D], rtol=0.2)
    with pytest.raises(ValueError, match="more than two classes are not known"):
        model.predict_proba_interval(X)


def test_those_of_a_softmax_cover_the_truth():
    inside = []
    for seed in range(40):
        X, y, coef = softmax_data(seed, 800)
        model = learnt(AdaRegClassifier, X, y, "partial_fit")
        inside.append(np.abs(model.coef_ - coef) < 1.96 * model.coef_std_)
    assert 0.92 < np.mean(inside) < 0.985


CASES = {
    "full": {},
    "in a stream": {"half_life": None},
    "block": {"potential": "ons", "structure": "block", "blocks": 1, "eta": 3.0, "average": 20.0},
    "diag": {"potential": "ons", "structure": "diag", "eta": 3.0, "average": 20.0},
}


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("structure", CASES)
def test_intervals_cover_the_truth_after_one_pass(structure, classes):
    params = CASES[structure]
    make = AdaRegClassifier if classes else AdaRegRegressor
    inside, of_predictions = [], []
    for seed in range(60):
        rng, X, margins, coef = linear(seed, 50 * (D + 1))
        if "eta" in params:  # uncorrelated
            X = rng.normal(size=X.shape) * X.std(axis=0)
            margins = X @ coef + 0.3
        model = make(max_iter=1, random_state=seed, **params).fit(X, noisy(rng, margins, classes))
        error = np.append(np.ravel(model.coef_) - coef, model.intercept_ - 0.3)
        inside.append(np.abs(error) < 1.96 * stds(model))
        new = rng.normal(size=(10, D)) * X.std(axis=0)
        if classes:
            low, high = model.predict_proba_interval(new).T
            p = expit(new @ coef + 0.3)
            of_predictions.append((low < p) & (p < high))
        else:
            mean, std = model.predict(new, return_std=True)
            of_predictions.append(np.abs(noisy(rng, new @ coef + 0.3, False) - mean) < 1.96 * std)
    assert 0.91 < np.mean(inside) < 0.985
    assert 0.90 < np.mean(of_predictions) < 0.985


def test_they_do_not_depend_on_units_offsets_or_storage():
    rng, X, margins, _ = linear(0, 400)
    y = noisy(rng, margins, False)
    plain = AdaRegRegressor(random_state=0).fit(X, y)
    scaled = AdaRegRegressor(random_state=0).fit(X * 1024.0, 8.0 * y)
    np.testing.assert_allclose(scaled.coef_std_ * 1024 / 8, plain.coef_std_, rtol=1e-6)
    np.testing.assert_allclose(scaled.intercept_std_ / 8, plain.intercept_std_, rtol=1e-6)
    stored = AdaRegRegressor(random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(stored.coef_std_, plain.coef_std_, rtol=1e-6)
    expected = plain.predict(X, return_std=True)[1]
    np.testing.assert_allclose(stored.predict(sparse.csr_array(X), return_std=True)[1], expected, rtol=1e-6)
    moved = AdaRegRegressor(random_state=0).fit(X + 1e6, y)
    np.testing.assert_allclose(moved.coef_std_, plain.coef_std_, rtol=0.02)
    np.testing.assert_allclose(moved.predict(X + 1e6, return_std=True)[1], expected, rtol=0.02)
    diag = AdaRegRegressor("ons", "diag", eta=4.0, average=False).fit(X, y)
    expected = diag.predict(X, return_std=True)[1]
    np.testing.assert_allclose(diag.predict(sparse.csr_array(X), return_std=True)[1], expected)


def test_several_targets_have_their_own_noise():
    rng, X, margins, _ = linear(0, 400)
    y = noisy(rng, margins, False)
    both = AdaRegRegressor(random_state=0).fit(X, np.column_stack([y, 100 * y]))
    alone = AdaRegRegressor(random_state=0).fit(X, y)
    assert both.coef_std_.shape == (2, D)
    assert both.intercept_std_.shape == (2,)
    np.testing.assert_allclose(both.coef_std_[1], 100 * both.coef_std_[0], rtol=1e-6)
    np.testing.assert_allclose(both.coef_std_[0], alone.coef_std_, rtol=0.15)
    mean, std = both.predict(X[:7], return_std=True)
    assert mean.shape == std.shape == (7, 2)


def test_what_never_varied_has_an_infinite_error():
    rng, X, margins, _ = linear(0, 400)
    X = np.column_stack([X, np.full(400, 3.0)])
    model = AdaRegRegressor(random_state=0).fit(X, noisy(rng, margins, False))
    assert np.isinf(model.coef_std_[-1])
    assert np.isfinite(model.coef_std_[:-1]).all()
    other = X[:3].copy()
    other[1, -1] = 4.0
    np.testing.assert_array_equal(np.isinf(model.predict(other, return_std=True)[1]), [False, True, False])


def test_without_an_intercept_it_has_no_error():
    rng, X, margins, _ = linear(0, 400)
    model = AdaRegRegressor(fit_intercept=False).fit(X, noisy(rng, margins - 0.3, False))
    np.testing.assert_array_equal(model.intercept_std_, [0.0])
    assert (model.predict(X, return_std=True)[1] > 0.9).all()


def test_intervals_of_probabilities_are_nested():
    rng, X, margins, _ = linear(0, 400)
    model = AdaRegClassifier(random_state=0).fit(X, noisy(rng, margins, True))
    p = model.predict_proba(X)[:, 1]
    low, high = model.predict_proba_interval(X).T
    wide_low, wide_high = model.predict_proba_interval(X, coverage=0.99).T
    assert ((wide_low < low) & (low < p) & (p < high) & (high < wide_high)).all()
    assert (wide_low >= 0).all()
    assert (wide_high <= 1).all()
    with pytest.raises(ValueError, match=r"coverage=1.5 is not a probability"):
        model.predict_proba_interval(X, coverage=1.5)


REFUSALS = {
    "a stream that may forget": ({}, "partial_fit", "this one may forget; pass half_life=None"),
    "a half-life": ({"half_life": 50}, "fit", "this one may forget"),
    "huber": ({"loss": "huber"}, "fit", "use 'log_loss' or 'squared_error'"),
    "adagrad": ({"potential": "adagrad", "structure": "full", "eta": 0.5}, "fit", "use potential='ons'"),
    "one step size": ({"structure": "iso", "potential": "ons"}, "fit", "tell no standard errors"),
    "a stack": ({"potential": "ons", "structure": "diag"}, "fit", "Several step sizes are combined here"),
    "dual averaging": ({"potential": "ons", "eta": 4.0, "update": "dual_averaging"}, "fit", 'use update="mirror_descent"'),
    "a penalty": ({"alpha": 0.1}, "fit", "use alpha=0 and domain=None"),
    "raw residuals": ({"potential": "ons", "eta": 4.0, "scaling": None}, "fit", 'use scaling="online"'),
    "short steps": ({"potential": "ons", "eta": 1.0, "max_iter": 1}, "fit", "the first iterates count too much"),
    "an early average": ({"potential": "ons", "eta": 4.0, "average": True, "max_iter": 1}, "fit", "pass eta=3.0 and average=20.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_not_known_is_refused_in_a_sentence(case):
    params, call, sentence = REFUSALS[case]
    _, X, margins, _ = linear(0, 100)
    model = getattr(AdaRegRegressor(**params), call)(X, margins)
    with pytest.raises(AttributeError, match=sentence):
        _ = model.coef_std_
    assert not hasattr(model, "intercept_std_")
    with pytest.raises(ValueError, match=sentence):
        model.predict(X, return_std=True)


def test_weights_that_the_priors_decide_have_no_errors_and_predictions_have():
    rng = np.random.default_rng(0)
    x = rng.random(600)
    X = np.column_stack([x, x**2, x**3, x**4])
    y = X @ [2.0, -1.7, 1.2, -0.8] + rng.normal(size=600)
    model = AdaRegRegressor(half_life=None).partial_fit(X, y)
    with pytest.raises(AttributeError, match="is decided by the priors that are combined"):
        _ = model.coef_std_
    std = model.predict(X, return_std=True)[1]
    assert 0.9 < std.min() < std.max() < 1.3
    assert (AdaRegRegressor(half_life=None, epsilon=1e-6).partial_fit(X, y).coef_std_ > 1.0).all()


def test_weights_few_rows_and_several_classes_are_refused():
    _, X, margins, _ = linear(0, 100)
    model = AdaRegRegressor().fit(X, margins, sample_weight=np.full(100, 2.0))
    with pytest.raises(AttributeError, match="weights other than 1"):
        _ = model.coef_std_
    with pytest.raises(AttributeError, match="has seen 5 rows for 5 weights"):
        _ = AdaRegRegressor().fit(X[:5], margins[:5]).coef_std_
    classes = np.digitize(margins, [-0.5, 0.5])
    several = AdaRegClassifier().fit(X, classes)
    with pytest.raises(ValueError, match="compare two classes at a time"):
        several.predict_proba_interval(X)
    several = AdaRegClassifier(**CASES["block"], max_iter=1).fit(X, classes)
    with pytest.raises(AttributeError, match="not known for structure='block'; use structure='full'"):
        _ = several.coef_std_
    wide = np.random.default_rng(0).normal(size=(500, 80))
    several = AdaRegClassifier(max_iter=1).fit(wide, np.arange(500) % 10)
    with pytest.raises(AttributeError, match="10 classes times 81 weights are more than 400"):
        _ = several.coef_std_
    with pytest.raises(AttributeError, match="has learnt nothing yet"):
        _ = AdaRegRegressor().coef_std_
    assert not hasattr(AdaRegClassifier(loss="hinge"), "predict_proba_interval")
