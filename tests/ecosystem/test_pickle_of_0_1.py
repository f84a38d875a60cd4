"""Models pickled by earlier versions load, predict as they did and go on learning.

Every file in ``pickles`` was written by the version in its name and stays there for good. A release
adds its own, once, from this directory::

    cd tests/ecosystem && python -c "import test_pickle_of_0_1; test_pickle_of_0_1.write_pickles()"
"""

import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from streams import rows

import sklearn_adareg
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

FOLDER = Path(__file__).parent / "pickles"
FILES = sorted(FOLDER.glob("*.pickle"))
SEEN, LATER = slice(0, 45), slice(45, 60)  # rows before the pickle was made, and after
FIXED = {"eta": 0.5, "epsilon": 0.1}
# 0.1 published averages from before units grew as they were, outside the simplex; now they are scaled into it.
OUTSIDE_IN_0_1 = ("0.1.0-pnorm_diag_in_the_simplex",)
# The files hold arrays written by NumPy 2, and NumPy 1 has no numpy._core.numeric to read them with.
needs_numpy_2 = pytest.mark.skipif(np.__version__.startswith("1."), reason="pickles of NumPy 2")


def models():
    """What a file each holds: every structure's arrays, and whatever else a state may carry."""
    c, r = AdaRegClassifier, AdaRegRegressor
    return {
        "classifier_as_it_comes": c(),
        "regressor_as_it_comes": r(),
        "ons_full": c("ons", "full", **FIXED),
        "adagrad_full": r("adagrad", "full", **FIXED),
        "pnorm_full_in_a_ball": c("pnorm", "full", domain="l2", radius=0.5, **FIXED),
        "adagrad_diag_lasso": r(
            "adagrad", "diag", alpha=0.05, l1_ratio=1.0, average=False, **FIXED
        ),
        "pnorm_diag_in_the_simplex": r("pnorm", "diag", domain="simplex", radius=1.0, **FIXED),
        "ons_iso": c("ons", "iso", average=True, **FIXED),
        "adagrad_iso_dual": r("adagrad", "iso", update="dual_averaging", **FIXED),
        "ons_full_dual": c("ons", "full", update="dual_averaging", **FIXED),
        "three_classes_softmax": c("ons", "full", **FIXED),
        "three_classes_hinge": c("adagrad", "diag", loss="hinge", **FIXED),
        "three_classes_balanced": c("adagrad", "diag", class_weight="balanced", **FIXED),
        "three_targets": r("ons", "full", loss="huber", **FIXED),
        "sparse_rows": c("adagrad", "diag", **FIXED),
        "poisson": r("adagrad", "diag", loss="poisson", **FIXED),
    }


def stream(case, model):
    """The rows and targets of a case, and what the first call needs besides."""
    X, score = rows(7, n=60)
    if case == "sparse_rows":
        X = sparse.csr_array(X)
    if case.startswith("three_targets"):
        return X, np.column_stack([score, -score, score**2]), {}
    if case.startswith("three_classes"):
        return X, np.digitize(score, [-0.5, 2.0]), {"classes": [0, 1, 2]}
    if isinstance(model, AdaRegClassifier):
        return X, np.where(score > 0, "yes", "no"), {"classes": ["no", "yes"]}
    return X, np.abs(score), {}


def outlook(model, X):
    """What a user sees of a fitted model, as plain arrays."""
    seen = {name: np.asarray(getattr(model, name)) for name in ("coef_", "intercept_", "t_")}
    seen["progressive_loss_"] = np.asarray(model.progressive_loss_)
    seen["predict"] = model.predict(X)
    if hasattr(model, "predict_proba"):
        seen["predict_proba"] = model.predict_proba(X)
    return seen


def write_pickles():
    """One file a model: it in mid-stream, the rows, and how it looks before and after more."""
    FOLDER.mkdir(exist_ok=True)
    for case, model in models().items():
        X, y, first = stream(case, model)
        kept = model.partial_fit(X[SEEN], y[SEEN], **first)
        content = {"model": pickle.dumps(kept, protocol=5), "X": X, "y": y}
        content["now"] = outlook(kept, X)
        content["later"] = outlook(kept.partial_fit(X[LATER], y[LATER]), X)
        file = FOLDER / f"{sklearn_adareg.__version__}-{case}.pickle"
        file.write_bytes(pickle.dumps(content, protocol=5))


def on_the_simplex(model, X, seen):
    """Averages of version 0.1 lay off the simplex where units had grown; they are published on it now."""
    coef = seen["coef_"] * model.radius / seen["coef_"].sum()
    return {**seen, "coef_": coef, "predict": X @ coef + seen["intercept_"]}


def assert_looks_like(model, X, expected, later=False):
    found = outlook(model, X)
    if later and model.method_ == "newton":  # Newton steps go on in other units
        size = np.abs(expected["coef_"]).max()
        np.testing.assert_allclose(found["coef_"], expected["coef_"], atol=0.1 * size)
        return
    if model.domain == "simplex":
        expected = on_the_simplex(model, X, expected)
    for name, value in expected.items():
        if value.dtype.kind in "fc":
            np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


def looks(file, content, when):
    """How the model looked then, or would have looked inside its domain."""
    look = dict(content[when])
    if file.stem in OUTSIDE_IN_0_1:
        assert abs(look["coef_"].sum() - 1.0) > 0.01
        look["coef_"] = look["coef_"] / look["coef_"].sum()
        look["predict"] = content["X"] @ look["coef_"] + look["intercept_"]
    return look


def test_there_are_pickles_of_every_case_of_0_1():
    names = {file.stem for file in FILES}
    assert {f"0.1.0-{case}" for case in models()} <= names


def test_the_pickles_are_small():
    assert sum(file.stat().st_size for file in FILES) < 300_000 * len({f.name[:5] for f in FILES})


@needs_numpy_2
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_an_old_pickle_predicts_as_it_did_and_goes_on_learning(file):
    content = pickle.loads(file.read_bytes())
    X, y = content["X"], content["y"]
    model = pickle.loads(content["model"])
    assert_looks_like(model, X, looks(file, content, "now"))
    model.partial_fit(X[LATER], y[LATER])
    assert_looks_like(model, X, looks(file, content, "later"), later=True)


@needs_numpy_2
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_an_old_pickle_can_be_pickled_again_and_fitted_anew(file):
    content = pickle.loads(file.read_bytes())
    X, y = content["X"], content["y"]
    model = pickle.loads(pickle.dumps(pickle.loads(content["model"])))
    assert_looks_like(model, X, looks(file, content, "now"))
    assert model.get_params().keys() == type(model)().get_params().keys()
    assert model.method_ in ("algorithm1", "newton", "stack")
    assert model.set_params(max_iter=1).fit(X, y).t_ == len(y)


def test_the_old_name_of_the_validation_scores_is_read_and_loaded():
    X, score = rows(7, n=60)
    model = AdaRegRegressor(early_stopping=True, max_iter=2, tol=None, random_state=0).fit(X, score)
    assert model.validation_score_curve_ == model.validation_scores_
    kept = model.__getstate__()
    kept["validation_score_curve_"] = kept.pop("validation_scores_")  # as version 0.1 wrote it
    old = AdaRegRegressor.__new__(AdaRegRegressor)
    old.__setstate__(kept)
    assert old.validation_scores_ == old.validation_score_curve_ == model.validation_scores_
    assert not hasattr(AdaRegRegressor().fit(X, score), "validation_score_curve_")
