"""The picture of progressive losses shows what was recorded, and the certificates above it."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.displays import ProgressiveLossDisplay

matplotlib = pytest.importorskip("matplotlib")
pyplot = pytest.importorskip("matplotlib.pyplot")

X, SCORE = rows(0, n=600)
Y = target("log_loss", SCORE)


@pytest.fixture(autouse=True)
def _agg():
    before = matplotlib.get_backend()
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


@pytest.fixture(scope="module")
def model():
    return AdaRegClassifier().partial_fit(X, Y, classes=[-1, 1])


def labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("metric", ["loss", "error_rate"])
def test_each_point_is_the_certificate_of_that_many_rows(model, metric):
    display = ProgressiveLossDisplay.from_estimator(model, metric=metric, delta=0.1)
    [at], [mean], [bound] = display.rows, display.mean, display.bound
    np.testing.assert_array_equal(at, model.progressive_curve_["rows"])
    for i in (5, 60, len(at) - 1):
        part = AdaRegClassifier().partial_fit(X[: at[i]], Y[: at[i]], classes=[-1, 1])
        found = part.risk_certificate(0.1)
        assert bound[i] == pytest.approx(getattr(found, metric), rel=1e-12)
        assert mean[i] == pytest.approx(getattr(found, f"mean_{metric}"), rel=1e-12)
    shown = at >= 32
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), at[shown])
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), mean[shown])
    edge = display.bands_[0].get_paths()[0].vertices[:, 1]
    assert edge.max() == pytest.approx(bound[shown].max())
    assert labels(display) == ["AdaRegClassifier", "AdaRegClassifier: certificate, probability 0.9"]


def test_several_estimators_share_axes_and_say_who_has_no_certificate(model):
    weighted = AdaRegClassifier().fit(X, Y, sample_weight=1 + SCORE**2)
    piped = make_pipeline(StandardScaler(), AdaRegClassifier(random_state=0)).fit(X, Y)
    _, ax = pyplot.subplots()
    named = {"plain": model, "weighted": weighted, "piped": piped}
    display = ProgressiveLossDisplay.from_estimators(named, ax=ax, start=1, log=False)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_xscale() == "linear"
    assert [band is None for band in display.bands_] == [False, True, False]
    assert "weighted (no certificate)" in labels(display)
    np.testing.assert_array_equal(display.mean[1], weighted.progressive_curve_["mean_loss"])
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), display.mean[1])


def test_without_delta_there_are_no_bands_and_drawing_again_draws_the_same(model):
    display = ProgressiveLossDisplay.from_estimator(model, delta=None, name="mine", color="k")
    assert display.bands_ == [None]
    assert labels(display) == ["mine"]
    again = display.plot(start=100)
    assert again is display
    assert again.lines_[0].get_xdata()[0] >= 100


def test_regressors_and_short_streams_are_drawn():
    regressor = AdaRegRegressor().partial_fit(X[:5], SCORE[:5])
    display = ProgressiveLossDisplay.from_estimator(regressor)
    assert len(display.lines_[0].get_xdata()) == 5
    assert labels(display) == ["AdaRegRegressor (no certificate)"]


def test_what_cannot_be_drawn_is_refused(model):
    with pytest.raises(ValueError, match="metric='accuracy' is not recorded while learning"):
        ProgressiveLossDisplay.from_estimator(model, metric="accuracy")
    with pytest.raises(ValueError, match="delta=2 is not a probability"):
        ProgressiveLossDisplay.from_estimator(model, delta=2)
    regressor = AdaRegRegressor().partial_fit(X, SCORE)
    with pytest.raises(ValueError, match="AdaRegRegressor has no error rate"):
        ProgressiveLossDisplay.from_estimator(regressor, metric="error_rate")
    with pytest.raises(AttributeError, match="has learnt nothing yet"):
        ProgressiveLossDisplay.from_estimator(AdaRegClassifier())
