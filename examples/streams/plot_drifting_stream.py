"""
A stream that changes: how much of the past to use
==================================================

The weights behind the labels stay the same for 4,000 rows, change their signs, and then rotate. The
defaults follow without tuning: they learn with several memories side by side, weighted by their
progressive losses. ``memory_``, the effective number of rows in use, falls when the weights change and
grows back. ``half_life=None`` never forgets; ``half_life=300`` halves the weight of a row every 300 rows.
river (if installed) has a constant step size: worse where the weights stay, better where they never do.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from sklearn_adareg import AdaRegClassifier

try:
    from river import linear_model, optim, preprocessing
except ImportError:
    linear_model = None

PART, STEP, SMOOTH = 4000, 25, 200
PARTS = ("the same", "signs changed", "rotating")
COLOURS = ("#d55e00", "0.25", "#0072b2", "#009e73")


def make_stream(d=8):
    """Rows in units from 0.01 to 100, and labels from a logistic model."""
    rng = np.random.default_rng(0)
    rule = np.repeat(1.2 * rng.normal(size=(1, d)), 3 * PART, axis=0)
    rule[PART:] *= -1
    angle = np.linspace(0, 4 * np.pi, PART)[:, None]
    rule[-PART:] = np.cos(angle) * rule[-PART:] + np.sin(angle) * np.roll(rule[-PART:], 1, axis=1)
    X = rng.normal(size=rule.shape)
    y = rng.random(len(X)) < expit((X * rule).sum(axis=1))
    return X * np.logspace(-2, 2, d), y.astype(int)


def adareg(X, y, **params):
    """Probabilities of class 1 before each row is learnt from, and the memory every few rows."""
    model, said, memory = AdaRegClassifier(**params), [], []
    for i in range(0, len(y), STEP):
        part = slice(i, i + STEP)
        said += [model.partial_fit_predict(X[part], y[part], [0, 1], method="predict_proba")[:, 1]]
        memory.append(model.memory_)
    return np.concatenate(said), memory


def river(X, y):
    """The same for river, row by row."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.1))
    said = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        said.append(model.predict_proba_one(dict(enumerate(row)))[True])
        model.learn_one(dict(enumerate(row)), bool(label))
    return np.array(said)


# %%
# Above: the loss of each row before it is learnt from. Below: how many rows are in use.
X, y = make_stream()
said, memory = {}, {}
said["AdaRegClassifier()"], memory["AdaRegClassifier()"] = adareg(X, y)
for half_life in (None, 300):
    name = f"half_life={half_life}"
    said[name], memory[name] = adareg(X, y, half_life=half_life)
if linear_model is not None:
    said["river, SGD(0.1), scaled"] = river(X, y)
figure, (above, below) = plt.subplots(2, 1, figsize=(10, 6), sharex=True, layout="constrained")
rows = np.arange(SMOOTH, len(y) + 1)
print(f"mean log-loss{'':12}" + "".join(f"{part:>15}" for part in PARTS))
for (name, odds), colour in zip(said.items(), COLOURS, strict=False):
    loss = -np.log(np.clip(np.where(y, odds, 1 - odds), 1e-6, 1))
    print(f"{name:25}" + "".join(f"{mean:15.3f}" for mean in loss.reshape(3, -1).mean(axis=1)))
    smooth = np.convolve(loss, np.ones(SMOOTH) / SMOOTH, "valid")
    above.plot(rows, smooth, label=name, color=colour, lw=1.2)
    if name in memory:
        below.plot(np.arange(STEP, len(y) + 1, STEP), memory[name], color=colour)
above.set(ylim=(0.3, 1.2), ylabel=f"log-loss, mean of {SMOOTH} rows", xlim=(0, len(y)))
below.set(yscale="log", ylim=(10, 3e4), ylabel="memory_ (rows in use)", xlabel="rows")
for k, part in enumerate(PARTS):
    below.annotate(part, (k * PART + 80, 15), color="0.4")
    for axis in (above, below):
        axis.axvline(k * PART, color="0.8", lw=1, zorder=0)
figure.legend(loc="outside upper center", ncols=4, frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "drifting_stream.png", dpi=150)
