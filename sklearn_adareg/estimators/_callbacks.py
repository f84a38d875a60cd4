"""Who hears of the rounds: scikit-learn's callbacks where it has them (1.9 on), and the lines that ``verbose`` prints."""

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9: no set_callbacks, and a context that does nothing

    class CallbackSupportMixin:
        """Stands in for scikit-learn's mixin."""

        def _init_callback_context(self, **kwargs):
            return _NoContext()


class _NoContext:
    """What the training loop talks to when nobody listens."""

    def subcontext(self, **kwargs):
        return self

    def call_on_fit_task_begin(self, **kwargs):
        return self

    def call_on_fit_task_end(self, **kwargs):
        return False


class Listeners:
    """The callbacks of one ``fit``: called when it and each of its passes begin and end; any of them may ask to stop."""

    def __init__(self, estimator, passes, X, y, sample_weight):
        self.estimator = estimator
        self.context = estimator._init_callback_context(max_subtasks=passes)
        self.facts = {"estimator": estimator, "X": X, "y": y}
        if sample_weight is not None:
            self.facts["metadata"] = {"sample_weight": sample_weight}
        self.context.call_on_fit_task_begin(**self.facts)

    def pass_begins(self):
        """A pass over the rows begins."""
        self.passing = self.context.subcontext(task_name="epoch")
        self.passing.call_on_fit_task_begin(**self.facts)

    def pass_ends(self, fitted):
        """A pass has ended; ``fitted()`` gives the attributes of the model so far. True asks to stop."""
        return self.passing.call_on_fit_task_end(**self.facts, reconstruction_attributes=fitted)

    def fit_ends(self, fitted):
        """The whole fit has ended."""
        self.context.call_on_fit_task_end(**self.facts, reconstruction_attributes=fitted)


class ProgressiveReport:
    """Prints the mean loss at rounds 1, 2, 4, 8, …: of all rounds so far, and of those since the last line; and the rows in use.

    A stream has one report over all its calls. In ``fit`` each pass has its own, with one more line at its end.
    """

    HEADER = f"{'round':>12} {'mean loss':>12} {'since last':>12} {'memory':>12}"

    def __init__(self, state, streaming, memory):
        self.state, self.streaming, self.memory = state, streaming, memory
        self.loss = self.weight = 0.0
        self.reported = np.array(state.reported) if streaming else np.zeros(2)
        if not streaming or state.rounds == 0:
            print(self.HEADER)

    def rounds_to_next_line(self):
        """How many rounds may be played before a line is due."""
        played = self.state.rounds
        return (1 << played.bit_length()) - played

    def add(self, loss, weight):
        """Add the losses of a segment, and print a line when the number of rounds is a power of two."""
        self.loss += loss
        self.weight += weight
        rounds = self.state.rounds
        if rounds & (rounds - 1) == 0:
            self.line()

    def line(self):
        """Print one line, if any weight was added since the last."""
        total = np.array([self.loss, self.weight])
        if self.streaming:
            total[:] = self.state.progress.total("loss"), self.state.progress.total("weight")
        since = total - self.reported
        if since[1] > 0.0:
            print(
                f"{self.state.rounds:>12d} {total[0] / total[1]:>12.6g} {since[0] / since[1]:>12.6g} "
                f"{self.memory():>12.6g}"
            )
            self.reported = total
            if self.streaming:
                self.state.reported = tuple(total.tolist())

    def close(self):
        """End the pass: print its last line."""
        if not self.streaming:
            self.line()
