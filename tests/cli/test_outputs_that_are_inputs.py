"""The command never destroys its input: an output that is an input, by whatever name, is refused, and every file stays as it was."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sklearn_adareg import AdaRegRegressor
from sklearn_adareg.cli import main
from sklearn_adareg.streams import fit_stream

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and devices")
TABLE = pd.DataFrame({"a": [1.0, 2.0, 3.0] * 30, "y": [2.5, 4.5, 6.0] * 30})
# Commands, and in braces the inputs that an output may be put in the place of.
COMMANDS = {
    "predict in.csv --model m.adareg --output {}": ["in.csv", "m.adareg"],
    "predict in.csv more.csv --model m.adareg --output {}": ["more.csv"],
    "predict rows --model m.adareg --output {}": ["rows/x.csv"],
    "predict in.csv --model m.adareg --target y --output {}": ["in.csv"],
    "train in.csv --target y --model n.adareg --predictions {}": ["in.csv"],
    "train in.csv --target y --model n.adareg --checkpoint {}": ["in.csv"],
    "train in.csv --target y --start m.adareg --model {}": ["m.adareg"],
    "train in.csv --target y --start m.adareg --model n.adareg --predictions {}": ["m.adareg"],
    "train in.csv --target y --model n.adareg --checkpoint c --predictions {}": ["c", "n.adareg"],
    "merge m.adareg o.adareg -o {}": ["m.adareg", "o.adareg"],
    "merge m.adareg o.adareg --base b.adareg -o {}": ["b.adareg"],
}
CASES = [(line, name) for line, names in COMMANDS.items() for name in names]
NAMES = {
    "itself": lambda path: path,
    "absolute": lambda path: path.absolute(),
    "around": lambda path: path.parent / ".." / path.absolute().parent.name / path.name,
    "symbolic link": lambda path: linked(path, Path.symlink_to, path.absolute()),
    "link to a link": lambda path: linked(NAMES["symbolic link"](path), Path.symlink_to),
    "hard link": lambda path: linked(path, Path.hardlink_to),
    "through a linked folder": lambda path: linked(path.absolute().parent, Path.symlink_to) / path.name,
}


def linked(path, link, to=None):
    """A new name for a file, of the same suffix."""
    number = len(list(Path.cwd().parent.iterdir()))
    name = Path.cwd().parent / f"link{number}{path.suffix}"
    link(name, path.absolute() if to is None else to)
    return name


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    TABLE.to_csv(folder / "rows.csv", index=False)
    for name in "mob":
        line = f"train {folder}/rows.csv --target y --model {folder}/{name}.adareg --quiet"
        assert main(line.split()) == 0
    return {path.name: path.read_bytes() for path in folder.glob("*.adareg")}


def fill(folder, models):
    """All inputs in an empty folder; what the files hold."""
    (folder / "rows").mkdir(parents=True)
    for name in ("in.csv", "more.csv", "rows/x.csv", "rows/y.csv"):
        TABLE.to_csv(folder / name, index=False)
    for name, content in models.items():
        (folder / name).write_bytes(content)
    return contents(folder)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@settings(max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))  # fmt: skip
@given(st.sampled_from(CASES), st.sampled_from(sorted(NAMES)))
def test_a_command_refuses_an_output_that_is_an_input(models, case, kind):
    command, name = case
    with TemporaryDirectory() as outer, pytest.MonkeyPatch.context() as patch:
        folder = Path(outer) / "work"
        before = fill(folder, models)
        patch.chdir(folder)
        there = (folder / name).exists()  # other outputs are not there yet
        path = NAMES[kind](Path(name)) if there else Path(name)
        before.update(contents(folder))
        printed = Printed()
        patch.setattr(sys, "stderr", printed)
        assert main(command.format(path).split()) == 1, (command, path)
        assert printed.text.count("\n") == 1
        assert f"would replace {'the input ' if there else ''}" in printed.text
        assert printed.text.endswith("; name another file.\n")
        assert contents(folder) == before


class Printed:
    text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("output", ["checkpoint", "predictions"])
def test_fit_stream_refuses_an_output_that_is_its_source(output, tmp_path):
    TABLE.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "link").symlink_to("in.csv")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=f"The {output} would replace the input .*in.csv, which is"):
        fit_stream(AdaRegRegressor(), tmp_path / "in.csv", target="y", **{output: tmp_path / "link"})
    assert contents(tmp_path) == before


@pytest.mark.parametrize("output", ["--output /dev/stdout", "--output /dev/fd/1", ""])
def test_the_standard_output_is_no_file_to_be_replaced(output, models, tmp_path):
    """Appended to a file, predictions are behind what was there; and are whole."""
    folder = tmp_path / "work"
    fill(folder, models)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    line = [sys.executable, "-m", "sklearn_adareg", "predict", "in.csv", "--model", "m.adareg"]
    with open(folder / "log", "w") as log:
        log.write("before\n")
        log.flush()
        subprocess.run([*line, *output.split()], cwd=folder, env=environment, stdout=log, check=True)
    lines = (folder / "log").read_text().splitlines()
    assert lines[:2] == ["before", "prediction"]
    assert len(lines) == 2 + len(TABLE)


def test_rows_are_not_appended_to_the_file_that_is_read(models, tmp_path):
    folder = tmp_path / "work"
    before = fill(folder, models)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    line = [sys.executable, "-m", "sklearn_adareg", "predict", "in.csv", "--model", "m.adareg"]
    with open(folder / "in.csv", "a") as same:
        done = subprocess.run(line, cwd=folder, env=environment, stdout=same, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "The predictions would replace the input" in done.stderr
    assert contents(folder) == before
