"""An interrupt, wherever it comes, leaves a model that stands at a finished round, goes on, and holds no lock."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from streams import rows

import sklearn_adareg
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg._guard import guard_of

SOURCES = str(Path(sklearn_adareg.__file__).parent)
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


class Interrupt:
    """Raises KeyboardInterrupt at the n-th point of the package's code where the interpreter looks for signals.

    Those points are where a function begins and where a call of a compiled function has ended.
    """

    def __init__(self, n):
        self.left, self.fired = n, False

    def __enter__(self):
        self.outer = sys.getprofile()
        sys.setprofile(self.profile)

    def __exit__(self, kind, error, traceback):
        sys.setprofile(self.outer)
        return kind is KeyboardInterrupt

    def profile(self, frame, event, arg):
        if event not in ("call", "c_return") or self.fired:
            return
        if frame.f_code.co_filename.startswith(SOURCES):
            self.left -= 1
            if self.left == 0:
                self.fired = True
                raise KeyboardInterrupt


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
def test_an_interrupt_at_any_point_leaves_the_model_at_a_finished_round(case):
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
            assert_stands_where(
                model.partial_fit(X[rest], y[rest]), twin.partial_fit(X[rest], y[rest])
            )
    assert n > 30, "the whole call has run"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are raised in another way there")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals go to the main thread",
)
@pytest.mark.parametrize(
    "params", [{"potential": "adagrad", "structure": "full"}, {}, {"loss": "hinge", "n_jobs": 2}]
)
def test_control_c_is_answered_soon_and_leaves_no_thread(params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 60))
    y = np.arange(len(X)) % (4 if "loss" in params else 2)
    model = AdaRegClassifier(**params).partial_fit(X[:10], y[:10], classes=np.unique(y))
    sent = []

    def press():
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    before = threading.active_count()
    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    answered = time.perf_counter() - sent[0]
    presser.join()
    assert threading.active_count() == before
    assert answered < 1.0, "half a second on a machine that does nothing else"
    assert len({block.arrays["clock"][0] for block in model._state.blocks}) == 1
    assert 10 < model.t_ < len(X)
    assert np.isfinite(model.coef_).all()
