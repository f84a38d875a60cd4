"""Conventions of scikit-learn: names of features, frames, sparse containers, routing, display."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.validation import check_is_fitted
from support.data import estimator, rows, target

import sklearn_adareg
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

BOTH = [AdaRegClassifier, AdaRegRegressor]
LOSSES = ["log_loss", "squared_error"]
NAMES = ["a", "b", "c", "d", "e"]
SOURCES = Path(__file__).parents[2] / "sklearn_adareg"


def data(loss):
    X, score = rows(0)
    return X, target(loss, score)


# --- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["pandas", "polars"])
@pytest.mark.parametrize("loss", LOSSES)
def test_frames_are_rows_with_names(package, loss):
    frames = pytest.importorskip(package)
    X, y = data(loss)
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate(NAMES)})
    series = frames.Series(values=y) if package == "polars" else frames.Series(y)
    plain = estimator(loss=loss).fit(X, y)
    assert not hasattr(plain, "feature_names_in_")
    for model in (estimator(loss=loss).fit(frame, series), estimator(loss=loss).fit(frame, y)):
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        np.testing.assert_array_equal(model.feature_names_in_, NAMES)
        np.testing.assert_allclose(model.predict(frame), plain.predict(X), rtol=1e-12)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(X)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[NAMES[::-1]])
    stream = estimator(loss=loss)
    labels = {"classes": [-1, 1]} if loss == "log_loss" else {}
    stream.partial_fit(frame[:50], y[:50], **labels).partial_fit(frame[50:], y[50:])
    np.testing.assert_array_equal(stream.coef_, plain.coef_)
    np.testing.assert_array_equal(stream.feature_names_in_, NAMES)
    with pytest.raises(ValueError, match="feature names should match"):
        stream.partial_fit(frame[NAMES[::-1]], y)


def test_pandas_columns_of_any_number_type_and_labels_of_any_kind():
    pandas = pytest.importorskip("pandas")
    X, y = data("log_loss")
    X = np.round(4 * X)
    frame = pandas.DataFrame(X, columns=NAMES)
    mixed = frame.astype({"a": "int8", "b": "float32", "c": "Int64", "d": "Float64"})
    labels = pandas.Series(np.where(y > 0, "yes", "no"), dtype="category")
    found, expected = estimator().fit(mixed, labels), estimator().fit(X, y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.classes_, ["no", "yes"])
    sparse_frame = frame.astype(pandas.SparseDtype("float64", 0.0))
    np.testing.assert_allclose(estimator().fit(sparse_frame, y).coef_, expected.coef_, rtol=1e-9)


def test_pandas_weights_and_targets_are_taken_by_position():
    pandas = pytest.importorskip("pandas")
    X, score = rows(0)
    Y, weight = np.column_stack([score, -score]), np.linspace(0, 2, len(score))
    shuffled = np.random.default_rng(0).permutation(len(score))
    frame = pandas.DataFrame(X, columns=NAMES, index=shuffled)
    targets = pandas.DataFrame(Y, columns=["up", "down"], index=shuffled[::-1])
    weights = pandas.Series(weight, index=np.arange(len(score)) + 7)
    found = estimator(loss="squared_error").fit(frame, targets, weights)
    expected = estimator(loss="squared_error").fit(X, Y, weight)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


# --- sparse containers ----------------------------------------------------------------------------


def wide(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


CONTAINERS = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "int64": wide,
    **{name: getattr(sparse, name) for name in ("csc_array", "coo_matrix", "lil_array")},
    **{name: getattr(sparse, name) for name in ("dok_array", "bsr_matrix", "dia_array")},
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_any_sparse_container_is_learnt_from_and_predicted(loss, container):
    X, y = data(loss)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = estimator(loss=loss).fit(X, y)
    model = estimator(loss=loss).fit(container(X), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(container(X)), dense.predict(X), rtol=1e-9)
    model.sparsify()
    np.testing.assert_allclose(model.predict(container(X)), dense.predict(X), rtol=1e-9)


@pytest.mark.parametrize("interface", ["spmatrix", "sparray"])
def test_sparsify_honours_the_sparse_interface(interface):
    if "sparse_interface" not in sklearn.get_config():
        pytest.skip("scikit-learn before the setting sparse_interface")
    X, y = data("log_loss")
    with config_context(sparse_interface=interface):
        coef = estimator().fit(X, y).sparsify().coef_
    assert isinstance(coef, sparse.csr_array if interface == "sparray" else sparse.csr_matrix)
    assert sparse.issparse(coef)


# --- routing --------------------------------------------------------------------------------------


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("cls", BOTH)
def test_every_piece_of_metadata_can_be_requested(cls):
    asked = cls().set_fit_request(sample_weight=True, X_val=True, y_val=True, sample_weight_val="weight_of_val")
    asked.set_partial_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    requests = asked.get_metadata_routing()
    assert requests.fit.requests == {
        "sample_weight": True,
        "X_val": True,
        "y_val": True,
        "sample_weight_val": "weight_of_val",
        "coef_init": None,
        "intercept_init": None,
    }
    expected = {"sample_weight": True}
    if cls is AdaRegClassifier:
        expected["classes"] = None
        asked.set_partial_fit_request(classes=True)
    assert requests.partial_fit.requests == expected
    assert requests.score.requests == {"sample_weight": True}


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_routed_where_they_were_asked_for(loss):
    X, y = data(loss)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    model = estimator(loss=loss).set_fit_request(sample_weight=True)
    model.set_score_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(X, y, sample_weight=weight)
    alone = estimator(loss=loss).fit(StandardScaler().fit_transform(X), y, weight)
    np.testing.assert_array_equal(pipeline[-1].coef_, alone.coef_)
    folds = [(np.arange(60), np.arange(60, 100))]
    found = cross_validate(model, X, y, cv=folds, params={"sample_weight": weight})["test_score"]
    by_hand = estimator(loss=loss).fit(X[:60], y[:60], weight[:60])
    assert found[0] == pytest.approx(by_hand.score(X[60:], y[60:], weight[60:]), rel=1e-12)
    search = GridSearchCV(model, {"eta": [0.1, 1.0]}, cv=3).fit(X, y, sample_weight=weight)
    best = clone(model).set_params(**search.best_params_).fit(X, y, weight)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)


# --- what an estimator says of itself -------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_the_html_form_links_to_the_documentation(cls):
    model = cls(max_iter=1)
    html = estimator_html_repr(model)
    [link] = re.findall(rf'href="(https://[^"]*{cls.__name__})"', html)
    assert link == model._get_doc_link()
    assert link.endswith(f"#sklearn_adareg.{cls.__name__}")
    X, y = data("log_loss")
    assert "fitted" in estimator_html_repr(make_pipeline(StandardScaler(), model).fit(X, y))


def test_tags_say_what_can_be_done():
    classifier, regressor = get_tags(AdaRegClassifier()), get_tags(AdaRegRegressor())
    assert is_classifier(AdaRegClassifier())
    assert is_regressor(AdaRegRegressor())
    assert classifier.input_tags.sparse
    assert regressor.input_tags.sparse
    assert classifier.classifier_tags.multi_class
    assert regressor.target_tags.multi_output
    assert not regressor.target_tags.positive_only
    assert get_tags(AdaRegRegressor(loss="poisson")).target_tags.positive_only


@pytest.mark.parametrize("cls", BOTH)
def test_a_model_says_whether_it_is_fitted(cls):
    X, y = data("log_loss")
    model = cls(max_iter=1)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    for name in ("coef_", "intercept_", "t_", "progressive_loss_", "n_features_in_"):
        assert not hasattr(model, name)
    check_is_fitted(model.fit(X, y))
    for name in ("coef_", "intercept_", "t_", "progressive_loss_", "n_features_in_"):
        assert hasattr(model, name)


def test_what_is_public_is_what_is_promised():
    promised = {"AdaReg", "AdaRegClassifier", "AdaRegRegressor", "SpectralPotential", "regret"}
    assert promised <= set(sklearn_adareg.__all__)
    for name in sklearn_adareg.__all__:
        assert hasattr(sklearn_adareg, name)


def test_every_kernel_is_compiled_by_the_directives_of_the_build_alone():
    kernels = [path for suffix in ("pyx", "pxd") for path in SOURCES.glob(f"**/*.{suffix}")]
    if not kernels:
        pytest.skip("an installed package has no sources")
    assert '"freethreading_compatible": True' in (SOURCES.parent / "build_kernels.py").read_text("utf-8")
    own = [path.name for path in kernels if re.search(r"^# *cython:", path.read_text("utf-8"), re.M)]
    assert own == []
