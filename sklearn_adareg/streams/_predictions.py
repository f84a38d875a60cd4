"""A CSV file of what a model predicted for each row before it learnt from it."""

import os
from pathlib import Path

import numpy as np


class PredictionFile:
    """Rows of targets and predictions, appended while the file is open.

    ``kept`` is how much of an earlier run's file is kept: what was written before its last checkpoint.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.kept = 0

    def __enter__(self):
        if self.kept and (not self.path.exists() or self.path.stat().st_size < self.kept):
            raise ValueError(
                f"The checkpoint knows of {self.kept} bytes of predictions, and {self.path} has fewer; put the file back, or remove "
                "the checkpoint to start anew."
            )
        self.file = open(self.path, "r+b" if self.kept else "wb")
        self.file.truncate(self.kept)
        self.file.seek(self.kept)
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, targets, predictions, target_names, names):
        """Add the rows of a chunk; both arrays have a column for each name."""
        if self.file.tell() == 0:
            self.file.write((",".join(_fields([*target_names, *names])) + "\n").encode())
        columns = [column.tolist() for column in np.reshape(targets, (len(predictions), -1)).T]
        columns += [column.tolist() for column in predictions.T]
        lines = (",".join(_fields(row)) for row in zip(*columns, strict=True))
        self.file.write(("\n".join(lines) + "\n").encode())

    def sync(self):
        """Have all rows on the disk; the length of the file."""
        self.file.flush()
        os.fsync(self.file.fileno())
        return self.file.tell()


def _fields(row):
    """Values of a row: numbers so that they read back the same, text in quotes where it has to be."""
    for value in row:
        text = repr(value) if isinstance(value, float) else str(value)
        yield f'"{text.replace(chr(34), 2 * chr(34))}"' if any(c in text for c in ',"\n') else text
