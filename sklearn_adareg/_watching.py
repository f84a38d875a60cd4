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
    """Prints the loss the way Vowpal Wabbit does: at round 1, 2, 4, 8, …, its mean so far and since the last line.

    A stream is one report over all its calls; in ``fit`` each pass has its own, and a line where it ended.
    """

    HEADER = f"{'round':>12} {'mean loss':>12} {'since last':>12}"

    def __init__(self, state, quiet, streaming):
        self.state, self.quiet, self.streaming = state, quiet, streaming
        self.loss = self.weight = 0.0
        if quiet:
            return
        self.before = np.array([state.loss_total, state.weight_total]) if streaming else np.zeros(2)
        self.reported = np.array(state.reported) if streaming else np.zeros(2)
        if not streaming or state.rounds == 0:
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
        if self.quiet:
            return
        rounds = self.state.rounds
        if rounds & (rounds - 1) == 0:
            self.line()

    def line(self):
        """One line, when there is something new."""
        total = self.before + np.array([self.loss, self.weight])
        since = total - self.reported
        if since[1] > 0.0:
            print(
                f"{self.state.rounds:>12d} {total[0] / total[1]:>12.6g} {since[0] / since[1]:>12.6g}"
            )
            self.reported = total
            if self.streaming:
                self.state.reported = tuple(total.tolist())

    def close(self):
        """The pass is over: say where it ended; the mean loss of the pass."""
        if not self.quiet and not self.streaming:
            self.line()
        return self.loss / self.weight if self.weight else float("nan")
