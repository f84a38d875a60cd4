"""The data sets of a benchmark folder.

``python benchmarks/datasets.py DATA_DIR`` lists them; ``--recompute`` measures *const* and *batch* anew.
"""

import argparse

from data_sets.folder import TASKS, add_folder_arguments, open_folder, reference


def main():
    """List the sets of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser, nargs="?")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--recompute", action="store_true", help="measure const and batch again")
    args = parser.parse_args()
    folder = open_folder(args.folder, args.cache)
    print(f"{'data':22} {'task':10} {'train':>7} {'test':>6} {'features':>8} {'a row':>7} {'const':>10} {'batch':>10}")
    for task in TASKS:
        for name in folder.names(task):
            if args.data and name not in args.data:
                continue
            split = folder.split(name)
            figures = reference(split, args.recompute)
            n, d = split.X.shape
            print(
                f"{name:22} {task:10} {n:7d} {len(split.y_test):6d} {d:8d} {split.X.nnz / n:7.1f} "
                f"{figures.const:10.4g} {figures.batch:10.4g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
