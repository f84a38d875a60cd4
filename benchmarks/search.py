"""ProgressiveSearch beside GridSearchCV: what each chooses, and what that costs.

27 trials (3 potentials × 3 structures × 3 step sizes) on sets of at most 100 features. The choice of each is fitted on the
training rows, and its test loss expressed as a share (0: the batch model, 1: a constant). The two searches run one after the
other; times are of the processor.

    python benchmarks/search.py DATA_DIR
"""

import argparse
import json
import warnings

import numpy as np
from data_sets.folder import Folder, add_folder_arguments, reference
from learning.learners import clocked, ours, scores_of
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_adareg import ProgressiveSearch

GRID = {"potential": ["adagrad", "ons", "pnorm"], "structure": ["full", "diag", "iso"], "eta": [0.1, 1.0, 10.0]}
SETS = ("spambase higgs_7k covtype_binary_10k elec2 ijcnn1 pendigits cpusmall bike_sharing cal_housing casp").split()
SCORING = {"binary": "neg_log_loss", "multi": "neg_log_loss", "regression": "neg_mean_squared_error"}


def shares(split, model, figures):
    """The share of a fitted model's test loss."""
    dense = split.X_test.toarray()
    loss = split.loss(scores_of(model, split.task, dense))
    return min(1.0, (loss - figures.batch) / (figures.const - figures.batch))


def compare(folder, name, rows, passes):
    """Both searches on one set."""
    split = folder.split(name)
    X, y = split.X[:rows].toarray(), split.y[:rows]
    figures = reference(split)
    estimator = ours(split.task, max_iter=passes, random_state=0)
    grid = GridSearchCV(estimator, GRID, scoring=SCORING[split.task])
    search = ProgressiveSearch(estimator, GRID, random_state=0)
    found = {}
    for method, searcher in (("progressive", search), ("grid", grid)):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            clone(searcher).set_params(estimator__max_iter=1).fit(X[:200], y[:200])  # imports
            _, wall, cpu = clocked(lambda searcher=searcher: searcher.fit(X, y))
            best = clone(estimator).set_params(**searcher.best_params_).fit(X, y)
        found[method] = {
            "share": shares(split, best, figures),
            "cpu": cpu,
            "wall": wall,
            "params": searcher.best_params_,
        }
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser)
    parser.add_argument("--data", nargs="+", default=SETS, metavar="NAME", help="only these sets")
    parser.add_argument("--rows", type=int, help="training rows at most")
    parser.add_argument(
        "--passes", type=int, default=1, help="max_iter of all fits (1); 0 is the default of the estimators"
    )
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    folder = Folder(args.folder, args.cache)
    print(f"{'':20}{'share of the choice':>26}{'processor seconds':>30}")
    print(f"{'data':20}{'grid':>8}{'one pass':>9}{'worse by':>9}{'grid':>10}{'one pass':>10}{'ratio':>10}  choice")
    everything = {}
    for name in args.data:
        if not folder.has(name):
            continue
        found = everything[name] = compare(folder, name, args.rows, args.passes or None)
        grid, own = found["grid"], found["progressive"]
        print(
            f"{name:20}{grid['share']:8.3f}{own['share']:9.3f}{own['share'] - grid['share']:9.3f}"
            f"{grid['cpu']:10.2f}{own['cpu']:10.2f}{own['cpu'] / grid['cpu']:10.3f}  {' '.join(map(str, own['params'].values()))}",
            flush=True,
        )
    if everything:
        worse = [f["progressive"]["share"] - f["grid"]["share"] for f in everything.values()]
        ratio = sum(f["progressive"]["cpu"] for f in everything.values()) / sum(
            f["grid"]["cpu"] for f in everything.values()
        )
        print(f"\nworse by at most {max(worse):.3f}, in the mean {np.mean(worse):.4f}; time {ratio:.3f} of the grid's")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(everything, file, indent=1)


if __name__ == "__main__":
    main()
