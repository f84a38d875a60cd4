"""How sharp are the choices behind "auto"? Mean shares of the defaults with one constant changed.

``python benchmarks/sensitivity.py DATA_DIR`` prints the mean share of each task, one pass over raw
rows as in ``quality.py``, for other row orders and for every constant of "auto" that Python holds.
The constants are private: this program is the one place that may turn them.
"""

import argparse
from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from data_sets.folder import TASKS, Folder, add_folder_arguments, reference
from learning.learners import fit, ours
from reporting.records import environment, save, working_on
from threadpoolctl import threadpool_limits

from sklearn_adareg.model import _auto, _registry

USUAL_ORDER = 1
STACK = _auto.STACK


def stack_rates(*rates):
    """The patch that gives the diagonal stack these step sizes, whatever its potential."""
    changed = {name: replace(entry, rates=rates) for name, entry in _registry.POTENTIALS.items()}
    return {"potentials": changed}


# what is changed → the constants of _auto, the registry's entries, or the parameters, that change it
CHANGES = {
    "defaults": {},
    **{f"row order {seed}": {"order": seed} for seed in range(2, 6)},
    "stack: eta 0.25, 2.5": stack_rates(0.25, 2.5),
    "stack: eta 0.5, 2.5": stack_rates(0.5, 2.5),
    "stack: eta 0.5, 8": stack_rates(0.5, 8.0),
    "stack: eta 1, 10": stack_rates(1.0, 10.0),
    **{f"stack: epsilon {epsilon}": {"STACK": {**STACK, "epsilon": epsilon}} for epsilon in (0.25, 0.5, 2.0, 4.0)},
    **{f"stack: average {average}": {"STACK": {**STACK, "average": average}} for average in (True, 2.0, False)},
    "one step size, not a stack: eta 0.5": {"params": {"structure": "diag", "eta": 0.5}},
    "one step size, not a stack: eta 5": {"params": {"structure": "diag", "eta": 5.0}},
    "full up to 64 features": {"FULL_UP_TO": 64},
    "full up to 300 features": {"FULL_UP_TO": 300},
    "diagonal throughout": {"params": {"structure": "diag"}},
}


def in_order(split, seed):
    """The training rows in another order; seed 1 is the one that they have."""
    if seed == USUAL_ORDER:
        return split
    usual = np.random.default_rng(USUAL_ORDER).permutation(len(split.y))
    order = np.argsort(usual)[np.random.default_rng(seed).permutation(len(split.y))]
    return replace(split, X=split.X[order], y=split.y[order])


def mean_shares(splits, *, order=USUAL_ORDER, params=None, potentials=None, **constants):
    """Mean and worst share of each task under a change."""
    shares = {}
    with ExitStack() as changed:
        changed.enter_context(patch.dict(_registry.POTENTIALS, potentials or {}))
        for name, value in constants.items():
            changed.enter_context(patch.object(_auto, name, value))
        for split in splits:
            settings = {"max_iter": 1, "shuffle": False, **(params or {})}
            outcome = fit(
                lambda task=split.task, settings=settings: ours(task, **settings), in_order(split, order), repeats=1
            )
            shares.setdefault(split.task, []).append(reference(split).share(outcome.loss))
    return {task: (np.mean(values), max(values)) for task, values in shares.items()}


def main():
    """Print a line a change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser)
    parser.add_argument("--changes", metavar="TEXT", default="", help="only those that contain it")
    parser.add_argument("--json", metavar="FILE", help="save everything measured")
    args = parser.parse_args()
    folder = Folder(args.folder, args.cache)
    splits, saved = [], {"environment": environment(), "changes": {}}
    for task in TASKS:
        for name in folder.names(task):
            working_on(f"{name}: reading")
            splits.append(folder.split(name))
    print(f"{'mean share (worst)':38}" + "".join(f"{task:>18}" for task in TASKS))
    with threadpool_limits(limits=1):
        for name, change in CHANGES.items():
            if args.changes not in name:
                continue
            working_on(name)
            found = mean_shares(splits, **change)
            saved["changes"][name] = {task: list(map(float, pair)) for task, pair in found.items()}
            cells = (found.get(task, (np.nan, np.nan)) for task in TASKS)
            print(f"{name:38}" + "".join(f"{m:10.3f} ({w:5.3f})" for m, w in cells), flush=True)
    if args.json:
        save(saved, args.json)


if __name__ == "__main__":
    main()
