"""Every domain works on ordinary data: raw and standardised, any radius, and what is published is inside."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

DOMAINS = ("l2", "box", "l1", "simplex", "nonnegative")
DATA = {
    "cancer": (AdaRegClassifier, load_breast_cancer),
    "wine": (AdaRegClassifier, load_wine),
    "iris": (AdaRegClassifier, load_iris),
    "diabetes": (AdaRegRegressor, load_diabetes),
}


def outside(domain, coef, r):
    """How far the worst row of coef is outside, relative to the radius."""
    worst = 0.0
    for c in np.atleast_2d(coef):
        assert np.isfinite(c).all()
        excess = {
            "l2": np.linalg.norm(c) / r - 1,
            "box": np.abs(c).max() / r - 1,
            "l1": np.abs(c).sum() / r - 1,
            "simplex": max(abs(c.sum() / r - 1), -c.min() / r),
            "nonnegative": -c.min() / r,
        }
        worst = max(worst, excess[domain])
    return worst


@pytest.mark.parametrize("radius", [0.01, 0.1, 1.0, 10.0, 100.0])
def test_a_ball_of_any_radius_as_it_comes(radius):
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaRegClassifier(domain="l2", radius=radius, max_iter=1, random_state=0).fit(X, y)
    assert outside("l2", model.coef_, radius) <= 1e-15


@pytest.mark.parametrize("name", ["cancer", "wine"])
@pytest.mark.parametrize("radius", [0.1, 1.0, 10.0])
def test_a_ball_on_unscaled_rows_in_any_order(name, radius):
    learner, load = DATA[name]
    X, y = load(return_X_y=True)
    for seed in range(6):
        model = learner(domain="l2", radius=radius, scaling=None, max_iter=1, random_state=seed)
        assert outside("l2", model.fit(X, y).coef_, radius) <= 1e-15


def test_a_ball_on_standardised_rows():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for seed in range(6):
        model = AdaRegClassifier(domain="l2", radius=10.0, scaling=None, max_iter=1, random_state=seed)
        assert outside("l2", model.fit(X, y).coef_, 10.0) <= 1e-15


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("potential", ["ons", "adagrad", "pnorm"])
@pytest.mark.parametrize("name", DATA)
def test_full_models_finish_and_are_inside(name, potential, domain):
    learner, load = DATA[name]
    raw, y = load(return_X_y=True)
    for X, scaling in ((raw, "online"), (raw, None), (StandardScaler().fit_transform(raw), None)):
        for update in ("mirror_descent", "dual_averaging"):
            for radius in (0.01, 1.0, 100.0):
                model = learner(
                    potential,
                    "full",
                    domain=domain,
                    radius=radius,
                    scaling=scaling,
                    update=update,
                    max_iter=1,
                    random_state=0,
                )
                assert outside(domain, model.fit(X[:120], y[:120]).coef_, radius) <= 1e-12


@pytest.mark.parametrize("domain", DOMAINS)
def test_an_inverse_that_has_lost_its_digits_is_had_from_G(domain):
    # ε = 1e-10 in raw units: P begins at 1e10, and what is left of it cancels.
    X, y = load_wine(return_X_y=True)
    for seed in range(3):
        model = AdaRegClassifier(
            "ons",
            "full",
            domain=domain,
            radius=1.0,
            scaling=None,
            eta=1.0,
            epsilon=1e-10,
            max_iter=1,
            random_state=seed,
        )
        assert outside(domain, model.fit(X, y).coef_, 1.0) <= 1e-12


@pytest.mark.parametrize(("potential", "structure"), [("ons", "full"), ("adagrad", "full"), ("adagrad", "diag")])
@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_theory_in_the_simplex_with_large_features(potential, structure, radius):
    # β = exp(−B) makes H as small as 1e-200 and less.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.clip(60 * rng.normal(size=(200, 5)), -170, 170)
        model = AdaRegClassifier(
            potential,
            structure,
            domain="simplex",
            radius=radius,
            eta="theory",
            epsilon="theory",
            scaling=None,
            fit_intercept=False,
            max_iter=1,
            random_state=0,
        )
        model.fit(X, (X[:, 0] + X[:, 1] > 0).astype(int))
        assert outside("simplex", model.coef_, radius) <= 1e-12


@pytest.mark.parametrize("structure", ["full", "diag", "iso"])
@pytest.mark.parametrize("average", [True, False, 2.0])
def test_what_is_published_is_in_the_simplex_although_units_grow(structure, average):
    X, y = load_breast_cancer(return_X_y=True)
    X = X * np.linspace(0.01, 1.0, len(X))[:, None]
    model = AdaRegClassifier("adagrad", structure, domain="simplex", radius=1.0, average=average)
    for part in np.array_split(np.arange(len(X)), 5):
        model.partial_fit(X[part], y[part], classes=[0, 1])
        assert outside("simplex", model.coef_, 1.0) <= 1e-12


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("update", ["mirror_descent", "dual_averaging"])
def test_chunks_give_the_same_model_to_the_bit_in_a_domain(domain, update):
    X, y = load_wine(return_X_y=True)
    whole, parts = (AdaRegClassifier("ons", "full", domain=domain, radius=0.1, update=update) for _ in range(2))
    whole.partial_fit(X, y, classes=[0, 1, 2])
    for part in np.array_split(np.arange(len(X)), 7):
        parts.partial_fit(X[part], y[part], classes=[0, 1, 2])
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
