"""
Early stopping with your own validation set
===========================================

All products of two measurements of the diabetes data that ships with scikit-learn are more features
than its few patients can teach: pass after pass the training loss still falls, while the
predictions for new patients get worse. ``early_stopping=True`` stops the passes and keeps the best
model, and ``fit(..., X_val=..., y_val=...)`` says by which rows.

A validation set of one's own costs no training rows, and it can be what a random share of them
cannot be: other patients, another clinic, a later month. Here it is a quarter of the patients, set
aside once. Beside it stand the share that ``validation_fraction`` takes from the training rows,
and no stopping at all.

Run it as ``python examples/production/plot_early_stopping_own_validation.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sklearn_adareg import AdaRegRegressor

N_SPLITS = 20
PASSES = 100
OWN, SHARE, NONE = "own validation set", "share of the training rows", "no stopping"


def three_parts(seed):
    """Training, validation and test rows, prepared by the training rows."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=seed)
    X_val, X_test, y_val, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, random_state=seed
    )
    # Centred first, or the products would be copies of their factors; units do not matter.
    prepare = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
    prepare.fit(X_train)
    return [
        (prepare.transform(rows), targets)
        for rows, targets in ((X_train, y_train), (X_val, y_val), (X_test, y_test))
    ]


def stopping(**changes):
    """The regressor; patience of five passes."""
    params = {"max_iter": PASSES, "tol": 1e-3, "n_iter_no_change": 5, "early_stopping": True}
    return AdaRegRegressor(structure="diag", random_state=0, **{**params, **changes})


def learn_one_split(seed):
    """The three models' passes and test scores, and the curves of a run that does not stop."""
    train, (X_val, y_val), (X_test, y_test) = three_parts(seed)
    own = stopping().fit(*train, X_val=X_val, y_val=y_val)
    share = stopping(validation_fraction=0.2).fit(*train)
    none = stopping(tol=None, early_stopping=False).fit(*train)
    # The same passes once more for each curve: the score of every pass, only to be drawn.
    on_val = stopping(tol=None).fit(*train, X_val=X_val, y_val=y_val)
    on_test = stopping(tol=None).fit(*train, X_val=X_test, y_val=y_test)
    models = {OWN: own, SHARE: share, NONE: none}
    return {
        "passes": {name: model.n_iter_ for name, model in models.items()},
        "kept": {
            OWN: 1 + int(np.argmax(own.validation_scores_)),
            SHARE: 1 + int(np.argmax(share.validation_scores_)),
            NONE: none.n_iter_,
        },
        "score": {name: model.score(X_test, y_test) for name, model in models.items()},
        "loss": none.loss_curve_,
        "validation": on_val.validation_scores_,
        "test": on_test.validation_scores_,
    }


def mean_of(splits, what, name):
    return np.mean([split[what][name] for split in splits])


def print_table(splits):
    """Passes made, the pass kept, and R² on the test rows."""
    print(f"diabetes, products of two measurements; means over {N_SPLITS} splits\n")
    print(f"{'stopped by':28}{'passes':>8}{'kept':>8}{'test R²':>9}")
    for name in (OWN, SHARE, NONE):
        passes, kept, score = (mean_of(splits, what, name) for what in ("passes", "kept", "score"))
        print(f"{name:28}{passes:8.1f}{kept:8.1f}{score:9.3f}")
    wins = sum(split["score"][OWN] > split["score"][NONE] for split in splits)
    print(f"\nbetter than no stopping in {wins} of {N_SPLITS} splits")


def draw_curves(axis, splits, curves):
    """Means over the splits, pass by pass."""
    passes = np.arange(1, PASSES + 1)
    for what, (colour, label) in curves.items():
        mean = np.mean([split[what] for split in splits], axis=0)
        axis.plot(passes, mean, color=colour, lw=2.2, label=label)
    axis.set_xscale("log")
    axis.set_xlim(0.95, PASSES)
    axis.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    axis.minorticks_off()
    axis.set_xlabel("passes")


def draw_pairs(axis, splits):
    """Test R² of each split, stopped against not stopped."""
    pairs = np.array([(split["score"][NONE], split["score"][OWN]) for split in splits])
    ends = np.array([pairs.min() - 0.03, pairs.max() + 0.03])
    axis.plot(ends, ends, color="0.6", lw=1.2, ls="--")
    axis.plot(*pairs.T, "o", color="#d55e00", mec="white", ms=8)
    axis.set(xlim=ends, ylim=ends, xlabel="no stopping", ylabel=OWN)


def draw(splits, path):
    """Training loss, scores with the passes that were kept, and what each split gained."""
    figure, axes = plt.subplots(
        1, 3, figsize=(11.5, 4.1), layout="constrained", width_ratios=(1, 1.25, 1)
    )
    left, middle, right = axes
    draw_curves(left, splits, {"loss": ("0.35", "loss_curve_")})
    left.set_ylim(bottom=0)
    curves = {
        "validation": ("#0072b2", "validation_scores_"),
        "test": ("#d55e00", "the same on test rows"),
    }
    draw_curves(middle, splits, curves)
    kept = np.array([split["kept"][OWN] for split in splits])
    apart = kept * np.exp(np.random.default_rng(0).uniform(-0.05, 0.05, len(kept)))
    low, high = middle.get_ylim()
    middle.set_ylim(low - 0.2 * (high - low), high + 0.3 * (high - low))
    middle.plot(
        apart,
        np.full(len(kept), 0.05),
        "|",
        color="#0072b2",
        ms=12,
        mew=1.3,
        transform=middle.get_xaxis_transform(),
        label="the pass kept in each split",
    )
    draw_pairs(right, splits)
    titles = ("Training loss", "R² after each pass", "Test R² of each split")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=11, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="0.92")
        axis.set_axisbelow(True)
    for axis in (left, middle):
        axis.legend(frameon=False, fontsize=9.5, loc="upper right")
    figure.suptitle(
        f"Stopped by one's own validation set: test R² {mean_of(splits, 'score', OWN):.3f}, not "
        f"stopped {mean_of(splits, 'score', NONE):.3f} (diabetes, means over {N_SPLITS} splits)",
        fontsize=12,
    )
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


def main(path="early_stopping_own_validation.png"):
    splits = [learn_one_split(seed) for seed in range(N_SPLITS)]
    print_table(splits)
    draw(splits, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
