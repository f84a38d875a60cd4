"""Reading ahead in a thread, so that parsing and learning overlap."""

import queue
import threading

DEPTH = 3  # items that wait; memory is bounded by them
PATIENCE = 0.1  # seconds between two looks at whether the other side is still there


class ReadAhead:
    """An iterator over ``items`` that a thread takes ahead of the caller; to be used in a ``with`` statement.

    An exception of ``items`` is raised in the caller, in its turn. Leaving the statement ends the thread.
    """

    def __init__(self, items, depth=DEPTH):
        self.items = items
        self.queue = queue.Queue(depth)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._read, name="adareg-read-ahead", daemon=True)

    def __enter__(self):
        try:
            self.thread.start()
        except BaseException:  # an interrupt
            self.over.set()
            raise
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def __iter__(self):
        while True:
            kind, value = self._next()
            if kind == "item":
                yield value
            elif kind == "error":
                raise value
            else:
                return

    def _next(self):
        while True:  # with a timeout, so that Ctrl-C is answered
            try:
                return self.queue.get(timeout=PATIENCE)
            except queue.Empty:
                if not self.thread.is_alive() and self.queue.empty():
                    return ("end", None)

    def _read(self):
        try:
            for item in self.items:
                if not self._put(("item", item)):
                    return
                del item  # a chunk that waits elsewhere is not held here
            self._put(("end", None))
        except BaseException as error:
            self._put(("error", error))
        finally:
            if hasattr(self.items, "close"):
                self.items.close()

    def _put(self, value):
        while not self.over.is_set():
            try:
                self.queue.put(value, timeout=PATIENCE)
                return True
            except queue.Full:
                continue
        return False
