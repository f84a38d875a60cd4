"""Changed model files do not crash the interpreter: each is refused in a sentence, or is a model that predicts and learns on.

A long run::

    ADAREG_CHANGED_FILES=20000 ADAREG_CHANGED_FILES_SEED=1 python -m pytest tests/persistence/test_changed_files.py -m long -rP
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skops")
pytest.importorskip("pandas")
pytestmark = pytest.mark.skipif(np.__version__.startswith("1."), reason="pickles of NumPy 2")
SCRIPT = Path(__file__).parents[1] / "support" / "changed_files.py"
ROOT = Path(__file__).parents[2]
AT_ONCE = 500  # cases of a process
MOST_CRASHES = 20


def crashes_and_outcomes(seed, cases, folder):
    """The cases that ended their process, with what it said last, and what came of the others."""
    progress, crashes, outcomes, first = folder / "progress", [], Counter(), 0
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",  # with .ci/sanitize
    }
    while first < cases and len(crashes) < MOST_CRASHES:
        end = min(first + AT_ONCE, cases)
        command = [sys.executable, str(SCRIPT), *map(str, (seed, first, end, progress))]
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        first = end
        if run.returncode:
            first = int(progress.read_text()) + 1
            crashes.append(f"seed {seed}, case {first - 1}: {run.returncode}\n{run.stderr[-3000:]}")
        for line in run.stdout.splitlines():
            count, outcome = line.split(" ", 1)
            outcomes[outcome] += int(count)
    return crashes, outcomes


def test_changed_files_crash_nothing(tmp_path):
    crashes, outcomes = crashes_and_outcomes(0, 150, tmp_path)
    assert not crashes, "\n".join(crashes)
    assert not any("several lines" in outcome for outcome in outcomes)
    assert outcomes["adareg refused"] > 30
    assert outcomes["skops refused"] > 15


@pytest.mark.long
def test_many_changed_files_crash_nothing(tmp_path):
    seed = int(os.environ.get("ADAREG_CHANGED_FILES_SEED", "1"))
    cases = int(os.environ.get("ADAREG_CHANGED_FILES", "2000"))
    crashes, outcomes = crashes_and_outcomes(seed, cases, tmp_path)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:6} {outcome}")
    assert not crashes, "\n".join(crashes)
