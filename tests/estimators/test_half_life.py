"""The parameter half_life: what it may be, what it goes with, and what it is for."""

import numpy as np
import pytest

from sklearn_adareg import AdaReg, AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry
from sklearn_adareg.regret import record

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X @ [1.0, -1.0, 0.5] > 0, 1, 0)


@pytest.mark.parametrize("half_life", [0.5, 0, -1, np.nan, np.inf, "never"])
def test_what_is_no_half_life_is_refused(half_life):
    with pytest.raises(ValueError, match="'half_life' parameter of AdaRegClassifier must be"):
        AdaRegClassifier(half_life=half_life).fit(X, Y)
    with pytest.raises(ValueError, match="'half_life' parameter of AdaReg must be"):
        AdaReg(3, half_life=half_life)


@pytest.mark.parametrize("half_life", ["auto", None])
def test_a_shuffled_fit_forgets_nothing_unless_asked(half_life):
    model = AdaRegClassifier(half_life=half_life, random_state=0).fit(X, Y)
    assert model.half_life_ is None
    one = AdaRegClassifier(half_life=half_life, eta=0.5).partial_fit(X, Y, classes=[0, 1])
    assert one.half_life_ is None


def test_theory_and_records_are_for_what_never_forgets():
    params = {"scaling": None, "fit_intercept": False, "half_life": 10.0}
    bounded = {"domain": "l2", "radius": 1.0, "eta": "theory"}
    model = AdaRegRegressor("adagrad", "diag", **params, **bounded)
    with pytest.raises(ValueError, match="eta='theory' needs half_life=None, since the bound is"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="record needs half_life=None"):
        record(AdaRegRegressor("adagrad", "diag", eta=0.5, **params), X, Y)


def test_a_running_model_keeps_its_half_life():
    model = AdaRegClassifier(half_life=None).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="half_life was None when this model began and is"):
        model.set_params(half_life=5.0).partial_fit(X, Y)


FORGETFUL = [name for name, entry in _registry.STRUCTURES.items() if entry.forgets]


@pytest.mark.parametrize("structure", FORGETFUL)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_weights_that_flip_in_mid_stream_are_learnt_anew(potential, structure):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(6000, 6))
    truth = rng.normal(size=6)
    y = np.where(Z @ truth * np.where(np.arange(6000) < 4000, 1, -1) + rng.normal(size=6000) > 0, 1, 0)
    losses = []
    for half_life in (None, 200.0):
        eta = {"adagrad": 1.0, "ons": 6.0}[potential]
        model = AdaRegClassifier(potential, structure, eta=eta, half_life=half_life)
        model.partial_fit(Z[:5000], y[:5000], classes=[0, 1])
        losses.append(-np.log(model.predict_proba(Z[5000:])[np.arange(1000), y[5000:]]).mean())
    assert losses[1] < 0.5 * losses[0]
    assert losses[1] < 0.5


def test_a_number_forgets_in_a_shuffled_fit_too():
    model = AdaRegClassifier(eta=0.5, half_life=20.0, random_state=0).fit(X, Y)
    other = AdaRegClassifier(eta=0.5, half_life=None, random_state=0).fit(X, Y)
    assert model.half_life_ == 20.0
    assert np.abs(model.coef_ - other.coef_).max() > 1e-3


def test_rows_are_counted_whatever_their_weights():
    """λ is per round: weights of 1 that are given are no weights, and a weight of 0 is no round."""
    weight = np.repeat([1.0, 0.0], 20)
    params = {"eta": 0.5, "half_life": 5.0, "structure": "diag", "random_state": 0}
    some = AdaRegClassifier(**params).partial_fit(X, Y, classes=[0, 1], sample_weight=weight)
    half = AdaRegClassifier(**params).partial_fit(X[:20], Y[:20], classes=[0, 1])
    np.testing.assert_array_equal(some.coef_, half.coef_)


def test_a_structure_without_a_half_life_names_those_that_have_one():
    for eta in ("auto", 0.5):
        with pytest.raises(ValueError, match="structure='sketch' is not supported, since its"):
            AdaRegClassifier(structure="sketch", eta=eta, half_life=9.0).fit(X, Y)
