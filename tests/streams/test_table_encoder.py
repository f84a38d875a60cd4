"""TableEncoder: scikit-learn's hashing and one-hot encoding, from one chunk, whatever library made the table."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher
from sklearn.preprocessing import OneHotEncoder

from sklearn_adareg.streams import TableEncoder

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "size": rng.normal(size=200),
        "city": rng.choice(["Berlin", "Rome", "Oslo"], 200),
        "code": rng.integers(0, 50, 200),
        "sold": rng.random(200) < 0.5,
    }
)


def libraries():
    """The same table in each library that is installed."""
    yield "pandas", lambda table: table
    yield "pandas categories", lambda table: table.astype({"city": "category"})
    yield "pyarrow", lambda table: pytest.importorskip("pyarrow").Table.from_pandas(table)
    yield (
        "pyarrow dictionaries, in several chunks",
        lambda table: pytest.importorskip("pyarrow").concat_tables(
            pytest.importorskip("pyarrow").Table.from_pandas(part.astype({"city": "category"}))
            for part in (table.iloc[:30], table.iloc[30:])
        ),
    )
    yield "polars", _polars


def _polars(table):
    pytest.importorskip("pyarrow")
    return pytest.importorskip("polars").from_pandas(table)


LIBRARIES = dict(libraries())


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("library", LIBRARIES)
def test_hashed_columns_are_those_of_feature_hasher(library):
    encoder = TableEncoder(categorical=["code"], n_hashed=16)  # so few that columns collide
    X = encoder.fit_transform(LIBRARIES[library](TABLE))
    tokens = [[f"city={city}", f"code={code}"] for city, code in zip(TABLE["city"], TABLE["code"], strict=True)]
    hashed = FeatureHasher(16, input_type="string").transform(tokens).toarray()
    np.testing.assert_array_equal(dense(X)[:, 2:], hashed)
    np.testing.assert_array_equal(dense(X)[:, :2], TABLE[["size", "sold"]].to_numpy(dtype=float))
    assert X.has_canonical_format
    assert encoder.numeric_ == ["size", "sold"]


@pytest.mark.parametrize("many", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_listed_categories_are_those_of_one_hot_encoder(library, many):
    known = ["Rome", "Berlin", *([f"town {i}" for i in range(200)] if many else [])]
    encoder = TableEncoder(categories={"city": known}, drop=["code", "sold"])
    X = encoder.fit_transform(LIBRARIES[library](TABLE))
    assert sparse.issparse(X) == many
    one_hot = OneHotEncoder(categories=[known], handle_unknown="ignore", sparse_output=False)
    np.testing.assert_array_equal(dense(X)[:, 1:], one_hot.fit_transform(TABLE[["city"]]))
    names = encoder.get_feature_names_out()
    assert names[:3].tolist() == ["size", "city=Rome", "city=Berlin"]
    assert len(names) == X.shape[1] == encoder.n_features_out_


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_numbers(library):
    table = TABLE.assign(size=TABLE["size"].where(TABLE["code"] > 5))
    gaps = table["size"].isna().to_numpy()
    given = LIBRARIES[library](table)
    with pytest.raises(ValueError, match=r"column 'size' has a missing value .* missing=\"indicator\""):
        TableEncoder(drop=["city"]).fit_transform(given)
    zero = TableEncoder(drop=["city"], missing="zero").fit_transform(given)
    np.testing.assert_array_equal(zero[:, 0], np.where(gaps, 0, table["size"]))
    marked = TableEncoder(drop=["city", "code", "sold"], missing="indicator").fit_transform(given)
    np.testing.assert_array_equal(marked, np.column_stack([zero[:, 0], gaps]))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_missing_category_is_a_category(library):
    table = TABLE.assign(city=TABLE["city"].where(TABLE["code"] > 5))
    gaps = table["city"].isna().to_numpy()
    given, said = LIBRARIES[library](table), table.fillna({"city": "missing"})
    encoder = TableEncoder(n_hashed=64)
    np.testing.assert_array_equal(dense(encoder.fit_transform(given)), dense(encoder.fit_transform(said)))
    listed = TableEncoder(categories={"city": ["missing", "Rome"]}, drop=["code", "sold"])
    np.testing.assert_array_equal(listed.fit_transform(given)[:, 1], gaps)
    unlisted = TableEncoder(categories={"city": ["Rome"]}).fit_transform(given)
    assert not unlisted[gaps, -1].any()


def test_whole_numbers_are_the_same_category_as_int_and_as_float():
    encoder = TableEncoder(categorical=["code"], drop=["city", "size", "sold"]).fit(TABLE)
    floats = TABLE.assign(code=TABLE["code"].astype(float))
    assert (encoder.transform(TABLE) != encoder.transform(floats)).nnz == 0


def test_columns_may_come_in_another_order_and_with_others_beside_them():
    encoder = TableEncoder().fit(TABLE)
    other = TABLE[list(TABLE)[::-1]].assign(more=1)
    assert (encoder.transform(TABLE) != encoder.transform(other)).nnz == 0


def test_later_chunks_change_nothing():
    encoder = TableEncoder().partial_fit(TABLE[:1])
    X = encoder.transform(TABLE)
    assert (encoder.partial_fit(TABLE[5:9]).transform(TABLE) != X).nnz == 0
    assert (clone(encoder).fit(TABLE).transform(TABLE) != X).nnz == 0


@pytest.mark.parametrize(
    ("options", "table", "sentence"),
    [
        ({"drop": ["cities"]}, TABLE, "none of that name"),
        ({"categories": {"cities": ["Rome"]}}, TABLE, "none of that name"),
        ({}, TABLE.assign(day=pd.Timestamp("2020-01-01")), r"'day' has the type .*drop=\['day'\]"),
        ({"drop": list(TABLE)}, TABLE, "no columns to learn from"),
        ({"missing": "mean"}, TABLE, "missing"),
    ],
)
def test_refusals(options, table, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder(**options).fit(table)


def test_a_table_that_changes_is_refused():
    encoder = TableEncoder().fit(TABLE)
    with pytest.raises(ValueError, match="no column 'size'"):
        encoder.transform(TABLE.drop(columns="size"))
    with pytest.raises(ValueError, match=r"'size' held numbers .* categorical=\['size'\]"):
        encoder.transform(TABLE.assign(size="large"))
    with pytest.raises(TypeError, match="is no table"):
        encoder.transform(np.zeros((2, 2)))
