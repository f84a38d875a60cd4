"""The files on the command line: streams of rows, and models, which are those that the command makes."""

import inspect
from pathlib import Path

from sklearn.pipeline import Pipeline

from ..estimators._base import BaseAdaReg
from ..persistence._model_files import load_model
from ..streams import TableEncoder, open_stream


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
    options = {name: value for name, value in asked.values() if value is not None}
    for flag, (name, _) in asked.items():
        if name in options and name not in takes:
            raise ValueError(f"{flag} does not go with {plain.name}; leave it out.")
    if "text" in takes:
        present = open_stream(files, **options)._names(plain.files[0])[0]
        options["text"] = [name for name in text if name in present]  # the encoder refuses others
    return open_stream(files, **options) if options else plain


def load(path):
    """An estimator of this package, or a Pipeline of a TableEncoder and one; others are refused."""
    model = load_model(path)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [None, model]
    first, *between, last = steps
    for step, kind in ((first, TableEncoder), *((step, type(None)) for step in between), (last, BaseAdaReg)):
        if step is not None and not isinstance(step, kind):
            raise ValueError(
                f"{path} holds a {type(step).__name__}, and adareg works with the models that adareg train makes; use load_model in "
                "Python."
            )
    return model


def text_columns(model):
    """Columns that need not be numbers, whatever they look like."""
    return () if not isinstance(model, Pipeline) else [*(model[0].categorical or ()), *(model[0].drop or ())]
