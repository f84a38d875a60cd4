"""The full preconditioners whose decomposition serves for several rounds: what is certified, and how often it is renewed."""

import pickle

import numpy as np
import pytest
from reference.algorithm import adareg
from support.data import estimator, learn, weights_of

from sklearn_adareg import AdaReg, AdaRegClassifier, AdaRegRegressor, SpectralPotential

# Grids pass a radius and an l1_ratio throughout, also where there is no domain and no penalty.
pytestmark = pytest.mark.filterwarnings("ignore:(radius|l1_ratio)=.* has no effect:UserWarning")


class CubeRoot(SpectralPotential):
    operator_antitone = True

    def psi(self, eigenvalues):
        return 0.5 * eigenvalues ** (-1 / 3)


class NotDeclared(CubeRoot):
    operator_antitone = False


def gaussian(n=600, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ np.diag(np.logspace(0, -1, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)


def turning(n=600, d=6):
    """A direction at a time, each burst longer than the last, and at the end all against each other."""
    X = np.zeros((n, d))
    for t in range(n):
        X[t, int(np.log2(t + 1)) % d] = 1.0 + t / 100
    X[n // 2 :] += 0.3
    return X, np.where(np.arange(n) % 2, 1, -1)


def bursts(n=600, d=6):
    X, y = gaussian(n, d, seed=3)
    X[::97] *= 50.0
    return X, y


STREAMS = [gaussian, turning, bursts]
POTENTIALS = ["adagrad", "pnorm", CubeRoot()]


def arrays(model):
    return model._state.blocks[0].arrays


def lower(G):
    """LAPACK's triangle of the state as a whole matrix."""
    return np.tril(G) + np.tril(G, -1).T


@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("delta", [0.1, 0.5, 2.0])
def test_g_never_outgrows_the_basis_that_serves(stream, delta, potential):
    X, y = stream()
    model = estimator(potential, "full", refresh=delta)
    for t in range(len(y)):
        learn(model, X[t : t + 1], y[t : t + 1])
        state = arrays(model)
        V, values = state["V"][0], state["eigenvalues"][0]
        whitened = (V @ lower(state["G"][0]) @ V.T) / np.sqrt(np.outer(values, values))
        spectrum = np.linalg.eigvalsh(whitened)
        assert spectrum[-1] <= (1 + delta) * (1 + 1e-9)
        assert spectrum[0] >= 1 - 1e-9


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("delta", [0.1, 0.5, 2.0])
def test_refreshes_grow_with_the_logarithm_of_the_rounds(stream, delta):
    X, y = stream(n=3000)
    model = learn(estimator("adagrad", "full", refresh=delta), X, y)
    D = X.shape[1] + 1
    growth = np.linalg.slogdet(lower(arrays(model)["G"][0]))[1] - D * np.log(model.epsilon_)
    refreshes = arrays(model)["refreshes"][0]
    assert 1 < refreshes <= 2 + 2 * growth / np.log(1 + delta / 2)
    assert refreshes < len(y) / 8


@pytest.mark.parametrize("update", ["mirror_descent", "dual_averaging"])
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("stream", STREAMS)
def test_a_small_delta_is_the_exact_algorithm(stream, potential, update):
    X, y = stream(n=200)
    models = [
        learn(estimator(potential, "full", refresh=delta, update=update), X, y) for delta in (0.0, 1e-12, 1e-3, 0.5)
    ]
    exact, *others = (weights_of(model) for model in models)
    np.testing.assert_allclose(others[0], exact, rtol=1e-9, atol=1e-9)
    gaps = [np.abs(weights - exact).max() / np.abs(exact).max() for weights in others]
    assert gaps[1] < 2e-2
    assert models[0].t_ == arrays(models[0])["refreshes"][0] > arrays(models[3])["refreshes"][0]


def test_a_potential_not_declared_antitone_is_decomposed_every_round():
    X, y = gaussian(n=100)
    model = learn(estimator(NotDeclared(), "full", refresh=0.5), X, y)
    assert arrays(model)["refreshes"][0] == 100


@pytest.mark.parametrize("domain", [None, "l2", "box"])
def test_the_progressive_loss_hardly_notices(domain):
    X, y = gaussian(n=2000)
    losses = [
        learn(estimator("adagrad", "full", refresh=delta, domain=domain, radius=1.0), X, y).progressive_loss_
        for delta in (0.0, 0.5)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=5e-3)


@pytest.mark.parametrize("scaling", [None, "online"])
def test_chunks_change_no_bit_of_a_lazy_model(scaling):
    X, y = bursts()
    make = {"refresh": 0.5, "scaling": scaling, "eta": 0.5, "max_iter": 1, "shuffle": False}
    whole, parts = (AdaRegClassifier("adagrad", "full", **make) for _ in range(2))
    learn(whole, X, y)
    for chunk in np.array_split(np.arange(len(y)), 37):
        learn(parts, X[chunk], y[chunk])
    np.testing.assert_array_equal(weights_of(whole), weights_of(parts))


def refresh_of(model):
    return model._state.recipe.refresh


@pytest.mark.parametrize("update", ["mirror_descent", "dual_averaging"])
@pytest.mark.parametrize("potential", ["adagrad", "pnorm"])
def test_given_steps_and_raw_features_are_the_reference_by_default(potential, update):
    X, y = gaussian(n=300)
    given = {"eta": 0.5, "epsilon": 0.05, "update": update}
    run = adareg(X, y, potential=potential, structure="full", **given)
    passes = {"scaling": None, "average": True, "max_iter": 1, "shuffle": False}
    model = AdaRegClassifier(potential, "full", **given, **passes).fit(X, y)
    np.testing.assert_allclose(weights_of(model), run.x_mean, rtol=1e-9, atol=1e-9)
    core = AdaReg(X.shape[1] + 1, potential, "full", **given)
    for row, label in zip(np.column_stack([X, np.ones(len(X))]), y, strict=True):
        core.step(row, slope=-label / (1 + np.exp(label * (row @ core.x))))
    np.testing.assert_allclose(core.average, run.x_mean, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("structure", ["full", "block", "sketch"])
def test_auto_is_exact_only_where_steps_are_given_and_features_are_raw(structure):
    X, y = gaussian(n=40)
    blocks = {"blocks": 2} if structure == "block" else {}

    def resolved(potential="adagrad", **params):
        model = AdaRegRegressor(potential, structure, **blocks, **params)
        return refresh_of(model.partial_fit(X, y))

    theory = {"domain": "l2", "radius": 1.0, "fit_intercept": False}
    assert resolved(eta=0.5, scaling=None) == 0.0
    assert resolved(CubeRoot(), scaling=None) == 0.0
    assert resolved(eta="theory", epsilon="theory", scaling=None, **theory) == 0.0
    for inexact in ({"eta": 0.5}, {"scaling": None}, {}):
        assert resolved(**inexact) == 0.5
        assert resolved(**inexact, refresh=0.1) == 0.1
    assert refresh_of(AdaReg(6, "adagrad", structure, eta=0.5, **blocks)) == 0.0
    assert refresh_of(AdaReg(6, "adagrad", structure, **blocks)) == 0.5


def test_a_saved_model_keeps_its_refresh():
    X, y = gaussian()
    model = learn(estimator("adagrad", "full", refresh=0.5), X[:300], y[:300])
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        learn(each, X[300:], y[300:])
    assert (again.refresh, refresh_of(again)) == (0.5, 0.5)
    np.testing.assert_array_equal(weights_of(model), weights_of(again))
