"""Rows held out of ``fit``, or passed to it, to stop by."""

from copy import copy
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split

from ..model import _runtime
from ..model._validation import check_rows_and_targets
from ._weights import check_some_weight, check_weights


@dataclass
class TrainingSet:
    """Validated rows and targets."""

    X: object
    y: np.ndarray
    weights: np.ndarray  # empty: all 1
    order: np.ndarray  # rows of positive weight
    classes: np.ndarray | None


@dataclass
class ValidationSet:
    """Rows, targets and weights passed to ``fit`` to stop by; all None if there are none."""

    X: object
    y: object
    sample_weight: object

    def check(self, early_stopping):
        """Refuse an incomplete set, and one that would not be used."""
        if (self.X is None) != (self.y is None):
            missing = "y_val" if self.y is None else "X_val"
            raise ValueError(f"X_val and y_val go together, and {missing} is missing; pass both or neither.")
        if self.X is None and self.sample_weight is not None:
            raise ValueError("sample_weight_val was passed without X_val and y_val; pass those too, or leave it out.")
        if self.X is not None and not early_stopping:
            raise ValueError(
                "X_val and y_val were passed to fit and early_stopping is False, so they would not be used; set "
                "early_stopping=True, or leave them out."
            )


def hold_out(estimator, training, given, rng):
    """Rows to learn from, and a function that scores a state on the others (None without early stopping)."""
    given.check(estimator.early_stopping)
    if not estimator.early_stopping:
        return training.order, None
    if given.X is not None:
        order = training.order
        X, y = check_rows_and_targets(estimator, given.X, given.y, reset=False, numeric=estimator._targets_are_numbers)
        y = estimator._tidy(y)
        weights = check_weights(given.sample_weight, X)
        check_some_weight(weights, "sample_weight_val")
        # refuses labels that the model does not know
        estimator._encode(y, training.classes, np.empty(0))
    else:
        order, held = _split(training, estimator.validation_fraction, seed=rng.randint(2**31 - 1))
        X, y = training.X[held], training.y[held]
        weights = training.weights[held] if len(training.weights) else training.weights
    held_out = TrainingSet(X, y, weights, np.arange(len(y)), training.classes)
    return order, _score(estimator, held_out)


def _score(estimator, held_out):
    """A function that scores a state on the held-out rows; larger is better."""
    if estimator.scoring == "loss":
        targets = estimator._encode(held_out.y, held_out.classes, np.empty(0))

        def negative_loss(state):
            with np.errstate(over="ignore", invalid="ignore"):  # a loss may be infinite
                return -_runtime.mean_loss(state, held_out.X, targets, held_out.weights)

        return negative_loss
    scorer = check_scoring(estimator, estimator.scoring)
    keywords = {"sample_weight": held_out.weights} if len(held_out.weights) else {}
    names = getattr(estimator, "feature_names_in_", None)

    def score(state):
        shown = copy(estimator)
        shown._state = state
        if names is not None:  # the rows were validated, and have no column names any more
            del shown.feature_names_in_
        with np.errstate(over="ignore", invalid="ignore"):  # squares of predictions may be infinite
            value = scorer(shown, held_out.X, held_out.y, **keywords)
        return -np.inf if np.isnan(value) else value

    return score


def _split(training, fraction, seed):
    """Rows to learn from and rows to hold out; classes keep their shares where each has rows enough for that."""
    order, stratify = training.order, None
    if training.classes is not None:
        counts = np.unique(training.y[order], return_counts=True)[1]
        held = int(np.ceil(fraction * len(order)))
        if counts.min() > 1 and len(counts) <= min(held, len(order) - held):
            stratify = training.y[order]
    order, held = train_test_split(order, test_size=fraction, random_state=seed, stratify=stratify)
    return np.sort(order), held
