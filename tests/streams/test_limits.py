"""Small files that would fill the memory are refused in a sentence, with little of it; the limits have names and can be raised."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.cli import main
from sklearn_adareg.streams import CSVStream, SvmlightStream, TableEncoder, fit_stream

pytest.importorskip("pyarrow")


def wide_table(folder):
    row = ",".join(["1"] * 10**6)
    names = ",".join(map(str, range(10**6)))
    (folder / "wide.csv").write_text(f"{names}\n{row}\n{row}\n")


def wide_row(folder):
    """In a table of two columns."""
    (folder / "wide.csv").write_text("0,1\n1,1\n" + ",".join(["1"] * 10**6) + "\n")


def long_line(name):
    def write(folder):
        (folder / name).write_bytes(gzip.compress(b"1" * 2**24, 1) * 2**7)  # 2 GiB

    return write


def long_quotes(folder):
    (folder / "quotes.csv.gz").write_bytes(gzip.compress(b'0,1\n1,"') + gzip.compress(b"1" * 2**24, 1) * 2**7)


def many_labels(folder):
    rows = "".join(f"label {number},shop {number}\n" for number in range(3000))
    (folder / "labels.csv").write_text("0,shop\n" + rows)


def distant_index(folder):
    (folder / "far.svm").write_text("1 1:1 2000000000:1\n2 1:1\n")


BOMBS = {
    "wide table": (wide_table, "wide.csv", "1,000,000 columns, more than max_columns=50,000; "),
    "wide row": (wide_row, "wide.csv", "Expected 2 columns, got 1000000"),
    "long line": (long_line("one.csv.gz"), "one.csv.gz", "more than max_line_bytes=67,108,864 bytes; "),
    "long svmlight line": (long_line("one.svm.gz"), "one.svm.gz", "more than max_line_bytes=67,108,864"),
    "long quotes": (long_quotes, "quotes.csv.gz", "more than max_line_bytes=67,108,864 bytes; "),
    "many labels": (many_labels, "labels.csv", "1,048,576 columns and 3,000 labels make 3,145,728,000 weights, more"),
    "distant index": (distant_index, "far.svm", "2,000,000,000 columns and 2 labels make 2,000,000,000 weights"),
}  # fmt: skip
COMMAND = """
import re, sys
from pathlib import Path
from sklearn_adareg.cli import main

def most():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

Path("/proc/self/clear_refs").write_text("5")  # the most memory from now on
begun_with = most()
code = main(sys.argv[1:])
print(code, (most() - begun_with) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("wide table", "long line", "many labels") else pytest.param(name, marks=pytest.mark.slow)
        for name in BOMBS
    ],
)
@pytest.mark.every_case
def test_a_bomb_is_refused_in_a_sentence_with_little_memory(name, tmp_path):
    write, file, sentence = BOMBS[name]
    write(tmp_path)
    options = [] if ".svm" in file else ["--target", "0", "--bits", "20"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "train", file, "--model", "m.adareg", "--quiet", *options],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    code, megabytes = map(int, done.stdout.split())
    assert code == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert megabytes < 500


def test_limits_can_be_raised(tmp_path):
    (tmp_path / "wide.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(ValueError, match="has 3 columns, more than max_columns=2; "):
        list(CSVStream(tmp_path / "wide.csv", max_columns=2).chunks())
    assert len(list(CSVStream(tmp_path / "wide.csv", max_columns=3).chunks())) == 1
    (tmp_path / "long.svm").write_text("1 1:1 2:2 3:3\n")
    for kind, path in ((CSVStream, "wide.csv"), (SvmlightStream, "long.svm")):
        with pytest.raises(ValueError, match="a line of more than max_line_bytes=3 bytes; "):
            list(kind(tmp_path / path, chunk_bytes=1, max_line_bytes=3).chunks())
        assert list(kind(tmp_path / path, chunk_bytes=1, max_line_bytes=14).chunks())


def test_limits_can_be_raised_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.eye(3), columns=list("abc")).to_csv("t.csv", index=False)
    train = "train t.csv --target a --task regression --model m.adareg --quiet"
    for low, enough in (("--max-columns 2", "--max-columns 3"), ("--max-weights 1", "--max-weights 2")):
        assert main(f"{train} {low}".split()) == 1
        assert f"({low.split()[0]})" in capsys.readouterr().err
        assert main(f"{train} {enough}".split()) == 0


@pytest.mark.parametrize("value", [0, -1, 1.5, None, "many"])
def test_a_limit_is_a_number(value, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.svm").write_text("1 1:1\n")
    for make in (
        lambda: CSVStream(tmp_path / "a.csv", max_columns=value),
        lambda: CSVStream(tmp_path / "a.csv", max_line_bytes=value),
        lambda: SvmlightStream(tmp_path / "a.svm", max_line_bytes=value),
        lambda: SvmlightStream(tmp_path / "a.svm", chunk_bytes=value),
    ):
        with pytest.raises(ValueError, match=r"=.* is no number of them; pass an integer of at"):
            make()


@pytest.mark.parametrize(
    ("model", "y", "weights"),
    [
        (AdaRegClassifier(), np.arange(20) % 2, 7),
        (AdaRegClassifier(), np.arange(20) % 5, 35),
        (SGDClassifier(), np.arange(20) % 5, 35),
        (AdaRegRegressor(), np.arange(20.0), 7),
        (AdaRegRegressor(), np.ones((20, 4)), 28),
    ],
)
def test_weights_are_counted_before_the_first_row(model, y, weights):
    X = np.random.default_rng(0).normal(size=(20, 7))
    with pytest.raises(ValueError, match=f"make {weights} weights, more than max_weights"):
        fit_stream(model, [(X, y)], progress=False, max_weights=weights - 1)
    assert not hasattr(model, "n_features_in_")
    fit_stream(model, [(X, y)] * 2, progress=False, max_weights=weights)
    fit_stream(model, [(X, y)], progress=False, max_weights=1)  # it is there already


def test_hashed_columns_are_counted(tmp_path):
    table = pd.DataFrame({"shop": list("abcdefgh"), "y": list("ABCDABCD")})
    model = make_pipeline(TableEncoder(n_hashed=2**10), AdaRegClassifier())
    with pytest.raises(ValueError, match=r"1,024 columns and 4 labels make 4,096 .*TableEncoder"):
        fit_stream(model, [table], target="y", progress=False, max_weights=4000)


def test_a_table_of_many_columns_is_read_in_time_that_grows_with_their_number(tmp_path):
    """No column is looked for among all others."""
    names = [f"column {number}" for number in range(20_000)]
    row = ",".join(["1"] * len(names))
    (tmp_path / "wide.csv").write_text(",".join(names) + f"\n{row}\n")

    class Counted(str):
        compared = 0

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    from sklearn_adareg.streams._streams import first_double

    assert first_double([Counted(name) for name in names]) is None
    assert Counted.compared < 10 * len(names)
    assert first_double([*names, names[7]]) == names[7]
