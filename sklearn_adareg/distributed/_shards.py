"""What happens where a shard lies. Everything here is called by name on other machines, so it is importable and picklable."""

from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path

from sklearn.pipeline import Pipeline

from ..merging import merge_models
from ..model._interrupts import Stop
from ..streams import TableEncoder, fit_stream, open_stream
from ..streams._encoder import united
from ..streams._fit import NoRows, labels_of
from ..streams._tables import is_table, rows_in


class ShardError(RuntimeError):
    """A shard could not be learnt from; the message names it, and says why.

    See Also
    --------
    fit : What raises it.

    Examples
    --------
    >>> from sklearn_adareg import AdaRegRegressor, distributed
    >>> def rows():
    ...     raise OSError("the disk is gone")
    >>> distributed.fit(AdaRegRegressor(), [rows])
    Traceback (most recent call last):
    sklearn_adareg.distributed.ShardError: Shard 0 (rows) failed: OSError: the disk is gone
    """

    __module__ = "sklearn_adareg.distributed"  # the public path


class Task:
    """Which shard, its place among all, with which columns; pickled with the rows, or with what finds them.

    ``stop`` tells a thread that nobody waits for the shard any more.
    """

    def __init__(self, number, source, target=None, sample_weight=None, stop=None):
        self.number, self.source, self.target = number, source, target
        self.sample_weight = sample_weight
        self.stop = Stop() if stop is None else stop

    def __repr__(self):
        what = ""
        if isinstance(self.source, str | Path):
            what = f" ({self.source})"
        elif callable(self.source):
            what = f" ({getattr(self.source, '__name__', type(self.source).__name__)})"
        return f"Shard {self.number}{what}"

    def stream(self):
        """The rows as a stream."""
        return open_stream(self.source if isinstance(self.source, str | Path) else self.chunks)

    def chunks(self):
        """The chunks of the shard, without those that have no rows."""
        found = self.source() if callable(self.source) else self.source
        for chunk in [found] if _is_chunk(found) else found:
            if rows_in(chunk if is_table(chunk) else chunk[0]) > 0:
                yield chunk


def _is_chunk(found):
    """Whether this is rows and targets, and not an iterable of them."""
    if is_table(found):
        return True
    pair = isinstance(found, tuple | list) and len(found) in (2, 3)
    return pair and not isinstance(found[0], tuple) and hasattr(found[0], "shape")


def labels(task, model):
    """The labels of a shard; None if it has no rows, or the model none."""
    with _named(task), task.stop.heeded():
        return labels_of(model, task.stream(), task.target)


def learn(task, model, classes, again):
    """A copy of the model that has learnt from a shard, or None if there are no rows; ``again``: it has before."""
    with _named(task), suppress(NoRows):
        model = deepcopy(model)
        final = model[-1] if isinstance(model, Pipeline) else model
        final._revisits = again
        columns = {"target": task.target, "sample_weight": task.sample_weight, "classes": classes}
        try:
            with task.stop.heeded():
                return fit_stream(model, task.stream(), **columns, progress=False, max_weights=None)
        finally:
            del final._revisits


@contextmanager
def _named(task):
    """What goes back to who asked is an exception that every engine can carry, and names the shard."""
    try:
        yield
    except Exception as error:
        raise ShardError(f"{task!r} failed: {type(error).__name__}: {error}") from error


def combine(models, base=None, finally_=True):
    """One model from those of several shards, of which some may have had no rows."""
    models = [model for model in models if model is not None]
    if not models:
        return None
    if not isinstance(models[0], Pipeline):
        return merge_models(models, base, finally_)
    check_encoders(models)
    merged = merge_models([model[-1] for model in models], base and base[-1], finally_)
    steps = list(models[0].steps)
    if isinstance(steps[0][1], TableEncoder):
        steps[0] = (steps[0][0], united([model[0] for model in models]))
    return Pipeline([*steps[:-1], (steps[-1][0], merged)])


def check_encoders(pipelines):
    """Refuse models whose columns mean different things."""
    facts = ("numeric_", "hashed_", "one_hot_", "n_features_out_")
    for pipeline in pipelines[1:]:
        for (_, first), (_, other) in zip(pipelines[0].steps[:-1], pipeline.steps[:-1], strict=True):
            if isinstance(first, TableEncoder) and any(getattr(first, fact) != getattr(other, fact) for fact in facts):
                raise ValueError(
                    "The shards have different columns, or columns of different kinds; give every shard the same columns, or fit the "
                    "TableEncoder beforehand."
                )
