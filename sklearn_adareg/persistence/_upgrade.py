"""Saved models of earlier versions in today's form."""

import numpy as np

from ..model import _registry
from ..model._prequential import Progress
from ..model._recipe import from_plain, to_plain
from . import _former_default
from ._former_default import COLUMNS

OF_0_1 = ("newton", "rates", "p", "regression", "lighter")  # names that had other meanings
RENAMED = {
    "lanes": "n_outputs",
    "lanes_are_classes": "outputs_are_classes",
    "first_lane": "first_output",
    "publication": "snapshot",
    "frame": "feature_transform",
    "framed": "transformed",
    "early": "beginning",
}  # since format 2


def _renamed(kept):
    return {RENAMED.get(name, name): value for name, value in kept.items()}


def upgrade_state(kept, parameters):
    """What a state of an earlier version kept in today's form; ``parameters`` are those of its estimator."""
    if kept["format"] < 4:
        kept = _of_format_4(kept, parameters)
    if _former_default.is_former(kept["recipe"]):
        kept = _former_default.upgrade(kept, parameters)
    recipe = to_plain(from_plain(kept["recipe"]))  # with fields that it had not
    snapshot = kept["snapshot"] and (*kept["snapshot"], None)  # no value was limited
    return {**kept, "recipe": recipe, "snapshot": snapshot}


def _of_format_4(kept, parameters):
    """A state of an earlier format in the words of format 4."""
    kept = {"feature_transform": None, "units_from_rows": False, "one_run": True, "beginning": None, **_renamed(kept)}
    kept.pop("runtime", None)
    of_0_1 = "newton" in kept["recipe"]
    kept["recipe"] = upgrade_recipe(kept["recipe"])
    if of_0_1:
        loss, classes = parameters["loss"], kept["classes"]
        names = _registry.loss(loss).parameters
        kept["recipe"] |= {
            "loss": loss,
            "loss_parameters": {name: parameters[name] for name in names},
            "outputs_are_classes": classes is not None and len(classes) > 2,
        }
    kept["blocks"] = [_upgrade_block(vars(block), of_0_1) for block in kept["blocks"]]
    if "loss_total" in kept:  # version 0.1
        kept["totals"] = np.array([kept.pop("loss_total"), kept.pop("weight_total")])
        if kept["snapshot"] is not None:  # a sparse coef_, and the intercept
            rounds = int(kept["blocks"][0]["arrays"]["clock"][0])
            kept["snapshot"] = (rounds, *kept["snapshot"])
    if "totals" in kept:  # before records were kept
        kept["progress"] = Progress.of_earlier_version(*kept.pop("totals")).to_plain()
    return kept


def upgrade_recipe(kept):
    """A dict of an earlier version in today's words; the loss of one of version 0.1 is known to the estimator alone."""
    if "newton" not in kept:
        return _renamed(kept)
    old = {name: kept.get(name) for name in OF_0_1}
    names = _registry.potential(kept["potential"]).parameters
    return _renamed(
        {
            **{name: value for name, value in kept.items() if name not in OF_0_1},
            "method": "newton" if old["newton"] else "stack" if old["rates"] > 1 else "algorithm1",
            "potential_parameters": {name: old[name] for name in names},
            "loss": None,
            "weights_as_rows": bool(old["lighter"]),
        }
    )


def _upgrade_block(kept, of_0_1):
    """The weight vectors of a block, whose recipe was its own, and its arrays."""
    recipe = upgrade_recipe(kept["recipe"])
    arrays = kept["arrays"]
    if of_0_1:
        arrays = upgrade_arrays(arrays, recipe["n_outputs"], kept["recipe"]["rates"])
    if "gauge" in arrays:  # one that was not known was infinite; the next round adds it up
        unknown = np.isinf(arrays["gauge"])
        known = {"gauge": np.where(unknown, 0.0, arrays["gauge"])}
        arrays = {**arrays, **known, "astray": np.where(unknown, 1.0, arrays["astray"])}
    return {"n_outputs": recipe["n_outputs"], "arrays": arrays}


def upgrade_arrays(arrays, outputs, rates):
    """Arrays of version 0.1: residuals of a stack's combined margins lay behind those of the weight vectors, and columns in rows.

    How often a feature has had a value was not counted: its unit may grow as if it were new.
    """
    arrays = dict(arrays)
    if "residuals" in arrays:
        all_vectors = outputs * rates
        if rates > 1:
            arrays["stack_residuals"] = arrays["residuals"][all_vectors:].copy()
        arrays["residuals"] = arrays["residuals"][:all_vectors].copy()
    if rates > 1 and "scale" in arrays:
        arrays["often"] = np.zeros_like(arrays["scale"])
    if "columns" in arrays:
        arrays.update(_upgrade_columns(arrays["columns"], arrays["P"].shape))
    return arrays


def _upgrade_columns(old, shape_of_P):
    """The statistics of the features, one row each, and what Newton weight vectors keep beside them.

    The range of a column is made up from its centre, which was its value nearest to 0, and the largest distance from it.
    """
    seen, center, first, second, biggest, ridge = old
    columns = np.zeros((len(seen), len(COLUMNS)))
    entered = np.zeros(len(seen))
    entered[ridge > 0] = np.arange(1, 1 + np.count_nonzero(ridge > 0))  # in any order
    known = {
        "seen": seen,
        "center": center,
        "first": first,
        "second": second,
        "low": np.where(center > 0, center, center - biggest),
        "high": np.where(center < 0, center, center + biggest),
        "total": np.sqrt(np.maximum(second, 0.0) * seen),
        "varied": seen,
        "ridge": ridge,
        "factor": seen > 0,  # values were not scaled
        "entered": entered,
    }
    for name, values in known.items():
        columns[:, COLUMNS.index(name)] = values
    outputs, D, _ = shape_of_P
    return {"columns": columns, "diagonal": np.zeros((0, D)), "inflation": np.ones(outputs)}
