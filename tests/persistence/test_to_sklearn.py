"""to_sklearn: a plain model with the same predictions, which is small, and which skl2onnx converts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5)) * [1, 10, 0.1, 3, 1]
SCORE = X @ [1.0, 0.2, 5, -0.3, 0] + 0.5
FAR = 1e3 * X[::7]
LABELS = {
    2: np.where(SCORE + rng.normal(size=400) > 0, "yes", "no"),
    3: np.array(["a", "b", "c"])[np.digitize(SCORE, [-1, 1])],
}
VALUES = {1: SCORE, 2: np.column_stack([SCORE, -2 * SCORE + X[:, 0]])}


def counterpart(loss):
    """By hand, what the registry should say."""
    special = {"log_loss": LogisticRegression, "poisson": PoissonRegressor}
    other = LinearSVC if loss in _registry.CLASSIFICATION_LOSSES else LinearRegression
    return special.get(loss, other)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("classes", LABELS)
@pytest.mark.parametrize("loss", _registry.CLASSIFICATION_LOSSES)
def test_a_classifier_predicts_the_same(loss, classes, fit_intercept):
    model = AdaRegClassifier(loss=loss, fit_intercept=fit_intercept, random_state=0, max_iter=1)
    plain = model.fit(X, LABELS[classes]).to_sklearn()
    if model.method_ != "information":  # which limits values; others do not
        np.testing.assert_array_equal(plain.predict(X), model.predict(X))
        return
    assert type(plain) is Pipeline
    assert type(plain[-1]) is counterpart(loss)
    np.testing.assert_array_equal(plain.classes_, model.classes_)
    for rows in (X, FAR):
        np.testing.assert_allclose(plain.decision_function(rows), model.decision_function(rows), rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(plain.predict(rows), model.predict(rows))
        if loss == "log_loss":
            np.testing.assert_allclose(plain.predict_proba(rows), model.predict_proba(rows), rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("targets", VALUES)
@pytest.mark.parametrize("loss", _registry.REGRESSION_LOSSES)
def test_a_regressor_predicts_the_same(loss, targets, fit_intercept):
    y = VALUES[targets]
    if _registry.REGRESSION_LOSSES[loss].nonnegative_targets:
        if targets > 1:
            pytest.skip("one target only")
        y = np.abs(y)
    model = AdaRegRegressor(loss=loss, fit_intercept=fit_intercept, random_state=0, max_iter=1)
    plain = model.fit(X, y).to_sklearn()
    assert type(plain) is Pipeline
    assert type(plain[-1]) is counterpart(loss)
    for rows in (X, FAR):
        np.testing.assert_allclose(plain.predict(rows), model.predict(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("learner", [AdaRegClassifier(), AdaRegRegressor(structure="diag")])
def test_without_limits_it_is_the_model_alone_with_its_weights(learner):
    y = LABELS[2] if isinstance(learner, AdaRegClassifier) else SCORE
    model = learner.fit(X, y)
    plain = model.to_sklearn(limits=False)
    assert type(plain) is counterpart(model.loss)
    np.testing.assert_array_equal(plain.coef_, model.coef_)
    np.testing.assert_array_equal(plain.intercept_, model.intercept_)
    if model.structure_ == "diag":  # which has no limits
        assert type(model.to_sklearn()) is counterpart(model.loss)
        np.testing.assert_array_equal(plain.predict(FAR), model.predict(FAR))
    else:
        near = X / 2.0
        np.testing.assert_allclose(plain.decision_function(near), model.decision_function(near))
        assert np.abs(plain.decision_function(FAR) - model.decision_function(FAR)).max() > 1e3


@pytest.mark.parametrize("sparsified", [False, True])
def test_sparse_rows_are_limited_by_a_function(sparsified):
    thin = sparse.random(200, 80, 0.1, format="csr", random_state=0)
    y = np.arange(200) % 2
    model = AdaRegClassifier(structure="full", random_state=0).fit(thin, y)
    model = model.sparsify() if sparsified else model
    plain = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert sparse.issparse(plain[-1].coef_) == sparsified
    for rows in (thin, 50.0 * thin, -50.0 * thin.tocsc(), 50.0 * thin.toarray()):
        expected = model.decision_function(rows)
        np.testing.assert_allclose(plain.decision_function(rows), expected, rtol=1e-9, atol=1e-12)
    alone = model.to_sklearn(limits=False).decision_function(50.0 * thin)
    assert np.abs(alone - model.decision_function(50.0 * thin)).max() > 0.1


def test_a_constant_column_has_no_limits_and_takes_no_part():
    rows = np.column_stack([X, np.full(len(X), 7.0)])
    model = AdaRegRegressor(random_state=0).partial_fit(np.tile(rows, (4, 1)), np.tile(SCORE, 4))
    rows[:, -1] = 1e9
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.predict(rows), model.predict(rows), rtol=1e-9, atol=1e-9)


def test_feature_names_go_along_and_sparse_weights_stay_sparse():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = AdaRegClassifier(random_state=0).fit(frame, LABELS[2])
    plain = model.to_sklearn()
    assert plain.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(plain.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(frame[list("edcba")])
    assert plain.n_features_in_ == 5
    thin = model.sparsify().to_sklearn()
    assert sparse.issparse(thin[-1].coef_)
    np.testing.assert_array_equal(thin.predict(frame), plain.predict(frame))
    regressor = AdaRegRegressor(random_state=0).fit(X, SCORE)
    expected = regressor.predict(X)
    np.testing.assert_allclose(regressor.sparsify().to_sklearn().predict(X), expected, rtol=1e-12)


def test_it_does_not_follow_a_model_that_learns_on():
    model = AdaRegRegressor().partial_fit(X[:100], SCORE[:100])
    plain = model.to_sklearn()
    before = plain.predict(X)
    model.partial_fit(X[100:], SCORE[100:])
    np.testing.assert_array_equal(plain.predict(X), before)
    assert np.abs(model.predict(X) - before).max() > 1e-9


def test_a_hashed_model_is_as_small_as_sgds():
    words = [[f"w{i % 50}", f"w{i % 7}"] for i in range(200)]
    hashed = FeatureHasher(2**18, input_type="string").transform(words)
    y = np.arange(200) % 2
    model = AdaRegClassifier().partial_fit(hashed, y, classes=[0, 1])
    sgd = SGDClassifier(loss="log_loss").partial_fit(hashed, y, classes=[0, 1])
    small = len(pickle.dumps(model.to_sklearn()))
    assert small < 1.01 * len(pickle.dumps(sgd)) < 0.5 * len(pickle.dumps(model))


def test_a_loss_without_a_counterpart_is_refused(monkeypatch):
    model = AdaRegRegressor(loss="huber").fit(X, SCORE)
    entry = _registry.Loss(_registry.REGRESSION_LOSSES["huber"].kernel, ("huber_delta",), degree=2)
    monkeypatch.setitem(_registry.REGRESSION_LOSSES, "huber", entry)
    with pytest.raises(ValueError, match=r"no scikit-learn model that predicts as loss='huber'"):
        model.to_sklearn()


def test_before_fit_there_is_nothing_to_serve():
    with pytest.raises(ValueError, match="not fitted"):
        AdaRegClassifier().to_sklearn()


CASES = {
    "log_loss, two classes": (AdaRegClassifier(), LABELS[2]),
    "log_loss, three classes": (AdaRegClassifier(), LABELS[3]),
    "hinge": (AdaRegClassifier(loss="hinge"), LABELS[2]),
    "squared_error": (AdaRegRegressor(), SCORE),
    "two targets": (AdaRegRegressor(), VALUES[2]),
    "poisson": (AdaRegRegressor(loss="poisson"), np.abs(SCORE)),
}


# skl2onnx converts a LinearSVC alone; for one in a Pipeline it passes on an option that it then refuses
IN_PIPELINES = [case for case in CASES if case != "hinge"]


@pytest.mark.parametrize(
    ("case", "scaled", "limits"),
    [(case, scaled, True) for case in IN_PIPELINES for scaled in (False, True)]
    + [(case, False, False) for case in CASES],
)
def test_onnx_runs_it(case, scaled, limits, tmp_path):
    """The converted file, in the runtime, predicts what the model does, in single precision."""
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    runtime = pytest.importorskip("onnxruntime")
    model, y = CASES[case]
    model.fit(StandardScaler().fit_transform(X) if scaled else X, y)
    plain = model.to_sklearn(limits=limits)
    if scaled:
        plain = make_pipeline(StandardScaler().fit(X), *plain)
    rows = (np.vstack([X, FAR]) if limits else X).astype(np.float32)
    options = {"zipmap": False} if hasattr(plain, "predict_proba") else None
    file = tmp_path / "model.onnx"
    file.write_bytes(
        to_onnx(plain, rows[:1], options=options and {id(plain): options}, target_opset=18).SerializeToString()
    )
    session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    labels, *more = session.run(None, {"X": rows})
    expected = plain.predict(rows)
    if expected.dtype.kind == "f":
        labels = labels.reshape(expected.shape)
        np.testing.assert_allclose(labels, expected, rtol=1e-4, atol=1e-3)
    else:
        np.testing.assert_array_equal(labels, expected)
        if hasattr(plain, "predict_proba"):
            np.testing.assert_allclose(more[0], plain.predict_proba(rows), atol=1e-4)
