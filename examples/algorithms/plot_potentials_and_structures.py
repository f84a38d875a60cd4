"""
Nine algorithms, and the step size that the progressive loss picks
==================================================================

Three potentials times three structures are nine online algorithms. Each takes one pass over the breast cancer data, in raw units,
once for every step size of a wide grid. Each row is predicted before it is learnt from, so the mean of these losses,
``progressive_loss_``, is a validation loss that costs no rows: it picks the step size (rings), and the test rows only judge the pick.

The features are strongly correlated. A full matrix can use that, a diagonal and a multiple of the identity cannot. Nobody has to run
this grid: the default parameters, without a step size, are the dotted line.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_adareg import AdaRegClassifier

POTENTIALS = {"adagrad": "#0072b2", "pnorm": "#d55e00", "ons": "#009e73"}
STRUCTURES = {"iso": "one step size", "diag": "one for each feature", "full": "one for each direction"}
STEP_SIZES = 2.0 ** np.arange(-4, 7)
X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def one_pass(**parameters):
    """Progressive loss and test loss after one pass, means over three orders of the rows."""
    losses = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        model = AdaRegClassifier(**parameters).partial_fit(X[order], y[order], classes=[0, 1])
        losses.append((model.progressive_loss_, log_loss(y_test, model.predict_proba(X_test))))
    return np.mean(losses, axis=0)


# %%
# Test loss over the step size, for every pair of a structure and a potential.
figure, axes = plt.subplots(1, 3, figsize=(10, 4.6), sharey=True, layout="constrained")
default = one_pass()
print(f"{'structure':12}{'potential':12}{'step size':>10}{'progressive':>14}{'test loss':>12}")
for axis, (structure, meaning) in zip(axes, STRUCTURES.items(), strict=True):
    for potential, colour in POTENTIALS.items():
        losses = np.array([one_pass(potential=potential, structure=structure, eta=eta) for eta in STEP_SIZES])
        best = np.argmin(losses[:, 0])
        axis.plot(STEP_SIZES, losses[:, 1], color=colour, lw=2, label=potential)
        axis.plot(STEP_SIZES[best], losses[best, 1], "o", color=colour, mfc="white", mew=2, ms=9)
        progressive, test = losses[best]
        print(f"{structure:12}{potential:12}{STEP_SIZES[best]:10g}{progressive:14.3f}{test:12.3f}")
    axis.axhline(default[1], color="#cc3366", lw=2, ls=":", label="defaults")
    axis.set(title=f"{structure}: {meaning}", xlabel="step size η", ylim=(0, 0.9))
    axis.set_xscale("log", base=2)
    axis.spines[["top", "right"]].set_visible(False)
print(f"{'default parameters':34}{default[0]:14.3f}{default[1]:12.3f}")
axes[0].set_ylabel("test log-loss after one pass")
axes[0].legend(frameon=False, loc="upper left")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "potentials_and_structures.png", dpi=150)
