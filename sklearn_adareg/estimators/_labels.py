"""Labels of a classifier: which there are, and the numbers that kernels read for them."""

import numpy as np
from sklearn.utils.multiclass import unique_labels

from ..model._validation import shown

FEW = 20  # labels that are compared one by one
EXACT = 2.0**53  # up to here a float can be told from its neighbours


def encode(y, classes, weights):
    """The place of each label among the classes, or −1 and 1 where there are two; (rows, 1)."""
    if len(y) == 1 and len(classes) <= FEW:
        place = _place(y.item(), classes.tolist())
        if place is not None:
            return np.array([[2.0 * place - 1.0 if len(classes) == 2 else float(place)]])
    if len(classes) == 2:
        upper = y == classes[1]
        lower = y == classes[0]
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


def _place(label, labels):
    """Where a label stands among a few; None where it is not one of them."""
    return labels.index(label) if label in labels else None


def distinct(classes):
    """The labels, sorted, each once; at a glance where they can be nothing else."""
    if type(classes) is np.ndarray and classes.ndim == 1 and classes.dtype.kind in "iubU":
        return np.unique(classes)
    return unique_labels(classes)


def same_labels(classes, known):
    """Whether these are the labels that a model knows, in any order; at a glance where they are the same list."""
    if isinstance(classes, np.ndarray | list) and len(classes) == len(known):
        given = classes.tolist() if isinstance(classes, np.ndarray) else classes
        if len(known) <= FEW and _equal(given, known.tolist()):
            return True
    return np.array_equal(distinct(classes), known)


def _equal(given, known):
    """Whether two lists of labels are the same; what cannot be compared is not."""
    try:
        return bool(given == known)
    except ValueError:  # arrays in the list
        return False


def at_least_two(classes):
    if len(classes) < 2:
        raise ValueError(
            f"y has one class, {shown(classes[0])}, and a classifier needs at least two; pass rows of every class, or all labels as "
            "classes to partial_fit."
        )
    return classes
