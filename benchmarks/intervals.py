"""Coverage of error bars and of conformal intervals.

    python benchmarks/intervals.py --error-bars         # 95 % intervals over made-up data, whose weights are known
    python benchmarks/intervals.py --streams DATA_DIR   # conformal intervals, each row predicted, then learnt

*weights*: how often ``coef_`` and ``intercept_`` are within 1.96 standard errors of the truth. *batch*: the same for OLS and
logistic regression. *predictions*: of new targets, or of probabilities. *ratio*: of standard errors to those of the batch model.
*worst thousand*: the least and the largest share of 1,000 rows in a row that are inside intervals of 90 %.
"""

import argparse
import warnings

import numpy as np
from data_sets.folder import Folder
from scipy.special import expit

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
LATE = {"potential": "ons", "eta": 3.0, "average": 20.0}
CASES = {
    "full, one pass": {"max_iter": 1},
    "full, default fit": {},
    "block, one pass": {**LATE, "structure": "block", "blocks": 3, "max_iter": 1},
    "diag, one pass": {**LATE, "structure": "diag", "max_iter": 1},
}


def correlations(params, d):
    """Of the features: .5 to the power of their distance, and 0 across blocks."""
    i = np.arange(d)
    block = {"block": params.get("blocks"), "diag": 1}.get(params.get("structure"), d)
    return 0.5 ** np.abs(np.subtract.outer(i, i)) * np.equal.outer(i // block, i // block)


def newton_raphson(Z, y):
    """Weights and covariance of logistic regression."""
    x = np.zeros(Z.shape[1])
    for _ in range(30):
        p = expit(Z @ x)
        A = (Z * (p * (1 - p))[:, None]).T @ Z
        x = x + np.linalg.solve(A, Z.T @ (y - p))
    return x, np.linalg.inv(A)


def least_squares(Z, y):
    """Weights and covariance of OLS."""
    x = np.linalg.lstsq(Z, y, rcond=None)[0]
    noise = np.sum((y - Z @ x) ** 2) / (len(Z) - Z.shape[1])
    return x, noise * np.linalg.inv(Z.T @ Z)


def coverage(params, classes, d, per_weight, signal, repeats):
    """Shares of weights and predictions inside, of a batch model's weights, and the mean ratio of standard errors."""
    rng = np.random.default_rng(0)
    n, units = per_weight * (d + 1), np.exp(np.linspace(-2, 2, d))
    root = np.linalg.cholesky(correlations(params, d))
    center = 0.0 if "structure" in params else np.linspace(-1, 1, d)
    inside, of_batch, of_predictions, ratios = [], [], [], []
    for seed in range(repeats):
        X, new = ((rng.normal(size=(k, d)) @ root.T + center) * units for k in (n, 20))
        truth = np.append(signal * rng.normal(size=d) / units / np.sqrt(d), 0.3)
        Z, margins, of_new = (np.column_stack([X, np.ones(n)]), X @ truth[:d] + 0.3, new @ truth[:d] + 0.3)
        y = rng.random(n) < expit(margins) if classes else margins + rng.normal(size=n)
        model = (AdaRegClassifier if classes else AdaRegRegressor)(random_state=seed, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        found = np.append(np.ravel(model.coef_), model.intercept_)
        std = np.append(np.ravel(model.coef_std_), model.intercept_std_)
        batch, cov = (newton_raphson if classes else least_squares)(Z, y)
        inside.append(np.abs(found - truth) < 1.96 * std)
        of_batch.append(np.abs(batch - truth) < 1.96 * np.sqrt(np.diag(cov)))
        ratios.append(std / np.sqrt(np.diag(cov)))
        if classes:
            low, high = model.predict_proba_interval(new).T
            of_predictions.append((low < expit(of_new)) & (expit(of_new) < high))
        else:
            mean, spread = model.predict(new, return_std=True)
            of_predictions.append(np.abs(of_new + rng.normal(size=20) - mean) < 1.96 * spread)
    return [np.mean(figures) for figures in (inside, of_batch, of_predictions, ratios)]


def error_bars(repeats):
    """The table."""
    print(f"{'model':20} {'task':15} {'d':>3} {'rows':>5} {'weights':>8} {'batch':>6} {'predictions':>11} {'ratio':>6}")
    for name, params in CASES.items():
        for classes in (False, True):
            for d, signal in ((6, 1.0), (20, 1.5)):
                figures = coverage(params, classes, d, 50, signal, repeats)
                task = "classification" if classes else "regression"
                print(
                    f"{name:20} {task:15} {d:3d} {50 * (d + 1):5d} {figures[0]:8.3f} {figures[1]:6.3f} {figures[2]:11.3f} "
                    f"{figures[3]:6.2f}",
                    flush=True,
                )


def drifting(n=20_000):
    """Weights that wander, noise with heavy tails that swells and falls, and a jump."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    weights = np.cumsum(0.02 * rng.normal(size=(n, 5)), axis=0)
    noise = np.exp(np.sin(np.arange(n) / 1500)) * rng.standard_t(4, size=n)
    return X, np.sum(X * weights, axis=1) + noise + 5.0 * (np.arange(n) > 0.45 * n)


def streams(folder):
    """The share of targets inside the intervals from before each row was learnt from."""
    print(f"{'stream':22} {'rows':>6} {''.join(f'{level:>7.2f}' for level in LEVELS)}  worst thousand")
    sets = {name: Folder(folder).stream(name) for name in ("bike_sharing", "river_trump_approval")}
    for name, (X, y) in {**sets, "made-up drift": drifting()}.items():
        model, inside = AdaRegRegressor().partial_fit(X[:1], y[:1]), []
        for t in range(1, len(y)):
            ends = np.array([model.predict_interval(X[t : t + 1], coverage=level)[0] for level in LEVELS])
            inside.append((ends[:, 0] <= y[t]) & (y[t] <= ends[:, 1]))
            model.partial_fit(X[t : t + 1], y[t : t + 1])
        rolling = np.convolve(np.array(inside)[:, 2], np.full(1000, 1e-3), "valid")
        print(
            f"{name:22} {len(y):6d} {''.join(f'{share:7.3f}' for share in np.mean(inside, axis=0))}  "
            f"{rolling.min():.3f} to {rolling.max():.3f}",
            flush=True,
        )


def main():
    """One or more parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--error-bars", action="store_true", help="standard errors of weights and predictions")
    parser.add_argument("--repeats", type=int, default=300, help="made-up data sets for each line")
    parser.add_argument(
        "--streams", metavar="DATA_DIR", help="conformal intervals, on streams of this folder and a made-up one"
    )
    args = parser.parse_args()
    if args.error_bars:
        error_bars(args.repeats)
    if args.streams:
        streams(args.streams)


if __name__ == "__main__":
    main()
