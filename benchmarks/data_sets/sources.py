"""Where the data sets of the benchmarks come from, under which licence, and how their rows are recognised.

A fingerprint is a hash of the parsed values (targets, positions and values of the non-zeros, to six digits), so it does not depend on
how numbers are written or how files are compressed.
"""

import csv
import hashlib
import io
import tarfile
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
NOT_STATED = "not stated by the source"


class Source(NamedTuple):
    """One file of rows: what it is, and how to make it where that can be done."""

    fingerprint: str
    origin: str
    licence: str = NOT_STATED
    url: str = ""  # the published file; empty: there is none that is used as it is
    read: Callable | None = None  # bytes of that file → (X, y)
    package: Callable | None = None  # () → (X, y), from an installed package, without a network


def fingerprint(X, y):
    """The hash by which the rows of a set are recognised."""
    X = sparse.csr_matrix(X, dtype=np.float64)
    X.eliminate_zeros()
    X.sort_indices()
    digest = hashlib.sha256()
    for array in (six_digits(y), X.indptr, X.indices, six_digits(X.data)):
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()[:16]


def six_digits(values):
    """Numbers rounded as ``%.6g`` writes them."""
    distinct, which = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    return np.array([float(f"{value:.6g}") for value in distinct])[which]


def svmlight(content):
    """Rows of an svmlight file; indices start at 1."""
    return load_svmlight_file(io.BytesIO(content), zero_based=False)


def svmlight_counted_from_0(content):
    """The same, with labels that start at 1 there and at 0 here."""
    X, y = svmlight(content)
    return X, y - 1


def tab_separated(content):
    """Label first, 0 or 1 there and −1 or 1 here."""
    table = np.loadtxt(io.BytesIO(content), delimiter="\t", ndmin=2)
    return table[:, 1:], 2 * table[:, 0] - 1


def arff_of_electricity(content):
    """Eight numbers and UP or DOWN."""
    text = content.decode()
    body = text[text.lower().index("@data") + 5 :].split("\n")
    rows = [line.replace("'", "").split(",") for line in map(str.strip, body) if line]
    X = np.array([[float(value) for value in row[:-1]] for row in rows])
    return X, np.array([1.0 if row[-1].strip() == "UP" else -1.0 for row in rows])


def archive_of_houses(content):
    """Comma-separated, the price last, in CaliforniaHousing/cal_housing.data."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        table = np.loadtxt(archive.extractfile("CaliforniaHousing/cal_housing.data"), delimiter=",")
    return table[:, :-1], table[:, -1]


def abalones(content):
    """Seven numbers, then the sex, one-hot; the age in rings."""
    rows = list(csv.reader(io.StringIO(content.decode())))
    numbers = np.array([[float(value) for value in row[1:]] for row in rows if row])
    sex = np.array([[row[0] == letter for letter in "FIM"] for row in rows if row], dtype=float)
    return np.hstack([numbers[:, :-1], sex]), numbers[:, -1]


def _of_river(name, target):
    """The rows of one of river's own data sets, in their order."""
    from river import datasets

    rows = list(getattr(datasets, name)())
    names = list(rows[0][0])
    X = np.array([[float(_number(x[key])) for key in names] for x, _ in rows])
    return X, np.array([target(y) for _, y in rows], dtype=float)


def _number(value):
    return value.toordinal() if hasattr(value, "toordinal") else value


def phishing():
    return _of_river("Phishing", lambda y: 1 if y else -1)


def image_segments():
    labels = ["brickface", "cement", "foliage", "grass", "path", "sky", "window"]
    return _of_river("ImageSegments", labels.index)


def trump_approval():
    return _of_river("TrumpApproval", float)


def _libsvm(fingerprint, path, licence=NOT_STATED, read=svmlight):
    return Source(fingerprint, "LIBSVM data", licence, f"{LIBSVM}/{path}", read)


_HIGGS = "https://raw.githubusercontent.com/microsoft/LightGBM/master/examples/binary_classification"
_ELECTRICITY = "https://www.openml.org/data/download/2419/electricity-normalized.arff"
_HOUSES = "https://ndownloader.figshare.com/files/5976036"
_ABALONE = "https://archive.ics.uci.edu/ml/machine-learning-databases/abalone/abalone.data"
_REUTERS = "Reuters-21578, bags of words"

# Without url and package a set was prepared (rows drawn, words counted, categories encoded): it needs a mirror.
SOURCES = {
    "a9a": _libsvm("6e5185cecd7829df", "binary/a9a", UCI),
    "a9a.t": _libsvm("666a35bdca57674e", "binary/a9a.t", UCI),
    "ijcnn1": _libsvm("72f78363e894a0a6", "binary/ijcnn1.bz2"),
    "ijcnn1.t": _libsvm("ac95077a861d970a", "binary/ijcnn1.t.bz2"),
    "w8a": _libsvm("498eac95ea22fd0a", "binary/w8a"),
    "mushrooms": Source("033a8184cea5e695", "UCI Mushroom, one-hot", UCI),
    "covtype_binary_10k": Source("d133fb9d764cc260", "UCI Covertype, 10,000 rows, two classes", UCI),
    "elec2": Source("b09fdba001ab37a5", "OpenML electricity", "public", _ELECTRICITY, arff_of_electricity),
    "higgs_7k": Source("b198950c948c0423", "LightGBM's example", "MIT", f"{_HIGGS}/binary.train", tab_separated),
    "higgs_7k.t": Source("9a6697dc790f11c8", "LightGBM's example", "MIT", f"{_HIGGS}/binary.test", tab_separated),
    "german_numer": _libsvm("2db22abbf665805d", "binary/german.numer", UCI),
    "imdb": Source("5f9a1ac7d68e1154", "Large Movie Review Dataset, bags of words"),
    "imdb.t": Source("0a2e56fb1b15921b", "Large Movie Review Dataset, bags of words"),
    "reuters_moneyfx": Source("9f34c0f34ad5b2d3", _REUTERS, UCI),
    "reuters_moneyfx.t": Source("a5e0e70944097b08", _REUTERS, UCI),
    "sms_spam": Source("0a938a2c709004e4", "UCI SMS Spam Collection, bags of words", UCI),
    "criteo_8k": Source("7c39b524e1d9f743", "Criteo display advertising, 8,000 rows, hashed"),
    "spambase": Source("159c536295f8125a", "UCI Spambase", UCI),
    "rcv1_vw_small": Source("cc6c8ec2bcd2e629", "RCV1, 1,000 rows of Vowpal Wabbit's tests"),
    "weather_noaa": Source("b324e182c3dd8290", "NOAA weather at Offutt base", "public domain"),
    "nycflights13_delay15": Source("00cc1acc99662642", "nycflights13, encoded", "CC0"),
    "usps": Source("82c2056e1c5dfa4c", "USPS digits"),
    "usps.t": Source("c8af37859a58850a", "USPS digits"),
    "letter": _libsvm("2e5567eb7a719571", "multiclass/letter.scale", UCI, svmlight_counted_from_0),
    "letter.t": _libsvm("5012b1ecca15b140", "multiclass/letter.scale.t", UCI, svmlight_counted_from_0),
    "pendigits": _libsvm("c5f20a9dada2d2e3", "multiclass/pendigits", UCI),
    "pendigits.t": _libsvm("85a6beee70299a1f", "multiclass/pendigits.t", UCI),
    "covtype_10k": Source("1279707821ba5cf7", "UCI Covertype, 10,000 rows", UCI),
    "reuters_r8": Source("8d8da750ef51ab39", _REUTERS, UCI),
    "reuters_r8.t": Source("fe4fce5e05d6c311", _REUTERS, UCI),
    "cal_housing": Source("d1e263e534e8bd48", "California housing, 1990", NOT_STATED, _HOUSES, archive_of_houses),
    "cpusmall": _libsvm("dbefdfe0375e0638", "regression/cpusmall"),
    "abalone": Source("e95d687d9dde3cdb", "UCI Abalone", UCI, _ABALONE, abalones),
    "bike_sharing": Source("1ccd6a803e18a8ab", "UCI Bike Sharing, encoded", UCI),
    "wine_quality": Source("bfaa4b4cbb48d26f", "UCI Wine Quality, both colours", UCI),
    "casp": Source("0cb41d307b06d644", "UCI Physicochemical Properties of Proteins", UCI),
    "elevators": Source("f672b5ef46696ba7", "L. Torgo's regression sets"),
    "housing": _libsvm("c4d40d0fb41c94d2", "regression/housing"),
    "river_phishing": Source("836fc4f6c4551b6f", "river", UCI, package=phishing),
    "river_image_segments": Source("f26e7034e2adb82e", "river", UCI, package=image_segments),
    "river_trump_approval": Source("0c59b7b9453a06b4", "river", NOT_STATED, package=trump_approval),
}
