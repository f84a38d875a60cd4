"""The candidates of a search: how one learns, is judged, and is compared with the leader."""

import inspect
import time
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils.validation import _num_samples

UNITS = 8  # of the rows between two rungs, each predicted before it is learnt from
SMALLEST_UNIT = 8  # rows


class Candidate:
    """An estimator that learns, and the losses of what it predicted before."""

    def __init__(self, estimator, params, classes):
        self.params = params
        self.estimator = clone(estimator).set_params(**clone(params, safe=False))
        self.classes = classes
        takes = inspect.signature(self.estimator.partial_fit).parameters
        self.first = {} if classes is None or "classes" not in takes else {"classes": classes}
        self.parts = {}  # first row of a unit → weighted loss, weight
        self.rows, self.seconds = 0, 0.0
        self.error = self.dropped_at = None

    @property
    def learns(self):
        """Whether it is still in the race."""
        return self.dropped_at is None and self.error is None

    def learn(self, pieces, judge):
        """Predict each piece, then learn from it. An error ends the race for this candidate alone."""
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for unit, X, y, weight in pieces:
                    if self.rows:
                        self._note(unit, *judge(self.estimator, X, y, weight))
                    self.estimator.partial_fit(X, y, **self.first, **given(sample_weight=weight))
                    self.first = {}
                    self.rows += _num_samples(X)
        except (ValueError, FloatingPointError, MemoryError, np.linalg.LinAlgError) as error:
            self.error = error
        self.seconds += time.perf_counter() - begun

    def _note(self, unit, loss, weight):
        before = self.parts.get(unit, (0.0, 0.0))
        self.parts[unit] = (before[0] + loss, before[1] + weight)

    def _since(self, row, before=np.inf):
        """Mean loss and weight of each unit from a row on, before another."""
        found = self.parts.items()
        parts = [part for start, part in found if row <= start < before and part[1] > 0]
        if not parts and before == np.inf:  # few rows, and no unit begins that late: the last one
            parts = [part for part in self.parts.values() if part[1] > 0][-1:]
        totals = np.array(parts or [(np.nan, 1.0)])
        return totals[:, 0] / totals[:, 1], totals[:, 1]

    def loss(self, since):
        """Mean loss from a row on; infinite where it is not finite."""
        losses, weights = self._since(since)
        mean = float(np.average(losses, weights=weights))
        return mean if np.isfinite(mean) else np.inf

    def gain(self, since):
        """By how much the mean loss fell from the window before ``since`` to the one after it, from 0 to that loss.

        More would not be an excess that falls as 1/t above a loss ≥ 0; it is seen where a candidate diverges first.
        """
        losses, weights = self._since(since // 2, since)
        loss = self.loss(since)
        gain = float(np.average(losses, weights=weights)) - loss
        return min(max(0.0, gain), abs(loss)) if np.isfinite(gain) else 0.0

    def hope(self, since):
        """The loss to expect while the rows double: where the excess falls as 1/t, each doubling gains half of the last gain."""
        return self.loss(since) - self.gain(since) / 2

    def spread(self, since):
        """Standard deviation of the mean losses of units from a row on."""
        losses, weights = self._since(since)
        mean = np.average(losses, weights=weights)
        return float(np.sqrt(np.average((losses - mean) ** 2, weights=weights)))

    def worse_than(self, leader, since, level):
        """Whether it would be worse than the leader is now after all it can gain, by more than the error of the difference."""
        if not np.isfinite(self.loss(since)):
            return True
        own, weights = self._since(since)
        other, _ = leader._since(since)
        if len(own) != len(other) or len(own) < 3:
            return False
        differences, n = own - other, len(own)
        mean = np.average(differences, weights=weights)
        error = np.sqrt(np.average((differences - mean) ** 2, weights=weights) / (n - 1))
        return bool(mean - self.gain(since) > stdtrit(n - 1, 1.0 - level) * error)


def cut(start, stop, window):
    """(unit, first row, last row + 1): units are 1/8 of the window each, and named by the row that they begin with."""
    size = max(SMALLEST_UNIT, window // UNITS)
    edges = [start, *range((start // size + 1) * size, stop, size), stop]
    return [(low // size * size, low, high) for low, high in pairwise(edges)]


def judge_by(scoring, estimators):
    """(estimator, X, y, weight) → total loss of the predictions, and its weight."""
    if scoring is not None:
        return partial(_by_scorer, check_scoring(estimators[0], scoring=scoring))
    if not is_classifier(estimators[0]):
        return partial(_by_rows, _squared_errors)
    chances = all(hasattr(model, "predict_proba") for model in estimators)
    return partial(_by_rows, _log_losses if chances else _mistakes)


def _by_scorer(scorer, model, X, y, weight):
    rows = float(_num_samples(X))
    return -rows * scorer(model, X, y), rows


def _by_rows(row_losses, model, X, y, weight):
    losses = row_losses(model, X, np.asarray(y))
    weight = np.ones(len(losses)) if weight is None else weight
    return float(losses @ weight), float(weight.sum())


def _squared_errors(model, X, y):
    errors = (model.predict(X) - y) ** 2
    return errors if errors.ndim == 1 else errors.mean(axis=1)


def _mistakes(model, X, y):
    return (model.predict(X) != y).astype(np.float64)


def _log_losses(model, X, y):
    places = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    chances = model.predict_proba(X)[np.arange(len(y)), places]
    return -np.log(np.clip(chances, np.finfo(np.float64).eps, 1.0))


def given(**arguments):
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}
