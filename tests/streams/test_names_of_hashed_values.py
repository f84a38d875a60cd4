"""Hashed values keep their names: the first of each column, whoever saw them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction import FeatureHasher
from sklearn.pipeline import make_pipeline

from sklearn_adareg import AdaRegRegressor, distributed
from sklearn_adareg.streams import TableEncoder, fit_stream
from sklearn_adareg.streams._encoder import KEPT, LONGEST, names_by_column

TABLE = pd.DataFrame({"shop": [f"s{i}" for i in range(30)], "zip": [f"{i:05d}" for i in range(30)]})


def test_values_are_remembered_as_they_come():
    encoder = TableEncoder().partial_fit(TABLE[:10])
    first = encoder.hashed_values_
    encoder.transform(TABLE[20:])  # which learns nothing
    encoder.partial_fit(TABLE[5:20])
    assert {name: values.tolist() for name, values in encoder.hashed_values_.items()} == {
        name: TABLE[name][:20].tolist() for name in TABLE
    }
    assert len(first["shop"]) == 10  # another thread may be saving it
    assert TableEncoder().fit(TABLE[["shop"]]).hashed_values_["shop"].tolist() == [*TABLE["shop"]]


def test_what_is_remembered_is_bounded():
    many = pd.DataFrame({"user": [f"u{i}" for i in range(KEPT + 500)]})
    encoder = TableEncoder().partial_fit(many[:700]).partial_fit(many[700:])
    assert encoder.hashed_values_["user"].tolist() == many["user"][:KEPT].tolist()
    long = pd.DataFrame({"text": ["a" * LONGEST, "a" * (LONGEST + 1)]})
    assert TableEncoder().fit(long).hashed_values_["text"].tolist() == ["a" * LONGEST]


def test_names_stand_at_the_columns_of_feature_hasher_with_its_signs():
    encoder = TableEncoder(n_hashed=16).fit(TABLE)
    tokens = [f"{name}={value}" for name in TABLE for value in [*TABLE[name], "missing"]]
    found = names_by_column(encoder)
    assert sorted(token for names in found.values() for _, token in names) == sorted(tokens)
    for column, names in found.items():
        for sign, token in names:
            hashed = FeatureHasher(16, input_type="string").transform([[token]]).toarray()[0]
            assert hashed[column] == sign


@pytest.mark.parametrize("split", [[10, 20], [0, 30]])
def test_a_stream_and_shards_of_it_remember_the_same_values(split):
    table = TABLE.assign(y=np.arange(30.0))
    parts = [table[i:j] for i, j in zip([0, *split], [*split, 30], strict=True) if i < j]
    model = make_pipeline(TableEncoder(n_hashed=64), AdaRegRegressor())
    shards = distributed.fit(model, parts, target="y", n_jobs=1)
    fit_stream(model, parts, target="y", progress=False)
    for encoder in (model[0], shards[0]):
        assert {k: v.tolist() for k, v in encoder.hashed_values_.items()} == {
            name: TABLE[name].tolist() for name in TABLE
        }
