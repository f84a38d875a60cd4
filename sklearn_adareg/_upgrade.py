"""Saved models of version 0.1 in today's form."""

import numpy as np

from . import _registry

OF_0_1 = ("newton", "rates", "p", "regression", "lighter")  # names that had other meanings
COLUMNS = 6  # numbers per feature that Newton steps kept
RECORD = 8  # and keep now


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
    """Arrays of version 0.1: residuals of a stack's combined margins lay behind those of the lanes, and columns in rows."""
    arrays = dict(arrays)
    if "residuals" in arrays:
        all_lanes = lanes * rates
        if rates > 1:
            arrays["stack_residuals"] = arrays["residuals"][all_lanes:].copy()
        arrays["residuals"] = arrays["residuals"][:all_lanes].copy()
    if "columns" in arrays:
        columns = arrays["columns"].T
        arrays["columns"] = np.zeros((len(columns), RECORD))
        arrays["columns"][:, :COLUMNS] = columns
        arrays["columns"][:, COLUMNS] = columns[:, 0] > 0  # values were not scaled: factor 1
        entered = columns[:, COLUMNS - 1] > 0  # those that have a ridge, in any order
        arrays["columns"][entered, COLUMNS + 1] = np.arange(1, 1 + np.count_nonzero(entered))
    return arrays
