"""One model in several threads: who learns waits for the others, who predicts sees a whole model."""

import pickle
import threading

import numpy as np
import pytest
from support.data import rows

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
        return lambda: [learner.partial_fit(X[k : k + 10], y[k : k + 10]) for k in range(part, part + 250, 10)]

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
    twin = AdaRegClassifier()
    known = {}
    for k in range(0, 4000, 100):
        twin.partial_fit(X[k : k + 100], y[k : k + 100], classes=[0, 1])
        known[twin.coef_.tobytes() + twin.intercept_.tobytes()] = twin.t_
    model = AdaRegClassifier().partial_fit(X[:100], y[:100], classes=[0, 1])
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


# What readers see, as something that compares; with more rows of the stream each of them changes.
READERS = {
    "progressive_loss_": lambda model: model.progressive_loss_,
    "progressive_curve_": lambda model: repr(model.progressive_curve_),
    "memory_": lambda model: model.memory_,
    "coef_": lambda model: model.coef_.tobytes(),
    "coef_std_": lambda model: model.coef_std_.tobytes(),
    "intercept_std_": lambda model: model.intercept_std_.tobytes(),
    "risk_certificate": lambda model: repr(model.risk_certificate()),
    "certificates": lambda model: repr(model._certificates_so_far(0.1)),
    "predict_interval": lambda model: model.predict_interval(np.zeros((1, 8)), 0.9).tobytes(),
    "predict": lambda model: model.predict(np.eye(8)).tobytes(),
}
READ_OF = {
    AdaRegClassifier: [name for name in READERS if name != "predict_interval"],
    AdaRegRegressor: ["progressive_loss_", "progressive_curve_", "memory_", "coef_"],
}


@pytest.mark.parametrize(
    "model", [AdaRegClassifier("ons", "full", eta=3.0, average=20.0), AdaRegRegressor("adagrad", "diag")], ids=repr
)
def test_whoever_reads_beside_a_learner_sees_what_some_round_left(model):
    """The learner may stop after every row; a reading has to be that of a twin that learnt row by row."""
    X, score = rows(8, n=500, d=8)
    classifies = isinstance(model, AdaRegClassifier)
    y, first = (score > 0, {"classes": [False, True]}) if classifies else (score, {})
    names = READ_OF[type(model)]
    twin = pickle.loads(pickle.dumps(model))
    known = {name: set() for name in names}
    for k in range(len(y)):
        twin.partial_fit(X[k : k + 1], y[k : k + 1], **first)
        if k + 1 >= 100:
            for name in names:
                known[name].add(READERS[name](twin))
    for _ in range(3):
        learner = pickle.loads(pickle.dumps(model)).partial_fit(X[:100], y[:100], **first)
        seen, done = {name: set() for name in names}, threading.Event()

        def learn(learner=learner, done=done):
            for k in range(100, 500, 7):
                learner.partial_fit(X[k : k + 7], y[k : k + 7])
            done.set()

        def read(own, learner=learner, seen=seen, done=done):
            return lambda: [seen[name].add(READERS[name](learner)) for _ in iter(done.is_set, True) for name in own]

        in_threads(learn, read(names[::2]), read(names[1::2]))
        for name in names:
            assert seen[name] <= known[name], name


def test_a_curve_is_read_while_its_points_are_thinned_out():
    X, score = rows(9, n=200_000, d=2)
    learner, done = AdaRegRegressor("adagrad", "diag").partial_fit(X[:10], score[:10]), []

    def learn():
        learner.partial_fit(X, score)
        done.append(True)

    def read():
        while not done:
            curve = learner.progressive_curve_
            assert len({len(course) for course in curve.values()}) == 1
            assert (np.diff(curve["rows"]) > 0).all()

    in_threads(learn, read, read)


def test_models_in_several_threads_are_those_of_one():
    """Different models share nothing."""

    def learnt(model):
        X, y, first = parts(model)
        return pickle.loads(pickle.dumps(model)).partial_fit(X, y, **first).coef_

    alone, found = [learnt(model) for model in MODELS], {}
    in_threads(*(lambda k=k, model=model: found.update({k: learnt(model)}) for k, model in enumerate(MODELS)))
    for k, coef in enumerate(alone):
        np.testing.assert_array_equal(found[k], coef)
