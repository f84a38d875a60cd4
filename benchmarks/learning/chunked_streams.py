"""Streams in their own order: every row is predicted before it is learnt from.

Rows go to an estimator in chunks of ``ceil(n / 2500)``, one row for the small streams: ``predict``
on the chunk, then ``partial_fit`` on it. Within a chunk predictions come from the model as it was
before, so no row has a say in its own prediction, and chunks flatter nobody. ``progressive_loss_``
stands beside them as "row by row": the loss of ``predict`` where every call has one row. On a stream
that changes it is lower, since the model then knows the row before.
"""

import warnings

import numpy as np
from data_sets.folder import STREAMS, losses
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from learning.learners import clocked, has_river, has_vw, ours, river_stream, scores_of, sgd, vw_stream

CHUNKS = 2500


def progressive_scores(model, task, X, y):
    """Scores of all rows, each before the model learnt its chunk; the first knows nothing."""
    n, classes = X.shape[0], np.unique(y)
    first = {} if task == "regression" else {"classes": classes}
    step = -(-n // CHUNKS)
    scores = np.zeros(n) if task != "multi" else np.full((n, len(classes)), 1 / len(classes))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        if start:
            scores[rows] = scores_of(model, task, X[rows])
        model.partial_fit(X[rows], y[rows], **({} if start else first))
    return scores


class RunningScaler:
    """A model behind a ``StandardScaler`` that sees each chunk before the model does."""

    def __init__(self, model, X):
        self.model, self.scaler = model, StandardScaler(with_mean=not sparse.issparse(X))

    def partial_fit(self, X, y, **first):
        """Learn scale, then weights."""
        self.model.partial_fit(self.scaler.partial_fit(X).transform(X), y, **first)

    def __getattr__(self, name):
        return lambda X: getattr(self.model, name)(self.scaler.transform(X))


def _repeat_last(task, y):
    """Scores of "as the row before"; they are certain, so only their accuracy has a meaning."""
    before = np.concatenate([[0.0], y[:-1]])
    return np.eye(len(np.unique(y)))[before.astype(int)] if task == "multi" else before


def _running_constant(task, y):
    """Scores of the frequencies, or the mean, of the rows so far."""
    rounds = np.arange(len(y))
    if task == "regression":
        return np.concatenate([[0.0], np.cumsum(y)[:-1] / rounds[1:]])
    classes = np.unique(y)
    seen = np.cumsum(y[:, None] == classes, axis=0) - (y[:, None] == classes) + 0.5
    odds = seen / seen.sum(axis=1, keepdims=True)
    return np.log(odds[:, 1] / odds[:, 0]) if task == "binary" else odds


def figures(task, y, scores):
    """Loss and what users of the task look at."""
    scores = np.nan_to_num(scores, nan=0.0, posinf=1e150, neginf=-1e150)
    with np.errstate(over="ignore"):
        result = {"loss": float(np.mean(losses(task, y, scores)))}
    if task == "regression":
        return {**result, "mae": float(np.mean(np.abs(y - scores)))}
    labels = np.where(scores > 0, 1.0, -1.0) if task == "binary" else scores.argmax(axis=1)
    result["accuracy"] = float(np.mean(labels == y))
    if task == "binary":
        result["f1"] = float(f1_score(y, labels, pos_label=1.0))
    return result


def run_stream(name, X, y, peers):
    """One dict a learner."""
    task = STREAMS[name]
    mine = ours(task)
    works = {
        "adareg": lambda: progressive_scores(mine, task, X, y),
        "SGD, running scaler": lambda: progressive_scores(RunningScaler(sgd(task), X), task, X, y),
        "frequencies or mean so far": lambda: _running_constant(task, y),
        "the last label": lambda: _repeat_last(task, y),
    }
    if peers:
        works["SGD"] = lambda: progressive_scores(sgd(task), task, X, y)
    if peers and has_vw():
        works["Vowpal Wabbit"] = lambda: vw_stream(task, X, y)
    if peers and has_river():
        works["river"] = lambda: river_stream(task, X, y)
    for learner, work in works.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                scores, seconds, _ = clocked(work)
            except ValueError as refusal:
                yield {"data": name, "task": task, "learner": learner, "failed": str(refusal).split(";")[0]}
                continue
        row = {"data": name, "task": task, "learner": learner, "seconds": seconds, **figures(task, y, scores)}
        if learner == "the last label" and task != "regression":
            del row["loss"]
        if learner == "adareg":
            halves = 2.0 if task == "regression" else 1.0  # the loss is half the square
            row["progressive_loss"] = halves * float(np.mean(mine.progressive_loss_))
        yield row


def run_streams(folder, only, peers):
    """All streams of a folder, printed as they come."""
    names = [name for name in STREAMS if folder.has(name) and (not only or name in only)]
    if not names:
        return []
    columns = ("loss", "progressive_loss", "accuracy", "f1", "mae", "seconds")
    print("\nstreams in their own order, every row predicted before it is learnt from\n")
    print(
        f"{'data':22} {'learner':27}"
        + "".join(f"{name.replace('progressive_loss', 'row by row'):>11}" for name in columns)
    )
    rows = []
    for name in names:
        for row in run_stream(name, *folder.stream(name), peers):
            cells = "".join(f"{row[column]:11.4g}" if column in row else " " * 11 for column in columns)
            print(f"{name:22} {row['learner']:27}{row.get('failed', cells)}", flush=True)
            rows.append(row)
    return rows
