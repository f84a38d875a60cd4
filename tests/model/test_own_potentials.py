"""A potential of one's own has parameters, as an estimator has: clone, search, repr, pickle."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import FourthRoot, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegClassifier, SpectralPotential

X, SCORE = rows(0, n=90)
Y = target("log_loss", SCORE)


class Weighted(SpectralPotential):
    """A parameter that is an array, and a note that is no parameter."""

    def __init__(self, scale=(1.0,), power=0.5):
        self.scale = scale
        self.power = power
        self.calls = 0

    def psi(self, eigenvalues):
        self.calls += 1
        return np.mean(self.scale) * eigenvalues**-self.power


def test_get_params_reaches_into_the_potential():
    model = AdaRegClassifier(FourthRoot(0.2))
    assert model.get_params()["potential__eta"] == 0.2
    assert "potential__eta" not in model.get_params(deep=False)
    assert model.set_params(potential__eta=0.7).potential.eta == 0.7
    assert AdaRegClassifier("ons").get_params()["potential"] == "ons"


def test_clone_is_independent_and_equal():
    model = AdaRegClassifier(FourthRoot(0.2))
    twin = clone(model)
    assert twin.potential == model.potential
    assert twin.potential is not model.potential
    twin.set_params(potential__eta=0.9)
    assert model.potential.eta == 0.2
    assert twin.potential != model.potential
    assert clone(FourthRoot(0.2)).eta == 0.2


def test_grid_search_over_a_parameter_of_the_potential():
    model = make_pipeline(StandardScaler(), estimator(FourthRoot(0.1)))
    name = f"{model.steps[-1][0]}__potential__eta"
    search = GridSearchCV(model, {name: [1e-9, 0.3]}, cv=3).fit(X, Y)
    assert search.best_params_ == {name: 0.3}
    by_hand = make_pipeline(StandardScaler(), estimator(FourthRoot(0.3))).fit(X, Y)
    np.testing.assert_array_equal(weights_of(search.best_estimator_[-1]), weights_of(by_hand[-1]))
    assert search.best_estimator_[-1].potential_.eta == 0.3


def test_repr_shows_the_parameters():
    assert repr(FourthRoot(0.2)) == "FourthRoot(eta=0.2)"
    assert "potential=FourthRoot(eta=0.2)" in repr(AdaRegClassifier(FourthRoot(0.2)))


def test_a_pickle_keeps_the_parameters():
    model = learn(estimator(FourthRoot(0.2)), X, Y)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.potential_ == FourthRoot(0.2)
    learn(model, X, Y)
    learn(twin, X, Y)
    np.testing.assert_array_equal(weights_of(model), weights_of(twin))


def test_equality_is_that_of_class_and_parameters():
    one, other = Weighted(np.array([1.0, 2.0])), Weighted(np.array([1.0, 2.0]))
    other.calls = 7
    assert one == other
    assert hash(one) == hash(other)
    assert one != Weighted(np.array([1.0, 3.0]))
    assert one != Weighted(np.array([1.0]))
    assert one != FourthRoot()
    assert one != "adagrad"


@pytest.mark.parametrize("structure", ["full", "diag", "iso"])
def test_a_running_model_refuses_another_parameter_of_its_potential(structure):
    model = learn(estimator(Weighted(), structure), X, Y)
    learn(model, X, Y)
    assert model.potential.calls > 0, "what psi notes is no parameter"
    before = weights_of(model)
    model.set_params(potential__power=0.25)
    with pytest.raises(ValueError, match=r"potential was Weighted\(\) .* is Weighted\(power=0.25\)"):
        learn(model, X, Y)
    np.testing.assert_array_equal(weights_of(model), before)
    model.set_params(potential__power=0.5)
    assert learn(model, X, Y).t_ == 270
