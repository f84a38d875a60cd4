"""What CONTRIBUTING.md says about the tree of files is so."""

import re
from pathlib import Path

import pytest
from support.core_files import PACKAGE, core_files, lines_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "CONTRIBUTING.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs the sources")


def text():
    return PAGE.read_text(encoding="utf-8")


def test_every_path_in_contributing_exists():
    paths = re.findall(r"`((?:sklearn_adareg|tests|benchmarks|doc|\.ci)/[\w./-]+|\w+\.py)`", text())
    assert len(paths) > 40
    missing = [path for path in paths if not list(ROOT.glob(path)) and not named_in(path)]
    assert not missing


def named_in(name):
    """Whether a bare file name is that of a file of the package or of the reference."""
    folders = (PACKAGE, ROOT / "tests" / "reference")
    return "/" not in name and any(list(folder.rglob(name)) for folder in folders)


def test_each_question_has_its_path():
    rows = re.findall(r"^\| ([^|]+\?) \| ([^|]+) \|$", text(), re.MULTILINE)
    assert len(rows) > 20
    assert all("`" in answer for _, answer in rows)
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    answers = " ".join(answer for _, answer in rows)
    assert not {room for room in rooms if f"sklearn_adareg/{room}/" not in answers}


def test_the_core_is_no_larger_than_contributing_says():
    files, lines = re.search(r"at most (\d+) files of ([\d,]+) lines", text()).groups()
    core = core_files()
    assert len(core) <= int(files)
    assert lines_of(core) <= int(lines.replace(",", ""))
    assert PACKAGE / "_kernels" / "loop" / "_rounds.pyx" in core
    assert PACKAGE / "_kernels" / "include" / "_loops.h" in core
    assert PACKAGE / "_kernels" / "data" / "_svmlight.pyx" not in core  # streams alone read text
