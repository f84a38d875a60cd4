"""How near do the kernels run to what the machine allows?

``python benchmarks/bounds.py`` times the rounds alone, without validation, and puts beside each time the
least that memory, cache and arithmetic would take at rates measured in the same run, and the chain that a
round of one feature is. ``benchmarks/README.md`` has the counting.
"""

import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits
from timing.lines import PLAIN, dense, one_pass, sparse_like

from sklearn_adareg._kernels.loop import _rounds
from sklearn_adareg.model._recipe import loss_kernel
from sklearn_adareg.model._rows import make_rows, reading
from sklearn_adareg.model._runtime import method_of

DIAG = {"touch": 19, "row": 2, "fields": 3}  # flops a number and a value; numbers kept of each
ISO = {"touch": 6, "row": 2, "fields": 2}


def fastest(work, turns=9):
    """Seconds of the fastest of several turns."""
    best = np.inf
    for _ in range(turns):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


@dataclass
class Rates:
    """What the machine does in a second, on one thread."""

    memory: float  # bytes read, of rows in a row
    cache: float  # bytes moved in numbers that fit the second level, not the first
    flops: float  # of a matrix product

    @classmethod
    def measure(cls):
        X = np.ones((20_000, 500))
        w = np.ones(500)
        a, b = np.ones(40_000), np.ones(40_000)
        square = np.ones((600, 600))
        return cls(
            X.nbytes / fastest(lambda: X @ w),
            3 * a.nbytes / (fastest(lambda: [np.add(a, b, out=a) for _ in range(100)]) / 100),
            2 * 600**3 / fastest(lambda: square @ square),
        )


def rounds_alone(X, y, **params):
    """Nanoseconds of a round of a model that has seen the rows before."""
    model = one_pass(shuffle=False, **params).fit(X, y)
    state = model._state
    block = state.blocks[0]
    targets = model._encode(y, state.classes, np.empty(0))
    rows, order = make_rows(X, reading(block.recipe)), np.arange(X.shape[0])
    method = method_of(block)
    method.bind_loss(loss_kernel(block.recipe))
    seconds = fastest(lambda: _rounds.run_rounds(method, rows, order, targets, np.empty(0)))
    return 1e9 * seconds / X.shape[0]


def first_order_bounds(rates, X, outputs, counts):
    """Memory, cache and arithmetic of a diagonal or isotropic round, in nanoseconds."""
    touched = (X.nnz if sparse.issparse(X) else X.size) / X.shape[0] + 1
    row = 12 * touched if sparse.issparse(X) else X.itemsize * touched
    state = 8 * counts["fields"] * (X.shape[1] + 1) * outputs
    moved = 2 * 8 * counts["fields"] * touched * outputs if state > 32_768 else 0.0
    flops = touched * (counts["touch"] * outputs + counts["row"])
    return row / rates.memory, moved / rates.cache, flops / rates.flops


def full_ons_bounds(rates, X):
    """The same of full ONS: a product with half a matrix a round, and a fold now and then."""
    D = X.shape[1] + 1
    if sparse.issparse(X):
        touched = X.nnz / X.shape[0] + 1
        return (12 * touched / rates.memory, 8 * D * touched / rates.cache, (2 * D * touched + D * D) / rates.flops)
    return 8 * D / rates.memory, 4 * D * D / rates.cache, 3 * D * D / rates.flops


def works(rates):
    """Name, the rounds' nanoseconds and the three bounds, in seconds."""
    for structure, counts in (("diag", DIAG), ("iso", ISO)):
        params = {"potential": "adagrad", "structure": structure, **PLAIN}
        for dtype in (np.float64, np.float32):
            for d in (1, 10, 50, 500):
                X, y = dense(2_000_000 // max(d, 10), d, dtype)
                name = f"{structure}, dense {np.dtype(dtype).name}, d = {d}"
                yield name, rounds_alone(X, y, **params), first_order_bounds(rates, X, 1, counts)
    params = {"potential": "adagrad", "structure": "diag", **PLAIN}
    for name, shape in (
        ("27,272 columns, 132 values a row", (25_000, 27_272, 132)),
        ("168 columns, 12 values a row", (50_000, 168, 12)),
    ):
        X, y = sparse_like(*shape)
        yield (f"diag, CSR, {name}", rounds_alone(X, y, **params), first_order_bounds(rates, X, 1, DIAG))
    rng = np.random.default_rng(0)
    X = rng.random((2000, 784))
    y = (X @ rng.standard_normal((784, 10))).argmax(axis=1)
    yield (
        "diag, softmax, dense, d = 784, K = 10",
        rounds_alone(X, y, **params),
        first_order_bounds(rates, X, 10, DIAG),
    )
    params = {"potential": "ons", "structure": "full", **PLAIN}
    X, y = dense(2000, 500)
    yield "full ons, dense, d = 500", rounds_alone(X, y, **params), full_ons_bounds(rates, X)
    X, y = sparse_like(10_000, 123, 14)
    yield ("full ons, CSR, 123 columns, 14 values a row", rounds_alone(X, y, **params), full_ons_bounds(rates, X))


def main():
    """Measure the machine, then the kernels, and print both."""
    with threadpool_limits(limits=1):
        rates = Rates.measure()
        print(
            f"memory {rates.memory / 1e9:.1f} GB/s, second-level cache {rates.cache / 1e9:.1f} GB/s, "
            f"matrix product {rates.flops / 1e9:.0f} Gflop/s\n"
        )
        print(
            f"{'ns a round':46}{'rounds':>9}{'chain':>9}{'memory':>9}{'cache':>9}{'flops':>9}"
            f"{'over chain + largest':>22}"
        )
        chains = {}
        for name, taken, bounds in works(rates):
            memory, cache, flops = (1e9 * bound for bound in bounds)
            structure = name.split(",")[0]
            if name.endswith("d = 1"):
                chains[structure] = taken
            chain = 0.0 if "softmax" in name else chains.get(structure, 0.0)
            least = chain + max(memory, cache, flops)
            print(
                f"{name:46}{taken:9.0f}{chain:9.0f}{memory:9.1f}{cache:9.1f}{flops:9.1f}{taken / least:22.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
