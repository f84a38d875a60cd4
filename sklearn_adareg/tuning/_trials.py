"""The trials of a search: how one learns, is judged, and is compared with the leader."""

import inspect
import time
import warnings
from copy import copy, deepcopy
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..model import _interrupts

UNITS = 4  # of the rows between two rungs, each predicted before it is learnt from
SMALLEST_UNIT = 8  # rows
PARTS = 16  # of a unit, whose mean losses are compared: more would not make the bound tighter
SMALLEST_CHANCE = np.finfo(np.float64).eps  # a loss is at most minus its logarithm
SCORED_PARTS = 2  # of a unit, by a scorer, which may need many rows for a figure


class Trial:
    """An estimator that learns, and the losses of what it predicted before."""

    def __init__(self, estimator, params, classes):
        self.params = params
        self.estimator = clone(estimator).set_params(**clone(params, safe=False))
        self.classes = classes
        takes = inspect.signature(self.estimator.partial_fit).parameters
        self.first = {} if classes is None or "classes" not in takes else {"classes": classes}
        self.parts = np.empty((0, 3))  # of each part: its first row, weighted loss, weight
        self.rows, self.seconds = 0, 0.0
        self.error = self.dropped_at = None

    def copy(self):
        """An independent trial that goes on from here."""
        twin = copy(self)
        twin.estimator, twin.parts = deepcopy(self.estimator), self.parts.copy()
        return twin

    @property
    def learns(self):
        """Whether it is still in the race."""
        return self.dropped_at is None and self.error is None

    def learn(self, pieces, judge):
        """Predict each piece, then learn from it. An error ends the race for this trial alone."""
        begun = time.perf_counter()
        found = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for size, start, X, y, weight in pieces:
                    _interrupts.check()
                    if self.rows:
                        found.append(judge(self.estimator, start, size, X, y, weight))
                    self.estimator.partial_fit(X, y, **self.first, **given(sample_weight=weight))
                    self.first = {}
                    self.rows += _num_samples(X)
        except (ValueError, FloatingPointError, MemoryError, np.linalg.LinAlgError) as error:
            self.error = error
        self._note(found)
        self.seconds += time.perf_counter() - begun

    def _note(self, found):
        """Add parts; the first of each piece may be one that an earlier piece began."""
        for parts in found:
            begun = self.parts[:, 0] == parts[0, 0]
            if begun.any():
                self.parts[begun, 1:] += parts[0, 1:]
                parts = parts[1:]
            self.parts = np.concatenate([self.parts, parts])

    def _since(self, row, before=np.inf):
        """Mean loss and weight of each part from a row on, before another."""
        parts = self.parts[self.parts[:, 2] > 0]
        found = parts[(parts[:, 0] >= row) & (parts[:, 0] < before)]
        if not len(found) and before == np.inf:  # few rows, and no part begins that late
            found = parts[-1:]
        return (found[:, 1] / found[:, 2], found[:, 2]) if len(found) else (np.array([np.nan]), np.ones(1))

    def loss(self, since):
        """Mean loss from a row on; infinite where it is not finite."""
        losses, weights = self._since(since)
        mean = float(np.average(losses, weights=weights))
        return mean if np.isfinite(mean) else np.inf

    def spread(self, since):
        """Standard deviation of the mean losses of parts from a row on."""
        losses, weights = self._since(since)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(losses, weights=weights)
            return float(np.sqrt(np.average((losses - mean) ** 2, weights=weights)))


class Standing:
    """How trials stand that have learnt from the same rows: losses since a row, and what was gained since the window before."""

    def __init__(self, trials, since):
        found = [one._since(since) for one in trials]
        self.parts = np.array([losses for losses, _ in found])
        self.weights = found[0][1] / found[0][1].sum()
        before = [one._since(since // 2, since) for one in trials]
        with np.errstate(over="ignore", invalid="ignore"):
            means = self.parts @ self.weights
            gains = np.array([losses @ w / w.sum() for losses, w in before]) - means
        self.losses = np.where(np.isfinite(means), means, np.inf)
        # More than the loss itself would not be an excess that falls as 1/t above a loss ≥ 0; it is seen after a divergence.
        most = np.where(np.isfinite(means), np.abs(means), 0.0)
        self.gains = np.clip(np.where(np.isfinite(gains), gains, 0.0), 0.0, most)
        self.leader = int(np.argmin(self.losses))

    def hopes(self):
        """The losses to expect while the rows double: where the excess falls as 1/t, each doubling gains half of the last gain."""
        return self.losses - self.gains / 2

    def beaten(self, level, ahead):
        """Which trials would end behind the leader, by more than the error of the difference.

        A trial goes on to gain ``ahead`` times what it gained last beyond the leader, and its losses shrink by a common factor
        so that their mean falls by that. Differences of parts are cut from above, at the leader's loss: this can only favour the
        trial, and without it a loss that explodes would have an error as large as itself.
        """
        behind = ~np.isfinite(self.losses)
        behind[self.leader] = False
        n = self.parts.shape[1]
        if n < 3 or not np.isfinite(self.losses[self.leader]):
            return behind
        lead, compared = self.losses[self.leader], ~behind
        losses, gains = self.losses[compared], self.gains[compared]
        catches_up = ahead * np.maximum(0.0, gains - self.gains[self.leader])
        factors = 1.0 - np.divide(catches_up, losses, out=np.zeros(len(losses)), where=losses != 0)
        differences = self.parts[compared] * factors[:, None] - self.parts[self.leader]
        np.minimum(differences, abs(lead), out=differences)
        means = differences @ self.weights
        errors = np.sqrt((differences - means[:, None]) ** 2 @ self.weights / (n - 1))
        behind[compared] = means > stdtrit(n - 1, 1.0 - level) * errors
        behind[self.leader] = False
        return behind


def cut(start, stop, window):
    """(size, first row, last row + 1): units of ``size`` rows, 1/4 of the window, or what lies of them between the two ends."""
    size = max(SMALLEST_UNIT, window // UNITS)
    edges = [start, *range((start // size + 1) * size, stop, size), stop]
    return [(size, low, high) for low, high in pairwise(edges)]


def judge_by(scoring, estimators):
    """(estimator, first row, rows of a whole unit, X, y, weight) → (parts, 3): first row of a part, total loss, weight."""
    if scoring is not None:
        return partial(_by_scorer, check_scoring(estimators[0], scoring=scoring))
    if not is_classifier(estimators[0]):
        return partial(_by_rows, _squared_errors)
    chances = all(hasattr(model, "predict_proba") for model in estimators)
    return partial(_by_rows, _log_losses if chances else _mistakes)


def _parts(start, stop, size):
    """Where parts of a size begin that rows from ``start`` to ``stop`` belong to, and which of the rows begin them."""
    first = start // size * size
    begins = np.arange(first, stop, size)
    return begins, np.maximum(begins - start, 0)


def _by_scorer(scorer, model, start, unit, X, y, weight):
    rows = _num_samples(X)
    begins, places = _parts(start, start + rows, max(SMALLEST_UNIT, unit // SCORED_PARTS))
    found = []
    for part, low, high in zip(begins, places, [*places[1:], rows], strict=True):
        own = slice(low, high)
        score = scorer(model, _safe_indexing(X, own), _safe_indexing(y, own))
        found.append((part, -float(high - low) * score, high - low))
    return np.array(found, dtype=np.float64)


def _by_rows(row_losses, model, start, unit, X, y, weight):
    losses = row_losses(model, X, np.asarray(y))
    begins, places = _parts(start, start + len(losses), max(1, unit // PARTS))
    weight = np.ones(len(losses)) if weight is None else weight
    totals = np.add.reduceat(losses * weight, places), np.add.reduceat(weight, places)
    return np.column_stack([begins, *totals])


def _squared_errors(model, X, y):
    with np.errstate(over="ignore"):
        errors = np.minimum(np.abs(model.predict(X) - y), 1e140) ** 2  # sums of which are numbers
    return errors if errors.ndim == 1 else errors.mean(axis=1)


def _mistakes(model, X, y):
    return (model.predict(X) != y).astype(np.float64)


def _log_losses(model, X, y):
    chances, classes = model.predict_proba(X), model.classes_
    if len(classes) == 2:
        own = np.where(y == classes[1], chances[:, 1], chances[:, 0])
    else:
        places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        own = chances[np.arange(len(y)), places]
    return -np.log(np.maximum(own, SMALLEST_CHANCE))


def given(**arguments):
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}
