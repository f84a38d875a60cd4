"""The data sets of a benchmark folder: their tasks, their splits, and the figures known before.

``get_data.py`` fills such a folder and ``datasets.py`` lists it. Without one, the sets that ship with scikit-learn and river serve.
"""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory
from scipy import sparse
from sklearn import datasets as sklearn_datasets
from sklearn.datasets import load_svmlight_files
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from data_sets import sources

TASKS = ("binary", "multi", "regression")
STRENGTHS = (0.03, 0.3, 3.0, 30.0, 300.0)  # C of LogisticRegression, 1 / alpha of Ridge


class Reference(NamedTuple):
    """Test losses measured once, with scikit-learn 1.9.1 and Vowpal Wabbit 9.11.9.

    ``const``: class frequencies or mean. ``batch``: the best of a grid of ``LogisticRegression`` or
    ``Ridge``, chosen on the test set. ``sgd1_raw``, ``sgd1``: one averaged pass of SGD, raw and
    scaled. ``sgd``: the same to its own convergence, scaled. ``vw1``: one pass of Vowpal Wabbit's
    defaults, raw.
    """

    const: float
    batch: float
    sgd1_raw: float
    sgd1: float
    sgd: float
    vw1: float

    def share(self, loss):
        """How far ``loss`` is from the batch model (0) to the constant one (1), cut at 1."""
        return min(1.0, self.uncut_share(loss)) if np.isfinite(loss) else 1.0

    def uncut_share(self, loss):
        """The same, which may be above 1."""
        return (loss - self.batch) / (self.const - self.batch)


NAN = float("nan")
REFERENCES = {
    "binary": {
        "a9a": Reference(0.5467, 0.3239, 0.6966, 0.6966, 0.3273, 0.3246),
        "ijcnn1": Reference(0.314, 0.2105, 0.212, 0.2113, 0.2119, 0.218),
        "w8a": Reference(0.1318, 0.05144, 0.07738, 0.07738, 0.05676, 0.06504),
        "mushrooms": Reference(0.6924, 0.000243, 0.008638, 0.008638, 0.001085, 0.03347),
        "covtype_binary_10k": Reference(0.6927, 0.5146, 2.381e06, 0.8876, 0.5241, 0.5795),
        "elec2": Reference(0.6827, 0.5098, 1.22, 0.5466, 0.5434, 0.5722),
        "higgs_7k": Reference(0.6896, 0.6296, 5.416, 0.7301, 0.6337, 0.67),
        "german_numer": Reference(0.6226, 0.5288, 2377, 5.288, 0.788, 0.5662),
        "imdb": Reference(0.6931, 0.3044, 33.84, 0.4378, 0.3043, 0.3369),
        "reuters_moneyfx": Reference(0.2127, 0.07048, 0.07803, 0.1094, 0.06696, 0.07628),
        "sms_spam": Reference(0.386, 0.05932, 0.2807, 0.06882, 0.0521, 0.09124),
        "criteo_8k": Reference(0.5116, 0.4515, 30.81, 4.817, 0.9891, 0.465),
        "spambase": Reference(0.6825, 0.2174, 1.891e05, 0.2893, 0.2808, 0.3125),
        "rcv1_vw_small": Reference(0.6874, 0.3086, 0.351, 3.383, 1.491, 0.3725),
        "weather_noaa": Reference(0.6243, 0.4594, 1.253e05, 0.4902, 0.4688, 0.5202),
        "nycflights13_delay15": Reference(0.5473, 0.4852, 2.872, 0.4979, 0.4852, 0.4864),
    },
    "multi": {
        "usps": Reference(2.265, 0.3287, 2.789, 2.788, 0.8341, 0.4479),
        "letter": Reference(3.259, 0.8422, 1.207, 1.207, 1.308, 1.56),
        "pendigits": Reference(2.302, 0.3485, 2.46, 1.263, 0.5529, 0.7836),
        "covtype_10k": Reference(1.21, 0.6584, 7.709, 1.438, 0.7375, 0.8129),
        "reuters_r8": Reference(1.336, 0.09722, 0.2087, 0.2215, 0.1106, 0.1881),
    },
    "regression": {
        "cal_housing": Reference(1.294e10, 4.874e09, NAN, 5.129e09, 4.866e09, 5.515e10),
        "cpusmall": Reference(326.7, 106.1, NAN, 151.9, 110.2, 585.1),
        "abalone": Reference(11.51, 5.24, NAN, 8.589, 5.434, 7.573),
        "bike_sharing": Reference(3.267e04, 1.01e04, NAN, 1.018e04, 1.268e10, 3.517e04),
        "wine_quality": Reference(0.8051, 0.5728, NAN, 0.8005, 0.5774, 0.6655),
        "casp": Reference(37.42, 26.84, NAN, 27.24, 26.87, 32.04),
        "elevators": Reference(4.57e-05, 8.537e-06, NAN, 3.425e-05, 103.4, 1.529e-05),
        "housing": Reference(91.2, 18.27, NAN, 194, 18.48, 113.5),
    },
}

# Sets whose rows lie in the order of time.
STREAMS = {
    "river_phishing": "binary",
    "river_image_segments": "multi",
    "river_trump_approval": "regression",
    "elec2": "binary",
    "weather_noaa": "binary",
    "nycflights13_delay15": "binary",
    "bike_sharing": "regression",
}


@dataclass(frozen=True)
class Split:
    """Training rows in the order in which they are learnt, and test rows; CSR, raw units."""

    name: str
    task: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    def scaled(self):
        """The split as SGD wants it: standardised for regression, else divided by max-abs."""
        X, X_test = self.X, self.X_test
        scaler = MaxAbsScaler()
        if self.task == "regression":
            scaler, X, X_test = StandardScaler(), X.toarray(), X_test.toarray()
        X = scaler.fit_transform(X)
        return Split(self.name, self.task, X, self.y, scaler.transform(X_test), self.y_test)

    def loss(self, scores):
        """Mean test loss of margins (binary), probabilities (multi) or predictions."""
        y = self.y_test
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.mean(losses(self.task, y, scores)))


def losses(task, y, scores):
    """Log-loss of margins (labels ±1) or of probabilities (0 … K−1), or squared error."""
    if task == "binary":
        return np.logaddexp(0.0, -y * scores)
    if task == "multi":
        return -np.log(np.clip(scores[np.arange(len(y)), y.astype(int)], 1e-15, 1.0))
    return (y - scores) ** 2


def split_of(name, task, X, y, test=(), seed=1):
    """Train rows in an order drawn from ``seed``, and test rows: those of a test file, or else a fixed 30 %; CSR."""
    if test:
        X_test, y_test = test
    else:
        order = np.random.default_rng(0).permutation(len(y))
        train, held = np.split(order, [int(0.7 * len(y))])
        X, y, X_test, y_test = X[train], y[train], X[held], y[held]
    order = np.random.default_rng(seed).permutation(len(y))
    return Split(name, task, X[order], y[order], X_test, y_test)


class Shipped:
    """The sets that need no folder: scikit-learn's, and as streams river's where it is installed."""

    TASKS = {"breast_cancer": "binary", "digits": "multi", "wine": "multi", "iris": "multi", "diabetes": "regression"}

    def names(self, task):
        """The sets of a task."""
        return [name for name, of in self.TASKS.items() if of == task]

    def has(self, name):
        """Whether a stream comes with river."""
        source = sources.SOURCES.get(name)
        return bool(source and source.package and find_spec("river"))

    def split(self, name, seed=1):
        """Train and test rows, as in a folder."""
        raw = {"scaled": False} if name == "diabetes" else {}
        X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True, **raw)
        y = y.astype(float)
        task = self.TASKS[name]
        y = 2 * y - 1 if task == "binary" else y
        return split_of(name, task, sparse.csr_matrix(X), y, seed=seed)

    def stream(self, name):
        """All rows in their order."""
        return sources.SOURCES[name].package()


def open_folder(path, cache=None):
    """The sets of a folder, or those that ship with packages where none is given."""
    return Folder(path, cache) if path else Shipped()


class Folder:
    """Gzipped svmlight files, ``NAME.svm.gz`` and sometimes ``NAME.t.svm.gz``, the test file.

    ``cache`` names a folder for the parsed arrays, since parsing takes longer than learning.
    """

    def __init__(self, path, cache=None):
        self.path = Path(path)
        if not self.path.is_dir():
            raise SystemExit(f"{path} is not a folder; give the folder with the svmlight files.")
        if not any(self.path.glob("*.svm.gz")):
            raise SystemExit(
                f"{path} holds no data set (NAME.svm.gz): python benchmarks/get_data.py {path} puts them there."
            )
        self._read = Memory(cache, verbose=0).cache(load_svmlight_files) if cache else load_svmlight_files

    def has(self, name):
        """Whether the folder holds this set."""
        return self._file(name).exists()

    def names(self, task):
        """The sets of a task that the folder holds."""
        return [name for name in REFERENCES[task] if self.has(name)]

    def split(self, name, seed=1):
        """Train rows in an order drawn from ``seed``, and test rows: the official test file, or else a fixed 30 %."""
        task = next(task for task in TASKS if name in REFERENCES[task])
        X, y, *test = self._arrays(name)
        return split_of(name, task, X, y, test, seed)

    def stream(self, name):
        """All rows in file order, dense when most values are there."""
        X, y = self._arrays(name)[:2]
        return (X.toarray() if X.nnz > 0.3 * X.shape[0] * X.shape[1] else X), y

    def _file(self, name):
        return self.path / f"{name}.svm.gz"

    @cache  # noqa: B019 (one folder lives as long as the program)
    def _arrays(self, name):
        files = [self._file(name), self._file(f"{name}.t")]
        return self._read([str(file) for file in files if file.exists()])


def recompute(split):
    """*const* and *batch* of a split, measured now; minutes for the larger sets."""
    y, X, X_test = split.y, split.X, split.X_test
    if split.task == "regression":
        const = split.loss(np.full(len(split.y_test), y.mean()))
    else:
        odds = np.unique(y, return_counts=True)[1] / len(y)
        rows = len(split.y_test)
        const = split.loss(
            np.full(rows, np.log(odds[1] / odds[0])) if split.task == "binary" else np.tile(odds, (rows, 1))
        )
    scaler = MaxAbsScaler()
    X = scaler.fit_transform(X)
    X_test = scaler.transform(X_test)
    batch = np.inf
    for strength in STRENGTHS:
        if split.task == "regression":
            scores = Ridge(alpha=1 / strength).fit(X, y).predict(X_test)
        else:
            model = LogisticRegression(C=strength, max_iter=2000).fit(X, y)
            scores = model.decision_function(X_test) if split.task == "binary" else model.predict_proba(X_test)
        batch = min(batch, split.loss(scores))
    return const, batch


def reference(split, anew=False):
    """The stored figures of a split, with *const* and *batch* measured again when ``anew``."""
    stored = REFERENCES[split.task].get(split.name)
    if stored is None:  # a small set that ships with a package
        stored, anew = Reference(*[NAN] * 6), True
    if not anew:
        return stored
    const, batch = recompute(split)
    return stored._replace(const=const, batch=batch)


def add_folder_arguments(parser, **folder):
    """The arguments that every program with data shares."""
    parser.add_argument("folder", metavar="DATA_DIR", help="folder of NAME.svm.gz files", **folder)
    parser.add_argument("--cache", metavar="FOLDER", help="keep the parsed files here, for faster starts")
