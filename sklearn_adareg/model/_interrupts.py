"""Threads that work for another one, and end when that one is interrupted.

Ctrl-C reaches the main thread only. The others look between two segments of rounds whether somebody still waits for them.
"""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

GRACE = 0.3  # seconds to wait for threads that are asked to end, which may be in code that is not ours
PATIENCE = 0.1  # seconds between two looks for Ctrl-C: a library may have it not end a wait, as polars does

_work = threading.local()


class Stopped(Exception):
    """Nobody waits for this work any more."""


class Stop:
    """Asks the threads that work for this one to end. In another process it is a new one, which nobody asks."""

    def __init__(self):
        self.asked, self.at_work = False, 0
        self.changed = threading.Condition()

    def __reduce__(self):
        return Stop, ()

    @contextmanager
    def heeded(self):
        """Work that ``check`` ends when it is asked to."""
        before = getattr(_work, "stop", None)
        with self.changed:
            self.at_work += 1
        try:
            _work.stop = self
            check()
            yield
        finally:
            _work.stop = before
            with self.changed:
                self.at_work -= 1
                self.changed.notify_all()

    def ask(self):
        """Let the threads end, and wait for them."""
        self.asked = True
        with self.changed:
            self.changed.wait_for(lambda: self.at_work == 0, GRACE)


def check():
    """End the work of this thread if it was asked to."""
    stop = getattr(_work, "stop", None)
    if stop is not None and stop.asked:
        raise Stopped


def in_threads(tasks, workers):
    """The results of some calls, in their order. However this ends, no thread goes on."""
    workers = min(workers, len(tasks))
    if workers <= 1:
        return [task() for task in tasks]
    stop = Stop()

    def run(task):
        with stop.heeded():
            return task()

    pool = ThreadPoolExecutor(workers)
    try:
        return [_result(future) for future in [pool.submit(run, task) for task in tasks]]
    finally:
        stop.asked = True
        pool.shutdown(wait=True, cancel_futures=True)


def _result(future):
    while not future.done():
        wait([future], PATIENCE)
    return future.result()
