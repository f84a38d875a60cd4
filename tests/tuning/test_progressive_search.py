"""ProgressiveSearch: one pass, the same choice as a long race, and nothing that GridSearchCV's users would miss."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.model_selection import ParameterSampler, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, ProgressiveSearch
from sklearn_adareg.tuning._trials import _squared_errors

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 5))
SCORE = X @ [1.0, -2.0, 0.5, 0.0, 0.0]
LABELS = np.where(SCORE + rng.logistic(size=6000) > 0, "yes", "no")
VALUES = SCORE + 0.5 * rng.normal(size=6000)
ETAS = {"eta": [1e-6, 1e-4, 1.0, 1e4]}
DIAG = AdaRegClassifier("adagrad", "diag", scaling=None, epsilon=1.0, max_iter=1)


def search(estimator=DIAG, grid=ETAS, **options):
    return ProgressiveSearch(estimator, grid, random_state=0, **options)


def test_it_finds_the_step_size_and_drops_those_that_cannot_win():
    found = search().fit(X, LABELS)
    assert found.best_params_ == {"eta": 1.0}
    assert found.best_index_ == 2
    results = found.cv_results_
    assert results["n_rows"][2] == found.n_rows_
    assert results["dropped"].tolist() == [True, True, False, True] or results["dropped"].sum() >= 2
    assert results["n_rows"].sum() < 0.6 * 4 * 6000
    assert results["rank_test_score"][2] == 1
    assert sorted(results["rank_test_score"]) == [1, 2, 3, 4]
    assert found.n_candidates_[0] <= 4
    assert found.best_score_ == results["mean_test_score"][2]
    assert found.score(X, LABELS) == found.best_estimator_.score(X, LABELS) > 0.75
    np.testing.assert_array_equal(found.predict(X), found.best_estimator_.predict(X))
    assert found.predict_proba(X).shape == (6000, 2)
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.n_features_in_ == 5


def test_scores_are_losses_of_rows_before_they_are_learnt_from():
    """By hand for one trial: predict a unit, note its loss, learn from it."""
    found = search(grid={"eta": [0.5]}, shuffle=False, refit=False, min_rows=512).fit(X, LABELS)
    model = clone(DIAG).set_params(eta=0.5)
    edges = [*range(0, 1024, 128), *range(1024, 2048, 256), *range(2048, 4096, 512), *range(4096, 6000, 1024), 6000]
    losses = np.zeros(6000)
    for low, high in pairwise(edges):
        if low:
            chances = model.predict_proba(X[low:high])
            losses[low:high] = -np.log(np.where(LABELS[low:high] == "yes", chances[:, 1], chances[:, 0]))
        model.partial_fit(X[low:high], LABELS[low:high], classes=["no", "yes"])
    assert found.best_score_ == pytest.approx(
        -losses[3008:].mean()
    )  # parts (1/16 of a unit) that begin in the last half
    np.testing.assert_array_equal(found.best_estimator_.coef_, model.coef_)


def test_a_loss_that_explodes_is_told_from_the_leader_at_the_first_rung():
    """Its losses differ by orders of magnitude from part to part, and their standard error is as large as their mean."""
    model = AdaRegRegressor("pnorm", "diag", max_iter=1)
    wide = np.random.default_rng(3).standard_cauchy(size=(4000, 40))
    found = search(model, {"eta": [0.1, 100.0]}, min_rows=512).fit(wide, wide[:, 0])
    assert found.best_params_ == {"eta": 0.1}
    assert found.n_candidates_ == [1]
    assert found.cv_results_["n_rows"].tolist() == [512, 512]


def test_fit_ends_the_pass_when_one_is_left_and_is_fitted_anew():
    grid = {"eta": [1e-6, 1.0]}
    found = search(grid=grid).fit(X, LABELS)
    assert found.n_candidates_[-1] == 1
    assert found.n_rows_ < 6000 == found.best_estimator_.t_
    kept = search(grid=grid, refit=False).fit(X, LABELS)
    assert kept.n_rows_ == 6000 == kept.best_estimator_.t_
    assert kept.best_params_ == found.best_params_


def test_refit_fits_the_best_on_all_rows():
    found = search().fit(X, LABELS)
    own = clone(DIAG).set_params(eta=1.0, random_state=None)
    assert found.best_estimator_.get_params() == own.get_params()
    assert found.best_estimator_.t_ == 6000
    one_pass = search(refit=False).fit(X, LABELS)
    assert one_pass.best_params_ == found.best_params_


def test_a_stream_gives_the_same_choice_however_it_is_cut():
    whole = search().partial_fit(X, LABELS, classes=["no", "yes"])
    parts = search()
    for rows in np.split(np.arange(6000), [1, 700, 1024, 1025, 4000]):
        parts.partial_fit(X[rows], LABELS[rows], classes=["no", "yes"])
    assert parts.best_params_ == whole.best_params_ == {"eta": 1.0}
    assert parts.n_rows_ == 6000
    assert parts.n_candidates_ == whole.n_candidates_
    np.testing.assert_array_equal(parts.best_estimator_.coef_, whole.best_estimator_.coef_)
    in_order = search(shuffle=False, refit=False, min_rows=1024).fit(X, LABELS)
    np.testing.assert_array_equal(in_order.best_estimator_.coef_, whole.best_estimator_.coef_)


def test_threads_change_nothing():
    one, two = (search(n_jobs=jobs, refit=False).fit(X, LABELS) for jobs in (1, 2))
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(one.best_estimator_.coef_, two.best_estimator_.coef_)


def test_candidates_that_are_the_same_are_never_dropped_by_the_bound():
    """Two equal trials: no difference is above 0, so both learn to the end."""
    same = search(grid=[{"eta": [1.0]}, {"eta": [1.0]}]).fit(X, LABELS)
    assert not same.cv_results_["dropped"].any()


@pytest.mark.parametrize(
    ("estimator", "grid", "y"),
    [
        (AdaRegRegressor(), {"eta": ["auto", 1e-7]}, VALUES),
        (SGDClassifier(loss="log_loss", random_state=0), {"alpha": [1e-2, 100.0]}, LABELS),
        (SGDClassifier(random_state=0), {"alpha": [1e-4, 10.0]}, LABELS),
        (SGDRegressor(random_state=0), {"eta0": [0.01, 1e-9]}, VALUES),
    ],
    ids=["AdaRegRegressor", "SGD, log-loss", "SGD, hinge", "SGDRegressor"],
)
def test_any_estimator_with_partial_fit_can_be_searched(estimator, grid, y):
    found = search(estimator, grid).fit(X, y)
    [(name, values)] = grid.items()
    assert found.best_params_ == {name: values[0]}


def test_several_targets_weights_and_scorers():
    targets = np.column_stack([VALUES, -VALUES])
    found = search(AdaRegRegressor(), {"eta": ["auto", 1e-7]}).fit(X, targets)
    assert found.predict(X).shape == (6000, 2)
    weights = (np.arange(6000) % 2).astype(float)
    weighted = search(refit=False, shuffle=False).fit(X, LABELS, sample_weight=weights)
    assert weighted.best_estimator_.t_ == 3000
    scored = search(scoring="accuracy").fit(X, LABELS)
    assert scored.best_params_["eta"] >= 1.0  # a direction decides labels, whatever its length
    assert 0.7 < scored.best_score_ < 0.9
    assert scored.score(X, LABELS) == pytest.approx(np.mean(scored.predict(X) == LABELS))


def test_it_goes_where_grid_search_goes():
    model = make_pipeline(StandardScaler(), search())
    assert cross_val_score(model, X, LABELS, cv=3).min() > 0.75
    fitted = search().fit(X, LABELS)
    twin = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(twin.predict(X), fitted.predict(X))
    assert clone(fitted).get_params()["param_grid"] == ETAS
    assert not hasattr(clone(fitted), "best_params_")
    sampled = search(grid=ParameterSampler(ETAS, 3, random_state=0)).fit(X, LABELS)
    assert len(sampled.cv_results_["params"]) == 3
    assert not hasattr(search(AdaRegClassifier(loss="hinge")), "predict_proba")
    assert fitted.cv_results_["param_eta"].tolist() == ETAS["eta"]
    refitted = fitted.fit(X[:, :3], LABELS)
    assert refitted.n_features_in_ == 3


def test_a_candidate_that_fails_leaves_the_race_alone():
    grid = {"eta": [1.0, -1.0]}
    with pytest.warns(FitFailedWarning, match=r"\{'eta': -1.0\} failed and is dropped"):
        found = search(grid=grid).fit(X, LABELS)
    assert found.best_params_ == {"eta": 1.0}
    assert found.cv_results_["rank_test_score"].tolist() == [1, 2]
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="All trials failed; the first said"):
        search(grid={"eta": [-1.0, -2.0]}).fit(X, LABELS)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: search(LogisticRegression(), {"C": [1]}).fit(X, LABELS), "has no partial_fit; use GridSearchCV"),
        (lambda: search(grid=[]).fit(X, LABELS), "no trials"),
        (lambda: search().partial_fit(X, LABELS), r"pass all labels as classes=\[...\]"),
        (lambda: search(delta=2.0).fit(X, LABELS), "delta"),
        (lambda: search().predict(X), "not fitted"),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()


def test_a_late_winner_is_not_dropped_early():
    """Few rows favour a step size near 0 (the constant); many rows favour the large one, which overfits first."""
    generator = np.random.default_rng(1)
    wide = generator.normal(size=(16_000, 60))
    noisy = wide @ generator.normal(size=60) * 0.12 + generator.logistic(size=16_000) > 0
    model = AdaRegClassifier("ons", "full", scaling=None, epsilon=1.0, average=False)
    etas = {"eta": [1e-4, 3e-4, 1e-3, 4.0]}
    early = search(model, etas, refit=False, shuffle=False).fit(wide[:600], noisy[:600])
    assert early.best_params_ != {"eta": 4.0}
    found = search(model, etas).fit(wide, noisy)
    assert found.best_params_ == {"eta": 4.0}


def test_few_rows_and_one_row_at_a_time():
    small = search().fit(X[:40], LABELS[:40])
    assert np.isfinite(small.best_score_)
    stream = search()
    for row in range(300):
        stream.partial_fit(X[row : row + 1], LABELS[row : row + 1], classes=["no", "yes"])
    assert np.isfinite(stream.best_score_)
    assert stream.n_rows_ == 300


def test_errors_whose_squares_overflow_are_numbers():
    model = AdaRegRegressor("adagrad", "diag", loss="absolute_error").partial_fit([[1.0]], [1.0])
    errors = _squared_errors(model, np.ones((2, 1)), np.array([1e200, 2.0]))
    assert np.isfinite(np.sum(1e6 * errors))
    assert errors[0] > 1e250 > errors[1] > 0
