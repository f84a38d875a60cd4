"""``fit``: rounds of learning in all shards, and trees of merges between them."""

from copy import deepcopy
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import unique_labels

from ..estimators._base import BaseAdaReg
from ..model._interrupts import Stop
from ..model._validation import shown
from ..streams import TableEncoder
from . import _dask
from ._shards import ShardError, Task, combine, labels, learn

FAN_IN = 16  # models that are merged at once
ATTEMPTS = 3  # at a round, where workers die


def fit(estimator, shards, *, classes=None, rounds=1, target=None, sample_weight=None, n_jobs=None):
    """Learn from shards of rows where they lie, and merge the models.

    Every shard learns by itself, from a copy of the estimator. Models travel, rows do not; a tree of merges
    (:func:`sklearn_adareg.merge`) makes one model of them. In each further round every shard is learnt once more from the merged
    model, which brings the result near that of one pass over all rows, or beyond it.

    The work goes through joblib, so ``joblib.parallel_config(backend=...)`` decides where it is done: ``"loky"`` (processes, the
    default), ``"threading"``, ``"dask"``, ``"ray"`` or ``"spark"``. Dask collections go through the scheduler of Dask itself, and
    their partitions never come to this process. A round in which a worker dies is done again, with the same result.

    Costs as many passes over each shard as there are rounds, one more over the targets where ``classes`` have to be found, and the
    merges, which are short beside them.

    Parameters
    ----------
    estimator : AdaRegClassifier, AdaRegRegressor, or Pipeline
        What learns. A fitted one is gone on from, and stays as it is. A Pipeline may have a
        :class:`~sklearn_adareg.streams.TableEncoder` and transformers that do not learn along.
    shards : list, or Dask collection
        A list of shards, each of them a pair (X, y) or triple (X, y, sample_weight); a dataframe; a function without arguments that
        returns one of these, or an iterable of them (chunks), called where the shard is learnt; or the path of a file
        that :func:`~sklearn_adareg.streams.open_stream` reads, which has to be there. Or a Dask dataframe, a pair of Dask arrays, or
        of a Dask dataframe and a series: each partition is a shard.
    classes : array-like, default=None
        All labels. None looks for them in all shards first.
    rounds : int, default=1
        How often every shard is learnt from.
    target : str, default=None
        The column to predict, where shards are dataframes or files of tables.
    sample_weight : str, default=None
        The column of the weights there.
    n_jobs : int, default=None
        Workers, as in joblib; not used for Dask collections.

    Returns
    -------
    estimator
        A new fitted estimator, which goes on learning.

    Raises
    ------
    ShardError
        A shard failed. The message names it.

    See Also
    --------
    sklearn_adareg.merge : What a merge is, and what of it is exact.

    Notes
    -----
    Rows should come to the shards at random, or each shard should at least have rows of every kind: a model that has never seen a
    feature knows nothing about it. Losses of the first round are progressive and are in ``progressive_loss_``; those of further
    rounds are not. Each worker imports this package.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_adareg import AdaRegClassifier, distributed
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4))
    >>> y = (X @ [1.0, -1.0, 2.0, 0.0] > 0).astype(int)
    >>> shards = [(X[k::4], y[k::4]) for k in range(4)]
    >>> model = distributed.fit(AdaRegClassifier(), shards, rounds=2)
    >>> model.t_, model.score(X, y) > 0.95
    (2000, True)
    """
    final = _check_estimator(estimator)
    if not isinstance(rounds, Integral) or isinstance(rounds, bool) or rounds < 1:
        raise ValueError(f"rounds={shown(rounds)} is no number of rounds; pass an int of at least 1.")
    fitted = final.__sklearn_is_fitted__()
    base = deepcopy(estimator) if fitted else None
    model = deepcopy(estimator) if fitted else clone(estimator)
    finds = is_classifier(final) and not fitted and classes is None
    sources = _dask.partitions(shards)
    engine = _Joblib(n_jobs) if sources is None else _dask.Engine()
    if sources is None:
        if isinstance(shards, str) or not hasattr(shards, "__iter__"):
            raise TypeError(
                f"shards are a list of pairs, dataframes, functions or paths, or a Dask collection, and this is "
                f"{type(shards).__name__}; pass a list."
            )
        sources = list(shards)
    stop = Stop()
    tasks = [engine.task(k, source, target, sample_weight, stop) for k, source in enumerate(sources)]
    if not tasks:
        raise ValueError("There are no shards; pass a list of at least one.")
    try:
        found = _in_rounds(engine, tasks, model, base, classes, finds, rounds)
    except BaseException:
        stop.ask()
        raise
    if found is None:
        raise ValueError("The shards have no rows; there is nothing to learn from.")
    return found


def _in_rounds(engine, tasks, model, base, classes, finds, rounds):
    """The merged model after all rounds; None if there are no rows."""
    if finds:
        parts = engine.results(engine.run(labels, [(task, model) for task in tasks]))
        parts = [part for part in parts if part is not None]
        classes = np.unique(np.concatenate(parts)) if parts else None
    elif classes is not None and base is None:
        classes = unique_labels(classes)
    else:
        classes = None
    for number in range(rounds):
        start = model if base is None else base
        models = engine.run(learn, [(task, start, classes, number > 0) for task in tasks])
        models = [model for model in models if model is not None]
        while len(models) > FAN_IN:
            groups = [models[k : k + FAN_IN] for k in range(0, len(models), FAN_IN)]
            models = engine.run(combine, [(group, base, False) for group in groups])
        base = engine.last(combine, models, base) if models else base
        classes = None
    [found] = engine.results([base])
    return found


def _check_estimator(estimator):
    """The last step, which is one of ours; refuses steps that would learn differently in each shard."""
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(final, BaseAdaReg):
        raise ValueError(
            f"distributed.fit merges models of AdaRegClassifier or AdaRegRegressor, and this is {type(final).__name__}; pass one of "
            "the two, or a Pipeline that ends in one."
        )
    steps = estimator.steps[:-1] if isinstance(estimator, Pipeline) else []
    for name, step in steps:
        if hasattr(step, "partial_fit") and not isinstance(step, TableEncoder):
            raise ValueError(
                f"The step {name!r}, {type(step).__name__}, would learn something else in every shard; leave it out (the models need "
                "no scaling), or transform the shards beforehand."
            )
    return final


class _Joblib:
    """Tasks on the workers of joblib's backend; merges of more models than fit into one there too."""

    def __init__(self, n_jobs):
        self.n_jobs = n_jobs

    def task(self, *facts):
        return Task(*facts)

    def last(self, function, *arguments):
        return function(*arguments)

    def results(self, found):
        return found

    def run(self, function, calls):
        """The results of all calls; all of them once more where a worker was lost."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return Parallel(n_jobs=self.n_jobs)(delayed(function)(*arguments) for arguments in calls)
            except ShardError:
                raise
            except Exception:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("not reached")
