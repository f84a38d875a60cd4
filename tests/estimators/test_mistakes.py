"""Mistakes that people make are answered by what was meant, in a sentence."""

import warnings

import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from support.data import rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

X, SCORE = rows(0, n=40)
Y = target("log_loss", SCORE)
DATES = pd.DataFrame({"a": X[:, 0], "when": pd.date_range("2020", periods=len(X))})
TWICE = pd.DataFrame(X[:, :3], columns=["a", "b", "a"])


def lazy(frame):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(frame).lazy()


ROWS = {
    "lazy": (lambda: lazy(X), TypeError, r"pass X\.collect\(\)"),
    "dicts": (lambda: [{"a": 1.0}] * len(X), TypeError, "DictVectorizer"),
    "names": (lambda: TWICE, ValueError, "several columns with the name 'a'"),
    "dates": (lambda: DATES, ValueError, "The column 'when' of X has dates"),
    "dates alone": (lambda: DATES[["when"]].to_numpy(), ValueError, "X has dates"),
    "durations": (lambda: DATES[["when"]] - DATES["when"][0], ValueError, "'when' of X has dates"),
}


@pytest.mark.parametrize("act", ["fit", "partial_fit", "predict"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_another_kind(name, act):
    make, kind, words = ROWS[name]
    model = AdaRegClassifier()
    if act == "predict":
        model.fit(X, Y)
    call = {
        "fit": lambda: model.fit(make(), Y),
        "partial_fit": lambda: model.partial_fit(make(), Y, classes=[-1, 1]),
        "predict": lambda: model.predict(make()),
    }[act]
    with pytest.raises(kind, match=words):
        call()


def test_dates_of_polars():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="The column 'when' of X has dates"):
        AdaRegRegressor().fit(polars.DataFrame(DATES), SCORE)


NAMES = [
    (AdaRegClassifier, {"loss": "log"}, "Perhaps 'log_loss' is meant"),
    (AdaRegClassifier, {"loss": "hindge"}, "Perhaps 'hinge' is meant"),
    (AdaRegRegressor, {"loss": "mse"}, "Perhaps 'squared_error' is meant"),
    (AdaRegRegressor, {"structure": "diagonal"}, "Perhaps 'diag' is meant"),
    (AdaRegClassifier, {"potential": "hinge"}, "'hinge' is a loss; pass loss='hinge'"),
    (AdaRegRegressor, {"potential": "mse"}, "'mse' is a loss; pass loss='squared_error'"),
    (AdaRegClassifier, {"scoring": "acc"}, "perhaps 'accuracy' is meant"),
]


@pytest.mark.parametrize(("cls", "params", "words"), NAMES)
def test_names_that_there_are_not(cls, params, words):
    with pytest.raises(ValueError, match=words):
        cls(**params).fit(X, Y)


def test_choices_are_in_one_order():
    with pytest.raises(ValueError, match=r"\{'adagrad', 'auto', 'ons', 'pnorm'\}"):
        AdaRegClassifier("x").fit(X, Y)


def test_weights_that_are_a_word():
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        AdaRegClassifier().fit(X, Y, sample_weight="balanced")


def test_labels_of_another_type_than_the_classes():
    with pytest.raises(ValueError, match="give y and classes the same type"):
        AdaRegClassifier().partial_fit(X, Y, classes=["-1", "1"])


def test_two_classes_are_not_told_to_become_three():
    model = AdaRegClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="start anew with all labels: a model of two") as caught:
        model.partial_fit(X, Y + 7)
    assert "pass classes" not in str(caught.value)


def test_a_search_says_once_that_a_parameter_has_no_effect():
    grid = {"alpha": [0.0, 0.1], "l1_ratio": [0.0, 0.5, 1.0]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GridSearchCV(AdaRegClassifier(max_iter=1), grid, cv=3).fit(X, Y)
    assert [str(each.message) for each in caught if "l1_ratio" in str(each.message)] == [
        "l1_ratio=0.5 has no effect with alpha=0, that is without a penalty; pass alpha > 0, or leave l1_ratio at its default."
    ]


def test_a_warning_that_is_an_error_stays_one():
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match=r"radius=2\.0 has no effect"):
                AdaRegClassifier(radius=2.0).fit(X, Y)
