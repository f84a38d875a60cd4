"""Settings of the whole test suite."""

import os
import signal
from collections import Counter
from zlib import crc32

import pytest

# The matrices here are small: BLAS threads would only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts jobs in the background with Ctrl-C ignored, and the tests of interrupts need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LARGE = 9  # cases; of a test that has more, the short suite runs a sample
SAMPLE = 8  # one case in eight
SMOKE = 2  # tests of each file, one case of each
# A second and more a case: no smoke tests.
HEAVY = ("test_attack.py", "test_examples.py", "test_fork.py", "test_interrupts.py", "[loky]")


@pytest.fixture(autouse=True)
def _warned_of_nothing():
    """Each test as in a process of its own, which was not warned yet of parameters that have no effect."""
    from sklearn_adareg.model import _rules

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_rules, "told", set())
        yield


@pytest.hookimpl(tryfirst=True)  # before pytest reads the markers
def pytest_collection_modifyitems(items):
    """Mark as slow the cases of large grids that are not in the sample, which is the same in every run."""
    cases = Counter(test_of(item) for item in items)
    for item in items:
        large = cases[test_of(item)] > LARGE and item.get_closest_marker("every_case") is None
        if large and crc32(item.nodeid.encode()) % SAMPLE:
            item.add_marker("slow")
    mark_smoke(items)


def mark_smoke(items):
    """Mark the first tests of each file that are in the short suite, by their first cases there."""
    chosen = {}
    for item in items:
        tests = chosen.setdefault(item.path, {})
        light = item.path.suffix == ".py" and not any(part in item.nodeid for part in HEAVY)
        short = not any(item.get_closest_marker(name) for name in ("slow", "long", "engines"))
        if light and short and len(tests) < SMOKE:
            tests.setdefault(test_of(item), item)
    for tests in chosen.values():
        for item in tests.values():
            item.add_marker("smoke")


def test_of(item):
    """The test that an item is a case of."""
    return item.nodeid.split("[")[0]
