"""A stream from whatever it is made of."""

from pathlib import Path

from ._csv import CSVStream
from ._parquet import ParquetStream
from ._streams import ChunkStream, Stream, list_files, suffix
from ._text import SvmlightStream

FILES = (ParquetStream, CSVStream, SvmlightStream)


def open_stream(source, **options):
    """A stream from a file's name, from chunks, or from a stream.

    Parameters
    ----------
    source : path, list of paths, iterable, callable or Stream
        A Parquet, CSV or svmlight file, told apart by the ends of their names (``.parquet``, ``.pq``; ``.csv``, ``.tsv``; ``.svm``,
        ``.svmlight``, ``.libsvm``; text also with ``.gz``, ``.bz2``, ``.xz``), a list of such, or a folder of them; or what
        :class:`ChunkStream` takes.
    **options : dict
        For the class of the file's stream.

    Returns
    -------
    Stream
        The stream.

    See Also
    --------
    fit_stream : Learn from a stream.

    Examples
    --------
    >>> from sklearn_adareg.streams import open_stream
    >>> type(open_stream([([[1.0]], [2.0])])).__name__
    'ChunkStream'
    """
    if isinstance(source, Stream):
        return source
    if not _is_path(source):
        return ChunkStream(source, **options)
    every = tuple(end for cls in FILES for end in cls.suffixes)
    ends = {suffix(path) for path in list_files(source, every)}
    found = [cls for cls in FILES if ends <= set(cls.suffixes)]
    if not found and ends <= set(every):
        raise ValueError(
            f"These files are of several kinds ({', '.join(sorted(ends))}), and a stream has one; name those of one kind."
        )
    if not found:
        strange = next(path for path in list_files(source, every) if suffix(path) not in every)
        raise ValueError(
            f"{strange} ends in {suffix(strange)!r}, and the files that can be read end in {', '.join(every)}; rename it, or use "
            "ParquetStream, CSVStream or SvmlightStream."
        )
    return found[0](source, **options)


def _is_path(source):
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(one, str | Path) for one in source)
    return isinstance(source, str | Path)
