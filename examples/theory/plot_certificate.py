"""
A certificate that closes in on the test error
==============================================

Every row is predicted before it is learnt from, so the mistakes made along the way are mistakes on new
rows. ``risk_certificate`` turns their number into an upper bound on the expected error rate of the
models so far, without a test set. It holds after every row at once, with probability 0.95: one may
look whenever one likes, and stop learning when it is low enough.

Beside it stands what a test set of 200,000 rows says about the model at that moment. The certificate
is about the models of all rounds, early ones among them, so it lies a little above even after many rows.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sklearn_adareg import AdaRegClassifier
from sklearn_adareg.displays import ProgressiveLossDisplay

ROWS, TEST_ROWS, FEATURES = 2**16, 200_000, 20


def draw(rng, n, weights):
    """Rows in several units, and labels of which some 10 % are noise."""
    X = rng.normal(size=(n, FEATURES))
    y = X @ weights + rng.logistic(size=n) > 0
    return X * np.logspace(-2, 2, FEATURES), y


def learn(X, y, X_test, y_test):
    """The model, and its test errors along the way."""
    model, points, errors = AdaRegClassifier(half_life=None), [], []
    print(f"{'rows':>7} {'mistakes so far':>16} {'certificate':>12} {'test error':>11}")
    ends = 2 ** np.arange(5, 17)
    for begin, end in zip(np.append(0, ends), ends, strict=False):
        model.partial_fit(X[begin:end], y[begin:end], classes=[False, True])
        found = model.risk_certificate(delta=0.05)
        points.append(end)
        errors.append(1 - model.score(X_test, y_test))
        print(f"{end:7d} {found.mean_error_rate:16.4f} {found.error_rate:12.4f} {errors[-1]:11.4f}")
    return model, points, errors


def main(path="certificate.png"):
    rng = np.random.default_rng(0)
    weights = 5 * rng.normal(size=FEATURES) / np.sqrt(FEATURES)
    X, y = draw(rng, ROWS, weights)
    model, points, errors = learn(X, y, *draw(rng, TEST_ROWS, weights))

    figure, ax = plt.subplots(figsize=(8.5, 5), layout="constrained")
    display = ProgressiveLossDisplay.from_estimator(
        model, metric="error_rate", name="mistakes so far", color="C0", ax=ax
    )
    ax.plot(points, errors, "o", color="C3", label="error on 200,000 test rows")
    ax.set(ylim=(0, 0.6), title="The certificate needs no test rows, and closes in on what they would say")
    ax.set_ylabel("error rate")
    ax.legend(frameon=False)
    last = display.bound[0][-1]
    ax.annotate(
        f"at most {last:.3f},\nmeasured {errors[-1]:.3f}",
        xy=(ROWS, last),
        xytext=(0.86, 0.5),
        textcoords="axes fraction",
        ha="center",
        arrowprops={"arrowstyle": "->", "color": "0.4"},
    )
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
