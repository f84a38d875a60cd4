"""How near one pass over all rows is a model merged from shards?

``python benchmarks/merging.py DATA_DIR`` cuts the training rows of each set into 4 and 16 shards, one after the other, merges their
models, and prints how much the share of the test loss (0 the tuned batch model, 1 a constant) exceeds that of one pass: without
another round, and with one more round in which every shard is learnt once more from the merged model. It also prints by how much the
order of the models changes predictions.

``python benchmarks/merging.py --generated`` needs no data: 28,000 rows of 20 features with units and offsets, at random and sorted by
a feature, as 4, 16, 64 and 320 shards, and weak signals, which no shard could see; the share is that of the excess over the truth.
"""

import argparse
from copy import deepcopy

import numpy as np
from data_sets.folder import TASKS, Folder, add_folder_arguments, reference
from learning.learners import ours, scores_of
from scipy.special import expit
from threadpoolctl import threadpool_limits

from sklearn_adareg import AdaRegClassifier, merge

SHARDS = (4, 16)
MADE_UP = {  # rows, features, size of the weights, rows sorted by a feature, shards
    "20 features": (28000, 20, 1.5, False, (4, 16, 64, 320)),
    "sorted by a feature": (28000, 20, 1.5, True, (4, 16, 64, 320)),
    "weak, 50 features": (70400, 50, 0.15, False, (4, 16, 64)),
}


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


def generated(n, d, size, by_feature, seed=1):
    """Rows of two classes, and the function that gives the share of a model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 4000, d)) * 10.0 ** rng.uniform(-2, 2, d)
    X += rng.uniform(-30, 30, d)
    w = size * rng.standard_normal(d) / np.sqrt(d) / X.std(axis=0)
    p = expit((X - X.mean(axis=0)) @ w - 1.0)
    y = (rng.random(len(p)) < p).astype(int)
    T, p, X, y = X[n:], p[n:], X[:n], y[:n]

    def risk(scores):
        return np.mean(np.logaddexp(0, scores) - p * scores)

    lowest = risk(np.log(p / (1 - p)))
    highest = risk(np.full(len(p), np.log(p.mean() / (1 - p.mean()))))
    order = np.argsort(X[:, 0]) if by_feature else np.arange(n)
    share = lambda model: (risk(model.decision_function(T)) - lowest) / (highest - lowest)  # noqa: E731
    return X[order], y[order], share


def print_generated():
    """Shares of one pass and of merged models, on made-up rows."""
    print(f"{'rows':22}{'one pass':>10}{'shards':>10}{'a shard':>10}{'merged':>10}{'in pairs':>10}")
    for name, (n, d, size, by_feature, counts) in MADE_UP.items():
        X, y, share = generated(n, d, size, by_feature)
        single = share(AdaRegClassifier().partial_fit(X, y, classes=[0, 1]))
        for count in counts:
            models = [
                AdaRegClassifier().partial_fit(X[rows], y[rows], classes=[0, 1])
                for rows in np.array_split(np.arange(n), count)
            ]
            alone, merged = np.mean([share(model) for model in models]), share(merge(models))
            while len(models) > 1:
                models = [merge(models[k : k + 2]) for k in range(0, len(models), 2)]
            figures = f"{alone:10.4f}{merged:10.4f}{share(models[0]):10.4f}"
            print(f"{name:22}{single:10.4f}{count:10d}{figures}", flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser, nargs="?")
    parser.add_argument("--generated", action="store_true", help="made-up rows, without data")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these sets")
    args = parser.parse_args()
    if args.generated:
        with threadpool_limits(1):
            print_generated()
        return
    if args.folder is None:
        parser.error("give a folder of data, or --generated")
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
