"""A CSV file of what a model predicted for each row before it learnt from it."""

import shutil
from contextlib import ExitStack, contextmanager, suppress

import numpy as np

from ..persistence._output_files import OutputFile, is_written_to, replace

try:
    import fcntl
except ImportError:  # on Windows, where no other process can remove a file that is open
    fcntl = None


class PredictionFile:
    """Rows of targets and predictions, appended while the file is open.

    A checkpoint names the new file that is being written (``OutputFile``) and how much of it there is. A run that goes on from there
    takes that much over, into a new file of its own, and removes the earlier one unless another process still writes to it.
    """

    def __init__(self, path, resumable=False):
        if resumable and is_written_to(path):
            raise ValueError(
                f"{path} is no file, so that predictions that go there cannot be resumed; name a file, or leave checkpoint out."
            )
        self.output = OutputFile(path)
        self.earlier, self.kept = None, 0

    def resume(self, name, kept):
        """Go on from what an earlier run had written."""
        self.earlier, self.kept = self.output.target.with_name(name), kept

    def __enter__(self):
        if self.kept and (not self.earlier.is_file() or self.earlier.stat().st_size < self.kept):
            raise ValueError(
                f"The checkpoint knows of {self.kept} bytes of predictions, and {self.earlier} has fewer; put the file back, or "
                "remove the checkpoint to start anew."
            )
        with ExitStack() as stack:
            self.file = stack.enter_context(self.output)
            if self.output.part is not None:
                _lock(self.file)
            if self.kept:
                with open(self.earlier, "rb") as earlier:
                    shutil.copyfileobj(earlier, self.file)
                self.file.seek(self.kept)
                self.file.truncate()
            self.has_names = self.kept > 0
            self.opened = stack.pop_all()
        return self

    def __exit__(self, *error):
        self.opened.__exit__(*error)

    def write(self, targets, predictions, target_names, names):
        """Add the rows of a chunk; both arrays have a column for each name."""
        if not self.has_names:
            self.has_names = True
            self.file.write((line_of([*target_names, *names]) + "\n").encode())
        self.file.write(lines_of(targets, predictions).encode())

    def state(self):
        """What a checkpoint has to hold: all rows are on the disk."""
        self.output.sync()
        return self.output.part.name, self.file.tell()

    @contextmanager
    def named(self):
        """To be left when a checkpoint has been written: the file that it names stays, that of an earlier run goes."""
        stays, self.output.stays = self.output.stays, True  # first, for the sake of Ctrl-C
        try:
            yield
        except OSError:
            self.output.stays = stays
            raise
        if self.earlier is not None and _is_abandoned(self.earlier):
            with suppress(OSError):
                self.earlier.unlink()
        self.earlier = None

    def finish(self):
        """What is left to do where a process died right after it had written its last checkpoint."""
        if _is_abandoned(self.earlier):
            replace(self.earlier, self.output.target)


def _is_abandoned(path):
    """Whether there is a file that no process writes to any more."""
    with suppress(FileNotFoundError), open(path, "rb") as file:
        return _lock(file)
    return False


def _lock(file):
    """Lock a file as long as it is open, unless another process has locked it; whether that went well."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def lines_of(*arrays):
    """Lines with the columns of these arrays."""
    columns = [column.tolist() for array in arrays for column in np.reshape(array, (len(array), -1)).T]
    return "\n".join(map(line_of, zip(*columns, strict=True))) + "\n"


def line_of(row):
    """The values of a row: numbers so that they read back the same, text in quotes where it has to be."""
    texts = [repr(value) if isinstance(value, float) else str(value) for value in row]
    return ",".join(f'"{t.replace(chr(34), 2 * chr(34))}"' if any(c in t for c in ',"\n') else t for t in texts)
