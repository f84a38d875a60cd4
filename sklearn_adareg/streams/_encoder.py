"""From tables with columns of numbers and categories to rows of numbers; where categories are hashed to, and which went there."""

from copy import copy
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _tables

KEPT = 1000  # values of a column that are remembered
LONGEST = 100  # characters of a value that is remembered
FEW_COLUMNS = 100  # up to so many encoded columns are dense, unless some are hashed


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers, without a pass over the data.

    Numbers stay as they are. A category is hashed, as by :class:`~sklearn.feature_extraction.FeatureHasher` on the string
    ``"column=value"``, or one-hot encoded where ``categories`` lists its values. The first table decides which columns there are
    and which are categories; later ones only add to ``hashed_values_``, so the encoder may be fitted on a single chunk. Cost: one
    hash for each distinct value of a column in a chunk, not for each row.

    Parameters
    ----------
    categorical : list of str or None, default=None
        Columns that are categories though they hold numbers; columns of text always are.
    categories : dict of list or None, default=None
        The values of columns that are to be one-hot encoded: ``{"city": ["Berlin", "Rome"]}``. A value that is not listed is a
        row of zeros in these columns.
    n_hashed : int, default=2**18
        Number of columns that the other categories are hashed into, all together.
    missing : {"error", "zero", "indicator"}, default="error"
        What to do with a number that is missing (null or NaN): refuse it; take it as 0; or take it as 0 and set a further column
        of the same name, ``"column=missing"``, to 1. In a category, a missing value is a value like any other, called ``"missing"``
        (a row of zeros where ``categories`` does not list it).
    drop : list of str or None, default=None
        Columns that are not used.

    Attributes
    ----------
    numeric_ : list of str
        Columns taken as numbers.
    hashed_ : list of str
        Columns that are hashed.
    hashed_values_ : dict of ndarray of str
        The first 1,000 values of each hashed column that ``fit`` and ``partial_fit`` have seen (of up to 100 characters), to name
        weights by; nothing else depends on them.
    one_hot_ : dict of list
        Columns that are one-hot encoded, and their values.
    n_features_out_ : int
        Number of columns of the encoded rows.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    fit_stream : Learn from a file in chunks.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_adareg.streams import TableEncoder
    >>> table = pd.DataFrame({"size": [1.5, 2.0], "colour": ["red", "blue"]})
    >>> TableEncoder(categories={"colour": ["blue", "red"]}).fit_transform(table)
    array([[1.5, 0. , 1. ],
           [2. , 1. , 0. ]])
    """

    __module__ = "sklearn_adareg.streams"  # the public path, which saved models keep

    _parameter_constraints = {
        "categorical": [list, tuple, None],
        "categories": [dict, None],
        "n_hashed": [Interval(Integral, 1, 2**31 - 2, closed="both")],
        "missing": [StrOptions({"error", "zero", "indicator"})],
        "drop": [list, tuple, None],
    }

    def __init__(self, *, categorical=None, categories=None, n_hashed=2**18, missing="error", drop=None):
        self.categorical, self.categories, self.n_hashed = categorical, categories, n_hashed
        self.missing, self.drop = missing, drop

    def fit(self, X, y=None):
        """Note the columns of a table.

        Parameters
        ----------
        X : DataFrame or pyarrow Table
            A table; some rows are enough.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        self._validate_params()
        table = _tables.as_table(X)
        names = _tables.column_names(table)
        for given in ("categorical", "categories", "drop"):
            unknown = [name for name in getattr(self, given) or () if name not in names]
            if unknown:
                raise ValueError(
                    f"{given} names the column {unknown[0]!r}, and the table has none of that name; its columns are "
                    f"{_tables.listed(names)}."
                )
        listed = (self.categories or {}).items()
        self.one_hot_ = {name: [_tables.level_name(value) for value in values] for name, values in listed}
        self.numeric_, self.hashed_ = [], []
        for name in names:
            if name in (self.drop or ()) or name in self.one_hot_:
                continue
            kind = _tables.kind(table, name)
            if kind == "text" or name in (self.categorical or ()):
                self.hashed_.append(name)
            elif kind == "number":
                self.numeric_.append(name)
            else:
                raise ValueError(
                    f"The column {name!r} has the type {kind}, which is neither a number nor a category; turn it into numbers, or "
                    f"leave it out by drop=[{name!r}] (--drop {name})."
                )
        if not (self.numeric_ or self.hashed_ or self.one_hot_):
            raise ValueError("The table has no columns to learn from; leave some out of drop, or name another target.")
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        blocks = 2 if self.missing == "indicator" else 1
        known = sum(len(values) for values in self.one_hot_.values())
        self.n_features_out_ = blocks * len(self.numeric_) + known + (self.n_hashed if self.hashed_ else 0)
        self.hashed_values_ = noted({}, self._levels(table))
        return self

    def partial_fit(self, X, y=None):
        """Note the columns of the first table, and from later ones the values of hashed columns, to name them.

        Parameters
        ----------
        X : DataFrame or pyarrow Table
            A table.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        if not hasattr(self, "numeric_"):
            return self.fit(X)
        self.hashed_values_ = noted(self.hashed_values_, self._levels(_tables.as_table(X)))
        return self

    def _partial_fit_transform(self, X):
        """Both, with the distinct values of each column found once."""
        if not hasattr(self, "numeric_"):
            return self.fit(X).transform(X)
        table = _tables.as_table(X)
        levels = self._levels(table)
        self.hashed_values_ = noted(self.hashed_values_, levels)
        return self._encoded(table, levels)

    def transform(self, X):
        """Encode a table.

        Parameters
        ----------
        X : DataFrame or pyarrow Table
            A table with the columns of the first one, in any order; further ones are ignored.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, `n_features_out_`)
            Dense if no column is hashed and there are at most 100 columns, or numbers only.
        """
        check_is_fitted(self, "numeric_")
        table = _tables.as_table(X)
        return self._encoded(table, self._levels(table))

    def _levels(self, table):
        """The hashed columns as numbers of distinct values; refuses a table without a column that is needed."""
        present = set(_tables.column_names(table))
        for name in (*self.numeric_, *self.hashed_, *self.one_hot_):
            if name not in present:
                raise ValueError(
                    f"The table has no column {name!r}, which the model was fitted with; add it, or fit the model anew."
                )
        return {name: _tables.levels(table, name) for name in self.hashed_}  # numbers of distinct values, and these

    def _encoded(self, table, levels):
        X = self._numbers(table)
        width = X.shape[1]
        codes, known = [], width
        for name, values in self.one_hot_.items():
            codes.append(known + _places(table, name, values))
            known += len(values)
        if not codes and not self.hashed_:
            return X
        encoded = self._sparse(X, codes, known, levels)
        return encoded if self.hashed_ or self.n_features_out_ > FEW_COLUMNS else encoded.toarray()

    def _numbers(self, table):
        """The columns of numbers, and beside them, if asked for, where they are missing."""
        width = len(self.numeric_)
        found = np.empty((_tables.rows_in(table), width * (2 if self.missing == "indicator" else 1)))
        for place, name in enumerate(self.numeric_):
            try:
                found[:, place] = _tables.numbers(table, name)
            except (ValueError, TypeError) as error:
                why = str(error).split("\n")[0].rstrip(".")
                raise ValueError(
                    f"The column {name!r} held numbers in the first rows and now holds something else ({why}); name it in "
                    f"categorical=[{name!r}] (--categorical {name})."
                ) from error
        values = found[:, :width]
        gaps = np.isnan(values)
        if gaps.any():
            if self.missing == "error":
                row, place = np.argwhere(gaps)[0]
                raise ValueError(
                    f"The column {self.numeric_[place]!r} has a missing value (row {row} of this chunk); set "
                    'missing="indicator" or "zero" (adareg train: --missing indicator), fill it in, or leave the column out (--drop).'
                )
            values[gaps] = 0.0
        if self.missing == "indicator":
            found[:, width:] = gaps
        return found

    def _sparse(self, X, codes, known, levels):
        """Numbers, one-hot columns, and hashed columns behind them."""
        n, width = X.shape
        indices = [np.broadcast_to(np.arange(width), (n, width))]
        data = [X]
        for places in codes:
            ones = (places >= width).astype(np.float64)
            indices.append(np.where(places >= width, places, 0)[:, None])
            data.append(ones[:, None])
        for name, (number, values) in levels.items():
            tokens = [f"{name}={value}" for value in [*values, "missing"]]  # number −1 is the last
            places, signs = hashed_places(tokens, self.n_hashed)
            indices.append(known + places[number, None])
            data.append(signs[number, None])
        places, values = np.hstack(indices).astype(np.int32), np.hstack(data)
        ends = np.arange(0, places.size + 1, places.shape[1])
        shape = (n, self.n_features_out_)
        matrix = sparse.csr_matrix((values.ravel(), places.ravel(), ends), shape)
        matrix.eliminate_zeros()
        matrix.sum_duplicates()
        return matrix

    def get_feature_names_out(self, input_features=None):
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        ndarray of str
            The names of numbers, ``column=missing``, ``column=value``, and ``hashed_0``, ``hashed_1``, … for hashed columns.
        """
        check_is_fitted(self, "numeric_")
        names = list(self.numeric_)
        if self.missing == "indicator":
            names += [f"{name}=missing" for name in self.numeric_]
        for name, values in self.one_hot_.items():
            names += [f"{name}={value}" for value in values]
        if self.hashed_:
            names += [f"hashed_{place}" for place in range(self.n_hashed)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _places(table, name, values):
    """The number of each row's value in the list; far below 0 where it is not listed."""
    codes, found = _tables.levels(table, name)
    number = {value: place for place, value in enumerate(values)}
    nowhere = -(2**40)
    places = np.array([*(number.get(value, nowhere) for value in found), number.get("missing", nowhere)])
    return places[codes]


def hashed_places(tokens, n_hashed):
    """The column and the sign that each token is hashed to."""
    hashed = FeatureHasher(n_hashed, input_type="string").transform([token] for token in tokens)
    return hashed.indices, hashed.data


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
    for token, place, sign in zip(tokens, *hashed_places(tokens, encoder.n_hashed), strict=True):
        found.setdefault(int(place), []).append((int(sign), token))
    return found


def _joined(before, values):
    seen = set(before.tolist())
    new = [value for value in values if value not in seen and len(value) <= LONGEST]
    new = list(dict.fromkeys(new))[: KEPT - len(before)]
    return np.concatenate([before, np.array(new, dtype=str)]) if new else before
