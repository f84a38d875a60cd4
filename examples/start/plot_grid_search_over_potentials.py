"""
GridSearchCV over algorithms: potential, structure and step size at once
========================================================================

Which online algorithm suits the data is a question for cross-validation like any other: potential
and structure are parameters of one estimator, so ``GridSearchCV`` searches over AdaGrad, the p-norm
algorithm and the Online Newton Step, isotropic, diagonal and full, together with their step size.

Every cell of the heat map is one pass over the training folds of the digits that ship with
scikit-learn, odd against even, pixels as they are. Rows set aside judge the winner. Beside it stand
a batch model whose ``C`` is searched for over the same folds, and the default parameters, for which
nothing was searched.

Run it as ``python examples/start/plot_grid_search_over_potentials.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from sklearn_adareg import AdaRegClassifier

POTENTIALS = ["adagrad", "pnorm", "ons"]
STRUCTURES = {
    "iso": "one step for all pixels",
    "diag": "a step for each pixel",
    "full": "a step for each direction",
}
STEP_SIZES = [0.5, 1.0, 2.0, 4.0, 8.0]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def search(model, grid, X, y):
    """The grid search over ``grid``, by log-loss."""
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=FOLDS).fit(X, y)


def losses_of(found):
    """Cross-validated log-loss by (structure, potential, step size)."""
    losses = np.empty((len(STRUCTURES), len(POTENTIALS), len(STEP_SIZES)))
    results = found.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        cell = (
            list(STRUCTURES).index(params["structure"]),
            POTENTIALS.index(params["potential"]),
            STEP_SIZES.index(params["eta"]),
        )
        losses[cell] = -score
    return losses


def print_table(losses, found, auto, batch, X_test, y_test):
    """The best step size of each algorithm, then the winner and its peers on new rows."""
    print(f"digits, odd against even, one pass; log-loss over {FOLDS.get_n_splits()} folds\n")
    print(f"{'structure potential':22}{'best eta':>9}{'log-loss':>10}")
    for structure, panel in zip(STRUCTURES, losses, strict=True):
        for potential, row in zip(POTENTIALS, panel, strict=True):
            eta = STEP_SIZES[np.argmin(row)]
            print(f"{structure:10}{potential:12}{eta:9g}{row.min():10.3f}")
    winner = found.best_params_
    names = {
        f"{winner['potential']}/{winner['structure']}, one pass": found,
        "default parameters, one pass": auto,
        f"LogisticRegression, C={batch.best_params_['C']:.3g}": batch,
    }
    print(f"\n{'':31}{'folds':>10}{'new rows':>10}{'new rows':>10}")
    print(f"{'':31}{'log-loss':>10}{'log-loss':>10}{'accuracy':>10}")
    for name, model in names.items():
        loss = log_loss(y_test, model.predict_proba(X_test))
        accuracy = accuracy_score(y_test, model.predict(X_test))
        print(f"{name:31}{-model.best_score_:10.3f}{loss:10.3f}{accuracy:10.3f}")


def draw(losses, path):
    """A heat map a structure, potentials against step sizes; a frame round the winner."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    colours = LogNorm(losses.min(), 3 * losses.min())
    best = np.unravel_index(losses.argmin(), losses.shape)
    for number, (axis, structure) in enumerate(zip(axes, STRUCTURES, strict=True)):
        image = axis.imshow(losses[number], norm=colours, cmap="YlGnBu_r", aspect="auto")
        for (i, j), loss in np.ndenumerate(losses[number]):
            light = np.dot(image.to_rgba(loss)[:3], [0.3, 0.6, 0.1]) > 0.5
            axis.text(j, i, f"{loss:.3f}", ha="center", va="center", c="0.1" if light else "w")
        if number == best[0]:
            corner = (best[2] - 0.48, best[1] - 0.47)
            axis.add_patch(Rectangle(corner, 0.96, 0.94, fill=False, ec="#d55e00", lw=3))
        axis.set_title(f"$\\bf{{{structure}}}$: {STRUCTURES[structure]}", fontsize=11, loc="left")
        axis.set_xticks(range(len(STEP_SIZES)), [f"{eta:g}" for eta in STEP_SIZES])
        axis.set_yticks(range(len(POTENTIALS)), POTENTIALS)
        axis.set_xlabel("step size η")
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, extend="max", pad=0.01, aspect=14)
    ticks = np.array([1.0, 1.25, 1.6, 2.0, 2.5, 3.0]) * losses.min()
    bar.set_ticks(ticks, labels=[f"{tick:.2f}" for tick in ticks], minor=False)
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("log-loss")
    structure, potential = list(STRUCTURES)[best[0]], POTENTIALS[best[1]]
    figure.suptitle(
        "One search over nine algorithms: cross-validated log-loss of one pass, digits, odd "
        f"against even. Framed: the winner, {potential}/{structure}",
        fontsize=12,
    )
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


def main(path="grid_search_over_potentials.png"):
    X, digit = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, digit % 2, test_size=0.6, stratify=digit, random_state=0
    )
    found = search(
        AdaRegClassifier(max_iter=1, random_state=0),
        {"potential": POTENTIALS, "structure": list(STRUCTURES), "eta": STEP_SIZES},
        X_train,
        y_train,
    )
    auto = search(AdaRegClassifier(max_iter=1, random_state=0), {}, X_train, y_train)
    batch = search(
        LogisticRegression(max_iter=5000), {"C": np.logspace(-4, 0, 9)}, X_train, y_train
    )
    losses = losses_of(found)
    print_table(losses, found, auto, batch, X_test, y_test)
    draw(losses, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
