"""Each promise in the documentation names its test, and the test is there."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "doc" / "guide" / "promises.rst"


@pytest.mark.skipif(not PAGE.exists(), reason="needs the documentation's sources")
def test_the_tests_that_the_promises_name_are_there():
    named = re.findall(r"``(tests/[\w/]+\.py)::(\w+)``", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 15
    for file, name in named:
        assert f"def {name}(" in (PAGE.parents[2] / file).read_text(encoding="utf-8"), (file, name)


@pytest.mark.skipif(not PAGE.exists(), reason="needs the documentation's sources")
def test_each_promise_names_a_test():
    promises = re.findall(r"^- (\*\*.*?)(?=^- |^$)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(promises) > 25
    for promise in promises:
        assert re.search(r"``tests/[\w/]+\.py::\w+``", promise), promise
