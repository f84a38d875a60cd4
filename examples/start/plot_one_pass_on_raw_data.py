"""
One pass over raw data, without a scaler and without a learning rate
====================================================================

Rows arrive once, in the units in which they were measured. ``AdaRegClassifier()`` learns from them with default parameters, and
after a few hundred rows its test loss is close to that of a tuned batch model. Averaged stochastic gradient descent is shown on the
same raw rows, and on rows that were standardised beforehand, which takes a pass of its own.

Losses on different data cannot be compared, so the figure has the *share*: the excess test loss over the batch model, divided by the
excess of a constant prediction. 0 is as good as the batch model, which had all rows at once, standardised, and its penalty chosen
on the test rows; 1 is as good as a constant. ``python benchmarks/one_pass.py`` draws the figure with Vowpal Wabbit and river, too.
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier

DATA = {"breast cancer, two classes": load_breast_cancer, "digits, ten classes": load_digits}
COLOURS = {"AdaReg, raw": "#d1495b", "SGD, scaled beforehand": "#e69f00", "SGD, raw": "0.6"}


def sgd():
    return SGDClassifier(loss="log_loss", average=True, random_state=0)


def shares_of_one_pass(X, y, seed):
    """Rows seen at each stop, and for each learner its share there."""
    X, X_test, y, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X)
    Z, Z_test = scaler.transform(X), scaler.transform(X_test)
    batch = min(
        log_loss(y_test, LogisticRegression(C=C, max_iter=2000).fit(Z, y).predict_proba(Z_test))
        for C in np.logspace(-3, 3, 7)
    )
    constant = log_loss(y_test, np.tile(np.bincount(y) / len(y), (len(y_test), 1)))
    learners = [(AdaRegClassifier(), X, X_test), (sgd(), Z, Z_test), (sgd(), X, X_test)]
    stops = np.geomspace(20, len(y), 12).round().astype(int)
    found = {name: [] for name in COLOURS}
    for name, (model, rows, test_rows) in zip(COLOURS, learners, strict=True):
        for start, stop in zip([0, *stops], stops, strict=False):
            model.partial_fit(rows[start:stop], y[start:stop], classes=np.unique(y))
            excess = log_loss(y_test, model.predict_proba(test_rows)) - batch
            found[name].append(min(1.0, excess / (constant - batch)))
    return stops, found


# %%
# Three splits of each data set, and the mean share after each number of rows.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True, layout="constrained")
print(f"share after{'':28}" + "".join(f"{part:>14}" for part in ("20 rows", "half", "all rows")))
for axis, (title, load) in zip(axes, DATA.items(), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SGD overflows on raw rows
        runs = [shares_of_one_pass(*load(return_X_y=True), seed) for seed in range(3)]
    stops = runs[0][0]
    for name, colour in COLOURS.items():
        mean = np.mean([found[name] for _, found in runs], axis=0)
        half = np.argmin(abs(stops - stops[-1] / 2))
        cells = "".join(f"{mean[i]:14.3f}" for i in (0, half, -1))
        print(f"{title.split(',')[0]:15}{name:24}{cells}")
        axis.plot(stops, mean, color=colour, lw=3 if "AdaReg" in name else 2, label=name)
    axis.axhline(0, color="0.3", lw=1.2, ls="--", label="tuned batch model")
    axis.set(title=title, xscale="log", xlabel="rows seen", ylim=(-0.05, 1.03))
    axis.set_xticks([20, 50, 100, 200, 400, 1000], [20, 50, 100, 200, 400, 1000])
    axis.minorticks_off()
    axis.set_xlim(20, stops[-1])
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("share: 0 batch model, 1 constant")
figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "one_pass_on_raw_data.png", dpi=150)
