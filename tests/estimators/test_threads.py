"""One model in several threads: who learns waits for the others, who predicts sees a whole model."""

import pickle
import threading

import numpy as np
import pytest
from streams import rows

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

MODELS = [
    AdaRegClassifier(),
    AdaRegClassifier("adagrad", "full"),
    AdaRegClassifier("ons", "full", eta=1.0, epsilon=1.0),
    AdaRegClassifier("adagrad", "diag"),
    AdaRegClassifier(loss="hinge"),
    AdaRegRegressor(),
]


def in_threads(*tasks):
    """Run all tasks at once; the first exception of any of them is raised here."""
    errors, start = [], threading.Barrier(len(tasks))

    def run(task):
        try:
            start.wait()
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def parts(model):
    X, score = rows(2, n=1200)
    y = score if isinstance(model, AdaRegRegressor) else np.digitize(score, [-0.5, 1.0])
    first = {} if isinstance(model, AdaRegRegressor) else {"classes": [0, 1, 2]}
    return X, y, first


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_four_threads_that_learn_take_turns(model):
    X, y, first = parts(model)
    learner = pickle.loads(pickle.dumps(model)).partial_fit(X[:200], y[:200], **first)

    def learn(part):
        return lambda: [
            learner.partial_fit(X[k : k + 10], y[k : k + 10]) for k in range(part, part + 250, 10)
        ]

    in_threads(*(learn(part) for part in (200, 450, 700, 950)))
    assert learner.t_ == 1200
    assert np.isfinite(learner.coef_).all()
    assert np.isfinite(learner.progressive_loss_)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_four_threads_may_make_the_first_call(model):
    X, y, first = parts(model)
    learner = pickle.loads(pickle.dumps(model))
    in_threads(*[lambda: learner.partial_fit(X[:50], y[:50], **first)] * 4)
    assert learner.t_ == 200


def test_predictions_beside_learning_are_those_of_a_finished_round():
    X, score = rows(5, n=4000, d=8)
    y = (score > 0).astype(int)
    twin = AdaRegClassifier(average=False)
    known = {}
    for k in range(0, 4000, 100):
        twin.partial_fit(X[k : k + 100], y[k : k + 100], classes=[0, 1])
        known[twin.coef_.tobytes() + twin.intercept_.tobytes()] = twin.t_
    model = AdaRegClassifier(average=False).partial_fit(X[:100], y[:100], classes=[0, 1])
    seen, done = [], threading.Event()

    def learn():
        for k in range(100, 4000, 100):
            model.partial_fit(X[k : k + 100], y[k : k + 100])
        done.set()

    def look():
        while not done.is_set():
            shown = model._publish()
            seen.append(shown.coef.tobytes() + shown.intercept.tobytes())
            model.predict_proba(X[:5])

    in_threads(learn, look, look)
    assert set(seen) <= set(known)
    assert model.coef_.tobytes() + model.intercept_.tobytes() in known


def test_a_model_is_pickled_between_two_calls_and_not_within_one():
    X, score = rows(6, n=3000, d=8)
    model = AdaRegRegressor().partial_fit(X[:100], score[:100])
    copies, done = [], threading.Event()

    def learn():
        for k in range(100, 3000, 100):
            model.partial_fit(X[k : k + 100], score[k : k + 100])
        done.set()

    def copy():
        while not done.is_set():
            copies.append(pickle.dumps(model))

    in_threads(learn, copy)
    for dump in copies[:: max(1, len(copies) // 20)]:
        twin = pickle.loads(dump)
        assert twin.t_ % 100 == 0
        again = AdaRegRegressor().partial_fit(X[: twin.t_], score[: twin.t_])
        np.testing.assert_allclose(twin.coef_, again.coef_, rtol=1e-9)
