"""No stream, however short or odd, makes the default learner absurd."""

import numpy as np
import pytest
from support.odd_streams import (
    KINDS,
    OUTLIERS,
    growing_rows,
    is_linear,
    is_sane_beside_an_outlier,
    is_sane_while_columns_grow,
)

from sklearn_adareg import AdaRegClassifier

CLASSES = (2, 3, 0)
pytestmark = pytest.mark.every_case


@pytest.mark.parametrize("task", ["two classes", "regression"])
def test_outliers_beside_new_features(task):
    absurd = [case for case in OUTLIERS[::4] if not is_sane_beside_an_outlier(task, *case)]
    assert not absurd


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", CLASSES)
def test_columns_that_grow(classes, kind):
    absurd = [seed for seed in range(3) if not is_sane_while_columns_grow(classes, kind, seed)]
    assert not absurd


@pytest.mark.slow
@pytest.mark.parametrize("task", ["two classes", "regression"])
def test_all_outliers_beside_new_features(task):
    cases = [(*case, seed) for case in OUTLIERS for seed in range(4)]
    absurd = [case for case in cases if not is_sane_beside_an_outlier(task, *case)]
    assert not absurd


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", CLASSES)
def test_many_streams_of_columns_that_grow(classes, kind):
    seeds = range(127)  # 1,524 streams in all, and 480 beside outliers
    absurd = [seed for seed in seeds if not is_sane_while_columns_grow(classes, kind, seed)]
    assert not absurd


def test_three_rows_of_which_the_last_is_far_beyond():
    X, y = [[1.0], [2.0], [31286.0]], [-1, -1, 1]
    model = AdaRegClassifier().partial_fit(X, y, classes=[-1, 1])
    assert abs(model.decision_function(X[2:])[0]) < 10


def test_predictions_are_linear_on_rows_within_the_ranges_read():
    rng = np.random.default_rng(0)
    X = growing_rows("tails", rng)
    model = AdaRegClassifier()
    for n in range(1, 200):
        model.partial_fit(X[n - 1 : n], [n % 2], classes=[0, 1])
        assert is_linear(model, X[:n], X[:n])
