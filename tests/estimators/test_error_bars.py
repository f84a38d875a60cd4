"""Standard errors: those of OLS and logistic regression times what one pass adds, in any units; refused where they are not known."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg._error_bars import inflation
from sklearn_adareg._workers import method_of

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


@pytest.mark.parametrize(
    ("a", "average"), [(2.0, 20.0), (4.0, 2.0), (3.0, 2.0), (4.0, False), (1.0, 0.0)]
)
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
    shuffled = [
        n * np.sum(np.sum([rng.permutation(row) for row in by_pass], axis=0) ** 2)
        for _ in range(40)
    ]
    assert inflation(a, given, passes, True) == pytest.approx(np.mean(shuffled), rel=0.03)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("max_iter", [1, 3])
def test_standard_errors_are_those_of_statsmodels_times_the_inflation(classes, max_iter):
    sm = pytest.importorskip("statsmodels.api")
    rng, X, margins, _ = linear(0, 3000, offset=1.0)
    y = noisy(rng, margins, classes)
    Z = np.column_stack([X, np.ones(len(X))])
    theirs = sm.Logit(y, Z).fit(disp=0) if classes else sm.OLS(y, Z).fit()
    make = AdaRegClassifier if classes else AdaRegRegressor
    model = make(max_iter=max_iter, tol=None, random_state=0).fit(X, y)
    factor = np.sqrt(inflation(2.0, 20.0, max_iter, True))
    np.testing.assert_allclose(stds(model), factor * theirs.bse, rtol=0.05)
    prediction = theirs.get_prediction(Z[:50])
    if classes:
        middle = Z[:50] @ theirs.params
        reach = (
            factor * 1.96 * np.sqrt(np.einsum("ij,jk,ik->i", Z[:50], theirs.cov_params(), Z[:50]))
        )
        ends = model.predict_proba_interval(X[:50])
        expected = np.column_stack([expit(middle - reach), expit(middle + reach)])
        np.testing.assert_allclose(ends, expected, atol=0.04)
    else:
        noise = prediction.var_resid
        expected = np.sqrt(noise + factor**2 * prediction.var_pred_mean)
        np.testing.assert_allclose(model.predict(X[:50], return_std=True)[1], expected, rtol=0.05)


CASES = {
    "full": ({}, {}),
    "block": (
        {"potential": "ons", "structure": "block", "blocks": 1, "eta": 3.0, "average": 20.0},
        {},
    ),
    "diag": ({"potential": "ons", "structure": "diag", "eta": 3.0, "average": 20.0}, {}),
}


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("structure", CASES)
def test_intervals_cover_the_truth_after_one_pass(structure, classes):
    params, _ = CASES[structure]
    make = AdaRegClassifier if classes else AdaRegRegressor
    inside, of_predictions = [], []
    for seed in range(60):
        rng, X, margins, coef = linear(seed, 50 * (D + 1))
        if structure != "full":  # uncorrelated
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
    np.testing.assert_allclose(
        stored.predict(sparse.csr_array(X), return_std=True)[1], expected, rtol=1e-6
    )
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
    np.testing.assert_array_equal(
        np.isinf(model.predict(other, return_std=True)[1]), [False, True, False]
    )


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


def test_weights_few_rows_and_several_classes_are_refused():
    _, X, margins, _ = linear(0, 100)
    model = AdaRegRegressor().fit(X, margins, sample_weight=np.full(100, 2.0))
    with pytest.raises(AttributeError, match="weights other than 1"):
        _ = model.coef_std_
    with pytest.raises(AttributeError, match="has seen 5 rows for 5 weights"):
        _ = AdaRegRegressor().fit(X[:5], margins[:5]).coef_std_
    several = AdaRegClassifier().fit(X, np.digitize(margins, [-0.5, 0.5]))
    with pytest.raises(ValueError, match="compare two classes at a time"):
        several.predict_proba_interval(X)
    with pytest.raises(AttributeError, match="has learnt nothing yet"):
        _ = AdaRegRegressor().coef_std_
    assert not hasattr(AdaRegClassifier(loss="hinge"), "predict_proba_interval")


def test_a_member_that_rests_in_later_passes_counts_the_rows_that_it_has_learnt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = rng.random(300) < expit(X @ rng.normal(size=20) / 3)
    one, two = (AdaRegClassifier(max_iter=k, tol=None, random_state=0).fit(X, y) for k in (1, 2))
    assert not method_of(two._state.blocks[0]).learning_later()[0]
    expected = np.sqrt(inflation(2.0, 20.0, 2, True) / inflation(2.0, 20.0, 1, True))
    np.testing.assert_allclose(two.coef_std_, expected * one.coef_std_, rtol=0.03)
