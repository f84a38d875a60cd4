"""What cannot be learnt from is refused in a sentence, before any round, and nothing changes."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from support.data import STRUCTURES, FourthRoot, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

X, SCORE = rows(0, n=40)
Y = target("log_loss", SCORE)


def refused(words, kind=ValueError):
    """An error with these words in it, in one line."""
    return pytest.raises(kind, match=f"(?s)^(?!.*\n.*\n).*{words}")


def snapshot(model):
    names = ("t_", "n_features_in_", "progressive_loss_", "n_iter_", "loss_curve_", "eta_", "epsilon_")
    return [weights_of(model).copy(), *(getattr(model, name) for name in names)]


def assert_refused_without_a_trace(words, attempt, model, kind=ValueError):
    """``attempt(model)`` raises, whether the model is new or running, and changes neither."""
    before = None
    if hasattr(model, "t_"):
        before = snapshot(model)
    with refused(words, kind):
        attempt(model)
    if before is None:
        assert not hasattr(model, "coef_")
        assert not hasattr(model, "n_features_in_")
        with pytest.raises(NotFittedError):
            model.predict(X)
    else:
        for now, was in zip(snapshot(model), before, strict=True):
            np.testing.assert_array_equal(now, was)


# --- parameters -----------------------------------------------------------------------------------

OUT_OF_RANGE = [
    ("potential", "newton"),
    ("potential", FourthRoot),  # the class, not an instance
    ("structure", "banded"),
    ("loss", "zero_one"),
    ("p", 0.0),
    ("p", -1.0),
    ("p", np.nan),
    ("eta", 0.0),
    ("eta", -0.1),
    ("eta", np.inf),
    ("eta", "best"),
    ("epsilon", 0.0),
    ("epsilon", np.nan),
    ("scaling", "offline"),
    ("domain", "l3"),
    ("radius", 0.0),
    ("radius", np.inf),
    ("update", "gradient_descent"),
    ("alpha", -1e-9),
    ("alpha", np.inf),
    ("l1_ratio", 1.1),
    ("l1_ratio", -0.1),
    ("average", 0.0),
    ("average", -1.0),
    ("average", "yes"),
    ("fit_intercept", "yes"),
    ("max_iter", 0),
    ("max_iter", 1.5),
    ("tol", -1.0),
    ("n_iter_no_change", 0),
    ("shuffle", 3),
    ("warm_start", "no"),
    ("random_state", "lucky"),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_a_parameter_out_of_range(name, value):
    words = f"The '{name}' parameter of AdaReg(Classifier|Regressor) must be .* Got "
    for base in ({}, {"loss": "squared_error"}):
        for method in ("fit", "partial_fit"):
            model = estimator(**{**base, "alpha": 0.0}).set_params(**{name: value})
            classes = {"classes": [-1, 1]} if method == "partial_fit" and not base else {}
            assert_refused_without_a_trace(words, lambda m, f=method, c=classes: getattr(m, f)(X, Y, **c), model)
    running = learn(estimator(), X, Y).set_params(**{name: value})
    assert_refused_without_a_trace(words, lambda m: m.fit(X, Y), running)
    if name in CHANGES:
        words = f"{name} was .* when this model began"
        assert_refused_without_a_trace(words, lambda m: m.partial_fit(X, Y), running)


@pytest.mark.parametrize(
    ("name", "value"), [("huber_delta", 0.0), ("quantile", 0.0), ("quantile", 1.0), ("insensitivity", -0.1)]
)
def test_a_parameter_of_a_loss_out_of_range(name, value):
    model = AdaRegRegressor(**{name: value})
    assert_refused_without_a_trace(f"The '{name}' parameter", lambda m: m.fit(X, SCORE), model)


PAIRS = [
    ({"domain": "l2"}, "domain='l2' needs a radius"),
    ({"domain": "box"}, "domain='box' needs a radius"),
    ({"domain": "l1"}, "domain='l1' needs a radius"),
    ({"domain": "simplex"}, "domain='simplex' needs a radius"),
    ({"domain": "l2", "radius": 1.0, "alpha": 0.1}, "alpha=0.1 with domain='l2' is not supported"),
    ({"domain": "l1", "radius": 1.0, "alpha": 0.1}, "alpha=0.1 with domain='l1' is not supported"),
    ({"domain": "simplex", "radius": 1.0, "alpha": 0.1}, "alpha=0.1 with domain='simplex'"),
    (
        {"structure": "full", "alpha": 0.1, "l1_ratio": 0.5},
        "l1_ratio > 0 with structure='full' is not supported.*'diag' or 'iso'",
    ),
    ({"average": 2}, "average=2 is ambiguous, since True == 1.*2.0"),
    ({"average": 1}, "average=1 is ambiguous, since True == 1"),
    ({"average": np.int64(3)}, "is ambiguous, since True == 1.*3.0"),
    ({"average": 300.0}, "average=300.0 gives weights t\\*\\*300.0 that overflow"),
    ({"potential": FourthRoot(), "eta": 0.1}, "eta=0.1 has no effect with potential="),
]


@pytest.mark.parametrize(("params", "words"), PAIRS)
def test_parameters_that_do_not_go_together(params, words):
    for method in ("fit", "partial_fit"):
        model = estimator(loss="squared_error").set_params(**params)
        assert_refused_without_a_trace(words, lambda m, f=method: getattr(m, f)(X, SCORE), model)
    running = learn(estimator(loss="squared_error"), X, SCORE).set_params(**params)
    assert_refused_without_a_trace(words, lambda m: m.fit(X, SCORE), running)


@pytest.mark.parametrize(
    "params",
    [
        {"domain": "nonnegative"},
        {"domain": "box", "radius": 1.0, "alpha": 0.1},
        {"structure": "full", "alpha": 0.1},
        {"structure": "full", "l1_ratio": 0.5},
        {"average": 2.0},
        {"potential": "auto", "structure": "auto", "alpha": 0.1, "l1_ratio": 0.5},
    ],
)
@pytest.mark.filterwarnings("ignore:l1_ratio=0.5 has no effect:UserWarning")
def test_the_neighbours_of_what_is_refused_are_not(params):
    estimator(loss="squared_error").set_params(**params).fit(X, SCORE)


CHANGES = {
    "potential": "ons",
    "structure": "iso",
    "loss": "hinge",
    "p": 3.0,
    "eta": 0.7,
    "epsilon": 0.01,
    "domain": "nonnegative",
    "radius": 2.0,
    "update": "dual_averaging",
    "alpha": 0.1,
    "l1_ratio": 0.5,
    "average": 3.0,
    "fit_intercept": False,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_running_model_does_not_change_its_parameters(name):
    model = learn(estimator(), X, Y)
    was = getattr(model, name)
    model.set_params(**{name: CHANGES[name]})
    words = f"{name} was {re.escape(repr(was))} when this model began and is {CHANGES[name]!r} now"
    assert_refused_without_a_trace(words, lambda m: m.partial_fit(X, Y), model)
    model.set_params(warm_start=True)
    assert_refused_without_a_trace(words, lambda m: m.fit(X, Y), model)
    model.set_params(**{name: was}).partial_fit(X, Y)
    assert model.t_ == 2 * len(X)


def test_a_users_potential_that_changed_is_noticed():
    model = learn(estimator(FourthRoot(0.3)), X, Y).set_params(potential=FourthRoot(0.4))
    assert_refused_without_a_trace("potential was", lambda m: m.partial_fit(X, Y), model)
    model.set_params(potential=FourthRoot(0.3)).partial_fit(X, Y)


def test_the_full_structure_is_refused_beyond_what_memory_holds():
    wide = sparse.csr_array((np.ones(2), np.array([0, 5]), np.arange(3)), shape=(2, 2_000_000))
    words = "structure='full' on 2000000 features would take .* GiB .* use structure='diag'"
    for potential in ("ons", "adagrad"):
        model = estimator(potential, "full")
        assert_refused_without_a_trace(words, lambda m: m.fit(wide, [-1, 1]), model)
    assert learn(estimator("ons", "auto"), wide, [-1, 1]).structure_ == "diag"


# --- input ----------------------------------------------------------------------------------------


def spoilt(value, where=(7, 2), array=X):
    array = np.array(array, dtype=float)
    array[where] = value
    return array


BAD_ROWS = [
    (spoilt(np.nan), r"Input X contains NaN \(row 7, column 2\).*SimpleImputer"),
    (spoilt(np.inf), r"Input X contains infinity .*\(row 7, column 2\).*clip"),
    (spoilt(-np.inf).astype(np.float32), "Input X contains infinity"),
    (sparse.csr_array(spoilt(np.nan)), r"Input X contains NaN \(row 7, column 2\).*SimpleImputer"),
    (X[0], "Expected 2D array, got 1D array instead"),
    (X[:, :, None], "Found array with dim 3"),
    (X[:-1], "inconsistent numbers of samples"),
    (X[:0], "Found array with 0 sample"),
    (X[:, :0], "0 feature|X has 0 features"),
    (X + 1j, "Complex data not supported"),
    (np.full(X.shape, "a"), "X has text in it .could not convert string to float: 'a'.; encode it first"),
]


def attempts(model, *arguments, **keywords):
    """partial_fit and fit, on a model that is new and on one that runs."""
    classes = {"classes": [-1, 1]} if isinstance(model(), AdaRegClassifier) else {}
    y = Y if classes else SCORE
    yield model(), lambda m: m.partial_fit(*arguments, **keywords, **classes)
    yield model(), lambda m: m.fit(*arguments, **keywords)
    yield model().fit(X, y), lambda m: m.partial_fit(*arguments, **keywords)
    yield model().fit(X, y), lambda m: m.fit(*arguments, **keywords)


@pytest.mark.parametrize(("bad", "words"), BAD_ROWS)
def test_rows_that_are_no_rows(bad, words):
    for model, attempt in attempts(estimator, bad, Y):
        with pytest.raises(ValueError, match=words):
            attempt(model)
        assert not hasattr(model, "t_") or model.t_ == len(X)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-np.ones(40), "Negative values in data passed to `sample_weight`"),
        (spoilt(np.nan, 3, np.ones(40)), "Input sample_weight contains NaN"),
        (spoilt(np.inf, 3, np.ones(40)), "Input sample_weight contains infinity"),
        (np.ones(39), r"sample_weight.shape == \(39,\), expected \(40,\)"),
        (np.ones((40, 2)), "Sample weights must be 1D array or scalar"),
    ],
)
def test_weights_that_are_no_weights(weight, words):
    for model, attempt in attempts(estimator, X, Y, sample_weight=weight):
        assert_refused_without_a_trace(words, attempt, model)


def test_fit_needs_a_row_with_weight():
    for loss, y in (("squared_error", SCORE), ("log_loss", Y)):
        model = estimator(loss=loss)
        words = "zero for every row|weight"
        assert_refused_without_a_trace(words, lambda m, y=y: m.fit(X, y, np.zeros(40)), model)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (spoilt(np.nan, 3, SCORE), "Input y contains NaN"),
        (spoilt(np.inf, 3, SCORE), "Input y contains infinity"),
        (np.full(40, "a"), "y has text in it.*AdaRegClassifier|dtype='numeric' is not compatible"),
        (np.full(40, "a", dtype=object), "y has text in it.*AdaRegClassifier learns labels"),
        (SCORE.reshape(2, 20), "inconsistent numbers of samples"),
    ],
)
def test_targets_that_are_no_numbers(y, words):
    for model, attempt in attempts(lambda: estimator(loss="squared_error"), X, y):
        with pytest.raises(ValueError, match=words):
            attempt(model)
        assert not hasattr(model, "t_") or model.t_ == len(X)


def test_negative_counts():
    words = "y has negative values, and loss='poisson' models counts"
    for model in (estimator(loss="poisson"), estimator(loss="poisson").fit(X, np.abs(SCORE))):
        assert_refused_without_a_trace(words, lambda m: m.partial_fit(X, SCORE), model)
        assert_refused_without_a_trace(words, lambda m: m.fit(X, SCORE), model)


def test_labels_that_are_not_among_the_classes():
    odd = np.where(np.arange(40) == 30, 3, Y)
    words = "y has the label .*3.*, which is not among the classes"
    new, running = estimator(), learn(estimator(), X, Y)
    assert_refused_without_a_trace(words, lambda m: m.partial_fit(X, odd, classes=[-1, 1]), new)
    assert_refused_without_a_trace(words, lambda m: m.partial_fit(X, odd), running)
    running.set_params(warm_start=True)
    assert_refused_without_a_trace(words, lambda m: m.fit(X, odd), running)


def test_the_first_partial_fit_needs_the_classes_and_later_ones_cannot_change_them():
    new, running = estimator(), learn(estimator(), X, Y)
    assert_refused_without_a_trace("needs classes in its first call", lambda m: m.partial_fit(X, Y), new)
    assert_refused_without_a_trace(
        "labels that this model does not know", lambda m: m.partial_fit(X, Y, classes=[-1, 1, 2]), running
    )
    running.partial_fit(X, Y, classes=[1, -1])  # the same in another order


def test_one_class():
    words = "one class.*needs at least two"
    new, running = estimator(), learn(estimator(), X, Y)
    for model in (new, running):
        assert_refused_without_a_trace(words, lambda m: m.fit(X, np.ones(40)), model)
    assert_refused_without_a_trace(words, lambda m: m.partial_fit(X, Y, classes=[1]), new)
    running.partial_fit(X, np.ones(40))  # in a stream one class at a time is usual


def test_a_continuous_target_is_no_label():
    assert_refused_without_a_trace("[Uu]nknown label type", lambda m: m.fit(X, SCORE), estimator())


@pytest.mark.parametrize("act", ["partial_fit", "predict", "warm start"])
@pytest.mark.parametrize("width", [4, 6])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_changed_number_of_features(structure, width, act):
    words = f"X has {width} features, but AdaRegClassifier is expecting 5 features"
    for other in (np.resize(X, (40, width)), sparse.csr_array(np.resize(X, (40, width)))):
        model = learn(estimator("adagrad", structure, warm_start=act == "warm start"), X, Y)
        acts = {
            "partial_fit": lambda m, Z=other: m.partial_fit(Z, Y),
            "predict": lambda m, Z=other: m.predict(Z),
            "warm start": lambda m, Z=other: m.fit(Z, Y),
        }
        assert_refused_without_a_trace(words, acts[act], model)


def test_another_number_of_targets():
    model = learn(estimator(loss="squared_error"), X, SCORE)
    two = np.column_stack([SCORE, SCORE])
    assert_refused_without_a_trace("learns 1 weight vector", lambda m: m.partial_fit(X, two), model)


def test_a_model_that_has_learnt_nothing_predicts_nothing():
    for model in (AdaRegClassifier(), AdaRegRegressor()):
        for method in ("predict", "decision_function", "predict_proba", "sparsify", "densify"):
            if hasattr(model, method):
                with pytest.raises(NotFittedError):
                    getattr(model, method)(*([X] if method.startswith(("p", "dec")) else []))
        with pytest.raises(AttributeError, match="has learnt nothing yet"):
            _ = model.coef_


def test_a_column_number_outside_in_a_row_that_is_held_out_is_refused():
    X, score = rows(n=20)
    good = sparse.csr_matrix(np.where(X == 0, 1.0, X))
    for row in range(20):  # wherever the split puts it
        X = good.copy()
        X.indices[5 * row] = 5
        model = estimator(structure="diag", early_stopping=True, max_iter=2, random_state=0)
        with pytest.raises(ValueError, match="X has the column number 5 and 5 columns"):
            model.fit(X, target("log_loss", score))
