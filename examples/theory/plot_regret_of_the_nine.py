"""
The regret of nine algorithms stays below its bounds
====================================================

Three potentials times three structures play the same 1,500 rows of a noisy logistic model, on the ball of radius 2. After more and
more rounds, the loss so far is compared with that of the weights of the ball that are best for these rows: that is the regret
(solid). Theorem 1 bounds it for the very run (dashed); the closed form needs nothing but the matrix :math:`G_T` and the diameter
(dotted).

For AdaGrad and the p-norm the step size is that of the theory, and so it is for full ONS, whose closed form is logarithmic.
Diagonal and isotropic ONS need losses with more curvature than those of a linear model have: their closed form is that for
convex losses, and grows like T.

Run it as ``python examples/theory/plot_regret_of_the_nine.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sklearn_adareg import AdaRegClassifier
from sklearn_adareg.displays import RegretDisplay

POTENTIALS = {"adagrad": "#0072b2", "pnorm": "#d55e00", "ons": "#009e73"}
STRUCTURES = ("full", "diag", "iso")


def stream(rows=1500, features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows, features)) * [1.0, 0.5, 0.5, 0.2, 0.2]
    margins = X @ [2.0, -2.0, 1.0, 3.0, -3.0]
    return X, rng.uniform(size=rows) < 1 / (1 + np.exp(-margins))


def model(potential, structure):
    """The step size of the theory, where there is one."""
    curved = potential != "ons" or structure == "full"
    steps = {"eta": "theory", "epsilon": "theory"} if curved else {"eta": 5.0, "epsilon": 5.0}
    ball = {"domain": "l2", "radius": 2.0, "scaling": None, "fit_intercept": False}
    return AdaRegClassifier(potential, structure, **steps, **ball)


def main(path="regret_of_the_nine.png"):
    X, y = stream()
    figure, axes = plt.subplots(3, 3, figsize=(11, 8.5), sharex=True, sharey="row", layout="constrained")
    print(f"{'':16}{'regret':>9}{'Theorem 1':>11}{'closed form':>13}{'bound / regret':>16}")
    for row, (potential, colour) in zip(axes, POTENTIALS.items(), strict=True):
        for ax, structure in zip(row, STRUCTURES, strict=True):
            own = model(potential, structure)
            shown = RegretDisplay.from_estimator(own, X, y, ax=ax, color=colour, name="regret")
            ax.set_title(f"{potential}, {structure}", loc="left", fontsize=11)
            ax.set_xlabel("rounds" if potential == "ons" else "")
            ax.set_ylabel("regret" if structure == "full" else "")
            regret, run, closed = shown.regret[-1], shown.run_bound[-1], shown.bound[-1]
            print(f"{potential + ', ' + structure:16}{regret:9.1f}{run:11.1f}{closed:13.1f}{closed / regret:16.1f}")
            if not (np.all(shown.regret <= shown.run_bound) and np.all(shown.regret <= shown.bound)):
                raise AssertionError("a bound does not hold")
            if ax is not axes[0, 0]:
                ax.get_legend().remove()
    for text, label in zip(axes[0, 0].get_legend().get_texts()[1:], ("Theorem 1", "closed form"), strict=True):
        text.set_text(label)
    figure.suptitle("Regret against the best fixed weights of the ball, and its bounds", fontsize=12)
    figure.savefig(path, dpi=130)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
