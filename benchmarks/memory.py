"""Peak extra memory of one ``fit``, measured in a process of its own.

``python benchmarks/memory.py KIND FEATURES MEGABYTES`` prints one line of JSON; KIND is dense or
csr. ``speed.py`` runs it.
"""

import json
import pickle
import resource
import sys

import numpy as np
from learning.learners import build
from scipy import sparse

from sklearn_adareg import AdaRegClassifier

NONZEROS = 100  # in a row of the sparse matrix


def _reset_peak():
    """Let the kernel forget the peak so far; False where it cannot."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _status(field):
    """A figure of this process in bytes."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return 1024 * int(line.split()[1])


def _rows(kind, d, size):
    """About ``size`` bytes of input, made without a copy of it."""
    rng = np.random.default_rng(0)
    if kind == "dense":
        X = np.empty((size // (8 * d), d))
        rng.random(out=X)
        return X
    n = size // (12 * NONZEROS)
    indices = np.empty(n * NONZEROS, dtype=np.int32)
    for start in range(0, len(indices), NONZEROS * 1000):
        block = indices[start : start + NONZEROS * 1000].reshape(-1, NONZEROS)
        # one index in each of NONZEROS stretches: sorted and without repetition
        stretch = d // NONZEROS
        block[:] = rng.integers(stretch, size=block.shape) + stretch * np.arange(NONZEROS)
    data = np.empty(len(indices))
    rng.random(out=data)
    indptr = np.arange(0, len(indices) + 1, NONZEROS, dtype=np.int32)
    return sparse.csr_matrix((data, indices, indptr), shape=(n, d), copy=False)


def peak_of_fit(kind, d, size):
    """Bytes beyond those held when ``fit`` was called, and the size of the state it leaves."""
    X = _rows(kind, d, size)
    y = np.random.default_rng(1).integers(2, size=X.shape[0]).astype(float)
    params = {"potential": "adagrad", "structure": "diag", "max_iter": 1, "random_state": 0}
    plain = build(AdaRegClassifier, scaling=None, eta=1.0, epsilon=1.0, **params)
    model = build(AdaRegClassifier, **params)
    model.fit(X[:100], y[:100])  # what the first call imports is no matter of this one
    precise = _reset_peak()
    before = _status("VmRSS:") if precise else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.fit(X, y)
    after = _status("VmHWM:") if precise else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    held = X.nbytes if kind == "dense" else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {
        "rows": X.shape[0],
        "features": d,
        "input": held,
        "extra": max(0, after - before),
        "state": len(pickle.dumps(model)),
        "plain_state": len(pickle.dumps(plain.fit(X[:100], y[:100]))),
    }


if __name__ == "__main__":
    kind, d, megabytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(peak_of_fit(kind, d, megabytes << 20)))
