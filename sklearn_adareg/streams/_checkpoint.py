"""Checkpoints: everything that a stream needs to go on, in one file that is replaced at once or not at all."""

import pickle
import re
import zlib
from pathlib import Path

from ..persistence._output_files import OutputFile

MAGIC = b"sklearn_adareg checkpoint 1\n"


def write(path, content):
    """Replace the file by one with this content."""
    body = pickle.dumps(content, protocol=5)
    with OutputFile(path) as file:
        file.write(MAGIC + zlib.crc32(body).to_bytes(4, "little"))
        file.write(body)


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
