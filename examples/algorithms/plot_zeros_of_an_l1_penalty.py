"""
The zeros of an L1 penalty
==========================

Of 200 features 10 matter. With ``l1_ratio=1`` a default ``fit`` ends at the minimum that
:class:`~sklearn.linear_model.Lasso` finds: the same features are left at every strength of the
penalty, with the same weights. A stream sees each row once and never goes back; what
``partial_fit`` publishes has most of the zeros all the same, and shrinks the weights somewhat more.

Run it as ``python examples/algorithms/plot_zeros_of_an_l1_penalty.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Lasso

from sklearn_adareg import AdaRegRegressor

ALPHAS = np.logspace(-2.5, -0.25, 10)
LEARNERS = {  # colour, width, whether it sees each row once, and the model
    "Lasso": ("#bbbbbb", 8, False, Lasso),
    "AdaRegRegressor, fit": ("#d62728", 2, False, AdaRegRegressor),
    "AdaRegRegressor, one pass": ("#1f77b4", 2, True, AdaRegRegressor),
}


def rows(n, seed):
    """Standard normal features, ten of which have a weight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 200))
    return X, X[:, :10] @ np.linspace(0.2, 1, 10) + 2 * rng.normal(size=n)


def learnt(estimator, once, alpha, X, y):
    """The fitted model."""
    parameters = {} if estimator is Lasso else {"l1_ratio": 1.0, "random_state": 0}
    model = estimator(alpha=alpha, **parameters)
    return model.partial_fit(X, y) if once else model.fit(X, y)


def main(path=None):
    """Fit, print, draw."""
    X, y = rows(2000, 0)
    X_test, y_test = rows(10_000, 1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    print(f"{'':27}{'alpha':>7}{'weights':>9}{'test error':>12}")
    for name, (colour, width, once, estimator) in LEARNERS.items():
        models = [learnt(estimator, once, alpha, X, y) for alpha in ALPHAS]
        counts = [np.count_nonzero(model.coef_) for model in models]
        errors = [np.mean((y_test - model.predict(X_test)) ** 2) for model in models]
        for k in (2, 5, 7):
            print(f"{name:27}{ALPHAS[k]:7.3f}{counts[k]:9d}{errors[k]:12.4f}")
        left.plot(ALPHAS, counts, color=colour, linewidth=width, label=name)
        right.plot(ALPHAS, errors, color=colour, linewidth=width, label=name)
    left.axhline(10, color="black", linestyle=":", linewidth=1)
    left.annotate("10 matter", (ALPHAS[0], 10), (0, 4), textcoords="offset points")
    left.set(xscale="log", yscale="log", xlabel="alpha", title="Weights that are not 0, of 200")
    left.set_yticks([5, 10, 20, 50, 100, 200], labels=["5", "10", "20", "50", "100", "200"])
    right.set(xscale="log", xlabel="alpha", title="Mean squared error on test rows")
    right.legend(frameon=False)
    for ax in (left, right):
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    if path is None:
        plt.show()
    else:
        figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
