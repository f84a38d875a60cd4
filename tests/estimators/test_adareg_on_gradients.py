"""AdaReg is Algorithm 1 on gradients that a caller brings, over the rounds of the estimators."""

import copy
import pickle

import numpy as np
import pytest
from reference.algorithm import POTENTIALS as PSI
from reference.algorithm import WeightVector, keep_blocks, mean_iterate
from scipy import sparse
from sklearn.utils._param_validation import InvalidParameterError
from support.data import POTENTIALS, STRUCTURES, UPDATES, FourthRoot, core, estimator, learn, pairs, rows

from sklearn_adareg import AdaReg, SpectralPotential
from sklearn_adareg.model import _registry

D = 4
NUMBERS = {"eta": 0.7, "epsilon": 0.3}
DOMAINS = list(_registry.DOMAINS)


def gradients(n=30, zeros=0.4, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(n, D)) * (rng.random((n, D)) >= zeros)
    g[5] = 0.0
    return g


def sized(domain):
    return {"domain": domain, "radius": 0.6 if _registry.DOMAINS[domain].has_radius else None}


def as_matrix(kept):
    return kept if np.ndim(kept) == 2 else np.diag(np.broadcast_to(kept, D))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot(0.3)])
def test_every_round_equals_the_reference(potential, structure, update, domain):
    own = not isinstance(potential, str)
    numbers = {"epsilon": 0.3} if own else NUMBERS
    psi = potential.psi if own else PSI[potential](0.7, 2.0)
    output = WeightVector(D, D, psi, structure, 0.3, update, domain, sized(domain)["radius"], 0.0, 0.0, pairs(D))
    learner = core(D, potential, structure, update=update, refresh=0.0, average=2.0, **numbers, **sized(domain))
    np.testing.assert_allclose(as_matrix(learner.H), output.H0, rtol=1e-12)
    np.testing.assert_array_equal(learner.average, output.x[0])
    for t, g in enumerate(gradients()):
        np.testing.assert_allclose(learner.x, output.x[-1], rtol=1e-9, atol=1e-9)
        output.step(g, 1.0)
        learner.step(g)
        assert learner.t == t + 1
        np.testing.assert_allclose(as_matrix(learner.H), output.H[-1], rtol=1e-9, atol=1e-12)
    G = {
        "full": output.G,
        "block": keep_blocks(output.G, pairs(D)),
        "sketch": output.sketch.G if output.sketch else None,
        "diag": np.diag(np.diag(output.G)),
        "iso": np.trace(output.G) / D * np.eye(D),
    }
    np.testing.assert_allclose(as_matrix(learner.G), G[structure], rtol=1e-9, atol=1e-12)
    mean = mean_iterate(np.array(output.x), 2.0)
    np.testing.assert_allclose(learner.average, mean, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("D_wide", [3, 150])
def test_g_and_h_of_ons_hold_what_waits_to_be_folded_in(D_wide):
    """From 40 coordinates on, corrections of the inverse wait until 32 have come."""
    learner = AdaReg(D_wide, "ons", "full", **NUMBERS)
    Z = np.random.default_rng(0).normal(size=(45, D_wide))
    for k, z in enumerate(Z, start=1):
        learner.step(z)
        if k in (1, 31, 32, 33, 45):
            G = 0.3 * np.eye(D_wide) + Z[:k].T @ Z[:k]
            np.testing.assert_allclose(learner.G, G, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(learner.H, 0.7 * np.linalg.inv(G), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("potential", ["ons", "adagrad"])
def test_g_and_h_of_blocks_hold_what_waits_in_the_order_of_the_coordinates(potential):
    """Gradients wait where blocks are small, and corrections of the inverse where they are large."""
    groups = [[5, 0, 2], [1, 7], [6, 3, 9], list(range(10, 60))]  # 4 and 8 are alone
    learner = AdaReg(60, potential, "block", blocks=groups, refresh=0.5, **NUMBERS)
    Z = np.random.default_rng(0).normal(size=(45, 60))
    Z[::3, 10:] = 0.0
    Z[1::3, :5] = 0.0
    power = {"ons": 1.0, "adagrad": 0.5}[potential]
    for k, z in enumerate(Z, start=1):
        learner.step(z)
        if k in (1, 5, 16, 17, 31, 33, 45):
            G = keep_blocks(0.3 * np.eye(60) + Z[:k].T @ Z[:k], groups)
            np.testing.assert_allclose(learner.G, G, rtol=1e-10, atol=1e-10)
            values, V = np.linalg.eigh(G)
            np.testing.assert_array_equal(learner.H[G == 0.0], 0.0)
            # H of an older decomposition: H_t ⪯ H ⪯ (1 + δ)^a H_t
            half = V * values ** (power / 2) / np.sqrt(0.7)
            growth = np.linalg.eigvalsh(half.T @ learner.H @ half)
            assert growth.min() > 1 - 1e-7
            assert growth.max() < (1.5**power if potential == "adagrad" else 1.0) + 1e-7


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_loss_of_ones_own_makes_the_model_of_the_estimator(potential, structure, update, loss):
    Z, score = rows(n=60)
    y = np.where(score > 0, 1.0, -1.0)
    make = {"refresh": 0.5, "average": False, "update": update}
    model = estimator(potential, structure, loss, fit_intercept=False, **make)
    learner = core(Z.shape[1], potential, structure, eta=0.5, epsilon=0.05, **make)
    for z, target in zip(Z, y, strict=True):
        margin = z @ learner.x
        slope = margin - target if loss == "squared_error" else -target / (1 + np.exp(target * margin))
        learner.step(z, slope)
    np.testing.assert_allclose(learner.x, learn(model, Z, y).coef_.ravel(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_gradient_may_come_as_row_and_slope_and_in_any_form(structure):
    forms = [
        lambda g: (g,),
        lambda g: (g / 2, 2.0),
        lambda g: (sparse.csr_array(g[None]),),
        lambda g: (sparse.csr_matrix(g[None] * 4), 0.25),
        lambda g: (sparse.coo_array(g[None]),),
        lambda g: (list(g),),
        lambda g: (np.repeat(g, 2)[::2],),
    ]
    learners = [core(D, "adagrad", structure, domain="l2", radius=0.5) for _ in forms]
    for g in gradients():
        for learner, form in zip(learners, forms, strict=True):
            learner.step(*form(g))
    for learner in learners[1:]:
        np.testing.assert_allclose(learner.x, learners[0].x, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(learner.average, learners[0].average, rtol=1e-12, atol=1e-15)


def test_float32_and_integers_are_gradients_too():
    one, two, three = (AdaReg(2) for _ in range(3))
    one.step([3.0, -1.0])
    two.step(np.array([3, -1], dtype=np.float32))
    three.step([3, -1])
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.x, three.x)


def test_a_zero_gradient_is_a_round():
    learner = AdaReg(2, average=True)
    learner.step([1.0, 0.0])
    x, G = learner.x, learner.G
    learner.step([0.0, 0.0])
    learner.step([5.0, 7.0], 0.0)
    assert learner.t == 3
    np.testing.assert_array_equal(learner.x, x)
    np.testing.assert_array_equal(learner.G, G)
    np.testing.assert_allclose(learner.average, 2 * x / 3)


def test_what_is_read_belongs_to_the_reader():
    for structure in STRUCTURES:
        learner = core(2, "adagrad", structure)
        learner.step([1.0, 2.0])
        before = learner.x
        for read in (learner.x, learner.average, learner.H, learner.G):
            if np.ndim(read):
                read[:] = 99.0
        np.testing.assert_array_equal(learner.x, before)
        assert np.max(learner.H) < 99.0
        assert np.max(learner.G) < 99.0


# --- rounds that cannot be played -----------------------------------------------------------------


class Brittle(SpectralPotential):
    def psi(self, eigenvalues):
        if eigenvalues.max() > 1e3:
            raise LookupError("no such step")
        return 0.5 / np.sqrt(eigenvalues)


BAD = [
    ([np.nan, 1.0, 1.0, 1.0], "NaN or infinite; pass finite numbers"),
    ([np.inf, 1.0, 1.0, 1.0], "NaN or infinite; pass finite numbers"),
    ([1e200, 1.0, 1.0, 1.0], "Round 31 was not played: the gradient is too large.*eta"),
]


@pytest.mark.parametrize("change", [np.asarray, lambda g: sparse.csr_array([g])])
@pytest.mark.parametrize(("bad", "sentence"), BAD)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_round_that_overflows_leaves_the_state(potential, structure, update, bad, sentence, change):
    learner = core(D, potential, structure, update=update, domain="l2", radius=2.0)
    for g in gradients():
        learner.step(g)
    twin = copy.deepcopy(learner)
    with pytest.raises(ValueError, match=sentence):
        learner.step(change(bad))
    assert learner.t == twin.t == 30
    for g in gradients(seed=1):
        np.testing.assert_array_equal(learner.x, twin.x)
        learner.step(g)
        twin.step(g)
    np.testing.assert_array_equal(learner.average, twin.average)
    np.testing.assert_array_equal(learner.H, twin.H)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_psi_raises_reaches_the_caller_and_the_state_stays(structure):
    learner = core(D, Brittle(), structure)
    learner.step(np.ones(D))
    before, H = learner.x, learner.H
    with pytest.raises(LookupError, match="no such step"):
        learner.step(np.full(D, 100.0))
    np.testing.assert_array_equal(learner.x, before)
    np.testing.assert_array_equal(learner.H, H)
    learner.step(np.ones(D))
    assert learner.t == 2


@pytest.mark.parametrize(
    ("gradient", "sentence"),
    [
        ([1.0], r"shape \(1,\) and this learner has dimension 4; pass one of shape \(4,\)"),
        (np.ones((2, 4)), r"shape \(2, 4\) and this learner has dimension 4"),
        (sparse.csr_array(np.ones((1, 5))), r"shape \(1, 5\)"),
        (1.0, r"shape \(\)"),
    ],
)
def test_a_gradient_of_another_shape_is_refused(gradient, sentence):
    learner = AdaReg(D)
    with pytest.raises(ValueError, match=sentence):
        learner.step(gradient)
    assert learner.t == 0


def test_one_slope_multiplies_the_whole_gradient():
    with pytest.raises(ValueError, match=r"slope has shape \(4,\).*pass a float"):
        AdaReg(D).step(np.ones(D), np.ones(D))


def test_columns_outside_the_matrix_are_refused():
    row = sparse.csr_array(np.ones((1, D)))
    row.indices[-1] = 7
    learner = AdaReg(D)
    with pytest.raises(ValueError, match="column number 7"):
        learner.step(row)
    assert learner.t == 0


# --- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"dimension": 0}, "'dimension' parameter of AdaReg must be an int"),
        ({"dimension": 2.0}, "'dimension' parameter of AdaReg must be an int"),
        ({"dimension": 10**30}, "'dimension' parameter of AdaReg must be an int"),
        ({"potential": "newton"}, "'potential' parameter of AdaReg"),
        ({"structure": "tree"}, "'structure' parameter of AdaReg"),
        ({"eta": -1.0}, "'eta' parameter of AdaReg"),
        ({"eta": "theory"}, "'eta' parameter of AdaReg"),
        ({"epsilon": 0.0}, "'epsilon' parameter of AdaReg"),
        ({"average": "auto"}, "'average' parameter of AdaReg"),
        ({"update": "sgd"}, "'update' parameter of AdaReg"),
        ({"structure": "block", "blocks": 0}, "'blocks' parameter of AdaReg"),
        ({"structure": "block", "blocks": "auto"}, "'blocks' parameter of AdaReg"),
    ],
)
def test_arguments_are_validated_in_scikit_learns_words(params, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        AdaReg(**{"dimension": 3, **params})


def test_arguments_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="domain='l2' needs a radius"):
        AdaReg(3, domain="l2")
    with pytest.raises(ValueError, match="average=2 is ambiguous"):
        AdaReg(3, average=2)
    with pytest.raises(ValueError, match=r"eta=0\.5 has no effect with potential=FourthRoot"):
        AdaReg(3, FourthRoot(), eta=0.5)
    with pytest.warns(UserWarning, match="radius=1.0 has no effect"):
        AdaReg(3, radius=1.0)
    with pytest.raises(ValueError, match="structure='block' needs blocks, since no rows tell"):
        AdaReg(3, structure="block")
    with pytest.raises(ValueError, match="blocks has the index 3"):
        AdaReg(3, structure="block", blocks=[[0, 3]])
    with pytest.warns(UserWarning, match="blocks=2 has no effect with structure='diag'"):
        AdaReg(3, blocks=2)
    with pytest.raises(ValueError, match=r"structure='full' .* would take .* GiB"):
        AdaReg(2**30, structure="full")


def test_without_an_average_none_is_given():
    learner = AdaReg(3, average=False)
    with pytest.raises(AttributeError, match="made with average=False"):
        _ = learner.average


def test_auto_is_what_the_estimators_take_for_raw_features():
    learner = AdaReg(3, "auto", "auto")
    np.testing.assert_array_equal(learner.H, 4.0 * np.eye(3))
    np.testing.assert_array_equal(AdaReg(3).H, np.full(3, 0.5))
    assert AdaReg(3, "ons", "iso").H == 1.0


# --- life between calls ---------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot(0.2)])
def test_a_pickle_goes_on_where_it_was(potential, structure):
    learner = core(D, potential, structure, domain="simplex", radius=1.0)
    for g in gradients():
        learner.step(g)
    twin = pickle.loads(pickle.dumps(learner))
    assert repr(twin) == repr(learner)
    for g in gradients(seed=1):
        learner.step(g)
        twin.step(g)
        np.testing.assert_array_equal(twin.x, learner.x)
    np.testing.assert_array_equal(twin.average, learner.average)
    assert twin.t == learner.t == 60


def test_a_damaged_pickle_is_refused():
    learner = AdaReg(D)
    kept = copy.deepcopy(learner.__getstate__())
    kept["_state"]["blocks"][0]["arrays"]["cells"] = np.zeros((1, 2, 3))
    with pytest.raises(ValueError, match="saved model cannot be read"):
        AdaReg.__new__(AdaReg).__setstate__(kept)


def test_repr_shows_what_was_asked_for():
    assert repr(AdaReg(3)) == "AdaReg(dimension=3)"
    learner = AdaReg(3, "ons", domain="box", radius=2.0)
    assert repr(learner) == "AdaReg(dimension=3, potential='ons', domain='box', radius=2.0)"
    assert eval(repr(learner)).t == 0
