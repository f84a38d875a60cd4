"""Ctrl-C, as a signal from outside or at a point of our choice."""

import inspect
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sklearn_adareg

SOURCES = str(Path(sklearn_adareg.__file__).parent)
SOON = 1.0  # seconds of work, of all threads: half a second on two cores that do nothing else
LATE = 20.0  # seconds of waiting, on a machine that does much else

by_signals = pytest.mark.skipif(
    sys.platform == "win32" or threading.current_thread() is not threading.main_thread(),
    reason="signals go to the main thread, and are raised in another way on Windows",
)


class Interrupt:
    """Raises KeyboardInterrupt at the n-th point of the package's code where the interpreter looks for signals.

    Those points are where a function begins and where a call of a compiled function has ended. A generator is none: the event is the
    same when it is closed, where the interpreter does not look, and would report and drop what is raised.
    """

    def __init__(self, n):
        self.left, self.fired = n, False

    def __enter__(self):
        self.outer = sys.getprofile()
        sys.setprofile(self.profile)

    def __exit__(self, kind, error, traceback):
        sys.setprofile(self.outer)
        return kind is KeyboardInterrupt

    def profile(self, frame, event, arg):
        if event not in ("call", "c_return") or self.fired:
            return
        if event == "call" and frame.f_code.co_flags & inspect.CO_GENERATOR:
            return
        if frame.f_code.co_filename.startswith(SOURCES):
            self.left -= 1
            if self.left == 0:
                self.fired = True
                raise KeyboardInterrupt


def clocks():
    """The time that this process has worked, and the time."""
    return np.array([time.process_time(), time.perf_counter()])


def waits(thread):
    """Whether a thread waits in the kernel, from where a signal wakes it.

    One that comes after the interpreter's last look, and before the wait, is not seen before the wait is over.
    """
    stat = Path(f"/proc/self/task/{thread.native_id}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "S"


def press_control_c(call, ready=None, restarts=True):
    """Run a call and send a SIGINT .3 s later, or when ``ready`` is set; it has to answer soon and to leave no thread.

    ``restarts``: waits go on after the signal, as they do once polars is imported; what waits has to look by itself. A source that
    waits in the kernel for good is answered only without.

    A call that ends before has failed, and no signal is sent any more: it would end another test.
    """
    sent, answered, before = [], [], threading.active_count()
    ended, deciding = threading.Event(), threading.Lock()

    def press():
        if ready is not None:
            ready.wait(timeout=30)
        ended.wait(timeout=0.3 if ready is None else 0.05)
        for _ in range(100):
            if waits(threading.main_thread()):
                break
            time.sleep(0.001)  # a thread that still runs after a tenth of a second will look again
        send()
        if not ended.wait(timeout=LATE):
            send()  # the test has failed, and should end

    def send():
        with deciding:
            if not ended.is_set():
                sent.append(clocks())
                os.kill(os.getpid(), signal.SIGINT)

    def run():
        try:
            call()
        finally:
            answered.append(clocks())
            with deciding:
                ended.set()

    presser = threading.Thread(target=press)
    signal.siginterrupt(signal.SIGINT, not restarts)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    presser.join()
    signal.siginterrupt(signal.SIGINT, True)
    assert ready is None or ready.is_set(), "what the signal was to wait for has not happened"
    assert (answered[0] - sent[0] < [SOON, LATE]).all()
    while threading.active_count() > before and (clocks() - sent[0] < [SOON, LATE]).all():
        time.sleep(0.01)
    assert threading.active_count() == before
