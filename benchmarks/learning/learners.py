"""One pass of each learner: ours, SGD, and Vowpal Wabbit and river where they are installed."""

import inspect
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import SGDClassifier, SGDRegressor

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

SMALL_ENOUGH_FOR_FULL = 300

# Settings beside the defaults; a setting that "auto" would have chosen anyway is not run twice.
SETTINGS = {"diag": {"structure": "diag"}, "full": {"structure": "full", "potential": "ons"}}


@dataclass
class Outcome:
    """What one fit gave: test loss, wall and processor seconds, and what was chosen."""

    loss: float
    seconds: float
    cpu: float
    chosen: dict = field(default_factory=dict)


def build(cls, **params):
    """An estimator with those of ``params`` that its class knows."""
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in params.items() if name in known})


def ours(task, **params):
    """Our estimator for a task."""
    return build(AdaRegRegressor if task == "regression" else AdaRegClassifier, **params)


def sgd(task, **params):
    """The averaged SGD of scikit-learn for a task."""
    if task == "regression":
        return SGDRegressor(average=True, random_state=0, **params)
    return SGDClassifier(loss="log_loss", average=True, random_state=0, **params)


def scores_of(model, task, X):
    """Margins, probabilities or predictions, as ``losses`` wants them."""
    if task == "binary":
        return model.decision_function(X)
    return model.predict_proba(X) if task == "multi" else model.predict(X)


def clocked(work):
    """Result, wall seconds and processor seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def fit(make, split, repeats=3, patience=1.0):
    """Fit, and score on the test rows; the best time of ``repeats``, or of ``patience`` seconds.

    A fit that gives up (overflow) knows nothing: its loss is infinite.
    """
    best = [np.inf, np.inf]
    spent, done = 0.0, 0
    while done == 0 or (done < repeats and spent < patience):
        model = make()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                _, wall, cpu = clocked(lambda model=model: model.fit(split.X, split.y))
                loss = split.loss(scores_of(model, split.task, split.X_test))
        except ValueError as refusal:
            return Outcome(np.inf, np.nan, np.nan, {"failed": str(refusal).split(";")[0]})
        best = [min(best[0], wall), min(best[1], cpu)]
        spent += wall
        done += 1
    chosen = {name: getattr(model, f"{name}_", None) for name in ("potential", "structure", "eta", "n_iter")}
    return Outcome(loss, *best, {name: _plain(value) for name, value in chosen.items() if value is not None})


def own_pass(split, **params):
    """One pass of ours over raw rows in the order given."""
    return fit(lambda: ours(split.task, max_iter=1, shuffle=False, **params), split)


def sgd_pass(split):
    """One pass of SGD, shuffled as is its habit."""
    return fit(lambda: sgd(split.task, max_iter=1, tol=None), split)


def sgd_fit(split):
    """SGD's default fit, to its own convergence."""
    return fit(lambda: sgd(split.task), split)


def _plain(value):
    return value if isinstance(value, str | int) else float(np.mean(value)) if np.isscalar(value) else str(value)


# ---- Vowpal Wabbit ------------------------------------------------------------


def has_vw():
    """Whether Vowpal Wabbit is installed."""
    try:
        import vowpalwabbit  # noqa: F401
    except ImportError:
        return False
    return True


def _write_vw(path, task, X, y):
    """Rows in Vowpal Wabbit's text format; its classes count from 1."""
    X = sparse.csr_matrix(X)
    names, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    labels = [repr(label) for label in y.tolist()] if task == "regression" else [int(v) for v in y + (task == "multi")]
    with open(path, "w") as file:
        for i, label in enumerate(labels):
            row = range(ends[i], ends[i + 1])
            file.write(f"{label} | {' '.join(f'{names[k]}:{values[k]:.9g}' for k in row)}\n")


def _vw_arguments(task, classes):
    if task == "regression":
        return ""
    return "--loss_function logistic" + (f" --oaa {classes}" if task == "multi" else "")


def _read_vw(path, task):
    lines = path.read_text().split("\n")[:-1]
    if task != "multi":
        return np.array([float(line.split()[0]) for line in lines])
    margins = np.array([[float(part.split(":")[1]) for part in line.split() if ":" in part] for line in lines])
    odds = expit(margins)
    return odds / odds.sum(axis=1, keepdims=True)


def vw_pass(split):
    """One pass of Vowpal Wabbit's defaults over raw rows; its time includes reading text."""
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        train, test, model, out = (Path(folder) / name for name in ("train", "test", "model", "out"))
        _write_vw(train, split.task, split.X, split.y)
        _write_vw(test, split.task, split.X_test, split.y_test)
        arguments = _vw_arguments(split.task, len(np.unique(split.y)))
        _, wall, cpu = clocked(lambda: Workspace(f"--quiet -d {train} -f {model} {arguments}").finish())
        Workspace(f"--quiet -t -i {model} -d {test} -r {out}").finish()
        return Outcome(split.loss(_read_vw(out, split.task)), wall, cpu)


def vw_stream(task, X, y):
    """Scores that Vowpal Wabbit gave to each row before it learnt from it."""
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        train, out = Path(folder) / "train", Path(folder) / "out"
        _write_vw(train, task, X, y)
        Workspace(f"--quiet -d {train} -r {out} {_vw_arguments(task, len(np.unique(y)))}").finish()
        return _read_vw(out, task)


# ---- river --------------------------------------------------------------------


def has_river():
    """Whether river is installed."""
    try:
        import river  # noqa: F401
    except ImportError:
        return False
    return True


def river_model(task, zeros=True):
    """A scaler and a linear model as river's documentation builds them.

    A standard scaler needs the zeros of a row; without them the scale is the largest value so far.
    """
    from river import linear_model, optim, preprocessing

    scaler = preprocessing.StandardScaler() if zeros else preprocessing.MaxAbsScaler()
    if task == "regression":
        return scaler | linear_model.LinearRegression(intercept_lr=0.1)
    model = linear_model.LogisticRegression if task == "binary" else linear_model.SoftmaxRegression
    return scaler | model(optimizer=optim.AdaGrad())


def keeps_zeros(X):
    """Rows that are mostly zeros go to river without them, or it would take hours."""
    return X.shape[1] <= SMALL_ENOUGH_FOR_FULL and sparse.csr_matrix(X).nnz > 0.1 * X.shape[0] * X.shape[1]


def river_rows(X, zeros):
    """Rows as dicts."""
    rows = sparse.csr_matrix(X)
    everything = dict.fromkeys(range(X.shape[1]), 0.0) if zeros else {}
    for start, end in pairwise(rows.indptr):
        present = zip(rows.indices[start:end].tolist(), rows.data[start:end].tolist(), strict=True)
        yield {**everything, **dict(present)}


def river_score(model, task, row, classes):
    if task == "regression":
        return model.predict_one(row)
    odds = model.predict_proba_one(row)
    if task == "binary":
        positive = np.clip(odds.get(True, 0.5), 1e-15, 1 - 1e-15)
        return np.log(positive / (1 - positive))
    return [odds.get(label, 0.0 if odds else 1 / classes) for label in range(classes)]


def river_labels(task, y):
    return y.tolist() if task == "regression" else (y > 0).tolist() if task == "binary" else y.astype(int).tolist()


def river_pass(split):
    """One pass of river, row by row; the time of the dicts is not counted."""
    zeros = keeps_zeros(split.X)
    model, classes = river_model(split.task, zeros), len(np.unique(split.y))
    wall = cpu = 0.0
    for row, label in zip(river_rows(split.X, zeros), river_labels(split.task, split.y), strict=True):
        _, wall_of_row, cpu_of_row = clocked(lambda row=row, label=label: model.learn_one(row, label))
        wall, cpu = wall + wall_of_row, cpu + cpu_of_row
    rows = river_rows(split.X_test, zeros)
    scores = np.array([river_score(model, split.task, row, classes) for row in rows])
    return Outcome(split.loss(scores), wall, cpu)


def river_stream(task, X, y):
    """Scores that river gave to each row before it learnt from it."""
    zeros = keeps_zeros(X)
    model, classes, scores = river_model(task, zeros), len(np.unique(y)), []
    for row, label in zip(river_rows(X, zeros), river_labels(task, y), strict=True):
        scores.append(river_score(model, task, row, classes))
        model.learn_one(row, label)
    return np.array(scores)
