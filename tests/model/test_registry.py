"""A new potential, structure, loss or domain is one entry of the registry: everything else asks it for facts."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError
from support.data import STRUCTURES, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, regret
from sklearn_adareg._kernels.domains import _polyhedra
from sklearn_adareg._kernels.losses import _losses
from sklearn_adareg._kernels.potentials import _potentials
from sklearn_adareg.model import _registry
from sklearn_adareg.model._entries import LOG, Domain, Loss, Potential, Structure

X, SCORE = rows(0, n=60)
Y = target("log_loss", SCORE)
THEORY = {"eta": "theory", "epsilon": "theory", "fit_intercept": False}


@pytest.fixture
def register(monkeypatch):
    """Adds an entry to a table for the length of a test."""
    return monkeypatch.setitem


def assert_same_model(one, other):
    np.testing.assert_array_equal(weights_of(one), weights_of(other))


# --- a potential ----------------------------------------------------------------------------------


def sixth_root(**facts):
    return Potential(lambda: _potentials.PNorm(5.0), operator_antitone=True, **facts)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_new_potential_is_one_entry(register, structure):
    with pytest.raises(InvalidParameterError, match="'potential' parameter"):
        estimator("sixth_root", structure).fit(X, Y)
    register(_registry.POTENTIALS, "sixth_root", sixth_root())
    new, same = estimator("sixth_root", structure), estimator("pnorm", structure, p=5.0)
    assert_same_model(learn(new, X, Y), learn(same, X, Y))
    assert new.potential_ == "sixth_root"


def test_a_new_potential_is_named_where_another_is_refused(register):
    register(_registry.POTENTIALS, "sixth_root", sixth_root())
    with pytest.raises(InvalidParameterError, match="'sixth_root'"):
        AdaRegClassifier("seventh_root").fit(X, Y)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_new_potential_without_theory_has_no_eta_of_theory(register, structure):
    """In version 0.1 it silently got the step size of the Online Newton Step."""
    register(_registry.POTENTIALS, "sixth_root", sixth_root())
    model = estimator("sixth_root", structure, domain="l2", radius=1.0).set_params(**THEORY)
    with pytest.raises(ValueError, match="no regret bound is known for this potential"):
        model.fit(X, Y)


def test_the_theory_of_a_new_potential_is_a_function_of_the_problem(register):
    entry = sixth_root(theory={"diag": lambda problem: (problem.sup_diameter, 0.25)})
    register(_registry.POTENTIALS, "sixth_root", entry)
    make = {"domain": "simplex", "radius": 3.0}
    model = estimator("sixth_root", "diag", **make).set_params(**THEORY).fit(X, Y)
    assert (model.eta_, model.epsilon_) == (3.0, 0.25)
    with pytest.raises(ValueError, match=r"no regret bound is known .* structure='iso'"):
        estimator("sixth_root", "iso", **make).set_params(**THEORY).fit(X, Y)


def test_a_new_potential_has_a_stack_only_if_it_has_rates(register):
    register(_registry.POTENTIALS, "sixth_root", sixth_root())
    one = AdaRegClassifier("sixth_root", "diag").fit(X, Y)
    assert (one.method_, one.eta_, one.epsilon_) == ("algorithm1", 0.5, 1.0)
    register(_registry.POTENTIALS, "sixth_root", sixth_root(rates=(0.1, 1.0, 3.0)))
    stack = AdaRegClassifier("sixth_root", "diag").fit(X, Y)
    assert (stack.method_, stack.eta_) == ("stack", (0.1, 1.0, 3.0))


def test_the_value_of_a_new_potential_serves_the_regret_bounds(register):
    with pytest.raises(ValueError, match="'sixth_root' is not known; give 'adagrad', 'ons'"):
        regret.potential_value([0.5], "sixth_root", eta=1.0)
    entry = sixth_root(value=lambda h, eta, p: eta**6 / 5 * np.sum(h**-5.0))
    register(_registry.POTENTIALS, "sixth_root", entry)
    expected = regret.potential_value([0.5, 2.0], "pnorm", eta=0.3, p=5.0)
    assert regret.potential_value([0.5, 2.0], "sixth_root", eta=0.3) == pytest.approx(expected)


# --- a structure ----------------------------------------------------------------------------------


def test_a_new_structure_is_one_entry(register):
    register(_registry.STRUCTURES, "also_diag", replace(_registry.STRUCTURES["diag"], stack=False))
    new = estimator("adagrad", "also_diag", alpha=0.05, l1_ratio=1.0)
    same = estimator("adagrad", "diag", alpha=0.05, l1_ratio=1.0)
    assert_same_model(learn(new, X, Y), learn(same, X, Y))
    assert new.structure_ == "also_diag"


def test_a_new_structure_of_which_nothing_is_known_gets_neither_stack_nor_l1_nor_theory(register):
    bare = Structure(_registry.STRUCTURES["diag"].kernel)
    register(_registry.STRUCTURES, "bare", bare)
    model = AdaRegClassifier(structure="bare").fit(X, Y)
    assert (model.method_, model.potential_) == ("algorithm1", "adagrad")
    with pytest.raises(ValueError, match=r"structure='bare' is not supported.*'diag' or 'iso'"):
        estimator("adagrad", "bare", alpha=0.1, l1_ratio=0.5).fit(X, Y)
    for potential in ("adagrad", "ons"):
        model = estimator(potential, "bare", domain="l2", radius=1.0).set_params(**THEORY)
        with pytest.raises(ValueError, match=r"no regret bound is known .* structure='bare'"):
            model.fit(X, Y)
    with pytest.raises(ValueError, match="structure='bare' is not known"):
        regret.adagrad_bound([1.0], 1.0, structure="bare")


def test_a_new_structure_says_how_much_memory_it_takes(register):
    huge = replace(_registry.STRUCTURES["diag"], memory=lambda outputs, D: 1 << 60)
    register(_registry.STRUCTURES, "huge", huge)
    with pytest.raises(ValueError, match=r"structure='huge' on 5 features would take .* GiB"):
        estimator("adagrad", "huge").fit(X, Y)


# --- a loss ---------------------------------------------------------------------------------------


def test_a_new_loss_is_one_entry(register):
    entry = Loss(lambda: _losses.Quantile(0.9), degree=1)
    register(_registry.REGRESSION_LOSSES, "ninth_decile", entry)
    for scaling in (None, "online"):
        new = AdaRegRegressor(loss="ninth_decile", scaling=scaling, shuffle=False).fit(X, SCORE)
        same = AdaRegRegressor(loss="quantile", quantile=0.9, scaling=scaling, shuffle=False)
        assert_same_model(new, same.fit(X, SCORE))
    with pytest.raises(InvalidParameterError, match="'loss' parameter of AdaRegClassifier"):
        AdaRegClassifier(loss="ninth_decile").fit(X, Y)
    theory = estimator("ons", "full", loss="ninth_decile", domain="l2", radius=1.0)
    with pytest.raises(ValueError, match="'ninth_decile' has no known constant"):
        theory.set_params(**THEORY).fit(X, SCORE)


def test_a_new_regression_loss_of_degree_0_has_no_log_link(register):
    """In version 0.1 its margins would have started from the logarithm of the first target."""
    register(_registry.REGRESSION_LOSSES, "plain", Loss(lambda: _losses.Huber(1.0)))
    model = AdaRegRegressor(loss="plain", structure="diag").fit(X, SCORE - 5.0)
    np.testing.assert_array_equal(model.predict(X), X @ model.coef_ + model.intercept_)
    assert np.isfinite(model.coef_).all()


def test_the_link_and_the_targets_of_a_new_loss_are_its_own(register):
    entry = Loss(_losses.Poisson, link=LOG, nonnegative_targets=True)
    register(_registry.REGRESSION_LOSSES, "counts", entry)
    y = np.round(np.abs(SCORE))
    new = AdaRegRegressor(loss="counts", shuffle=False).fit(X, y)
    same = AdaRegRegressor(loss="poisson", shuffle=False).fit(X, y)
    np.testing.assert_array_equal(new.predict(X), same.predict(X))
    with pytest.raises(ValueError, match="y has negative values, and loss='counts'"):
        new.fit(X, -y)


def test_a_new_classification_loss_has_what_its_entry_has(register):
    register(_registry.CLASSIFICATION_LOSSES, "hinge_too", Loss(_losses.Hinge))
    classes = np.digitize(SCORE, [-0.5, 2.0])
    new = AdaRegClassifier(loss="hinge_too", shuffle=False).fit(X, classes)
    same = AdaRegClassifier(loss="hinge", shuffle=False).fit(X, classes)
    np.testing.assert_array_equal(new.coef_, same.coef_)
    assert not hasattr(new, "predict_proba")


# --- a domain -------------------------------------------------------------------------------------


def test_a_new_domain_is_one_entry(register):
    register(_registry.DOMAINS, "cube", replace(_registry.DOMAINS["box"]))
    new = estimator("ons", "full", domain="cube", radius=0.2)
    same = estimator("ons", "full", domain="box", radius=0.2)
    assert_same_model(learn(new, X, Y), learn(same, X, Y))
    with pytest.raises(ValueError, match="domain='cube' needs a radius"):
        estimator(domain="cube").fit(X, Y)


def test_a_new_domain_of_which_nothing_is_known_is_unbounded_and_takes_no_penalty(register):
    register(_registry.DOMAINS, "orthant", Domain(_polyhedra.Nonnegative))
    assert (learn(estimator(domain="orthant"), X, Y).coef_ >= 0).all()
    with pytest.raises(ValueError, match=r"alpha=0.1 with domain='orthant' .*'box', 'nonnegative'"):
        estimator(domain="orthant", alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"needs a bounded domain.*domain='orthant' has none"):
        estimator(domain="orthant").set_params(**THEORY).fit(X, Y)


# --- methods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "method"),
    [
        ({}, "information"),
        ({"epsilon": 1.0}, "information"),
        ({"structure": "diag"}, "stack"),
        ({"structure": "iso"}, "stack"),
        ({"potential": "adagrad", "structure": "full"}, "algorithm1"),
        ({"eta": 1.0}, "algorithm1"),
        ({"alpha": 0.1}, "information"),
        ({"domain": "nonnegative"}, "information"),
        ({"domain": "l2", "radius": 1.0}, "information"),
        ({"domain": "simplex", "radius": 1.0}, "algorithm1"),
        ({"structure": "diag", "alpha": 0.1}, "stack"),
        ({"structure": "iso", "alpha": 0.1, "l1_ratio": 0.5}, "stack"),
        ({"structure": "diag", "domain": "l1", "radius": 1.0}, "stack"),
        ({"structure": "diag", "domain": "simplex", "radius": 1.0}, "stack"),
        ({"alpha": 0.1, "l1_ratio": 1.0}, "information"),
        ({"update": "dual_averaging"}, "algorithm1"),
        ({"scaling": None}, "algorithm1"),
    ],
)
def test_method_says_what_runs(params, method):
    assert AdaRegClassifier(max_iter=1, **params).fit(X, Y).method_ == method
    assert AdaRegRegressor(max_iter=1, **params).fit(X, SCORE).method_ == method
