"""The figures in README.md are those of the measurements in doc/results."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "doc" / "results" / "quality.json"
LEARNERS = {
    "**AdaReg, defaults, raw rows**": "adareg",
    "river, its running scaler": "river",
    "Vowpal Wabbit, raw rows": "vw",
    "SGD, to convergence, rows scaled beforehand": "sgd",
    "SGD, one pass, raw rows": "sgd1 raw",
}
pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="only where the documentation is")


def rows_of_readme():
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in LEARNERS:
            yield LEARNERS[cells[0]], [float(re.sub(r"\*", "", cell)) for cell in cells[1:]]


def test_the_table_of_readme_is_what_was_measured():
    means = json.loads(RESULTS.read_text(encoding="utf-8"))["means"]
    found = dict(rows_of_readme())
    assert set(found) == set(LEARNERS.values())
    for learner, shown in found.items():
        measured = [round(means[task][learner], 3) for task in ("binary", "multi", "regression")]
        assert shown == measured, learner


def test_readme_counts_the_sets():
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))["shares"]
    counts = [sum(row["task"] == task for row in measured) for task in ("binary", "multi", "regression")]
    head = "| | two classes, {} sets | more classes, {} sets | regression, {} sets |".format(*counts)
    assert head in (ROOT / "README.md").read_text(encoding="utf-8")
