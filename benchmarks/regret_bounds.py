"""Is the measured regret below its bounds, and by how much?

``python benchmarks/regret_bounds.py DATA_DIR`` plays the nine algorithms on every binary and regression set with at most 300
features: the first 5,000 rows in training order, features and targets divided by their largest absolute values, on the ball of radius
1.
Prints for each run the regret against the best fixed weights of the ball, the linear regret and Theorem 1 against the same
weights, and the closed form of ``regret_bound()``; then the ratio of closed form and regret, a row a set. Fails where
a bound is exceeded.
"""

import argparse
import sys

import numpy as np
from data_sets.folder import Folder, Split, add_folder_arguments
from scipy import sparse

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, regret

POTENTIALS, STRUCTURES = ("adagrad", "pnorm", "ons"), ("full", "diag", "iso")
MOST_FEATURES, RADIUS = 300, 1.0
STREAMS = {"river_phishing": "binary", "river_trump_approval": "regression"}  # in file order
BALL = {"domain": "l2", "radius": RADIUS, "scaling": None, "fit_intercept": False}
THEORY = {"eta": "theory", "epsilon": "theory"}


def models(task, X, y):
    """(potential, structure) → estimator; ONS has the step size of its full matrix where it has none of its own."""
    cls = AdaRegClassifier if task == "binary" else AdaRegRegressor
    full = cls("ons", "full", **THEORY, **BALL, max_iter=1, shuffle=False).fit(X, y)
    for potential in POTENTIALS:
        for structure in STRUCTURES:
            own = potential != "ons" or structure == "full"
            steps = THEORY if own else {"eta": full.eta_, "epsilon": full.epsilon_}
            yield (potential, structure), cls(potential, structure, **steps, **BALL)


def rows_of(data, most):
    """Dense rows and targets, each within −1 and 1."""
    X, y = data.X[:most].toarray(), data.y[:most]
    largest = np.abs(X).max(axis=0)
    X = X[:, largest > 0] / largest[largest > 0]
    return X, y if data.task == "binary" else y / np.abs(y).max()


def in_order(folder, name):
    """A stream as a split without test rows."""
    X, y = folder.stream(name)
    return Split(name, STREAMS[name], sparse.csr_array(X), y, None, None)


def names_of(folder):
    """The sets of two classes and of one target."""
    streams = [name for name in STREAMS if folder.has(name)]
    return [*folder.names("binary"), *folder.names("regression"), *streams]


def check(found):
    """Sentences: which bounds are exceeded."""
    slack = 1e-9 * (1 + np.abs(found.run_bound[0]))
    pairs = {
        "the linear regret": (found.regret, found.linear_regret),
        "Theorem 1": (found.linear_regret, found.run_bound),
        "the closed form": (found.regret + found.gap, found.bound),
    }
    return [name for name, (less, more) in pairs.items() if not less[0] <= more[0] + slack]


def main():
    """Play, print, and say whether all bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser)
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--rows", type=int, default=5000, help="of each set, at the most")
    args = parser.parse_args()
    folder = Folder(args.folder, args.cache)
    ratios, broken = {}, []
    print(f"{'set':22}{'algorithm':16}{'regret':>10}{'gap':>9}{'linear':>10}{'Theorem 1':>11}{'closed form':>13}")
    for name in args.data or names_of(folder):
        data = in_order(folder, name) if name in STREAMS else folder.split(name)
        if data.X.shape[1] > MOST_FEATURES:
            continue
        X, y = rows_of(data, args.rows)
        ratios[name] = (*X.shape, [])
        for (potential, structure), model in models(data.task, X, y):
            found = regret.course(model, X, y, points=1)
            algorithm = f"{potential}, {structure}"
            print(
                f"{name:22}{algorithm:16}{found.regret[0]:10.2f}{found.gap[0]:9.4f}{found.linear_regret[0]:10.2f}"
                f"{found.run_bound[0]:11.2f}{found.bound[0]:13.2f}",
                flush=True,
            )
            broken += [f"{name}, {algorithm}: {what}" for what in check(found)]
            ratios[name][2].append(found.bound[0] / found.regret[0])
    print_ratios(ratios)
    print(f"\n{len(broken)} bounds exceeded" + "".join(f"\n  {line}" for line in broken))
    sys.exit(bool(broken))


def print_ratios(ratios):
    """Closed form over regret; a regret that is not positive has no ratio."""
    heads = [f"{potential[:3]}/{structure}" for potential in POTENTIALS for structure in STRUCTURES]
    print("\nclosed form / regret\n" + f"{'set':22}{'rows':>6}{'d':>5}" + "".join(f"{head:>10}" for head in heads))
    for name, (rows, features, values) in ratios.items():
        cells = "".join(f"{value:10.1f}" if value > 0 else f"{'≤ 0':>10}" for value in values)
        print(f"{name:22}{rows:6d}{features:5d}{cells}")
    values = np.array([values for *_, values in ratios.values()])
    medians = np.nanmedian(np.where(values > 0, values, np.nan), axis=0)
    print(f"{'median':33}" + "".join(f"{value:10.1f}" for value in medians))


if __name__ == "__main__":
    main()
