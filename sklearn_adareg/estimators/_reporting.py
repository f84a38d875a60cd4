"""The lines that ``verbose`` prints."""

import numpy as np


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
