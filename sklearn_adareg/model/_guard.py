"""Who may touch a model: one caller learns at a time, and whoever predicts meanwhile sees a whole model.

An interrupt may come at any line. Locks are therefore held by ``with`` statements alone, which give them back whatever happens,
and nothing else has to be put right for the model to go on.
"""

import threading
import time

LOOKS, PAUSE = 20, 1e-4  # how often, and how many seconds apart, a learner looks whether readers have had their turn


class Guard:
    """The locks of one estimator. They are neither copied nor pickled: every copy of a model has its own."""

    def __init__(self):
        self.calls = threading.RLock()  # held by the thread that learns, for the whole call
        self.state = threading.Lock()  # while rounds are played, or the state is read
        self.rounds = threading.Lock()  # while rounds are played
        self.waiting = set()  # a token of each reader that waits for ``state``

    def let_readers_pass(self):
        """Give readers that wait a chance between two segments of rounds."""
        for _ in range(LOOKS):
            if not self.waiting:
                return
            time.sleep(PAUSE)

    def read(self, compute):
        """What ``compute`` makes of the state, between two segments of rounds."""
        token = object()
        try:
            self.waiting.add(token)
            with self.state:
                return compute()
        finally:
            self.waiting.discard(token)


def guard_of(estimator):
    """The estimator's guard, made when first asked for; a dict's setdefault is atomic."""
    own = vars(estimator).get("_guard")
    return own if own is not None else vars(estimator).setdefault("_guard", Guard())
