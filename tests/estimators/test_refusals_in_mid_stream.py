"""Small things that go wrong in a stream: each is one sentence, and changes nothing."""

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from support.data import estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

X, SCORE = rows(0, n=40)
Y = target("log_loss", SCORE)
COUNTS = np.round(np.abs(SCORE))
THEORY = {"domain": "l2", "radius": 1.0, "fit_intercept": False, "scaling": None, "eta": "theory"}


def test_classes_may_not_be_empty():
    with pytest.raises(ValueError, match="classes is empty, and a classifier needs at least two"):
        AdaRegClassifier().partial_fit(X, Y, classes=[])


# --- theory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.0, 1e-200, 500.0, 1e5, 1e200])
@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "squared_error", "poisson"])
def test_theory_on_rows_of_extreme_size_is_a_number_or_a_sentence(loss, factor):
    """In version 0.1 a ZeroDivisionError, or a warning about a division."""
    y = target(loss, SCORE) * (factor if loss == "squared_error" else 1)
    model = estimator("ons", "full", loss=loss).set_params(**THEORY, epsilon="theory")
    try:
        model.fit(X * factor, y)
    except ValueError as error:
        words = str(error)
    else:
        words = f"eta {model.eta_:e}, epsilon {model.epsilon_:e}"
    numbers = r"eta \d\S*e[+-]\d+, epsilon \d\S*e[+-]\d+"
    assert re.match(rf"{numbers}|eta='theory' and .* is not defined here|Stopped at row", words)


def test_theory_on_rows_of_zeros_says_their_sizes():
    model = estimator("ons", "full", loss="squared_error").set_params(**THEORY)
    with pytest.raises(ValueError, match=r"is not defined here: .*margin 0, target 0, weight 1"):
        model.fit(0 * X, 0 * SCORE)


# --- parameters set in mid-stream -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "name", "value"),
    [
        ("quantile", "quantile", 7),
        ("huber", "huber_delta", -1),
        ("epsilon_insensitive", "insensitivity", -0.5),
        ("log_loss", "class_weight", 5),
        ("log_loss", "verbose", -3),
        ("squared_error", "n_jobs", "many"),
        ("squared_error", "n_jobs", 0),
        ("huber", "huber_delta", 10**400),
    ],
)
@pytest.mark.parametrize("pickled", [False, True])
def test_a_parameter_set_in_mid_stream_is_validated(loss, name, value, pickled):
    y = target(loss, SCORE)
    model = learn(estimator(loss=loss), X, y)
    if pickled:
        model = pickle.loads(pickle.dumps(model))
    before, was = weights_of(model).copy(), getattr(model, name)
    model.set_params(**{name: value})
    for _ in range(2):
        with pytest.raises(ValueError, match=name):
            model.partial_fit(X, y)
    np.testing.assert_array_equal(weights_of(model), before)
    assert model.set_params(**{name: was}).partial_fit(X, y).t_ == 80


def test_a_parameter_of_the_loss_may_change_in_mid_stream():
    model = learn(estimator(loss="quantile", quantile=0.1), X, SCORE)
    same = pickle.loads(pickle.dumps(model)).partial_fit(X, SCORE)
    other = model.set_params(quantile=0.9).partial_fit(X, SCORE)
    assert other.intercept_ > same.intercept_


# --- a first call that fails ----------------------------------------------------------------------


@pytest.mark.parametrize("params", [{"n_jobs": 0}, {"domain": "l2", "radius": 10**400}, {"alpha": 10**400}])
@pytest.mark.parametrize("several", [False, True])
def test_a_first_partial_fit_that_fails_leaves_no_model(params, several):
    model = estimator(loss="squared_error", **params)
    y = np.column_stack([SCORE] * 6) if several else SCORE
    with pytest.raises(ValueError, match=list(params)[-1]):
        model.partial_fit(X, y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")


def test_a_first_partial_fit_that_stops_at_a_row_keeps_the_rounds_before_it():
    bad = X.copy()
    bad[7] = 1e200
    model = estimator(loss="squared_error")
    with pytest.raises(ValueError, match="Stopped at row 7"):
        model.partial_fit(bad, SCORE)
    assert model.t_ == 7
    assert model.n_features_in_ == 5
    same = learn(estimator(loss="squared_error"), X[:7], SCORE[:7])
    np.testing.assert_array_equal(weights_of(model), weights_of(same))


# --- parameters that have no effect ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"radius": 2.0}, "radius=2.0 has no effect with domain=None"),
        ({"l1_ratio": np.float64(0.5)}, "l1_ratio=0.5 has no effect with alpha=0"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_parameter_without_effect_is_warned_of_once(params, words, method):
    model = estimator(loss="squared_error", **params)
    with pytest.warns(UserWarning, match=words) as caught:
        getattr(model, method)(X, SCORE)
    assert len(caught) == 1
    model.partial_fit(X, SCORE)


def test_early_stopping_in_partial_fit_is_warned_of_once():
    model = estimator(early_stopping=True)
    with pytest.warns(UserWarning, match="early_stopping=True has no effect in partial_fit") as one:
        model.partial_fit(X, Y, classes=[-1, 1])
    assert [warning.filename for warning in one] == [__file__]
    model.partial_fit(X, Y)


# --- messages and warnings ------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "y"), [(AdaRegClassifier, Y), (lambda: AdaRegRegressor(loss="poisson"), COUNTS)])
def test_a_column_of_targets_warns_once(make, y):
    for method in ("fit", "partial_fit"):
        keywords = {"classes": [-1, 1]} if make is AdaRegClassifier and method != "fit" else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(make(), method)(X, y[:, None], **keywords)
        assert [str(w.message)[:22] for w in caught] == ["A column-vector y was "]


def test_messages_do_not_name_numpys_types():
    running = learn(estimator(eta=np.float32(0.5)), X, Y)
    attempts = [
        lambda: AdaRegClassifier().fit(X, np.ones(40, dtype=int)),
        lambda: running.partial_fit(X, np.full(40, 2)),
        lambda: running.partial_fit(X, Y, classes=np.array([1, 2])),
        lambda: estimator(class_weight={2: 1.0}).fit(X, Y),
        lambda: estimator(alpha=np.float64(0.1), domain="l2", radius=1.0).fit(X, Y),
        lambda: estimator(average=np.int64(2)).fit(X, Y),
        lambda: running.set_params(eta=np.float64(0.25)).partial_fit(X, Y),
    ]
    for attempt in attempts:
        with pytest.raises(ValueError, match=r"^(?!.*(np\.|array\(|dtype)).+$"):
            attempt()


@pytest.mark.parametrize("loss", [[], {}, None, "nonsense", 7])
def test_a_loss_that_is_none_is_refused_by_fit_and_by_nothing_before_it(loss):
    for cls in (AdaRegClassifier, AdaRegRegressor):
        with pytest.raises(NotFittedError):
            cls(loss=loss).predict([[1.0]])
        with pytest.raises(ValueError, match="'loss' parameter"):
            cls(loss=loss).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("loss", [[], "nonsense", "hinge", "poisson"])
def test_a_fitted_model_predicts_with_the_loss_that_it_learnt(loss):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model = AdaRegClassifier().fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(loss=loss).predict_proba(X), expected)
    model = AdaRegRegressor().fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.set_params(loss=loss).predict(X), expected)
