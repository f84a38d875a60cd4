"""
Choose parameters while the rows go by
======================================

27 trials, three potentials times three structures times three step sizes, learn from one stream side
by side. Each predicts every row before it learns from it. Whenever the number of rows has doubled, those that
cannot catch up with the leader are dropped, so that most of the work goes into the few that matter.
``GridSearchCV`` would fit 135 models to the end.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.utils import gen_batches

from sklearn_adareg import AdaRegClassifier, ProgressiveSearch

GRID = {"potential": ["adagrad", "ons", "pnorm"], "structure": ["full", "diag", "iso"], "eta": [0.1, 1.0, 10.0]}
ROWS, CHUNK = 20_000, 250


def race(X, y):
    """The search, and for each chunk the rows so far and every trial's score (nan where it was dropped)."""
    search, rows, scores = ProgressiveSearch(AdaRegClassifier(), GRID), [], []
    for chunk in gen_batches(len(X), CHUNK):
        search.partial_fit(X[chunk], y[chunk], classes=[0, 1])
        found = search.cv_results_
        rows.append(search.n_rows_)
        scores.append(np.where(found["dropped"], np.nan, -found["mean_test_score"]))
    return search, np.array(rows), np.array(scores)


def draw(search, rows, scores, path):
    figure, axis = plt.subplots(figsize=(9, 4.6), layout="constrained")
    for number, losses in enumerate(scores.T):
        best = number == search.best_index_
        axis.plot(rows, losses, color="#0072b2" if best else "0.7", lw=2.5 if best else 1)
        left = np.flatnonzero(np.isfinite(losses))
        if left[-1] < len(rows) - 1:
            axis.plot(rows[left[-1]], losses[left[-1]], "x", color="#d95f0e", ms=6)
    shown = scores[rows >= 1000]
    axis.set(xscale="log", xlabel="rows seen", ylabel="log-loss before learning, last half")
    axis.set_ylim(0.98 * np.nanmin(shown), min(1.0, np.nanmax(shown)))
    best = ", ".join(str(value) for value in search.best_params_.values())
    axis.set_title(f"27 trials; blue: {best}; crosses: dropped", loc="left", fontsize=11)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


def main(path="progressive_search.png"):
    X, y = make_classification(ROWS, 20, n_informative=10, n_redundant=6, random_state=0)
    X *= np.random.default_rng(0).uniform(0.1, 10, 20)
    search, rows, scores = race(X, y)
    found = search.cv_results_
    print(f"{'rank':>4} {'loss':>9} {'rows':>7}  trial")
    for number in np.argsort(found["rank_test_score"])[:10]:
        params = " ".join(str(value) for value in found["params"][number].values())
        rank, loss = found["rank_test_score"][number], -found["mean_test_score"][number]
        print(f"{rank:4d} {loss:9.4f} {found['n_rows'][number]:7d}  {params}")
    share = found["n_rows"].sum() / (len(found["params"]) * ROWS)
    print(f"\nlearnt {100 * share:.0f} % of the rows that 27 whole passes would have")
    draw(search, rows, scores, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
