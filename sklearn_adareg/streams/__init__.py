"""Rows that do not fit in memory: files and other sources in chunks, and learning from them in one pass."""

from ._csv import CSVStream
from ._encoder import TableEncoder
from ._fit import fit_stream, open_stream
from ._parquet import ParquetStream
from ._streams import ChunkStream
from ._text import SvmlightStream

__all__ = ["CSVStream", "ChunkStream", "ParquetStream", "SvmlightStream", "TableEncoder", "fit_stream", "open_stream"]
