"""A broken container or a damaged file is refused in a sentence, before a kernel sees it."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from streams import STRUCTURES, estimator, learn, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, _registry

X, SCORE = rows(0, n=40)
Y = target("log_loss", SCORE)


# --- containers -----------------------------------------------------------------------------------


def csr(**changes):
    """The rows as CSR, with some of its arrays replaced behind scipy's back."""
    matrix = sparse.csr_array(X)
    for name, value in changes.items():
        setattr(matrix, name, value)
    return matrix


def moved(where, by):
    pointers = sparse.csr_array(X).indptr.copy()
    pointers[where] += by
    return pointers


def repeated():
    """A row of 60 values in 5 columns that claims to name no column twice."""
    pointers = np.concatenate([[0], np.full(40, 60)]).astype(np.int32)
    matrix = sparse.csr_array((np.ones(60), np.arange(60, dtype=np.int32) % 5, pointers), (40, 5))
    matrix.has_canonical_format = True
    return matrix


GOOD = sparse.csr_array(X)
BROKEN = {
    "pointer beyond the values": lambda: csr(indptr=moved(-1, 1000)),
    "pointers that fall": lambda: csr(indptr=moved(3, 50)),
    "first pointer": lambda: csr(indptr=moved(0, -4)),
    "too few pointers": lambda: csr(indptr=GOOD.indptr[:-5]),
    "too few values": lambda: csr(data=GOOD.data[:-7]),
    "too few columns numbers": lambda: csr(indices=GOOD.indices[:-7]),
    "column too large": lambda: csr(indices=GOOD.indices + 10**6),
    "column negative": lambda: csr(indices=GOOD.indices - 10**6),
    "canonical by name only": repeated,
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_csr_matrix_is_refused(broken, structure):
    words = "build the (CSR )?matrix anew"
    new, running = estimator("adagrad", structure), learn(estimator("ons", structure), X, Y)
    before = running.coef_.copy()
    predictions = [
        lambda: running.predict(BROKEN[broken]()),
        lambda: running.decision_function(BROKEN[broken]()),
    ]
    for attempt in [
        lambda: new.fit(BROKEN[broken](), Y),
        lambda: new.partial_fit(BROKEN[broken](), Y, classes=[-1, 1]),
        lambda: running.partial_fit(BROKEN[broken](), Y),
        *predictions,
    ]:
        if broken == "canonical by name only" and attempt in predictions:
            attempt()  # adds up what comes twice
            continue
        with pytest.raises(ValueError, match=words):
            attempt()
    assert not hasattr(new, "coef_")
    np.testing.assert_array_equal(running.coef_, before)


def test_columns_named_twice_are_added_up():
    doubled = sparse.csr_array(
        (np.tile(GOOD.data / 2, 1).repeat(2), GOOD.indices.repeat(2), 2 * GOOD.indptr), (40, 5)
    )
    one, other = learn(estimator(), GOOD, Y), learn(estimator(), doubled, Y)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-12)


# --- saved states ---------------------------------------------------------------------------------


def saved(**params):
    y = SCORE if params.get("loss") == "squared_error" else Y
    model = learn(estimator(**params), X, y)
    kept = model.__getstate__()
    kept["_state"] = kept["_state"].copy()
    return type(model), kept


def load(cls, kept):
    """What unpickling and skops do."""
    model = cls.__new__(cls)
    model.__setstate__(kept)
    return model


def damage_array(name, change):
    def damage(state):
        for block in state.blocks:
            if name in block.arrays:
                block.arrays[name] = change(block.arrays[name])

    return damage


def damage_recipe(**changes):
    def damage(state):
        for part in (state, *state.blocks):
            part.recipe = type(part.recipe)(**{**vars(part.recipe), **changes})

    return damage


def damage_classes(state):
    state.classes = np.arange(7)


DAMAGES = {
    "short cells": damage_array("cells", lambda a: a[:, :1, :1].copy()),
    "single cells": damage_array("cells", lambda a: a.astype(np.float32)),
    "no cells": damage_array("cells", lambda a: None),
    "short clock": damage_array("clock", lambda a: a[:1]),
    "clock of NaN": damage_array("clock", lambda a: a * np.nan),
    "other fields": damage_array("fields", lambda a: (*a, "z")),
    "more features": damage_recipe(d=50),
    "far more features": damage_recipe(d=10**15),
    "no number of features": damage_recipe(d="five"),
    "more lanes": damage_recipe(lanes=3),
    "unknown structure": damage_recipe(structure="cube"),
    "unknown update": damage_recipe(update="sideways"),
    "no blocks": lambda state: setattr(state, "blocks", []),
    "more classes": damage_classes,
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_state_that_does_not_fit_its_recipe_is_refused(damage, structure):
    cls, kept = saved(potential="ons", structure=structure)
    DAMAGES[damage](kept["_state"])
    with pytest.raises(
        ValueError, match=r"This saved model cannot be read, since .* fit the model"
    ):
        load(cls, kept)


@pytest.mark.parametrize("value", [-1.0, 1e9, 2.5, np.nan])
def test_a_count_out_of_range_is_refused(value):
    cls, kept = saved(potential="ons", structure="full")
    damage_array("count", lambda a: np.full_like(a, value))(kept["_state"])
    with pytest.raises(ValueError, match="count of pending updates"):
        load(cls, kept)


@pytest.mark.parametrize("value", [-1.0, 1e9, np.nan])
@pytest.mark.parametrize("name", ["charged", "fade", "turn"])
@pytest.mark.parametrize(
    "structure", [name for name in STRUCTURES if _registry.STRUCTURES[name].forgets]
)
def test_a_half_life_out_of_range_is_refused(structure, name, value):
    for update in ("mirror_descent", "dual_averaging"):
        cls, kept = saved(
            potential="ons", structure=structure, half_life=5.0, eta=0.5, update=update
        )
        for array in [a for a in kept["_state"].blocks[0].arrays if a.rpartition(":")[2] == name]:
            before = kept["_state"].blocks[0].arrays[array]
            damage_array(array, lambda a: np.full_like(a, value))(kept["_state"])
            with pytest.raises(ValueError, match=f"cannot be read, since its array '.*{name}'"):
                load(cls, kept)
            damage_array(array, lambda a, before=before: before)(kept["_state"])
        assert load(cls, kept).t_ == 40


@pytest.mark.parametrize("kept_format", ["99", None, 0, 2.5])
def test_a_format_that_is_none_is_refused(kept_format):
    _, kept = saved()
    state = kept["_state"]
    content = {**state.__getstate__(), "format": kept_format}
    if kept_format is None:
        del content["format"]
    with pytest.raises(ValueError, match=r"cannot be read, since its format is .*, which is not"):
        type(state).__new__(type(state)).__setstate__(content)


@pytest.mark.parametrize("name", ["d", "structure", "eta", None])
def test_a_recipe_that_lacks_something_is_refused(name):
    _, kept = saved()
    state = kept["_state"]
    for part in (state, state.blocks[0]):
        content = part.__getstate__()
        content["recipe"].pop(name, None)
        if name is None:
            del content["recipe"]
        with pytest.raises(ValueError, match="cannot be read, since its recipe is incomplete"):
            type(part).__new__(type(part)).__setstate__(content)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_is_whole_loads(structure):
    for params in ({}, {"loss": "squared_error"}, {"loss": "hinge", "domain": "l2", "radius": 0.3}):
        cls, kept = saved(structure=structure, **params)
        assert load(cls, kept).t_ == 40
    for model in (AdaRegClassifier(structure=structure), AdaRegRegressor(structure=structure)):
        y = np.digitize(SCORE, [-0.5, 2.0]) if isinstance(model, AdaRegClassifier) else X[:, :3]
        twin = pickle.loads(pickle.dumps(model.fit(X, y)))
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
