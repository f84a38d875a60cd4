"""Which step size should ``eta="auto"`` be, where one number has to do for all data?

``python benchmarks/step_sizes.py DATA_DIR [--structure block]`` makes one pass over the training rows of each set with each of a
grid of step sizes, and prints how far the progressive loss is on the way from the batch model (0) to a constant (1); the last
lines are means of what each step size loses to the best one of its set. Test rows are not looked at.
"""

import argparse

import numpy as np
from data_sets.folder import REFERENCES, Folder, add_folder_arguments

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

GRIDS = {
    "block": {"potentials": ("ons", "adagrad", "pnorm"), "tasks": ("binary", "multi", "regression")},
    "kronecker": {"potentials": ("ons", "adagrad", "pnorm"), "tasks": ("multi",)},
}
ETAS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
WIDEST, ROWS, CUT = 400, 6000, 10.0


def shares(split, potential, structure):
    """The progressive loss for each step size, between that of the batch model and that of a constant."""
    X, y = split.X[:ROWS].toarray(), split.y[:ROWS]
    cls = AdaRegRegressor if split.task == "regression" else AdaRegClassifier
    known = REFERENCES[split.task][split.name]
    params = {"epsilon": 1.0, "max_iter": 1, "shuffle": False, "tol": None}
    if structure == "block":
        params["blocks"] = 8
    found = []
    for eta in ETAS:
        try:
            loss = cls(potential, structure, eta=eta, **params).fit(X, y).progressive_loss_
        except ValueError:  # the step size is so large that numbers overflow
            loss = np.inf
        loss *= 2 if split.task == "regression" else 1  # ours is half of the squared error
        found.append(min(CUT, (loss - known.batch) / (known.const - known.batch)))
    return np.array(found)


def line(values):
    """One number for each step size."""
    return " ".join(f"{eta:g}: {value:.3f}" for eta, value in zip(ETAS, values, strict=True))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser)
    parser.add_argument("--structure", choices=GRIDS, default="block")
    args = parser.parse_args()
    folder, grid, lost = Folder(args.folder, args.cache), GRIDS[args.structure], {}
    for task in grid["tasks"]:
        for name in folder.names(task):
            split = folder.split(name)
            if split.X.shape[1] > WIDEST:
                continue
            for potential in grid["potentials"]:
                found = shares(split, potential, args.structure)
                lost.setdefault((task, potential), []).append(found - found.min())
                print(f"{name:22} {potential:8} {line(found)}", flush=True)
    for (task, potential), values in lost.items():
        print(f"mean loss to the best, {task}, {potential}: {line(np.mean(values, axis=0))}")


if __name__ == "__main__":
    main()
