"""When ``fit`` stops, by which rows held out of it or passed to it, and which model it keeps."""

import warnings
from copy import copy
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split

from ..model import _runtime
from ..model._auto import MOST_PASSES
from ..model._validation import check_rows_and_targets
from ._labels import check_some_weight, check_weights


class Watch:
    """Follows the passes of one ``fit``.

    The mean training loss, or with a validation set the validation score, has to improve by ``tol`` within
    ``n_iter_no_change`` passes. With a validation set the best model so far is kept.
    """

    def __init__(self, estimator, passes, score):
        self.tol = None if estimator.tol is None else float(estimator.tol)
        self.patience = estimator.n_iter_no_change
        self.max_iter = passes
        self.chosen = estimator.max_iter is None and passes < MOST_PASSES
        self.score = score  # None: the training loss decides
        self.losses, self.scores = [], []
        self.best, self.idle = -np.inf, 0
        self.best_state = None
        self.at_minimum = False  # the pass just made ended there

    def pass_ends(self, loss, state):
        """Note the loss and score of a pass; True if it was the last."""
        self.losses.append(loss)
        if self.score is not None:
            self.scores.append(self.score(state))
            if self.best_state is None or self.scores[-1] > max(self.scores[:-1]):
                self.best_state = state.copy()
        if self.tol is None:
            return False
        merit = -loss if self.score is None else self.scores[-1]
        self.idle = self.idle + 1 if merit < self.best + self.tol else 0
        self.best = max(self.best, merit)
        return self.idle >= self.patience

    def warn_if_unfinished(self):
        """Warn if ``max_iter`` was reached before the stopping rule held, unless one pass was asked for."""
        if self.tol is None or self.chosen:
            return
        if not self.at_minimum and self.idle < self.patience and 1 < self.max_iter == len(self.losses):
            warnings.warn(
                f"max_iter={self.max_iter} passes were made before improvement fell below tol={self.tol}; raise max_iter or tol, "
                "or set tol=None to make exactly max_iter passes.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def fitted_attributes(self):
        """What the passes leave on the estimator."""
        attributes = {"n_iter_": len(self.losses), "loss_curve_": list(self.losses)}
        if self.score is not None:
            attributes["validation_scores_"] = list(self.scores)
        return attributes


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
