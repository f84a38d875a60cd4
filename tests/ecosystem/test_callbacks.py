"""scikit-learn's callbacks (1.9 on): called at every pass, shown a model, and free to stop it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import estimator, rows, target

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
MAKE = {"epsilon": 1.0, "max_iter": 4, "shuffle": True, "random_state": 0}
LOSSES = ["log_loss", "hinge", "squared_error"]


def data(loss):
    X, score = rows(0, n=120)
    return X, target(loss, score)


class Recorder:
    """Notes what it is called for, keeps the models it is shown, and asks to stop after some passes."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events, self.models = [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        assert X is not None
        assert y is not None
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        self.metadata = metadata
        return context.task_name != "fit" and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_callback_is_told_of_every_pass_and_shown_the_model_so_far(loss):
    X, y = data(loss)
    recorder = Recorder()
    model = estimator("ons", "full", loss=loss, **MAKE).set_callbacks(recorder).fit(X, y)
    passes = ["begin epoch", "end epoch"] * 4
    assert recorder.events == ["setup", "begin fit", *passes, "end fit", "teardown"]
    for k, shown in enumerate(recorder.models[:4], start=1):
        alone = estimator("ons", "full", loss=loss, **{**MAKE, "max_iter": k}).fit(X, y)
        np.testing.assert_array_equal(shown.coef_, alone.coef_)
        np.testing.assert_array_equal(shown.predict(X), alone.predict(X))
        assert shown.loss_curve_ == alone.loss_curve_
        assert shown.n_iter_ == k
    np.testing.assert_array_equal(recorder.models[4].coef_, model.coef_)


def test_listening_changes_nothing():
    X, y = data("log_loss")
    heard = estimator(**MAKE).set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_array_equal(heard.coef_, estimator(**MAKE).fit(X, y).coef_)


def test_a_model_that_was_shown_is_not_touched_by_later_passes():
    X, y = data("log_loss")
    recorder = Recorder()
    model = estimator(**MAKE).set_callbacks(recorder).fit(X, y)
    before = [shown.coef_.copy() for shown in recorder.models]
    recorder.models[-1].partial_fit(X, y)
    model.partial_fit(X, y)
    for shown, coef in zip(recorder.models[:-1], before, strict=False):
        np.testing.assert_array_equal(shown.coef_, coef)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_callback_may_ask_to_stop(early_stopping, loss):
    X, y = data(loss)
    recorder = Recorder(stop_after=2)
    model = estimator(loss=loss, early_stopping=early_stopping, tol=1e-9, n_iter_no_change=50)
    model.set_params(max_iter=50, random_state=0).set_callbacks(recorder).fit(X, y)
    assert model.n_iter_ == len(model.loss_curve_) == 2
    assert recorder.events.count("end epoch") == 2
    assert recorder.events[-2:] == ["end fit", "teardown"]


def test_the_model_shown_at_the_end_is_the_model_kept():
    """With early stopping that is the best one, not the last."""
    X, y = data("squared_error")
    recorder = Recorder()
    model = estimator(loss="squared_error", early_stopping=True, average=False, eta=1.0)
    model.set_params(max_iter=20, random_state=0).set_callbacks(recorder)
    model.fit(X[:90], y[:90], X_val=X[90:], y_val=0.3 * y[90:])
    assert np.argmax(model.validation_scores_) < 19
    np.testing.assert_array_equal(recorder.models[-1].coef_, model.coef_)


def test_a_callback_is_given_the_weights_where_there_are_any():
    X, y = data("log_loss")
    recorder, weight = Recorder(), np.ones(len(y))
    estimator(**MAKE).set_callbacks(recorder).fit(X, y)
    assert recorder.metadata is None
    estimator(**MAKE).set_callbacks(recorder).fit(X, y, weight)
    assert recorder.metadata["sample_weight"] is weight


def test_callbacks_are_taken_down_when_fit_fails():
    X, y = data("squared_error")
    recorder = Recorder()
    model = estimator(loss="squared_error", eta=1e200, max_iter=3).set_callbacks(recorder)
    with pytest.raises(ValueError, match="Stopped at row"):
        model.fit(X * 1e150, y)
    assert recorder.events[0] == "setup"
    assert recorder.events[-1] == "teardown"


def test_callbacks_stay_with_clones_and_pickles():
    X, y = data("log_loss")
    recorder = Recorder()
    model = estimator(**MAKE).set_callbacks(recorder)
    clone(model).fit(X, y)
    assert recorder.events.count("end epoch") == 4
    fitted = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(fitted.predict(X), model.predict(X))


def test_partial_fit_leaves_callbacks_alone():
    X, y = data("log_loss")
    recorder = Recorder()
    estimator(**MAKE).set_callbacks(recorder).partial_fit(X, y, classes=[-1, 1])
    assert recorder.events == []


# --- scikit-learn's own ---------------------------------------------------------------------------


def epochs_of(log, metric):
    return [row[metric] for row in log.data if row["task_name"] == "epoch"]


@pytest.mark.parametrize(("loss", "metric"), [("log_loss", "accuracy"), ("squared_error", "r2")])
def test_scoring_monitor_scores_every_pass(loss, metric):
    X, y = data(loss)
    monitor = callback.ScoringMonitor(scoring=metric)
    model = estimator(loss=loss, **MAKE).set_callbacks(monitor).fit(X, y)
    after = [estimator(loss=loss, **{**MAKE, "max_iter": k}).fit(X, y).score(X, y) for k in (1, 2, 3, 4)]
    log = monitor.get_logs()
    np.testing.assert_allclose(epochs_of(log, metric), after, rtol=1e-12)
    [whole] = [row[metric] for row in log.data if row["task_name"] == "fit"]
    assert whole == pytest.approx(model.score(X, y), rel=1e-12)


def test_scoring_monitor_inside_a_pipeline():
    X, y = data("log_loss")
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    make_pipeline(StandardScaler(), estimator(**MAKE).set_callbacks(monitor)).fit(X, y)
    scores = epochs_of(monitor.get_logs(), "neg_log_loss")
    assert len(scores) == 4
    assert scores[-1] > scores[0] > np.log(0.5)


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_scoring_monitor_inside_a_grid_search(in_pipeline):
    X, y = data("log_loss")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model, prefix = estimator(**MAKE).set_callbacks(monitor), ""
    if in_pipeline:
        model, prefix = make_pipeline(StandardScaler(), model), "adaregclassifier__"
    search = GridSearchCV(model, {f"{prefix}eta": [0.1, 1.0]}, cv=3).fit(X, y)
    scores = epochs_of(monitor.get_logs(), "accuracy")
    assert len(scores) == 4 * (2 * 3 + 1)  # every fold of either candidate, and the refit
    assert search.best_score_ > 0.5


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rich")
@pytest.mark.parametrize("where", ["alone", "pipeline", "search", "stopped"])
def test_progress_bar_comes_to_its_end(where, capsys):
    pytest.importorskip("rich")
    X, y = data("log_loss")
    bar, model = callback.ProgressBar(max_propagation_depth=None), estimator(**MAKE)
    if where == "pipeline":
        model = make_pipeline(StandardScaler(), model)
    elif where == "search":
        model = GridSearchCV(model, {"eta": [0.1, 1.0]}, cv=2)
    others = [Recorder(stop_after=2)] if where == "stopped" else []
    model.set_callbacks(bar, *others).fit(X, y)
    printed = capsys.readouterr().out
    assert "AdaRegClassifier - fit" in printed
    assert "100%" in printed
