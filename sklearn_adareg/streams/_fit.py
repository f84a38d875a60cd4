"""fit_stream: one pass over a source that need not fit in memory; how a model takes a chunk, and streams from what they are of."""

import inspect
from contextlib import closing, contextmanager, nullcontext
from numbers import Integral
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..model import _interrupts
from ..model._validation import shown
from ..persistence._output_files import check_outputs
from . import _checkpoint, _tables
from ._csv import CSVStream
from ._encoder import TableEncoder
from ._parquet import ParquetStream
from ._predictions import PredictionFile
from ._progress import Line, Meter
from ._streams import ChunkStream, FileStream, ReadAhead, Stream, check_count, list_files, suffix
from ._text import SvmlightStream

FILES = (ParquetStream, CSVStream, SvmlightStream)
MAX_WEIGHTS = 2**27
KEPT = ("numbers_only", "classes", "rows", "end", "done")  # of a run, in its checkpoint


def fit_stream(
    model,
    source,
    *,
    target=None,
    classes=None,
    progress=True,
    checkpoint=None,
    every=100_000,
    sample_weight=None,
    predictions=None,
    max_weights=MAX_WEIGHTS,
):
    """Learn from a stream in one pass, chunk by chunk; files are read ahead in a thread.

    Memory holds a few chunks, whatever the source. The model equals that of ``partial_fit`` on the same rows in the same order.
    Chunks of your own are asked for one at a time, when the one before has been learnt from. Ctrl-C is answered while a source
    makes them wait, and the model has then learnt from all that the source has given.

    Parameters
    ----------
    model : estimator
        With ``partial_fit``; or a Pipeline that ends in one. Transformers with ``partial_fit`` (StandardScaler,
        IncrementalPCA, :class:`TableEncoder`, …) learn along: from the features of a chunk, before they transform it. Others have to
        be fitted beforehand or need no fit. A model that has learnt before goes on.
    source : path, Stream, iterable or callable
        As for :func:`open_stream`: Parquet, CSV or svmlight files, or (X, y) pairs or dataframes.
    target : str or list of str, default=None
        The column, or columns, to predict; for tables. All other columns are features. Without a :class:`TableEncoder` they have
        to be numbers.
    classes : array-like, default=None
        All labels, for a classifier. Without them, the targets of the source are read once before, to find them.
    progress : bool or callable, default=True
        Whether to print rows per second, mean progressive loss and time left to the standard error; or a function that is called
        after each chunk, and at the end, with an object that has the attributes ``rows``, ``loss``, ``seconds``,
        ``rows_per_second``, ``done`` (the share of the source), ``seconds_left`` and ``finished``.
    checkpoint : path, default=None
        A file for checkpoints. If it is there, learning goes on from it: the model, whenever and however often the process was
        killed, ends as it would have without, to the bit on the same machine. The source must be the same, and not an iterator.
        It is a pickle: use only your own.
    every : int, default=100_000
        Rows between two checkpoints, which are written at the ends of chunks; one more at the end of the stream.
    sample_weight : str, default=None
        The column with the weights of rows; for tables.
    predictions : path, default=None
        A CSV file that receives for each row its target and what the model predicted before it learnt from it (probabilities
        where there are some). An estimator without ``partial_fit_predict`` predicts a chunk before it learns from it, and nothing
        before its first chunk.
    max_weights : int or None, default=2**27
        A model that would begin with more weights than this, columns times labels or targets, is refused, before it fills the memory:
        a weight takes up to 60 bytes. None: no limit.

    Returns
    -------
    model : estimator
        The model, fitted.

    See Also
    --------
    TableEncoder : Categories and missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_adareg import AdaRegRegressor
    >>> from sklearn_adareg.streams import fit_stream
    >>> def chunks():
    ...     for seed in range(5):
    ...         X = np.random.default_rng(seed).normal(size=(1000, 3))
    ...         yield X, X @ [1.0, 2.0, 3.0]
    >>> model = fit_stream(AdaRegRegressor(), chunks, progress=False)
    >>> model.t_, model.coef_.round(2)
    (5000, array([1., 2., 3.]))
    """
    if not (isinstance(every, Integral) and every >= 1):
        raise ValueError(f"every={every!r} is the number of rows between checkpoints; pass an integer ≥ 1.")
    check_count("max_weights", max_weights, optional=True)
    stream = open_stream(source)
    learner = Learner(model, max_weights)
    if checkpoint is not None and not stream.restartable:
        raise ValueError(
            "A checkpoint cannot be resumed with an iterator, which gives its chunks once; pass a list of chunks, a function that "
            "returns an iterator, or a file."
        )
    check_outputs(
        [("the checkpoint", checkpoint), ("the predictions", predictions)],
        stream.files if isinstance(stream, FileStream) else (),
    )
    if predictions is not None:
        predictions = PredictionFile(predictions, resumable=checkpoint is not None)
    run = _Run(model, learner, stream, target, sample_weight, classes, predictions)
    saved = None if checkpoint is None else _checkpoint.read(checkpoint)
    if saved is not None:
        run.resume(saved, checkpoint)
        learner = run.learner
        if saved["finished"]:
            if predictions is not None:
                predictions.finish()
            return model
    run.find_classes()
    report = progress if callable(progress) else Line() if progress else None
    meter = Meter(report, learner, run.rows, run.done)
    due = run.rows + every
    reading = ReadAhead if stream._reads_ahead else closing
    with predictions or nullcontext(), reading(run.prepared()) as chunks:
        for chunk, count in chunks:
            _interrupts.check()
            run.learn(chunk, count)
            meter.add(count, chunk.done)
            if checkpoint is not None and run.rows >= due:
                run.save(checkpoint, finished=False)
                due = run.rows + every
        if run.rows == 0:
            raise NoRows(f"{stream.name} has no rows; there is nothing to learn from.")
        if checkpoint is not None:
            run.save(checkpoint, finished=True)
    meter.finish()
    return model


class NoRows(ValueError):
    """A source is empty."""


def labels_of(model, source, target=None):
    """The labels of a source, sorted; None for a regressor."""
    run = _Run(model, Learner(model), open_stream(source), target, None, None, None)
    run.find_classes()
    return run.classes


class _Run:
    """One call of fit_stream: what is known, and where it stands."""

    def __init__(self, model, learner, stream, target, weight, classes, predictions):
        self.model, self.learner, self.stream = model, learner, stream
        self.target = [target] if isinstance(target, str) else target
        self.several = self.target is not None and not isinstance(target, str)
        self.weight, self.classes = weight, classes
        self.rows, self.end, self.done = 0, None, None
        self.encoder = learner.encoder
        self.numbers_only = None  # the encoder of a model that has none of its own
        self.predictions = predictions

    # ---- reading, for files in a thread of its own ----------------------------------------------------------------

    def prepared(self):
        """The chunks from here on, with targets split off and tables encoded, and the number of rows in each."""
        rows = self.rows
        for chunk in self.stream.chunks(self.end):
            count = _tables.rows_in(chunk.X)
            with self.located(rows, count):
                X, y, weight = self.split(chunk, rows)
            yield chunk._replace(X=X, y=y, weight=weight), count
            rows += count

    def split(self, chunk, first):
        """Features, targets and weights of a chunk."""
        X, y, weight = chunk.X, chunk.y, chunk.weight
        if y is None:
            X = _tables.as_table(X)
            self.check_columns(_tables.column_names(X), self.weight)
            y = self.targets(X, first)
            if self.weight is not None:
                weight = _tables.numbers(X, self.weight)
            X = _tables.without(X, [*self.target, *([self.weight] if self.weight else [])])
        elif self.learner.labels:
            y = self.numbered(y)
        if _tables.is_table(X):
            X = self.encode(X)
        return X, y, weight

    def numbered(self, y):
        """Labels of a file of numbers; those of a user's chunks as they are."""
        return _tables.number_labels(y, "The target") if isinstance(self.stream, FileStream) else y

    def targets(self, table, first):
        try:
            columns = [_tables.targets(table, name, self.learner.labels) for name in self.target]
        except _tables.MissingTarget as gap:
            raise ValueError(
                f"Row {first + gap.row} of {self.stream.name} has no target ({gap.name!r} is missing); remove the rows without one."
            ) from None
        return np.column_stack(columns) if self.several else columns[0]

    def check_columns(self, names, weight=None):
        present = f"{_tables.listed(names)}."
        if self.target is None:
            raise ValueError(
                f"target is None, and the rows of {self.stream.name} are tables; name the column to predict, one of {present}"
            )
        for given, wanted in (("target", self.target), ("sample_weight", [weight])):
            for name in wanted:
                if name is not None and name not in names:
                    raise ValueError(
                        f"{given} names the column {name!r}, and {self.stream.name} has none of that name; its columns are {present}"
                    )

    def encode(self, table):
        """Rows from a table: by the model's own encoder, by the transformers of a Pipeline, or numbers as they are."""
        if self.encoder is not None:
            return self.encoder._partial_fit_transform(table)
        if self.learner.takes_frames and not isinstance(self.stream, FileStream):
            return table
        if self.numbers_only is None:
            self.numbers_only = TableEncoder().fit(table)
        if self.numbers_only.hashed_:
            raise ValueError(
                f"The column {self.numbers_only.hashed_[0]!r} holds text, and {type(self.learner.final).__name__} takes numbers; put "
                "a TableEncoder in front: make_pipeline(TableEncoder(), model)."
            )
        return self.numbers_only.transform(table)

    @contextmanager
    def located(self, first, count):
        """Adds to an error in which rows it arose."""
        try:
            yield
        except Exception as error:
            error.add_note(f"In rows {first} to {first + count - 1} of {self.stream.name}.")
            raise

    # ---- learning -------------------------------------------------------------------------------------------------

    def find_classes(self):
        """All labels: those given, or those of the source."""
        if not self.learner.labels or self.classes is not None:
            return
        if getattr(self.learner.final, "classes_", None) is not None:
            return
        if not self.stream.restartable:
            raise ValueError(
                "classes is None, and an iterator can be read once only, so that its labels cannot be found first; pass all labels "
                "as classes=[…]."
            )
        found, rows = None, 0
        for chunk in self.stream.chunks(columns=self.target):
            _interrupts.check()
            if chunk.y is None:
                table = _tables.as_table(chunk.X)
                self.check_columns(_tables.column_names(table))  # that of the weights was not read
                y = self.targets(table, rows)
            else:
                y = np.asarray(self.numbered(chunk.y))
            found = np.unique(y if found is None else np.concatenate([found, np.unique(y)]))
            rows += len(y)
        self.classes = found

    def learn(self, chunk, count):
        """Learn from one chunk, and write its predictions if asked to."""
        with self.located(self.rows, count):
            asked = self.predictions is not None
            before = self.learner.learn(chunk.X, chunk.y, chunk.weight, self.classes, predict=asked)
            if asked:
                self.write(before, chunk.y)
        self.rows, self.end, self.done = self.rows + count, chunk.end, chunk.done

    def write(self, before, y):
        names = self.learner.columns()
        if before.shape[1] != len(names):
            names = [f"prediction:{number}" for number in range(before.shape[1])]
        several = 1 if np.ndim(y) == 1 else np.shape(y)[1]
        targets = ["target"] if several == 1 else [f"target:{number}" for number in range(several)]
        self.predictions.write(y, before, targets, names)

    # ---- checkpoints ----------------------------------------------------------------------------------------------

    def save(self, path, finished):
        """Write a checkpoint."""
        with nullcontext() if self.predictions is None else self.predictions.named():
            _checkpoint.write(path, self.content(finished))

    def content(self, finished):
        """What a checkpoint holds."""
        return {
            "model": self.model,
            **{name: getattr(self, name) for name in KEPT},
            "finished": finished,
            "predictions": None if self.predictions is None else self.predictions.state(),
            "found": self.stream._findings(),
            "belongs_to": self.belonging(),
        }

    def belonging(self):
        """What has to be the same when a checkpoint is resumed."""
        return {
            "the source": self.stream._fingerprint(),
            "target": self.target,
            "sample_weight": self.weight,
            "predictions": self.predictions is not None,
            **{f"the parameter {name}": value for name, value in _checkpoint.parameters(self.model).items()},
        }

    def resume(self, saved, path):
        """Take over what a checkpoint holds."""
        differs = _checkpoint.difference(self.belonging(), saved["belongs_to"])
        if differs is not None:
            what, now, before = differs
            detail = "" if what == "the source" else f" ({shown(before)} before, {shown(now)} now)"
            raise ValueError(
                f"The checkpoint {path} belongs to another run: {what} differs{detail}; use what it was begun with, name another "
                "checkpoint, or remove it to start anew."
            )
        self.model.__setstate__(saved["model"].__getstate__())
        self.learner = Learner(self.model, self.learner.max_weights)
        self.encoder = self.learner.encoder
        vars(self).update((name, saved[name]) for name in KEPT)
        if self.predictions is not None:
            self.predictions.resume(*saved["predictions"])
        self.stream._recall(saved["found"])


class Learner:
    """A model, seen as what happens to a chunk: encoded (in the reading thread), transformed, learnt from.

    In a Pipeline, a transformer with ``partial_fit`` learns from the features of a chunk and then transforms it; one without has
    to be fitted beforehand, or to need no fit. Targets are never seen before they are predicted, features of the chunk are.
    """

    def __init__(self, model, max_weights=None):
        self.max_weights = max_weights
        steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
        *transformers, self.final = (step for step in steps if step not in (None, "passthrough"))
        first = transformers[:1]
        self.encoder = first[0] if first and isinstance(first[0], TableEncoder) else None
        self.transformers = transformers[1:] if self.encoder is not None else transformers
        self.takes_frames = bool(self.transformers) and self.encoder is None
        self.labels = is_classifier(self.final)
        if not hasattr(self.final, "partial_fit"):
            raise TypeError(
                f"fit_stream learns chunk by chunk, and {type(self.final).__name__} has no partial_fit; use an estimator that has "
                "one."
            )
        for step in self.transformers:
            needs_no_fit = hasattr(step, "__sklearn_tags__") and not step.__sklearn_tags__().requires_fit
            if not (hasattr(step, "partial_fit") or needs_no_fit or is_fitted(step)):
                raise ValueError(
                    f"{type(step).__name__} has no partial_fit, so it cannot learn along with the stream; fit it beforehand, or use "
                    "a transformer with partial_fit."
                )
        self.accepts = inspect.signature(self.final.partial_fit).parameters

    def transform(self, X):
        """Features of a chunk as the last step takes them; transformers learn from them first."""
        for step in self.transformers:
            if hasattr(step, "partial_fit"):
                step.partial_fit(X)
            X = step.transform(X)
        return X

    def learn(self, X, y, weight, classes, predict=False):
        """Learn from a chunk; if asked for, what was predicted for its rows before, (rows, columns of ``columns``)."""
        X = self.transform(X)
        self.check_size(X, y, classes)
        further = self._further(weight, classes)
        if predict and hasattr(self.final, "partial_fit_predict"):
            if self._gives_probabilities():
                further["method"] = "predict_proba"
            return _two_dimensional(self.final.partial_fit_predict(X, y, **further))
        before = self._predict(X) if predict and is_fitted(self.final) else None
        self.final.partial_fit(X, y, **further)
        return np.full((len(y), len(self.columns())), np.nan) if predict and before is None else before

    def check_size(self, X, y, classes):
        """Refuse to begin a model of more weights than are allowed."""
        if self.max_weights is None or is_fitted(self.final):
            return
        if self.labels:
            number = len(np.unique(y if classes is None else classes))
            vectors, what = (number if number > 2 else 1), f"{number:,} labels"
        else:
            vectors = np.shape(y)[1] if np.ndim(y) == 2 else 1
            what = f"{vectors:,} target{'s' * (vectors > 1)}"
        columns = np.shape(X)[1]
        if vectors * columns > self.max_weights:
            raise ValueError(
                f"{columns:,} columns and {what} make {vectors * columns:,} weights, more than max_weights={self.max_weights:,}; "
                "check the target, take fewer columns (TableEncoder(n_hashed=…), --bits), or raise max_weights (--max-weights): each "
                "takes up to 60 bytes."
            )

    def columns(self):
        """Names of the columns of predictions."""
        if self._gives_probabilities():
            return [f"probability:{label}" for label in self.final.classes_.tolist()]
        return ["prediction"]

    def _gives_probabilities(self):
        return self.labels and hasattr(self.final, "predict_proba")

    def _predict(self, X):
        ask = self.final.predict_proba if self._gives_probabilities() else self.final.predict
        return _two_dimensional(ask(X))

    def _further(self, weight, classes):
        """Arguments beside X and y, those that are given and that the estimator takes."""
        further = {}
        if weight is not None:
            if "sample_weight" not in self.accepts:
                raise ValueError(f"{type(self.final).__name__} takes no sample_weight; leave the weights out.")
            further["sample_weight"] = weight
        if classes is not None and "classes" in self.accepts and not is_fitted(self.final):
            further["classes"] = classes
        return further


def is_fitted(estimator):
    """Whether an estimator has learnt something."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _two_dimensional(values):
    values = np.asarray(values)
    return values[:, None] if values.ndim == 1 else values


def open_stream(source, **options):
    """A stream from a file's name, from chunks, or from a stream.

    Parameters
    ----------
    source : path, list of paths, iterable, callable or Stream
        A Parquet, CSV or svmlight file, told apart by the ends of their names (``.parquet``, ``.pq``; ``.csv``, ``.tsv``; ``.svm``,
        ``.svmlight``, ``.libsvm``; text also with ``.gz``, ``.bz2``, ``.xz``), a list of such, or a folder of them; or what
        :class:`ChunkStream` takes.
    **options : dict
        For the class of the file's stream.

    Returns
    -------
    Stream
        The stream.

    See Also
    --------
    fit_stream : Learn from a stream.

    Examples
    --------
    >>> from sklearn_adareg.streams import open_stream
    >>> type(open_stream([([[1.0]], [2.0])])).__name__
    'ChunkStream'
    """
    if isinstance(source, Stream):
        return source
    names = source if isinstance(source, list | tuple) else [source]
    if not names or not all(isinstance(name, str | Path) for name in names):
        return ChunkStream(source, **options)
    every = tuple(end for cls in FILES for end in cls.suffixes)
    ends = {suffix(path) for path in list_files(source, every)}
    found = [cls for cls in FILES if ends <= set(cls.suffixes)]
    if not found and ends <= set(every):
        raise ValueError(
            f"These files are of several kinds ({', '.join(sorted(ends))}), and a stream has one; name those of one kind."
        )
    if not found:
        strange = next(path for path in list_files(source, every) if suffix(path) not in every)
        raise ValueError(
            f"{strange} ends in {suffix(strange)!r}, and the files that can be read end in {', '.join(every)}; rename it, or use "
            "ParquetStream, CSVStream or SvmlightStream."
        )
    return found[0](source, **options)
