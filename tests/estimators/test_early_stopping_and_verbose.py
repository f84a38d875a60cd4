"""When fit stops, which model it keeps, and what it says on the way."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, check_scoring, log_loss, mean_pinball_loss, mean_squared_error, r2_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import estimator, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

MAKE = {"eta": 1.0, "epsilon": 1.0, "shuffle": True, "random_state": 0, "scoring": None}


def data(loss, n=150, seed=0):
    X, score = rows(seed, n=n)
    return X, target(loss, score)


def epochs(curve, tol, n_iter_no_change):
    """Passes until ``n_iter_no_change`` in a row are no better than the best before by ``tol``."""
    best, idle = -np.inf, 0
    for made, merit in enumerate(curve, start=1):
        idle = idle + 1 if merit < best + tol else 0
        best = max(best, merit)
        if idle == n_iter_no_change:
            return made
    return len(curve)


# --- by the training loss -------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
@pytest.mark.parametrize("n_iter_no_change", [1, 3, 5])
@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
def test_fit_stops_after_so_many_passes_without_improvement(tol, n_iter_no_change, loss):
    X, y = data(loss)
    long = estimator(loss=loss, max_iter=40, **MAKE).fit(X, y)
    assert long.n_iter_ == len(long.loss_curve_) == 40
    expected = epochs(-np.array(long.loss_curve_), tol, n_iter_no_change)
    rule = {"tol": tol, "n_iter_no_change": n_iter_no_change, "max_iter": 40}
    model = estimator(loss=loss, **MAKE).set_params(**rule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.n_iter_ == expected
    assert model.loss_curve_ == long.loss_curve_[:expected]
    assert model.t_ == expected * len(y)
    assert not hasattr(model, "validation_scores_")


def test_the_rule_stops_some_of_those_early_and_some_not():
    X, y = data("log_loss")
    curve = -np.array(estimator(max_iter=40, **MAKE).fit(X, y).loss_curve_)
    assert epochs(curve, 1e-2, 1) < epochs(curve, 1e-4, 5) <= 40


def test_a_loss_that_gets_worse_does_not_count_as_improvement_when_it_recovers():
    assert epochs([-1.0, -5.0, -0.9999, -4.0], tol=1e-2, n_iter_no_change=3) == 4


# --- by a validation set --------------------------------------------------------------------------


def split(loss, weighted=True):
    X, y = data(loss, n=240, seed=1)
    weight = np.random.default_rng(0).integers(0, 3, size=80) if weighted else np.ones(80)
    own = {"X_val": X[160:], "y_val": y[160:], "sample_weight_val": weight.astype(float)}
    return X[:160], y[:160], own


def score(model, own):
    metric = r2_score if model.loss == "squared_error" else accuracy_score
    predictions = model.predict(own["X_val"])
    return metric(own["y_val"], predictions, sample_weight=own["sample_weight_val"])


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_the_curve_is_the_score_on_my_own_rows_after_each_pass(loss, change):
    X, y, own = split(loss)
    own["X_val"] = change(own["X_val"])
    model = estimator("ons", "full", loss=loss, early_stopping=True, max_iter=6, **MAKE)
    model.fit(X, y, **own)
    after = [estimator("ons", "full", loss=loss, max_iter=k, **MAKE).fit(X, y) for k in range(1, 7)]
    expected = [score(each, own) for each in after]
    np.testing.assert_allclose(model.validation_scores_, expected, rtol=1e-12)
    assert model.loss_curve_ == after[-1].loss_curve_
    best = int(np.argmax(expected))
    np.testing.assert_array_equal(model.coef_, after[best].coef_)
    assert model.t_ == after[best].t_
    assert model.n_iter_ == 6


@pytest.mark.parametrize("n_iter_no_change", [2, 4])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_the_score_decides_when_to_stop(loss, n_iter_no_change):
    X, y, own = split(loss)
    rule = {"tol": 1e-3, "n_iter_no_change": n_iter_no_change, "max_iter": 60}
    long = estimator(loss=loss, early_stopping=True, max_iter=60, **MAKE).fit(X, y, **own)
    curve = long.validation_scores_
    assert len(curve) == 60
    model = estimator(loss=loss, early_stopping=True, **MAKE).set_params(**rule).fit(X, y, **own)
    assert model.n_iter_ == epochs(curve, 1e-3, n_iter_no_change) < 60
    assert model.validation_scores_ == curve[: model.n_iter_]
    assert score(model, own) == pytest.approx(max(model.validation_scores_), rel=1e-12)


def test_the_best_model_is_kept_when_later_passes_are_worse():
    X, y, own = split("squared_error")
    own["y_val"] = 0.3 * own["y_val"]  # short steps pass a third of the way long before the end
    model = estimator(loss="squared_error", early_stopping=True, average=False, random_state=0)
    model.set_params(eta=0.01, max_iter=30, scoring=None).fit(X, y, **own)
    best = int(np.argmax(model.validation_scores_))
    assert 0 < best < 10
    assert model.t_ == (best + 1) * len(y)
    assert score(model, own) == pytest.approx(max(model.validation_scores_), rel=1e-12)
    assert score(model, own) > model.validation_scores_[-1]
    model.partial_fit(X, y)  # goes on from the best, not from the last
    assert model.t_ == (best + 2) * len(y)


@pytest.mark.parametrize("fraction", [0.1, 0.25])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_a_share_of_the_rows_is_held_out(loss, fraction):
    X, y = data(loss, n=200)
    make = {"early_stopping": True, "validation_fraction": fraction, "max_iter": 1}
    model = estimator("ons", "full", loss=loss, **make, **MAKE).fit(X, y)
    assert model.t_ == (1 - fraction) * 200
    assert len(model.validation_scores_) == 1


def test_a_share_of_each_class_is_held_out():
    """One row in ten is of the rare class: so is one of the ten held out."""
    X, score = rows(0, n=100)
    y = np.zeros(100, dtype=int)
    y[np.argsort(score)[:10]] = 1
    # A model that says 0 throughout is right on nine in ten.
    model = estimator(eta=1e-9, early_stopping=True, scoring=None, random_state=0, shuffle=True)
    model.fit(X, y)
    assert model.validation_scores_ == [0.9]


def test_another_seed_holds_out_other_rows_and_the_same_seed_the_same():
    X, y = data("squared_error")
    make = {"loss": "squared_error", "early_stopping": True, "shuffle": False}
    a, b, c = (estimator(**make, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert a.validation_scores_ == b.validation_scores_ != c.validation_scores_
    np.testing.assert_array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y_val": None}, "X_val and y_val go together, and y_val is missing"),
        ({"X_val": None}, "X_val and y_val go together, and X_val is missing"),
        ({"X_val": np.ones((80, 3))}, "3 features"),
        ({"y_val": np.ones(79)}, "inconsistent numbers of samples"),
        ({"y_val": np.full(80, 7)}, "label .*7.* not among the classes"),
        ({"sample_weight_val": np.ones(79)}, "sample_weight"),
        ({"sample_weight_val": -np.ones(80)}, "Negative values"),
        ({"X_val": np.full((80, 5), np.nan)}, "NaN"),
        ({"X_val": None, "y_val": None}, "sample_weight_val"),
    ],
)
def test_validation_sets_that_are_none(change, words):
    X, y, own = split("log_loss")
    model = estimator(early_stopping=True)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y, **{**own, **change})
    assert not hasattr(model, "coef_")


def test_a_validation_set_without_early_stopping_is_refused_in_a_sentence():
    X, y, own = split("log_loss")
    with pytest.raises(ValueError, match="early_stopping is False, so they would not be used"):
        estimator().fit(X, y, **own)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_my_own_validation_set_goes_through_a_pipeline_and_its_scaler(loss):
    X, y, own = split(loss)
    X, own["X_val"] = 50 * X + 7, 50 * own["X_val"] + 7
    make = {"loss": loss, "early_stopping": True, "max_iter": 5}
    scaler = StandardScaler().fit(X)
    by_hand = estimator(**make, **MAKE)
    by_hand.fit(scaler.transform(X), y, **{**own, "X_val": scaler.transform(own["X_val"])})
    with config_context(enable_metadata_routing=True):
        model = estimator(**make, **MAKE).set_fit_request(X_val=True, y_val=True, sample_weight_val=True)
        steps = [("scale", StandardScaler()), ("model", model)]
        pipeline = Pipeline(steps, transform_input=["X_val"]).fit(X, y, **own)
    assert pipeline[-1].validation_scores_ == by_hand.validation_scores_
    np.testing.assert_array_equal(pipeline[-1].coef_, by_hand.coef_)


# --- by which score -------------------------------------------------------------------------------


def mean_loss(model, own):
    """The loss of scikit-learn's metrics, where it has one."""
    y, weight, X = own["y_val"], own["sample_weight_val"], own["X_val"]
    if model.loss == "squared_error":
        return mean_squared_error(y, model.predict(X), sample_weight=weight) / 2
    if model.loss == "quantile":
        return mean_pinball_loss(y, model.predict(X), alpha=model.quantile, sample_weight=weight)
    return log_loss(y, model.predict_proba(X), sample_weight=weight, labels=model.classes_)


@pytest.mark.parametrize("scaling", [None, "online"])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "quantile"])
def test_the_default_score_is_the_negative_mean_loss(loss, scaling):
    X, y, own = split(loss)
    make = {"loss": loss, "shuffle": False, "scaling": scaling, "tol": None}
    cls = type(estimator(loss=loss))
    model = cls(early_stopping=True, max_iter=4, **make).fit(X, y, **own)
    after = [cls(max_iter=k, **make).fit(X, y) for k in range(1, 5)]
    expected = [-mean_loss(each, own) for each in after]
    np.testing.assert_allclose(model.validation_scores_, expected, rtol=1e-9)
    np.testing.assert_array_equal(model.coef_, after[int(np.argmax(expected))].coef_)


@pytest.mark.parametrize("structure", ["full", "diag"])
def test_the_loss_of_several_targets_and_classes_is_their_sum(structure):
    X, score = rows(2, n=120)
    Y = np.column_stack([score, -2.0 * score, score**2])
    make = {"shuffle": False, "max_iter": 1}
    own = {"X_val": X[80:], "y_val": Y[80:]}
    model = AdaRegRegressor(structure=structure, early_stopping=True, **make)
    model.fit(X[:80], Y[:80], **own)
    expected = 0.5 * np.sum((model.predict(X[80:]) - Y[80:]) ** 2, axis=1).mean()
    assert model.validation_scores_ == [pytest.approx(-expected, rel=1e-9)]
    for loss in ("log_loss", "hinge"):
        y = np.digitize(score, [-0.5, 2.0])
        model = AdaRegClassifier(structure=structure, loss=loss, early_stopping=True, **make)
        model.fit(X[:80], y[:80], X_val=X[80:], y_val=y[80:])
        margins = model.decision_function(X[80:])
        if loss == "log_loss":
            expected = log_loss(y[80:], model.predict_proba(X[80:]))
        else:
            signs = np.where(y[80:, None] == model.classes_, 1.0, -1.0)
            expected = np.maximum(0.0, 1.0 - signs * margins).sum(axis=1).mean()
        assert model.validation_scores_ == [pytest.approx(-expected, rel=1e-9)]


@pytest.mark.parametrize("structure", ["full", "diag"])
def test_the_loss_of_huber_is_in_the_unit_of_its_residuals(structure):
    """Multiplied by 1000, the targets are the same problem: its losses are 1000² times as large."""
    X, y, own = split("squared_error")
    large = {**own, "y_val": 1000 * own["y_val"]}
    make = {"structure": structure, "loss": "huber", "early_stopping": True, "shuffle": False}
    one = AdaRegRegressor(**make, tol=None, max_iter=3).fit(X, y, **own)
    other = AdaRegRegressor(**make, tol=None, max_iter=3).fit(X, 1000 * y, **large)
    expected = 1e6 * np.array(one.validation_scores_)
    np.testing.assert_allclose(other.validation_scores_, expected, rtol=1e-6)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", None])
def test_any_score_of_scikit_learn_decides(scoring):
    X, y, own = split("log_loss")
    model = estimator(early_stopping=True, max_iter=3, **{**MAKE, "scoring": scoring})
    model.fit(X, y, **own)
    after = [estimator(max_iter=k, **MAKE).fit(X, y) for k in (1, 2, 3)]
    scorer = check_scoring(model, scoring)
    weight = {"sample_weight": own["sample_weight_val"]}
    expected = [scorer(each, own["X_val"], own["y_val"], **weight) for each in after]
    np.testing.assert_allclose(model.validation_scores_, expected, rtol=1e-12)


def test_a_score_of_my_own_sees_a_fitted_model_and_column_names_do_not_matter():
    pandas = pytest.importorskip("pandas")
    X, y, own = split("log_loss", weighted=False)
    del own["sample_weight_val"]
    names = [f"feature {i}" for i in range(5)]
    own["X_val"] = pandas.DataFrame(own["X_val"], columns=names)
    seen = []

    def rounds(model, X, y):
        seen.append(model.predict(X).shape)
        return model.t_

    model = estimator(early_stopping=True, max_iter=3, **{**MAKE, "scoring": rounds})
    model.fit(pandas.DataFrame(X, columns=names), y, **own)
    assert model.validation_scores_ == [160, 320, 480]
    assert seen == [(80,)] * 3
    assert list(model.feature_names_in_) == names


def test_rare_classes_are_learnt_for_as_long_as_the_loss_improves():
    """With 2 % positives accuracy stands still, and in version 0.1 the first pass was kept."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = (X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.3 * rng.normal(size=2000) > 3.2).astype(int)
    assert 0.005 < y.mean() < 0.03
    make = {"early_stopping": True, "max_iter": 30, "random_state": 0, "eta": 0.05}
    by_loss = AdaRegClassifier("adagrad", "diag", **make).fit(X, y)
    by_accuracy = AdaRegClassifier("adagrad", "diag", scoring=None, **make).fit(X, y)
    assert by_accuracy.t_ < by_loss.t_
    assert log_loss(y, by_loss.predict_proba(X)) < log_loss(y, by_accuracy.predict_proba(X))


@pytest.mark.parametrize("scoring", ["no such score", 3])
def test_a_score_that_is_none_is_refused(scoring):
    X, y, own = split("log_loss")
    model = estimator(early_stopping=True, scoring=scoring)
    with pytest.raises(ValueError, match="scoring"):
        model.fit(X, y, **own)
    assert not hasattr(model, "coef_")


# --- what it prints -------------------------------------------------------------------------------


def report(text):
    """Header, and the lines as numbers."""
    header, *lines = text.splitlines()
    return header, [tuple(float(part) for part in line.split()) for line in lines]


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("chunks", [1, 7])
@pytest.mark.parametrize("n", [1, 64, 100])
def test_progress_of_a_stream_is_printed_at_powers_of_two(n, chunks, loss, capsys):
    """Over all calls of partial_fit, with one header."""
    X, y = data(loss)
    X, y = X[:n], y[:n]
    labels = {"classes": [-1, 1]} if loss == "log_loss" else {}
    one_by_one, totals = estimator(loss=loss), [0.0]
    for i in range(n):
        one_by_one.partial_fit(X[[i]], y[[i]], **labels)
        totals.append(one_by_one.progressive_loss_ * (i + 1))
    assert capsys.readouterr().out == ""
    model = estimator(loss=loss, verbose=1)
    for part in np.array_split(np.arange(n), min(n, chunks)):
        model.partial_fit(X[part], y[part], **labels)
    header, lines = report(capsys.readouterr().out)
    assert header.split() == ["round", "mean", "loss", "since", "last", "memory"]
    ends = [2**k for k in range(8) if 2**k <= n]
    assert [line[0] for line in lines] == ends
    begins = [0, *ends[:-1]]
    for (_, mean, since, _), begin, end in zip(lines, begins, ends, strict=True):
        assert mean == pytest.approx(totals[end] / end, rel=1e-5)
        assert since == pytest.approx((totals[end] - totals[begin]) / (end - begin), rel=1e-5)
    np.testing.assert_array_equal(model.coef_, one_by_one.coef_)


def test_printed_means_are_weighted(capsys):
    X, y = data("squared_error")
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    model = estimator(loss="squared_error", average=True, verbose=1).fit(X, y, weight)
    _, lines = report(capsys.readouterr().out)
    assert lines[-1][0] == np.count_nonzero(weight)
    assert lines[-1][1] == pytest.approx(model.loss_curve_[0], rel=1e-5)


def test_rounds_are_counted_on_over_passes(capsys):
    X, y = data("log_loss", n=24)
    quiet = estimator("ons", "full", max_iter=3, **MAKE).fit(X, y)
    assert capsys.readouterr().out == ""
    model = estimator("ons", "full", max_iter=3, verbose=1, **MAKE).fit(X, y)
    printed = capsys.readouterr().out.splitlines()
    rounds = [int(line.split()[0]) for line in printed if "round" not in line]
    assert rounds == [1, 2, 4, 8, 16, 24, 32, 48, 64, 72]
    np.testing.assert_array_equal(model.coef_, quiet.coef_)
    assert model.loss_curve_ == pytest.approx(quiet.loss_curve_, rel=1e-12)


def test_several_weight_vectors_print_one_report(capsys):
    X, y = data("squared_error")
    Y = np.column_stack([y] * 6)
    estimator(loss="squared_error", verbose=1, n_jobs=2).fit(X, Y)
    _, lines = report(capsys.readouterr().out)
    assert [line[0] for line in lines] == [1, 2, 4, 8, 16, 32, 64, 128, 150]


def test_a_pipeline_prints_the_report_of_its_last_step(capsys):
    X, y = data("log_loss")
    make_pipeline(StandardScaler(), estimator(verbose=1)).fit(X, y)
    assert "since last" in capsys.readouterr().out


def test_a_score_that_is_no_number_is_the_worst():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    scores = iter([np.nan, 0.3, 0.9, np.nan, 0.5])
    model = AdaRegRegressor(  # of which each pass is one over the rows
        structure="diag", early_stopping=True, scoring=lambda *_: next(scores), max_iter=5, tol=None, random_state=0
    ).fit(X, X[:, 0])
    assert model.validation_scores_ == [-np.inf, 0.3, 0.9, -np.inf, 0.5]


def test_predictions_whose_squares_overflow_are_scored_without_a_warning(recwarn):
    X = np.random.default_rng(0).normal(size=(40, 3))
    for structure in ("full", "diag"):
        model = AdaRegRegressor(structure=structure, early_stopping=True, scoring="r2", max_iter=2, tol=None)
        model.fit(X, X[:, 0], X_val=1e200 * X, y_val=X[:, 0])
        if structure == "diag":
            assert model.validation_scores_ == [-np.inf, -np.inf]
        else:  # whose values are limited
            assert np.isfinite(model.validation_scores_).all()
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]
