"""Data that are unkind to one pass over raw rows: offsets, correlations, heavy tails, few rows, many classes.

``python benchmarks/unkind.py`` prints the share of the defaults on each, 0 the best of a grid of batch models on (robustly) scaled
rows and 1 a constant, beside ``structure="diag"``. Nothing is read from a folder.
"""

import argparse

import numpy as np
from scipy.special import expit, log_softmax
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

STRENGTHS = (0.03, 0.3, 3.0, 30.0)
TEST_ROWS = 4000


def _labels(rng, margins):
    return np.where(rng.random(len(margins)) < expit(margins), 1, -1)


def contrasts(d, rho, n=20_000, seed=0):
    """Pairs of correlated features of which the difference matters."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n + TEST_ROWS, d // 2))
    b = rho * a + np.sqrt(1 - rho**2) * rng.normal(size=a.shape)
    weights = rng.normal(size=d // 2) / np.sqrt(d // 2)
    X = np.stack([a, b], axis=2).reshape(len(a), d)
    return X, _labels(rng, 3 * (a - b) / np.sqrt(2 - 2 * rho) @ weights)


def offsets(d, deviations, n=20_000, seed=0):
    """Independent features, all so many standard deviations from 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + TEST_ROWS, d))
    return X + deviations, _labels(rng, 3 * X @ rng.normal(size=d) / np.sqrt(d))


def cauchy(d, n=10_000, seed=0):
    """Features without a mean."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy(size=(n + TEST_ROWS, d))
    return X, _labels(rng, X @ rng.normal(size=d))


def many_classes(classes=100, d=50, n=6000, seed=0):
    """Softmax of many classes, few rows for each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + TEST_ROWS, d))
    margins = X @ rng.normal(size=(d, classes))
    return X, np.argmax(margins + rng.gumbel(size=margins.shape), axis=1)


def year(d, n=10_000, seed=0):
    """One column that is a year, and is the target, among noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + TEST_ROWS, d))
    X[:, 0] = rng.integers(1990, 2024, size=len(X))
    return X, X[:, 0] + 0.3 * rng.normal(size=len(X))


def classifier_loss(model, X, y):
    """Mean log-loss of a fitted classifier."""
    margins = model.decision_function(X)
    if margins.ndim == 1:
        return np.logaddexp(0, -np.where(y == model.classes_[1], 1, -1) * margins).mean()
    return -log_softmax(margins, axis=1)[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


def scaled(X, X_test):
    """Rows in units of their median deviation."""
    centre = np.median(X, axis=0)
    unit = np.median(np.abs(X - centre), axis=0)
    return (X - centre) / unit, (X_test - centre) / unit


def share_of(models, X, y):
    """The share of each model after one pass over all but the last rows."""
    X, X_test, y, y_test = X[:-TEST_ROWS], X[-TEST_ROWS:], y[:-TEST_ROWS], y[-TEST_ROWS:]
    Z, Z_test = scaled(X, X_test)
    if y.dtype.kind == "f":
        const = np.mean((y_test - y.mean()) ** 2)
        batch = min(np.mean((Ridge(1 / c).fit(Z, y).predict(Z_test) - y_test) ** 2) for c in STRENGTHS)
        losses = [np.mean((m.fit(X, y).predict(X_test) - y_test) ** 2) for m in models]
    else:
        counts = np.array([np.mean(y == label) for label in np.unique(y)])
        const = -np.mean(np.log(counts[np.searchsorted(np.unique(y), y_test)]))
        batch = min(classifier_loss(LogisticRegression(C=c, max_iter=300).fit(Z, y), Z_test, y_test) for c in STRENGTHS)
        losses = [classifier_loss(m.fit(X, y), X_test, y_test) for m in models]
    return [min(1.0, (loss - batch) / (const - batch)) for loss in losses]


CASES = {
    "contrasts d=200 ρ=.99": (AdaRegClassifier, lambda: contrasts(200, 0.99)),
    "contrasts d=500 ρ=.95": (AdaRegClassifier, lambda: contrasts(500, 0.95)),
    **{
        f"offsets d={d} {off} sd": (AdaRegClassifier, lambda d=d, off=off: offsets(d, off))
        for d in (50, 150, 500)
        for off in (3, 30, 300)
    },
    "few rows n=100 d=50": (AdaRegClassifier, lambda: offsets(50, 0, n=100)),
    "Cauchy d=20": (AdaRegClassifier, lambda: cauchy(20)),
    "Cauchy d=150": (AdaRegClassifier, lambda: cauchy(150)),
    "softmax K=100 d=50": (AdaRegClassifier, many_classes),
    "year d=100": (AdaRegRegressor, lambda: year(100)),
    "year d=101": (AdaRegRegressor, lambda: year(101)),
}


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="TEXT", default="", help="cases with this in their name")
    args = parser.parse_args()
    print(f"{'':24}{'auto':>9}{'diag':>9}")
    with threadpool_limits(limits=1):
        for name, (estimator, make) in CASES.items():
            if args.only in name:
                models = [estimator(structure=structure, max_iter=1, shuffle=False) for structure in ("auto", "diag")]
                shares = share_of(models, *make())
                print(f"{name:24}" + "".join(f"{share:9.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
