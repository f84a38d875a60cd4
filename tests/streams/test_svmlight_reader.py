"""The reader of plain svmlight lines: what scikit-learn's reader and Python's float give, to the bit, or nothing at all."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from sklearn_adareg.streams import SvmlightStream
from sklearn_adareg.streams._text import _plain

NUMBERS = (
    "0 -0 +1 7. .5 -.25 00012.50 1e3 1E-3 2.5e+2 9007199254740992 9007199254740993 1e22 1e23 123456789012345678901234567890 "
    "0.3745401188473625 0.95071430640991617 1.7976931348623157e308 1e400 4.9406564584124654e-324 2.2250738585072011e-308 1e-400 "
    "0.1000000000000000055511151231257827021181583404541015625 8.5e-23 0.000000000000000000000000001 1e99999999999"
).split()


def same(block, **options):
    X, y = load_svmlight_file(io.BytesIO(block), **options)
    own, labels = _plain(block, options.get("n_features"), options["zero_based"])
    np.testing.assert_array_equal(labels, y)
    assert own.shape == X.shape
    np.testing.assert_array_equal(own.indptr, X.indptr)
    np.testing.assert_array_equal(own.indices, X.indices)
    assert own.data.tobytes() == X.data.tobytes()


def test_values_are_those_of_float():
    """Short decimals by one exact operation, long ones by strtod; both signs of zero, overflow and subnormal numbers included."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, 2000, dtype=np.int64).view(np.float64)
    drawn = [f"{x:.{k}g}" for x in rng.normal(size=300) for k in (3, 15, 16, 17, 19)]
    texts = [*NUMBERS, *drawn, *(repr(float(x)) for x in bits if np.isfinite(x))]
    block = "".join(f"{text} 1:{text}\n" for text in texts).encode()
    X, y = _plain(block, 1, False)
    expected = np.array([float(text) for text in texts])
    assert y.tobytes() == X.data.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "block",
    [
        b"1 1:0.5 3:2\n-1 2:1\n",
        b"1 1:0.5 3:2\r\n-1\t2:1",
        b"# a comment\n\n  1  1:0.5 # another: 3:4\n \n2\n",
        b"1 1:1 2:2 7:3#x\n0 003:1e-3\n",
        b"\n",
        b"-1 2147483646:1\n",
    ],
)
def test_plain_lines_are_read_as_by_scikit_learn(block):
    if block.strip():
        same(block, zero_based=True)
        same(block, zero_based=False)
        same(block, zero_based=False, n_features=2**31 - 2)
    else:
        X, y = _plain(block, 3, True)
        assert X.shape == (0, 3)
        assert len(y) == 0


@pytest.mark.parametrize(
    "block",
    [
        b"1 qid:3 1:1\n",
        b"1 1:nan\n",
        b"1 2:1 1:1\n",
        b"1 1:1 1:2\n",
        b"1 1\n",
        b"1 1:\n",
        b"1 1:1x\n",
        b"1,2 1:1\n",
        b"x 1:1\n",
        b"1 -1:1\n",
        b"1 2147483647:1\n",
        b"1 1:1e\n",
        b"1 1:.\n",
        b"1 1:1\x0b2:1\n",
        b"1 1:1\x00\n",
        b"1 0:1\n",
        b"1 9:1\n",
        b"1 99999999999999999999999:1\n",
    ],
)
def test_what_is_not_plain_is_left_to_scikit_learn(block):
    assert _plain(b"1 1:1\n" + block, 5, False) is None


def test_a_file_with_plain_and_other_chunks_is_read_whole(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:2\n" * 20 + "-1 qid:7 1:nan\n" + "1 3:0.1\n" * 20)
    chunks = list(SvmlightStream(path, n_features=3, zero_based=False, chunk_bytes=64).chunks())
    X, y = load_svmlight_file(str(path), n_features=3, zero_based=False)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y)
    np.testing.assert_array_equal(np.vstack([chunk.X.toarray() for chunk in chunks]), X.toarray())
