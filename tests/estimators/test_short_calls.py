"""A call that learns from one row is short: few functions in few files, which is most of what such a call costs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import sklearn_adareg
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

ROOT = str(Path(sklearn_adareg.__file__).parent)
X = np.random.default_rng(0).normal(size=(50, 5))
Y = (X[:, 0] > 0).astype(int)
each_model = pytest.mark.parametrize(
    "model",
    [
        AdaRegClassifier(),
        AdaRegRegressor(),
        AdaRegClassifier("ons", "full", eta=1.0, domain="l2", radius=1.0),
        AdaRegClassifier("adagrad", "diag", eta=0.5),
        AdaRegRegressor("adagrad", "diag", loss="quantile", alpha=0.1, l1_ratio=1.0),
    ],
    ids=str,
)


def functions_called(call):
    """The functions of this package that a call runs, once for each time, as pairs of a file and a name."""
    called = []

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            called.append((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return called


def first_call(model):
    """The call that a model begins with."""
    if isinstance(model, AdaRegClassifier):
        return model.partial_fit(X, Y, classes=np.unique(Y))
    return model.partial_fit(X, Y)


@each_model
def test_one_row_takes_at_most_25_functions_in_8_files(model):
    model = first_call(clone(model)).partial_fit(X[:1], Y[:1])
    called = functions_called(lambda: model.partial_fit(X[1:2], Y[1:2]))
    assert len(called) <= 25
    assert len({file for file, _ in called}) <= 8


@each_model
def test_the_first_call_takes_at_most_100_functions(model):
    first_call(clone(model))  # the first one of all also loads kernels and reads signatures
    model = clone(model)
    assert len(functions_called(lambda: first_call(model))) <= 100


def test_a_wing_is_loaded_when_it_is_used():
    program = """
import sys, numpy as np
from sklearn_adareg import AdaRegClassifier
AdaRegClassifier().partial_fit(np.eye(3), [0, 1, 0], classes=[0, 1])
AdaRegClassifier().fit(np.eye(3), [0, 1, 0]).predict_proba(np.eye(3))
ours = [name.split(".") for name in sys.modules if name.startswith("sklearn_adareg")]
rooms = {parts[1] for parts in ours if len(parts) > 1}
assert rooms == {"estimators", "model", "_kernels"}, rooms
core = [parts for parts in ours if "_kernels" not in parts]
assert len(core) <= 40, len(core)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
