"""When to stop, which model to keep, and what to print on the way."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._parameters import MOST_PASSES


class Watch:
    """Follows the passes of one ``fit``.

    The mean training loss, or with a validation set the validation score, has to improve by ``tol`` within
    ``n_iter_no_change`` passes. With a validation set the best model so far is kept.
    """

    def __init__(self, estimator, passes, score):
        self.tol, self.patience = estimator.tol, estimator.n_iter_no_change
        self.max_iter = passes
        self.chosen = estimator.max_iter is None and passes < MOST_PASSES
        self.score = score  # None: the training loss decides
        self.losses, self.scores = [], []
        self.best, self.idle = -np.inf, 0
        self.best_state = None

    def pass_ends(self, loss, state):
        """Take a pass in; True when it was the last."""
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
        """Say that the passes ran out before the model settled; one pass alone is a choice, not an accident."""
        if self.tol is None or self.chosen:
            return
        if self.idle < self.patience and 1 < self.max_iter == len(self.losses):
            warnings.warn(
                f"max_iter={self.max_iter} passes were made before improvement fell below tol={self.tol}; raise max_iter or tol, "
                "or set tol=None to make exactly max_iter passes.",
                ConvergenceWarning,
                stacklevel=4,
            )


class ProgressiveReport:
    """Prints the loss the way Vowpal Wabbit does: at round 1, 2, 4, 8, …, its mean so far and since the last line."""

    HEADER = f"{'round':>12} {'mean loss':>12} {'since last':>12}"

    def __init__(self, state, quiet):
        self.state, self.quiet = state, quiet
        self.loss = self.weight = 0.0
        self.since_loss = self.since_weight = 0.0
        if not quiet:
            print(self.HEADER)

    def segments(self, order, longest):
        """Parts of ``order`` after which something is to be said, or the keyboard looked at."""
        start = 0
        while start < len(order):
            length = longest
            if not self.quiet:
                played = self.state.rounds
                length = min(longest, (1 << played.bit_length()) - played)
            yield order[start : start + length]
            start += length

    def add(self, loss, weight):
        """Take a segment in, and print when the rounds are a power of two."""
        self.loss += loss
        self.weight += weight
        self.since_loss += loss
        self.since_weight += weight
        rounds = self.state.rounds
        if not self.quiet and rounds & (rounds - 1) == 0:
            self.line()

    def line(self):
        """One line, when there is something new."""
        if self.since_weight:
            mean, since = self.loss / self.weight, self.since_loss / self.since_weight
            print(f"{self.state.rounds:>12d} {mean:>12.6g} {since:>12.6g}")
            self.since_loss = self.since_weight = 0.0

    def close(self):
        """The pass is over: say where it ended; the mean loss of the pass."""
        if not self.quiet:
            self.line()
        return self.loss / self.weight if self.weight else float("nan")
