"""Streams, one row a call: each row is predicted, then learnt from; ours beside river and Vowpal Wabbit.

    python benchmarks/streams.py DATA_DIR                      # the time series of the folder and made-up drifts: half an hour
    python benchmarks/streams.py --rows 2000                   # made-up drifts alone, 2,000 rows each
    python benchmarks/streams.py DATA_DIR --only elec2 SEA     # streams whose name begins with one of these

Estimators have their default parameters and get raw rows. river's linear models stand behind its StandardScaler (behind its
MaxAbsScaler, which keeps zeros, where rows are sparse), with the optimisers SGD(.1) and AdaGrad(.1), and as a bag of ten that
ADWIN renews. *loss* is the mean log-loss or squared error, *hits* the accuracy, or the mean absolute error; *µs* is processor time
per row. The last line of a stream says how far ours is from the best of the others.
"""

import argparse
import warnings

import numpy as np
from data_sets.folder import STREAMS, Folder, add_folder_arguments
from data_sets.made_streams import MADE, NEED_RIVER, ROWS
from learning.chunked_streams import figures
from learning.learners import (
    clocked,
    has_river,
    has_vw,
    keeps_zeros,
    ours,
    river_labels,
    river_rows,
    river_score,
    scores_of,
    vw_stream,
)
from reporting.records import environment, save
from threadpoolctl import threadpool_limits

MOST_ROWS = {"nycflights13_delay15": 20_000}
ASKED = {  # mean losses
    "elec2": 0.25,
    "weather_noaa": 0.43,
    "nycflights13_delay15": 0.437,
    "river_phishing": 0.262,
    "river_image_segments": 0.31,
}
CLOSE = 1.01  # a loss up to this factor of the best is as good


def adareg(task, X, y):
    """Scores of all rows by ``predict`` (probabilities for several classes) and ``partial_fit``, row by row."""
    model, classes = ours(task), np.unique(y)
    given = {} if task == "regression" else {"classes": classes}
    first = 0.0 if task != "multi" else np.full(len(classes), 1 / len(classes))
    scores = [first]
    for i in range(X.shape[0]):
        row = X[i : i + 1]
        if i:
            scores.append(scores_of(model, task, row)[0])
        model.partial_fit(row, y[i : i + 1], **given)
    return np.array(scores)


def river_models(task, zeros):
    """Makers of river's models, by name."""
    from river import ensemble, linear_model, optim, preprocessing

    def scaled(model):
        return (preprocessing.StandardScaler() if zeros else preprocessing.MaxAbsScaler()) | model

    if task == "regression":
        return {
            "river Bayes(.9)": lambda: scaled(linear_model.BayesianLinearRegression(smoothing=0.9)),
            "river SGD(.1)": lambda: scaled(linear_model.LinearRegression(optim.SGD(0.1))),
            "river AdaGrad(.1)": lambda: scaled(linear_model.LinearRegression(optim.AdaGrad(0.1))),
        }
    linear = linear_model.LogisticRegression if task == "binary" else linear_model.SoftmaxRegression
    return {
        "river SGD(.1)": lambda: scaled(linear(optim.SGD(0.1))),
        "river AdaGrad(.1)": lambda: scaled(linear(optim.AdaGrad(0.1))),
        "river ADWIN bag": lambda: ensemble.ADWINBaggingClassifier(scaled(linear(optim.SGD(0.1))), n_models=10, seed=1),
    }


def river(make, task, X, y):
    """Scores that one of river's models gave to each row before it learnt from it."""
    model, classes, scores = make(), len(np.unique(y)), []
    for row, label in zip(river_rows(X, keeps_zeros(X)), river_labels(task, y), strict=True):
        scores.append(river_score(model, task, row, classes))
        model.learn_one(row, label)
    return np.array(scores)


def learners(task, X):
    """Functions from (task, X, y) to scores, by name."""
    every = {"adareg": adareg}
    if has_river():
        for name, make in river_models(task, keeps_zeros(X)).items():
            every[name] = lambda task, X, y, make=make: river(make, task, X, y)
    if has_vw():
        every["Vowpal Wabbit"] = vw_stream
    return every


def last_label(task, y):
    """How often, or how far, "as the row before" is right."""
    same = np.abs(y[1:] - y[:-1])
    return float(np.mean(same)) if task == "regression" else float(np.mean(same == 0))


def run(name, task, X, y):
    """One dict a learner, printed as it comes; the last is the summary."""
    best, mine = np.inf, None
    for learner, work in learners(task, X).items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                scores, _, seconds = clocked(lambda work=work: work(task, X, y))
            except (ArithmeticError, np.linalg.LinAlgError) as failure:
                print(f"{name:22} {learner:18} failed: {failure}")
                yield {"stream": name, "learner": learner, "failed": str(failure)}
                continue
        found = figures(task, y, scores)
        hits = found.get("accuracy", found.get("mae"))
        row = {"stream": name, "learner": learner, "loss": found["loss"], "hits": hits}
        row["microseconds"] = 1e6 * seconds / len(y)
        print(f"{name:22} {learner:18}{row['loss']:11.4g}{hits:9.4g}{row['microseconds']:10.1f}")
        if learner == "adareg":
            mine = row["loss"]
        else:
            best = min(best, row["loss"])
        yield row
    hits = last_label(task, y)
    asked = f", asked {ASKED[name]:g}" if name in ASKED and len(y) >= 1000 else ""
    verdict = "" if best == np.inf else f"ours / best peer {mine / best:.3f}"
    print(f"{name:22} {'the last label':18}{'':11}{hits:9.4g}{'':10}  {verdict}{asked}", flush=True)
    yield {"stream": name, "learner": "the last label", "hits": hits, "ratio": mine / best}


def sources(folder, rows, seed):
    """Names, tasks and functions that give rows and targets: those of the folder, then the made-up ones."""
    if folder is not None:
        for name, task in STREAMS.items():
            if folder.has(name):
                yield (name, task, lambda name=name: cut(*folder.stream(name), MOST_ROWS.get(name), rows))
    for name, (task, make) in MADE.items():
        if has_river() or name not in NEED_RIVER:
            yield name, task, lambda make=make: make(rows or ROWS, seed)


def cut(X, y, *limits):
    """The first rows."""
    most = min([len(y), *(limit for limit in limits if limit)])
    return X[:most], y[:most]


def main():
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser, nargs="?")
    parser.add_argument("--rows", type=int, help="at most so many rows of each stream")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up streams")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="streams that begin with these")
    parser.add_argument("--json", metavar="FILE", help="save everything measured")
    args = parser.parse_args()
    folder = Folder(args.folder, args.cache) if args.folder else None
    print(f"{'stream':22} {'learner':18}{'loss':>11}{'hits':>9}{'µs':>10}")
    found, worse = [], []
    with threadpool_limits(limits=1):
        for name, task, get in sources(folder, args.rows, args.seed):
            if args.only and not name.startswith(tuple(args.only)):
                continue
            found += run(name, task, *get())
            if found[-1]["ratio"] > CLOSE:
                worse.append(name)
    print(f"\nworse than the best peer by more than 1 %: {', '.join(worse) or 'none'}")
    if args.json:
        save({"environment": environment(), "streams": found}, args.json)


if __name__ == "__main__":
    main()
