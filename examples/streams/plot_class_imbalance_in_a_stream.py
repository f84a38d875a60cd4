"""
A rare class in a stream, and ``class_weight="balanced"`` without knowing how rare
==================================================================================

In a stream nobody has counted the classes beforehand, and ``SGDClassifier.partial_fit`` therefore
refuses ``class_weight="balanced"``. Here it works: each row is weighted by the counts up to and
including that row, so the model is the same however the stream is cut into chunks.

Without weights the model is right about nearly all rows and finds few of the rare ones. Running
counts find them about as well as weights computed from the true shares of the classes, which a
stream does not tell. What the recall costs is precision: the table has both.

Run it as ``python examples/streams/plot_class_imbalance_in_a_stream.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sklearn_adareg import AdaRegClassifier

RARE = 1 / 40
ROUNDS, CHUNK = 6000, 150
N_STREAMS = 6
WEIGHTS = {
    "no weights": (None, "0.45"),
    "true shares, known beforehand": ({0: 0.5 / (1 - RARE), 1: 0.5 / RARE}, "#e69f00"),
    'class_weight="balanced"': ("balanced", "#0072b2"),
}
SCORES = ["recall", "precision", "balanced accuracy", "accuracy"]


def stream_and_new_rows(seed):
    """Rows in the order of their arrival, and as many new ones to judge by."""
    X, y = make_classification(
        2 * ROUNDS,
        n_features=20,
        n_informative=6,
        n_redundant=4,
        weights=[1 - RARE],
        flip_y=0.0,
        n_clusters_per_class=1,
        class_sep=0.6,
        random_state=seed,
    )
    return X[:ROUNDS], y[:ROUNDS], X[ROUNDS:], y[ROUNDS:]


def learn(class_weight, X, y, X_new, y_new):
    """All scores on the new rows after each chunk of the stream, (chunks, scores)."""
    model = AdaRegClassifier(class_weight=class_weight)
    scores = []
    for start in range(0, ROUNDS, CHUNK):
        chunk = slice(start, start + CHUNK)
        model.partial_fit(X[chunk], y[chunk], classes=[0, 1])
        guess = model.predict(X_new)
        recall, specificity = np.mean(guess[y_new == 1] == 1), np.mean(guess[y_new == 0] == 0)
        precision = np.sum((guess == 1) & (y_new == 1)) / max(np.sum(guess == 1), 1)
        scores.append([recall, precision, (recall + specificity) / 2, np.mean(guess == y_new)])
    return scores


def print_table(results):
    """Scores at the end of the stream."""
    print(
        f"{ROUNDS} rows, one in {1 / RARE:.0f} of the rare class, one pass in chunks of {CHUNK}; "
        f"means over {N_STREAMS} streams\n"
    )
    print(f"{'':29}" + "".join(f"{name:>19}" for name in SCORES))
    for name, curves in results.items():
        print(f"{name:29}" + "".join(f"{score:19.3f}" for score in curves[:, -1].mean(axis=0)))


def draw(results, path):
    """Recall and balanced accuracy over the rounds: means, with the range over the streams."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.3), sharey=True, layout="constrained")
    rounds = np.arange(CHUNK, ROUNDS + 1, CHUNK)
    titles = {"recall": "Recall of the rare class", "balanced accuracy": "Balanced accuracy"}
    for axis, (score, title) in zip(axes, titles.items(), strict=True):
        column = SCORES.index(score)
        for name, (_, colour) in WEIGHTS.items():
            curves = results[name][:, :, column]
            axis.fill_between(
                rounds, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.13, lw=0
            )
            style = {"ls": (0, (4, 2)), "zorder": 3} if name.startswith("true") else {"ls": "-"}
            axis.plot(rounds, curves.mean(axis=0), color=colour, lw=2.2, label=name, **style)
        axis.set_title(f"{title}, on new rows", fontsize=11, loc="left")
        axis.set_xlabel("rounds")
        axis.set_xlim(0, ROUNDS)
        axis.set_ylim(0, 1)
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="0.92")
        axis.set_axisbelow(True)
    axes[1].legend(frameon=False, loc="lower right")
    figure.suptitle(
        f"One row in {1 / RARE:.0f} is of the rare class, and no one has counted: mean and range "
        f"over {N_STREAMS} streams",
        fontsize=12,
    )
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


def main(path="class_imbalance_in_a_stream.png"):
    streams = [stream_and_new_rows(seed) for seed in range(N_STREAMS)]
    results = {
        name: np.array([learn(class_weight, *stream) for stream in streams])
        for name, (class_weight, _) in WEIGHTS.items()
    }
    print_table(results)
    draw(results, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
