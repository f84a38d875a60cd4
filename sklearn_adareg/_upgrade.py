"""Saved models of version 0.1 in today's form."""

import numpy as np

from . import _registry
from ._kernels._columns import Columns

OF_0_1 = ("newton", "rates", "p", "regression", "lighter")  # names that had other meanings


def upgrade_recipe(kept):
    """A dict of version 0.1 in today's words; its loss is known to the estimator alone."""
    if "newton" not in kept:
        return kept
    old = {name: kept.get(name) for name in OF_0_1}
    names = _registry.potential(kept["potential"]).parameters
    return {
        **{name: value for name, value in kept.items() if name not in OF_0_1},
        "method": "newton" if old["newton"] else "stack" if old["rates"] > 1 else "algorithm1",
        "potential_parameters": {name: old[name] for name in names},
        "loss": None,
        "weights_as_rows": bool(old["lighter"]),
    }


def upgrade_state(kept):
    """What a state of version 0.1 kept beside its blocks."""
    kept = {**kept, "recipe": upgrade_recipe(kept["recipe"])}
    kept["totals"] = np.array([kept.pop("loss_total"), kept.pop("weight_total")])
    if kept["publication"] is not None:  # a sparse coef_, and the intercept
        rounds = int(kept["blocks"][0].arrays["clock"][0])
        kept["publication"] = (rounds, *kept["publication"])
    return kept


def upgrade_arrays(arrays, lanes, rates):
    """Arrays of version 0.1: residuals of a stack's combined margins lay behind those of the lanes, and columns in rows.

    How often a feature has had a value was not counted: its unit may grow as if it were new.
    """
    arrays = dict(arrays)
    if "residuals" in arrays:
        all_lanes = lanes * rates
        if rates > 1:
            arrays["stack_residuals"] = arrays["residuals"][all_lanes:].copy()
        arrays["residuals"] = arrays["residuals"][:all_lanes].copy()
    if rates > 1 and "scale" in arrays:
        arrays["often"] = np.zeros_like(arrays["scale"])
    if "columns" in arrays:
        arrays.update(_upgrade_columns(arrays["columns"], arrays["P"].shape))
    return arrays


def _upgrade_columns(old, shape_of_P):
    """The statistics of the features, one row each, and what Newton lanes keep beside them.

    The range of a column is made up from its centre, which was its value nearest to 0, and the largest distance from it.
    """
    seen, center, first, second, biggest, ridge = old
    names = Columns.names()
    columns = np.zeros((len(seen), len(names)))
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
        columns[:, names.index(name)] = values
    lanes, D, _ = shape_of_P
    return {"columns": columns, "diagonal": np.zeros((0, D)), "inflation": np.ones(lanes)}
