"""
Nine algorithms, one pass, and the step size that progressive loss picks
========================================================================

Three potentials times three structures give nine online algorithms. Each takes one pass over the
breast cancer data that ships with scikit-learn, in raw units, once for every step size of a wide
grid.

No algorithm is handed its best step size. While it learns, each row is predicted before it is
learnt from, so the mean of those losses, ``progressive_loss_``, is an honest validation score that
costs nothing: the smallest one picks the step size, and the test rows only judge the pick.

The thirty features are strongly correlated, which is where the structure matters: a full matrix
sees the correlations, a diagonal and a multiple of the identity do not. And nobody has to run this
grid: the default parameters, without a step size, are the dotted line.

Run it as ``python examples/algorithms/plot_potentials_and_structures.py [figure.png]``.
"""

import sys
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_adareg import AdaRegClassifier

POTENTIALS = {"adagrad": "#0072b2", "pnorm": "#d55e00", "ons": "#009e73"}
STRUCTURES = {
    "iso": "one step for all features",
    "diag": "a step for each feature",
    "full": "a step for each direction",
}
STEP_SIZES = 2.0 ** np.arange(-4, 7)
N_ORDERS = 5


def split():
    """Training and test rows, raw."""
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)


def score_on(model, X_test, y_test):
    """Log-loss and accuracy on the test rows."""
    loss = log_loss(y_test, model.predict_proba(X_test))
    return loss, accuracy_score(y_test, model.predict(X_test))


def one_pass(data, **parameters):
    """Progressive loss, test log-loss and accuracy, means over row orders; seconds, the fewest."""
    X_train, X_test, y_train, y_test = data
    scores, seconds = [], []
    for seed in range(N_ORDERS):
        order = np.random.default_rng(seed).permutation(len(y_train))
        X, y = X_train[order], y_train[order]
        model = AdaRegClassifier(**parameters)
        start = perf_counter()
        model.partial_fit(X, y, classes=[0, 1])
        seconds.append(perf_counter() - start)
        scores.append((model.progressive_loss_, *score_on(model, X_test, y_test)))
    return *np.mean(scores, axis=0), min(seconds)


def batch_model(data):
    """Test log-loss and accuracy of a converged batch model, scaled, its C chosen by five folds."""
    X_train, X_test, y_train, y_test = data
    model = GridSearchCV(
        make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=5000)),
        {"logisticregression__C": np.logspace(-2, 4, 13)},
        scoring="neg_log_loss",
    )
    return score_on(model.fit(X_train, y_train), X_test, y_test)


def print_table(results, default, batch):
    """One line an algorithm, at the step size with the smallest progressive loss."""
    print(
        f"breast cancer, one pass, means over {N_ORDERS} orders; eta picked by progressive loss\n"
    )
    heads = ("progressive", "test", "test", "time of")
    print(f"{'':20}{'':>8}" + "".join(f"{head:>12}" for head in heads))
    heads = ("loss", "log-loss", "accuracy", "a pass")
    print(f"{'structure potential':20}{'eta':>8}" + "".join(f"{head:>12}" for head in heads))
    for (structure, potential), table in results.items():
        best = np.argmin(table[:, 0])
        progressive, loss, accuracy, seconds = table[best]
        print(
            f"{structure:10}{potential:10}{STEP_SIZES[best]:8g}"
            f"{progressive:12.3f}{loss:12.3f}{accuracy:12.3f}{1e3 * seconds:9.1f} ms"
        )
    progressive, loss, accuracy, seconds = default
    print(
        f"{'default parameters':20}{'':8}{progressive:12.3f}{loss:12.3f}{accuracy:12.3f}{1e3 * seconds:9.1f} ms"
    )
    loss, accuracy = batch
    print(f"\n{'LogisticRegression, C by five folds':40}{loss:12.3f}{accuracy:12.3f}")


def draw(results, default, batch, path):
    """Test log-loss over the step size, a panel a structure; a ring marks the picked step size."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.1), sharey=True, layout="constrained")
    for axis, (structure, meaning) in zip(axes, STRUCTURES.items(), strict=True):
        for potential, colour in POTENTIALS.items():
            table = results[structure, potential]
            best = np.argmin(table[:, 0])
            loss = table[best, 1]
            axis.plot(
                STEP_SIZES, table[:, 1], color=colour, lw=1.8, label=f"{potential}  {loss:.3f}"
            )
            axis.plot(STEP_SIZES[best], loss, "o", color=colour, mfc="white", mew=2, ms=8, zorder=3)
        axis.axhline(default[1], color="#cc3366", lw=2, ls=":", zorder=1.5)
        axis.axhline(batch[0], color="0.4", lw=1.2, ls="--", zorder=1.5)
        axis.set_xscale("log", base=2)
        axis.set_title(f"$\\bf{{{structure}}}$: {meaning}", fontsize=11, loc="left")
        axis.set_xlabel("step size η")
        axis.legend(
            title="test log-loss at the ring",
            frameon=False,
            loc="upper center",
            bbox_to_anchor=(0.46, 1.0),
            fontsize=9.5,
            title_fontsize=9.5,
        )
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="0.92")
        axis.set_axisbelow(True)
    axes[0].set_ylabel("test log-loss after one pass")
    axes[0].set_ylim(0.0, 0.92)
    axes[0].annotate(
        f"tuned batch model  {batch[0]:.3f}",
        (STEP_SIZES[0], batch[0]),
        xytext=(0, -4),
        textcoords="offset points",
        va="top",
        color="0.35",
        fontsize=9,
    )
    axes[0].annotate(
        f"default parameters, no step size  {default[1]:.3f}",
        (STEP_SIZES[0], default[1]),
        xytext=(0, 4),
        textcoords="offset points",
        color="#cc3366",
        fontsize=9,
    )
    figure.suptitle(
        "Nine algorithms, one pass over breast cancer, raw. Rings: the step size that progressive "
        "loss picks, no test row seen",
        fontsize=12,
    )
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


def main(path="potentials_and_structures.png"):
    data = split()
    results = {
        (structure, potential): np.array(
            [
                one_pass(data, potential=potential, structure=structure, eta=eta)
                for eta in STEP_SIZES
            ]
        )
        for structure in STRUCTURES
        for potential in POTENTIALS
    }
    default, batch = one_pass(data), batch_model(data)
    print_table(results, default, batch)
    draw(results, default, batch, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
