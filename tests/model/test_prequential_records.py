"""What is kept of the rows at first sight: sums, mistakes, and a curve whose points depend on the number of rows alone."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from support.data import STRUCTURES, estimator, learn, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model._prequential import NAMES
from sklearn_adareg.model._recipe import DamagedState

X, SCORE = rows(0, n=600)
Y = target("log_loss", SCORE)
LEAST = 1e-3  # probabilities are clipped to [LEAST, 1 − LEAST]


def expected_sums(losses, mistakes, weights):
    """The sums by their definitions."""
    sums, past = np.zeros((len(losses), 6)), []
    for t, loss in enumerate(losses):
        clipped = np.clip(loss, -np.log1p(-LEAST), -np.log(LEAST))
        gap = clipped - (np.mean(past) if past else 0.0)
        past.append(clipped)
        row = [1.0, weights[t] * loss, weights[t], mistakes[t], clipped, gap**2]
        sums[t] = sums[t - 1] + row if t else row
    return sums


def grid(n, most=256):
    """The points after n rows: powers of two, multiples of the smallest power of two that has fewer than ``most``, and n."""
    step = 1
    while n >= most * step:
        step *= 2
    return sorted({k for k in range(1, n + 1) if k & (k - 1) == 0 or k % step == 0} | {n})


def iterates_of(X, y, weights=None):
    """Losses and mistakes of the last iterates, row by row."""
    slow, losses, mistakes = estimator(average=False), [], []
    for i in range(len(X)):
        margin = slow.decision_function(X[i : i + 1])[0] if hasattr(slow, "t_") else 0.0
        losses.append(np.logaddexp(0, -y[i] * margin))
        mistakes.append((margin > 0) != (y[i] > 0))
        learn(slow, X[i : i + 1], y[i : i + 1], None if weights is None else weights[i : i + 1])
    return np.array(losses), np.array(mistakes)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sums_are_those_of_their_definitions(weighted):
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    model = learn(estimator(average=False), X, Y, weights)
    found = model._state.progress
    losses, mistakes = iterates_of(X, Y, weights)
    sums = expected_sums(losses, mistakes, np.ones(len(X)) if weights is None else weights)
    for column, name in enumerate(NAMES):
        assert found.total(name) == pytest.approx(sums[-1, column], rel=1e-9), name
    assert found.weighted == weighted
    curve = model.progressive_curve_
    at = np.array(grid(len(X)))
    np.testing.assert_array_equal(curve["rows"], at)
    np.testing.assert_allclose(curve["mean_loss"], sums[at - 1, 1] / sums[at - 1, 2], rtol=1e-9)
    steps = np.diff(sums[at - 1], axis=0, prepend=0.0)
    np.testing.assert_allclose(curve["mean_loss_since"], steps[:, 1] / steps[:, 2], rtol=1e-7)
    np.testing.assert_allclose(curve["error_rate"], sums[at - 1, 3] / at)
    np.testing.assert_allclose(curve["error_rate_since"], steps[:, 3] / steps[:, 0])


def test_the_grid_has_the_powers_of_two_and_some_hundred_points():
    for n in (1, 2, 255, 256, 257, 511, 512, 513, 5000):
        model = learn(estimator(), np.resize(X, (n, X.shape[1])), np.resize(Y, n))
        np.testing.assert_array_equal(model.progressive_curve_["rows"], grid(n))
        assert len(model.progressive_curve_["rows"]) < 256 + 14


@pytest.mark.parametrize("kind", ["binary", "softmax", "one against the rest", "targets"])
def test_records_do_not_depend_on_chunks_threads_or_pickles(kind):
    y = np.digitize(SCORE, [-1.0, 0.0, 1.0]) if kind in ("softmax", "one against the rest") else Y
    make = {
        "binary": lambda **more: AdaRegClassifier(**more),
        "softmax": lambda **more: AdaRegClassifier(**more),
        "one against the rest": lambda **more: AdaRegClassifier(loss="hinge", **more),
        "targets": lambda **more: AdaRegRegressor(**more),
    }[kind]
    if kind == "targets":
        y = np.column_stack([SCORE, -SCORE, SCORE**2, Y, 3 * Y])
    classes = {} if kind == "targets" else {"classes": np.unique(y)}
    whole = make().partial_fit(X, y, **classes)
    chunked = make(n_jobs=2).partial_fit(X[:7], y[:7], **classes)
    for begin, end in ((7, 8), (8, 300), (300, 301), (301, 600)):
        chunked = pickle.loads(pickle.dumps(deepcopy(chunked)))
        chunked.partial_fit(X[begin:end], y[begin:end])
    np.testing.assert_array_equal(whole._state.progress.sums, chunked._state.progress.sums)
    assert whole.progressive_curve_.keys() == chunked.progressive_curve_.keys()
    for name, expected in whole.progressive_curve_.items():
        np.testing.assert_array_equal(chunked.progressive_curve_[name], expected)


def test_only_the_first_pass_is_recorded():
    model = AdaRegClassifier("adagrad", "diag", eta=0.5, max_iter=3, tol=None, shuffle=False)
    model.fit(X, Y)
    once = learn(AdaRegClassifier("adagrad", "diag", eta=0.5), X, Y)
    np.testing.assert_array_equal(model._state.progress.sums, once._state.progress.sums)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_round_that_fails_is_not_recorded(structure):
    model = learn(estimator("adagrad", structure), X, Y)
    before = model._state.progress.copy()
    bad = X[:3].copy()
    bad[1] = 1e200
    with pytest.raises(ValueError, match="Stopped at row 1"):
        model.partial_fit(bad, Y[:3])
    assert model._state.progress.total("rows") == before.total("rows") + 1


def test_mistakes_of_several_classes_are_counted():
    y = np.digitize(SCORE, [-1.0, 0.0, 1.0])
    for loss in ("log_loss", "hinge"):
        params = {"eta": 0.5, "scaling": None, "average": False}
        model = AdaRegClassifier("adagrad", "diag", loss=loss, **params)
        mistakes = 0
        for i in range(100):
            said = model.predict(X[[i]])[0] if i else 0
            mistakes += said != y[i]
            model.partial_fit(X[[i]], y[[i]], classes=[0, 1, 2, 3])
        assert model._state.progress.total("mistakes") == mistakes > 0


def damaged(change):
    model = learn(estimator(), X, Y)
    kept = model.__getstate__()
    change(kept["_state"]["progress"])
    return kept


@pytest.mark.parametrize(
    "change",
    [
        lambda progress: progress.update(sums=progress["sums"][:-1]),
        lambda progress: progress.update(points=progress["points"][:, :5]),
        lambda progress: progress.pop("points"),
        lambda progress: progress["sums"].__setitem__(7, 1e9),
        lambda progress: progress["sums"].__setitem__(8, np.nan),
        lambda progress: progress["sums"].__setitem__(9, 0.0),
        lambda progress: progress["points"].__setitem__((3, 0), -np.inf),
    ],
)
def test_damaged_records_are_refused(change):
    kept = damaged(change)
    with pytest.raises(DamagedState, match="its records"):
        AdaRegClassifier.__new__(AdaRegClassifier).__setstate__(kept)
