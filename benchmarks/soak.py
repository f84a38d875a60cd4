"""Long streams: whether models drift, slow down or grow.

``python benchmarks/soak.py [ROUNDS]`` learns 10⁷ rows, or ROUNDS, in chunks with ``partial_fit`` and prints a line per model: the
relative error of what is kept beside G at the end, the time of a round in the last tenth over that in the second
tenth, and the growth of memory after the first tenth. It exits with 1 where one of them is beyond its limit.

The error of an inverse is the largest |P − G⁻¹| over the square roots of the diagonal of G⁻¹. Full AdaGrad keeps the
eigendecomposition of an earlier G_τ, with which G_τ ⪯ G ⪯ (1+δ) G_τ holds: its error is by how much it does not.
"""

import argparse
import gc
import os
import sys
import time

import numpy as np

from sklearn_adareg import AdaRegClassifier

FEATURES, CHUNK, POOL = 20, 10_000, 200_000
LIMITS = {"error": 1e-6, "slowdown": 1.3, "growth": 1 << 20}
MODELS = {
    "defaults": {},
    "full ONS": {"potential": "ons", "eta": 4.0, "epsilon": 1.0},
    "full AdaGrad": {"potential": "adagrad", "structure": "full", "eta": 0.5, "scaling": None, "refresh": 0.5},
}


def stream(rng):
    """A pool of rows with correlated features in mixed units, which is gone through again and again in random parts."""
    X = rng.normal(size=(POOL, FEATURES)) @ rng.normal(size=(FEATURES, FEATURES))
    y = (X @ rng.normal(size=FEATURES) + 3 * rng.normal(size=POOL) > 0).astype(int)
    return X * 10.0 ** rng.uniform(-1, 1, size=FEATURES), y


def symmetric(lower):
    """The matrix of which the lower triangle is kept up to date."""
    return np.tril(lower) + np.tril(lower, -1).T


def error_of(arrays):
    """How far what is kept beside G is from what G says."""
    G = symmetric(arrays["G"][0])
    if "P" in arrays:
        waiting = int(arrays["count"][0])
        g, v, w = (arrays[f"pending_{name}"][0][:waiting] for name in "gvw")
        P = symmetric(arrays["P"][0]) - (w[:, None] * v).T @ v
        inverse = np.linalg.inv(G + g.T @ g)
        root = np.sqrt(np.diag(inverse))
        return float((np.abs(P - inverse) / np.outer(root, root)).max())
    halves = arrays["V"][0] / np.sqrt(arrays["eigenvalues"][0])[:, None]
    growth = np.linalg.eigvalsh(halves @ G @ halves.T)
    return float(max(0.0, 1.0 - growth[0], growth[-1] - 1.5))


def resident():
    """Bytes of this process in memory."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def quick(seconds):
    """The time of a call that other programs did not slow down."""
    return np.quantile(seconds, 0.1)


def soak(params, rounds):
    """Error, slowdown and growth of one model."""
    rng = np.random.default_rng(0)
    X, y = stream(rng)
    model = AdaRegClassifier(**params)
    chunks = max(rounds // CHUNK, 20)
    tenth = chunks // 10
    seconds = np.zeros(chunks)
    held = 0
    for k in range(chunks):
        start = rng.integers(POOL - CHUNK)
        part = slice(start, start + CHUNK)
        began = time.perf_counter()
        model.partial_fit(X[part], y[part], classes=[0, 1])
        seconds[k] = time.perf_counter() - began
        model.predict(X[:10])
        if k == tenth:
            held = resident()
    assert np.isfinite(model.coef_).all()
    assert model.t_ == chunks * CHUNK
    return {
        "error": error_of(model._state.blocks[0].arrays),
        "slowdown": float(quick(seconds[-tenth:]) / quick(seconds[tenth : 2 * tenth])),
        "growth": resident() - held,
        "microseconds": float(1e6 * quick(seconds) / CHUNK),
        "minutes": float(seconds.sum() / 60),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rounds", type=int, nargs="?", default=10**7)
    rounds = parser.parse_args().rounds
    print(f"{rounds} rounds, {FEATURES} features, {CHUNK} rows a call")
    passed = True
    for name, params in MODELS.items():
        found = soak(params, rounds)
        passed &= all(found[each] <= limit for each, limit in LIMITS.items())
        print(
            f"{name:14} error {found['error']:.1e}   last tenth over second {found['slowdown']:.2f}   "
            f"growth {found['growth'] / 1024:.0f} KiB   {found['microseconds']:.2f} µs a round, {found['minutes']:.1f} min",
            flush=True,
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
