"""
A rare class in a stream, without knowing how rare
==================================================

In a stream nobody has counted the classes beforehand, and ``SGDClassifier.partial_fit`` therefore refuses
``class_weight="balanced"``. Here it works: each row is weighted by the counts up to and including that row, so the model does not
depend on how the stream is cut into chunks. It finds the rare rows about as well as weights computed from the true frequencies,
which a stream does not tell. What the recall costs is precision: the table has both.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sklearn_adareg import AdaRegClassifier

RARE = 1 / 40
ROWS, CHUNK, STREAMS = 6000, 200, 4
WEIGHTS = {
    "no weights": (None, "0.45"),
    "true frequencies, known beforehand": ({0: 0.5 / (1 - RARE), 1: 0.5 / RARE}, "#e69f00"),
    'class_weight="balanced"': ("balanced", "#0072b2"),
}


def stream_and_new_rows(seed):
    """Rows in the order of their arrival, and as many new ones to judge by."""
    X, y = make_classification(
        2 * ROWS,
        n_informative=6,
        n_redundant=4,
        weights=[1 - RARE],
        flip_y=0.0,
        n_clusters_per_class=1,
        class_sep=0.6,
        random_state=seed,
    )
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def learn(class_weight, X, y, X_new, y_new):
    """Recall, precision and accuracy on the new rows after each chunk of the stream."""
    model = AdaRegClassifier(class_weight=class_weight)
    scores = []
    for start in range(0, ROWS, CHUNK):
        chunk = slice(start, start + CHUNK)
        model.partial_fit(X[chunk], y[chunk], classes=[0, 1])
        guess = model.predict(X_new) == 1
        precision = np.sum(guess & (y_new == 1)) / max(guess.sum(), 1)
        scores.append([guess[y_new == 1].mean(), precision, np.mean(guess == y_new)])
    return scores


# %%
# Recall of the rare class while the stream goes by: mean and range over four streams.
figure, axis = plt.subplots(figsize=(8, 4.8), layout="constrained")
streams = [stream_and_new_rows(seed) for seed in range(STREAMS)]
rows = np.arange(CHUNK, ROWS + 1, CHUNK)
print(f"{'after the last row':38}{'recall':>9}{'precision':>11}{'accuracy':>10}")
for name, (class_weight, colour) in WEIGHTS.items():
    curves = np.array([learn(class_weight, *stream) for stream in streams])
    recall, precision, accuracy = curves[:, -1].mean(axis=0)
    print(f"{name:38}{recall:9.3f}{precision:11.3f}{accuracy:10.3f}")
    low, high = curves[:, :, 0].min(axis=0), curves[:, :, 0].max(axis=0)
    axis.fill_between(rows, low, high, color=colour, alpha=0.13, lw=0)
    line = "--" if name.startswith("true") else "-"
    axis.plot(rows, curves[:, :, 0].mean(axis=0), line, color=colour, lw=2.5, label=name)
axis.set(xlabel="rows seen", ylabel="recall of the rare class, new rows", ylim=(0, 1))
axis.set_title("One row in 40 is of the rare class", loc="left")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="lower right")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "class_imbalance.png", dpi=150)
