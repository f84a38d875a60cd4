"""Structure "kronecker" in an estimator: equivalences, transactions, saved models, quality, refusals."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import maxabs_scale
from support.data import POTENTIALS, FourthRoot
from support.kronecker_data import CONTAINERS, estimator, learn, stream, weights_of

from sklearn_adareg import AdaReg, AdaRegClassifier

# --- equivalences ---------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize("scaling", [None, "online"])
@pytest.mark.parametrize("problem", ["softmax", "hinge", "squared_error"])
def test_chunks_and_pickles_change_no_bit(problem, scaling, alpha, container):
    X, y, weights = stream(problem)
    make = {"scaling": scaling, "alpha": alpha, "refresh": 0.5}
    whole = learn(estimator(problem, **make), container(X), y, weights)
    parts = estimator(problem, **make)
    for start, end in itertools.pairwise([0, 1, 2, 25, 60]):
        parts = learn(parts, container(X[start:end]), y[start:end], weights[start:end])
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(weights_of(parts), weights_of(whole))
    assert parts.progressive_loss_ == pytest.approx(whole.progressive_loss_, rel=1e-14)
    fitted = estimator(problem, **make).fit(container(X), y, sample_weight=weights)
    np.testing.assert_array_equal(weights_of(fitted), weights_of(whole))


@pytest.mark.parametrize("problem", ["softmax", "hinge", "squared_error"])
def test_threads_and_single_precision(problem):
    X, y, _ = stream(problem)
    model = estimator(problem).fit(X, y)
    np.testing.assert_array_equal(estimator(problem, n_jobs=2).fit(X, y).coef_, model.coef_)
    single = estimator(problem).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, model.coef_, rtol=1e-4, atol=1e-5)


def test_class_weights_are_weights_of_the_rows():
    X, y, weights = stream()
    own = {0: 2.0, 1: 0.5, 2: 1.0}
    model = estimator(class_weight=own, scaling="online").fit(X, y, sample_weight=weights)
    factors = np.array([own[label] for label in y])
    twin = estimator(scaling="online").fit(X, y, sample_weight=weights * factors)
    np.testing.assert_array_equal(weights_of(model), weights_of(twin))


# --- transactions and saved models ----------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize("scaling", [None, "online"])
@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_row_that_fails_leaves_the_rounds_before_it(potential, scaling, alpha, container):
    X, y, _ = stream("absolute_error")
    bad, broken = X.copy(), y.copy()
    bad[40] = 1e200
    broken[40] = 1e300  # and a unit that grows before the round fails
    make = {"scaling": scaling, "alpha": alpha, "refresh": 0.5, "problem": "squared_error"}
    model, twin = (estimator(potential=potential, **make) for _ in range(2))
    with pytest.raises(ValueError, match="Stopped at row 40"):
        model.partial_fit(container(bad), broken)
    twin.partial_fit(container(X[:40]), y[:40])
    for part in (slice(0, 0), slice(40, 60)):
        np.testing.assert_array_equal(weights_of(model), weights_of(twin))
        assert model.t_ == twin.t_
        for each in (model, twin):
            if part.stop:
                each.partial_fit(container(X[part]), y[part])
    np.testing.assert_array_equal(weights_of(model), weights_of(twin))


def test_weights_that_overflow_stop_the_round():
    X, y, _ = stream("squared_error")
    model = estimator("squared_error", "ons", eta=1.7e308, epsilon=1e-30, average=False)
    with pytest.raises(ValueError, match="Stopped at row"):
        model.partial_fit(X * 1e-3, y * 1e-3)
    assert np.isfinite(weights_of(model)).all()


@pytest.mark.parametrize("name", ["left:G", "right:V", "left:count", "right:pending_g", "cells"])
def test_a_damaged_state_is_refused(name):
    X, y, _ = stream()
    model = learn(estimator(refresh=0.5), X, y)
    for change in (
        lambda arrays: arrays.pop(name),
        lambda arrays: arrays.update({name: arrays[name][..., :0]}),
        lambda arrays: arrays.update({name: arrays[name].astype(np.float32)}),
        lambda arrays: arrays.update({name: None}),
    ):
        damaged = pickle.loads(pickle.dumps(model))
        change(damaged._state.blocks[0].arrays)
        with pytest.raises(ValueError, match=r"(?i)this saved model cannot be read"):
            pickle.loads(pickle.dumps(damaged))


def test_more_pending_updates_than_there_is_room_for_are_refused():
    X, y, _ = stream()
    model = learn(estimator(refresh=0.5), X, y)
    for count in (16.0, -1.0, 0.5, np.nan):
        model._state.blocks[0].arrays["right:count"][0] = count
        with pytest.raises(ValueError, match=r"its array .*count' has numbers that are not"):
            pickle.loads(pickle.dumps(model))


def test_a_row_without_entries_only_moves_the_intercepts():
    X, y, _ = stream()
    for fit_intercept in (True, False):
        model = learn(estimator(fit_intercept=fit_intercept, average=False), X, y)
        before = model.coef_.copy()
        learn(model, sparse.csr_array((1, 4)), [1])
        np.testing.assert_array_equal(np.isfinite(model.coef_), True)
        assert np.allclose(model.coef_, before, atol=0) != fit_intercept


# --- quality --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("potential", "eta", "epochs"), [("adagrad", 1.0, 60), ("ons", 8.0, 60), ("pnorm", 1.0, 60)])
def test_many_epochs_reach_the_optimum_of_multinomial_logistic_regression(potential, eta, epochs):
    X, y = load_iris(return_X_y=True)
    X, alpha = maxabs_scale(X), 0.01
    batch = LogisticRegression(C=1 / (len(y) * alpha), tol=1e-9, max_iter=10_000).fit(X, y)

    def objective(model):
        return log_loss(y, model.predict_proba(X)) + alpha / 2 * np.sum(model.coef_**2)

    model = estimator("softmax", potential, eta=eta, epsilon=1.0, alpha=alpha, average=4.0)
    model.set_params(max_iter=epochs, shuffle=True, random_state=0, refresh=0.5).fit(X, y)
    assert -1e-8 < objective(model) / objective(batch) - 1 < 1e-3


@pytest.mark.parametrize("potential", ["auto", *POTENTIALS])
def test_one_pass_with_auto_step_sizes_learns_digits(potential):
    """As good as one full matrix per class with its own step size of "auto", on raw pixels."""
    X, y = load_digits(return_X_y=True)
    make = {"max_iter": 1, "random_state": 0, "tol": None}
    model = AdaRegClassifier(potential, "kronecker", **make).fit(X[:1200], y[:1200])
    loss = log_loss(y[1200:], model.predict_proba(X[1200:]))
    assert loss < {"auto": 0.5, "ons": 0.5}.get(potential, 0.4)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"domain": "l2", "radius": 1.0},
            "domain='l2' with structure='kronecker' is not supported, since there is no projection .* use domain=None",
        ),
        (
            {"update": "dual_averaging"},
            "update='dual_averaging' with structure='kronecker' is not supported, .* use update='mirror_descent'",
        ),
        (
            {"alpha": 0.1, "l1_ratio": 0.5},
            "l1_ratio > 0 with structure='kronecker' is not supported, .* 'diag' or 'iso', or l1_ratio=0",
        ),
        (
            {"potential": FourthRoot(), "eta": "auto"},
            r"potential=FourthRoot\(.*\) with structure='kronecker' is not supported, .* 'adagrad' or 'ons' or 'pnorm'",
        ),
        ({"eta": "theory"}, "eta='theory' is not defined here: .* structure='kronecker' takes none; pass a number"),
    ],
)
def test_what_is_not_supported_is_refused_in_a_sentence(params, message):
    X, y, _ = stream()
    model = estimator().set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        learn(clone(model), X, y)


def test_one_weight_vector_is_refused_in_a_sentence():
    X, y, _ = stream("squared_error")
    message = "couples the weight vectors of several classes or targets, and this model has one"
    for targets in (y[:, 0], y[:, :1]):
        with pytest.raises(ValueError, match=message):
            estimator("squared_error").fit(X, targets)
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y[:, 0] > 0)
    with pytest.raises(ValueError, match=message):
        AdaReg(3, structure="kronecker")
