"""When ``fit`` stops, and which model it keeps."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..model._auto import MOST_PASSES


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
