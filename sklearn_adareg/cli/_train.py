"""``adareg train``, and the table of losses that it prints, as Vowpal Wabbit prints it: a line whenever the rows have doubled."""

import os
from itertools import islice

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators._classifier import AdaRegClassifier
from ..estimators._regressor import AdaRegRegressor
from ..model import _registry
from ..persistence._model_files import check_name, save_model
from ..persistence._output_files import check_outputs
from ..streams import SvmlightStream, TableEncoder, _tables, fit_stream
from ..streams._fit import MAX_WEIGHTS
from ..streams._progress import duration
from ._files import load, stream_of, text_columns
from ._info import columns


def run(given):
    """Learn from files, print the losses, save the model."""
    check_name(given.model)
    if given.start:
        model = load(given.start)
        _check_start(given, model)
        stream = stream_of(given, text_columns(model))
    else:
        stream = stream_of(given, [*(given.categorical or ()), *(given.drop or ())])
    outputs = [("the model", given.model), ("the checkpoint", given.checkpoint), ("the predictions", given.predictions)]
    check_outputs(outputs, [*stream.files, *([given.start] if given.start else [])])
    tables = not isinstance(stream, SvmlightStream)
    if tables and given.target is None:
        raise ValueError(f"--target is missing; name the column of {stream.name} to predict.")
    if not tables and (given.target or given.weight):
        raise ValueError(
            f"--target and --weight name columns, and {stream.name} has none, since svmlight files begin each line with "
            "the target; leave them out."
        )
    table = None if given.quiet else LossTable()
    if not given.start:
        model = _new_model(given, stream, tables, table)
    elif isinstance(model, Pipeline) != tables:
        raise ValueError(f"{given.start} was trained on another kind of file than {stream.name}.")
    if table is not None:
        table.head(model, stream.name)
    asked = {name: getattr(given, name) for name in ("target", "checkpoint", "every", "predictions")}
    limit = given.max_weights or MAX_WEIGHTS
    how = {"classes": _classes(given.classes), "sample_weight": given.weight, "max_weights": limit}
    fit_stream(model, stream, progress=table or False, **asked, **how)
    save_model(model, given.model)
    if table is not None:
        table.end()
        if tables:
            print("\n".join(columns(model[0])))
        print(f"model           {given.model} ({os.path.getsize(given.model):,} bytes)")


def _classes(names):
    """Labels from the command line: whole numbers if all look like that."""
    if names is None:
        return None
    try:
        return np.array([int(name) for name in names])
    except ValueError:
        return np.array(names)


def _new_model(given, stream, tables, table):
    task, why = _task(given, stream, tables)
    if table is not None:
        print(f"task            {task} ({why})")
    estimator = AdaRegClassifier if task == "classification" else AdaRegRegressor
    settings = _settings(given)
    known = estimator().get_params()
    for name in settings:
        if name not in known:
            raise ValueError(f"{estimator.__name__} has no parameter {name!r}; it has {', '.join(sorted(known))}.")
    last = estimator(**settings)
    if not tables:
        return last
    facts = {"n_hashed": 2 ** (given.bits or 18), "missing": given.missing or "error"}
    encoder = TableEncoder(categorical=given.categorical, drop=given.drop, **facts)
    return Pipeline([("columns", encoder), ("model", last)])


def _settings(given):
    """Parameters of the estimator on the command line."""
    named = {name: getattr(given, name) for name in ("loss", "structure", "potential")}
    return dict(given.set) | {name: value for name, value in named.items() if value is not None}


def _check_start(given, model):
    """Refuse options that a model to go on from would ignore."""
    steps = model if isinstance(model, Pipeline) else [model]
    has = {name: value for step in steps for name, value in step.get_params().items()}
    asked = _settings(given) | {
        "categorical": given.categorical,
        "drop": given.drop,
        "missing": given.missing,
        "n_hashed": None if given.bits is None else 2**given.bits,
    }
    for name, value in asked.items():
        if value is not None and value != has.get(name):
            raise ValueError(
                f"{given.start} was trained with {name}={has.get(name)!r}, and a model that goes on keeps its parameters; leave the "
                "option out, or train without --start."
            )


def _task(given, stream, tables):
    """Classification or regression, and why."""
    if given.task != "auto":
        return given.task, "as asked"
    if given.loss in _registry.CLASSIFICATION_LOSSES:
        return "classification", f"by the loss {given.loss}"
    if given.loss in _registry.REGRESSION_LOSSES:
        return "regression", f"by the loss {given.loss}"
    if given.classes is not None:
        return "classification", "by --classes"
    columns = [given.target] if tables else None
    for chunk in islice(stream.chunks(columns=columns), 1):
        if not tables:
            values = np.unique(chunk.y)
        else:
            if _tables.kind(chunk.X, given.target) != "number":
                return "classification", "the target is text"  # or refused with the first rows
            values = np.unique(_tables.numbers(chunk.X, given.target))
        if len(values) <= 2:
            return "classification", "the target has at most two values in the first rows"
        return "regression", "the target is a number; --task classification for labels"
    raise ValueError(f"{stream.name} has no rows; there is nothing to learn from.")


class LossTable:
    """Called with the progress of ``fit_stream``; prints what the model's progressive curve has gained."""

    def __init__(self):
        self.printed = None
        self.rate = ""
        self.last = (0.0, 0.0)  # rows and total loss at the last line

    def head(self, model, source):
        """Print what is learnt, and the names of the columns."""
        self.model = model
        print(f"{type(_learner(model)).__name__}, learning from {source}")
        print(f"\n{'average':>10} {'since':>10} {'rows':>12} {'rows/s':>10} {'left':>9}")
        print(f"{'loss':>10} {'last':>10} {'':>12} {'':>10} {'':>9}")

    def __call__(self, progress):
        self.progress = progress
        curve = _learner(self.model).progressive_curve_
        rows, losses = curve["rows"].tolist(), curve["mean_loss"].tolist()
        if self.printed is None:  # not what an earlier run printed
            self.printed = progress.rows - round(progress.rows_per_second * progress.seconds)
        due = [
            (count, loss)
            for count, loss in zip(rows, losses, strict=True)
            if count > self.printed and (count & (count - 1) == 0 or (progress.finished and count == rows[-1]))
        ]
        for count, loss in due:
            self.line(count, loss, progress if count == due[-1][0] else None)
            self.printed = count

    def line(self, count, loss, progress):
        """Print one line; speed and time left are those of now."""
        rows, total = self.last
        since = (loss * count - total) / (count - rows)
        self.last = (count, loss * count)
        speed = left = ""
        if progress is not None:
            speed = f"{progress.rows_per_second:,.0f}"
            if progress.seconds_left is not None and not progress.finished:
                left = duration(progress.seconds_left)
        print(f"{_narrow(loss)} {_narrow(since)} {count:12,d} {speed:>10} {left:>9}", flush=True)

    def end(self):
        """Print the summary."""
        model, progress = _learner(self.model), getattr(self, "progress", None)
        print(f"\nrows            {model.t_:,}")
        print(f"average loss    {model.progressive_loss_:.6f}")
        curve = model.progressive_curve_
        if "error_rate" in curve:
            print(f"error rate      {curve['error_rate'][-1]:.6f}")
        print(f"features        {model.n_features_in_:,}")
        print(f"method          {model.method_}: {model.potential_}, {model.structure_}")
        if progress is not None:
            print(f"time            {duration(progress.seconds)}, {progress.rows_per_second:,.0f} rows per second")


def _learner(model):
    """The last step of a pipeline, which is another one once a checkpoint has been resumed."""
    return model[-1] if isinstance(model, Pipeline) else model


def _narrow(loss):
    """Six decimals, or six digits where those would not fit in the column."""
    return f"{loss:10.6f}" if abs(loss) < 1000.0 else f"{loss:10.6g}"
