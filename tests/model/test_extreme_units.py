"""Units, targets and weights near the limits of a double: what is published is finite, and in its domain."""

import pickle
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn_adareg._kernels.domains._polyhedra import L1Ball, Simplex
from support.attack_cases import Chunk, make_rows
from support.data import POTENTIALS, STRUCTURES, UPDATES, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry
from sklearn_adareg.model._runtime import method_of

LOSSES = ["squared_error", "log_loss", "poisson"]
PROJECTED = [name for name, entry in _registry.DOMAINS.items() if not entry.coordinatewise]


def learnt(loss, X, score, *arguments, weight=None, **params):
    """A model that has learnt the score as this loss sees it."""
    y = target(loss, score)
    if loss in _registry.CLASSIFICATION_LOSSES:
        model = AdaRegClassifier(*arguments, loss=loss, **params)
        return model.partial_fit(X, y, classes=[-1, 1], sample_weight=weight)
    return AdaRegRegressor(*arguments, loss=loss, **params).partial_fit(X, y, sample_weight=weight)


def assert_finite(model):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


# --- features -------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-9, 1e-16, 1e-160, 1e-300])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("width", [20, 39, 50, 100])
def test_a_feature_may_be_rounding_noise_first_and_normal_later(width, loss, factor):
    """In version 0.1 the ridge that grew with its unit spoilt the folded inverse, and the model was NaN."""
    rng = np.random.default_rng(width)
    X = rng.normal(size=(300, width))
    score = X[:, 1].copy()
    X[:100, 0] *= factor
    model = learnt(loss, X, score)
    assert model.t_ == 300
    assert_finite(model)
    plain = learnt(loss, np.delete(X, 0, axis=1), score)
    # the rows on which the unit changes are predicted by weights of the old one, as any new value beyond all others is
    fresh = rng.normal(size=(200, width))
    answers, others = model.predict(fresh), plain.predict(np.delete(fresh, 0, axis=1))
    assert np.mean(np.abs(answers - others)) < 0.5 * np.abs(others).mean()


@pytest.mark.parametrize("factor", [1e-160, 1e-300, 1e-310, 5e-324, 1e140])
@pytest.mark.parametrize("structure", ["auto", *STRUCTURES])
@pytest.mark.parametrize("potential", ["auto", *POTENTIALS])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_column_may_have_any_unit(loss, potential, structure, factor):
    X, score = rows(0)
    X[:, 2] *= factor
    model = learnt(loss, X, score, potential, structure)
    assert model.t_ == 100
    assert_finite(model)
    for each in UPDATES:
        assert_finite(learnt(loss, X, score, potential, structure, eta=0.5, update=each))


@pytest.mark.parametrize("structure", [name for name in STRUCTURES if name != "full"])
def test_a_weight_beyond_the_largest_double_is_that_double(structure):
    X, score = rows(0)
    X[:, 2] *= 1e-200
    model = learnt("squared_error", X, score * 1e130, structure=structure)
    assert_finite(model)
    assert np.abs(model.coef_[2]) == np.finfo(float).max


def test_margins_beyond_the_largest_double_are_that_double():
    X, score = rows(0)
    model = AdaRegRegressor(structure="diag").fit(X, score * 1e100)  # the full one limits values
    huge = np.array([[1.0], [-1.0]]) * np.sign(model.coef_) * 1e300
    largest = np.finfo(float).max
    np.testing.assert_array_equal(model.predict(huge), [largest, -largest])
    opposed = np.full((1, 5), 1e300) * np.sign(model.coef_) * [1, -1, 1, -1, 1]
    assert np.sign(model.predict(opposed)) == np.sign((opposed / 1e300) @ (model.coef_ / 1e100))
    classifier = AdaRegClassifier().fit(X, np.arange(100) % 3)
    for factor in (1e300, -1e300):
        proba = classifier.predict_proba(np.full((1, 5), factor))
        assert proba.sum() == pytest.approx(1.0)
    assert not np.isnan(classifier.predict_log_proba(np.full((1, 5), 1e300))).any()


def test_huge_rows_of_single_precision_pass_validation_without_a_warning():
    X = np.tile(np.array([3e38, -3e38], dtype=np.float32), (20, 10))
    y = np.ones((20, 1))
    model = AdaRegRegressor(loss="absolute_error").fit(X * np.float32(1e-30), y)
    model.partial_fit(np.asfortranarray(X), y).predict(np.asfortranarray(X))
    assert_finite(model)


# --- targets --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts():
    """Rows and counts in the tens of thousands."""
    rng = np.random.default_rng(0)
    units = np.array([1, 10, 0.1, 1, 1, 1, 1, 100])
    X = rng.normal(size=(4000, 8))
    rates = np.exp(10.5 + X @ rng.normal(size=8) * 0.4) * rng.gamma(3, 1 / 3, size=4000)
    return X * units, rng.poisson(rates).astype(float)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_poisson_does_not_depend_on_the_unit_of_its_targets(counts, unit):
    """In version 0.1 the loss was 10²⁰⁰ times that of the constant in some of these units."""
    X, y = counts
    model, scaled = (AdaRegRegressor(loss="poisson") for _ in range(2))
    expected = model.partial_fit(X, y).predict(X)
    predictions = scaled.partial_fit(X, y * unit).predict(X)
    np.testing.assert_allclose(predictions, expected * unit, rtol=1e-5)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_poisson_on_large_counts_is_close_to_the_batch_model(counts, unit):
    X, y = counts
    train, test = slice(0, 3000), slice(3000, None)
    spread = X.std(axis=0)
    batch = PoissonRegressor(alpha=0, max_iter=1000).fit(X[train] / spread, y[train])
    model = AdaRegRegressor(loss="poisson", random_state=0).fit(X[train], y[train] * unit)

    def deviance(predictions):
        return mean_poisson_deviance(y[test], predictions)

    best = deviance(batch.predict(X[test] / spread))
    constant = deviance(np.full(1000, y[train].mean()))
    share = (deviance(model.predict(X[test]) / unit) - best) / (constant - best)
    assert share <= 0.05


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(1e160, 1.0), (1.0, 1e-300), (1e9, 1e-160)])
@pytest.mark.parametrize("structure", ["full", "diag", "iso"])
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_very_different_sizes(loss, structure, weights):
    """A stack combined its step sizes by a matrix that overflowed."""
    X, score = rows(0, n=20, d=30)
    score[0] = 0.0  # the offset, so that a heavy first row has no gradient
    weight = np.where(np.arange(20) == 0, weights[0], weights[1])
    X[0] = 0.0
    try:
        model = learnt(loss, X, score, structure=structure, weight=weight)
    except ValueError as error:
        assert "Stopped at row" in str(error)  # noqa: PT017
    else:
        assert_finite(model)


def test_a_validation_loss_may_overflow_without_a_warning():
    X, score = rows(0, n=20)
    model = AdaRegRegressor("adagrad", early_stopping=True, random_state=0, tol=None, max_iter=2)
    heavy = np.full(20, 1e308)
    assert_finite(model.fit(X, score, X_val=X, y_val=score * 1e5, sample_weight_val=heavy))


# --- domains --------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", ["auto", True, False])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_average_over_growing_units_lies_on_the_simplex(structure, average):
    X, score = rows(0)
    X *= np.linspace(0.1, 10, 100)[:, None]
    params = {"domain": "simplex", "radius": 2.0, "average": average}
    model = learnt("squared_error", X, score, "adagrad", structure, **params)
    assert model.coef_.sum() == pytest.approx(2.0, rel=1e-9)
    assert (model.coef_ >= 0).all()


@pytest.mark.parametrize("factors", [(1e100, 1e-227), (1e-16, 1.0), (1e-160, 1e-300)])
@pytest.mark.parametrize("domain", PROJECTED)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", ["diag", "iso"])
def test_units_that_differ_by_any_factor_stay_in_the_domain(structure, update, domain, factors):
    X, score = rows(0, n=25, d=6)
    X[:, 0] *= factors[0]
    X[:, 1] *= factors[1]
    params = {"domain": domain, "radius": 1.0, "update": update}
    model = learnt("absolute_error", X, score, "adagrad", structure, **params)
    assert_finite(model)
    order = 2 if domain == "l2" else 1
    assert np.linalg.norm(model.coef_, ord=order) <= 1 + 1e-9


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_a_penalty_on_a_column_of_tiny_values(ratio):
    X, score = rows(0)
    X[:, 0] *= 1e-200
    params = {"alpha": 0.01, "l1_ratio": ratio} if ratio else {"alpha": 0.01}
    for structure in ("diag", "iso"):
        assert_finite(learnt("squared_error", X, score, "adagrad", structure, **params))


def test_a_penalty_with_a_step_size_that_overflows():
    """The first residual is 0, and 0 times an infinite step size was not a number."""
    X, score = rows(0)
    model = AdaRegRegressor("adagrad", "diag", eta=1e200, epsilon=1e-300, alpha=0.01)
    with pytest.raises(ValueError, match="Stopped at row 1: the step is too large"):
        model.partial_fit(X, score)
    assert_finite(model)


@pytest.mark.parametrize("domain", [L1Ball, Simplex])
def test_projections_of_points_far_outside_in_norms_of_any_spread(domain):
    rng = np.random.default_rng(0)
    for _ in range(300):
        d = rng.integers(1, 21)
        u = rng.normal(size=d) * 10.0 ** rng.uniform(-20, 20, size=d)
        c = domain(d, 1.0).project(u, 10.0 ** rng.uniform(-35, 35, size=d))
        assert np.isfinite(c).all()
        assert np.abs(c).sum() <= 1 + 1e-9
        if domain is Simplex:
            assert c.sum() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("radius", [1e-61, 1e61])
def test_a_radius_whose_powers_overflow_is_refused(radius):
    with pytest.raises(ValueError, match=r"radius=1e[+-]?61 is outside of 1e-60 to 1e\+60"):
        AdaRegRegressor(domain="l2", radius=radius).fit(*rows(0))


def test_theory_refuses_rows_whose_norm_overflows_without_a_warning():
    X, score = rows(0)
    params = {"domain": "l2", "radius": 1.0, "fit_intercept": False, "scaling": None}
    model = AdaRegRegressor("ons", "full", eta="theory", **params).partial_fit(X, score)
    with pytest.raises(ValueError, match="largest margin"):
        model.partial_fit(X * 1e200, score)


def test_parameters_may_be_of_single_precision():
    X, score = rows(0)
    half = np.float32(0.5)
    AdaRegRegressor(tol=half, domain="l2", radius=half).fit(X, score * 1e100)
    model = AdaRegRegressor(eta=1e200).partial_fit(X[:1], score[:1])
    with pytest.raises(ValueError, match=r"eta was 1e\+200 when this model began and is 0.5 now"):
        model.set_params(eta=half).partial_fit(X, score)


def test_a_penalty_on_features_of_any_size_leaves_finite_weights():
    X = np.random.default_rng(0).normal(size=(60, 3))
    for size in (1e-30, 1e-100, 1e-200, 1e-290):
        for alpha in (1e-9, 0.01, 10.0):
            model = AdaRegRegressor(alpha=alpha).partial_fit(X * [size, 1.0, 1.0], X[:, 1])
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_).all()


def test_a_parameter_beyond_every_float_is_told_from_a_small_one():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = AdaRegRegressor(eta=np.float32(0.5)).partial_fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"eta was .*0\.5.* when this model began"):
        model.set_params(eta=10**400).partial_fit(X, X[:, 0])


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("width", [5, 101])
def test_a_step_size_that_overflows_in_the_unit_of_the_residuals_stops_the_round(structure, width):
    """The step is η times the unit of the residuals: each may be representable and their product not."""
    X = np.random.default_rng(0).normal(size=(20, width))
    y = np.zeros(20)
    y[10] = 1e140
    model = AdaRegRegressor(structure=structure, potential="adagrad", eta=1e200, epsilon=1.0)
    with pytest.raises(ValueError, match="Stopped at row 10: the step is too large"):
        model.partial_fit(X, y)
    assert_finite(model)
    assert model.t_ == 10


@pytest.mark.parametrize("structure", ["full", "block"])
@pytest.mark.parametrize("small", [1e-200, 1e-160])
def test_a_feature_that_grows_beyond_all_measure_begins_anew(structure, small):
    """The square of the growth is no number, and the model went on refusing rows of the new unit, or published NaN."""
    X = np.random.default_rng(0).normal(size=(40, 5))
    y = X @ [1.0, -2.0, 0.0, 0.5, 1.0]
    params = {"structure": structure, "potential": "ons", "eta": 1.0}
    if structure == "block":
        params["blocks"] = 4
    model = AdaRegRegressor(**params).partial_fit(X * small, y)
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.9


def test_rows_whose_weights_are_beyond_all_sums_leave_a_finite_model():
    X = np.column_stack([1e-17 * np.random.default_rng(0).normal(size=10), np.ones(10)])
    model = AdaRegRegressor(alpha=0.01, l1_ratio=0.5)
    model.partial_fit(X, np.full(10, 3.0), sample_weight=np.logspace(80, 140, 10)[[0, 9] * 5])
    with np.errstate(all="raise"):
        assert_finite(model)


def test_penalties_that_are_due_are_charged_whatever_the_unit_of_the_gradients():
    """The unit times the square of a feature's was 0, and publishing divided by it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10, 101)) * rng.choice([1e-160, 1e-300, 1.0], size=101)
    X[5:, ::2] = 0.0
    weight = np.array([1.0, 1e-160, 1.0, 1e-160, 1.0, 1e-300, 1e-9, 1.0, 1e-300, 1.0])
    model = AdaRegRegressor(alpha=0.01).partial_fit(X, rng.normal(size=10), sample_weight=weight)
    with np.errstate(all="raise", under="ignore"):
        assert_finite(model)


def test_a_sketch_with_a_tiny_epsilon_refuses_a_step_that_it_could_not_publish():
    """Finite in its own coordinates, the weights were not in those of the features, and NaN was published."""
    X = np.array([[1000.2, 999.5], [999.6, 0.0], [1001.8, 0.0]])
    model = AdaRegRegressor(structure="sketch", epsilon=1e-300).partial_fit(X, [1.2, -0.9, 0.0])
    with pytest.raises(ValueError, match="Stopped at row 2: the step is too large"):
        model.partial_fit([[0.0, 0.0], [0.0, 1e-16], [0.0, -2e-16]], [-1e100, 2e100, -8e99])
    with np.errstate(all="raise", under="ignore"):
        assert_finite(model)


def test_a_residual_whose_square_is_no_number_stops_its_round():
    """It made the unit of the residuals infinite, and the intercept NaN: a simplex predicts before it has learnt."""
    rng = np.random.default_rng(0)
    model = AdaRegRegressor(domain="simplex", radius=1.0)
    with pytest.raises(ValueError, match="Stopped at row 0: the loss is not finite"):
        model.partial_fit(1e299 * rng.normal(size=(3, 101)), rng.normal(size=3))
    assert_finite(model)


def test_a_ridge_that_underflows_has_an_inverse():
    """Infinite, it made the weights NaN by an L2 penalty. A case that the attack found."""
    case = Chunk(1, 60, sizes="ordinary", y="constant", weight="none", container="dense", fault=None)
    X, _ = make_rows(case, 50)
    model = AdaRegRegressor(alpha=0.01, epsilon=1e-300).partial_fit(X, np.full(60, 3.0))
    assert_finite(model)


@pytest.mark.parametrize("growth", [1e2, 1e4, 1e7, 1e12, 1e17, 1e40, 1e120])
@pytest.mark.parametrize("params", [{"structure": "full"}, {"structure": "block", "blocks": 2}], ids=str)
def test_the_inverse_of_ons_has_its_digits_after_a_unit_grew(params, growth):
    """A correction of rank one cancelled them all: the feature had steps of length 0 for good."""
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(40, 4)), rng.normal(size=40)
    Z[:5, 0] /= growth
    model = AdaRegRegressor("ons", eta=4.0, **params).partial_fit(Z, y)
    structure = method_of(model._state.blocks[0]).structure
    G, H = structure.accumulated()[0], structure.preconditioner()[0]
    assert (np.diag(G) > 0.99 * model.epsilon_).all()
    np.testing.assert_allclose(H @ G, 4.0 * np.eye(len(G)), atol=1e-8)
    assert model.coef_.all()


def assert_can_be_saved(model):
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.coef_, model.coef_)
    assert_finite(model)


@pytest.mark.parametrize("factor", [1e-140, 1e-154, 1e-170, 1e-300])
def test_tiny_targets_leave_a_model_that_can_be_saved(factor):
    X, score = rows(0, n=60)
    model = AdaRegRegressor().partial_fit(X, score * factor)
    assert_can_be_saved(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_can_be_saved(model.partial_fit(X, score).fit(X, score * factor))


@pytest.mark.parametrize("loss", list(_registry.REGRESSION_LOSSES))
@pytest.mark.parametrize("factor", [1e140, 1e150, 1e200, 1e300])
def test_huge_targets_stop_the_default_learner_or_leave_it_finite(factor, loss):
    X, score = rows(0, n=60)
    y = np.abs(score) * factor
    model = AdaRegRegressor(loss=loss).partial_fit(X[:3], y[:3] / factor)
    for learn, weight in ((model.partial_fit, None), (model.partial_fit, np.full(60, 1e70)), (model.fit, None)):
        with suppress(ValueError):
            learn(X, y, sample_weight=weight)
        assert_can_be_saved(model)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("weight", [1e6, 1e10, 1e30, 1e100, 1e160, 1e300])
def test_huge_weights_stop_the_default_learner_or_leave_it_finite(weight, method):
    X, score = rows(8, n=60)
    model = AdaRegRegressor().partial_fit(X, score)
    weights = np.where(np.arange(60) % 3, weight, 1.0)
    learn = partial(getattr(model, method), X * 10.0 ** np.arange(-2, 3), score, sample_weight=weights)
    if weight > 1e100:
        with pytest.raises(ValueError, match="Stopped at row"):
            learn()
    else:
        learn()
    assert_can_be_saved(model)


@pytest.mark.parametrize("width", [2, 50])
def test_features_that_begin_below_all_squares_leave_a_model_that_can_be_saved(width):
    tiny, _ = make_rows(Chunk(0, 10, "tiny", "ordinary", "none", "dense", None), width)
    rows, _ = make_rows(Chunk(0, 2, "ordinary", "ordinary", "none", "dense", None), width)
    model = AdaRegClassifier().partial_fit(tiny, np.arange(10) % 2, classes=[0, 1])
    assert_can_be_saved(model.partial_fit(rows, [0, 1]))


@pytest.mark.parametrize("structure", ["full", "diag"])
def test_curvatures_of_huge_weights_and_counts_stay_finite(structure):
    X, score = rows(0, n=30)
    y, weights = np.abs(score) * 1e200, np.where(np.arange(30) % 2, 1e300, 1e160)
    model = AdaRegRegressor("adagrad", structure, loss="poisson")
    for i in range(30):
        with suppress(ValueError):
            model.partial_fit(X[[i]], y[[i]], sample_weight=weights[[i]])
    assert_can_be_saved(model)


@pytest.mark.parametrize("params", [{}, {"structure": "diag"}])
def test_features_that_count_as_0_are_warned_of(params):
    X, score = rows(0, n=60)
    with pytest.warns(UserWarning, match=r"The largest value of X is 1e-300.*scale the features"):
        model = AdaRegRegressor(**params).fit(np.clip(X, -1, 1) * 1e-300, score)
    assert not model.coef_.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaRegRegressor(**params).fit(np.zeros((60, 2)), score)
        assert AdaRegRegressor(**params).fit(X * 1e-140, score).coef_.any()
