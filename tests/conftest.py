"""Settings of the whole test suite."""

import os

# The matrices here are small: BLAS threads would only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(config, items):
    """With ADAREG_TEST_CASES=n keep the first n cases of each parametrised test, where every one would take too long."""
    most = int(os.environ.get("ADAREG_TEST_CASES", "0"))
    if not most:
        return
    seen, kept, left_out = {}, [], []
    for item in items:
        test = item.nodeid.split("[")[0]
        seen[test] = seen.get(test, 0) + 1
        (kept if seen[test] <= most else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
