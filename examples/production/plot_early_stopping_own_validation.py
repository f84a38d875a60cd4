"""
Early stopping with your own validation set
===========================================

All products of two measurements of the diabetes data are more features than its few patients can teach: pass after pass the training
loss falls, while predictions for new patients get worse. ``early_stopping=True`` stops and keeps the best model, and
``fit(..., X_val=..., y_val=...)`` says by which rows. A validation set of your own costs no training rows, and can be what a random
part of them cannot be: other patients, another clinic, a later month.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sklearn_adareg import AdaRegRegressor

PASSES = 60


def three_parts(seed):
    """Training, validation and test rows, prepared by the training rows."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, X_rest, y, y_rest = train_test_split(X, y, test_size=0.5, random_state=seed)
    X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=seed)
    prepare = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False)).fit(X)
    return [(prepare.transform(a), b) for a, b in ((X, y), (X_val, y_val), (X_test, y_test))]


def regressor(**parameters):
    return AdaRegRegressor(structure="diag", max_iter=PASSES, scoring=None, random_state=0, **parameters)


# %%
# Ten splits: a model that stops by the validation rows, and the R² of all passes on the validation rows and on the test rows.
own, none, kept, curves = [], [], [], {"training loss": [], "validation": [], "test": []}
for seed in range(10):
    train, validation, test = three_parts(seed)
    stopped = regressor(early_stopping=True, n_iter_no_change=5).fit(*train, X_val=validation[0], y_val=validation[1])
    all_passes = regressor(tol=None).fit(*train)
    own.append(stopped.score(*test))
    none.append(all_passes.score(*test))
    kept.append(1 + np.argmax(stopped.validation_scores_))
    curves["training loss"].append(all_passes.loss_curve_)
    for name, rows in (("validation", validation), ("test", test)):
        watched = regressor(tol=None, early_stopping=True).fit(*train, X_val=rows[0], y_val=rows[1])
        curves[name].append(watched.validation_scores_)
print("means over ten splits      passes kept   test R²")
print(f"own validation set         {np.mean(kept):11.1f}{np.mean(own):10.3f}")
print(f"all passes                 {PASSES:11.1f}{np.mean(none):10.3f}")
print(f"better by, on average      {'':11}{np.mean(np.subtract(own, none)):10.3f}")

# %%
# The training loss says "go on"; the validation rows know better.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
passes = np.arange(1, PASSES + 1)
left.plot(passes, np.mean(curves["training loss"], axis=0), color="0.35", lw=2.5)
left.set(title="training loss falls", ylim=(0, None))
right.plot(passes, np.mean(curves["validation"], axis=0), color="#0072b2", lw=2.5, label="validation rows")
right.plot(passes, np.mean(curves["test"], axis=0), color="#d55e00", lw=2.5, label="test rows")
right.plot(kept, np.full(10, right.get_ylim()[0]), "|", color="#0072b2", ms=18, mew=2, label="the pass kept")
right.set(title="R² on new patients")
right.legend(frameon=False)
for axis in (left, right):
    axis.set(xscale="log", xlabel="passes")
    axis.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "early_stopping.png", dpi=150)
