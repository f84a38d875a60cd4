"""Columns of tables, whatever library made them: pyarrow tables, pandas and polars dataframes.

pandas is read by its own methods, so that its dataframes need no pyarrow; all others are turned into pyarrow tables.
"""

import sys

import numpy as np

INSTALL = 'pip install "sklearn_adareg[files]"'


def arrow(why):
    """The pyarrow module, or why it is needed."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{why} needs pyarrow, which is not installed; {INSTALL}.") from error
    return pyarrow


def is_table(X):
    """Whether X has columns with names."""
    return hasattr(X, "columns") and (hasattr(X, "column_names") or hasattr(X, "dtypes"))


def as_table(X):
    """A pandas dataframe as it is, or a pyarrow table."""
    if _is_pandas(X) or _is_arrow(X):
        return X
    if hasattr(X, "to_arrow"):
        arrow("A polars dataframe")
        return X.to_arrow()
    if hasattr(X, "__arrow_c_stream__"):
        return arrow("This dataframe").table(X)
    raise TypeError(
        f"{type(X).__name__} is no table that can be read here; pass a pandas or polars dataframe or a pyarrow table."
    )


def column_names(table):
    """The names of a table's columns, in order."""
    return list(table.columns) if _is_pandas(table) else list(table.column_names)


def kind(table, name):
    """ "number" or "text", or the name of a type that is neither."""
    if _is_pandas(table):
        dtype = table[name].dtype
        if dtype.kind in "iufb":
            return "number"
        return "text" if dtype.kind in "OTU" or str(dtype) in ("category", "string", "str") else str(dtype)
    pa, found = arrow("A table"), table.schema.field(name).type
    types = pa.types
    if types.is_dictionary(found):
        return "text"
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if any(test(found) for test in numeric) or types.is_null(found):
        return "number"
    texts = [types.is_string, types.is_large_string]
    if hasattr(types, "is_string_view"):
        texts.append(types.is_string_view)
    return "text" if any(test(found) for test in texts) else str(found)


def numbers(table, name):
    """A column as float64, NaN where a value is missing."""
    if _is_pandas(table):
        return table[name].to_numpy(dtype=np.float64, na_value=np.nan)
    pa = arrow("A table")
    column = table.column(name)
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy()


def levels(table, name):
    """A column as numbers of its distinct values (−1: missing), and these values as a list of str."""
    if _is_pandas(table):
        import pandas

        codes, values = pandas.factorize(table[name], use_na_sentinel=True)
        return codes, [level_name(value) for value in values]
    column = table.column(name).combine_chunks()
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    if hasattr(column, "chunks"):  # of a dictionary type, combined into chunks of one dictionary
        column = column.unify_dictionaries().combine_chunks()
        column = column.chunk(0) if hasattr(column, "chunks") else column
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    values = column.dictionary.to_pylist()
    missing = [number for number, value in enumerate(values) if value is None or value != value]
    if missing:
        codes = np.where(np.isin(codes, missing), -1, codes)
    return codes, [level_name(value) for value in values]


def level_name(value):
    """A value of a category as text; whole numbers look the same whether they are stored as int or float."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and value == np.rint(value) and np.isfinite(value):
        return str(int(value))
    return str(value)


def targets(table, name, labels):
    """A column as targets: labels, or numbers. Whole numbers are labels of an integer type, however they are stored."""
    found = kind(table, name)
    if found not in ("number", "text"):
        raise ValueError(
            f"The target {name!r} has the type {found}, which is neither a number nor text; name another target, or convert it."
        )
    if found == "number" and not _is_boolean(table, name):
        values = numbers(table, name)
        missing = np.isnan(values)
        if labels and not missing.any():
            values = number_labels(values, f"The target {name!r}")
    elif labels or _is_boolean(table, name):
        codes, names = levels(table, name)
        missing = codes < 0
        values = np.array(names or [""])[codes]
        if _is_boolean(table, name):
            values = values == "True"
    else:
        raise ValueError(
            f"The target {name!r} has the type {found}, and a regressor needs numbers; name another target, or use "
            "AdaRegClassifier (--task classification)."
        )
    if missing.any():
        raise MissingTarget(name, int(np.flatnonzero(missing)[0]))
    return values


def number_labels(values, name):
    """Numbers as labels: whole ones, as integers, whatever their type."""
    found = np.asarray(values)
    whole = found.dtype.kind == "f" and np.isfinite(found).all() and (found == np.rint(found)).all()
    if whole and np.abs(found).max(initial=0) < 2**53:
        found = found.astype(np.int64)
    if found.dtype.kind == "f" and len(found):
        odd = found[found != np.rint(found)]
        raise ValueError(
            f"{name} has numbers such as {float((odd if len(odd) else found)[0])!r}, which are no labels; use AdaRegRegressor "
            "(--task regression), or make labels of them."
        )
    return found


class MissingTarget(ValueError):
    """A row without a target; the caller knows which row of the stream it is."""

    def __init__(self, name, row):
        super().__init__(name, row)
        self.name, self.row = name, row


def without(table, names):
    """The table without these columns."""
    kept = [name for name in column_names(table) if name not in names]
    return table[kept] if _is_pandas(table) else table.select(kept)


def rows_in(X):
    """Number of rows of an array, a matrix or a table."""
    return X.num_rows if _is_arrow(X) else X.shape[0] if hasattr(X, "shape") else len(X)


def listed(names):
    """The first names of a list, for messages."""
    return ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")


def _is_boolean(table, name):
    if _is_pandas(table):
        return str(table[name].dtype) in ("bool", "boolean")
    return arrow("A table").types.is_boolean(table.schema.field(name).type)


def _is_pandas(X):
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def _is_arrow(X):
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(X, pyarrow.Table)
