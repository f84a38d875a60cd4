"""A recorded run is the reference's run, and all that Theorem 1 asks for."""

import numpy as np
import pytest
from reference.algorithm import adareg
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import POTENTIALS, RADIUS, STRUCTURES, UPDATES, FourthRoot, estimator, pairs, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, regret

X, SCORE = rows(0, n=40, d=3)
LOSSES = ("log_loss", "hinge", "squared_error", "poisson")
NAMES = ("H0", "epsilon", "potential", "eta", "p", "refresh_factor")


def size(domain):
    return {"domain": domain, "radius": RADIUS if domain else None}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot(0.3)])
def test_a_record_is_the_references_run(potential, structure, update, loss):
    y, weight = target(loss, SCORE), np.arange(40) % 4 / 2
    own = not isinstance(potential, str)
    for domain, sample_weight, intercept in ((None, None, True), ("l2", weight, False)):
        make = {"update": update, "fit_intercept": intercept, **size(domain)}
        expected = adareg(
            X,
            y,
            loss=loss,
            potential=potential.psi if own else potential,
            structure=structure,
            eta=0.5,
            epsilon=0.05,
            sample_weight=sample_weight,
            blocks=pairs(3),
            **make,
        )
        model = estimator(potential, structure, loss, **make)
        for rows_of_x in (X, sparse.csr_array(X)):
            run = regret.record(model, rows_of_x, y, sample_weight)
            for name in ("x", "g", "H", "H0"):
                np.testing.assert_allclose(run[name], getattr(expected, name), rtol=1e-8, atol=1e-9, err_msg=name)
            weights = 1.0 if sample_weight is None else sample_weight[sample_weight > 0]
            np.testing.assert_allclose(run.losses, weights * expected.losses, rtol=1e-9, atol=1e-12)
            assert run.refresh_factor == 1.0
        assert not hasattr(model, "coef_"), "the estimator itself stays as it is"


@pytest.mark.parametrize("domain", [None, "box"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_theorem_1_holds_for_a_record(potential, structure, domain):
    model = estimator(potential, structure, refresh=0.5, **size(domain))
    run = regret.record(model, X, target("log_loss", SCORE))
    given = {name: run[name] for name in NAMES}
    for x_star in (run.x[0], run.x[-1], run.x.mean(axis=0)):
        bound = regret.theorem_1(run.x, run.g, run.H, x_star, **given)
        assert regret.linear_regret(run.x, run.g, x_star) <= bound * (1 + 1e-12)


def test_the_refresh_factor_is_at_most_what_refresh_allows_and_is_reached():
    Z = np.random.default_rng(0).normal(size=(300, 3))
    y = np.where(Z[:, 0] > 0, 1, -1)
    for potential, power in (("adagrad", 1 / 2), ("pnorm", 1 / 3), (FourthRoot(0.3), 1 / 4)):
        model = estimator(potential, "full", refresh=1.0)
        factor = regret.record(model, Z, y).refresh_factor
        assert 1.05 < factor <= 2.0**power * (1 + 1e-9)
    assert regret.record(estimator("ons", "full", refresh=1.0), Z, y).refresh_factor < 1 + 1e-9
    assert regret.record(estimator("adagrad", "diag", refresh=1.0), Z, y).refresh_factor == 1.0


def test_rows_are_recorded_in_their_order_and_labels_may_be_anything():
    y = np.where(SCORE > 0, "yes", "no")
    model = AdaRegClassifier("adagrad", "diag", scaling=None, shuffle=True, verbose=1, max_iter=5)
    run = regret.record(model, X, y)
    signs = np.where(SCORE > 0, 1.0, -1.0)
    margins = np.column_stack([X, np.ones(40)]) @ run.x[:-1].T
    np.testing.assert_allclose(run.losses, np.log1p(np.exp(-signs * np.diagonal(margins))))


def test_a_fitted_estimator_is_recorded_from_the_start():
    model = estimator().fit(X, target("log_loss", SCORE))
    before = model.coef_.copy()
    run = regret.record(model, X, target("log_loss", SCORE))
    np.testing.assert_array_equal(run.x[0], np.zeros(4))
    np.testing.assert_array_equal(model.coef_, before)
    assert model.t_ == 40


def test_theory_is_resolved_from_all_the_rows():
    make = {"eta": "theory", "epsilon": "theory", "fit_intercept": False, "domain": "l2"}
    model = estimator("ons", "full").set_params(**make, radius=1.0)
    run = regret.record(model, X, target("log_loss", SCORE))
    assert run.eta == model.fit(X, target("log_loss", SCORE)).eta_
    assert run.epsilon == model.epsilon_


@pytest.mark.parametrize(
    ("model", "y", "sentence"),
    [
        (AdaRegClassifier(), SCORE > 0, "record needs scaling=None.*'online'.*set scaling=None"),
        (AdaRegRegressor(scaling=None, alpha=0.1), SCORE, "record needs alpha=0.*alpha is 0.1"),
        (AdaRegClassifier(scaling=None), np.digitize(SCORE, [-1, 1]), "y asks for 3 weight vectors; record one class"),
        (AdaRegRegressor(scaling=None), np.c_[SCORE, SCORE], "y asks for 2 weight vectors"),
        (
            make_pipeline(StandardScaler(), AdaRegRegressor(scaling=None)),
            SCORE,
            "this is Pipeline; pass one of the two, out of its pipeline",
        ),
        (AdaRegRegressor(scaling=None, eta=-1.0), SCORE, "'eta' parameter"),
        (AdaRegRegressor(scaling=None), SCORE * 1e300, "Stopped at row"),
    ],
)
def test_what_cannot_be_recorded_is_refused_in_a_sentence(model, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        regret.record(model, X, y)
