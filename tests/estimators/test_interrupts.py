"""An interrupt, wherever it comes, leaves a model that stands at a finished round, goes on, and holds no lock."""

import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone
from support.data import rows
from support.interrupts import Interrupt, by_signals, press_control_c

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, merge, regret
from sklearn_adareg.model import _runtime
from sklearn_adareg.model._guard import guard_of

FIRST, MORE = slice(0, 40), slice(40, 100)


def three_targets():
    X, score = rows(3)
    return AdaRegRegressor(n_jobs=2), X, np.column_stack([score, -score, score**2]), {}


def one_against_the_rest():
    X, score = rows(3)
    labels = np.digitize(score, [-0.5, 0.5, 2.0])
    model = AdaRegClassifier("adagrad", "diag", loss="hinge", class_weight="balanced")
    return model, X, labels, {"classes": [0, 1, 2, 3]}


def one_vector():
    X, score = rows(3)
    return AdaRegClassifier(), X, (score > 0).astype(int), {"classes": [0, 1]}


CASES = [one_vector, one_against_the_rest, three_targets]


def assert_stands_where(model, twin):
    clocks = {block.arrays["clock"][0] for block in model._state.blocks}
    assert clocks == {float(twin.t_)}
    np.testing.assert_array_equal(model.coef_, twin.coef_)
    np.testing.assert_array_equal(model.intercept_, twin.intercept_)
    assert model.progressive_loss_ == pytest.approx(twin.progressive_loss_, rel=1e-12)
    if model._state.class_counts is not None:
        np.testing.assert_array_equal(model._state.class_counts, twin._state.class_counts)


def another_thread_may_learn(model):
    calls, answers = guard_of(model).calls, []

    def ask():
        answers.append(calls.acquire(timeout=1))
        if answers[0]:
            calls.release()

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    return answers[0]


@pytest.mark.parametrize("case", CASES)
def test_an_interrupt_at_any_point_leaves_the_model_at_a_finished_round(case, monkeypatch):
    monkeypatch.setattr(_runtime, "LONG_SEGMENT", 1e6)  # seconds: a call is one segment
    n, fired = 0, True
    while fired:
        n += 1
        model, X, y, first = case()
        model.partial_fit(X[FIRST], y[FIRST], **first)
        interrupt = Interrupt(n)
        with interrupt:
            model.partial_fit(X[MORE], y[MORE])
        fired = interrupt.fired
        assert not guard_of(model).state.locked()
        assert not guard_of(model).rounds.locked()
        assert another_thread_may_learn(model)
        twin, *_ = case()
        twin.partial_fit(X[: model.t_], y[: model.t_], **first)
        if model.t_ < 100 and len(model._state.blocks) > 1:
            assert model.t_ == 40
        assert_stands_where(model, twin)
        rest = slice(model.t_, 100)
        if rest.start < rest.stop:
            assert_stands_where(model.partial_fit(X[rest], y[rest]), twin.partial_fit(X[rest], y[rest]))
    assert n > 30, "the whole call has run"


@by_signals
@pytest.mark.parametrize(
    "params", [{"potential": "adagrad", "structure": "full", "refresh": 0.0}, {}, {"loss": "hinge", "n_jobs": 2}]
)
def test_control_c_is_answered_soon_and_leaves_no_thread(params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 60))
    y = np.arange(len(X)) % (4 if "loss" in params else 2)
    model = AdaRegClassifier(**params).partial_fit(X[:10], y[:10], classes=np.unique(y))
    press_control_c(lambda: model.partial_fit(X, y))
    assert len({block.arrays["clock"][0] for block in model._state.blocks}) == 1
    assert 10 < model.t_ < len(X)
    assert np.isfinite(model.coef_).all()


def endlessly(call):
    while True:
        call()


LONG_CALLS = {
    "fit": lambda model, X, y: clone(model).fit(X, y),
    "fit, early stopping": lambda model, X, y: (
        clone(model).set_params(early_stopping=True, max_iter=1000, tol=None).fit(X, y)
    ),
    "partial_fit_predict": lambda model, X, y: clone(model).partial_fit_predict(X, y, classes=[0, 1]),
    "merge": lambda model, X, y: merge([model, model]),
    "record": lambda model, X, y: regret.record(clone(model), X, y),
    "predict": lambda model, X, y: model.predict_proba(X),
}


@by_signals
@pytest.mark.parametrize("name", LONG_CALLS)
def test_control_c_in_a_call_that_makes_something_new_changes_nothing(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100_000, 60))
    y = (X[:, 0] > 0).astype(int)
    model = AdaRegClassifier("adagrad", "full", eta=1.0, scaling=None, fit_intercept=False)
    model.partial_fit(X[:100], y[:100], classes=[0, 1])
    before = pickle.dumps(model)
    press_control_c(lambda: endlessly(lambda: LONG_CALLS[name](model, X, y)))
    assert pickle.dumps(model) == before


@by_signals
def test_control_c_in_fit_keeps_the_model_that_was_there():
    X, score = rows(4)
    model = AdaRegClassifier("adagrad", "full", max_iter=10**9, tol=None)
    model.partial_fit(X, score > 0, classes=[False, True])
    before, twin = dict(vars(model)), pickle.loads(pickle.dumps(model))
    press_control_c(lambda: model.fit(X[:, :3], score > 1))
    assert vars(model) == before
    assert_stands_where(model, twin)
