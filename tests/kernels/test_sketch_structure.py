"""Structure "sketch": the full structure by a few directions, and what is proved of them."""

import pickle

import numpy as np
import pytest
from reference.algorithm import FrequentDirections, adareg
from reference.scaling import scaled_adareg
from scipy import sparse
from support.data import POTENTIALS, UPDATES, FourthRoot, core, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaReg, AdaRegClassifier, AdaRegRegressor, regret

EXACT = {"rtol": 1e-9, "atol": 1e-9}


def stream(seed=0, n=150, d=6):
    X, score = rows(seed, n=n, d=d)
    return X, target("log_loss", score)


def gradients(seed=0, n=120, D=7):
    """Of falling size from coordinate to coordinate, and turned."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(D, D)))
    return rng.normal(size=(n, D)) * 0.6 ** np.arange(D) @ Q


# --- identities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, "l2", "box", "l1", "simplex"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot()])
def test_a_rank_of_all_coordinates_is_full(potential, update, domain):
    X, y = stream()
    make = {"update": update, "domain": domain, "radius": 0.4 if domain else None}
    full = weights_of(learn(estimator(potential, "full", **make), X, y))
    for rank in (7, 8, 50):
        for of in (X, sparse.csr_array(X)):
            model = learn(estimator(potential, "sketch", rank=rank, **make), of, y)
            np.testing.assert_allclose(weights_of(model), full, **EXACT)
    fewer = learn(estimator(potential, "sketch", rank=3, **make), X, y)
    assert np.abs(weights_of(fewer) - full).max() > 1e-4


@pytest.mark.parametrize("potential", ["ons", "adagrad"])
def test_hundreds_of_rounds_and_many_rows_stay_on_the_reference(potential):
    """Beyond 20 directions, eigenvalues are LAPACK's."""
    X, y = stream(n=500, d=60)
    for rank in (3, 24):
        numbers = {"rank": rank, "eta": 0.5, "epsilon": 0.05}
        run = adareg(X, y, potential=potential, structure="sketch", **numbers)
        for of in (X, sparse.csr_array(X)):
            model = learn(estimator(potential, "sketch", average=True, **numbers), of, y)
            np.testing.assert_allclose(weights_of(model), run.x_mean, **EXACT)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_units_that_grow_by_any_factor_stay_on_the_reference(potential, update):
    """A Gram matrix that has lost its digits to the growth is worked out anew."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    for start, factor in ((20, 3.0), (40, 1e3), (60, 1e7)):
        X[start:, : start // 20 + 1] *= factor
    y = np.where(rng.normal(size=90) + X[:, 4] > 0, 1.0, -1.0)
    params = {"potential": potential, "structure": "sketch", "update": update, "rank": 2}
    params |= {"eta": 0.5, "epsilon": 0.1, "average": 2.0}
    expected, loss = scaled_adareg(X, y, **params)
    for of in (X, sparse.csr_array(X)):
        model = AdaRegClassifier(refresh=0.0, max_iter=1, shuffle=False, tol=None, **params)
        model.fit(of, y)
        scales = np.append(np.max(np.abs(X), axis=0), 1.0)
        np.testing.assert_allclose(weights_of(model) * scales, expected * scales, **EXACT)
        assert model.loss_curve_ == [pytest.approx(loss, rel=1e-9)]


@pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot()])
@pytest.mark.parametrize("refresh", [0.0, 0.5])
def test_parts_of_a_stream_are_the_whole_to_the_bit(potential, refresh):
    X, y = stream()
    whole = learn(estimator(potential, "sketch", refresh=refresh), X, y)
    parts = estimator(potential, "sketch", refresh=refresh)
    for start in range(0, len(y), 7):
        parts = pickle.loads(pickle.dumps(learn(parts, X[start : start + 7], y[start : start + 7])))
    np.testing.assert_array_equal(weights_of(parts), weights_of(whole))


def test_a_gradient_of_zero_is_no_row():
    g = gradients(n=20)
    one, other = core(7, "adagrad", "sketch"), core(7, "adagrad", "sketch")
    for row in g:
        one.step(row)
        other.step(row)
        other.step(np.zeros(7))
    np.testing.assert_array_equal(other.x, one.x)
    np.testing.assert_array_equal(other.G, one.G)


# --- what is proved -------------------------------------------------------------------------------


def above(A, B):
    """Whether A ⪰ B, up to rounding."""
    return np.linalg.eigvalsh(A - B)[0] >= -1e-9 * np.linalg.norm(A)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_sketch_never_falls_and_is_above_the_sum_by_what_has_escaped(rank):
    learner, g = core(7, "ons", "sketch", rank=rank, epsilon=0.3), gradients()
    G, before = 0.3 * np.eye(7), 0.3 * np.eye(7)
    for row in g:
        learner.step(row)
        G += np.outer(row, row)
        assert above(learner.G, before + np.outer(row, row))
        assert above(learner.G, G)
        before = learner.G
    [block] = learner._state.blocks
    escaped = block.arrays["escaped"][0]
    assert above(G + escaped * np.eye(7), learner.G)
    tail = np.sort(np.linalg.eigvalsh(G - 0.3 * np.eye(7)))[::-1]
    limits = [tail[k:].sum() / (rank + 1 - k) for k in range(rank + 1)]
    assert 0.1 * min(limits) < escaped <= min(limits)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("potential", ["adagrad", "pnorm"])
def test_an_older_decomposition_serves_within_its_factor(potential, update):
    delta, power = 0.5, {"adagrad": 0.5, "pnorm": 1 / 3}[potential]
    learner = core(7, potential, "sketch", eta=0.5, refresh=delta, update=update, rank=3)
    older = 0
    for row in gradients():
        learner.step(row)
        lam, V = np.linalg.eigh(learner.G)
        H = (V * (0.5 * lam**-power)) @ V.T
        assert above(learner.H, H)
        assert above((1 + delta) ** power * H, learner.H)
        older += not np.allclose(learner.H, H, rtol=1e-6)
    assert 30 < older < 120


@pytest.mark.parametrize("rank", [1, 2, 6])
@pytest.mark.parametrize("potential", POTENTIALS)
def test_regret_is_below_theorem_1_and_the_closed_forms(potential, rank):
    rng = np.random.default_rng(1)
    numbers = {"eta": 0.7, "epsilon": 0.3}
    learner = AdaReg(6, potential, "sketch", rank=rank, domain="l2", radius=1.0, refresh=0.0, **numbers)
    x, H, g = [learner.x], [], gradients(3, n=200, D=6)
    H0 = learner.H
    signs = np.sign(g @ rng.normal(size=6))  # so that there is something to regret
    for row in signs[:, None] * g:
        learner.step(row)
        x.append(learner.x)
        H.append(learner.H)
    g = signs[:, None] * g
    G = 0.3 * np.eye(6) + g.T @ g
    best = -g.sum(axis=0) / np.linalg.norm(g.sum(axis=0))
    cloud = rng.normal(size=(20, 6))
    for x_star in [best, *(cloud / np.linalg.norm(cloud, axis=1, keepdims=True))]:
        known = regret.linear_regret(x, g, x_star)
        of = {"potential": potential, "p": 2.0, **numbers}
        assert known <= regret.theorem_1(x, g, H, x_star, H0=H0, **of)
        sketch = {"structure": "sketch", "rank": rank, "eta": 0.7}
        bounds = {"adagrad": regret.adagrad_bound, "pnorm": regret.pnorm_bound}
        if potential in bounds:
            bound = bounds[potential]
            own, most = bound(learner.G, 2.0, eta=0.7), bound(G, 2.0, **sketch)
            assert known <= own <= most * (1 + 1e-12)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_regret_of_ons_on_exp_concave_losses_is_below_its_bound(rank):
    """f_t(x) = ½(z·x − y)² with |z·x − y| ≤ 2 is ¼-exp-concave in the paper's sense."""
    rng = np.random.default_rng(2)
    Z = gradients(4, n=300, D=5)
    Z /= np.maximum(1.0, np.linalg.norm(Z, axis=1, keepdims=True))
    y = np.clip(Z @ rng.normal(size=5) + 0.3 * rng.normal(size=300), -1, 1)
    eta, epsilon = 4.0, 0.5
    learner = AdaReg(5, "ons", "sketch", rank=rank, eta=eta, epsilon=epsilon, domain="l2", radius=1.0)
    incurred, G = 0.0, epsilon * np.eye(5)
    for z, label in zip(Z, y, strict=True):
        r = z @ learner.x - label
        incurred += r**2 / 2
        G += r**2 * np.outer(z, z)
        learner.step(z, r)
    best = np.linalg.lstsq(Z, y, rcond=None)[0]
    best /= max(1.0, np.linalg.norm(best))
    bound = regret.ons_bound(G, 2.0, epsilon=epsilon, eta=eta, structure="sketch", rank=rank)
    assert incurred - np.sum((Z @ best - y) ** 2) / 2 <= bound
    assert bound >= regret.ons_bound(G, 2.0, epsilon=epsilon, eta=eta)


def test_the_error_term_of_a_sketch():
    G = np.diag([100.0, 10.0, 4.0, 2.0])
    # rank 2: min of 116/3, 16/2 and 6/1
    for bound in (regret.adagrad_bound, regret.pnorm_bound):
        wider = bound(G + 6.0 * np.eye(4), 2.0, eta=1.0)
        assert bound(G, 2.0, eta=1.0, structure="sketch", rank=2) == pytest.approx(wider)
        whole = bound(G, 2.0, eta=1.0, structure="sketch", rank=4)
        assert whole == pytest.approx(bound(G, 2.0, eta=1.0))
    # of G − εI: min of 112/3, 13/2 and 4/1
    sketch = regret.ons_bound(G, 2.0, epsilon=1.0, eta=1.0, structure="sketch", rank=2)
    log_det = np.sum(np.log(np.diag(G) + 4.0))
    assert sketch == pytest.approx((1.0 + 4.0) * 2.0 + (4 + log_det) / 2)
    for rank in (None, 0, 1.5):
        with pytest.raises(ValueError, match="structure='sketch' needs its rank"):
            regret.adagrad_bound(G, 2.0, structure="sketch", rank=rank)


def test_the_reference_shrinks_as_frequent_directions_do():
    own = FrequentDirections(3, 1, 0.5)
    for row in ([3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]):
        own.add(np.array(row))
    # two rows were in use, of squares 9 and 4: 4 went from both
    assert own.escaped == pytest.approx(4.0)
    np.testing.assert_allclose(own.G, np.diag([0.5 + 4 + 5, 0.5 + 4, 0.5 + 4 + 1]))


# --- transactions ---------------------------------------------------------------------------------


class Fails(FourthRoot):
    """In the call that is to fail."""

    left = -1

    def psi(self, eigenvalues):
        Fails.left -= 1
        if Fails.left == 0:
            raise RuntimeError("no step")
        return super().psi(eigenvalues)


@pytest.mark.parametrize("scaling", [None, "online"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("operator_antitone", [False, True])
def test_a_round_that_fails_leaves_no_trace(update, scaling, operator_antitone, monkeypatch):
    """Also where it would have shrunk the rows, or changed units."""
    monkeypatch.setattr(Fails, "operator_antitone", operator_antitone)
    X, y = stream(n=40)
    X[np.arange(40), np.arange(40) % 6] *= np.linspace(1, 5, 40)
    make = {"update": update, "scaling": scaling, "refresh": 0.5, "rank": 2}
    for calls in range(2, 30):
        model, twin = (estimator(Fails(), "sketch", **make) for _ in range(2))
        Fails.left = calls
        try:
            learn(model, X, y)
        except RuntimeError:
            done = getattr(model, "t_", 0)
        else:
            break
        Fails.left = -1
        if done:
            learn(twin, X[:done], y[:done])
        for each in (model, twin):
            learn(each, X[done:], y[done:])
        np.testing.assert_array_equal(weights_of(model), weights_of(twin))
    assert calls > 20


# --- parameters and states ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["filled", "served"])
@pytest.mark.parametrize("value", [-1.0, 5.0, 1e9, 0.5, np.nan])
def test_counts_out_of_range_are_refused(name, value):
    model = learn(estimator("adagrad", "sketch", refresh=0.5, rank=2), *stream())
    kept = model.__getstate__()
    kept["_state"]["blocks"][0]["arrays"][name][:] = value
    with pytest.raises(ValueError, match=rf"its array '{name}' has numbers that are not"):
        AdaRegClassifier().__setstate__(kept)


@pytest.mark.parametrize("rank", [0, -1, 1.5, "auto", None])
def test_what_is_no_rank_is_refused(rank):
    with pytest.raises(ValueError, match="'rank' parameter"):
        estimator("ons", "sketch", rank=rank).fit(*stream())
    with pytest.raises(ValueError, match="'rank' parameter of AdaReg"):
        AdaReg(3, structure="sketch", rank=rank)


def test_a_rank_without_the_structure_is_warned_of():
    with pytest.warns(UserWarning, match="rank=3 has no effect with structure='diag'"):
        estimator("ons", "diag", rank=3).fit(*stream())


def test_a_running_model_keeps_its_rank():
    model = learn(estimator("ons", "sketch", rank=3), *stream())
    model.set_params(rank=4)
    with pytest.raises(ValueError, match="rank was 3 when this model began"):
        learn(model, *stream())


def test_an_l1_penalty_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="l1_ratio > 0 with structure='sketch' is not supported"):
        estimator("ons", "sketch", alpha=0.1, l1_ratio=0.5).fit(*stream())


def test_memory_grows_with_rank_times_features():
    X = sparse.random(20, 200_000, density=1e-4, random_state=0, format="csr")
    y = X @ np.ones(200_000)
    model = AdaRegRegressor("ons", "sketch", rank=2).partial_fit(X, y)
    held = sum(a.nbytes for a in model._state.blocks[0].arrays.values() if hasattr(a, "nbytes"))
    assert held < 8 * 200_001 * 17  # of two members with four rows each
    with pytest.raises(ValueError, match="structure='sketch' on 200000 features would take"):
        AdaRegRegressor("ons", "sketch", rank=200_000).fit(X, y)
    with pytest.raises(ValueError, match="structure='sketch' on 200000 features would take"):
        AdaRegRegressor("ons", "sketch", rank=2, domain="l2", radius=1.0).fit(X, y)
