"""A round that cannot be played leaves no trace: the rounds before it stand."""

import numpy as np
import pytest
from scipy import sparse
from support.data import STRUCTURES, UPDATES, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, SpectralPotential
from sklearn_adareg.model import _registry

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")

BAD = 70  # the row that stops a call, with folds behind it
VARIATIONS = [
    {},
    {"average": False},
    {"alpha": 0.01, "average": False},
    {"domain": "l2", "radius": 0.3},
    {"domain": "simplex", "radius": 0.3},
    {"half_life": 5.0},
    {"half_life": 5.0, "domain": "l2", "radius": 0.3, "average": 2.0},
]


def variations(structure):
    """Those that the structure takes."""
    forgets = _registry.STRUCTURES[structure].forgets
    return [params for params in VARIATIONS if forgets or "half_life" not in params]


def stream(loss, factor):
    """A hundred rows, one of which is far too large."""
    X, score = rows(4)
    X[BAD - 2 : BAD + 1] = np.abs(X[BAD - 2 : BAD + 1]) + 0.1
    X[BAD] *= factor
    return X, target(loss, score)


def assert_stops_before(model, twin, X, y, message, kind=ValueError):
    """partial_fit raises at BAD, and the model is a twin that saw the rows before it."""
    with pytest.raises(kind, match=message):
        learn(model, X, y)
    learn(twin, X[:BAD], y[:BAD])
    assert_same(model, twin)
    for each in (model, twin):
        learn(each, X[BAD + 1 :], y[BAD + 1 :])
    assert_same(model, twin)
    assert model.t_ == len(y) - 1


def assert_same(model, twin):
    np.testing.assert_array_equal(weights_of(model), weights_of(twin))
    assert model.t_ == twin.t_
    assert model.progressive_loss_ == pytest.approx(twin.progressive_loss_, rel=1e-13)
    assert model.n_features_in_ == twin.n_features_in_


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_a_loss_that_overflows_keeps_the_rounds_before_it(potential, structure, update, change):
    X, y = stream("squared_error", 1e200)
    for params in variations(structure):
        make = {"loss": "squared_error", "update": update, "eta": 0.1, **params}
        model, twin = (estimator(potential, structure, **make) for _ in range(2))
        assert_stops_before(model, twin, change(X), y, f"Stopped at row {BAD}: the loss is not finite")


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_a_gradient_that_overflows_keeps_the_rounds_before_it(potential, structure, change):
    X, y = stream("absolute_error", 1e200)
    message = f"Stopped at row {BAD}: the gradient is too large"
    for params in variations(structure):
        make = {"loss": "absolute_error", "eta": 0.1, **params}
        model, twin = (estimator(potential, structure, **make) for _ in range(2))
        assert_stops_before(model, twin, change(X), y, message)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_weights_that_overflow_stop_the_round(potential, structure):
    """The gradient is small, and the step is more than a double holds."""
    X, score = rows(4, n=5)
    make = {"loss": "squared_error", "eta": 1.7e308, "epsilon": 1e-30, "average": False}
    model, twin = (estimator(potential, structure, **make) for _ in range(2))
    with pytest.raises(ValueError, match="Stopped at row") as stop:
        learn(model, X * 1e-3, score * 1e-3)
    assert np.isfinite(weights_of(model)).all()
    assert f"row {model.t_}:" in str(stop.value)
    if model.t_ > 0:
        learn(twin, X[: model.t_] * 1e-3, score[: model.t_] * 1e-3)
        assert_same(model, twin)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_first_row_can_stop_a_stream_too(structure):
    X = np.array([[1e200, 0.0], [1.0, 1.0]])
    model, twin = (estimator("ons", structure, loss="absolute_error") for _ in range(2))
    with pytest.raises(ValueError, match="Stopped at row 0"):
        learn(model, X, [1.0, 1.0])
    for each in (model, twin):
        learn(each, X[1:], [1.0])
    assert_same(model, twin)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_weights_count_in_the_number_of_the_row(structure):
    """Rows without weight are no rounds, and the row is still named by its place in X."""
    X, y = stream("squared_error", 1e200)
    weight = (np.arange(len(y)) % 5 != 1).astype(float)
    model = estimator("adagrad", structure, loss="squared_error", eta=0.1)
    with pytest.raises(ValueError, match=f"Stopped at row {BAD}:"):
        learn(model, X, y, weight)
    assert model.t_ == weight[:BAD].sum()


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_fit_keeps_the_model_it_had(structure, warm_start):
    X, y = stream("squared_error", 1.0)
    huge, _ = stream("squared_error", 1e200)
    model = estimator("adagrad", structure, loss="squared_error", eta=0.1, warm_start=warm_start).fit(X, y)
    coef, state = (model.coef_.copy(), (model.t_, model.n_iter_, model.loss_curve_, model.progressive_loss_))
    with pytest.raises(ValueError, match=f"Stopped at row {BAD}: .*fit keeps the model it had"):
        model.fit(huge, y)
    np.testing.assert_array_equal(model.coef_, coef)
    assert (model.t_, model.n_iter_, model.loss_curve_, model.progressive_loss_) == state
    twin = estimator("adagrad", structure, loss="squared_error", eta=0.1, warm_start=warm_start).fit(X, y)
    for each in (model, twin):
        learn(each, X, y)
    assert_same(model, twin)


def test_fit_keeps_the_model_it_had_features_and_classes_included():
    X, score = rows(4)
    model = estimator().fit(X, np.where(score > 0, "yes", "no"))
    before = model.predict(X)
    with pytest.raises(ValueError, match="Stopped at row"):
        model.fit(np.full((4, 2), 1e200), ["a", "b", "c", "a"])
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.classes_, ["no", "yes"])
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_first_fit_that_fails_leaves_no_model():
    model = estimator(loss="absolute_error")
    with pytest.raises(ValueError, match="Stopped at row 0"):
        model.fit([[1e200], [1.0]], [1.0, 2.0])
    for name in ("coef_", "t_", "n_iter_", "n_features_in_", "loss_curve_"):
        assert not hasattr(model, name)


# --- running units and the defaults ---------------------------------------------------------------

DEFAULTS = [
    {"structure": "full"},  # sums over rows
    {"structure": "diag"},  # stacks of step sizes
    {"structure": "iso"},
    {"structure": "diag", "average": False},
]
UNITS = [
    {"eta": 0.5},
    {"eta": 0.5, "average": False},
    {"eta": 0.5, "alpha": 0.01, "average": False},
    {"eta": 0.5, "domain": "l2", "radius": 0.3},
    {"eta": 0.5, "domain": "simplex", "radius": 0.3},
    {"eta": 0.5, "domain": "nonnegative"},
]


def make(potential, loss="squared_error", **params):
    """A model in running units, which learns its step size unless one is given."""
    cls = AdaRegClassifier if loss in _registry.CLASSIFICATION_LOSSES else AdaRegRegressor
    return cls(potential, loss=loss, **params)


def assert_a_row_stops(build, X, y, weight=None):
    """The row BAD stops a call, and the model is the twin that never saw it, also when both go on."""
    model, twin = build(), build()
    weight = np.ones(len(y)) if weight is None else weight
    with pytest.raises(ValueError, match=f"Stopped at row {BAD}:"):
        learn(model, X, y, weight)
    learn(twin, X[:BAD], y[:BAD], weight[:BAD])
    assert_same(model, twin)
    for each in (model, twin):
        learn(each, X[BAD + 1 :], y[BAD + 1 :], weight[BAD + 1 :])
    assert_same(model, twin)


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("params", DEFAULTS)
@pytest.mark.parametrize("width", [4, 45])
def test_a_target_that_overflows_leaves_no_trace_at_the_defaults(params, change, width):
    X, y = rows(4, n=BAD + 20, d=width)
    X[BAD] = np.abs(X[BAD]) * 50 + 10
    y[BAD] = 1e300
    assert_a_row_stops(lambda: make("auto", **params), change(X), y)


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("params", DEFAULTS[1:])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_a_weight_that_overflows_leaves_no_trace_at_the_defaults(loss, params, change):
    X, score = rows(4, n=BAD + 20)
    X[BAD] = np.abs(X[BAD]) * 50 + 10
    score[BAD] = -score[BAD] * 10
    weight = np.ones(len(score))
    weight[BAD] = 1e160
    assert_a_row_stops(lambda: make("auto", loss, **params), change(X), target(loss, score), weight)


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_a_target_that_overflows_leaves_no_trace_in_running_units(potential, structure, update, change):
    X, y = rows(4, n=BAD + 20)
    X[BAD] *= 7  # its units must not stand
    y[BAD] = 1e300
    for params in UNITS:
        model = {"structure": structure, "update": update, **params}
        assert_a_row_stops(lambda model=model: make(potential, **model), change(X), y)


# --- a user's potential ---------------------------------------------------------------------------


class Refusing(SpectralPotential):
    """ψ(λ) = 0.3 λ^(−1/4), which raises or answers nonsense when an eigenvalue is beyond 1e6."""

    def __init__(self, answer):
        self.answer = answer

    def psi(self, eigenvalues):
        if eigenvalues.max() > 1e6:
            if isinstance(self.answer, BaseException):
                raise self.answer
            return self.answer(eigenvalues)
        return 0.3 * eigenvalues**-0.25


ANSWERS = {
    "an exception": (LookupError("no such step"), LookupError, "no such step"),
    "an exit": (SystemExit("stop"), SystemExit, "stop"),
    "a negative step": (lambda v: -v, ValueError, "psi gave .* for the eigenvalue .*positive and finite"),
    "a zero": (lambda v: 0 * v, ValueError, "psi gave 0.0 for the eigenvalue"),
    "NaN": (lambda v: np.nan * v, ValueError, "psi gave nan for the eigenvalue"),
    "too few": (lambda v: v[:0], ValueError, "psi returned 0 values for"),
    "a matrix": (lambda v: np.eye(len(v)), ValueError, "psi returned|dimensions"),
    "nothing": (lambda v: None, ValueError, "psi (returned 1 values|gave nan)"),
}


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_exception_in_psi_stops_that_round_and_reaches_the_caller(structure, update, change):
    X, y = stream("absolute_error", 1e5)
    answer, kind, message = ANSWERS["an exception"]
    for params in variations(structure):
        make = {"loss": "absolute_error", "update": update, **params}
        model, twin = (estimator(Refusing(answer), structure, **make) for _ in range(2))
        twin.potential = model.potential
        assert_stops_before(model, twin, change(X), y, message, kind)


class Counting(SpectralPotential):
    """ψ(λ) = 0.3 λ^(−1/4), which raises in the call after so many."""

    calls_left = None  # of all of them: a potential may not change

    def psi(self, eigenvalues):
        if Counting.calls_left is not None:
            Counting.calls_left -= 1
            if Counting.calls_left < 0:
                Counting.calls_left = None
                raise LookupError("no such step")
        return 0.3 * eigenvalues**-0.25


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_exception_in_any_call_of_psi_leaves_no_trace_in_running_units(structure, update, change):
    """Units that grow ask ψ more than once in a round."""
    X, y = rows(4, n=30)
    X *= np.linspace(1, 20, 30)[:, None]
    X = change(X)
    for params in ({}, {"average": False}, {"domain": "l2", "radius": 0.3}):
        for calls in (1, 2, 7, 20, 25):
            model, twin = (make(Counting(), structure=structure, update=update, **params) for _ in range(2))
            Counting.calls_left = calls
            with pytest.raises(LookupError, match="no such step"):
                learn(model, X, y)
            end = model.t_ if hasattr(model, "t_") else 0
            if end:
                learn(twin, X[:end], y[:end])
                assert_same(model, twin)
            for each in (model, twin):
                learn(each, X[end:], y[end:])
            assert_same(model, twin)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("scaling", [None, "online"])
def test_an_exception_in_psi_leaves_no_trace_where_a_projection_moves_every_coordinate(update, scaling):
    """Dense rows with zeros of many weight vectors were taken as sparse, and the projection asked ψ once more, too late."""
    X, _ = rows(4, n=30, d=12, zeros=0.8)
    y = np.arange(30) % 6
    params = {"scaling": scaling, "domain": "l2", "radius": 0.3, "update": update}
    for calls in (0, 1, 5, 29):
        model, twin = (AdaRegClassifier(Counting(), "diag", **params) for _ in range(2))
        for each in (model, twin):
            each.partial_fit(X, y, classes=np.arange(6))
        Counting.calls_left = calls
        with pytest.raises(LookupError, match="no such step"):
            model.partial_fit(X, y)
        if model.t_ > 30:
            twin.partial_fit(X[: model.t_ - 30], y[: model.t_ - 30])
        assert_same(model, twin)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_psi_answers_is_checked(structure, answer):
    answer, kind, message = ANSWERS[answer]
    X, y = stream("absolute_error", 1e5)
    model, twin = (estimator(Refusing(answer), structure, loss="absolute_error") for _ in range(2))
    assert_stops_before(model, twin, X, y, message, kind)


def test_psi_may_not_change_the_eigenvalues_it_is_given():
    class Careless(SpectralPotential):
        def psi(self, eigenvalues):
            eigenvalues **= -0.25
            eigenvalues *= 0.3
            return eigenvalues

    X, y = stream("absolute_error", 1.0)
    for structure in STRUCTURES:
        careless = learn(estimator(Careless(), structure, loss="absolute_error"), X, y)
        careful = learn(estimator(Refusing(None), structure, loss="absolute_error"), X, y)
        np.testing.assert_array_equal(weights_of(careless), weights_of(careful))
