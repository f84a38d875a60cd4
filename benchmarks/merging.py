"""How near one pass over all rows is a model merged from shards?

``python benchmarks/merging.py DATA_DIR`` cuts the training rows of each set into 4 and 16 shards, one after the other, merges their
models, and prints how much the share of the test loss (0 the tuned batch model, 1 a constant) exceeds that of one pass: without
another round, and with one more round in which every shard is learnt once more from the merged model. It also prints by how much the
order of the models changes predictions.
"""

import argparse
from copy import deepcopy

import numpy as np
from datasets import TASKS, Folder, add_folder_arguments, reference
from learners import ours, scores_of
from threadpoolctl import threadpool_limits

from sklearn_adareg import merge

SHARDS = (4, 16)


def learn(split, rows, classes):
    """The defaults on some of the rows, in their order."""
    extra = {} if classes is None else {"classes": classes}
    return ours(split.task).partial_fit(split.X[rows], split.y[rows], **extra)


def once_more(model, X, y):
    """A further pass over rows that the model has learnt from in part."""
    model = deepcopy(model).set_params(warm_start=True, max_iter=1, shuffle=False, tol=None)
    return model.fit(X, y)


def measure(split, figures):
    """Share of one pass, and what merging costs beside it: {shards: (merged, one more round, effect of order)}."""
    classes = None if split.task == "regression" else np.unique(split.y)

    def share(model):
        return figures.share(split.loss(scores_of(model, split.task, split.X_test)))

    n = len(split.y)
    single = learn(split, np.arange(n), classes)
    figure, found = share(single), {}
    for count in SHARDS:
        parts = np.array_split(np.arange(n), count)
        models = [learn(split, rows, classes) for rows in parts]
        merged = merge(models)
        turned = scores_of(merge(models[::-1]), split.task, split.X_test)
        scores = scores_of(merged, split.task, split.X_test)
        order = np.abs(turned - scores).max() / np.abs(scores).max()
        again = merge([once_more(merged, split.X[p], split.y[p]) for p in parts], base=merged)
        found[count] = share(merged) - figure, share(again) - figure, order
    return figure, single.method_, found


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser)
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these sets")
    args = parser.parse_args()
    folder, rows = Folder(args.folder, args.cache), []
    head = "".join(f"{f'{count} shards':>11}{'+ round':>9}{'order':>9}" for count in SHARDS)
    print(f"{'data':22}{'method':>11}{'one pass':>10}{head}")
    with threadpool_limits(1):
        for name in (name for task in TASKS for name in folder.names(task)):
            if args.data and name not in args.data:
                continue
            split = folder.split(name)
            figure, method, found = measure(split, reference(split))
            rows.append(found)
            cells = "".join("{:11.4f}{:9.4f}{:9.0e}".format(*found[count]) for count in SHARDS)
            print(f"{name:22}{method:>11}{figure:10.4f}{cells}", flush=True)
    for what, of in (("mean", np.mean), ("largest", np.max)):
        cells = "".join(
            f"{of([row[count][0] for row in rows]):11.4f}{of([row[count][1] for row in rows]):9.4f}{'':9}"
            for count in SHARDS
        )
        print(f"{what:43}{cells}")


if __name__ == "__main__":
    main()
