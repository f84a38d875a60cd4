"""The lines of ``speed.py``: a work of ours, the same of a peer, and the ratio we want.

A ratio is the peer's time over ours. Data are made when a line's turn comes and freed after it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from learning.learners import build, has_river, river_model
from learning.numpy_loops import full_adagrad, full_ons
from scipy import sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

# rows, features and non-zeros a row of the data sets, for look-alikes where there is no folder
SHAPES = {
    "imdb": (25000, 27272, 132),
    "nycflights13_delay15": (229142, 168, 12),
    "criteo_8k": (5600, 37126, 39),
    "reuters_moneyfx": (7770, 8315, 44),
    "a9a": (32561, 123, 14),
}
# Decompositions are reused, as they are by default under online scaling.
PLAIN = {"scaling": None, "eta": 1.0, "epsilon": 1.0, "average": True, "refresh": 0.5}
REFRESHES = "refresh" in AdaRegClassifier._get_param_names()


@dataclass
class Line:
    """One row of the table; ``ours`` and ``theirs`` are calls to time."""

    work: str
    peer: str
    required: float | None
    ours: Callable
    theirs: Callable
    our_rows: int
    their_rows: int | None = None  # where the peer gets fewer, lest one wait for it
    floor: Callable | None = None  # the least that any pass has to do
    wall_only: bool = False


def one_pass(shuffle=True, **params):
    """Our classifier for one pass; shuffled, as both do by default."""
    return build(AdaRegClassifier, max_iter=1, shuffle=shuffle, **params)


def sgd_pass(shuffle=True):
    """The peer for one pass."""
    return SGDClassifier(loss="log_loss", average=True, max_iter=1, tol=None, shuffle=shuffle)


def _planted(X, rng):
    """Labels of a noisy linear rule."""
    margin = X @ rng.standard_normal(X.shape[1])
    margin -= margin.mean()
    return np.where(margin + margin.std() * rng.standard_normal(len(margin)) > 0, 1.0, -1.0)


def dense(n, d, dtype=np.float64):
    """Gaussian rows with a planted rule."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=dtype)
    return X, _planted(X, rng)


def sparse_like(n, d, nonzeros, share=1.0):
    """Sparse rows in which few features are frequent and most are rare."""
    rng = np.random.default_rng(0)
    n = int(n * share)
    columns = (d * rng.random((n, nonzeros)) ** 3).astype(np.int32)
    rows = np.repeat(np.arange(n), nonzeros)
    X = sparse.csr_matrix((np.ones(n * nonzeros), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    return X, _planted(X, rng)


class Works:
    """All lines, for a folder of data or without one, long or ``short``."""

    def __init__(self, folder, short):
        self.folder, self.short = folder, short
        self.values = 2_000_000 if short else 10_000_000

    def named(self, name):
        """A data set, or rows like it, and what to call them."""
        if self.folder is not None and self.folder.has(name):
            split = self.folder.split(name)
            return name, split.X, split.y
        share = 0.2 if self.short and name.startswith("nyc") else 1.0
        return f"like {name}", *sparse_like(*SHAPES[name], share)

    def lines(self):
        """One line after the other."""
        for part in (
            self.first_order,
            self.defaults,
            self.full,
            self.sketch,
            self.newton,
            self.latency,
            self.softmax,
            self.kronecker,
            self.blocks,
            self.threads,
        ):
            yield from part()

    def first_order(self):
        """Diagonal and isotropic rounds against SGD: shuffled, as both do by default, and in the order of the rows."""
        for shuffle in (True, False):
            yield from self.first_order_dense(shuffle)
            for name in ("imdb", "nycflights13_delay15", "criteo_8k"):
                called, X, y = self.named(name)
                yield self.first_order_line("diag", f"CSR, {called}", X, y, shuffle, 1.3)

    def first_order_dense(self, shuffle):
        for structure in ("diag", "iso"):
            for dtype in (np.float64, np.float32):
                for d in (10, 50, 500):
                    X, y = dense(self.values // d, d, dtype)
                    rows = f"dense {np.dtype(dtype).name}, d = {d}"
                    yield self.first_order_line(structure, rows, X, y, shuffle, 2.0)

    def first_order_line(self, structure, rows, X, y, shuffle, required):
        w = np.ones(X.shape[1], X.dtype)
        params = {"potential": "adagrad", "structure": structure, **PLAIN}
        return Line(
            f"{structure} adagrad, {rows}" + ("" if shuffle else ", in order"),
            "SGD",
            required,
            lambda: one_pass(shuffle, **params).fit(X, y),
            lambda: sgd_pass(shuffle).fit(X, y),
            len(y),
            floor=lambda: X @ w,
        )

    def defaults(self):
        """Everything on, against SGD, which does less."""
        for name in ("imdb", "criteo_8k", "reuters_moneyfx"):
            called, X, y = self.named(name)
            yield Line(
                f"defaults, CSR, {called}",
                "SGD",
                1 / 2.5,
                lambda X=X, y=y: one_pass().fit(X, y),
                lambda X=X, y=y: sgd_pass().fit(X, y),
                len(y),
            )

    def full(self):
        """Full matrices against NumPy loops."""
        called, X, y = self.named("a9a")
        rounds = 300 if self.short else 1000
        # Refreshes are most frequent early on, so only the whole pass is a fair measure of them.
        n = len(y) if REFRESHES else 1000
        last = X[-rounds:].toarray()
        yield Line(
            f"full adagrad, refresh=0.5, {called}",
            f"NumPy, eigh a round, {rounds} rounds",
            30.0,
            lambda: one_pass(potential="adagrad", structure="full", **PLAIN).fit(X[:n], y[:n]),
            lambda: full_adagrad(last, y[-rounds:]),
            n,
            rounds,
        )
        first = X[: 3000 if self.short else len(y)].toarray()
        yield Line(
            f"full ons, {called}",
            "NumPy, Sherman–Morrison",
            5.0,
            lambda: one_pass(potential="ons", structure="full", **PLAIN).fit(X, y),
            lambda: full_ons(first, y[: len(first)]),
            len(y),
            len(first),
        )
        few = 500 if self.short else 3000
        X_wide, y_wide = dense(2000 if self.short else 10000, 500)
        yield Line(
            "full ons, dense, d = 500",
            "NumPy, Sherman–Morrison",
            3.0,
            lambda: one_pass(potential="ons", structure="full", **PLAIN).fit(X_wide, y_wide),
            lambda: full_ons(X_wide[:few], y_wide[:few]),
            len(y_wide),
            few,
        )

    def sketch(self):
        """A sketch of 16 directions against the structures on either side of it; all are ours."""
        X, y = dense(2000 if self.short else 10000, 1000)
        few = 200 if self.short else 1000
        for structure, required, n in (("diag", 1 / 8, len(y)), ("full", 10.0, few)):
            yield Line(
                "sketch ons, rank 16, dense, d = 1000",
                f"{structure} ons" if n == len(y) else f"{structure} ons, {n} rows",
                required,
                lambda: one_pass(potential="ons", structure="sketch", **PLAIN).fit(X, y),
                lambda structure=structure, n=n: one_pass(potential="ons", structure=structure, **PLAIN).fit(
                    X[:n], y[:n]
                ),
                len(y),
                n,
            )

    def narrow(self):
        """Everything on, few features: a pass, and ``fit`` against batch solvers on scaled rows."""
        for n in (20_000, 1_000):
            for d, required in ((8, 1 / 4), (20, 1 / 4), (50, 1 / 5), (100, 1 / 8)):
                X, y = dense(n, d)
                classes = np.unique(y)
                yield Line(
                    f"narrow, {n} rows, d = {d}",
                    "SGD",
                    required if n == 20_000 else 1 / 16,
                    lambda X=X, y=y, classes=classes: AdaRegClassifier().partial_fit(X, y, classes=classes),
                    lambda X=X, y=y: sgd_pass().fit(X, y),
                    n,
                )
        for d, required in ((8, 1.0), (20, 1.0), (50, 1.0), (100, 1 / 1.5), (150, 1 / 1.5)):
            X, y = dense(20_000, d)
            for solver in ("lbfgs", "newton-cholesky"):
                yield Line(
                    f"narrow fit, d = {d}",
                    f"LogisticRegression, {solver}",
                    required,
                    lambda X=X, y=y: AdaRegClassifier().fit(X, y),
                    lambda X=X, y=y, solver=solver: make_pipeline(
                        StandardScaler(), LogisticRegression(solver=solver)
                    ).fit(X, y),
                    len(y),
                )

    def newton(self):
        """Newton steps with one prior, against SGD, which does less."""
        for d, required in ((10, 1 / 4), (50, 1 / 20)):
            X, y = dense(self.values // (20 * d), d)
            yield Line(
                f"newton, dense, d = {d}",
                "SGD",
                required,
                lambda X=X, y=y: one_pass(epsilon=1.0, half_life=None).fit(X, y),
                lambda X=X, y=y: sgd_pass().fit(X, y),
                len(y),
            )

    def latency(self):
        """One row at a time."""
        yield from self.learn_or_predict()
        yield from self.hashed()
        if has_river():
            yield from self.predict_and_learn()

    def hashed(self):
        """Predict and learn in turn, 30 of 2^20 hashed features a row: neither call may cost O(d)."""
        calls, d = 20 if self.short else 100, 2**20
        rng = np.random.default_rng(0)
        rows = [
            sparse.csr_matrix((np.ones(30), np.sort(rng.choice(d, 30, replace=False)), [0, 30]), shape=(1, d))
            for _ in range(calls)
        ]
        labels = [np.array([k % 2]) for k in range(calls)]

        def in_turn(model):
            for row, label in zip(rows, labels, strict=True):
                model.predict(row)
                model.partial_fit(row, label)

        ours, theirs = build(AdaRegClassifier), SGDClassifier(loss="log_loss", average=True)
        for model in (ours, theirs):
            model.partial_fit(rows[0], labels[0], classes=[0, 1])
        yield Line(
            "predict and partial_fit, one row, 2^20 hashed features",
            "SGD",
            10.0,
            lambda: in_turn(ours),
            lambda: in_turn(theirs),
            calls,
        )

    def predict_and_learn(self):
        """As a stream does it: rows as arrays, and as lists with the classes in every call."""
        calls = 100 if self.short else 500
        for d, arrays, lists in ((8, 0.5, 0.25), (50, 1.0, 0.5)):
            X, y = dense(calls, d)
            river = river_model("binary")
            rows = [dict(enumerate(row)) for row in X.tolist()]
            labels = (y > 0).tolist()

            def theirs(model=river, rows=rows, labels=labels):
                for row, label in zip(rows, labels, strict=True):
                    model.predict_proba_one(row)
                    model.learn_one(row, label)

            def one_by_one(model, X, y):
                for i in range(len(y)):
                    model.predict_proba(X[i : i + 1])
                    model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1.0, 1.0])

            theirs()
            for kind, rows_and_labels, required in (
                ("arrays", (X, y), arrays),
                ("lists", (X.tolist(), y.tolist()), lists),
            ):
                model = build(AdaRegClassifier).partial_fit(X, y, classes=[-1.0, 1.0])
                yield Line(
                    f"predict_proba and partial_fit, one row, {kind}, d = {d}",
                    "river",
                    required,
                    lambda model=model, given=rows_and_labels: one_by_one(model, *given),
                    theirs,
                    calls,
                )

    def learn_or_predict(self):
        """One of the two."""
        X, y = dense(1000, 50)
        ours = build(AdaRegClassifier).partial_fit(X, y, classes=[-1.0, 1.0])
        theirs = SGDClassifier(loss="log_loss", average=True).partial_fit(X, y, classes=[-1.0, 1.0])
        calls = 100 if self.short else 500

        def learn(model):
            for i in range(calls):
                model.partial_fit(X[i : i + 1], y[i : i + 1])

        def predict(model):
            for i in range(calls):
                model.predict_proba(X[i : i + 1])

        yield Line("partial_fit, one row, d = 50", "SGD", 6.0, lambda: learn(ours), lambda: learn(theirs), calls)
        if has_river():
            slow = river_model("binary")
            rows = [dict(enumerate(row)) for row in X[:calls].tolist()]
            labels = (y[:calls] > 0).tolist()

            def learn_rows():
                for row, label in zip(rows, labels, strict=True):
                    slow.learn_one(row, label)

            learn_rows()
            yield Line("partial_fit, one row, d = 50", "river", 1.0, lambda: learn(ours), learn_rows, calls)
        yield Line("predict_proba, one row, d = 50", "SGD", 2.0, lambda: predict(ours), lambda: predict(theirs), calls)

    def softmax(self):
        """Ten classes, diagonal, against ten SGDs."""
        n = 2000 if self.short else 10000
        for zeros, required in ((0.8, 3.0), (0.0, 1.7)):
            rng = np.random.default_rng(0)
            X = rng.random((n, 784)) * (rng.random((n, 784)) >= zeros)
            y = (X @ rng.standard_normal((784, 10))).argmax(axis=1)
            yield Line(
                f"softmax, {n} × 784, K = 10, diag, {zeros:.0%} zeros",
                "SGD, one against the rest",
                required,
                lambda X=X, y=y: one_pass(structure="diag", potential="adagrad", **PLAIN).fit(X, y),
                lambda X=X, y=y: sgd_pass().fit(X, y),
                n,
            )

    def kronecker(self):
        """One matrix over the classes and one over the features, against one full matrix per class; both are ours."""
        called, X, y = self.letters()

        def fit(structure):
            return lambda: one_pass(potential="adagrad", structure=structure, **PLAIN).fit(X, y)

        yield Line(
            f"kronecker adagrad, refresh=0.5, {called}, K = 26",
            "full adagrad, a matrix per class",
            2.0,
            fit("kronecker"),
            fit("full"),
            len(y),
        )

    def letters(self):
        """The data set letter, or rows like it, and what to call them."""
        if self.folder is not None and self.folder.has("letter"):
            split = self.folder.split("letter")
            return "letter", split.X.toarray(), split.y
        rng = np.random.default_rng(0)
        X = np.round(15 * rng.random((3000 if self.short else 15000, 16)))
        y = (X @ rng.standard_normal((16, 26))).argmax(axis=1)
        return "like letter", X, y

    def blocks(self):
        """Blocks of 16 features against a diagonal; both are ours."""
        X, y = dense(self.values // 480, 480)

        def fit(potential, **params):
            return lambda: one_pass(potential=potential, **params, **PLAIN).fit(X, y)

        for potential, required in (("ons", 1 / 5), ("adagrad", 1 / 6)):
            yield Line(
                f"block {potential}, blocks of 16, dense, d = 480",
                f"diag {potential}",
                required,
                fit(potential, structure="block", blocks=16),
                fit(potential, structure="diag"),
                len(y),
            )

    def threads(self):
        """Two threads against one; both are ours."""
        n = 20000
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 300))
        Y = X @ rng.standard_normal((300, 10)) / 20 + rng.standard_normal((n, 10))
        labels = Y.argmax(axis=1)

        def one_vs_rest(jobs):
            model = one_pass(loss="hinge", structure="diag", potential="adagrad", n_jobs=jobs, **PLAIN)
            return lambda: model.fit(X, labels)

        def several_targets(jobs):
            model = build(
                AdaRegRegressor, structure="diag", potential="adagrad", max_iter=1, shuffle=False, n_jobs=jobs, **PLAIN
            )
            return lambda: model.fit(X, Y)

        for work, make in (("one against the rest, K = 10", one_vs_rest), ("ten targets", several_targets)):
            yield Line(f"{work}, n_jobs=2", "n_jobs=1", 1.7, make(2), make(1), n, wall_only=True)
