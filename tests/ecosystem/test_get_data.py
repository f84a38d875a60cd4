"""The data of the benchmarks: gathered from a mirror, recognised by their values, and refused in a sentence otherwise."""

import gzip
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="only where the benchmarks are")


@pytest.fixture
def program(monkeypatch):
    """The names of get_data.py."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return runpy.run_path(str(BENCHMARKS / "get_data.py"))


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(20, 3)).round(4)
    return X, np.sign(X.sum(axis=1))


@pytest.fixture
def mirror(tmp_path, program, rows, monkeypatch):
    """A folder with one set, which is the only one there is."""
    write(tmp_path / "mirror", "made_up", *rows)
    source = program["SOURCES"]["a9a"]._replace(fingerprint=program["fingerprint"](*rows), url="")
    only = {"made_up": source}
    monkeypatch.setattr(sys.modules["data_sets.sources"], "SOURCES", only)
    program["get"].__globals__["SOURCES"] = only
    return tmp_path / "mirror"


def write(folder, name, X, y):
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / f"{name}.svm.gz", "wb") as file:
        dump_svmlight_file(X, y, file, zero_based=False)


def test_a_set_of_a_mirror_is_checked_and_kept(program, mirror, tmp_path, capsys):
    target = tmp_path / "data"
    assert program["main"]([str(target), "--mirror", str(mirror)]) == 0
    assert [path.name for path in target.iterdir()] == ["made_up.svm.gz"]
    assert program["main"]([str(target)]) == 0
    assert "was there" in capsys.readouterr().out


def test_other_rows_are_refused_and_not_kept(program, mirror, rows, tmp_path, capsys):
    X, y = rows
    X = X.copy()
    X[3, 1] += 0.001
    write(mirror, "made_up", X, y)
    assert program["main"]([str(tmp_path / "data"), "--mirror", str(mirror)]) == 1
    assert "not those that the figures were measured on" in capsys.readouterr().out
    assert list((tmp_path / "data").iterdir()) == []


def test_a_file_that_is_not_svmlight_is_refused(program, mirror, tmp_path, capsys):
    (mirror / "made_up.svm.gz").write_bytes(b"not gzip")
    assert program["main"]([str(tmp_path / "data"), "--mirror", str(mirror)]) == 1
    assert "is not a gzipped svmlight file" in capsys.readouterr().out


def test_a_prepared_set_needs_a_mirror(program, mirror, tmp_path, capsys):
    assert program["main"]([str(tmp_path / "data")]) == 1
    assert "use --mirror" in capsys.readouterr().out


def test_the_fingerprint_knows_values_not_formats(program, rows):
    X, y = rows
    assert program["fingerprint"](X, y) == program["fingerprint"](X * (1 + 1e-12), y)
    assert program["fingerprint"](X, y) != program["fingerprint"](X[:, ::-1], y)
    assert program["fingerprint"](X, y) != program["fingerprint"](X, -y)


def test_every_set_of_the_benchmarks_has_a_source(program):
    folder = import_module("data_sets.folder")
    used = {name for sets in folder.REFERENCES.values() for name in sets}
    assert used | set(folder.STREAMS) <= set(program["SOURCES"])


def test_river_sets_are_made_from_the_package(program, tmp_path, capsys):
    pytest.importorskip("river")
    assert program["main"]([str(tmp_path), "--data", "river_phishing", "river_image_segments"]) == 0


def test_an_empty_folder_is_an_error_in_one_sentence(tmp_path):
    command = [sys.executable, str(BENCHMARKS / "datasets.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "get_data.py" in done.stderr
