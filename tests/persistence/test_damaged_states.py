"""A saved state that is damaged is refused in a sentence when it is loaded, before a kernel sees it."""

import copy
import pickle
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from support.data import STRUCTURES, estimator, learn, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _recipe, _registry
from sklearn_adareg.persistence import _recipe_checks

X, SCORE = rows(0, n=40)
Y = target("log_loss", SCORE)


def saved(**params):
    y = SCORE if params.get("loss") == "squared_error" else Y
    model = learn(estimator(**params), X, y)
    return type(model), model.__getstate__()


def load(cls, kept):
    """What unpickling and skops do."""
    model = cls.__new__(cls)
    model.__setstate__(kept)
    return model


def damage_array(name, change):
    def damage(state):
        for block in state["blocks"]:
            if name in block["arrays"]:
                block["arrays"][name] = change(block["arrays"][name])

    return damage


def damage_recipe(**changes):
    return lambda state: state["recipe"].update(changes)


DAMAGES = {
    "short cells": damage_array("cells", lambda a: a[:, :1, :1].copy()),
    "single cells": damage_array("cells", lambda a: a.astype(np.float32)),
    "cells of NaN": damage_array("cells", lambda a: a * np.nan),
    "no cells": damage_array("cells", lambda a: None),
    "short clock": damage_array("clock", lambda a: a[:1]),
    "clock of NaN": damage_array("clock", lambda a: a * np.nan),
    "half a round": damage_array("clock", lambda a: a + 0.5),
    "rounds beyond numbers": damage_array("clock", lambda a: a + 1e300),
    "other fields": damage_array("fields", lambda a: (*a, "z")),
    "one more array": lambda state: state["blocks"][0]["arrays"].update(more=np.zeros(3)),
    "more features": damage_recipe(d=50),
    "far more features": damage_recipe(d=10**15),
    "no number of features": damage_recipe(d="five"),
    "more weight vectors": damage_recipe(n_outputs=3),
    "unknown structure": damage_recipe(structure="cube"),
    "unknown update": damage_recipe(update="sideways"),
    "unknown field": damage_recipe(colour="blue"),
    "refresh of NaN": damage_recipe(refresh=np.nan),
    "eta of NaN": damage_recipe(eta=np.nan),
    "an infinite epsilon": damage_recipe(epsilon=np.inf),
    "a step size below 0": damage_recipe(eta=-1.0),
    "several step sizes": damage_recipe(eta=(0.5, 0.5)),
    "a penalty beyond numbers": damage_recipe(alpha=10**400),
    "a loss of targets": damage_recipe(loss="squared_error", degree=2),
    "a class loss with a degree": damage_recipe(degree=2),
    "a class loss in units of residuals": damage_recipe(relative=True),
    "a class loss of counts": damage_recipe(counted=True),
    "a class loss with an offset": damage_recipe(shifted=True),
    "classes as outputs": damage_recipe(outputs_are_classes=True),
    "a vector of weights": damage_recipe(rows_of_coef=False),
    "no joint loss": damage_recipe(joint=False),
    "a method for other parts": damage_recipe(method="newton_stack"),
    "a start elsewhere": damage_recipe(start=0.5),
    "a domain without a size": damage_recipe(domain="l2"),
    "another potential's parameters": damage_recipe(potential_parameters={"p": 2.0}),
    "a potential without its parameters": damage_recipe(potential="pnorm"),
    "no blocks": lambda state: state.update(blocks=[]),
    "two blocks": lambda state: state.update(blocks=2 * state["blocks"]),
    "more classes": lambda state: state.update(classes=np.arange(7)),
    "classes that are not sorted": lambda state: state.update(classes=state["classes"][::-1]),
    "no classes": lambda state: state.update(classes=None),
    "short counts": lambda state: state.update(class_counts=np.zeros(1)),
    "first rows": lambda state: state.update(beginning=()),
    "something more": lambda state: state.update(more=1),
    "something less": lambda state: state.pop("reported"),
    "no records": lambda state: state.update(progress=None),
    "quantiles of a classifier": lambda state: state["progress"].update(tracks=np.zeros((1, 12))),
    "nothing": lambda state: state.clear(),
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.every_case
def test_a_state_that_does_not_fit_its_recipe_is_refused(damage, structure):
    cls, kept = saved(potential="ons", structure=structure)
    DAMAGES[damage](kept["_state"])
    with pytest.raises(ValueError, match=r"^This saved model cannot be read, since .* fit the mod"):
        load(cls, kept)


REGRESSION_DAMAGES = {
    "residuals in raw units": damage_recipe(relative=False),
    "no offset": damage_recipe(shifted=False),
    "another degree": damage_recipe(degree=1),
    "residuals under a log link": damage_recipe(loss="poisson", degree=0),
    "a class loss": damage_recipe(loss="hinge", degree=0),
    "a loss parameter": damage_recipe(loss="huber", loss_parameters={"huber_delta": np.nan}),
    "no loss parameter": damage_recipe(loss="huber"),
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("damage", REGRESSION_DAMAGES)
def test_a_regressor_with_another_loss_than_its_units_are_for_is_refused(damage, structure):
    cls, kept = saved(structure=structure, loss="squared_error", scaling="online")
    REGRESSION_DAMAGES[damage](kept["_state"])
    with pytest.raises(ValueError, match="This saved model cannot be read"):
        load(cls, kept)


LEARNT = {
    "candidates": ({}, 5),
    "one prior": ({"epsilon": 1.0}, 5),
    "newton_stack": ({"structure": "sketch", "rank": 2}, 5),
    "stack": ({"structure": "diag"}, 5),
    "pair": ({}, 120),
}
MEMBERS = {
    "no members": {"eta": (), "epsilon": (), "kept": ()},
    "more members than there is room for": {"eta": (1.0,) * 9, "epsilon": (1.0,) * 9},
    "members of two numbers": {"eta": (1.0, 2.0), "epsilon": (1.0, 2.0, 3.0)},
    "members that forget everything": {"kept": (1.0, 0.0)},
    "a memory of longer than all": {"kept": (1.5,)},
    "a longer memory behind a shorter one": {"kept": (0.9, 1.0)},
    "no memory": {"kept": (), "epsilon": (1.0, 0.5)},
    "other units": {"scaled": None},
    "a number for a memory": {"diagonal_kept": 0.5},
    "dual averaging": {"update": "dual_averaging"},
}


@pytest.mark.parametrize("changes", MEMBERS)
@pytest.mark.parametrize("method", LEARNT)
@pytest.mark.every_case
def test_members_that_a_method_cannot_have_are_refused(method, changes):
    params, d = LEARNT[method]
    rows_of_method = np.random.default_rng(0).normal(size=(40, d))
    model = AdaRegRegressor(**params).partial_fit(rows_of_method, SCORE)
    kept = model.__getstate__()
    kept["_state"]["recipe"].update(MEMBERS[changes])
    if changes == "other units":  # than those of its method
        kept["_state"]["recipe"]["scaled"] = model._state.recipe.method == "information"
    if changes == "more members than there is room for":  # with arrays to match
        _fill(kept["_state"])
    with pytest.raises(ValueError, match="This saved model cannot be read"):
        load(AdaRegRegressor, kept)


def _fill(state):
    """Arrays as a recipe with these members would have them, where it has any."""
    recipe = _recipe.from_plain(state["recipe"])
    with suppress(Exception):
        fresh = _recipe.allocate(recipe, recipe.n_outputs)
        state["blocks"] = [{"n_outputs": recipe.n_outputs, "arrays": fresh}]


def test_every_field_of_a_recipe_is_checked():
    fields = set(_recipe.Recipe.__dataclass_fields__)
    assert fields - {"loss"} == set(_recipe_checks.CONSTRAINTS)


@pytest.mark.parametrize("value", [-1.0, 1e9, 2.5, np.nan])
def test_a_count_out_of_range_is_refused(value):
    cls, kept = saved(potential="ons", structure="full")
    damage_array("count", lambda a: np.full_like(a, value))(kept["_state"])
    with pytest.raises(ValueError, match="its array 'count' has numbers that are not"):
        load(cls, kept)


# ---- the method "information" ----------------------------------------------------------------------------------------

WIDE = sparse.random(60, 80, 0.2, format="csr", random_state=0)
THREE = np.digitize(SCORE, [-0.5, 2.0])


def learners():
    """Models that keep their first rows, and one that waits for the end of a block."""
    one_row = AdaRegClassifier(loss="hinge").partial_fit(X, THREE, classes=[0, 1, 2])
    return {
        "two classes": AdaRegClassifier().partial_fit(X, Y, classes=np.unique(Y)),
        "softmax": AdaRegClassifier().partial_fit(X, THREE, classes=[0, 1, 2]),
        "one against the rest": one_row,
        "targets": AdaRegRegressor().partial_fit(X, X[:, :2]),
        "sparse": AdaRegClassifier(structure="full").partial_fit(WIDE, np.arange(60) % 2, classes=[0, 1]),
        "later": AdaRegRegressor().partial_fit(np.tile(X, (28, 1)), np.tile(SCORE, 28)),
    }


def at(name, place, value):
    """A change of the first block: a number, or what a function makes of it."""

    def change(arrays):
        array = arrays[name] = np.array(arrays[name])
        array[place] = value(array[place]) if callable(value) else value

    return change


def number(which, value):
    """A change of one of the counts before the schedule, or of the schedule itself."""

    def change(arrays):
        memories = len(arrays["mass"])
        schedule = len(arrays["numbers"]) - 2 * memories
        places = {"rows": schedule - 3, "beginning": schedule - 2, "anew": schedule - 1}
        places |= {"due": schedule, "absorbed": schedule + memories}
        at("numbers", places[which], value)(arrays)

    return change


def cut(name, part):
    return lambda arrays: arrays.update({name: arrays[name][part]})


DAMAGED_LEARNERS = {
    **{f"{value} rows": number("rows", value) for value in (-1.0, 0.5, 1e9)},
    "more rows than are there": number("rows", lambda held: held + 1),
    **{f"absorbed {value}": number("absorbed", value) for value in (-1.0, 0.5, 1e9)},
    **{f"due in {value}": number("due", value) for value in (-1.0, 1e9)},
    **{f"anew in {value}": number("anew", value) for value in (-1.0, 1e9)},
    **{f"beginning {value}": number("beginning", value) for value in (0.5, 2.0, -1.0)},
    "no margins of rows": cut("row_margins", np.s_[:, :-1]),
    "no width": cut("row_values", np.s_[:, :-1]),
    "few values": cut("row_values", np.s_[:-1]),
    "few weights": cut("row_weights", np.s_[:-1]),
    "long rows": at("row_length", 0, 1000),
    "rows of negative length": at("row_length", 0, -1),
    "rows of no weight": at("row_weights", 0, 0.0),
    "flat sums": lambda arrays: arrays.update(G=arrays["G"].ravel()),
    "one sum for all": cut("G", np.s_[..., :1]),
    "sums of NaN": at("G", (0, 0, 0, 0, 0), np.nan),
    "candidates of infinity": at("x", (0, 0, 0), np.inf),
    "negative mass": at("mass", 0, -1.0),
    "negative counts": at("counts", (0, 0), -1.0),
    "negative squares": at("columns", (1, 0), -1.0),
    "a range upside down": at("columns", (7, 0), 1e6),
    "a lower limit above 0": at("columns", (5, 0), 1.0),
    "an upper limit below 0": at("columns", (6, 0), -1.0),
    "limits of a target": lambda arrays: arrays["target_columns"].__setitem__((5, 0), np.inf),
    "limits of no column": at("columns", (6, -1), 1.0),
    "a negative weight": at("shares", (0, 0, 0), -0.1),
    "too much weight": at("shares", (0, 0, 0), lambda share: share + 0.1),
    "weights of layers": at("share_layers", (0, 0), 0.5),
    "a dead scale": lambda arrays: arrays["diagonal_scale"].fill(0.0),
}


@pytest.mark.parametrize("damage", DAMAGED_LEARNERS)
def test_arrays_that_sums_over_rows_could_not_have_are_refused(damage):
    for model in learners().values():
        kept = copy.deepcopy(model.__getstate__())
        twin = load(type(model), copy.deepcopy(kept))
        np.testing.assert_array_equal(twin.coef_, model.coef_)
        DAMAGED_LEARNERS[damage](kept["_state"]["blocks"][0]["arrays"])
        with pytest.raises(ValueError, match=r"^This saved model cannot be read, since .* fit the mod"):
            load(type(model), kept)


@pytest.mark.parametrize("value", [-1, 81, 10**6])
def test_columns_of_kept_rows_that_are_none_are_refused(value):
    model = learners()["sparse"]
    kept = copy.deepcopy(model.__getstate__())
    at("row_index", (0, 0), value)(kept["_state"]["blocks"][0]["arrays"])
    with pytest.raises(ValueError, match="have columns that it has not"):
        load(type(model), kept)


def test_columns_of_kept_rows_that_are_not_sorted_are_refused():
    model = learners()["sparse"]
    kept = copy.deepcopy(model.__getstate__())
    arrays = kept["_state"]["blocks"][0]["arrays"]
    arrays["row_index"][0, :2] = arrays["row_index"][0, 1::-1]
    with pytest.raises(ValueError, match="are not sorted"):
        load(type(model), kept)


@pytest.mark.parametrize(("kind", "value"), [("two classes", 0.5), ("softmax", 3.0), ("one against the rest", -1.0)])
def test_kept_rows_of_no_class_are_refused(kind, value):
    model = learners()[kind]
    kept = copy.deepcopy(model.__getstate__())
    at("row_targets", (0, 0), value)(kept["_state"]["blocks"][0]["arrays"])
    with pytest.raises(ValueError, match="are of none of its classes"):
        load(type(model), kept)


def test_weight_on_candidates_that_take_no_part_yet_is_refused():
    """Their weights are what others are divided by."""
    model = learners()["two classes"]
    kept = copy.deepcopy(model.__getstate__())
    arrays = kept["_state"]["blocks"][0]["arrays"]
    weak = np.argmin(model._state.recipe.epsilon)
    arrays["shares"][:] = 0.0
    arrays["shares"][:, :, weak] = 1.0
    with pytest.raises(ValueError, match="may not take part yet"):
        load(type(model), kept)


def test_blocks_that_keep_different_rows_are_refused():
    model = learners()["one against the rest"]
    kept = copy.deepcopy(model.__getstate__())
    arrays = kept["_state"]["blocks"][1]["arrays"]
    number("rows", 39.0)(arrays)
    number("beginning", 0.0)(arrays)
    number("absorbed", 0.0)(arrays)
    at("numbers", slice(-2, None), 0.0)(arrays)
    with pytest.raises(ValueError, match="have kept different numbers of rows"):
        load(type(model), kept)


@pytest.mark.parametrize("value", [-1.0, 1e9, np.nan])
@pytest.mark.parametrize("name", ["charged", "fade", "turn"])
@pytest.mark.parametrize("structure", [name for name in STRUCTURES if _registry.STRUCTURES[name].forgets])
def test_a_half_life_out_of_range_is_refused(structure, name, value):
    for update in ("mirror_descent", "dual_averaging"):
        cls, kept = saved(potential="ons", structure=structure, half_life=5.0, eta=0.5, update=update)
        [block] = kept["_state"]["blocks"]
        for array in [a for a in block["arrays"] if a.rpartition(":")[2] == name]:
            if structure == "iso" and name == "fade":
                continue  # a factor, by which nothing is addressed
            before = block["arrays"][array]
            damage_array(array, lambda a: np.full_like(a, value))(kept["_state"])
            with pytest.raises(ValueError, match=f"cannot be read, since its array '.*{name}'"):
                load(cls, kept)
            damage_array(array, lambda a, before=before: before)(kept["_state"])
        assert load(cls, kept).t_ == 40


@pytest.mark.parametrize("kept_format", ["99", None, 0, 2.5, True])
def test_a_format_that_is_none_is_refused(kept_format):
    cls, kept = saved()
    kept["_state"]["format"] = kept_format
    with pytest.raises(ValueError, match=r"cannot be read, since its format is .*, which is not"):
        load(cls, kept)


@pytest.mark.parametrize("state", [1, "state", [], np.zeros(3), {"format": 4}])
def test_what_is_no_state_is_refused(state):
    cls, kept = saved()
    with pytest.raises(ValueError, match="This saved model cannot be read"):
        load(cls, {**kept, "_state": state})


@pytest.mark.parametrize("name", ["d", "structure", "eta"])
def test_a_recipe_that_lacks_something_is_refused(name):
    cls, kept = saved()
    del kept["_state"]["recipe"][name]
    with pytest.raises(ValueError, match="cannot be read, since its recipe is incomplete"):
        load(cls, kept)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features_in_": 7},
        {"n_features_in_": None},
        {"feature_names_in_": np.array(["a"], dtype=object)},
        {"_begun_with": None},
        {"_begun_with": {"predict": 1}},
    ],
)
def test_what_an_estimator_has_beside_its_state_has_to_fit_it(changes):
    cls, kept = saved()
    with pytest.raises(ValueError, match="This saved model cannot be read"):
        load(cls, {**kept, **changes})


def test_first_rows_that_do_not_fit_are_refused():
    wide = np.random.default_rng(0).normal(size=(40, 120))
    labels = np.arange(40) % 3
    model = AdaRegClassifier().partial_fit(wide, labels, classes=[0, 1, 2])
    for change in (
        lambda rows, targets, weights: (rows[:, 1:], targets, weights),
        lambda rows, targets, weights: (rows * np.nan, targets, weights),
        lambda rows, targets, weights: (rows, targets + 1, weights),
        lambda rows, targets, weights: (rows, targets, weights[1:]),
        lambda rows, targets, weights: (rows, targets, -weights),
        lambda rows, targets, weights: (rows, targets),
    ):
        kept = model.__getstate__()
        assert load(AdaRegClassifier, kept).t_ == 40
        kept["_state"]["beginning"] = tuple(change(*part) for part in kept["_state"]["beginning"])
        with pytest.raises(ValueError, match="This saved model cannot be read"):
            load(AdaRegClassifier, kept)


def test_sparse_weights_that_do_not_fit_are_refused():
    cls, kept = saved()
    model = load(cls, kept).sparsify()
    for change in (
        lambda coef: coef.indices.__setitem__(0, 10**6),
        lambda coef: coef.indptr.__setitem__(1, 10**6),
        lambda coef: coef.resize(3, 3),
    ):
        kept = copy.deepcopy(model.__getstate__())
        assert load(cls, copy.deepcopy(kept)).t_ == 40
        change(kept["_state"]["snapshot"][1])
        with pytest.raises(ValueError, match="This saved model cannot be read"):
            load(cls, kept)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_is_whole_loads(structure):
    for params in ({}, {"loss": "squared_error"}, {"loss": "hinge", "domain": "l2", "radius": 0.3}):
        cls, kept = saved(structure=structure, **params)
        assert load(cls, kept).t_ == 40
    for model in (AdaRegClassifier(structure=structure), AdaRegRegressor(structure=structure)):
        y = np.digitize(SCORE, [-0.5, 2.0]) if isinstance(model, AdaRegClassifier) else X[:, :3]
        twin = pickle.loads(pickle.dumps(model.fit(X, y)))
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_a_unit_that_takes_a_tiny_prior_below_all_numbers_leaves_a_model_that_loads():
    model = AdaRegRegressor("ons", "full", epsilon=1e-300, eta=0.1)
    for row in ([1e-13, 1.0], [1.0, 1.0], [2.0, 1.0]):
        model.partial_fit([row], [3.0])
        assert load(*again(model)).t_ == model.t_


def test_a_gradient_whose_square_is_beyond_all_numbers_leaves_a_model_that_loads():
    model = AdaRegClassifier("ons", "full", eta=1e200, alpha=0.01)  # the penalty on huge weights
    for row, label in zip(X[:10], Y[:10], strict=True):
        with suppress(ValueError):  # a round that stops
            model.partial_fit([row], [label], classes=[-1, 1])
        assert load(*again(model)).t_ == model.t_
    assert model.t_ < 10


def again(model):
    return type(model), pickle.loads(pickle.dumps(model.__getstate__()))
