"""A model put away in mid-stream goes on as if it had never been away, to the bit."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support.data import POTENTIALS, STRUCTURES, UPDATES, FourthRoot, estimator, learn, rows, target, weights_of

import sklearn_adareg
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, load_model, save_model

CUT = 45  # one fold behind, thirteen updates pending


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


def through_protocol_2(model):
    return pickle.loads(pickle.dumps(model, protocol=2))


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file, compress=3)
    file.seek(0)
    return joblib.load(file)


WAYS = [through_pickle, through_protocol_2, through_joblib, copy.deepcopy]
VARIATIONS = [{"average": 2.0}, {"average": False, "alpha": 0.05}, {"average": True, "domain": "l2", "radius": 0.3}]


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", [*POTENTIALS, FourthRoot()], ids=[*POTENTIALS, "custom"])
def test_a_model_goes_on_after_a_round_trip(potential, structure, update, change):
    X, score = rows(1)
    X, y = change(X), target("log_loss", score)
    for params in VARIATIONS:
        model = learn(estimator(potential, structure, update=update, **params), X[:CUT], y[:CUT])
        twins = [way(model) for way in WAYS]
        coef = weights_of(model).copy()
        learn(model, X[CUT:], y[CUT:])
        for twin in twins:
            np.testing.assert_array_equal(weights_of(twin), coef)  # untouched by the original
            learn(twin, X[CUT:], y[CUT:])
            np.testing.assert_array_equal(weights_of(twin), weights_of(model))
            for name in ("t_", "progressive_loss_", "n_iter_", "loss_curve_", "eta_", "epsilon_"):
                assert getattr(twin, name) == getattr(model, name)
            assert twin.potential_ == model.potential_
            np.testing.assert_array_equal(twin.classes_, model.classes_)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_original_is_untouched_by_what_its_copy_learns(structure):
    X, score = rows(1)
    for way in WAYS:
        model = learn(estimator("ons", structure, loss="squared_error"), X[:CUT], score[:CUT])
        before = weights_of(model).copy()
        learn(way(model), X[CUT:], score[CUT:])
        np.testing.assert_array_equal(weights_of(model), before)
        assert model.t_ == CUT


@pytest.mark.parametrize("structure", STRUCTURES)
def test_warm_started_epochs_go_on_after_a_round_trip(structure):
    X, score = rows(1)
    make = {"loss": "squared_error", "warm_start": True, "shuffle": True, "random_state": 0}
    model = estimator("adagrad", structure, **make).fit(X, score)
    twin = through_pickle(model)
    np.testing.assert_array_equal(weights_of(model.fit(X, score)), weights_of(twin.fit(X, score)))


def test_a_copy_predicts_the_same():
    X, score = rows(1)
    model = learn(estimator("ons", "full"), X, target("log_loss", score))
    for way in WAYS:
        np.testing.assert_array_equal(way(model).predict_proba(X), model.predict_proba(X))
    sparser = through_pickle(model.sparsify())
    assert sparse.issparse(sparser.coef_)
    np.testing.assert_allclose(sparser.predict_proba(X), model.densify().predict_proba(X))


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_model_in_a_read_only_memory_map_predicts_and_learns(structure, published, tmp_path):
    """As joblib hands models to worker processes."""
    X, score = rows(1)
    model = learn(estimator("ons", structure), X[:CUT], target("log_loss", score)[:CUT])
    if published:
        model.predict(X)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    np.testing.assert_array_equal(mapped.decision_function(X), model.decision_function(X))
    for each in (mapped, model):
        learn(each, X[CUT:], target("log_loss", score)[CUT:])
    np.testing.assert_array_equal(weights_of(mapped), weights_of(model))


def test_a_pickle_does_not_grow_with_the_stream():
    X, score = rows(1)
    model = estimator("ons", "full", loss="squared_error")
    sizes = []
    for passes in (20, 20, 40):
        for _ in range(passes):
            learn(model, X, score)
        sizes.append(len(pickle.dumps(model)))
    # the progressive curve has as many points after twice as many rows, and one more power of two
    assert max(sizes) < min(sizes) + 200


# --- the method "information", which keeps rows ----------------------------------------------------


def streams():
    """Kind → a model by sums, rows, targets and what its first call takes."""
    rng = np.random.default_rng(3)
    narrow = rng.normal(size=(1400, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 1e3]
    score = narrow[:, 0] - narrow[:, 1] / 10.0 + rng.normal(size=1400)
    thin = sparse.random(1400, 70, 0.1, format="csr", random_state=3)
    three = np.digitize(score, [-1.0, 0.5])
    two = (score > 0).astype(int)
    full = {"structure": "full"}
    return {
        "two classes": (AdaRegClassifier(), narrow, two),
        "softmax": (AdaRegClassifier(), narrow, three),
        "one against the rest": (AdaRegClassifier(loss="hinge"), narrow, three),
        "targets": (AdaRegRegressor(), narrow, np.column_stack([score, -score])),
        "sparse": (AdaRegClassifier(**full), thin, two),
        "sparse, then dense": (AdaRegClassifier(**full), thin, two),
        "penalty": (AdaRegRegressor(alpha=0.01, l1_ratio=0.5), narrow, score),
        "half-life": (AdaRegClassifier(half_life=100.0), narrow, two),
    }


def go_on(model, X, y, rows_of_call, dense_later=False):
    first = {"classes": np.unique(y)} if y.ndim == 1 and y.dtype.kind == "i" else {}
    part = X[rows_of_call]
    part = part.toarray() if dense_later and rows_of_call.start else part
    return model.partial_fit(part, y[rows_of_call], **first)


@pytest.mark.parametrize("cut", [1, 45, 301, 1030, 1391])
@pytest.mark.parametrize("kind", streams())
def test_a_learner_goes_on_as_if_it_had_not_been_saved(kind, cut, tmp_path):
    """While all rows are kept, and when rows wait for the end of a block."""
    model, X, y = streams()[kind]
    end, dense = min(cut + 150, 1400), kind == "sparse, then dense"
    whole = go_on(go_on(clone(model), X, y, slice(0, cut)), X, y, slice(cut, end), dense)
    half = go_on(clone(model), X, y, slice(0, cut))
    joblib.dump(half, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    save_model(half, tmp_path / "model.adareg")
    twins = [mapped, load_model(tmp_path / "model.adareg"), *(way(half) for way in WAYS)]
    for twin in [*twins, half]:
        np.testing.assert_array_equal(twin.coef_, half.coef_)
        np.testing.assert_array_equal(twin.predict(X), half.predict(X))
    for twin in [*twins, half]:
        go_on(twin, X, y, slice(cut, end), dense)
        np.testing.assert_array_equal(twin.coef_, whole.coef_)
        np.testing.assert_array_equal(twin.intercept_, whole.intercept_)
        assert twin.progressive_loss_ == whole.progressive_loss_
        assert pickle.loads(pickle.dumps(twin)).memory_ == whole.memory_


OF_COLUMNS = 3  # values of a column that a model knows: the least, the largest and the middle one


def marks_in(content, marks):
    """The values that stand in a file."""
    return [mark for mark in marks if np.float64(mark).tobytes() in content]


def test_a_file_has_rows_that_are_kept_and_no_others():
    model, X, y = streams()["two classes"]
    marks = X[:45, 0]
    go_on(model, X, y, slice(0, 45))
    assert marks_in(pickle.dumps(model), marks) == list(marks)
    go_on(model, X, y, slice(45, 1300))
    assert len(marks_in(pickle.dumps(model), marks)) <= OF_COLUMNS


@pytest.mark.parametrize("kind", streams())
def test_forgotten_rows_are_in_no_file_and_the_model_goes_on(kind):
    model, X, y = streams()[kind]
    go_on(model, X, y, slice(0, 300))
    dense = X.toarray() if sparse.issparse(X) else X
    marks = dense[:300, 0][dense[:300, 0] != 0.0]
    size = len(pickle.dumps(model))
    assert model.forget_rows() is model
    assert model.t_ == 300
    assert len(marks_in(pickle.dumps(model), marks)) <= OF_COLUMNS
    assert all(len(block.arrays["row_values"]) == 0 for block in model._state.blocks)
    assert len(pickle.dumps(model)) < (0.7 if kind.startswith("sparse") else 0.5) * size
    before, twin = model.predict(X), pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.forget_rows().predict(X), before)
    for each in (model, twin):
        go_on(each, X, y, slice(300, 1400))
    np.testing.assert_array_equal(twin.coef_, model.coef_)
    whole = go_on(streams()[kind][0], X, y, slice(0, 1400))
    close = np.mean(model.predict(X) == whole.predict(X)) > 0.8
    if not hasattr(model, "classes_"):
        close = np.corrcoef(model.predict(X).ravel(), whole.predict(X).ravel())[0, 1] > 0.98
    assert close


def test_rows_kept_for_coordinates_are_forgotten_too():
    X = np.random.default_rng(0).normal(size=(60, 120)) + 3.0
    model = AdaRegRegressor().partial_fit(X, X[:, 0])
    assert marks_in(pickle.dumps(model), X[:40, 0]) == list(X[:40, 0])
    before = model.coef_.copy()
    model.forget_rows()
    np.testing.assert_array_equal(model.coef_, before)
    assert len(marks_in(pickle.dumps(model), X[:40, 0])) <= OF_COLUMNS
    assert model.partial_fit(X, X[:, 0]).t_ == 120


def test_a_model_that_has_learnt_nothing_has_nothing_to_forget():
    with pytest.raises(ValueError, match="not fitted"):
        AdaRegRegressor().forget_rows()
    model = AdaRegClassifier().partial_fit(np.ones((2, 3)), [0, 1], classes=[0, 1], sample_weight=[0.0, 0.0])
    assert model.forget_rows().partial_fit(np.eye(3), [0, 1, 1]).t_ == 3


def test_a_state_of_a_newer_format_is_refused_in_a_sentence():
    X, score = rows(1)
    model = learn(estimator(loss="squared_error"), X, score)
    kept = model.__getstate__()
    assert kept["_state"]["format"] >= 1
    AdaRegRegressor().__setstate__(kept)
    kept["_state"]["format"] += 1
    with pytest.raises(ValueError, match=r"saved in format .* by a newer sklearn_adareg.*upgrade"):
        AdaRegRegressor().__setstate__(kept)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [AdaRegClassifier, AdaRegRegressor])
def test_clone_takes_the_parameters_and_leaves_what_was_learnt(cls):
    X, score = rows(1)
    y = target("log_loss", score)
    model = cls(FourthRoot(0.2), "iso", alpha=0.1, average=False, max_iter=1).fit(X, y)
    twin = clone(model)
    assert not hasattr(twin, "coef_")
    assert not hasattr(twin, "n_features_in_")
    assert twin.get_params() == model.get_params()
    np.testing.assert_array_equal(
        weights_of(twin.set_params(shuffle=False).fit(X, y)),
        weights_of(clone(model).set_params(shuffle=False).fit(X, y)),
    )


@pytest.mark.parametrize("cls", [AdaRegClassifier, AdaRegRegressor])
def test_parameters_are_kept_as_they_were_given(cls):
    given = {"potential": "pnorm", "structure": "iso", "p": 3, "eta": np.float32(0.5), "alpha": 0}
    model = cls(**given)
    X, score = rows(1)
    model.set_params(max_iter=1).fit(X, target("log_loss", score))
    for name, value in given.items():
        assert model.get_params()[name] is value
    assert model.set_params(eta=0.25) is model
    assert model.eta == 0.25
    with pytest.raises(ValueError, match="Invalid parameter 'learning_rate'"):
        model.set_params(learning_rate=1.0)


def test_potential_and_structure_may_be_positional_and_the_rest_is_by_name():
    model = AdaRegClassifier("ons", "diag")
    assert (model.potential, model.structure) == ("ons", "diag")
    with pytest.raises(TypeError):
        AdaRegClassifier("ons", "diag", "hinge")


@pytest.mark.parametrize("cls", [AdaRegClassifier, AdaRegRegressor])
def test_the_printed_form_makes_the_same_estimator(cls):
    model = cls("ons", "full", eta=2.0, domain="l2", radius=1.5)
    again = eval(repr(model), {cls.__name__: cls})
    assert again.get_params() == model.get_params()


def test_a_users_potential_compares_by_what_it_holds():
    assert FourthRoot(0.3) == FourthRoot(0.3)
    assert FourthRoot(0.3) != FourthRoot(0.4)
    assert hash(FourthRoot(0.3)) == hash(FourthRoot(0.3))


def public_classes():
    """Pairs of a public path and its class."""
    modules = [sklearn_adareg, *map(sklearn_adareg.__getattr__, sklearn_adareg._MODULES)]
    for module in modules:
        for name in module.__all__:
            if isinstance(getattr(module, name), type):
                yield f"{module.__name__}.{name}", getattr(module, name)


def test_a_saved_object_names_its_class_by_the_public_path():
    found = dict(public_classes())
    assert len(found) > 15
    for path, public in found.items():
        assert f"{public.__module__}.{public.__qualname__}" == path
        assert pickle.loads(pickle.dumps(public)) is public
