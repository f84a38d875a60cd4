"""The parameter half_life: what it may be, what it goes with, and what it is for."""

import numpy as np
import pytest

from sklearn_adareg import AdaReg, AdaRegClassifier, AdaRegRegressor
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
