"""Models saved by earlier versions load, look as they did and go on learning.

Every file in ``pickles`` was written by the version in its name and stays there for good:

- ``VERSION-CASE.pickle`` holds the bytes of a pickled model in mid-stream, rows and targets, and how the model looks now and
  after it has learnt from the last of these rows; from 0.2 on it is compressed by lzma;
- ``VERSION-CASE.adareg`` and ``VERSION-CASE.skops`` are the same model as ``save_model`` writes it.

A release adds its own, once, in an environment with skops and pandas, from the folder of all tests::

    cd tests && PYTHONPATH=ecosystem python -c "import test_saved_models as t; t.write_files()"

``write_files`` takes the cases of ``cases`` and the version of the package. It refuses to write if the registry has a name that no
case holds (add a case for whatever is new), or if files of this version are there. Commit the files together with the number of
cases in ``CASES_OF``.
"""

import lzma
import pickle
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from support.data import blocks_of, rows

import sklearn_adareg
from sklearn_adareg import (
    AdaReg,
    AdaRegClassifier,
    AdaRegRegressor,
    ProgressiveSearch,
    load_model,
    merge,
    regret,
    save_model,
)
from sklearn_adareg.model import _registry
from sklearn_adareg.streams import TableEncoder

FOLDER = Path(__file__).parent / "pickles"
OLD_FILES = sorted(FOLDER.glob("0.1.0-*.pickle"))
FILES = sorted(path for path in FOLDER.glob("*-*.*") if not path.name.startswith("0.1.0-"))
CASES_OF = {"0.2.0.dev0": 102}
SEEN, LATER = slice(0, 45), slice(45, 60)  # rows before the model was saved, and after
FIXED = {"eta": 0.5, "epsilon": 0.1}
# 0.1 published averages from before units grew as they were, outside the simplex; now they are scaled into it.
OUTSIDE_IN_0_1 = ("0.1.0-pnorm_diag_in_the_simplex",)
# The files hold arrays written by NumPy 2, and NumPy 1 has no numpy._core.numeric to read them with.
needs_numpy_2 = pytest.mark.skipif(np.__version__.startswith("1."), reason="pickles of NumPy 2")
# A Pipeline is scikit-learn's, which warns where another version of it reads one.
of_any_scikit_learn = pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")


# ---- version 0.1 ---------------------------------------------------------------------------------


def models_of_0_1():
    """What a file each holds: every structure's arrays, and whatever else a state may carry."""
    c, r = AdaRegClassifier, AdaRegRegressor
    return {
        "classifier_as_it_comes": c(),
        "regressor_as_it_comes": r(),
        "ons_full": c("ons", "full", **FIXED),
        "adagrad_full": r("adagrad", "full", **FIXED),
        "pnorm_full_in_a_ball": c("pnorm", "full", domain="l2", radius=0.5, **FIXED),
        "adagrad_diag_lasso": r("adagrad", "diag", alpha=0.05, l1_ratio=1.0, average=False, **FIXED),
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


def outlook(model, X):
    """What a user sees of a fitted model, as plain arrays."""
    seen = {name: np.asarray(getattr(model, name)) for name in ("coef_", "intercept_", "t_")}
    seen["progressive_loss_"] = np.asarray(model.progressive_loss_)
    seen["predict"] = model.predict(X)
    if hasattr(model, "predict_proba"):
        seen["predict_proba"] = model.predict_proba(X)
    return seen


def on_the_simplex(model, X, seen):
    """Averages of version 0.1 lay off the simplex where units had grown; they are published on it now."""
    coef = seen["coef_"] * model.radius / seen["coef_"].sum()
    return {**seen, "coef_": coef, "predict": X @ coef + seen["intercept_"]}


def assert_looks_like(model, X, expected):
    found = outlook(model, X)
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
    if when == "later":
        del look["progressive_loss_"]  # was that of iterates
    if file.stem in OUTSIDE_IN_0_1:
        assert abs(look["coef_"].sum() - 1.0) > 0.01
        look["coef_"] = look["coef_"] / look["coef_"].sum()
        look["predict"] = content["X"] @ look["coef_"] + look["intercept_"]
    return look


def assert_goes_on(model, X, y):
    """A model of a former default, which has other sums now: it learns what the rows to come say, and keeps what it knew."""
    before, coef, rounds = model.score(X, y), model.coef_.copy(), model.t_
    model.partial_fit(X[LATER], y[LATER])
    assert model.t_ == rounds + 15
    assert np.abs(model.coef_ - coef).max() > 0.0
    assert model.score(X, y) > before - 0.1


def test_there_are_pickles_of_every_case_of_0_1():
    names = {file.stem for file in OLD_FILES}
    assert {f"0.1.0-{case}" for case in models_of_0_1()} <= names


def test_the_pickles_of_0_1_are_small():
    assert sum(file.stat().st_size for file in OLD_FILES) < 300_000


@needs_numpy_2
@pytest.mark.parametrize("file", OLD_FILES, ids=[file.stem for file in OLD_FILES])
def test_an_old_pickle_predicts_as_it_did_and_goes_on_learning(file):
    content = pickle.loads(file.read_bytes())
    X, y = content["X"], content["y"]
    model = pickle.loads(content["model"])
    assert_looks_like(model, X, looks(file, content, "now"))
    if model.method_ == "information":
        assert_goes_on(model, X, y)
    else:
        model.partial_fit(X[LATER], y[LATER])
        assert_looks_like(model, X, looks(file, content, "later"))


@needs_numpy_2
@pytest.mark.parametrize("file", OLD_FILES, ids=[file.stem for file in OLD_FILES])
def test_an_old_pickle_can_be_pickled_again_and_fitted_anew(file):
    content = pickle.loads(file.read_bytes())
    X, y = content["X"], content["y"]
    model = pickle.loads(pickle.dumps(pickle.loads(content["model"])))
    assert_looks_like(model, X, looks(file, content, "now"))
    assert model.get_params().keys() == type(model)().get_params().keys()
    assert model.method_ in ("algorithm1", "information", "stack")
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


# ---- from 0.2 on: what a model learns before it is saved -----------------------------------------


def go_on(model, X, y, **first):
    """Learn from these rows, as a stream."""
    if isinstance(model, AdaReg):
        for z, target in zip(X, y, strict=True):
            model.step(z, slope=z @ model.x - target)
    elif isinstance(model, Pipeline):
        model[-1].partial_fit(model[0].partial_fit(X).transform(X), y, **first)
    elif not isinstance(model, dict):
        model.partial_fit(X, y, **first)
    return model


def first_call(y):
    """What the first call of a classifier takes."""
    return {"classes": np.unique(y)} if y.dtype.kind in "iU" else {}


def in_two_calls(model, X, y):
    return go_on(go_on(model, X[:20], y[:20], **first_call(y)), X[20:], y[20:])


def from_few_rows(model, X, y):
    return go_on(model, X[-20:], y[-20:], **first_call(y))


def by_fit(model, X, y):
    return model.fit(X, y)


def from_given_weights(model, X, y):
    return model.fit(X, y, coef_init=np.full(X.shape[1], 0.1), intercept_init=[0.2])


def with_weights(model, X, y):
    return go_on(model, X, y, sample_weight=np.arange(len(y)) % 3 / 2.0, **first_call(y))


def with_a_new_class(model, X, y):
    """Class 2 joins a model of classes 0, 1 and 3."""
    y, early = np.where(y == 2, 3, y), np.arange(len(y)) < 30
    go_on(model, X[early], y[early], classes=[0, 1, 3])
    y = np.where(X[:, 0] > 0.5, 2, y)
    return go_on(model, X[~early], y[~early], classes=[0, 1, 2, 3])


def merged(model, X, y):
    parts = [go_on(clone(model), X[k::2], y[k::2], **first_call(y)) for k in (0, 1)]
    return merge(parts)


def made_sparse(model, X, y):
    return in_two_calls(model, X, y).sparsify()


def results(model, X, y):
    """What is found out about a model and may be kept without it."""
    model.fit(X, y)
    return {
        "certificate": model.risk_certificate(),
        "bound": model.regret_bound(diameter=2.0),
        "constants": regret.loss_constants("log_loss", margin=2.0),
    }


class Case(NamedTuple):
    """A model, what it learns from, and how."""

    model: object
    rows: str = "narrow"
    targets: str = "labels"
    learn: object = in_two_calls
    n: int = 60


# ---- the cases -----------------------------------------------------------------------------------


def cases():
    """Name → case: every method, structure, update, domain and loss, and whatever else a saved model may carry."""
    parts = (learnt_step_sizes(), algorithm_1(), wide_models(), other_ways_to_learn(), other_kinds())
    found = {}
    for how, models in [group for part in parts for group in part]:
        assert not found.keys() & models.keys(), "a name is taken"
        found |= {name: Case(model, **how) for name, model in models.items()}
    return found


def learnt_step_sizes():
    """Models that learn their step sizes; names of cases are those of the methods of 0.2.0.dev0."""
    c, r = AdaRegClassifier, AdaRegRegressor
    lasso, half = {"alpha": 0.2, "l1_ratio": 1.0}, {"alpha": 0.2, "l1_ratio": 0.5}
    simplex, ball = {"domain": "simplex", "radius": 1.0}, {"domain": "l1", "radius": 0.8}
    box, euclid = {"domain": "box", "radius": 0.3}, {"domain": "l2", "radius": 0.5}
    sketch = {"structure": "sketch", "rank": 2}
    of_labels = {
        "classifier_as_it_comes": c(),
        "committee_half_life": c(half_life=20.0),
        "committee_l1_ball": c(loss="modified_huber", **ball),
        "newton": c(epsilon=1.0),
        "newton_nonnegative_half_life": c(epsilon=1.0, half_life=20.0, domain="nonnegative"),
        "newton_stack": c(**sketch),
        "stack_diag": c(structure="diag"),
        "stack_diag_half_life": c("ons", "diag", half_life=20.0),
        "stack_diag_lasso": c(structure="diag", **lasso),
        "stack_diag_simplex": c(structure="diag", **simplex),
        "stack_iso": c(structure="iso"),
        "stack_iso_l1_ball": c(structure="iso", **ball),
    }
    of_numbers = {
        "regressor_as_it_comes": r(),
        "committee_elastic_net": r(**half),
        "newton_lasso": r(epsilon=1.0, **lasso),
        "newton_l2_ball": r(epsilon=1.0, average=3.0, fit_intercept=False, **euclid),
        "newton_stack_regressor": r(**sketch),
        "stack_diag_regressor": r(structure="diag"),
        "stack_diag_elastic_net": r(structure="diag", **half),
        "stack_diag_box": r("adagrad", "diag", **box),
        "stack_iso_l2_ball": r("pnorm", "iso", p=3.0, **euclid),
    }
    of_classes = {
        "committee_softmax": c(),
        "newton_one_vs_rest": c(epsilon=1.0, loss="squared_hinge", class_weight="balanced"),
        "newton_stack_softmax": c(**sketch),
        "stack_softmax": c(structure="diag"),
        "stack_one_vs_rest": c(structure="diag", loss="hinge"),
    }
    of_columns = {
        "committee_two_targets": r(),
        "newton_stack_two_targets": r(loss="huber", **sketch),
        "stack_two_targets": r(structure="diag"),
    }
    of_sparse_rows = {
        "newton_sparse": c(epsilon=1.0),
        "newton_stack_sparse": c(**sketch),
        "stack_sparse": c(structure="diag"),
    }
    return [
        ({}, of_labels),
        ({"targets": "numbers"}, of_numbers),
        ({"targets": "counts"}, {"stack_poisson": r(structure="diag", loss="poisson")}),
        ({"targets": "classes"}, of_classes),
        ({"targets": "columns"}, of_columns),
        ({"rows": "sparse"}, of_sparse_rows),
    ]


def algorithm_1():
    """One step size: each structure, with either update, and what it may be combined with."""
    c, r = AdaRegClassifier, AdaRegRegressor
    dual = {"update": "dual_averaging"}
    raw, last = {"scaling": None, "fit_intercept": False}, {"average": False}
    lasso, half = {"alpha": 0.2, "l1_ratio": 1.0}, {"alpha": 0.2, "l1_ratio": 0.5}
    ball, euclid = {"domain": "l1", "radius": 0.8}, {"domain": "l2", "radius": 0.5}
    simplex = {"domain": "simplex", "radius": 1.0}
    theory = {"eta": "theory", "epsilon": "theory", "average": True}
    grid = product(("adagrad", "ons"), ("full", "block", "sketch", "diag", "iso"), _registry.UPDATES)
    losses = cycle(name for name in _registry.REGRESSION_LOSSES if name != "poisson")
    of_numbers = {
        f"{potential}_{structure}_{update}": r(
            potential, structure, update=update, loss=loss, **blocks_of(structure), **FIXED
        )
        for (potential, structure, update), loss in zip(grid, losses, strict=False)
    }
    of_numbers |= {
        "pnorm_full_simplex": r("pnorm", "full", **simplex, **FIXED),
        "pnorm_diag_lasso": r("pnorm", "diag", **lasso, **last, **FIXED),
        "full_l2_ball": r("ons", "full", **euclid, **FIXED),
        "full_l2_penalty": r("adagrad", "full", alpha=0.05, **raw, **FIXED),
        "block_l1_ball": r("ons", "block", blocks=2, **ball, **FIXED),
        "sketch_simplex": r("adagrad", "sketch", rank=2, **simplex, **FIXED),
        "diag_lasso_dual": r("adagrad", "diag", **lasso, **dual, **FIXED),
        "iso_elastic_net_dual": r("ons", "iso", **half, **dual, **FIXED),
        "theory": r("adagrad", "diag", **euclid, **raw, **theory),
    }
    of_labels = {
        "iso_perceptron": c("ons", "iso", loss="perceptron", average=True, **FIXED),
        "full_half_life": c("adagrad", "full", half_life=10.0, **FIXED),
        "full_ons_half_life": c("ons", "full", half_life=10.0, **FIXED),
        "block_half_life": c("ons", "block", blocks=2, half_life=10.0, **FIXED),
        "diag_half_life_dual": c("pnorm", "diag", half_life=10.0, **dual, **FIXED),
    }
    of_classes = {
        "full_softmax": c("ons", "full", **FIXED),
        "block_one_vs_rest": c("adagrad", "block", blocks=2, loss="hinge", **FIXED),
        "kronecker_softmax": c(structure="kronecker"),
        "kronecker_one_vs_rest": c("adagrad", "kronecker", loss="hinge", alpha=0.05, **FIXED),
    }
    of_sparse_rows = {
        "block_sparse": c("ons", "block", blocks=2, **FIXED),
        "sketch_sparse": c("adagrad", "sketch", rank=2, **FIXED),
        "diag_sparse_dual": c("adagrad", "diag", **dual, **FIXED),
        "iso_sparse": c("adagrad", "iso", alpha=0.05, **FIXED),
    }
    return [
        ({"targets": "numbers"}, of_numbers),
        ({"targets": "columns"}, {"kronecker_two_targets": r("pnorm", "kronecker", **FIXED)}),
        ({}, of_labels),
        ({"targets": "classes"}, of_classes),
        ({"rows": "sparse"}, of_sparse_rows),
    ]


def wide_models():
    """More than 100 features: dense rows choose coordinates in stages, after 32, 256 and 1024 rows."""
    c, r = AdaRegClassifier, AdaRegRegressor
    wide, spread = {"rows": "wide"}, {"rows": "wide sparse"}
    lasso = {"alpha": 0.2, "l1_ratio": 1.0, "max_iter": 2, "tol": None, "random_state": 0}
    return [
        (wide, {"wide_classifier": c()}),
        ({**wide, "learn": from_few_rows}, {"wide_before_the_first_stage": c()}),
        ({**wide, "n": 256 + 15, "targets": "numbers"}, {"wide_whitened": r()}),
        ({**wide, "n": 1024 + 15}, {"wide_after_the_last_stage": c()}),
        ({**wide, "targets": "numbers", "learn": by_fit}, {"wide_fitted_lasso": r(**lasso)}),
        (spread, {"wide_sparse": c()}),
        ({**spread, "targets": "numbers"}, {"wide_sparse_half_life": r(half_life=20.0)}),
    ]


def other_ways_to_learn():
    """By fit, from weighted rows, by merging, and what else leaves its marks in a model."""
    c, r = AdaRegClassifier, AdaRegRegressor
    lasso = {"alpha": 0.2, "l1_ratio": 1.0}
    fit = {"random_state": 0, "tol": None}
    stopped = {"early_stopping": True, "max_iter": 3, **fit}
    fitted = {"learn": by_fit, "targets": "numbers"}
    ons, named = r("ons", "diag", max_iter=2, **FIXED, **fit), [["a", "c"], ["b", "d"]]
    return [
        ({"learn": by_fit}, {"fitted": c(**fit), "fitted_and_stopped": c(structure="diag", **stopped)}),
        (fitted, {"fitted_lasso": r(structure="diag", max_iter=2, **lasso, **fit)}),
        (fitted, {"fitted_lasso_to_the_minimum": r(random_state=0, **lasso)}),
        ({**fitted, "learn": from_given_weights}, {"fitted_from_given_weights": ons}),
        ({"learn": with_weights}, {"weighted": c("ons", "full", **FIXED)}),
        ({"learn": merged}, {"merged_committee": c(), "merged_stack": c(structure="diag")}),
        ({"learn": merged, "targets": "numbers"}, {"merged_sketch": r(structure="sketch", rank=2)}),
        ({"learn": with_a_new_class, "targets": "classes"}, {"new_class_of_four": c(structure="diag")}),
        ({"learn": made_sparse}, {"made_sparse": c(structure="diag", **lasso)}),
        ({"rows": "named", "targets": "numbers"}, {"named_blocks": r("ons", "block", blocks=named, **FIXED)}),
    ]


def other_kinds():
    """What is not an estimator of ours, but holds one or its state."""
    encoder = TableEncoder(n_hashed=8, categories={"city": ["Rome", "Oslo"]})
    grid = {"structure": ["diag", "iso"], "eta": [0.01, "auto"]}
    raw = {"scaling": None, "fit_intercept": False}
    cores = {
        "core_full": AdaReg(4, "ons", "full", domain="l2", radius=0.5),
        "core_block": AdaReg(4, "adagrad", "block", blocks=2, half_life=10.0),
        "core_sketch": AdaReg(4, "ons", "sketch", rank=2),
        "core_iso": AdaReg(4, "pnorm", "iso", update="dual_averaging"),
    }
    piped = make_pipeline(encoder, AdaRegClassifier(structure="diag", random_state=0))
    return [
        ({"rows": "table", "learn": by_fit}, {"pipeline": piped}),
        ({}, {"search": ProgressiveSearch(AdaRegClassifier(), grid, min_rows=16)}),
        ({"targets": "numbers"}, cores),
        ({"learn": results}, {"results": AdaRegClassifier("adagrad", "full", **raw, **FIXED)}),
    ]


# ---- rows and targets ----------------------------------------------------------------------------


def stream(case):
    """The rows and targets of a case, in numbers that compress well."""
    several = case.targets in ("classes", "columns")
    X, score = rows(7, n=case.n, d=3 if several else 4)
    if "wide" in case.rows:
        X, score = wide_rows(case.n)
    X = np.round(2 * X) / 2
    if "sparse" in case.rows:
        X = sparse.csr_array(X * (np.abs(X) > 1.0))
    if case.rows == "named":
        X = dict(zip("abcd", X.T.copy(), strict=True))
    if case.rows == "table":
        cities = np.array(["Rome", "Oslo", "Bern"])[np.digitize(X[:, 0], [-0.5, 0.5])]
        shops = np.array(["a", "b", "c", "d"])[np.digitize(X[:, 1], [-0.5, 0.0, 0.5])]
        X = {"size": X[:, 2], "city": cities.tolist(), "shop": shops.tolist()}
    score = np.round(64 * score) / 64
    y = {
        "labels": lambda: np.where(score > 0, "yes", "no"),
        "classes": lambda: np.digitize(score, [-0.5, 1.0]),
        "numbers": lambda: score,
        "counts": lambda: np.round(np.abs(score)),
        "columns": lambda: np.column_stack([score, score**2]),
    }[case.targets]()
    return X, y


def wide_rows(n, d=102):
    """Pairs of correlated features, of which the differences matter, around 3."""
    rng = np.random.default_rng(7)
    X = np.repeat(rng.normal(size=(n, d // 2)), 2, axis=1)
    X[:, 1::2] += 0.3 * rng.normal(size=(n, d // 2))
    score = 3 * (X[:, 1::2] - X[:, ::2])[:, :10] @ rng.normal(size=10)
    return X + 3.0, score + 0.3 * rng.normal(size=n)


def as_rows(X):
    """A table is kept as its columns, since dataframes of one pandas may be unreadable to another."""
    return pytest.importorskip("pandas").DataFrame(X) if isinstance(X, dict) else X


# ---- how a model looks ---------------------------------------------------------------------------

ATTRIBUTES = (
    "coef_ intercept_ t_ method_ potential_ structure_ eta_ epsilon_ average_ half_life_ memory_ classes_ feature_names_in_ "
    "coef_std_ intercept_std_ progressive_loss_ n_iter_ loss_curve_ validation_scores_"
).split()
METHODS = ("predict", "predict_proba", "predict_interval")
POINTS = slice(-5, None)  # of the progressive curve


def look_of(model, X):
    """What a user sees of it, as plain arrays."""
    if isinstance(model, AdaReg):
        names = ("x", "average", "G", "H", "t")
        look = {name: np.asarray(getattr(model, name)) for name in names}
        shown = repr(model).replace(", refresh=0.5", "")  # the default before "auto"
        return {**look, "repr": np.asarray(shown)}
    if isinstance(model, dict):
        return {name: np.asarray(repr(result)) for name, result in model.items()}
    if isinstance(model, Pipeline):
        encoder, last = model[0], model[-1]
        Z = encoder.transform(X)
        look = {"encoded": Z.toarray() if sparse.issparse(Z) else Z}
        look["names"] = np.asarray(encoder.get_feature_names_out(), dtype=str)
        return {**look, "all steps": model.predict_proba(X), **look_of_estimator(last, Z)}
    if isinstance(model, ProgressiveSearch):
        look = {name: np.asarray(model.cv_results_[name]) for name in ("mean_test_score", "n_rows")}
        names = ("best_index_", "best_score_", "n_candidates_", "n_rows_")
        look |= {name: np.asarray(getattr(model, name)) for name in names}
        return {**look, **look_of_estimator(model.best_estimator_, X)}
    return look_of_estimator(model, X)


# What a model of a former default has of its own: its method, what belongs to it, and what is made of its matrices.
OF_THE_METHOD = "method_ eta_ epsilon_ average_ memory_ coef_std_ intercept_std_".split()


def is_former(look):
    """Whether a model had a method that others load as the method "information" now."""
    return str(look.get("method_")) in ("newton", "committee")


OF_LOSSES = ("progressive_loss_", "curve ", "certificate", "predict_interval")  # which were those of iterates


def remaining(look):
    """What is to be seen of a model that was saved, when it is loaded."""
    if not is_former(look):
        return look
    return {name: value for name, value in look.items() if name not in OF_THE_METHOD}


def look_of_estimator(model, X):
    look = {name: np.asarray(getattr(model, name)) for name in ATTRIBUTES if hasattr(model, name)}
    look["sparse"] = np.asarray(sparse.issparse(model.coef_))
    if look["sparse"]:
        look["coef_"] = model.coef_.toarray()
    curve = model.progressive_curve_
    look |= {f"curve {name}": np.asarray(course[POINTS]) for name, course in curve.items()}
    for name in METHODS:
        with suppress(AttributeError, ValueError):  # not every model has intervals
            look[name] = np.asarray(getattr(model, name)(X))
    with suppress(ValueError):  # rows of other weights than 1 certify nothing
        found = model.risk_certificate()
        look["certificate"] = np.array([found.loss, found.error_rate], dtype=float)
    return look


def assert_same_look(found, expected, rtol):
    """Relative to each number, and a thousandth of that to the largest of its array."""
    assert found.keys() >= expected.keys()
    for name, value in expected.items():
        if value.dtype.kind == "f":
            atol = 1e-3 * rtol * np.abs(value[np.isfinite(value)]).max(initial=0.0)
            np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


# ---- files ---------------------------------------------------------------------------------------

IN_SKOPS = ("pipeline", "stack_softmax")
NOT_IN_ADAREG = ("results", "search")  # which are no models of save_model


def write_files():
    """The files of this version, for good."""
    version, found = sklearn_adareg.__version__, cases()
    if list(FOLDER.glob(f"{version}-*")):
        raise FileExistsError(f"There are files of {version}, which stay as they are.")
    models, contents = {}, {}
    for name, case in found.items():
        X, y = stream(case)
        kept = as_rows(X)[: case.n - 15] if isinstance(X, dict) else X[: case.n - 15]
        model = models[name] = case.learn(case.model, kept, y[: case.n - 15])
        last = {k: v[-60:] for k, v in X.items()} if isinstance(X, dict) else X[-60:]
        contents[name] = {"model": pickle.dumps(model, protocol=5), "X": last, "y": y[-60:]}
    check_that_nothing_is_missing(found, models)
    for name, content in contents.items():
        stem = f"{version}-{name}"
        if name not in NOT_IN_ADAREG:
            save_model(models[name], FOLDER / f"{stem}.adareg")
        if name in IN_SKOPS:
            save_model(models[name], FOLDER / f"{stem}.skops")
        model, X, y = models[name], as_rows(content["X"])[LATER], content["y"][LATER]
        content["now"] = look_of(model, X)
        content["later"] = look_of(go_on(model, X, y), X)
        body = lzma.compress(pickle.dumps(content, protocol=5), preset=9)
        (FOLDER / f"{stem}.pickle").write_bytes(body)


def check_that_nothing_is_missing(found, models):
    """Every name in the registry is in some estimator."""
    recipes = [model._state.recipe for model in models.values() if hasattr(model, "_state")]
    tables = {
        "method": _registry.METHODS,
        "potential": _registry.POTENTIALS,
        "structure": _registry.STRUCTURES,
        "update": _registry.UPDATES,
        "domain": _registry.DOMAINS,
        "loss": {**_registry.CLASSIFICATION_LOSSES, **_registry.REGRESSION_LOSSES},
    }
    for what, table in tables.items():
        missing = table.keys() - {getattr(recipe, what) for recipe in recipes}
        assert not missing, f"no case has the {what} {missing}"
    pairs = {(recipe.method, recipe.structure) for recipe in recipes}
    assert {("algorithm1", name) for name in _registry.STRUCTURES} <= pairs


def read(file):
    """The content of the pickle beside a file, and the model of the file itself."""
    content = pickle.loads(lzma.decompress(file.with_suffix(".pickle").read_bytes()))
    if file.suffix == ".pickle":
        return content, pickle.loads(content["model"])
    if file.suffix == ".skops":
        pytest.importorskip("skops")
    return content, load_model(file)


# ---- the tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", CASES_OF)
def test_no_file_of_a_version_is_lost(version):
    suffixes = {kind: set() for kind in (".pickle", ".adareg", ".skops")}
    for file in FILES:
        if file.name.startswith(f"{version}-"):
            suffixes[file.suffix].add(file.stem.removeprefix(f"{version}-"))
    assert len(suffixes[".pickle"]) == CASES_OF[version]
    assert suffixes[".pickle"] - suffixes[".adareg"] == set(NOT_IN_ADAREG)
    assert suffixes[".skops"] == set(IN_SKOPS)


@pytest.mark.parametrize("version", CASES_OF)
def test_the_files_of_a_version_are_small(version):
    assert sum(file.stat().st_size for file in FOLDER.glob(f"{version}-*")) < 1_500_000


@needs_numpy_2
@of_any_scikit_learn
@pytest.mark.every_case
@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_a_saved_model_looks_as_it_did_and_goes_on_learning(file):
    content, model = read(file)
    X, y = as_rows(content["X"])[LATER], content["y"][LATER]
    if not isinstance(model, dict | Pipeline):
        assert type(model) is getattr(sklearn_adareg, type(model).__name__)
    assert_same_look(look_of(model, X), remaining(content["now"]), rtol=1e-9)
    if is_former(content["now"]):
        assert model.method_ == "information"
        assert_goes_on(model, content["X"], content["y"])
    else:
        later = {name: value for name, value in content["later"].items() if not name.startswith(OF_LOSSES)}
        assert_same_look(look_of(go_on(model, X, y), X), later, rtol=1e-7)


@needs_numpy_2
@of_any_scikit_learn
@pytest.mark.every_case
@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_a_saved_model_can_be_saved_again(file, tmp_path):
    content, model = read(file)
    X = as_rows(content["X"])[LATER]
    twin = pickle.loads(pickle.dumps(model))
    if file.suffix != ".pickle":
        save_model(twin, tmp_path / file.name)
        twin = load_model(tmp_path / file.name)
    assert_same_look(look_of(twin, X), remaining(content["now"]), rtol=1e-9)
    if isinstance(model, AdaRegClassifier | AdaRegRegressor):
        assert model.get_params().keys() == type(model)().get_params().keys()


@needs_numpy_2
@pytest.mark.parametrize("version", CASES_OF)
def test_a_former_default_is_at_its_minimum(version):
    """Its prior is centred at what it published, and so are its sums: what they say alone is to stay there."""
    found = 0
    for file in FOLDER.glob(f"{version}-*.pickle"):
        content = pickle.loads(lzma.decompress(file.read_bytes()))
        if not is_former(content["now"]):
            continue
        model, found = pickle.loads(content["model"]), found + 1
        recipe, d = model._state.recipe, model.n_features_in_
        penalty = recipe.alpha * np.array([1.0 - recipe.l1_ratio, recipe.l1_ratio])
        for block in model._state.blocks:
            arrays = block.arrays
            G = np.triu(arrays["G"]) + np.swapaxes(np.triu(arrays["G"], 1), -1, -2)
            for p, m in np.ndindex(G.shape[:2]):
                x = arrays["x"][p, :, : arrays["r"].shape[2]].T  # of the first candidate
                own = np.cumsum([0, *range(len(x), 1, -1)]) if recipe.coupled else np.arange(len(x))
                slope = np.einsum("cij,cj->ci", G[p, m, own], x) - arrays["r"][p, m]
                due = arrays["mass"][m] * np.stack([x[:, :d], np.sign(x[:, :d])])
                slope[:, :d] += np.tensordot(penalty, due, 1)
                size = np.abs(arrays["r"][p, m]).max() + 1e-300
                assert np.abs(slope).max() < 1e-10 * size
                assert np.linalg.eigvalsh(G[p, m, own]).min() > -1e-9 * np.abs(G[p, m]).max()
                np.testing.assert_array_equal(arrays["origin"][p, :, :d], x[:, :d])
            beyond = arrays["columns"][[5, 6], :d]
            assert (np.abs(beyond) == 1e300).all()  # no value is limited before the next rows
    assert found > 10


@needs_numpy_2
@pytest.mark.parametrize("version", CASES_OF)
def test_wide_models_were_saved_in_the_stages_that_their_names_say(version):
    def state(case):
        return read(FOLDER / f"{version}-{case}.pickle")[1]._state

    before, centred = state("wide_before_the_first_stage"), state("wide_classifier")
    whitened, last = state("wide_whitened"), state("wide_after_the_last_stage")
    kept = [sum(len(rows) for rows, *_ in each.beginning) for each in (before, centred, whitened)]
    assert kept == [20, 45, 256]
    assert (before.feature_transform, last.beginning) == (None, None)
    assert [len(each.feature_transform[3]) > 0 for each in (centred, whitened)] == [False, True]
    assert last.feature_transform is not None
