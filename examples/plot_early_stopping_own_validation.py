"""
Early stopping with your own validation set
===========================================

All products of two measurements of the diabetes data that ships with scikit-learn are more features
than its few patients can teach: with every further pass the training loss falls, and the prediction
for new patients gets worse. ``early_stopping=True`` stops the passes and keeps the best model, and
``fit(..., X_val=..., y_val=...)`` says by which rows.

A validation set of one's own costs no training rows, and it can be what a random share of them
cannot be: other patients, another clinic, a later month. Here it is a quarter of the patients, set
aside once. Beside it stand the share that ``validation_fraction`` takes from the training rows,
and no stopping at all.

Run it as ``python examples/plot_early_stopping_own_validation.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures, StandardScaler

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
    prepare = make_pipeline(
        StandardScaler(), PolynomialFeatures(2, include_bias=False), MaxAbsScaler()
    ).fit(X_train)
    mean, spread = y_train.mean(), y_train.std()
    return [
        (prepare.transform(rows), (targets - mean) / spread)
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
            OWN: 1 + int(np.argmax(own.validation_score_curve_)),
            SHARE: 1 + int(np.argmax(share.validation_score_curve_)),
            NONE: none.n_iter_,
        },
        "score": {name: model.score(X_test, y_test) for name, model in models.items()},
        "loss": none.loss_curve_,
        "validation": on_val.validation_score_curve_,
        "test": on_test.validation_score_curve_,
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


def draw_curve(axis, splits, what, colour, label):
    """Every split in the background, the mean in front."""
    passes = np.arange(1, PASSES + 1)
    curves = np.array([split[what] for split in splits])
    axis.plot(passes, curves.T, color=colour, lw=0.6, alpha=0.2)
    axis.plot(passes, curves.mean(axis=0), color=colour, lw=2.2, label=label)


def draw(splits, path):
    """Training loss over the passes; validation and test R², with the passes that were kept."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    draw_curve(left, splits, "loss", "0.35", "loss_curve_")
    draw_curve(right, splits, "validation", "#0072b2", "validation_score_curve_")
    draw_curve(right, splits, "test", "#d55e00", "the same on test rows")

    kept = np.array([split["kept"][OWN] for split in splits])
    score = mean_of(splits, "score", OWN)
    right.plot(
        np.exp(np.log(kept).mean()), score, "*", color="#d55e00", mec="white", ms=17, zorder=5,
        label=f"stopped models, test R² {score:.3f}",
    )  # fmt: skip
    spread = kept * np.exp(np.random.default_rng(0).uniform(-0.05, 0.05, len(kept)))
    right.plot(
        spread, np.full(len(kept), 0.03), "|", color="#0072b2", ms=11, mew=1.3,
        transform=right.get_xaxis_transform(), label="the pass kept, each split",
    )  # fmt: skip
    left.set_title("$\\bf{training\\ loss}$ keeps falling", fontsize=11, loc="left")
    right.set_title("$\\bf{R²}$ on other patients turns", fontsize=11, loc="left")
    left.set_ylim(bottom=0)
    right.set_ylim(0.0, 0.6)
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_xlim(0.95, PASSES)
        axis.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        axis.minorticks_off()
        axis.set_xlabel("passes")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="0.92")
        axis.set_axisbelow(True)
        axis.legend(frameon=False, fontsize=9.5, ncols=1 if axis is left else 2)
    figure.suptitle(
        f"Stopped where other patients say so: diabetes, {N_SPLITS} splits, means in front",
        fontsize=12,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"\nfigure: {path}")


def main(path="early_stopping_own_validation.png"):
    splits = [learn_one_split(seed) for seed in range(N_SPLITS)]
    print_table(splits)
    draw(splits, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
