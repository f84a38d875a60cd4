"""Chunks of files: all rows once, in order, with ends from which reading goes on."""

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from sklearn_adareg.streams import ChunkStream, CSVStream, ParquetStream, SvmlightStream, open_stream

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1000
rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "number": rng.normal(size=ROWS),
        "whole": rng.integers(0, 9, ROWS),
        "text": rng.choice(["a", 'with "quotes", and commas', "ü"], ROWS),
    }
)
MATRIX = sparse.random(ROWS, 30, 0.2, format="csr", random_state=0)
LABELS = rng.integers(0, 3, ROWS).astype(float)


def parquet(folder, row_group_size=170):
    path = folder / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(TABLE), path, row_group_size=row_group_size)
    return ParquetStream(path, chunk_rows=64)


def csv(folder, name="rows.csv"):
    path = folder / name
    TABLE.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    return CSVStream(path, chunk_bytes=1000)


def svmlight(folder, name="rows.svm", zero_based=False, **options):
    path = folder / name
    with gzip.open(path, "wb") if name.endswith("gz") else open(path, "wb") as file:
        dump_svmlight_file(MATRIX, LABELS, file, zero_based=zero_based)
    return SvmlightStream(path, chunk_bytes=1000, **options)


def chunks_of_a_list(folder):
    parts = np.split(np.arange(ROWS), [10, 300, 301, 700])
    return ChunkStream([(MATRIX[part], LABELS[part]) for part in parts])


SOURCES = {
    "parquet": parquet,
    "parquet, one row group": lambda folder: parquet(folder, ROWS),
    "parquet, tiny row groups": lambda folder: parquet(folder, 7),
    "csv": csv,
    "tsv": lambda folder: csv(folder, "rows.tsv"),
    "csv.gz": lambda folder: csv(folder, "rows.csv.gz"),
    "svmlight": svmlight,
    "svmlight from 0": lambda folder: svmlight(folder, zero_based=True),
    "svmlight.gz": lambda folder: svmlight(folder, "rows.svm.gz"),
    "chunks": chunks_of_a_list,
}


def joined(chunks):
    """All rows as one frame."""
    frames = [
        chunk.X.to_pandas() if chunk.y is None else pd.DataFrame(chunk.X.toarray()).assign(label=np.asarray(chunk.y))
        for chunk in chunks
    ]
    return pd.concat(frames, ignore_index=True)


def expected(name):
    if "svm" in name or name == "chunks":
        return pd.DataFrame(MATRIX.toarray()).assign(label=LABELS)
    return TABLE


@pytest.mark.parametrize("name", SOURCES)
def test_all_rows_come_once_and_in_order(name, tmp_path):
    chunks = list(SOURCES[name](tmp_path).chunks())
    assert len(chunks) > 3
    pd.testing.assert_frame_equal(joined(chunks), expected(name), check_dtype=False, check_names=False, rtol=1e-14)
    assert chunks[-1].done == pytest.approx(1.0)
    assert [chunk.done for chunk in chunks] == sorted(chunk.done for chunk in chunks)


@pytest.mark.parametrize("name", SOURCES)
def test_reading_goes_on_at_every_end(name, tmp_path):
    """The chunks behind an end are the same ones, with the same ends, in a stream that was opened anew."""
    chunks = list(SOURCES[name](tmp_path).chunks())
    for number in {0, 1, len(chunks) // 2, len(chunks) - 1}:
        rest = list(SOURCES[name](tmp_path).chunks(chunks[number].end))
        assert [chunk.end for chunk in rest] == [chunk.end for chunk in chunks[number + 1 :]]
        if rest:
            pd.testing.assert_frame_equal(joined(rest), joined(chunks[number + 1 :]))


def test_chunks_have_the_number_of_rows_asked_for_whatever_the_row_groups(tmp_path):
    for size in (7, 64, 170, ROWS):
        sizes = [chunk.X.num_rows for chunk in parquet(tmp_path, size).chunks()]
        assert sizes == [64] * 15 + [40]


def test_several_files_follow_one_another(tmp_path):
    for number, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        TABLE.iloc[part].to_parquet(tmp_path / f"part-{number}.parquet")
    (tmp_path / "README").write_text("not a part")
    stream = open_stream(tmp_path, chunk_rows=100)
    chunks = list(stream.chunks())
    pd.testing.assert_frame_equal(joined(chunks), TABLE, check_dtype=False, check_index_type=False)
    assert sorted({chunk.end[0] for chunk in chunks}) == [0, 1, 2]
    rest = list(stream.chunks(chunks[4].end))
    pd.testing.assert_frame_equal(joined(rest), joined(chunks[5:]))
    listed = open_stream([str(tmp_path / f"part-{i}.parquet") for i in (2, 0)])
    assert len(joined(listed.chunks())) < ROWS


def test_only_the_columns_asked_for_are_read(tmp_path):
    for stream in (parquet(tmp_path), csv(tmp_path)):
        chunk = next(iter(stream.chunks(columns=["text"])))
        assert chunk.X.column_names == ["text"]


def test_a_column_of_numbers_is_text_where_asked(tmp_path):
    path = tmp_path / "zip.csv"
    path.write_text("code,y\n" + "".join(f"0{i},1\n" for i in range(10, 60)))
    [chunk] = CSVStream(path, text=["code"]).chunks()
    assert chunk.X.column("code")[0].as_py() == "010"


@pytest.mark.parametrize("size", [1, 30, 77, 1000])
def test_values_with_line_breaks_come_whole_wherever_chunks_end(size, tmp_path):
    table = TABLE[:60].assign(text=[f'a "{i}"\nand, b' if i % 3 else f"n{i}" for i in range(60)])
    table.to_csv(tmp_path / "rows.csv", index=False)
    chunks = list(CSVStream(tmp_path / "rows.csv", chunk_bytes=size).chunks())
    pd.testing.assert_frame_equal(joined(chunks), table, check_dtype=False)
    rest = CSVStream(tmp_path / "rows.csv", chunk_bytes=size).chunks(chunks[0].end)
    assert [chunk.end for chunk in rest] == [chunk.end for chunk in chunks[1:]]


def test_a_lone_quote_does_not_take_in_the_whole_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("size,text\n" + '1,5" wide\n' + "2,none\n" * 500)
    chunks = list(CSVStream(path, chunk_bytes=100).chunks())
    assert sum(chunk.X.num_rows for chunk in chunks) == 501
    assert max(chunk.X.num_rows for chunk in chunks) < 40
    assert chunks[0].X.column("text")[0].as_py() == '5" wide'


def test_numbers_with_a_decimal_comma(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x;day;code\n1,5;01.02.2020;1,5\n;03.02.2020;2\n-2,5e1;;\n7;;\n")
    [chunk] = CSVStream(path, decimal=",", text=["code"]).chunks()
    assert chunk.X.to_pydict() == {
        "x": [1.5, None, -25.0, 7.0],
        "day": ["01.02.2020", "03.02.2020", None, None],
        "code": ["1,5", "2", None, None],
    }


def test_numbers_stay_numbers_when_a_later_chunk_has_only_whole_ones_or_gaps(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("x\n" + "1\n" * 300 + "2.5\n" * 300 + "NA\n" * 300)
    chunks = list(CSVStream(path, chunk_bytes=200).chunks())
    assert {str(chunk.X.schema.field("x").type) for chunk in chunks} == {"double"}
    assert sum(chunk.X.column("x").null_count for chunk in chunks) == 300


def test_svmlight_finds_width_and_base_as_scikit_learn_does(tmp_path):
    for zero_based in (False, True):
        stream = svmlight(tmp_path, zero_based=zero_based)
        assert {chunk.X.shape[1] for chunk in stream.chunks()} == {30}
        wide = svmlight(tmp_path, zero_based=zero_based, n_features=40)
        assert joined(wide.chunks()).shape[1] == 41
        np.testing.assert_allclose(joined(wide.chunks()).to_numpy()[:, :30], MATRIX.toarray(), rtol=1e-14)


REFUSED = {
    "no file": (lambda folder: open_stream(folder / "none.csv"), "There is no file"),
    "strange suffix": (lambda folder: open_stream(_written(folder, "a.xyz", "1")), "end in .parquet"),
    "empty folder": (lambda folder: open_stream(folder), "has no file that ends in"),
    "no table": (lambda folder: _read(open_stream(_written(folder, "a.parquet", "no"))), "not a Parquet"),
    "empty csv": (lambda folder: _read(open_stream(_written(folder, "a.csv", ""))), "is empty"),
    "text in a column of numbers": (
        lambda folder: _read(CSVStream(_written(folder, "a.csv", "x\n" + "1\n" * 99 + "b\n"), chunk_bytes=20)),
        r"The column 'x' of a.csv held other values in its first rows than 'b'; .* text=\['x'\]",
    ),
    "decimal commas": (
        lambda folder: _read(CSVStream(_written(folder, "a.csv", "x;y\n2;a\n1,5;b\n"), delimiter=";")),
        r"'x' of a.csv has values such as '1,5', .*; set decimal=',' \(--decimal ,\), .* text=\['x'\]",
    ),
    "decimal points": (
        lambda folder: _read(CSVStream(_written(folder, "a.csv", "x;y\n2;1\n1.5;2\n"), decimal=",")),
        r"such as '1.5', .*; set decimal='.' ",
    ),
    "thousands": (
        lambda folder: _read(CSVStream(_written(folder, "a.csv", "x;y\n1.234,5;1\n"), decimal=",")),
        r"such as '1.234,5', which are no numbers with decimal=','; write numbers without separators",
    ),
    "two delimiters": (
        lambda folder: CSVStream(_written(folder, "a.csv", "x"), delimiter="||"),
        r"delimiter='\|\|' is not one ASCII character",
    ),
    "ragged csv": (lambda folder: _read(open_stream(_written(folder, "a.csv", "x,y\n1,2\n1,2,3\n"))), "cannot be read"),
    "bad svmlight": (lambda folder: _read(open_stream(_written(folder, "a.svm", "1 a:b\n"))), "svmlight"),
    "narrow svmlight": (
        lambda folder: _read(open_stream(_written(folder, "a.svm", "1 9:1\n"), n_features=3)),
        "n_features",
    ),
    "other columns": (
        lambda folder: _read(CSVStream([_written(folder, "a.csv", "x\n1\n"), _written(folder, "b.csv", "z\n1\n")])),
        "do not have the same columns",
    ),
    "unknown column": (
        lambda folder: _read(ParquetStream(parquet(folder).files, columns=["nowhere"])),
        "has no column 'nowhere'",
    ),
    "unknown text column": (
        lambda folder: _read(CSVStream(_written(folder, "a.csv", "x\n1\n"), text=["q"])),
        "none of that name",
    ),
    "no chunks": (lambda folder: open_stream(3), "no iterable"),
    "strange chunks": (lambda folder: _read(open_stream([1, 2])), "A chunk is a pair"),
}


def _written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def _read(stream):
    return list(stream.chunks())


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_in_a_sentence(case, tmp_path):
    call, sentence = REFUSED[case]
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=sentence) as refusal:
        call(tmp_path)
    assert "\n" not in str(refusal.value)
