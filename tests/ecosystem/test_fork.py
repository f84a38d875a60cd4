"""A model after a fork."""

import os
import subprocess
import sys

import pytest

# in a process of its own: a fork beside the threads of other tests would be warned of
SCRIPT = """
import os
import numpy as np
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5))
Y = X @ rng.normal(size=(5, 6))
labels = np.abs(Y).argmax(axis=1)
first, second = slice(0, 200), slice(200, None)
for make, y in [
    (lambda: AdaRegRegressor(n_jobs=2), Y),
    (lambda: AdaRegRegressor("adagrad", "diag", n_jobs=2), Y),
    (lambda: AdaRegClassifier(loss="hinge", n_jobs=2), labels),
]:
    first_call = {"classes": np.arange(6)} if y is labels else {}
    model = make().partial_fit(X[first], y[first], **first_call)
    twin = make().partial_fit(X[first], y[first], **first_call).partial_fit(X[second], y[second])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, model.partial_fit(X[second], y[second]).coef_.tobytes())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reading, 1 << 16) == twin.coef_.tobytes(), "in the child"
    assert model.t_ == 200, "the child's rounds are its own"
    assert (model.partial_fit(X[second], y[second]).coef_ == twin.coef_).all(), "in the parent"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_model_goes_on_in_both_processes_after_a_fork():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
