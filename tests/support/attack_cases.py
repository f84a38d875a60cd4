"""What the attack draws: estimators of all registry entries, and rows, targets, weights and containers, sound and faulty.

Parameters and kinds are hypothesis's draws, so that a failure shrinks towards the defaults; numbers come from a seed.
"""

import tempfile
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, SpectralPotential
from sklearn_adareg.model import _registry

SIZES = {  # of the values in a column
    "ordinary": [1.0],
    "mixed units": 10.0 ** np.arange(-6, 7),
    "tiny": [1e-9, 1e-16, 1e-160, 1e-300, 1e-310, 5e-324, 1.0],
    "large": [1e3, 1e9, 1e30, 1.0],
    "huge": [1e100, 1e150, 1e200, 1e300, 1.0],
    "anything": 10.0 ** np.arange(-320.0, 300.0, 31.0),
}
WIDTHS = [2, 1, 3, 5, 20, 39, 40, 50, 101]
LABELS = [[0, 1], [-1, 1], ["no", "yes"], [1.0, 2.0], [0, 1, 2], ["a", "b", "c", "d", "e", "f"]]


class Trap:
    """Makes ψ of :class:`Own` raise at a call of our choice; outside of the potential, which must not change."""

    calls_left = None

    @classmethod
    def step(cls):
        """Count a call of ψ."""
        if cls.calls_left is not None:
            cls.calls_left -= 1
            if cls.calls_left < 0:
                cls.calls_left = None
                raise LookupError("The trap has sprung.")


class Own(SpectralPotential):
    """A user's potential, ψ(λ) = 0.3 λ^(−1/4)."""

    def __init__(self, operator_antitone=False):
        self.operator_antitone = operator_antitone

    def psi(self, eigenvalues):
        Trap.step()
        return 0.3 * eigenvalues**-0.25

    def __repr__(self):
        return f"Own({self.operator_antitone})"


COMMON = {
    "potential": [*_registry.POTENTIALS, Own(), Own(True)],
    "structure": list(_registry.STRUCTURES),
    "blocks": [1, 2, 3, "auto"],
    "rank": [1, 2, 40],
    "p": [1.0, 0.5, 7.0],
    "eta": [0.1, 10.0, 1e-200, 1e200, "theory"],
    "epsilon": [1.0, 1e-10, 1e10, 1e-300, "theory"],
    "half_life": [1.0, 30.0, 1e5, None],
    "refresh": [0.0, 0.1, 0.5, 10.0],
    "scaling": [None],
    "domain": [name for name in _registry.DOMAINS if name is not None],
    "radius": [1.0, 1e-3, 1e3, 1e-200],
    "update": list(_registry.UPDATES),
    "alpha": [0.01, 1e-8, 10.0],
    "l1_ratio": [0.5, 1.0],
    "average": [True, False, 2.0, 20.0],
    "fit_intercept": [False],
    "max_iter": [1, 2, 3],
    "tol": [None, 0.0],
    "shuffle": [False],
    "warm_start": [True],
    "early_stopping": [True],
    "n_jobs": [2],
    "random_state": [0],
}
OWN = {
    AdaRegClassifier: {
        "loss": list(_registry.CLASSIFICATION_LOSSES),
        "class_weight": ["balanced", "own"],
        "scoring": [None, "accuracy"],
    },
    AdaRegRegressor: {
        "loss": list(_registry.REGRESSION_LOSSES),
        "huber_delta": [0.1, 100.0],
        "quantile": [0.1, 0.99],
        "insensitivity": [0.0, 10.0],
        "scoring": [None, "r2"],
    },
}
COUPLING = [name for name, entry in _registry.STRUCTURES.items() if entry.couples_outputs]
WRONG = [0, 0.0, -1, -0.5, 2, 10**400, np.nan, np.inf, "nonsense", [], None, np.float32(0.5), True]


class Case(NamedTuple):
    """An estimator and the problem that it learns."""

    cls: type
    params: dict
    width: int
    labels: list  # of a classifier
    targets: int  # of a regressor; 0: y is a vector

    def make(self):
        """The estimator."""
        params = dict(self.params)
        if params.get("class_weight") == "own":
            params["class_weight"] = dict(zip(self.labels, [2.0, 0.25, 3.0], strict=False))
        return self.cls(**params)


class Chunk(NamedTuple):
    """Rows, targets and weights to be made, and what is wrong with them."""

    seed: int
    rows: int
    sizes: str
    y: str
    weight: str
    container: str
    fault: str | None


@st.composite
def cases(draw, cls):
    """An estimator, mostly with parameters that go together."""
    choices = {**COMMON, **OWN[cls]}
    names = draw(st.lists(st.sampled_from(list(choices)), max_size=7, unique=True))
    params = {name: draw(st.sampled_from(choices[name])) for name in names}
    if draw(st.integers(0, 9)) < 9:
        params = tidy(params)
    if draw(st.integers(0, 19)) == 19:
        params[draw(st.sampled_from(list(choices)))] = draw(st.sampled_from(WRONG))
    labels, targets = LABELS, [0, 0, 0, 1, 2, 5]
    if params.get("structure") in COUPLING and draw(st.integers(0, 9)) < 9:
        labels, targets = [some for some in LABELS if len(some) > 2], [2, 5]
    return Case(
        cls, params, draw(st.sampled_from(WIDTHS)), draw(st.sampled_from(labels)), draw(st.sampled_from(targets))
    )


def tidy(params):
    """Parameters that go together."""
    params = dict(params)
    domain = _registry.DOMAINS[params.get("domain")]
    if "theory" in (params.get("eta"), params.get("epsilon")):
        params.setdefault("domain", "l2")
        domain = _registry.DOMAINS[params["domain"]]
        params.update(scaling=None, fit_intercept=False)
    if domain.has_radius:
        params.setdefault("radius", 1.0)
    else:
        params.pop("radius", None)
    if not domain.joint_prox:
        params.pop("alpha", None)
    structure = _registry.STRUCTURES.get(params.get("structure"))
    if structure is not None and structure.couples_outputs:
        for name in ("domain", "radius", "update", "eta", "epsilon"):
            if params.get(name) == "theory" or name not in ("eta", "epsilon"):
                params.pop(name, None)
        if isinstance(params.get("potential"), SpectralPotential):
            params.pop("potential")
    if structure is not None and structure.has_blocks:
        params.setdefault("blocks", 4)
    else:
        params.pop("blocks", None)
    if structure is None or not structure.has_rank:
        params.pop("rank", None)
    if (structure is not None and not structure.takes_l1) or not params.get("alpha"):
        params.pop("l1_ratio", None)
    if isinstance(params.get("potential"), SpectralPotential):
        params.pop("eta", None)
    forgets = structure is not None and structure.forgets
    if not forgets or "theory" in (params.get("eta"), params.get("epsilon")):
        params.pop("half_life", None)
    return params


def chunks():
    """Rows to come; some with a fault."""
    fault = st.one_of([st.none()] * 4 + [st.sampled_from(list(FAULTS))])
    return st.builds(
        Chunk,
        seed=st.integers(0, 2**32 - 1),
        rows=st.sampled_from([10, 1, 2, 3, 25, 60]),
        sizes=st.sampled_from(list(SIZES)),
        y=st.sampled_from(["ordinary", "ordinary", "constant", "zero", "tiny", "large", "huge"]),
        weight=st.sampled_from(["none", "none", "none", *WEIGHTS]),
        container=st.sampled_from(list(CONTAINERS)),
        fault=fault,
    )


# --- numbers --------------------------------------------------------------------------------------


def make_rows(chunk, width):
    """Dense rows: zeros, constant columns, offsets, columns that start late, values of any size."""
    rng = np.random.default_rng(chunk.seed)
    X = rng.normal(size=(chunk.rows, width))
    column = rng.integers(0, 8, size=width)
    X[:, column == 0] = 1.0
    X[:, column == 1] = 0.0
    X[:, column == 2] += 1e3
    X[: chunk.rows // 2, column == 3] *= 1e-16
    X *= rng.random(X.shape) >= rng.choice([0.0, 0.5, 0.9])
    some_rows = rng.random(chunk.rows) < rng.choice([0.1, 1.0])
    X[some_rows] *= rng.choice(SIZES[chunk.sizes], size=width)
    return X, rng


def make_targets(chunk, case, X, rng):
    """Labels, numbers or counts, with some relation to the rows."""
    direction = rng.choice([-1.0, 1.0], size=(X.shape[1], max(case.targets, 1)))
    score = np.sign(X) @ direction + rng.normal(size=(len(X), direction.shape[1]))
    if case.cls is AdaRegClassifier:
        k = len(case.labels)
        numbers = {"zero": 0 * score[:, 0], "constant": 0 * score[:, 0] + 1}.get(chunk.y, np.abs(score[:, 0] * 1.7) % k)
        return np.array(case.labels)[numbers.astype(int)]
    y = {
        "constant": 0 * score + 3.0,
        "zero": 0 * score,
        "tiny": score * 1e-300,
        "large": score * 1e5,
        "huge": score * rng.choice([1e100, 1e150, 1e200, 1e300]),
    }.get(chunk.y, score)
    if case.params.get("loss") == "poisson":
        y = np.round(np.abs(y), 1)
    return y if case.targets else y[:, 0]


WEIGHTS = {
    "random": lambda rng, n: rng.random(n),
    "some zero": lambda rng, n: rng.integers(0, 3, size=n).astype(float),
    "all zero": lambda rng, n: np.zeros(n),
    "tiny": lambda rng, n: 10.0 ** rng.choice([0, -9, -160, -300], size=n),
    "huge": lambda rng, n: 10.0 ** rng.choice([0, 9, 160, 300], size=n),
    "float32": lambda rng, n: rng.random(n).astype(np.float32),
    "list": lambda rng, n: rng.random(n).tolist(),
}


# --- containers: dense rows → what is passed ------------------------------------------------------


def _memmap(X):
    with tempfile.TemporaryFile() as file:
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, dtype=X.dtype, mode="r", shape=X.shape)


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _single(X):
    with np.errstate(over="ignore"):
        return np.clip(X, -1e38, 1e38).astype(np.float32)


def _wide_indices(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _duplicates(X):
    """Every value in two halves, columns in no order."""
    rows, columns = np.nonzero(X)
    half = X[rows, columns] / 2
    parts = np.concatenate([half, half]), (np.tile(rows, 2), np.tile(columns, 2))
    return sparse.coo_array(parts, shape=X.shape).tocsr(copy=True)


def _shuffled(X):
    X = sparse.csr_matrix(X)
    if X.nnz:
        X = X[:, ::-1].tocsr()[:, ::-1]
    return X


def _frame(X):
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


CONTAINERS = {
    "dense": np.array,
    "CSR": sparse.csr_matrix,
    "single": _single,
    "Fortran": np.asfortranarray,
    "CSR array, single": lambda X: sparse.csr_array(_single(X)),
    "CSR array, int64": _wide_indices,
    "CSR, duplicates": _duplicates,
    "CSR, shuffled": _shuffled,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_matrix,
    "list": lambda X: X.tolist(),
    "frame": _frame,
    "read-only": _read_only,
    "memmap": _memmap,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "objects": lambda X: X.astype(object),
    "whole numbers": lambda X: np.clip(X, -1e9, 1e9).astype(np.int64),
}


# --- faults: (X in its container, y, weight, rng) → what is passed --------------------------------


def _cell(value):
    def fault(X, y, weight, rng):
        X = X.toarray() if sparse.issparse(X) else np.array(X, dtype=float)
        X[rng.integers(len(X)), rng.integers(X.shape[1])] = value
        return rng.choice([np.asarray, sparse.csr_array])(X), y, weight

    return fault


def _target(value):
    def fault(X, y, weight, rng):
        y = np.array(y, dtype=object)
        y[rng.integers(len(y))] = value
        return X, y, weight

    return fault


def _csr(change):
    def fault(X, y, weight, rng):
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
        X = sparse.csr_matrix(np.where(dense == 0, 1.0, dense))
        change(X, rng)
        return X, y, weight

    return fault


def _bad_column(X, rng):
    X.indices[rng.integers(X.nnz)] = rng.choice([-1, X.shape[1], 2**31 - 1, -(2**31)])


def _bad_pointer(X, rng):
    X.indptr[rng.integers(len(X.indptr))] = rng.choice([-1, X.nnz + 1, 2**31 - 1, 2**20])


def _short_data(X, rng):
    X.data = X.data[: X.nnz // 2]


def _short_pointers(X, rng):
    X.indptr = X.indptr[:-1]


def _same_column_twice(X, rng):
    X.has_canonical_format = True
    X.indices[:] = 0


def _weight(value):
    return lambda X, y, weight, rng: (X, y, np.where(np.arange(len(y)) == len(y) // 2, value, 1.0))


FAULTS = {
    "NaN": _cell(np.nan),
    "infinite": _cell(-np.inf),
    "column number": _csr(_bad_column),
    "row pointer": _csr(_bad_pointer),
    "short data": _csr(_short_data),
    "short row pointers": _csr(_short_pointers),
    "a column twice": _csr(_same_column_twice),
    "target NaN": _target(np.nan),
    "target None": _target(None),
    "target string": _target("stranger"),
    "target number": _target(-7.5),
    "weight negative": _weight(-1.0),
    "weight NaN": _weight(np.nan),
    "weight infinite": _weight(np.inf),
    "weights too few": lambda X, y, w, rng: (X, y, np.ones(len(y) + 1)),
    "weights text": lambda X, y, w, rng: (X, y, "heavy"),
    "targets too few": lambda X, y, w, rng: (X, y[:-1], w),
    "targets a cube": lambda X, y, w, rng: (X, np.zeros((len(y), 2, 2)), w),
    "targets nothing": lambda X, y, w, rng: (X, None, w),
    "another number of targets": lambda X, y, w, rng: (X, np.ones((len(y), 7)), w),
    "width": lambda X, y, w, rng: (np.ones((len(y), 4)), y, w),
    "no rows": lambda X, y, w, rng: (np.ones((0, 3)), y[:0], None),
    "no columns": lambda X, y, w, rng: (np.ones((len(y), 0)), y, w),
    "a vector": lambda X, y, w, rng: (np.ones(len(y)), y, w),
    "a cube": lambda X, y, w, rng: (np.ones((len(y), 2, 2)), y, w),
    "complex": lambda X, y, w, rng: (np.ones((len(y), 2)) * 1j, y, w),
    "text": lambda X, y, w, rng: (np.full((len(y), 2), "x"), y, w),
    "nothing": lambda X, y, w, rng: (None, y, w),
    "a number": lambda X, y, w, rng: (3.0, y, w),
}
