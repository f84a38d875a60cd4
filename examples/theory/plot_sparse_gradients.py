"""
Sparse gradients: where diagonal AdaGrad wins
=============================================

In text a few words are in most rows and most words in few. Each row here has some of 200 words, word i with a probability that
falls like 1/i, and rare words tell as much as frequent ones. All weights are between −1 and 1.

One step size for all coordinates must be small enough for the frequent words, and then the rare ones never learn. Diagonal AdaGrad
has a step size for each, which depends on how often the word came. The bounds tell the same: with :math:`g_{1:T,i}` the
gradients of one coordinate, :math:`2\\sqrt 2\\, r \\sum_i \\|g_{1:T,i}\\|` for the diagonal and
:math:`2\\sqrt 2\\, r \\sqrt{D \\sum_i \\|g_{1:T,i}\\|^2}` for one step size. By Cauchy-Schwarz the first is never larger, and far
smaller where the coordinates are unequal.

Run it as ``python examples/theory/plot_sparse_gradients.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from sklearn_adareg import AdaRegClassifier
from sklearn_adareg.displays import RegretDisplay

ROWS, WORDS = 2000, 200
COLOURS = {"diag": "#0072b2", "iso": "#d55e00"}


def stream(power, seed=0):
    """Rows with about 10 words each; word i comes with a probability that falls like i^−power."""
    rng = np.random.default_rng(seed)
    often = (1.0 + np.arange(WORDS)) ** -power
    often = np.minimum(10 * often / often.sum(), 0.9)
    X = (rng.uniform(size=(ROWS, WORDS)) < often).astype(float)
    margins = X @ rng.choice([-1.0, 1.0], size=WORDS)
    return sparse.csr_array(X), rng.uniform(size=ROWS) < 1 / (1 + np.exp(-margins))


def main(path="sparse_gradients.png"):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    kinds = {"all words equally often": 0.0, "frequent and rare words": 1.0}
    print(f"{'':28}{'structure':12}{'regret':>9}{'closed form':>13}")
    for ax, (kind, power) in zip(axes, kinds.items(), strict=True):
        X, y = stream(power)
        for structure, colour in COLOURS.items():
            model = AdaRegClassifier(
                "adagrad",
                structure,
                eta="theory",
                epsilon="theory",
                domain="box",
                radius=1.0,
                scaling=None,
                fit_intercept=False,
            )
            shown = RegretDisplay.from_estimator(model, X, y, points=7, ax=ax, color=colour, name=structure)
            print(f"{kind:28}{structure:12}{shown.regret[-1]:9.1f}{shown.bound[-1]:13.1f}")
        ax.set_title(kind, loc="left")
    axes[1].set_ylabel("")
    axes[1].get_legend().remove()
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
