"""
Serve the weights, not the learner
==================================

A model that goes on learning keeps its state: gradients, units, averages. A model that only predicts
needs its weights. ``to_sklearn()`` returns a plain scikit-learn model with the same predictions. Its
file is as small as that of ``SGDClassifier``, however many features there are, and it loads where this
package is not installed.
"""

import pickle
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier

from sklearn_adareg import AdaRegClassifier

WIDTHS = [2**6, 2**10, 2**14, 2**18]
COLOURS = {"AdaRegClassifier": "#d95f0e", "SGDClassifier": "0.55", "to_sklearn()": "#0072b2"}


def documents(n, rng):
    """Documents of ten words each, and whether the sum of their words' weights is positive."""
    words = rng.zipf(1.3, size=(n, 10)) % 100_000
    weights = rng.normal(size=100_000)
    return [[f"word{i}" for i in row] for row in words], (weights[words].sum(axis=1) > 0) * 1


def sizes():
    """Bytes of each pickled model, for each number of hashed features; the predictions agree."""
    texts, y = documents(5000, np.random.default_rng(0))
    found = {name: [] for name in COLOURS}
    for width in WIDTHS:
        X = FeatureHasher(width, input_type="string").transform(texts)
        model = AdaRegClassifier().partial_fit(X, y, classes=[0, 1])
        sgd = SGDClassifier(loss="log_loss").partial_fit(X, y, classes=[0, 1])
        plain = model.to_sklearn()
        np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X))
        for name, saved in zip(COLOURS, (model, sgd, plain), strict=True):
            found[name].append(len(pickle.dumps(saved)))
    return found


def draw(found, path):
    figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
    for name, values in found.items():
        line = "--" if name == "SGDClassifier" else "-"
        axis.loglog(WIDTHS, values, line, color=COLOURS[name], marker="o", lw=2, label=name)
    axis.set_xlabel("hashed features")
    axis.set_ylabel("bytes of the pickled model")
    axis.set_xticks(WIDTHS, [f"{width:,}" for width in WIDTHS])
    axis.set_title("to_sklearn() keeps the weights alone", loc="left", fontsize=11)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color="0.92")
    axis.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


def main(path="serving.png"):
    found = sizes()
    print("kB of the pickled model\n")
    print(f"{'features':>10}" + "".join(f"{name:>20}" for name in found))
    for i, width in enumerate(WIDTHS):
        print(f"{width:10d}" + "".join(f"{values[i] / 1e3:20.1f}" for values in found.values()))
    draw(found, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
