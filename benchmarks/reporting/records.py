"""What a program says while it measures, and the files that it leaves."""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np

import sklearn_adareg


def working_on(text):
    """Say on a terminal what is going on; the next line overwrites it."""
    if sys.stderr.isatty():
        print(f"\r\033[K… {text}\r", end="", file=sys.stderr, flush=True)


def environment():
    """What the figures were measured with."""
    versions = {
        "sklearn_adareg": sklearn_adareg.__version__,
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
    }
    for package in ("numpy", "scipy", "scikit-learn", "vowpalwabbit", "river"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return versions


def save(results, path):
    """Results as JSON, which knows no infinite numbers: they become null."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [plain(entry) for entry in value]
        return None if isinstance(value, float) and not np.isfinite(value) else value

    with open(path, "w") as file:
        json.dump(plain(results), file, indent=1)
        file.write("\n")
