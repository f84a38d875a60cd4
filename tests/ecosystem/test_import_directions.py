"""The contract of folders: imports go down one list, for Python modules and kernels alike.

A wing (the folders above ``estimators``) is loaded when it is used: what lies below may import it inside of a function only.
"""

import ast
import re
from pathlib import Path

import pytest

import sklearn_adareg

ROOT = Path(sklearn_adareg.__file__).parent
# Highest first. A module may import from its own folder, from those on its line whose names it contains or that contain its own,
# and from all lines below; "." is the package itself.
LAYERS = (
    ". cli",
    "tuning streams distributed displays",
    "theory merging persistence",
    "estimators",
    "model",
    "_kernels/loop",
    "_kernels/aggregation",
    "_kernels/information",
    "_kernels/preconditioners/block _kernels/preconditioners/kronecker _kernels/preconditioners/sketch",
    "_kernels/preconditioners/diagonal _kernels/preconditioners/full",
    "_kernels/preconditioners",
    "_kernels/domains _kernels/prequential _kernels/scaling _kernels/solvers",
    "_kernels/losses _kernels/potentials",
    "_kernels/data",
    "_kernels/linalg",
    "_kernels/state",
)
WINGS = 3  # lines of the list
DEPTH = {folder: depth for depth, line in enumerate(LAYERS) for folder in line.split()}
PYTHON = sorted(ROOT.rglob("*.py"))
KERNELS = sorted(path for kind in ("*.pyx", "*.pxd") for path in ROOT.rglob(kind))
CIMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+c?import\s+\(?([\w ,]+)", re.MULTILINE)
LOOSE = re.compile(r"^\s*c?import\s+sklearn_adareg\b.*", re.MULTILINE)


def folder_of(path):
    """The room of a file of the package."""
    return path.parent.relative_to(ROOT).as_posix()


def room_named(path, name, imported):
    """The folder that ``from name import imported`` in a file leads to; None outside of the package."""
    dots = len(name) - len(name.lstrip("."))
    if dots:
        base = path.parents[dots - 1]
    elif name.split(".")[0] == "sklearn_adareg":
        base, name = ROOT.parent, name
    else:
        return None
    target = base.joinpath(*name.lstrip(".").split(".")) if name.strip(".") else base
    target = target / imported if (target / imported).is_dir() else target
    return (target if target.is_dir() else target.parent).relative_to(ROOT).as_posix()


def imports_of(path):
    """Pairs of a folder that a file imports from, and whether it does so when it is loaded."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        found = [(m[1], m[2].split(",")[0].strip(), True) for m in CIMPORT.finditer(text)]
    else:
        tree = ast.parse(text)
        late = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            or (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")
            for inner in ast.walk(node)
        }
        found = [
            ("." * node.level + (node.module or ""), alias.name, node not in late)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        found += [
            (alias.name, "", node not in late)
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        ]
    rooms = [(room_named(path, name, imported), early) for name, imported, early in found]
    return [(room, early) for room, early in rooms if room is not None]


def may_import(here, there, early):
    """Whether the contract lets a module of one folder import from another."""
    if here == there or DEPTH[there] > DEPTH[here]:
        return True
    if not early:
        return DEPTH[there] < WINGS or there.startswith("_kernels")
    return DEPTH[there] == DEPTH[here] < WINGS


def test_the_contract_sees_every_form_of_import():
    kernel = ROOT / "_kernels" / "preconditioners" / "full" / "_full.pyx"
    assert room_named(kernel, "...data._rows", "Row") == "_kernels/data"
    assert room_named(kernel, "sklearn_adareg._kernels.losses._losses", "Loss") == "_kernels/losses"
    assert room_named(ROOT / "estimators" / "_base.py", "..model", "_auto") == "model"
    assert room_named(ROOT / "estimators" / "_base.py", "..", "streams") == "streams"
    assert room_named(kernel, "libc.math", "sqrt") is None
    assert room_named(kernel, "sklearn_adareg.model", "") == "model"
    assert not may_import("model", "theory", early=True)
    assert may_import("model", "theory", early=False)
    assert not may_import("model", "estimators", early=False)


def test_every_folder_has_its_layer():
    files = {path for path in PYTHON + KERNELS if path.name != "__init__.py"}
    assert {folder_of(path) for path in files} <= set(DEPTH)


def test_the_design_note_names_every_folder_of_kernels():
    note = (ROOT / "_kernels" / "README.md").read_text(encoding="utf-8")
    named = {name for line in note.splitlines() for name in re.findall(r"`([\w/]+)`", line)}
    rooms = {folder.removeprefix("_kernels/") for folder in DEPTH if folder.startswith("_kernels/")}
    assert rooms <= named | {f"preconditioners/{name}" for name in named}


def test_no_folder_is_crowded():
    folders = {path for path in ROOT.rglob("*") if path.is_dir() and path.name != "__pycache__"}
    for folder in folders:
        kept = [path for path in folder.glob("*.*") if path.suffix in (".py", ".pyx", ".pxd", ".h")]
        assert len(kept) <= 25, folder


@pytest.mark.every_case
@pytest.mark.parametrize(
    "path",
    [path for path in PYTHON + KERNELS if folder_of(path) in DEPTH],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_imports_go_down(path):
    here = folder_of(path)
    wrong = {room for room, early in imports_of(path) if not may_import(here, room, early)}
    assert not wrong, f"{path.name} imports from {sorted(wrong)}"
    if path.suffix != ".py":
        assert not LOOSE.findall(path.read_text("utf-8")), "name what is imported"
