"""Text files in blocks of whole lines: svmlight and CSV."""

import bz2
import gzip
import io
import lzma
from pathlib import Path

import numpy as np
from scipy import sparse

from .._kernels._svmlight import read_lines
from . import _tables
from ._streams import Chunk, FileStream, check_columns, other_separator

CHUNK_BYTES = 2**22
# 1,5 and 1.5; 1,234,567.8; 1.234.567,8; but not dates such as 01.02.2020
LIKE_A_NUMBER = (
    r"^\s*[+-]?([0-9]*[.,]?[0-9]*([eE][+-]?[0-9]+)?"
    r"|[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?|[0-9]{1,3}(\.[0-9]{3})+(,[0-9]*)?)\s*$"
)
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def blocks(path, place, size):
    """(block, its end, share of the file read): blocks of whole lines, ``size`` bytes up to the next end of a line.

    Places are bytes of the text, uncompressed. A block is determined by its beginning, so a reading that begins at the end of a
    block has the same blocks from there on.
    """
    path = Path(path)
    whole = max(path.stat().st_size, 1)
    with open(path, "rb") as raw:
        opener = OPENERS.get(path.suffix.lower())
        file = raw if opener is None else opener(raw)
        file.seek(place)
        while block := file.read(size):
            block += file.readline()
            place += len(block)
            yield block, place, raw.tell() / whole


class SvmlightStream(FileStream):
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

    suffixes = (".svm", ".svmlight", ".libsvm")

    def __init__(self, files, *, n_features=None, zero_based="auto", chunk_bytes=CHUNK_BYTES):
        super().__init__(files)
        self.n_features = n_features
        self.zero_based = zero_based
        self.chunk_bytes = chunk_bytes
        self._found = None

    def _read(self, path, place, columns):
        n_features, zero_based = self._indices()
        for block, end, done in blocks(path, place, self.chunk_bytes):
            X, y = _parsed(path, block, n_features, zero_based)
            if len(y):
                yield Chunk(X, y, end=end, done=done)

    def _fingerprint(self):
        return {
            **super()._fingerprint(),
            "chunk_bytes": self.chunk_bytes,
            "n_features": self.n_features,
            "zero_based": self.zero_based,
        }

    def _findings(self):
        return {} if self._found is None else {"indices": list(self._found)}

    def _recall(self, found):
        self._found = tuple(found["indices"]) if "indices" in found else None

    def _indices(self):
        """Number of features, and whether the first is 0."""
        if self._found is not None:
            return self._found
        least, largest = None, -1
        known = self.n_features is not None
        if not known or self.zero_based == "auto":
            for path in self.files:
                for block, *_ in blocks(path, 0, self.chunk_bytes):
                    X, _ = _parsed(path, block, None, True)
                    if X.nnz:
                        own = X.indices.min(), X.indices.max()
                        least = own[0] if least is None else min(least, own[0])
                        largest = max(largest, own[1])
                    if known:
                        break
                if known:
                    break
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


class CSVStream(FileStream):
    """The rows of CSV files, in chunks of whole lines, parsed by pyarrow.

    The first line has the names of the columns. The first chunk decides which columns hold numbers and which text. An empty field,
    and what pyarrow takes for null (``NA``, ``null``, ``NaN``, …), is a missing value. A quoted value may have a delimiter in it but
    no line break.

    Parameters
    ----------
    files : path, or list of paths
        Text, or compressed text (.gz, .bz2, .xz); a folder stands for its files, sorted by name.
    delimiter : str or None, default=None
        What separates the values; None is a tab where the name ends in ``.tsv``, a semicolon where ``decimal`` is a comma, and a
        comma elsewhere.
    decimal : str, default="."
        What separates the whole part of a number from its fraction; ``","`` reads ``1,5``. A column that would be text although
        all of its values are numbers, with another decimal point or with separators of thousands, is refused unless ``text``
        names it.
    text : list of str, default=()
        Columns that are text though they look like numbers, such as codes with leading zeros.
    chunk_bytes : int, default=2**22
        Size of a chunk of text, which is extended to the end of a line.

    See Also
    --------
    ParquetStream : Files that are faster to read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_adareg.streams import CSVStream
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("size,colour\\n1.5,red\\n2,blue\\n")
    ...     [chunk] = CSVStream(path).chunks()  # doctest: +SKIP
    >>> chunk.X.column_names  # doctest: +SKIP
    ['size', 'colour']
    """

    suffixes = (".csv", ".tsv")

    def __init__(self, files, *, delimiter=None, decimal=".", text=(), chunk_bytes=CHUNK_BYTES):
        super().__init__(files)
        _tables.arrow("Reading CSV")
        for name, sign in (("delimiter", delimiter), ("decimal", decimal)):
            if sign is not None and not (
                isinstance(sign, str) and len(sign) == 1 and sign.isascii()
            ):
                raise ValueError(f"{name}={sign!r} is not one ASCII character; pass one.")
        self.delimiter = delimiter
        self.decimal = decimal
        self.text = list(text)
        self.chunk_bytes = chunk_bytes
        self._kinds = None

    def _read(self, path, place, columns):
        kinds = self._types()
        names, header = self._header(path)
        if set(names) != set(kinds):
            strange = sorted(set(names) ^ set(kinds))
            raise ValueError(
                f"{path.name} and {self.files[0].name} do not have the same columns: {strange[0]!r} is in one of them only; read "
                "them as two streams."
            )
        check_columns(path, names, columns)
        for block, end, done in blocks(path, max(place, header), self.chunk_bytes):
            table = self._parsed(path, block, names, kinds, columns)
            if table.num_rows:
                yield Chunk(table, end=end, done=done)

    def _fingerprint(self):
        return {
            **super()._fingerprint(),
            "chunk_bytes": self.chunk_bytes,
            "delimiter": self.delimiter,
            "decimal": self.decimal,
            "text": self.text,
        }

    def _findings(self):
        return {} if self._kinds is None else {"kinds": self._kinds}

    def _recall(self, found):
        self._kinds = found.get("kinds")

    def _header(self, path):
        """The names in the first line, and where the second begins."""
        first, end, _ = next(blocks(path, 0, 1), (b"", 0, 0))
        if not first.strip():
            raise ValueError(
                f"{path.name} is empty; a CSV file begins with the names of its columns."
            )
        table = self._csv(first, None, None)
        return table.column_names, end

    def _types(self):
        """Column → "number", "text" or the name of another type, by the first chunk with rows."""
        if self._kinds is None:
            path = self.files[0]
            names, header = self._header(path)
            unknown = [name for name in self.text if name not in names]
            if unknown:
                raise ValueError(
                    f"text names the column {unknown[0]!r}, and {path.name} has none of that name; check the spelling."
                )
            block = next((block for block, *_ in blocks(path, header, self.chunk_bytes)), b"")
            given = {name: "text" for name in self.text}
            table = self._parsed(path, block, names, given, None) if block.strip() else None
            if table is not None:
                self._check_decimals(path, table)
            self._kinds = {
                name: "number" if table is None else _tables.kind(table, name) for name in names
            }
        return self._kinds

    def _parsed(self, path, block, names, kinds, columns):
        pa = _tables.arrow("Reading CSV")
        types = {"number": pa.float64(), "text": pa.string()}
        wanted = {name: types[kind] for name, kind in kinds.items() if kind in types}
        try:
            return self._csv(block, names, wanted, columns)
        except pa.ArrowInvalid as error:
            other = other_separator(names)
            advice = (
                "a column whose first rows are numbers is read as numbers unless text=[…] (--categorical) names it, and a value has "
                f"no line break in it. If it is not {self._separator()!r} that separates the values, set delimiter (--delimiter)"
            )
            raise ValueError(
                f"{path.name} cannot be read ({str(error).splitlines()[0].rstrip('.')}); {other or advice}."
            ) from error

    def _check_decimals(self, path, table):
        """Refuse numbers that would be read as text, for their decimal commas or their separators of thousands."""
        import pyarrow.compute as pc

        other = "." if self.decimal == "," else ","
        for name in table.column_names:
            if name in self.text or _tables.kind(table, name) != "text":
                continue
            values = table.column(name).drop_null()
            if pc.all(pc.match_substring_regex(values, LIKE_A_NUMBER)).as_py():
                odd = [value for value in values.to_pylist() if other in value]
                both = [value for value in odd if self.decimal in value]
                point = "" if both else f"set decimal={other!r} (--decimal {other}), "
                raise ValueError(
                    f"The column {name!r} of {path.name} has values such as {[*both, *odd, values[0].as_py()][0]!r}, which are no "
                    f"numbers with decimal={self.decimal!r}; {point}write numbers without separators of thousands, or take the "
                    f"column as text by text=[{name!r}] (--categorical {name})."
                )

    def _separator(self):
        if self.delimiter is not None:
            return self.delimiter
        if any(".tsv" in path.suffixes for path in self.files):
            return "\t"
        return ";" if self.decimal == "," else ","

    def _csv(self, block, names, types, columns=None):
        pa = _tables.arrow("Reading CSV")
        import pyarrow.csv as arrow_csv

        return arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(column_names=names),
            parse_options=arrow_csv.ParseOptions(delimiter=self._separator()),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                decimal_point=self.decimal,
                strings_can_be_null=True,
                include_columns=columns,
            ),
        )
