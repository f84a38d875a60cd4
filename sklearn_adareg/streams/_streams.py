"""What a stream is: chunks of rows, in an order and with ends that the source fixes; and reading ahead of who learns from them."""

import queue
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _tables

DEPTH = 3  # items that wait; memory is bounded by them
PATIENCE = 0.1  # seconds between two looks at whether the other side is still there
SAMPLE = 2**16  # bytes at either end of a file that tell it from another


class Chunk(NamedTuple):
    """Some rows."""

    X: Any  # an array, a CSR matrix or a table
    y: Any = None  # targets; None: they are a column of the table
    weight: Any = None  # of the rows
    end: Any = None  # what ``chunks`` takes to go on behind this chunk: numbers and lists of them
    done: float | None = None  # the share of the source that has been read, where it is known


class Stream(ABC):
    """Chunks of rows. The same source has the same chunks each time it is read, or it is not ``restartable``."""

    restartable = True
    name = "the stream"
    _found_out: tuple = ()  # the attributes that reading sets
    _reads_ahead = False  # in a thread, which nothing can interrupt while it waits for rows

    @abstractmethod
    def chunks(self, start=None, columns=None) -> Iterator[Chunk]:
        """The chunks, from ``start`` on, which is the ``end`` of an earlier chunk."""

    def _fingerprint(self) -> dict:
        """What has to be the same for a checkpoint to fit: what the rows and the ends of the chunks depend on."""
        return {"kind": type(self).__name__}

    def _findings(self) -> dict:
        """What reading has found out about the source so far, and would otherwise find out again."""
        return {name: getattr(self, name) for name in self._found_out}

    def _recall(self, found):
        """Take over what an earlier reading found out."""
        vars(self).update(found)


class FileStream(Stream):
    """The chunks of one file after another; an ``end`` is the number of the file and a place in it."""

    suffixes: tuple = ()
    _decisive: tuple = ()  # the parameters that the rows and the ends of the chunks depend on
    _reads_ahead = True

    def __init__(self, files):
        self.files = list_files(files, self.suffixes)
        self.name = self.files[0].name + (", …" if len(self.files) > 1 else "")
        self.sizes = [path.stat().st_size for path in self.files]

    def chunks(self, start=None, columns=None):
        """The chunks of the files.

        Parameters
        ----------
        start : list, default=None
            The ``end`` of an earlier chunk, to go on behind it; None is the beginning.
        columns : list of str, default=None
            The columns that are needed, where there are columns.

        Yields
        ------
        Chunk
            With the attributes ``X``, ``y``, ``weight``, ``end`` and ``done``, the share of the files that has been read.
        """
        first, place = start or (0, 0)
        total = max(sum(self.sizes), 1)
        before = sum(self.sizes[:first])
        for number in range(first, len(self.files)):
            for chunk in self._read(self.files[number], place, columns):
                done = (before + chunk.done * self.sizes[number]) / total
                yield chunk._replace(end=[number, chunk.end], done=min(done, 1.0))
            before += self.sizes[number]
            place = 0

    @abstractmethod
    def _read(self, path, place, columns) -> Iterator[Chunk]:
        """The chunks of one file from ``place`` on, 0 being its beginning; ``end`` and ``done`` are those within the file."""

    def _fingerprint(self):
        files = [sample(path, size) for path, size in zip(self.files, self.sizes, strict=True)]
        return {**super()._fingerprint(), "files": files, **{name: getattr(self, name) for name in self._decisive}}


class ChunkStream(Stream):
    """The chunks of an iterable, as it gives them.

    Parameters
    ----------
    chunks : iterable or callable
        Of pairs (X, y), triples (X, y, sample_weight) or dataframes; or a function without arguments that returns such an
        iterable. An iterator can be read once only, so it cannot be resumed: pass a list or a function to have that.

    See Also
    --------
    open_stream : A stream from whatever it is made of.

    Examples
    --------
    >>> from sklearn_adareg.streams import ChunkStream
    >>> stream = ChunkStream([([[1.0], [2.0]], [0, 1]), ([[3.0]], [1])])
    >>> [chunk.end for chunk in stream.chunks()]
    [[1, 2], [2, 3]]
    """

    __module__ = "sklearn_adareg.streams"  # the public path

    def __init__(self, chunks):
        if not callable(chunks) and not hasattr(chunks, "__iter__"):
            raise TypeError(
                f"A stream is made of chunks, and {type(chunks).__name__} is no iterable; pass (X, y) pairs, dataframes, a function "
                "that returns them, or the path of a file."
            )
        self.source = chunks
        self.restartable = callable(chunks) or iter(chunks) is not chunks
        self.length = len(chunks) if hasattr(chunks, "__len__") else None

    def chunks(self, start=None, columns=None):
        """The chunks; those before ``start`` are read and left out.

        Parameters
        ----------
        start : list, default=None
            The ``end`` of an earlier chunk: how many chunks, and how many rows in them.
        columns : list of str, default=None
            Not used.

        Yields
        ------
        Chunk
            With the attributes ``X``, ``y``, ``weight``, ``end`` and ``done``, the share of the chunks that has been read.
        """
        number, rows = start or (0, 0)
        given = iter(self.source() if callable(self.source) else self.source)
        skipped = sum(_tables.rows_in(_as_chunk(item).X) for item in islice(given, number))
        if skipped != rows:
            raise ValueError(
                f"The first {number} chunks have {skipped} rows and had {rows} when the checkpoint was written; give the same "
                "chunks, or remove the checkpoint to start anew."
            )
        for item in given:
            chunk = _as_chunk(item)
            number, rows = number + 1, rows + _tables.rows_in(chunk.X)
            done = None if self.length is None else number / self.length
            yield chunk._replace(end=[number, rows], done=done)


def _as_chunk(item):
    """A chunk from what a user's iterable gives."""
    if _tables.is_table(item):
        return Chunk(item)
    if isinstance(item, tuple | list) and len(item) in (2, 3):
        X, y, *weight = item
        X = X if hasattr(X, "shape") or _tables.is_table(X) else np.asarray(X)
        return Chunk(X, y, weight[0] if weight else None)
    raise TypeError(
        f"A chunk is a pair (X, y), a triple (X, y, sample_weight) or a dataframe, and this one is of type {type(item).__name__}; "
        "change what the stream gives."
    )


def list_files(files, suffixes):
    """Paths from a path, a folder (its files with one of these suffixes, sorted by name) or a list of paths."""
    several = isinstance(files, list | tuple)
    paths = [Path(path) for path in (files if several else [files])]
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0]
        paths = sorted(path for path in folder.iterdir() if suffix(path) in suffixes)
        if not paths:
            raise FileNotFoundError(
                f"The folder {folder} has no file that ends in {' or '.join(suffixes)}; name the files."
            )
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}; check the name.")
    if not paths:
        raise ValueError("A stream needs at least one file; name it.")
    return paths


def check_count(name, value, optional=False):
    """Refuse what is no whole number of at least 1, nor None where it may be."""
    if not (optional and value is None) and not (isinstance(value, Integral) and value >= 1):
        raise ValueError(f"{name}={value!r} is no number of them; pass an integer of at least 1.")
    return value


def check_columns(path, present, asked):
    """Refuse columns that a file has not."""
    for name in asked or ():
        if name not in present:
            other = other_separator(present) or no_names(present)
            raise ValueError(
                f"{path.name} has no column {name!r}; its columns are {_tables.listed(present)}{'; ' if other else ''}{other}."
            )


def first_double(names):
    """A name that stands twice in a list; None if there is none."""
    seen = set()
    return next((name for name in names if name in seen or seen.add(name)), None)


SEPARATORS = ";\t|,"


def other_separator(names):
    """What to set where the only name in the first line of a CSV file seems to be several; else nothing."""
    sign = next((sign for sign in SEPARATORS if len(names) == 1 and sign in names[0]), None)
    if sign is None:
        return ""
    typed = {"\t": "tab"}.get(sign, sign)
    decimal = " and, for numbers like 1,5, decimal=',' (--decimal ,)" if sign == ";" else ""
    return f"set delimiter={sign!r} (--delimiter '{typed}'){decimal}"


def no_names(names):
    """What to set where the first line of a CSV file has numbers in it, not names; else nothing."""
    for name in names:
        with suppress(ValueError):
            float(name)
            return "if these are values, pass header=False (--no-header), and the columns are called 0, 1, 2"
    return ""


COMPRESSIONS = (".gz", ".bz2", ".xz")


def suffix(path):
    """What a file's name ends in, behind which a compression's suffix may stand."""
    path = Path(path)
    return Path(path.stem).suffix.lower() if path.suffix.lower() in COMPRESSIONS else path.suffix.lower()


def sample(path, size):
    """Size and a checksum of both ends of a file."""
    with open(path, "rb") as file:
        check = zlib.crc32(file.read(SAMPLE))
        file.seek(max(0, size - SAMPLE))
        return [size, zlib.crc32(file.read(SAMPLE), check)]


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
            with suppress(queue.Full):
                self.queue.put(value, timeout=PATIENCE)
                return True
        return False
