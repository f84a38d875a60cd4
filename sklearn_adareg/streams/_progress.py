"""What is printed while a stream is learnt."""

import sys
import time
from typing import NamedTuple

INTERVAL = 0.5  # seconds between two changes of a line on a terminal


class Progress(NamedTuple):
    """How far a stream has come."""

    rows: int  # so far, those before a resume included
    loss: float | None  # mean progressive loss so far
    seconds: float  # of this run
    rows_per_second: float  # in this run
    done: float | None  # share of the source read so far
    seconds_left: float | None
    finished: bool

    def line(self):
        """In one line."""
        parts = [f"{self.rows:,} rows", f"{self.rows_per_second:,.0f} rows/s"]
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4g}")
        if self.finished:
            return ", ".join([*parts, f"{duration(self.seconds)} in all"])
        if self.done is not None:
            parts.insert(0, f"{100 * self.done:3.0f} %")
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        return ", ".join(parts)


def duration(seconds):
    """1:05:09, 2:07 or 3.2 s."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Line:
    """One line on a terminal, rewritten; in a file, a line each time that the number of rows has doubled."""

    def __init__(self, out=None):
        self.out = sys.stderr if out is None else out
        self.terminal = self.out.isatty()
        self.next_rows, self.next_time, self.width = 1, 0.0, 0

    def __call__(self, progress):
        if self.terminal:
            now = time.monotonic()
            if now < self.next_time and not progress.finished:
                return
            self.next_time = now + INTERVAL
            text = progress.line()
            end = "\n" if progress.finished else ""
            print("\r" + text.ljust(self.width), end=end, file=self.out, flush=True)
            self.width = len(text)
        elif progress.rows >= self.next_rows or progress.finished:
            self.next_rows = 2 * progress.rows
            print(progress.line(), file=self.out, flush=True)


class Meter:
    """Rows, seconds and losses, and who reads them."""

    def __init__(self, report, learner, rows, done):
        self.report, self.learner = report, learner
        self.rows, self.rows_before = rows, rows
        self.done_before = done or 0.0
        self.begun = time.monotonic()

    def add(self, rows, done):
        """Some rows have been learnt."""
        self.rows += rows
        self._report(done, finished=False)

    def finish(self):
        """The stream has ended."""
        self._report(1.0, finished=True)

    def _report(self, done, finished):
        if self.report is None:
            return
        seconds = max(time.monotonic() - self.begun, 1e-9)
        left = None
        if done is not None and done > self.done_before:
            left = seconds * (1.0 - done) / (done - self.done_before)
        loss = getattr(self.learner.final, "progressive_loss_", None)  # where the model keeps it
        speed = (self.rows - self.rows_before) / seconds
        self.report(Progress(self.rows, loss, seconds, speed, done, left, finished))
