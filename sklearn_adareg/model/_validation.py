"""Validation of rows and targets. Arrays that need no conversion get the same checks without scikit-learn's general machinery."""

import re
import warnings
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from .._kernels.data._small_arrays import all_finite

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
FEW = 2_000  # values that are looked at one by one
CSR = (sparse.csr_matrix, sparse.csr_array)
CONVERSION = {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": [np.float64, np.float32]}


def shown(value):
    """A value as messages show it: without the names of NumPy's types."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    return repr(value)


def check_probability(value, name, example):
    """Refuse a value that is not strictly between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < value < 1.0:
        raise ValueError(
            f"{name}={shown(value)} is not a probability; pass a number between 0 and 1, e.g. {name}={example}."
        )


def same_value(one, other):
    """Whether two values of a parameter are equal; lists may have arrays in them."""
    if one is other:
        return True
    sequences = (list, tuple, range, np.ndarray)
    if isinstance(one, sequences) and isinstance(other, sequences):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other)


def needs_no_conversion(X):
    """Whether X needs no conversion: rows and columns of floats, C-contiguous or CSR, and neither a subclass nor a container."""
    if type(X) is np.ndarray:
        fits = X.dtype in FLOATS and X.ndim == 2 and X.flags.c_contiguous
    else:
        fits = type(X) in CSR and X.dtype in FLOATS and X.ndim == 2
    return fits and X.shape[0] > 0 and X.shape[1] > 0


def without_lists(X):
    """Rows of numbers in lists as an array; anything else as it is, for scikit-learn to convert or to refuse."""
    if type(X) is not list:
        return X
    try:
        array = np.array(X)
    except ValueError:  # rows of several lengths
        return X
    return array.astype(np.float64, copy=False) if array.dtype.kind in "fiub" else X


def plain_targets(y, n_rows, numeric):
    """Targets as an array if scikit-learn would take them as they are: finite numbers or, unless numeric, strings; else None."""
    if type(y) is list and len(y) == n_rows:
        try:
            y = np.array(y)
        except ValueError:
            return None
    if type(y) is not np.ndarray or y.ndim != 1 or len(y) != n_rows:
        return None
    kind = y.dtype.kind
    if kind == "f":
        if y.dtype in FLOATS and n_rows <= FEW and y.flags.c_contiguous:
            return y if all_finite(y) else None
        return y if np.isfinite(y).all() else None
    return y if kind in "iub" or (kind == "U" and not numeric) else None


def copy_features(estimator, to):
    """Give another estimator what this one knows of the features."""
    known = vars(estimator)
    vars(to).update((name, known[name]) for name in ("n_features_in_", "feature_names_in_") if name in known)
    return to


def known_shape(estimator, X):
    """Whether X is as wide as what the estimator was fitted on, and has no column names to compare."""
    return X.shape[1] == estimator.n_features_in_ and "feature_names_in_" not in vars(estimator)


def check_finite(estimator, X):
    """Refuse rows that are not finite, and say where."""
    values = X if type(X) is np.ndarray or not sparse.issparse(X) else X.data
    if values.size <= FEW and values.dtype in FLOATS and values.flags.c_contiguous:
        sound = all_finite(values)
    else:  # no array beside a large one: a sum tells, unless it overflows
        with np.errstate(over="ignore", invalid="ignore"):
            sound = np.isfinite(values.sum())
    if not sound and not np.isfinite(values).all():
        raise ValueError(_not_finite(X, type(estimator).__name__))


def _not_finite(X, name):
    """The sentence about the first value that is NaN or infinite."""
    if sparse.issparse(X):
        place = np.flatnonzero(~np.isfinite(X.data))[0]
        row, column = np.searchsorted(X.indptr, place, side="right") - 1, X.indices[place]
        value = X.data[place]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
        value = X[row, column]
    where = f"(row {row}, column {column})"
    if np.isnan(value):
        return (
            f"Input X contains NaN {where}, and {name} has no weight for what is missing; fill missing values in first, for "
            "instance by sklearn.impute.SimpleImputer, or drop those rows."
        )
    return (
        f"Input X contains infinity or a value too large for {X.dtype} {where}, and {name} would predict nothing "
        "finite; clip such values, or drop those rows."
    )


def check_columns(X):
    """Refuse column numbers outside X, which scipy does not check."""
    if type(X) is not np.ndarray and sparse.issparse(X) and X.indices.size:
        low, high = X.indices.min(), X.indices.max()
        if low < 0 or high >= X.shape[1]:
            raise ValueError(
                f"X has the column number {low if low < 0 else high} and {X.shape[1]} columns; build the CSR matrix anew, its "
                "indices do not fit its shape."
            )


def check_row_pointers(X):
    """Refuse a CSR matrix whose rows lie outside its arrays, which scipy does not check either."""
    if type(X) is np.ndarray or type(X) not in CSR:
        return
    pointers, stored = X.indptr, min(len(X.indices), len(X.data))
    sound = len(pointers) == X.shape[0] + 1 and pointers[0] == 0 and pointers[-1] <= stored
    if not (sound and (pointers[1:] >= pointers[:-1]).all()):
        raise ValueError(
            "X is a CSR matrix whose indptr does not fit its data, indices or shape; build the matrix anew."
        )


def check_row_lengths(X):
    """Refuse rows that are longer than X has columns, though no column should come twice in them."""
    if sparse.issparse(X) and X.has_canonical_format:
        longest = np.diff(X.indptr).max(initial=0)
        if longest > X.shape[1]:
            raise ValueError(
                f"X has a row of {longest} values and {X.shape[1]} columns, and its has_canonical_format says that no column "
                "comes twice; build the CSR matrix anew."
            )


def _check_container(X):
    """Refuse what scikit-learn would learn from in an unlikely way, or refuse in the words of NumPy."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows have not been computed; pass X.collect().")
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], dict):
        raise TypeError(
            "X is a list of dicts, and rows are numbers; encode it first, for instance by "
            "sklearn.feature_extraction.DictVectorizer."
        )
    names = list(getattr(X, "columns", ()))
    twice = next((name for name in names if names.count(name) > 1), None) if names else None
    if twice is not None:
        raise ValueError(f"X has several columns with the name {twice!r}; give each column a name of its own.")
    kinds = np.atleast_1d(np.asarray(getattr(X, "dtypes", getattr(X, "dtype", object)), object))
    for place, kind in enumerate(kinds):
        temporal = getattr(kind, "is_temporal", None)  # of polars
        if getattr(kind, "kind", "O") in "Mm" or (temporal is not None and temporal()):
            which = f"The column {names[place]!r} of X" if names else "X"
            raise ValueError(
                f"{which} has dates, times or durations, whose number depends on their unit; make features of them first, for "
                "instance the hour, or the days since a date."
            )


def _converted(estimator, X, *y, **how):
    """``validate_data``, with a sentence on what to do about text."""
    _check_container(X)
    try:
        return validate_data(estimator, X, *y, **how)
    except ValueError as error:
        if not str(error).startswith("could not convert string to float"):
            raise
        types = np.atleast_1d(getattr(X, "dtypes", getattr(X, "dtype", object)))
        if all(getattr(kind, "kind", "O") in "fiub" for kind in types):
            raise ValueError(_text_in_targets(estimator)) from error
        text = re.sub(r"np\.str_\((.*)\)$", r"\1", str(error))  # NumPy 2 shows its own type
        raise ValueError(
            f"X has text in it ({text}); encode it first, for instance by sklearn_adareg.streams.TableEncoder or "
            "sklearn.preprocessing.OneHotEncoder in a pipeline."
        ) from error


def _text_in_targets(estimator):
    return f"y has text in it, and {type(estimator).__name__} needs numbers; AdaRegClassifier learns labels."


def check_rows(estimator, X):
    """Rows to predict for."""
    X = without_lists(X)
    check_row_pointers(X)
    if not (needs_no_conversion(X) and known_shape(estimator, X)):
        X = _converted(estimator, X, reset=False, ensure_all_finite=False, **CONVERSION)
    check_finite(estimator, X)
    check_columns(X)
    return X


def check_rows_and_targets(estimator, X, y, *, reset, numeric, finite=True):
    """Rows to learn from and their targets; C-contiguous or CSR, float64 or float32.

    With ``finite=False`` values and column numbers are not checked here: the rounds stop at a row that has bad ones.
    """
    if not reset and _is_plain_row(estimator, X, y):
        return X, y
    if type(X) is not np.ndarray:
        X = without_lists(X)
        check_row_pointers(X)
    plain = plain_targets(y, X.shape[0], numeric) if needs_no_conversion(X) else None
    if plain is not None:
        y = plain
        if reset or not known_shape(estimator, X):
            X, y = validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    else:
        how = {"order": "C", "multi_output": True, "y_numeric": numeric, "ensure_all_finite": False, **CONVERSION}
        with np.errstate(over="ignore", invalid="ignore"):  # of sums of large values
            X, y = _converted(estimator, X, y, reset=reset, **how)
        if numeric and y.dtype.kind in "US":  # which scikit-learn lets through
            raise ValueError(_text_in_targets(estimator))
    if finite:
        check_finite(estimator, X)
    if type(X) is not np.ndarray:
        check_row_lengths(X)
        if finite:
            check_columns(X)
    return X, y


def _is_plain_row(estimator, X, y):
    """Whether this is one dense row and its target, finite and of a known width, in arrays that need no conversion."""
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.dtype in FLOATS
        and X.shape == (1, estimator.n_features_in_)
        and y.shape == (1,)
        and X.flags.c_contiguous
        and (y.dtype.kind in "iub" or (y.dtype in FLOATS and all_finite(y)))
        and "feature_names_in_" not in vars(estimator)
        and all_finite(X)
    )


SMALL = 1e-150  # features below count as 0: squares of them, or their weights, are not represented


def warn_if_too_small(X, coef):
    """Warn where all weights are 0 since no value of X counts."""
    if coef.any():
        return
    largest = np.abs(X.data if hasattr(X, "tocsr") else X).max(initial=0.0)
    if 0.0 < largest < SMALL:
        warnings.warn(
            f"The largest value of X is {largest:.3g}, and features below {SMALL:g} count as 0; scale the features.",
            UserWarning,
            stacklevel=4,
        )
