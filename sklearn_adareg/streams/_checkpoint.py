"""Checkpoints: everything that a stream needs to go on, in one file that is replaced at once or not at all."""

import os
import pickle
import re
import zlib
from pathlib import Path

MAGIC = b"sklearn_adareg checkpoint 1\n"


def write(path, content):
    """Replace the file by one with this content; a reader sees the old or the new one, whole, whenever the process dies."""
    path = Path(path)
    body = pickle.dumps(content, protocol=5)
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(MAGIC + zlib.crc32(body).to_bytes(4, "little"))
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    if hasattr(os, "O_DIRECTORY"):  # the new name is on the disk, too
        folder = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read(path):
    """The content of a checkpoint, or None where there is no file. A checkpoint is a pickle: read only your own."""
    path = Path(path)
    if not path.exists():
        return None
    whole = path.read_bytes()
    head, body = whole[: len(MAGIC) + 4], whole[len(MAGIC) + 4 :]
    if not head.startswith(MAGIC) or head[len(MAGIC) :] != zlib.crc32(body).to_bytes(4, "little"):
        raise ValueError(
            f"{path} is no checkpoint of sklearn_adareg, or is damaged; remove it to start anew, or name another file."
        )
    return pickle.loads(body)


def parameters(model):
    """The parameters of a model, as text that is the same in every process."""
    values = model.get_params(deep=True)
    return {
        name: re.sub(r" at 0x[0-9a-f]+", "", repr(value))
        for name, value in sorted(values.items())
        if not hasattr(value, "get_params") and name not in ("steps", "verbose", "n_jobs")
    }


def difference(now, before):
    """The first entry in which two dicts differ, as (name, now, before); None if there is none."""
    for name in sorted({*now, *before}):
        if now.get(name) != before.get(name):
            return name, now.get(name), before.get(name)
    return None
