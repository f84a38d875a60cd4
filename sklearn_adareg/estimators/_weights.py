"""Weights of rows: validated, multiplied by class weights, and the rows of positive weight, which are the rounds."""

from inspect import signature

import numpy as np
from sklearn.utils.validation import _check_sample_weight

NONE = np.empty(0)
NONE.flags.writeable = False
FIRST = np.zeros(1, dtype=np.intp)
FIRST.flags.writeable = False
PERMISSIVE = "allow_all_zero_weights" in signature(_check_sample_weight).parameters


def check_weights(sample_weight, X):
    """Validated weights as float64; empty where none were given. All may be zero: a chunk of a stream may be so."""
    if sample_weight is None:
        return NONE
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight={sample_weight!r} is a word, and weights are numbers, one for each row; for 'balanced' pass "
            "class_weight='balanced' to the classifier, or sklearn.utils.class_weight.compute_sample_weight."
        )
    allow = {"allow_all_zero_weights": True} if PERMISSIVE else {}
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, **allow)


def check_some_weight(weights, name):
    """Refuse weights that are all zero."""
    if len(weights) and not weights.any():
        raise ValueError(
            f"{name} is zero for every row, so there is nothing to learn; give at least one row a positive weight."
        )


def rows_of_positive_weight(X, weights):
    """Their numbers. A row of weight zero is not a round."""
    if len(weights):
        return np.flatnonzero(weights)
    return FIRST if X.shape[0] == 1 else np.arange(X.shape[0], dtype=np.intp)


def times_class_weights(weights, factors, order, n_rows):
    """Weights times the factors of the rows in ``order``, and those of the rows that still have positive weight."""
    if factors is None:
        return weights, order
    product = weights.copy() if len(weights) else np.ones(n_rows)
    product[order] *= factors
    return product, order[product[order] > 0]


def theory_bounds(targets, weights):
    """The largest target and weight, which ``eta="theory"`` depends on."""
    return {"target": float(np.abs(targets).max(initial=0.0)), "weight": float(weights.max()) if len(weights) else 1.0}
