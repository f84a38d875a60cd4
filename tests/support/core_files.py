"""The core: the rooms ``estimators`` and ``model``, and the kernels that they reach. What only a wing uses is not in it.

``python tests/support/core_files.py`` counts it. A file reaches what it imports, cimports or includes, also inside of a function;
a ``.pyx`` and the ``.pxd`` of its name are reached together.
"""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "sklearn_adareg"
ROOMS = ("estimators", "model")
LOADED_BY_PATH = re.compile(r'"([a-z]+(?:\.\w+)*\._[a-z_]+)\.[A-Z]\w+"')  # as the registry names classes
PATTERN = re.compile(
    r"""^\s*from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|[^\n]*)|^\s*(?:cdef\s+extern\s+from|\#include)\s+"([\w.]+)\"""",
    re.MULTILINE,
)


def core_files():
    """The files of the core, sorted."""
    waiting = [path for room in ROOMS for path in (PACKAGE / room).glob("*.py")]
    found = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [near for near in reached_from(path) if near.is_file()]
    return sorted(found)


def reached_from(path):
    """Kernels that a file names, and headers; whether or not they exist."""
    yield from (path.with_suffix(kind) for kind in (".pyx", ".pxd") if path.suffix != ".py")
    text = path.read_text(encoding="utf-8")
    for module in LOADED_BY_PATH.findall(text):
        yield from ((PACKAGE / "_kernels").joinpath(*module.split(".")).with_suffix(kind) for kind in (".pyx", ".pxd"))
    for module, names, header in PATTERN.findall(text):
        if header:
            yield PACKAGE / "_kernels" / "include" / header
            continue
        dots = len(module) - len(module.lstrip("."))
        parts = [part for part in module.split(".") if part]
        base = path.parents[dots - 1].joinpath(*parts) if dots else PACKAGE.parent.joinpath(*parts)
        if PACKAGE / "_kernels" in base.parents:
            for name in ("", *re.findall(r"\w+", names)):
                yield from ((base / name).with_suffix(kind) for kind in (".pyx", ".pxd"))


def lines_of(paths):
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


if __name__ == "__main__":
    files = core_files()
    kernels = [path for path in files if PACKAGE / "_kernels" in path.parents]
    for what, some in {"core": files, "of these kernels": kernels}.items():
        print(f"{what}: {len(some)} files, {lines_of(some):,} lines")
