"""What a half-life promises beside being the reference's: limits, identities, certificates, long streams."""

import numpy as np
import pytest
from reference.algorithm import adareg
from reference.half_life import Memory, forgetting
from scipy import sparse
from support.data import FourthRoot, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaReg, SpectralPotential
from sklearn_adareg.model import _registry

STRUCTURES = [name for name, entry in _registry.STRUCTURES.items() if entry.forgets]
POTENTIALS = list(_registry.POTENTIALS)
UPDATES = list(_registry.UPDATES)


def make(structure, dimension, potential="adagrad", **params):
    blocks = {"blocks": 3} if structure == "block" else {}
    return AdaReg(dimension, potential, structure, eta=0.7, epsilon=0.3, **blocks, **params)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot()], ids=[*POTENTIALS, "custom"])
def test_a_half_life_beyond_the_stream_is_none(potential, structure, update):
    X, score = rows(n=60)
    models = [
        learn(
            estimator(potential, structure, "log_loss", update=update, half_life=h, average=True),
            X,
            target("log_loss", score),
        )
        for h in (None, 1e13)
    ]
    np.testing.assert_allclose(*map(weights_of, models), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_g_returns_to_the_prior_when_gradients_stop(structure, potential):
    learner = make(structure, 4, potential, half_life=5.0)
    for z in 10 * np.random.default_rng(0).normal(size=(50, 4)):
        learner.step(z)
    assert np.max(np.diag(learner.G) if np.ndim(learner.G) == 2 else learner.G) > 300
    for _ in range(400):
        learner.step(np.full(4, 1e-9))
    G = learner.G
    in_turn = potential == "ons" and structure in ("full", "block")
    np.testing.assert_allclose(
        G, 0.3 * (np.eye(4) if np.ndim(G) == 2 else 1.0), rtol=0.35 if in_turn else 1e-9, atol=1e-9
    )


@pytest.mark.parametrize("half_life", [1.0, 4.0, 100.0])
@pytest.mark.parametrize("D", [2, 7, 45])
def test_the_prior_of_an_inverse_stays_between_bounds(D, half_life):
    """Without gradients a coordinate has between a quarter of its prior and twice as much, in the step too."""
    learner = make("full", D, "ons", half_life=half_life)
    for _ in range(500):
        learner.step(np.zeros(D))
        diagonal = np.diag(learner.G)
        assert diagonal.min() * forgetting(half_life) > 0.245 * 0.3
        assert diagonal.max() < 2.0 * 0.3


@pytest.mark.parametrize("half_life", [2.0, 40.0])
@pytest.mark.parametrize("structure", ["full", "block"])
def test_g_and_h_of_large_inverses_hold_what_waits(structure, half_life):
    D = 60
    groups = [list(range(50)), [50, 51, 52]] if structure == "block" else None
    learner = AdaReg(D, "ons", structure, eta=0.7, epsilon=0.3, blocks=groups, half_life=half_life)
    Z = np.random.default_rng(0).normal(size=(700, D))  # 350 half-lives: what fades is set back
    Z[::3, 50:] = 0.0
    in_turn = groups or [range(D)]
    memory = Memory(D, 0.3, forgetting(half_life), in_turn)
    for k, z in enumerate(Z, start=1):
        touched = np.ones(D, dtype=bool)
        touched[50:] = z[50:].any() or structure == "full"
        learner.step(z)
        memory.take(z, touched)
        memory.end_round(touched)
        if k in (1, 31, 32, 33, 45, 398, 401, 700):
            G = memory.G
            if groups:
                kept = np.eye(D, dtype=bool)
                for group in groups:
                    kept[np.ix_(group, group)] = True
                G = np.where(kept, G, 0.0)
            live = np.ones(D, dtype=bool) if touched.all() else np.arange(D) < 50
            np.testing.assert_allclose(learner.G[np.ix_(live, live)], G[np.ix_(live, live)], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(
                learner.H[np.ix_(live, live)], 0.7 * np.linalg.inv(G)[np.ix_(live, live)], rtol=1e-7, atol=1e-9
            )


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_hundreds_of_half_lives_stay_on_the_reference(potential, structure, update):
    X, score = rows(3, n=900, d=4, zeros=0.5)
    X[300:600, 1] = 0.0  # 150 half-lives without this feature
    y = target("log_loss", score)
    params = {"update": update, "half_life": 2.0, "average": 2.0, "epsilon": 0.5}
    blocks = {"blocks": [[0, 2], [1, 3]]} if structure == "block" else {}
    run = adareg(X, y, potential=potential, structure=structure, eta=0.5, **blocks, **params)
    for rows_ in (X, sparse.csr_array(X)):
        model = estimator(potential, structure, "log_loss", **params, **blocks)
        np.testing.assert_allclose(weights_of(learn(model, rows_, y)), run.x_mean, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("delta", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("half_life", [3.0, 50.0])
@pytest.mark.parametrize("structure", ["full", "block"])
def test_the_basis_that_serves_is_certified_on_both_sides(structure, half_life, delta):
    """(1 + δ)^(−a) H_t ⪯ H ⪯ (1 + δ)^a H_t, and a fading G renews it."""
    learner = make(structure, 6, "adagrad", half_life=half_life, refresh=delta)
    rng = np.random.default_rng(1)
    for t in range(400):
        g = rng.normal(size=6) * (10.0 if t % 97 == 0 else 1.0) * (t < 200 or t % 7 == 0)
        learner.step(g)
        if structure == "block" and not g.any():
            continue  # H is that of the last round that touched a block
        values, V = np.linalg.eigh(learner.G)
        half = V * values**0.25 / np.sqrt(0.7)
        gap = np.linalg.eigvalsh(half.T @ learner.H @ half)
        limit = (1 + delta) ** 0.5 * (1 + 1e-9)
        assert 1 / limit < gap.min()
        assert gap.max() < limit
    [block] = learner._state.blocks
    refreshes = max(array.max() for name, array in block.arrays.items() if "refreshes" in name)
    least = 400 / (1 + half_life * np.log2(1 + delta))
    assert least / 2 < refreshes <= 400


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_what_is_far_in_the_past_has_no_weight(potential, structure):
    """Two streams that differ in their first rows only make the same model 100 half-lives later, but for x itself.

    Dual averaging has no x of its own: it is x_1 − Hθ, which forgets.
    """
    X, score = rows(1, n=700)
    y = target("log_loss", score)
    models = []
    for sign in (1, -1):
        params = {"update": "dual_averaging", "half_life": 5.0, "average": 0.5, "epsilon": 0.5}
        model = estimator(potential, structure, "log_loss", **params)
        first = y.copy()
        first[:100] *= sign
        models.append(learn(model, X, first))
    np.testing.assert_allclose(*map(weights_of, models), rtol=1e-6, atol=1e-9)


# ---- online scaling ------------------------------------------------------------------------------


def shrinking(n=300):
    """Rows whose second column is in a unit a thousand times smaller from the middle on, and zeros."""
    X, score = rows(2, n=n)
    X[: n // 2, 1] *= 1000.0
    return X, target("log_loss", score)


def scaled(potential, structure, **params):
    settings = {"scaling": "online", "half_life": 8.0, "average": 2.0, "epsilon": 0.5, **params}
    return estimator(potential, structure, "log_loss", **settings)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_a_unit_that_shrinks_is_followed_and_moves_no_prediction(potential, structure, update):
    X, y = shrinking()
    model = learn(scaled(potential, structure, update=update), X, y)
    scale = model._state.blocks[0].arrays["scale"][:5]
    assert np.abs(X).max(axis=0)[1] > 1000
    assert scale[1] < 10
    whole = learn(scaled(potential, structure, update=update, half_life=None), X, y)
    assert whole._state.blocks[0].arrays["scale"][1] > 1000
    # in any unit of the input
    other = learn(scaled(potential, structure, update=update), X * [1.0, 1e-7, 1.0, 1e5, 1.0], y)
    np.testing.assert_allclose(other.coef_ * [[1.0, 1e-7, 1.0, 1e5, 1.0]], model.coef_, rtol=1e-9, atol=1e-12)


class Tired(SpectralPotential):
    """Raises in the last of so many calls."""

    left = 0

    def psi(self, eigenvalues):
        if Tired.left > 0:
            Tired.left -= 1
            if Tired.left == 0:
                raise ArithmeticError("tired")
        return 0.3 * eigenvalues**-0.5


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_round_that_fails_leaves_no_trace(structure, update):
    """Whichever call of ψ in a round raises, among units that shrink and grow, and between touches."""
    X, y = shrinking(60)
    model, twin = (scaled(Tired(), structure, update=update) for _ in range(2))
    failures = 0
    for k in range(60):
        Tired.left = k % 5
        try:
            learn(model, X[k : k + 1], y[k : k + 1])
        except ArithmeticError:
            failures += 1
            continue
        finally:
            Tired.left = 0
        learn(twin, X[k : k + 1], y[k : k + 1])
        np.testing.assert_array_equal(weights_of(model), weights_of(twin))
    assert failures > 10
    assert model.t_ == twin.t_ == 60 - failures


def test_one_monstrous_value_is_outlived():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = np.where(X @ [2.0, -1.0, 1.0, 0.5] + 0.3 * rng.normal(size=6000) > 0, 1, -1)
    X[1000, 0] = 1e6
    scores = []
    for half_life in (None, 50.0):
        model = estimator("adagrad", "diag", "log_loss", scaling="online", half_life=half_life)
        learn(model, X[:5000], y[:5000])
        scores.append(model.score(X[5000:], y[5000:]))
    assert scores[1] > 0.92
    assert scores[1] > scores[0] + 0.1
