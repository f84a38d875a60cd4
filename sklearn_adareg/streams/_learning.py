"""How a model takes a chunk: an estimator with ``partial_fit``, or a Pipeline that ends in one."""

import inspect

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._encoder import TableEncoder

MAX_WEIGHTS = 2**27


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

    def learn(self, X, y, weight, classes):
        """Learn from a chunk."""
        X = self.transform(X)
        self.check_size(X, y, classes)
        self.final.partial_fit(X, y, **self._further(weight, classes))

    def learn_and_predict(self, X, y, weight, classes):
        """Learn from a chunk; what was predicted for its rows before, (rows, columns of ``columns``)."""
        X = self.transform(X)
        self.check_size(X, y, classes)
        if not hasattr(self.final, "partial_fit_predict"):
            before = self._predict(X) if is_fitted(self.final) else None
            self.final.partial_fit(X, y, **self._further(weight, classes))
            return before if before is not None else np.full((len(y), len(self.columns())), np.nan)
        further = self._further(weight, classes)
        if self._gives_probabilities():
            further["method"] = "predict_proba"
        return _two_dimensional(self.final.partial_fit_predict(X, y, **further))

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
