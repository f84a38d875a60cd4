"""The one way to write a file: into a new file beside it, which replaces it when it is whole.

Whoever reads the file sees the old one or the new one, whole, whenever the process dies. The new file, ``NAME.XXXXXXXX.part``, has
a name that no other process has. After an exception or Ctrl-C it is removed; after ``kill -9`` it stays, and can be removed by hand.
"""

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

STANDARD_OUTPUT = 1  # the file descriptor
LONGEST = 50  # characters of a file's name that the name of the new file begins with


class OutputFile:
    """A file to be written in a ``with`` statement, which gives it opened: binary, or text where an encoding is given.

    A link is followed: what it points to is replaced. Permissions of a file that is replaced are kept, and its owner where the system
    allows it. A device, a pipe and the standard output cannot be replaced, and are written to.

    ``stays`` is set by those who have noted ``part``, the new file, to go on from it after a failure.
    """

    def __init__(self, path, encoding=None):
        self.path = Path(path)
        self.target = Path(os.path.realpath(path))
        self.encoding = encoding
        self.stays = False
        self.part = None

    def __enter__(self):
        old = _stat(self.path)
        text = {} if self.encoding is None else {"encoding": self.encoding}
        kind = "b" if self.encoding is None else ""
        stream = _standard_stream(old)
        if stream is not None:
            stream.flush()
        if is_written_to(self.path):
            self.file = open(self.path if stream is None else os.dup(stream.fileno()), f"w{kind}", **text)
            return self.file
        if old is not None and not os.access(self.path, os.W_OK):
            raise PermissionError(f"{self.path} is write-protected; allow it to be written, or name another file.")
        self.part = self.target.with_name(f"{self.target.name[:LONGEST]}.{secrets.token_hex(8)}.part")
        mode = 0o666 if old is None else stat.S_IMODE(old.st_mode)
        try:
            self.file = open(self.part, f"x{kind}", opener=lambda name, flags: os.open(name, flags, mode), **text)
            if old is not None and hasattr(os, "fchown"):
                with suppress(PermissionError):
                    os.fchown(self.file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(self.file.fileno(), mode)
        except BaseException as error:
            self.part.unlink(missing_ok=True)
            if isinstance(error, OSError):
                error.filename = str(self.path)  # the name that the user knows
            raise
        return self.file

    def __exit__(self, kind, error, trace):
        if self.part is None:
            self.file.close()
            return
        try:
            if kind is None:
                self.sync()
                self.file.close()
                replace(self.part, self.target)
        except BaseException:
            kind = "failed"
            raise
        finally:
            if kind is not None:
                with suppress(OSError):  # what cannot be written is not needed
                    self.file.close()
                if not self.stays:
                    self.part.unlink(missing_ok=True)

    def sync(self):
        """Have what was written so far on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())


def replace(part, target):
    """Give a file the name of another, which it replaces, and have the name on the disk."""
    os.replace(part, target)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(target.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def is_written_to(path):
    """Whether a path is a device, a pipe or the standard output, which cannot be replaced."""
    found = _stat(path)
    return found is not None and (not stat.S_ISREG(found.st_mode) or _standard_stream(found) is not None)


def check_outputs(outputs, inputs=()):
    """Refuse, before hours of learning, paths that no file can be written to, and those of inputs and of other outputs.

    ``outputs`` are pairs of what is written and its path, None, or ``STANDARD_OUTPUT``; ``inputs`` are paths.
    """
    outputs = [(what, path) for what, path in outputs if path is not None]
    for number, (what, path) in enumerate(outputs):
        if path != STANDARD_OUTPUT:
            _check_place(what, Path(path))
        taken = [("the input", other) for other in inputs] + [(f"{name} in", other) for name, other in outputs[:number]]
        for name, other in taken:
            if _are_one_file(path, other):
                raise ValueError(
                    f"{what.capitalize()} would replace {name} {other}{_also(path, other)}; name another file."
                )


def _check_place(what, path):
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} for {what}; make it first.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file for {what}; name a file in it.")


def _also(path, other):
    """What to add where the file goes by two names."""
    if path == STANDARD_OUTPUT:
        return ", to which the standard output is directed"
    return "" if str(path) == str(other) else f", which is the same file as {path}"


def _are_one_file(one, other):
    """Whether two paths lead to one file, be it there already or not; devices and pipes are none."""
    found = _stat(one), _stat(other)
    if None in found:
        one, other = (os.path.normcase(os.path.realpath(path)) for path in (one, other))
        return one == other
    return stat.S_ISREG(found[0].st_mode) and os.path.samestat(*found)


def _stat(path):
    """What is found at a path, links followed; None if nothing is."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
    except OSError:
        if path == STANDARD_OUTPUT:  # it is closed
            return None
        raise


def _standard_stream(found):
    """The standard output, or error, if a path led there: it may be a file that other lines are written to, before and behind."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(AttributeError, ValueError, OSError):  # there is none, or it is closed
            if found is not None and os.path.samestat(found, os.fstat(stream.fileno())):
                return stream
    return None
