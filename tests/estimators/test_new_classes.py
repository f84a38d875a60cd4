"""Classes that join in mid-stream: known ones lose nothing, new ones are learnt."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from support.attack_steps import snapshot

from sklearn_adareg import AdaRegClassifier
from sklearn_adareg.model import _runtime

K, N = 4, 600
LABELS = np.array([10, 20, 30, 40])


def blobs(d, n=N, seed=0):
    """Classes around centers of their own, in units of their own; all four in turn at random."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(1).normal(size=(K, d)) * 3.0 / np.sqrt(d)
    numbers = rng.integers(K, size=n)
    X = centers[numbers] + 0.7 * rng.normal(size=(n, d)) / np.sqrt(d)
    return X * 10.0 ** np.linspace(-2, 2, d) + np.linspace(-5, 5, d), LABELS[numbers]


MODELS = [
    pytest.param({}, 6, id="sums"),
    pytest.param({"shuffle": False}, 120, id="stack in a frame"),
    pytest.param({"loss": "hinge"}, 6, id="sums against the rest"),
    pytest.param({"loss": "modified_huber", "structure": "diag"}, 6, id="stacks against the rest"),
    pytest.param({"epsilon": 1.0}, 6, id="sums, one prior"),
    pytest.param({"half_life": 100.0}, 6, id="half-life"),
    pytest.param({"structure": "diag", "half_life": 100.0, "eta": 0.5}, 6, id="diag, half-life"),
    pytest.param({"alpha": 1e-3, "l1_ratio": 0.5}, 6, id="penalty"),
    *(
        pytest.param({"potential": p, "structure": s, "eta": 0.5, "scaling": c}, 6, id=f"{p}-{s}-{c}")
        for p in ("adagrad", "ons")
        for s in ("full", "block", "diag", "iso")
        for c in ("online", None)
    ),
]


def begun(params, d, as_sparse=False, n=300):
    """A model that knows the labels 10, 20 and 40, and all rows, those it has learnt first."""
    X, y = blobs(d)
    order = np.argsort(y == 30, kind="stable")
    X, y = X[order], y[order]
    if params.get("scaling", "online") is None:
        X = X / np.abs(X).max(axis=0)
    X = sparse.csr_array(X) if as_sparse else X
    model = AdaRegClassifier(**params).partial_fit(X[:n], y[:n], classes=[10, 20, 40])
    return model, X, y


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize(("params", "d"), MODELS)
def test_known_classes_lose_nothing(params, d, as_sparse):
    model, X, y = begun(params, d, as_sparse)
    before, coef, intercept = pickle.loads(pickle.dumps(model)), model.coef_, model.intercept_
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0], classes=LABELS)
    np.testing.assert_array_equal(model.classes_, LABELS)
    np.testing.assert_allclose(model.coef_[[0, 1, 3]], coef, rtol=1e-12, atol=1e-15)
    grown = model.intercept_[[0, 1, 3]] - intercept
    # the constant prediction of a softmax has its zero where it has the mean of all classes
    common = grown.mean() if model.method_ == "information" and model.loss == "log_loss" else 0.0
    np.testing.assert_allclose(grown, common, rtol=0.0, atol=1e-12 * np.abs(intercept).max() + 1e-15)
    np.testing.assert_array_equal(model.predict(X), before.predict(X))
    if model.loss == "log_loss":
        odds = model.predict_proba(X)
        assert 0 < odds[:, 2].max() <= 1 / (model.t_ + 3 + 1) * (1 + 1e-9)
        left = np.delete(odds, 2, axis=1)
        left /= left.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(left, before.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert model.t_ == before.t_
    assert model.progressive_loss_ == before.progressive_loss_


@pytest.mark.parametrize(("params", "d"), [case for case in MODELS if "ons" not in case.id])
def test_new_classes_are_learnt_and_old_ones_kept(params, d):
    model, X, y = begun(params, d)
    before = model.score(X[y != 30], y[y != 30])
    mixed = np.random.default_rng(2).permutation(N)
    model.partial_fit(X[mixed], y[mixed], classes=[40, 30, 20, 10])  # in any order
    assert model.score(X[y == 30], y[y == 30]) > 0.8
    assert model.score(X[y != 30], y[y != 30]) > before - 0.05


@pytest.mark.parametrize(("params", "d"), MODELS[:4])
def test_the_model_is_a_model_like_any_other(params, d):
    """Chunks, threads and pickles do not matter afterwards; sparse rows are the same as dense ones."""
    results = []
    for jobs, as_sparse, step in ((None, False, 300), (2, False, 7), (None, d == 6, 300)):
        model, X, y = begun({**params, "n_jobs": jobs}, d, as_sparse)
        for i in range(300, N, step):
            model.partial_fit(X[i : i + step], y[i : i + step], classes=LABELS)
            model = pickle.loads(pickle.dumps(model))
        results.append(model.decision_function(X))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(results[2], results[0], rtol=1e-5, atol=1e-6)


def test_a_new_output_has_the_matrices_of_a_new_model():
    model, X, y = begun({"potential": "ons", "structure": "full", "eta": 0.5, "epsilon": 0.3}, 6)
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0], classes=LABELS)
    [block] = model._state.blocks
    G = _runtime.method_of(block).structure.accumulated()
    np.testing.assert_allclose(G[2], 0.3 * np.eye(7))
    assert np.trace(G[0]) > 1.0


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_hinge"])
@pytest.mark.parametrize("rows", [300, 1100])
def test_a_new_class_has_no_sums_and_the_others_keep_theirs(loss, rows):
    """In the method of the defaults, while all rows are kept, and later; about what the sums are of."""
    X, y = blobs(4, 2 * rows)
    X, y = X[y != 30][:rows], y[y != 30][:rows]
    model = AdaRegClassifier(loss=loss).partial_fit(X, y, classes=[10, 20, 40])
    before = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0], classes=LABELS)
    blocks = [[block.arrays for block in each._state.blocks] for each in (before, model)]
    if loss == "log_loss":
        (old,), (new,) = blocks
        pairs = [(c, e) for c in range(4) for e in range(c, 4)]
        known = [pair for pair in pairs if 2 not in pair]
        for place, pair in enumerate(pairs):
            G = new["G"][:, :, place]
            assert G.any() == (2 not in pair)
            if 2 not in pair:
                np.testing.assert_array_equal(G, old["G"][:, :, known.index(pair)])
        r, counts = new["r"].swapaxes(0, 2), new["counts"].T
        assert not r[2].any()
    else:
        old, new = ([np.concatenate([a[name] for a in part]) for name in ("G", "r")] for part in blocks)
        for before_, after in zip(old, new, strict=True):
            np.testing.assert_array_equal(after[[0, 1, 3]], before_)
            assert not after[2].any()
        counts = np.concatenate([a["counts"] for a in blocks[1]])[:, 1]
    assert not counts[2].any()
    old, new = blocks[0][0], blocks[1][0]
    for name in ("clock", "numbers", "columns", "centre"):
        np.testing.assert_array_equal(new[name], old[name])
    held = len(old["row_values"])  # of a model that was saved
    assert held == 300 if rows == 300 else 0 < held < 100
    for name in ("row_values", "row_weights"):
        np.testing.assert_array_equal(new[name][:held], old[name])
    numbers = np.array([0, 1, 3])[old["row_targets"].astype(int)]
    np.testing.assert_array_equal(new["row_targets"][:held], numbers)


def test_a_softmax_may_outgrow_its_joint_matrix():
    """Beyond a number of classes times coordinates each class has a matrix of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 30))
    y = np.argmax(X[:, :13], axis=1)
    model = AdaRegClassifier().partial_fit(X[y < 12], y[y < 12], classes=np.arange(12))
    assert model._state.recipe.coupled
    model.partial_fit(X, y, classes=np.arange(13))
    assert not model._state.recipe.coupled
    assert model._state.blocks[0].arrays["G"].shape[2] == 13
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.6
    assert pickle.loads(pickle.dumps(model)).predict(X[:1]) == model.predict(X[:1])


def test_it_may_happen_while_coordinates_are_still_chosen():
    """Rows that are kept to be learnt anew know their classes by numbers, which change."""
    X, y = blobs(150)
    known = y != 10
    late, whole = AdaRegClassifier(), AdaRegClassifier()
    late.partial_fit(X[known][:20], y[known][:20], classes=[20, 30, 40])
    late.partial_fit(X[known][20:100], y[known][20:100], classes=LABELS)
    whole.partial_fit(X[known][:100], y[known][:100], classes=LABELS)
    np.testing.assert_allclose(late.coef_, whole.coef_, rtol=1e-5, atol=1e-12)


def test_several_times_and_with_strings():
    X, y = blobs(5)
    names = np.array(["ant", "bee", "butterfly", "cat"])[np.searchsorted(LABELS, y)]
    model = AdaRegClassifier().partial_fit(X[:1], ["bee"], classes=["bee", "cat", "dog"])
    model.partial_fit(X[:1], ["butterfly"], classes=["bee", "cat", "dog", "butterfly"])
    model.partial_fit(X, names, classes=["ant", "bee", "cat", "dog", "butterfly"])
    assert model.classes_.tolist() == ["ant", "bee", "butterfly", "cat", "dog"]
    assert model.score(X, names) > 0.9


def test_progressive_predictions_know_the_new_class():
    model, X, y = begun({}, 6)
    said = model.partial_fit_predict(X[300:], y[300:], classes=LABELS, method="predict_proba")
    assert said.shape == (300, 4)
    np.testing.assert_allclose(said.sum(axis=1), 1.0)
    assert said[0, 2] <= 1 / 304


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"update": "dual_averaging", "eta": 0.5, "potential": "adagrad"}, "update='dual_averaging'"),
        ({"domain": "l2", "radius": 1.0}, "domain='l2'"),
        ({"structure": "sketch", "rank": 2}, "structure='sketch'"),
        ({"structure": "kronecker"}, "structure='kronecker'"),
    ],
)
def test_what_cannot_grow_says_so_and_goes_on(params, words):
    model, X, y = begun(params, 6)
    before = snapshot(model)
    with pytest.raises(ValueError, match=f"cannot take them in: .*{words}.*first call"):
        model.partial_fit(X[:9], y[:9], classes=LABELS)
    assert snapshot(model) == before
    model.partial_fit(X[:9], y[:9], classes=[10, 20, 40])


def test_two_classes_stay_two():
    model = AdaRegClassifier().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="two classes with one weight vector"):
        model.partial_fit([[2.0]], [2], classes=[0, 1, 2])


def test_a_known_class_cannot_go():
    model, X, y = begun({}, 6)
    with pytest.raises(ValueError, match="lacks 20, which this model has learnt"):
        model.partial_fit(X[:1], y[:1], classes=[10, 30, 40])


@pytest.mark.parametrize("bad", ["rows", "labels"])
def test_a_call_that_is_refused_adds_no_class(bad):
    model, X, y = begun({}, 6)
    rows, labels = X[:2].copy(), y[:2].copy()
    if bad == "rows":
        rows[1, 0] = np.nan
    else:
        labels[1] = 99
    with pytest.raises(ValueError, match="NaN" if bad == "rows" else "label 99"):
        model.partial_fit(rows, labels, classes=LABELS)
    assert len(model.classes_) == 3
    assert model.t_ == 300


def test_a_call_that_stops_at_its_first_row_adds_no_class():
    model, X, y = begun({}, 6)
    with pytest.raises(ValueError, match="Stopped at row 0"):
        model.partial_fit(X[:2] * 1e250, y[:2], classes=LABELS, sample_weight=[1e250, 1.0])
    assert len(model.classes_) == 3
    assert model.coef_.shape == (3, 6)
