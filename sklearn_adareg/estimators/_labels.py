"""Labels of a classifier, and the numbers that kernels read for them; weights of rows, and those of positive weight: the rounds."""

from contextlib import suppress
from inspect import signature

import numpy as np
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _check_sample_weight

from ..model._validation import shown

NONE = np.empty(0)
NONE.flags.writeable = False
FIRST = np.zeros(1, dtype=np.intp)
FIRST.flags.writeable = False
PERMISSIVE = "allow_all_zero_weights" in signature(_check_sample_weight).parameters
FEW = 20  # labels that are compared one by one
NEEDS_CLASSES = (
    "partial_fit needs classes in its first call, since later rows may bring labels that these lack; pass all labels "
    "as classes=[...]."
)
EXACT = 2.0**53  # up to here a float can be told from its neighbours


def encode(y, classes, weights):
    """The place of each label among the classes, or −1 and 1 where there are two; (rows, 1)."""
    if len(y) == 1 and len(classes) <= FEW:
        label, labels = y.item(), classes.tolist()
        if label in labels:
            place = labels.index(label)
            return np.array([[2.0 * place - 1.0 if len(classes) == 2 else float(place)]])
    if len(classes) == 2:
        upper, lower = y == classes[1], y == classes[0]
        strangers = len(y) - np.count_nonzero(upper) - np.count_nonzero(lower)
        unknown = ~(upper | lower) if strangers else None
        encoded = 2.0 * upper
        encoded -= 1.0
    else:
        places = np.searchsorted(classes, y)
        unknown = classes[np.minimum(places, len(classes) - 1)] != y
        encoded = places.astype(np.float64)
    if unknown is not None:
        if len(weights):
            unknown &= weights > 0
        if unknown.any():
            raise ValueError(_unknown_label(y[unknown][0], classes))
    return encoded.reshape(-1, 1)


def _unknown_label(label, classes):
    """The sentence about a label that a model does not know."""
    found = f"y has the label {shown(label)}, which is not among the classes {shown(classes)}"
    if isinstance(label, str) != isinstance(classes[0], str) and str(label) in map(str, classes):
        return f"{found}, since text is not a number; give y and classes the same type, e.g. by y.astype(str)."
    if len(classes) == 2:
        return f"{found}; drop those rows, or start anew with all labels: a model of two classes cannot take more."
    return f"{found}; drop those rows, pass classes with it to partial_fit, or start anew with all labels."


def two_numbers(y):
    """The labels of a y of two whole numbers, sorted; None where it is something else, which takes longer to find out."""
    if y.dtype.kind not in "iubf":
        return None
    two = np.array([y.min(), y.max()], dtype=y.dtype)
    if two[0] == two[1]:
        return None
    if y.dtype.kind == "f" and ((two % 1).any() or np.abs(two).max() > EXACT):
        return None
    return two if sum(np.count_nonzero(y == label) for label in two) == len(y) else None


def distinct(classes):
    """The labels, sorted, each once; at a glance where they can be nothing else."""
    if type(classes) is np.ndarray and classes.ndim == 1 and classes.dtype.kind in "iubU":
        return np.unique(classes)
    return unique_labels(classes)


def same_labels(classes, known):
    """Whether these are the labels that a model knows, in any order; at a glance where they are the same list."""
    if isinstance(classes, np.ndarray | list) and len(classes) == len(known):
        given = classes.tolist() if isinstance(classes, np.ndarray) else classes
        with suppress(ValueError):  # of arrays in the list
            if len(known) <= FEW and bool(given == known.tolist()):
                return True
    return np.array_equal(distinct(classes), known)


def at_least_two(classes):
    if len(classes) < 2:
        raise ValueError(
            f"y has one class, {shown(classes[0])}, and a classifier needs at least two; pass rows of every class, or all labels as "
            "classes to partial_fit."
        )
    return classes


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


def weighted_rows(X, weights):
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
