"""Pictures show the numbers that they are made of, on the axes that they are given."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import STRUCTURES, estimator, rows, target

from sklearn_adareg import AdaReg, AdaRegClassifier, AdaRegRegressor, regret
from sklearn_adareg.displays import GeometryDisplay, RegretDisplay

matplotlib = pytest.importorskip("matplotlib")
pyplot = pytest.importorskip("matplotlib.pyplot")

X, SCORE = rows(0, n=60, d=4)
Y = target("log_loss", SCORE)
NAMES = ["height", "width", "depth", "mass"]
BOUNDED = {"domain": "box", "radius": 0.8, "fit_intercept": False}


@pytest.fixture(autouse=True)
def _agg():
    before = matplotlib.get_backend()
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_regret_is_drawn_with_both_bounds():
    model = estimator(**BOUNDED)
    display = RegretDisplay.from_estimator(model, X, Y, points=6)
    found = regret.course(model, X, Y, points=6)
    for line, values in (
        (display.line_, np.where(found.regret > 0, found.regret, np.nan)),
        (display.run_bound_line_, found.run_bound),
        (display.bound_line_, found.bound),
    ):
        np.testing.assert_array_equal(line.get_xdata(), found.rounds)
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[0] == "adagrad/diag"
    assert display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()


def test_several_regrets_share_axes_and_what_is_not_proved_is_not_drawn():
    _, ax = pyplot.subplots()
    first = RegretDisplay.from_estimator(estimator(**BOUNDED), X, Y, points=4, ax=ax, name="one")
    free = RegretDisplay.from_estimator(estimator(), X, Y, points=4, ax=ax, log=False, color="k")
    assert first.ax_ is free.ax_ is ax
    assert free.bound_line_ is None
    assert free.run_bound_line_ is not None
    assert free.line_.get_color() == "k"
    again = free.plot(bounds=False)
    assert again is free
    assert again.run_bound_line_ is None
    assert again.ax_ is not ax


def test_the_slope_is_that_of_the_line_through_the_late_points():
    rounds = np.geomspace(1, 1000, 20)
    display = RegretDisplay(rounds=rounds, regret=np.where(rounds < 50, 7.0, 3 * rounds**0.5))
    assert display.slope() == pytest.approx(0.5)
    assert np.isnan(RegretDisplay(rounds=rounds, regret=-rounds).slope())


@pytest.mark.parametrize("structure", STRUCTURES)
def test_geometry_is_that_of_the_core_after_the_same_gradients(structure):
    model = estimator("adagrad", structure, **BOUNDED)
    run = regret.record(model, X, Y)
    display = GeometryDisplay.from_estimator(model.fit(pd.DataFrame(X, columns=NAMES), Y))
    diagonal = structure in ("diag", "iso")
    G = 0.05 * np.eye(4) + run.g.T @ run.g
    H = run.H[-1]
    if structure == "full":
        np.testing.assert_allclose(display.G, G)
    elif structure == "diag":
        np.testing.assert_allclose(display.G, np.diagonal(G))
    elif structure == "iso":
        np.testing.assert_allclose(display.G, np.full(4, np.trace(G) / 4))
    np.testing.assert_allclose(display.H, np.diagonal(H) if diagonal else H, rtol=1e-6)
    assert display.feature_names == NAMES
    values = display.lines_[1].get_ydata()
    np.testing.assert_allclose(values, np.sort(np.linalg.eigvalsh(H))[::-1], rtol=1e-6)
    assert (display.image_ is None) == diagonal
    assert (display.dots_ is None) != diagonal
    labels = [text.get_text() for text in display.axes_[1].get_yticklabels()]
    assert sorted(labels) == sorted(NAMES)
    display.figure_.canvas.draw()


def test_the_heat_map_has_ones_on_its_diagonal_and_signs_beside_it():
    learner = AdaReg(3, "adagrad", "full", epsilon=1e-9)
    for _ in range(5):
        learner.step([1.0, -2.0, 0.0])
    display = GeometryDisplay.from_estimator(learner, kind="matrix")
    shown = display.image_.get_array()
    np.testing.assert_allclose(shown, [[1, -1, 0], [-1, 1, 0], [0, 0, 1]], atol=1e-6)
    assert display.feature_names == ["x0", "x1", "x2"]


@pytest.mark.parametrize("params", [{}, {"structure": "diag"}, {"structure": "sketch"}, {"epsilon": 1.0}])
def test_the_defaults_have_a_geometry_too(params):
    display = GeometryDisplay.from_estimator(AdaRegClassifier(**params).fit(X, Y), kind="spectrum")
    assert len(display.feature_names) == 5
    assert display.feature_names[-1] == "intercept"
    assert all(np.all(line.get_ydata() > 0) for line in display.lines_)


def test_the_geometry_of_the_default_is_that_of_the_rows_about_their_means():
    model = AdaRegRegressor(epsilon=0.5, half_life=None).partial_fit(X, SCORE)
    display = GeometryDisplay.from_estimator(model)
    Z = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    np.testing.assert_allclose(display.G, Z.T @ Z, rtol=1e-8, atol=1e-8)
    ridge = np.linalg.inv(display.H) - display.G
    np.testing.assert_allclose(ridge, np.diag(np.diag(ridge)), atol=1e-8)
    assert (np.diag(ridge)[:4] >= 0.5 * X.var(axis=0) * (1 - 1e-8)).all()
    display.figure_.canvas.draw()


def test_each_class_of_a_softmax_has_a_block_and_what_never_varied_has_zeros():
    rows_of_three = np.column_stack([X, np.ones(len(X))])
    model = AdaRegClassifier().fit(rows_of_three, np.digitize(SCORE, [-0.5, 0.5]))
    for lane in range(3):
        display = GeometryDisplay.from_estimator(model, lane=lane)
        assert display.G.shape == display.H.shape == (6, 6)
        known = [0, 1, 2, 3, 5]
        assert not display.G[4].any()
        assert not display.H[4].any()
        inside = np.ix_(known, known)
        # H is a block of the inverse of all classes, which is not below the inverse of the block
        excess = display.H[inside] - np.linalg.inv(display.G[inside] + 100.0 * np.eye(5))
        assert np.linalg.eigvalsh(excess)[0] > -1e-9
    with pytest.raises(ValueError, match="lane=3 is not there"):
        GeometryDisplay.from_estimator(model, lane=3)


def test_each_weight_vector_has_a_geometry_of_its_own():
    y = np.c_[SCORE, SCORE**2, X[:, 0]]
    model = estimator("adagrad", "full", "squared_error").fit(X, y)
    for lane in range(3):
        alone = estimator("adagrad", "full", "squared_error").fit(X, y[:, lane])
        single = GeometryDisplay.from_estimator(alone, kind="spectrum")
        own = GeometryDisplay.from_estimator(model, lane=lane, kind="spectrum")
        np.testing.assert_allclose(own.G, single.G)
    with pytest.raises(ValueError, match="lane=3 is not there, this model has 3"):
        GeometryDisplay.from_estimator(model, lane=3)


def test_what_cannot_be_drawn_is_refused_in_a_sentence():
    model = estimator().fit(X, Y)
    with pytest.raises(ValueError, match="kind='heat' is not known; give 'both'"):
        GeometryDisplay.from_estimator(model, kind="heat")
    with pytest.raises(ValueError, match="draws on 2 axes here, and ax has 1"):
        GeometryDisplay.from_estimator(model, ax=[pyplot.subplots()[1]])
    with pytest.raises(ValueError, match="this is Pipeline; pass one of these"):
        GeometryDisplay.from_estimator(make_pipeline(StandardScaler(), model))
    with pytest.raises(ValueError, match="lane=-1 is no number"):
        GeometryDisplay.from_estimator(model, lane=-1)
    kronecker = AdaRegClassifier(structure="kronecker").fit(X, np.digitize(SCORE, [-1, 1]))
    with pytest.raises(ValueError, match="two matrices for all weight vectors together"):
        GeometryDisplay.from_estimator(kronecker)
    wide = AdaRegRegressor("adagrad", "sketch", rank=2).fit(np.eye(2500)[:3], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="heat map of 2501 features cannot be read"):
        GeometryDisplay.from_estimator(wide, kind="matrix")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"GeometryDisplay.plot requires matplotlib"):
        GeometryDisplay.from_estimator(estimator().fit(X, Y))
