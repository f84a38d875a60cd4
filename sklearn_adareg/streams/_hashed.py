"""Hashed categories: which column a value goes to, and which values are known to have gone there."""

from copy import copy

import numpy as np
from sklearn.feature_extraction import FeatureHasher

from . import _tables

KEPT = 1000  # values of a column that are remembered
LONGEST = 100  # characters of a value that is remembered


def places(tokens, n_hashed):
    """The column and the sign that each token is hashed to."""
    hashed = FeatureHasher(n_hashed, input_type="string").transform([token] for token in tokens)
    return hashed.indices, hashed.data


def levels(table, columns):
    """Column → its rows as numbers of distinct values, and these values."""
    return {name: _tables.levels(table, name) for name in columns}


def noted(known, levels):
    """``known``, values by column, with those of a table that are new; the first ``KEPT`` of each column.

    A new dict if there are some: another thread may be saving the old one.
    """
    fresh = {}
    for name, (_, values) in levels.items():
        before = known.get(name, np.array([], dtype=str))
        found = _joined(before, values) if len(before) < KEPT else before
        if len(found) > len(before) or name not in known:
            fresh[name] = found
    return {**known, **fresh} if fresh else known


def united(encoders):
    """A copy of the first of several encoders of the same columns that remembers the values of all."""
    found: dict = {}
    for encoder in encoders:
        for name, values in encoder.hashed_values_.items():
            found[name] = _joined(found.get(name, np.array([], dtype=str)), values.tolist())
    first = copy(encoders[0])
    first.hashed_values_ = found
    return first


def names_by_column(encoder):
    """Hashed column → [(sign, "column=value"), …] of the values that are remembered."""
    tokens = [
        f"{name}={value}"
        for name in encoder.hashed_
        for value in dict.fromkeys([*encoder.hashed_values_.get(name, ()), "missing"])
    ]
    found: dict = {}
    for token, place, sign in zip(tokens, *places(tokens, encoder.n_hashed), strict=True):
        found.setdefault(int(place), []).append((int(sign), token))
    return found


def _joined(before, values):
    seen = set(before.tolist())
    new = [value for value in values if value not in seen and len(value) <= LONGEST]
    new = list(dict.fromkeys(new))[: KEPT - len(before)]
    return np.concatenate([before, np.array(new, dtype=str)]) if new else before
