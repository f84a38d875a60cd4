"""CSV files in blocks of whole lines, parsed by pyarrow."""

import codecs
import re

from . import _tables
from ._streams import Chunk, check_columns, check_count, first_double, other_separator
from ._text import CHUNK_BYTES, LINE_BYTES, TextStream

# 1,5 and 1.5; 1,234,567.8; 1.234.567,8; but not dates such as 01.02.2020
LIKE_A_NUMBER = (
    r"^\s*[+-]?([0-9]*[.,]?[0-9]*([eE][+-]?[0-9]+)?"
    r"|[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?|[0-9]{1,3}(\.[0-9]{3})+(,[0-9]*)?)\s*$"
)
UTF_8 = "utf-8"
COLUMNS = 50_000
SMALL = 2**20  # bytes that one thread parses, in one piece


class CSVStream(TextStream):
    """The rows of CSV files, in chunks of whole lines, parsed by pyarrow.

    The first chunk decides which columns hold numbers and which text. An empty field, and what pyarrow takes for null (``NA``,
    ``null``, ``NaN``, …), is a missing value. A quoted value may have delimiters and line breaks in it.

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
    header : bool, default=True
        Whether the first line has the names of the columns. If not, they are called ``"0"``, ``"1"`` and so on.
    encoding : str, default="utf-8"
        How characters are stored, such as ``"latin-1"`` or ``"cp1252"``; not UTF-16 or UTF-32.
    text : list of str, default=()
        Columns that are text though they look like numbers, such as codes with leading zeros.
    chunk_bytes : int, default=2**22
        Size of a chunk of text, which is extended to the end of a line.
    max_line_bytes : int, default=2**26
        By how many bytes a chunk is extended at most. A longer line is refused, before it fills the memory.
    max_columns : int, default=50_000
        With how many columns a file is read at most. Each takes some 30 kB of memory while a model learns.

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

    __module__ = "sklearn_adareg.streams"  # the public path

    suffixes = (".csv", ".tsv")
    _found_out = ("_kinds",)
    _decisive = ("chunk_bytes", "delimiter", "decimal", "header", "encoding", "text")

    def __init__(
        self,
        files,
        *,
        delimiter=None,
        decimal=".",
        header=True,
        encoding=UTF_8,
        text=(),
        chunk_bytes=CHUNK_BYTES,
        max_line_bytes=LINE_BYTES,
        max_columns=COLUMNS,
    ):
        super().__init__(files)
        _tables.arrow("Reading CSV")
        for name, sign in (("delimiter", delimiter), ("decimal", decimal)):
            if sign is not None and not (isinstance(sign, str) and len(sign) == 1 and sign.isascii()):
                raise ValueError(f"{name}={sign!r} is not one ASCII character; pass one.")
        self.delimiter, self.decimal, self.header = delimiter, decimal, header
        self.encoding, self.text = _checked_encoding(encoding), list(text)
        self._set_sizes(chunk_bytes, max_line_bytes)
        self.max_columns = check_count("max_columns", max_columns)
        self._kinds = None

    def _read(self, path, place, columns):
        kinds = self._types()
        names, begin = self._names(path)
        if set(names) != set(kinds):
            strange = sorted(set(names) ^ set(kinds))
            raise ValueError(
                f"{path.name} and {self.files[0].name} do not have the same columns: {strange[0]!r} is in one of them only; read "
                "them as two streams."
            )
        check_columns(path, names, columns)
        for block, end, done in self._blocks(path, max(place, begin), self.chunk_bytes, quotes=True):
            table = self._parsed(path, block, names, kinds, columns)
            if table.num_rows:
                yield Chunk(table, end=end, done=done)

    def _names(self, path):
        """The names of the columns, and where the rows begin."""
        first, end, _ = next(self._blocks(path, 0, 1), (b"", 0, 0))
        if not first.strip():
            raise ValueError(f"{path.name} is empty, or its first line is; write it anew.")
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ValueError(f"{path.name} is stored as UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8).")
        if b"\r" in first.rstrip(b"\r\n"):
            raise ValueError(
                f"The lines of {path.name} end in carriage returns alone; save it with line feeds (tr '\\r' '\\n')."
            )
        count = first.count(self._separator().encode()) + 1
        if count > self.max_columns:
            raise ValueError(
                f"{path.name} has {count:,} columns, more than max_columns={self.max_columns:,}; write it as svmlight, or raise "
                "max_columns (--max-columns)."
            )
        try:
            found = self._csv(self._decoded(path, first), None, None).column_names
        except UnicodeDecodeError as error:
            raise self._strange_characters(path) from error
        names = [name.strip() for name in found]
        if not self.header:
            return [str(number) for number in range(len(names))], 0
        double = first_double(names)
        if double is not None:
            raise ValueError(
                f"{path.name} has two columns with the name {double!r}; rename one of them, or pass header=False (--no-header) if "
                "its first line has no names."
            )
        return names, end

    def _types(self):
        """Column → "number", "boolean", "text" or the name of another type, by the first chunk with rows."""
        if self._kinds is None:
            path = self.files[0]
            names, begin = self._names(path)
            unknown = [name for name in self.text if name not in names]
            if unknown:
                raise ValueError(
                    f"text names the column {unknown[0]!r}, and {path.name} has none of that name; check the spelling."
                )
            first = next(self._blocks(path, begin, self.chunk_bytes, quotes=True), (b"",))[0]
            if not first.strip():
                return dict.fromkeys(names, "number")
            given = dict.fromkeys(self.text, "text")
            table = self._parsed(path, first, names, given, None)
            self._check_decimals(path, table)
            kinds = {}
            for name in names:
                found = table.schema.field(name).type
                if _tables.arrow("Reading CSV").types.is_binary(found):
                    raise self._strange_characters(path)
                kinds[name] = "boolean" if str(found) == "bool" else _tables.kind(table, name)
            self._kinds = kinds
        return self._kinds

    def _parsed(self, path, block, names, kinds, columns):
        pa = _tables.arrow("Reading CSV")
        types = {"number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
        wanted = {name: types[kind] for name, kind in kinds.items() if kind in types}
        try:
            return self._csv(self._decoded(path, block), names, wanted, columns)
        except pa.ArrowInvalid as error:
            raise self._refusal(path, names, str(error)) from error

    def _refusal(self, path, names, why):
        """What to do about what pyarrow says."""
        if "UTF8" in why:
            return self._strange_characters(path)
        column = re.search(r"In CSV column #(\d+)", why)
        why = re.sub(r"CSV parse error: (Row #\d+: )?", "", why)  # the number is that in the chunk
        why = " ".join(why.split()).rstrip(".")
        if column:
            name = names[int(column[1])]
            value = re.search(r"invalid value '(.*)'", why)
            what = repr(value[1]) if value else why
            return ValueError(
                f"The column {name!r} of {path.name} held other values in its first rows than {what}; mend the value, or take the "
                f"column as text by text=[{name!r}] (--categorical {name})."
            )
        separator = other_separator(names)
        return ValueError(
            f"{path.name} cannot be read ({why[:200]}); "
            + (
                separator
                or "every line needs a value for each name in the first one: mend or remove that line, which may be cut off, put "
                f"values with {self._separator()!r} in quotes, or set delimiter (--delimiter) to what separates the values"
            )
            + "."
        )

    def _decoded(self, path, block):
        """The text in UTF-8, by Python: pyarrow's threads do not survive characters that they cannot decode."""
        if self.encoding == UTF_8:
            return block
        try:
            return block.decode(self.encoding).encode()
        except UnicodeDecodeError as error:
            raise self._strange_characters(path) from error

    def _strange_characters(self, path):
        return ValueError(
            f"{path.name} is not {self.encoding} text; set encoding (--encoding), to 'cp1252' for most files of Windows, or save it "
            "as UTF-8."
        )

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

        quotes = b'"' in block
        small = len(block) <= SMALL  # threads for a line or two may still be starting when a short command ends
        size = max(len(block), SMALL)
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=not small, block_size=size),
            parse_options=arrow_csv.ParseOptions(delimiter=self._separator(), newlines_in_values=quotes),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types, decimal_point=self.decimal, strings_can_be_null=True, include_columns=columns
            ),
        )


def _checked_encoding(name):
    """An encoding by its usual name; one in which a line feed is one byte."""
    try:
        found = codecs.lookup(name).name
        if "\n".encode(found) != b"\n":
            raise LookupError
    except (LookupError, TypeError):
        raise ValueError(
            f"encoding={name!r} is no encoding that can be read here; pass one such as 'utf-8', 'cp1252' or 'latin-1'."
        ) from None
    return found
