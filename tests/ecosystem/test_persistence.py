"""A model put away in mid-stream goes on as if it had never been away, to the bit."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from streams import (
    POTENTIALS,
    STRUCTURES,
    UPDATES,
    FourthRoot,
    estimator,
    learn,
    rows,
    target,
    weights_of,
)

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

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
VARIATIONS = [
    {"average": 2.0},
    {"average": False, "alpha": 0.05},
    {"average": True, "domain": "l2", "radius": 0.3},
]


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


def test_a_state_of_a_newer_format_is_refused_in_a_sentence():
    X, score = rows(1)
    model = learn(estimator(loss="squared_error"), X, score)
    state = type(model._state)
    kept = model._state.__getstate__()
    assert kept["format"] >= 1
    object.__new__(state).__setstate__(dict(kept))
    newer = {**kept, "format": kept["format"] + 1}
    with pytest.raises(ValueError, match=r"saved in format .* by a newer sklearn_adareg.*upgrade"):
        object.__new__(state).__setstate__(newer)


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
