"""
Shards learn by themselves, and a merge makes one model
=======================================================

The rows lie in several shards, each of which learns from its own rows only: here in threads, on Dask
or Ray after one word, ``joblib.parallel_config(backend="dask")``. The figure shows the excess test
loss over a batch model of all rows. A shard alone gets worse as it gets smaller. The merged model
stays near that of one pass, and one more round brings it nearer.

Run it as ``python examples/production/plot_shards.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, distributed

SHARDS = (1, 2, 4, 8, 16, 32)
ROWS, TEST, FEATURES = 12_800, 10_000, 40
NAMES = ("a shard alone (mean)", "merged", "merged after 2 rounds")


def data():
    """Correlated features in units from a thousandth to a million, and labels."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(ROWS + TEST, 5)) @ rng.normal(size=(5, FEATURES))
    Z = common + rng.normal(size=(ROWS + TEST, FEATURES))
    y = Z @ rng.normal(size=FEATURES) / 4 + rng.logistic(size=ROWS + TEST) > 0
    X = Z * 10.0 ** rng.uniform(-3, 6, size=FEATURES)
    return X[:ROWS], y[:ROWS].astype(int), X[ROWS:], y[ROWS:].astype(int)


def log_loss(model, X, y):
    return np.mean(np.logaddexp(0, -(2 * y - 1) * model.decision_function(X)))


def losses(shards, X_test, y_test):
    """Of the shards' own models in the mean, and of the merged models after one and two rounds."""
    alone = [AdaRegClassifier().partial_fit(*shard, classes=[0, 1]) for shard in shards]
    with parallel_config(backend="threading", n_jobs=2):
        merged = [distributed.fit(AdaRegClassifier(), shards, rounds=r) for r in (1, 2)]
    own = np.mean([log_loss(model, X_test, y_test) for model in alone])
    return [own, *(log_loss(model, X_test, y_test) for model in merged)]


def draw(excess, path):
    figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for name, values, colour in zip(NAMES, excess.T, ("0.55", "#d95f0e", "#0072b2"), strict=True):
        axis.plot(SHARDS, values, "o-", color=colour, label=name)
    axis.set(xscale="log", yscale="log", xlabel="shards", ylabel="excess test log-loss")
    axis.set_xticks(SHARDS, SHARDS)
    axis.minorticks_off()
    axis.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main(path="shards.png"):
    X, y, X_test, y_test = data()
    scaler = StandardScaler().fit(X)
    batch = LogisticRegression(C=10.0).fit(scaler.transform(X), y)
    floor = log_loss(batch, scaler.transform(X_test), y_test)
    excess = []
    print("shards" + "".join(f"{name:>24}" for name in NAMES))
    for count in SHARDS:
        shards = [(X[k::count], y[k::count]) for k in range(count)]
        excess.append(np.array(losses(shards, X_test, y_test)) - floor)
        print(f"{count:6d}" + "".join(f"{value:24.4f}" for value in excess[-1]))
    draw(np.array(excess), path)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
