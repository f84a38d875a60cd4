"""``adareg predict``."""

import sys
from contextlib import nullcontext

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ..model._validation import shown
from ..persistence._output_files import STANDARD_OUTPUT, OutputFile, check_outputs
from ..streams import SvmlightStream, _tables
from ..streams._predictions import line_of, lines_of
from ..streams._streams import ReadAhead
from ._files import load, stream_of, text_columns


def run(given):
    """Predict files chunk by chunk, and measure the loss where targets are known."""
    model = load(given.model)
    stream = stream_of(given, text_columns(model))
    tables = not isinstance(stream, SvmlightStream)
    if tables != isinstance(model, Pipeline):
        raise ValueError(f"{given.model} was trained on another kind of file than {stream.name}.")
    last = model[-1] if tables else model
    if given.features is None and not tables:
        stream.n_features = last.n_features_in_
    if given.proba and not hasattr(last, "predict_proba"):
        raise ValueError(f"This model has no probabilities (loss={getattr(last, 'loss', None)!r}); leave --proba out.")
    check_outputs([("the predictions", given.output or STANDARD_OUTPUT)], [*stream.files, given.model])
    scores = Scores(last, given.target)
    output = OutputFile(given.output, encoding="utf-8") if given.output else nullcontext(sys.stdout)
    with output as file, ReadAhead(stream.chunks()) as chunks:
        print(line_of(_header(last, given.proba)), file=file)
        for chunk in chunks:
            X, y = chunk.X, chunk.y
            if tables:
                y = _targets(X, given.target, is_classifier(last), stream)
            X = model[:-1].transform(X) if tables else X
            file.write(lines_of(last.predict_proba(X) if given.proba else last.predict(X)))
            if y is not None and (tables or given.target is None):
                scores.add(X, y)
    scores.show()


def _header(model, proba):
    if proba:
        return [f"probability:{label}" for label in model.classes_.tolist()]
    several = 1 if is_classifier(model) or model.coef_.ndim == 1 else len(model.coef_)
    return ["prediction"] if several == 1 else [f"prediction:{number}" for number in range(several)]


def _targets(table, name, labels, stream):
    if name is None:
        return None
    if name not in _tables.column_names(table):
        present = ", ".join(map(repr, _tables.column_names(table)[:10]))
        raise ValueError(f"{stream.name} has no column {name!r}, which --target names; its columns are {present}.")
    return _tables.targets(table, name, labels)


class Scores:
    """Losses over the chunks, to the standard error."""

    def __init__(self, model, target):
        self.model, self.target, self.rows, self.totals = model, target, 0, {}
        self.strangers = 0  # rows with a label that the model does not know
        self.stranger = None  # such a label

    def add(self, X, y):
        """Take in a chunk."""
        self.rows += len(y)
        for name, value in self.losses(X, y).items():
            self.totals[name] = self.totals.get(name, 0.0) + float(np.sum(value))

    def losses(self, X, y):
        model = self.model
        if not is_classifier(model):
            error = model.predict(X) - y
            return {"mean squared error": error**2, "mean absolute error": np.abs(error)}
        found = {"error rate": model.predict(X) != y}
        places = {label: place for place, label in enumerate(model.classes_.tolist())}
        place = np.array([places.get(label, -1) for label in y.tolist()])
        known = np.flatnonzero(place >= 0)
        if len(known) < len(y):
            self.strangers += len(y) - len(known)
            self.stranger = y[place < 0].tolist()[0]
        if hasattr(model, "predict_log_proba"):
            found["log-loss"] = np.full(len(y), np.inf)
            found["log-loss"][known] = -model.predict_log_proba(X)[known, place[known]]
        return found

    def show(self):
        """Print the means."""
        if self.rows and self.strangers == self.rows:
            raise ValueError(
                f"{'The target' if self.target is None else repr(self.target)} has labels such as {self.stranger!r}, and the model "
                f"knows {shown(self.model.classes_[:10])}, so that there is no loss to measure; name the column that it learnt."
            )
        if self.strangers:
            print(f"{'unknown labels':20} {self.strangers:,} rows, such as {self.stranger!r}", file=sys.stderr)
        for name, total in self.totals.items():
            print(f"{name:20} {total / self.rows:.6g} ({self.rows:,} rows)", file=sys.stderr)
