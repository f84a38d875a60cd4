"""Text files in blocks of whole lines; svmlight."""

import bz2
import gzip
import io
import lzma
import zlib
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
from scipy import sparse

from .._kernels.data._svmlight import read_lines
from ._streams import Chunk, FileStream, check_count

CHUNK_BYTES = 2**22
LINE_BYTES = 2**26
PARSED_BYTES = 2**31 - 1  # what the parsers can count
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def blocks(path, place, size, longest, quotes=False):
    """(block, its end, share of the file read): blocks of whole lines, ``size`` bytes up to the next end of a line.

    A line that goes on for more than ``longest`` bytes is refused.

    Places are bytes of the text, uncompressed. A block is determined by its beginning, so a reading that begins at the end of a
    block has the same blocks from there on. With ``quotes`` a block does not end within quotes, which may have lines in them.
    """
    path = Path(path)
    whole = max(path.stat().st_size, 1)
    try:
        with open(path, "rb") as raw:
            opener = OPENERS.get(path.suffix.lower())
            file = raw if opener is None else opener(raw)
            file.seek(place)
            while block := file.read(size):
                block += _line(path, file, longest)
                if quotes and block.count(b'"') % 2:
                    block += _closing_lines(path, file, size, longest)
                if len(block) > PARSED_BYTES:
                    raise ValueError(
                        f"{path.name} has a chunk of {len(block):,} bytes, and {PARSED_BYTES:,} can be parsed at once; pass a "
                        "smaller chunk_bytes."
                    )
                place += len(block)
                yield block, place, raw.tell() / whole
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.errno is None:  # of a decompressor, not of the disk
            raise _damaged(path, error) from error
        raise


def _line(path, file, longest):
    """What is left of a line."""
    line = file.readline(longest + 1)
    if len(line) > longest:
        raise ValueError(
            f"{path.name} has a line of more than max_line_bytes={longest:,} bytes; check that it is a text file with a row in each "
            "line, or raise max_line_bytes (--max-line-bytes)."
        )
    return line


def _closing_lines(path, file, size, longest):
    """Lines up to one with an odd number of quotes, or ``size`` bytes of them: a lone quote does not take in the whole file."""
    lines, length = [], 0
    while length < size and (line := _line(path, file, longest)):
        lines.append(line)
        length += len(line)
        if line.count(b'"') % 2:
            break
    return b"".join(lines)


def _damaged(path, error):
    return ValueError(
        f"{path.name} cannot be decompressed ({str(error).rstrip('.')}); it is cut off, damaged, or not what its name ends in: copy "
        "it anew, or rename it."
    )


class TextStream(FileStream):
    """Text files in blocks of whole lines."""

    def _set_sizes(self, chunk_bytes, max_line_bytes):
        self.chunk_bytes = check_count("chunk_bytes", chunk_bytes)
        self.max_line_bytes = check_count("max_line_bytes", max_line_bytes)

    def _blocks(self, path, place, size, quotes=False):
        return blocks(path, place, size, self.max_line_bytes, quotes)


class SvmlightStream(TextStream):
    """The rows of svmlight (libsvm) files, in chunks of whole lines.

    A chunk of plain lines ('label index:value …') is parsed without the GIL, beside the thread that learns; any other by
    scikit-learn's reader, with the same result.

    Parameters
    ----------
    files : path, or list of paths
        Text, or compressed text (.gz, .bz2, .xz); a folder stands for its files, sorted by name. Query identifiers are ignored.
    n_features : int or None, default=None
        Number of features. Without it the files are read once more, at the beginning, to find the largest index.
    zero_based : bool or "auto", default="auto"
        Whether the first feature has the index 0. "auto": whether index 0 occurs, in all files if ``n_features`` is None and
        otherwise in the first chunk.
    chunk_bytes : int, default=2**22
        Size of a chunk of text, which is extended to the end of a line.
    max_line_bytes : int, default=2**26
        By how many bytes a chunk is extended at most. A longer line is refused, before it fills the memory.

    See Also
    --------
    sklearn.datasets.load_svmlight_file : The whole file at once.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_adareg.streams import SvmlightStream
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.svm"
    ...     _ = path.write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    ...     [chunk] = SvmlightStream(path).chunks()
    >>> chunk.X.shape
    (2, 3)
    """

    __module__ = "sklearn_adareg.streams"  # the public path

    suffixes = (".svm", ".svmlight", ".libsvm")
    _found_out = ("_found",)
    _decisive = ("chunk_bytes", "n_features", "zero_based")

    def __init__(
        self, files, *, n_features=None, zero_based="auto", chunk_bytes=CHUNK_BYTES, max_line_bytes=LINE_BYTES
    ):
        super().__init__(files)
        self.n_features = check_count("n_features", n_features, optional=True)
        self.zero_based = zero_based
        self._set_sizes(chunk_bytes, max_line_bytes)
        self._found = None

    def _read(self, path, place, columns):
        n_features, zero_based = self._indices()
        for block, end, done in self._blocks(path, place, self.chunk_bytes):
            X, y = _parsed(path, block, n_features, zero_based)
            if len(y):
                yield Chunk(X, y, end=end, done=done)

    def _indices(self):
        """Number of features, and whether the first is 0."""
        if self._found is not None:
            return self._found
        least, largest = None, -1
        known = self.n_features is not None
        if not known or self.zero_based == "auto":
            of_files = (zip(repeat(path), self._blocks(path, 0, self.chunk_bytes)) for path in self.files)
            for path, (block, *_) in islice(chain.from_iterable(of_files), 1 if known else None):
                X, _ = _parsed(path, block, None, True)
                if X.nnz:
                    least = X.indices.min() if least is None else min(least, X.indices.min())
                    largest = max(largest, X.indices.max())
        zero_based = least == 0 if self.zero_based == "auto" else bool(self.zero_based)
        n_features = self.n_features if known else int(largest) + bool(zero_based)
        self._found = int(n_features), bool(zero_based)
        return self._found


def _parsed(path, block, n_features, zero_based):
    plain = _plain(block, n_features, zero_based)
    if plain is not None:
        return plain
    from sklearn.datasets import load_svmlight_file  # which takes long to import

    try:
        return load_svmlight_file(io.BytesIO(block), n_features=n_features, zero_based=zero_based)
    except (ValueError, OverflowError, IndexError) as error:
        raise ValueError(
            f"{path.name} cannot be read as svmlight ({str(error).rstrip('.')}); check its lines, which are 'label index:value …', "
            "and n_features and zero_based if you passed them."
        ) from error


def _plain(block, n_features, zero_based):
    """What scikit-learn's reader returns, several times as fast and without the GIL; None where it has to decide."""
    lines, values = block.count(b"\n") + 1, block.count(b":")
    if values > np.iinfo(np.int32).max:
        return None
    y, data = np.empty(lines), np.empty(values)
    indices, ends = np.empty(values, dtype=np.int32), np.empty(lines + 1, dtype=np.int32)
    rows = read_lines(block, y, indices, data, ends)
    if rows < 0:
        return None
    y, ends = y[:rows], ends[: rows + 1]
    indices, data = indices[: ends[-1]], data[: ends[-1]]
    if not zero_based:
        indices -= 1
    least, largest = (indices.min(), indices.max()) if len(indices) else (0, -1)
    if least < 0 or (n_features is not None and largest >= n_features):
        return None
    shape = (rows, int(largest) + 1 if n_features is None else n_features)
    return sparse.csr_matrix((data, indices, ends), shape), y
