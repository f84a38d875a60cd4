"""The streams of the files on the command line."""

import inspect
from pathlib import Path

from ..streams import open_stream


def stream_of(given, text=()):
    """A stream of the files, with the options that its kind takes; others are refused."""
    files = given.files[0] if len(given.files) == 1 else [Path(path) for path in given.files]
    asked = {
        "--delimiter": ("delimiter", given.delimiter),
        "--decimal": ("decimal", given.decimal),
        "--no-header": ("header", False if given.no_header else None),
        "--encoding": ("encoding", given.encoding),
        "--features": ("n_features", given.features),
        "--chunk-rows": ("chunk_rows", given.chunk_rows),
        "--max-columns": ("max_columns", given.max_columns),
        "--max-line-bytes": ("max_line_bytes", given.max_line_bytes),
    }
    plain = open_stream(files)
    takes = inspect.signature(type(plain)).parameters
    options = {}
    for flag, (name, value) in asked.items():
        if value is None:
            continue
        if name not in takes:
            raise ValueError(f"{flag} does not go with {plain.name}; leave it out.")
        options[name] = value
    if "text" in takes:
        present = open_stream(files, **options)._names(plain.files[0])[0]
        options["text"] = [name for name in text if name in present]  # the encoder refuses others
    return open_stream(files, **options) if options else plain
