"""``memory_``: the effective number of rows in use."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from support.data import estimator, learn, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

X, SCORE = rows(0, n=400)
Y = target("log_loss", SCORE)


@pytest.mark.parametrize("structure", ["diag", "full", "iso", "sketch"])
def test_what_never_forgets_uses_all_rows(structure):
    for params in ({}, {"eta": "auto", "scaling": "online", "half_life": None}):
        assert learn(estimator(structure=structure, **params), X, Y).memory_ == len(X)


def test_a_shuffled_fit_uses_all_rows():
    model = AdaRegClassifier(random_state=0).fit(X, Y)
    assert model.method_ == "information"
    assert model.memory_ == pytest.approx(model.t_) == pytest.approx(len(X))
    stack = AdaRegClassifier(structure="diag", max_iter=2, tol=None, random_state=0).fit(X, Y)
    assert stack.memory_ == stack.t_ == 2 * len(X)


@pytest.mark.parametrize("half_life", [1.0, 20.0, 1e7])
@pytest.mark.parametrize(
    "params",
    [
        {"potential": "adagrad", "structure": "diag", "eta": 0.5},
        {"potential": "ons", "structure": "full", "eta": 0.5},
        {"structure": "diag"},  # a stack
        {"epsilon": 1.0},  # one prior
        {},  # several priors of one memory
    ],
    ids=str,
)
def test_a_half_life_uses_a_geometric_series_of_rows(params, half_life):
    model = learn(AdaRegClassifier(half_life=half_life, **params), X, Y)
    series, constant = 2.0 ** (-np.arange(len(X)) / half_life), 0.0
    if model.method_ == "information":  # the constant prediction counts with all rows
        sizes = {name: abs(weight) for name, weight in model.candidate_weights_.items()}
        constant = sizes["constant"] / sum(sizes.values())
    expected = (1.0 - constant) * series.sum() + constant * len(X)
    assert model.memory_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["binary", "softmax", "one against the rest", "targets"])
def test_candidates_count_with_the_rows_that_they_use_by_their_weights(kind):
    several = np.digitize(SCORE, [-1.0, 1.0])
    model, y = {
        "binary": (AdaRegClassifier(), Y),
        "softmax": (AdaRegClassifier(), several),
        "one against the rest": (AdaRegClassifier(loss="hinge"), several),
        "targets": (AdaRegRegressor(), np.column_stack([SCORE, SCORE[::-1]])),
    }[kind]
    labels = {} if kind == "targets" else {"classes": np.unique(y)}
    model.partial_fit(X, y, **labels)
    recipe, t = model._state.recipe, model.t_
    longest, *shorter = recipe.kept
    kept = [longest] * len(recipe.epsilon) + [*shorter, *recipe.diagonal_kept, 1.0]
    used = [sum(lam**k for k in range(t)) for lam in kept]
    weights = np.array(list(model.candidate_weights_.values())).reshape(len(kept), -1).T
    assert len(weights) == (1 if kind in ("binary", "softmax") else len(model.coef_))
    of_blocks = [np.abs(weights[block.outputs()]).mean(axis=0) for block in model._state.blocks]
    rows_of_blocks = [np.average(used, weights=each) for each in of_blocks]
    outputs = [block.recipe.n_outputs for block in model._state.blocks]
    expected = np.average(rows_of_blocks, weights=outputs)
    assert 0 < model.memory_ < model.t_
    assert model.memory_ == pytest.approx(expected, rel=1e-9)
    assert pickle.loads(pickle.dumps(model)).memory_ == model.memory_


def test_it_falls_when_the_stream_changes_and_grows_back():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(6000, 4))
    sign = np.where(np.arange(6000) < 3000, 1.0, -1.0)
    y = (sign * (Z @ [2.0, -1.0, 1.0, 0.0]) + 0.3 * rng.normal(size=6000) > 0).astype(int)
    model = AdaRegClassifier()
    found = []
    for part in (slice(0, 3000), slice(3000, 3200), slice(3200, 6000)):
        found.append(model.partial_fit(Z[part], y[part], [0, 1]).memory_)
    before, after, late = found
    assert after < 250 < 2000 < before
    assert late > 2 * after


def test_reading_it_changes_nothing():
    watched, alone = AdaRegClassifier(), AdaRegClassifier()
    for i in range(0, 400, 40):
        learn(watched, X[i : i + 40], Y[i : i + 40])
        learn(alone, X[i : i + 40], Y[i : i + 40])
        assert watched.memory_ > 0
    np.testing.assert_array_equal(watched.coef_, alone.coef_)


def test_verbose_prints_it_beside_the_loss(capsys):
    model = AdaRegClassifier(verbose=1).partial_fit(X[:256], Y[:256], classes=[-1, 1])
    header, *_, last = capsys.readouterr().out.splitlines()
    assert header.split()[-1] == "memory"
    assert float(last.split()[-1]) == pytest.approx(model.memory_, rel=1e-5)


def test_there_is_none_before_the_first_row():
    assert not hasattr(AdaRegRegressor(), "memory_")


def test_a_copy_publishes_the_same_model():
    """What candidates count depends on the state alone: not on the rounds that the compiled method has seen, nor on their pass."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1500, 4))
    z = Z @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=1500)
    model = AdaRegRegressor().partial_fit(Z[:1000], z[:1000])
    for i in range(1000, 1300, 13):
        model.partial_fit(Z[i : i + 13], z[i : i + 13])
        twin = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(twin.coef_, model.coef_)
        assert twin.memory_ == model.memory_
    model = AdaRegRegressor(shuffle=False, max_iter=2, tol=None).fit(Z[:1490], z[:1490])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).coef_, model.coef_)


def turning(n=3000, d=120, seed=0):
    """Sparse rows whose weights change their signs in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2)
    weights = rng.normal(size=d) * np.where(np.arange(n)[:, None] < n // 2, 1.0, -1.0)
    margins = 0.6 * (X * weights).sum(axis=1)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-margins)), 1, -1)
    return X, y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_beyond_100_features_the_defaults_follow_a_change(form):
    X, y = turning()
    model = AdaRegClassifier().partial_fit(form(X[:1500]), y[:1500], classes=[-1, 1])
    before = model.memory_
    model.partial_fit(form(X[1500:]), y[1500:])
    never = AdaRegClassifier(half_life=None).partial_fit(form(X), y, classes=[-1, 1])
    assert before > 1400
    assert model.memory_ < 2900
    assert never.memory_ == 3000
    assert model.progressive_loss_ < never.progressive_loss_ - 0.02


def test_what_predicts_beyond_100_features_is_what_is_published():
    X, y = turning(600)
    losses = [np.log(2)]
    model = AdaRegClassifier().partial_fit(X[:1], y[:1], classes=[-1, 1])
    for row, label in zip(X[1:], y[1:], strict=True):
        losses.append(np.logaddexp(0, -label * model.decision_function([row])[0]))
        model.partial_fit([row], [label])
    assert model.progressive_loss_ == pytest.approx(np.mean(losses), rel=1e-9)


def test_a_copy_that_began_with_sparse_rows_goes_on_alike_with_dense_ones():
    X, y = turning(300, 101)
    model = AdaRegClassifier().partial_fit(sparse.csr_array(X[:200]), y[:200], classes=[-1, 1])
    copy = pickle.loads(pickle.dumps(model))  # whose numbers lie elsewhere
    for one in (model, copy):
        one.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(model.coef_, copy.coef_)
