"""Parquet files in chunks of rows."""

from bisect import bisect_right
from itertools import accumulate

from . import _tables
from ._streams import Chunk, FileStream, check_columns, check_count, first_double

CHUNK_ROWS = 10_000
BUFFER = 2**20  # bytes read ahead in each column


class ParquetStream(FileStream):
    """The rows of Parquet files, in chunks of a fixed number of rows.

    Parameters
    ----------
    files : path, or list of paths
        Parquet files; a folder stands for its files, sorted by name.
    chunk_rows : int, default=10_000
        Number of rows of a chunk, whatever the row groups are. The last chunk of a file may have fewer.
    columns : list of str or None, default=None
        The columns to read, target included; None reads all.

    See Also
    --------
    CSVStream : Files of text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from sklearn_adareg.streams import ParquetStream
    >>> with TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     path = Path(folder) / "rows.parquet"
    ...     pd.DataFrame({"size": [1.5, 2.0, 2.5]}).to_parquet(path)
    ...     [chunk.X.num_rows for chunk in ParquetStream(path, chunk_rows=2).chunks()]
    [2, 1]
    """

    __module__ = "sklearn_adareg.streams"  # the public path

    suffixes = (".parquet", ".pq")
    _decisive = ("chunk_rows", "columns")

    def __init__(self, files, *, chunk_rows=CHUNK_ROWS, columns=None):
        super().__init__(files)
        _tables.arrow("Reading Parquet")
        self.chunk_rows = check_count("chunk_rows", chunk_rows)
        self.columns = columns

    def _read(self, path, place, columns):
        pa = _tables.arrow("Reading Parquet")
        from pyarrow.parquet import ParquetFile

        try:
            # not pre_buffer, which would keep a whole row group in memory
            file = ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"{path.name} is not a Parquet file, or is damaged ({str(error).splitlines()[0].rstrip('.')}); write it anew."
            ) from error
        with file:
            wanted = self.columns if columns is None else columns
            names = file.schema_arrow.names
            double = first_double(names)
            if double is not None:
                raise ValueError(f"{path.name} has two columns with the name {double!r}; rename one.")
            check_columns(path, names, wanted)
            total = file.metadata.num_rows
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            ends = list(accumulate(sizes))
            group = bisect_right(ends, place)
            skip = place - (ends[group - 1] if group else 0)
            for table in self._cut(file, range(group, len(sizes)), skip, wanted):
                place += table.num_rows
                yield Chunk(table, end=place, done=place / total)

    def _cut(self, file, groups, skip, columns):
        """Tables of ``chunk_rows`` rows. Row groups are read one by one: where batches end otherwise depends on pyarrow."""
        pa = _tables.arrow("Reading Parquet")
        held, rows = [], 0
        for group in groups:
            for batch in file.iter_batches(self.chunk_rows, row_groups=[group], columns=columns):
                if skip >= batch.num_rows:
                    skip -= batch.num_rows
                    continue
                batch, skip = batch.slice(skip), 0
                while rows + batch.num_rows >= self.chunk_rows:
                    part = self.chunk_rows - rows
                    yield pa.Table.from_batches([*held, batch.slice(0, part)])
                    held, rows, batch = [], 0, batch.slice(part)
                if batch.num_rows:
                    held.append(batch)
                    rows += batch.num_rows
        if held:
            yield pa.Table.from_batches(held)
