"""A new potential, structure, loss and domain, each one file and one entry of the registry, as CONTRIBUTING.md shows it.

The four files in ``tests/new_pieces`` are compiled against the declarations of the source tree. The entries are read from
CONTRIBUTING.md, so what stands there runs. The references are here, from the formulas.
"""

import importlib
import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from reference import algorithm, domains
from reference.algorithm import adareg
from scipy import sparse
from scipy.special import expi
from sklearn.model_selection import GridSearchCV

import sklearn_adareg
from sklearn_adareg import AdaReg, AdaRegRegressor, regret
from sklearn_adareg.model import _entries, _registry

ROOT = Path(__file__).parents[2]
SOURCES = Path(sklearn_adareg.__file__).parent.parent
PIECES = sorted((ROOT / "tests" / "new_pieces").glob("*.pyx"))
GUIDE = ROOT / "CONTRIBUTING.md"
TABLES = ("POTENTIALS", "STRUCTURES", "REGRESSION_LOSSES", "DOMAINS")
BUILD = """
import os
import sys
from Cython.Build import cythonize
from setuptools import Extension, setup

root, *pieces = sys.argv[1:]
sys.path.insert(0, root)
from build_kernels import DIRECTIVES, INCLUDE

headers = [os.path.join(root, INCLUDE)]
flags = [] if sys.platform == "win32" else ["-O1"]
modules = [
    Extension(p.split(".")[0], [p], include_dirs=headers, extra_compile_args=flags) for p in pieces
]
modules = cythonize(modules, include_path=[root], compiler_directives=DIRECTIVES)
setup(name="pieces", ext_modules=modules, script_args=["-q", "build_ext", "--inplace", "-j2"])
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not list(SOURCES.glob("sklearn_adareg/_kernels/*/*.pxd")), reason="only where the sources are"),
]


def build(folder):
    """Compile the four files in a folder, and leave there how it ended."""
    for piece in PIECES:
        (folder / piece.name).write_text(piece.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-c", BUILD, str(SOURCES), *(piece.name for piece in PIECES)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    outcome = "built" if done.returncode == 0 else done.stdout + done.stderr
    (folder / "writing").write_text(outcome, encoding="utf-8")
    (folder / "writing").rename(folder / "outcome")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The four modules, compiled once: the first of pytest-xdist's workers to come does it for all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "new_pieces"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + 300
        while not (folder / "outcome").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    else:
        build(folder)
    assert (folder / "outcome").read_text(encoding="utf-8") == "built"
    sys.path.insert(0, str(folder))
    yield {piece.stem: importlib.import_module(piece.stem) for piece in PIECES}
    sys.path.remove(str(folder))


@pytest.fixture(autouse=True)
def registered(compiled, monkeypatch):
    """The entries of CONTRIBUTING.md in the registry, and the references beside theirs."""
    tables = {name: {} for name in TABLES}
    [entries] = re.findall(r"```python\n(POTENTIALS\[.*?)```", GUIDE.read_text("utf-8"), re.S)
    exec(entries, {**vars(_entries), "expi": expi, **compiled, **tables})
    for name, entries in tables.items():
        assert len(entries) == 1
        for piece, entry in entries.items():
            monkeypatch.setitem(getattr(_registry, name), piece, entry)
    monkeypatch.setitem(algorithm.POTENTIALS, "logarithmic", logarithmic)
    monkeypatch.setitem(algorithm.STRUCTURES, "tridiagonal", tridiagonal)
    monkeypatch.setitem(algorithm.LOSSES, "log_cosh", log_cosh)
    monkeypatch.setitem(domains.INSIDE, "budget", lambda c, r: np.sum(c) <= r)
    monkeypatch.setitem(domains.PROJECTIONS_FULL, "budget", onto_budget)
    monkeypatch.setitem(domains.PROJECTIONS_DIAGONAL, "budget", lambda u, h, r: onto_budget(u, np.diag(h), r)[0])


# --- the references -------------------------------------------------------------------------------


def logarithmic(eta, p):
    return lambda lam: eta / np.log1p(lam)


def tridiagonal(G):
    i, j = np.indices(G.shape)
    return np.where(np.abs(i - j) <= 1, G, 0.0)


def log_cosh(m, y, parameters):
    return np.log(np.cosh(m - y)), np.tanh(m - y)


def onto_budget(u, H, r):
    """u minus the multiple of H·1 that brings its sum down to r, and that multiple of 1."""
    mu = (np.sum(u) - r) / np.sum(H)
    return u - mu * np.sum(H, axis=1), np.full(len(u), mu)


# --- what is added is served by all there is ------------------------------------------------------

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 5)) * (rng.random((50, 5)) > 0.3)
Y = X @ rng.normal(size=5) + 0.3 * rng.normal(size=50) + 1.0
NEW = {"potential": "logarithmic", "structure": "tridiagonal", "loss": "log_cosh", "domain": "budget"}
OLD = {"potential": "adagrad", "structure": "diag", "loss": "squared_error", "domain": None}
RADIUS = 0.2


def regressor(**params):
    defaults = {"eta": 0.4, "epsilon": 0.1, "refresh": 0.0, "scaling": None, "max_iter": 1}
    params = {**defaults, "tol": None, "shuffle": False, **params}
    radius = RADIUS if params.get("domain") else None
    return AdaRegRegressor(**{"radius": radius, **params})


def weights_of(model):
    return np.append(model.coef_, model.intercept_)


def assert_equals_reference(**params):
    numbers = {"eta": 0.4, "epsilon": 0.1}
    radius = RADIUS if params["domain"] else None
    expected = adareg(X, Y, average=False, radius=radius, **numbers, **params)
    for rows in (X, sparse.csr_array(X)):
        whole = regressor(average=False, **params).fit(rows, Y)
        np.testing.assert_allclose(weights_of(whole), expected.x_last, rtol=1e-9, atol=1e-9)
        assert whole.loss_curve_ == [pytest.approx(np.mean(expected.losses), rel=1e-9)]
    if params["domain"] == "budget":
        assert whole.coef_.sum() <= RADIUS


@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("piece", NEW)
def test_each_piece_by_itself_equals_the_reference(piece, update):
    assert_equals_reference(**{**OLD, piece: NEW[piece]}, update=update)


@pytest.mark.parametrize("update", _registry.UPDATES)
@pytest.mark.parametrize("structure", ["full", "diag", "iso", "tridiagonal"])
@pytest.mark.parametrize("potential", ["adagrad", "ons", "logarithmic"])
def test_new_pieces_work_with_each_other_and_with_those_there_are(potential, structure, update):
    for domain in (None, "budget", "l2"):
        make = {"potential": potential, "structure": structure, "domain": domain}
        assert_equals_reference(**make, loss="log_cosh", update=update)


@pytest.mark.parametrize("scaling", [None, "online"])
def test_streams_and_pickles_go_on_where_they_were(scaling):
    whole, parts = (regressor(**NEW, scaling=scaling) for _ in range(2))
    whole.partial_fit(sparse.csr_array(X), Y)
    for start in range(0, 50, 9):
        parts.partial_fit(X[start : start + 9], Y[start : start + 9])
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_allclose(weights_of(parts), weights_of(whole), rtol=1e-9, atol=1e-12)
    assert whole.coef_.sum() <= RADIUS


def test_a_grid_search_goes_over_algorithms():
    grid = {name: [OLD[name], NEW[name]] for name in ("potential", "structure", "loss")}
    search = GridSearchCV(regressor(max_iter=3), grid, cv=3, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    domains = GridSearchCV(regressor(**NEW), {"radius": [0.01, 10.0]}, cv=3).fit(X, X.sum(axis=1))
    assert domains.best_params_ == {"radius": 10.0}


def test_defaults_take_them_too():
    model = AdaRegRegressor(random_state=0, **NEW, radius=RADIUS).fit(X, Y)
    assert (model.method_, model.potential_, model.structure_) == ("algorithm1", "logarithmic", "tridiagonal")
    assert np.isfinite(weights_of(model)).all()
    learnt = AdaRegRegressor(loss="log_cosh", random_state=0).fit(X, Y)
    assert learnt.method_ == "information"
    assert learnt.score(X, Y) > 0.8


def test_the_core_and_the_record_take_them():
    make = {"eta": 0.4, "epsilon": 0.1, "refresh": 0.0}
    learner = AdaReg(5, "logarithmic", "tridiagonal", domain="budget", radius=RADIUS, **make)
    run = regret.record(regressor(**NEW, fit_intercept=False), X, Y)
    for x, g in zip(run.x[:-1], run.g, strict=True):
        np.testing.assert_allclose(learner.x, x, rtol=1e-9, atol=1e-12)
        learner.step(g)
    np.testing.assert_allclose(learner.H, run.H[-1], rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(learner.G) == 13


def test_the_theory_of_the_potential_is_what_its_entry_says():
    h, step = np.array([0.5, 2.0]), np.array([1e-6, 0.0])
    slope = (
        regret.potential_value(h + step, "logarithmic", eta=0.7)
        - regret.potential_value(h - step, "logarithmic", eta=0.7)
    ) / 2e-6
    # Φ' = −φ' = −ψ⁻¹, and ψ⁻¹(h) = exp(η/h) − 1
    assert slope == pytest.approx(-np.expm1(0.7 / 0.5), rel=1e-6)


# --- what is written is what runs -----------------------------------------------------------------


def test_contributing_quotes_the_files():
    text = GUIDE.read_text(encoding="utf-8")
    assert len(PIECES) == 4
    for piece in PIECES:
        quoted = f"```cython\n{piece.read_text(encoding='utf-8')}```"
        assert quoted in text, f"CONTRIBUTING.md does not quote {piece.name} as it is"
