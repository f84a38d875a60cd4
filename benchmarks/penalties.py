"""Penalties and domains: what they cost "auto", and what an L1 penalty gives beside scikit-learn's solvers.

    python benchmarks/penalties.py DATA_DIR [--data NAME ...] [--only steps|zeros]

``steps``: the share of a default ``fit`` (see README.md) without penalty and domain, and with ones that hardly bind: an L2 and an L1
penalty of alpha = 1e-9, a box, a ball and the l1 ball of radius 1e6. All should be the same.

``zeros``: ``l1_ratio=1`` at three alphas, parts of the largest one that has a nonzero weight, on scaled rows: nonzero weights,
objective over the solver's, held-out share less the solver's, and processor time over that of SGDClassifier or
SGDRegressor(penalty="l1") with the same alpha. The solver is Lasso or LogisticRegression(solver="saga", penalty l1). ``one pass`` is
``partial_fit`` on all rows. One thread: set OPENBLAS_NUM_THREADS=1.
"""

import argparse
import time
import warnings

import numpy as np
from data_sets.folder import TASKS, Folder, add_folder_arguments, reference
from scipy import sparse
from sklearn.linear_model import Lasso, LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss, mean_squared_error
from threadpoolctl import threadpool_limits

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

LOOSE = {
    "free": {},
    "L2": {"alpha": 1e-9},
    "L1": {"alpha": 1e-9, "l1_ratio": 1.0},
    "box": {"domain": "box", "radius": 1e6},
    "l2 ball": {"domain": "l2", "radius": 1e6},
    "l1 ball": {"domain": "l1", "radius": 1e6},
}
PARTS = (0.3, 0.03, 0.003)  # of the smallest alpha with which every weight is 0
DENSE_FROM = 0.3  # of the values: rows are stored so


def ours(task, **params):
    """A default model."""
    return (AdaRegRegressor if task == "regression" else AdaRegClassifier)(random_state=0, **params)


def timed(work):
    """What ``work`` returns, and its processor time."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def test_loss(model, split, X_test):
    """Mean squared error or log loss on the held-out rows."""
    if split.task == "regression":
        return mean_squared_error(split.y_test, model.predict(X_test))
    return log_loss(split.y_test, model.predict_proba(X_test), labels=model.classes_)


def run_steps(folder, names):
    """The table of shares under penalties and domains that hardly bind."""
    print(f"{'data':22}{'features':>9}" + "".join(f"{name:>10}" for name in LOOSE))
    rows = []
    for task in TASKS:
        for name in names(task):
            split = folder.split(name)
            figures = reference(split)
            shares = []
            for params in LOOSE.values():
                model = ours(task, **params).fit(split.X, split.y)
                shares.append(figures.share(test_loss(model, split, split.X_test)))
            rows.append(shares)
            print(f"{name:22}{split.X.shape[1]:9d}" + "".join(f"{s:10.4f}" for s in shares), flush=True)
    print(f"{'mean':31}" + "".join(f"{s:10.4f}" for s in np.mean(rows, axis=0)))


def largest_alpha(X, y, task):
    """The smallest alpha with which every weight is 0: the largest gradient at the best constant."""
    pulls = y - y.mean() if task == "regression" else (y == np.unique(y)[1]) - np.mean(y == np.unique(y)[1])
    return np.abs(X.T @ pulls).max() / len(y)


def solver(task, alpha, rows):
    """Scikit-learn's own for the same objective."""
    if task == "regression":
        return Lasso(alpha=alpha, tol=1e-6, max_iter=20_000)
    return LogisticRegression(C=1 / (rows * alpha), l1_ratio=1.0, solver="saga", tol=1e-5, max_iter=1000)


def sgd(task, alpha):
    """SGD with the same penalty."""
    if task == "regression":
        return SGDRegressor(penalty="l1", alpha=alpha, random_state=0)
    return SGDClassifier(loss="log_loss", penalty="l1", alpha=alpha, random_state=0)


def objective(model, X, y, task, alpha):
    """The penalised loss of a fitted model."""
    if task == "regression":
        loss = np.mean((y - model.predict(X)) ** 2) / 2
    else:
        loss = log_loss(y, model.predict_proba(X), labels=model.classes_)
    return loss + alpha * np.abs(model.coef_).sum()


def run_zeros(folder, names):
    """The table of supports, objectives, losses and times."""
    print(
        f"\n{'':33}{'nonzero weights':^27}{'objective over solver’s':^24}{'share − its':^16}{'time over SGD’s':>16}\n"
        f"{'data':22}{'alpha':>11}{'solver':>8}{'fit':>7}{'pass':>7}{'SGD':>7}"
        f"{'fit':>9}{'pass':>9}{'fit':>9}{'pass':>9}{'fit':>7}{'solver':>9}"
    )
    for task in ("binary", "regression"):
        for name in names(task):
            split = folder.split(name)
            figures = reference(split)
            scaled = split.scaled()
            X, X_test = scaled.X, scaled.X_test
            if sparse.issparse(X) and X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
                X, X_test = X.toarray(), X_test.toarray()
            top = largest_alpha(X, split.y, task)
            for part in PARTS:
                line(name, split, figures, X, X_test, task, part * top)


def line(name, split, figures, X, X_test, task, alpha):
    """One data set and alpha."""
    y, first = split.y, {} if task == "regression" else {"classes": np.unique(split.y)}
    best, best_time = timed(lambda: solver(task, alpha, len(y)).fit(X, y))
    peer, peer_time = timed(lambda: sgd(task, alpha).fit(X, y))
    params = {"alpha": alpha, "l1_ratio": 1.0}
    model, seconds = timed(lambda: _published(ours(task, **params).fit(X, y)))
    stream = ours(task, **params).partial_fit(X, y, **first)
    least = objective(best, X, y, task, alpha)
    nonzero = [np.count_nonzero(m.coef_) for m in (best, model, stream, peer)]
    above = [objective(m, X, y, task, alpha) / least - 1 for m in (model, stream)]
    shares = [figures.share(test_loss(m, split, X_test)) for m in (best, model, stream)]
    print(
        f"{name:22}{alpha:11.2e}{nonzero[0]:8d}"
        + "".join(f"{count:7d}" for count in nonzero[1:])
        + "".join(f"{excess:9.4f}" for excess in above)
        + "".join(f"{share - shares[0]:9.4f}" for share in shares[1:])
        + f"{seconds / peer_time:7.2f}{best_time / peer_time:9.2f}",
        flush=True,
    )


def _published(model):
    model.coef_  # noqa: B018 (computed when it is first read, which counts)
    return model


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser)
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--only", choices=["steps", "zeros"], help="one of the two tables")
    args = parser.parse_args()
    folder = Folder(args.folder, args.cache)
    warnings.simplefilter("ignore")

    def names(task):
        return [name for name in folder.names(task) if not args.data or name in args.data]

    with threadpool_limits(limits=1):
        if args.only != "zeros":
            run_steps(folder, names)
        if args.only != "steps":
            run_zeros(folder, names)


if __name__ == "__main__":
    main()
