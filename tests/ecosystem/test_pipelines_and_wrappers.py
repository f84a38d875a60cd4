"""Whatever works with a scikit-learn linear model works here; no package is played by a mock."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier, RegressorChain
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, maxabs_scale
from sklearn.semi_supervised import SelfTrainingClassifier
from support.data import STRUCTURES

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

NUMBERS = {"eta": 1.0, "epsilon": 1.0, "max_iter": 10, "tol": None, "random_state": 0}


def classifier(**params):
    return AdaRegClassifier("ons", "full", **{**NUMBERS, **params})


def regressor(**params):
    return AdaRegRegressor("ons", "full", **{**NUMBERS, **params})


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return maxabs_scale(X), y


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return maxabs_scale(X), y


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return maxabs_scale(X), (y - y.mean()) / y.std()


# --- composition ----------------------------------------------------------------------------------


def test_pipeline_learns_what_its_last_step_would(cancer):
    X, y = cancer
    pipeline = Pipeline([("scale", StandardScaler()), ("model", classifier())]).fit(X, y)
    scaled, weight = StandardScaler().fit_transform(X), np.where(y, 1.0, 5.0)
    np.testing.assert_array_equal(pipeline["model"].coef_, classifier().fit(scaled, y).coef_)
    assert pipeline.score(X, y) > 0.95
    weighted = clone(pipeline).fit(X, y, model__sample_weight=weight)
    alone = classifier().fit(scaled, y, weight)
    np.testing.assert_array_equal(weighted["model"].coef_, alone.coef_)


def test_column_transformer_and_feature_union_feed_dense_and_sparse_rows(cancer):
    X, y = cancer
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), slice(1, None)), ("bins", OneHotEncoder(handle_unknown="ignore"), [0])],
        sparse_threshold=1.0,
    )
    rounded = np.column_stack([np.round(X[:, 0], 1), X[:, 1:]])
    model = make_pipeline(columns, classifier()).fit(rounded, y)
    assert model.score(rounded, y) > 0.95
    union = FeatureUnion([("same", "passthrough"), ("square", FunctionTransformer(np.square))])
    model = make_pipeline(union, classifier()).fit(X, y)
    assert model[-1].n_features_in_ == 2 * X.shape[1]


def test_transformed_target_regressor_undoes_what_it_did(diabetes):
    X, y = diabetes
    model = TransformedTargetRegressor(regressor(), func=np.cbrt, inverse_func=lambda v: v**3)
    inner = regressor().fit(X, np.cbrt(y))
    np.testing.assert_allclose(model.fit(X, y).predict(X), inner.predict(X) ** 3, rtol=1e-10)
    both = TransformedTargetRegressor(regressor(), transformer=StandardScaler())
    assert both.fit(X, np.column_stack([y, 3 * y])).score(X, np.column_stack([y, 3 * y])) > 0.4


def test_frozen_estimator_stays_as_it_is(iris):
    X, y = iris
    model = classifier().fit(X, y)
    frozen = FrozenEstimator(model)
    coef = model.coef_.copy()
    frozen.fit(X[:60], y[:60])
    np.testing.assert_array_equal(clone(frozen).coef_, coef)
    calibrated = CalibratedClassifierCV(frozen).fit(X, y)
    assert calibrated.score(X, y) > 0.9


# --- selection ------------------------------------------------------------------------------------

ALGORITHMS = {"potential": list(_registry.POTENTIALS), "structure": STRUCTURES, "eta": [0.1, 1.0]}


def test_grid_search_over_algorithms(iris):
    X, y = iris
    model = classifier(max_iter=2)
    search = GridSearchCV(model, ALGORITHMS, cv=3, scoring="neg_log_loss").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 30
    # the parameters do reach the algorithm; a sketch of four directions is full
    assert len(np.unique(np.round(scores, 9))) >= 24
    best = clone(model).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)
    with parallel_config("threading", n_jobs=2):
        threaded = clone(search).fit(X, y)
    np.testing.assert_array_equal(threaded.cv_results_["mean_test_score"], scores)


def test_halving_grid_search_over_algorithms(cancer):
    X, y = cancer
    search = HalvingGridSearchCV(classifier(max_iter=1), ALGORITHMS, cv=3, factor=3, random_state=0, min_resources=60)
    search.fit(X, y)
    assert search.n_candidates_ == [30, 10, 4]
    assert search.score(X, y) > 0.85


def test_halving_search_may_grow_the_number_of_passes(iris):
    X, y = iris
    search = HalvingGridSearchCV(classifier(), ALGORITHMS, cv=3, resource="max_iter", max_resources=9, random_state=0)
    search.fit(X, y)
    assert search.n_resources_[0] < search.n_resources_[-1]
    assert search.best_estimator_.n_iter_ == search.n_resources_[-1]


def test_cross_validation_gives_predictions_of_rows_not_learnt_from(iris):
    X, y = iris
    p = cross_val_predict(classifier(), X, y, cv=5, method="predict_proba")
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert log_loss(y, p) < 0.35
    margins = cross_val_predict(classifier(loss="hinge"), X, y, method="decision_function")
    assert margins.shape == (150, 3)
    scores = cross_validate(classifier(), X, y, params={"sample_weight": np.ones(150)})
    assert scores["test_score"].mean() > 0.9


def test_learning_curve_learns_on_instead_of_anew(cancer, diabetes):
    X, y = cancer
    _, _, found = learning_curve(
        classifier(), X, y, train_sizes=[50, 150, 300], cv=3, exploit_incremental_learning=True
    )
    assert found[-1].mean() > 0.85
    X, y = diabetes
    fold = np.arange(300), np.arange(300, len(y))
    sizes, found, _ = learning_curve(
        regressor(), X, y, train_sizes=[50, 150], cv=[fold], exploit_incremental_learning=True
    )
    stream = regressor()
    for start, stop, score in zip([0, 50], sizes, found[:, 0], strict=True):
        stream.partial_fit(X[start:stop], y[start:stop])
        assert score == pytest.approx(stream.score(X[:stop], y[:stop]), rel=1e-12)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_features_are_selected_by_their_coefficients(iris, loss):
    X, y = iris
    rng = np.random.default_rng(0)
    noisy = np.column_stack([X, rng.random((150, 4))])
    model = classifier(loss=loss, max_iter=30)
    chosen = SelectFromModel(model, max_features=4, threshold=-np.inf).fit(noisy, y)
    weights = np.linalg.norm(chosen.estimator_.coef_, ord=1, axis=0)
    np.testing.assert_array_equal(np.flatnonzero(chosen.get_support()), np.sort(weights.argsort()[4:]))
    assert chosen.get_support()[2:4].all()  # the petals
    prefit = SelectFromModel(clone(model).fit(noisy, y), prefit=True, max_features=4)
    assert prefit.transform(noisy).shape[1] <= 4
    stream = SelectFromModel(classifier()).partial_fit(noisy, y, classes=[0, 1, 2])
    assert stream.transform(noisy).shape[0] == 150


def test_recursive_elimination_keeps_what_matters(iris, diabetes):
    X, y = iris
    noisy = np.column_stack([X, np.random.default_rng(0).random((150, 3))])
    search = RFECV(classifier(max_iter=5), cv=3, min_features_to_select=2).fit(noisy, y)
    assert search.support_[2:4].all()
    X, y = diabetes
    search = RFECV(regressor(max_iter=3), cv=3, step=2).fit(X, y)
    assert search.support_[2]  # the body mass index


def test_permutation_importance_finds_what_matters(diabetes):
    X, y = diabetes
    found = permutation_importance(regressor().fit(X, y), X, y, n_repeats=3, random_state=0)
    assert set(np.argsort(found.importances_mean)[-3:]) & {2, 8}


# --- other estimators around ours -----------------------------------------------------------------


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_calibration_gives_probabilities(cancer, loss, method):
    X, y = cancer
    model = CalibratedClassifierCV(classifier(loss=loss), method=method, cv=3).fit(X, y)
    assert log_loss(y, model.predict_proba(X)) < 0.2


WRAPPERS = {
    "bagging": lambda m: BaggingClassifier(m, n_estimators=3, random_state=0),
    "stacking": lambda m: StackingClassifier(
        [("ours", m), ("theirs", LogisticRegression())], final_estimator=clone(m), cv=3
    ),
    "voting": lambda m: VotingClassifier([("ours", m), ("theirs", LogisticRegression())], voting="soft"),
    "one vs rest": OneVsRestClassifier,
    "one vs one": OneVsOneClassifier,
    "output code": lambda m: OutputCodeClassifier(m, code_size=4, random_state=0),
}


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_wrappers_around_a_classifier(iris, wrapper):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = wrapper(classifier()).fit(X, names)
    assert model.score(X, names) > 0.85


def test_one_vs_rest_and_one_vs_one_learn_streams(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(150)
    for wrapper in (OneVsRestClassifier, OneVsOneClassifier):
        model = wrapper(classifier())
        for part in np.array_split(order, 5):
            model.partial_fit(X[part], y[part], classes=[0, 1, 2])
        assert model.score(X, y) > 0.85


def test_several_labels_at_once(iris):
    X, y = iris
    Y = np.column_stack([y, y == 2])
    model = MultiOutputClassifier(classifier()).fit(X, Y)
    assert np.mean(model.predict(X) == Y) > 0.9


def test_wrappers_around_a_regressor(diabetes):
    X, y = diabetes
    pair = [("ours", regressor()), ("theirs", Ridge(alpha=0.1))]
    for model in (VotingRegressor(pair), StackingRegressor(pair, final_estimator=regressor())):
        assert model.fit(X, y).score(X, y) > 0.45
    chain = RegressorChain(regressor()).fit(X, np.column_stack([y, y**2]))
    assert chain.predict(X).shape == (len(y), 2)


def test_self_training_labels_what_has_no_label(iris):
    X, y = iris
    known = np.random.default_rng(0).random(150) < 0.2
    model = SelfTrainingClassifier(classifier(), threshold=0.9).fit(X, np.where(known, y, -1))
    labelled = model.transduction_ != -1
    assert np.count_nonzero(labelled) > 1.5 * np.count_nonzero(known)
    assert np.mean(model.transduction_[labelled] == y[labelled]) > 0.9


def test_thresholds_are_tuned(cancer):
    X, y = cancer
    tuned = TunedThresholdClassifierCV(classifier(), scoring="balanced_accuracy", cv=3).fit(X, y)
    assert 0 < tuned.best_threshold_ < 1
    strict = FixedThresholdClassifier(classifier(loss="hinge"), threshold=1.0).fit(X, y)
    assert strict.predict(X).sum() < classifier(loss="hinge").fit(X, y).predict(X).sum()


# --- streams --------------------------------------------------------------------------------------

TOPICS = {
    "animals": ["the", "and", "cat", "dog", "bird", "fish", "mouse", "horse", "tail", "wing"],
    "numbers": ["the", "and", "one", "two", "three", "four", "five", "sum", "half", "twice"],
}


def texts(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(TOPICS), size=n)
    return [" ".join(rng.choice(TOPICS[label], size=6)) for label in labels], labels


def test_a_stream_of_hashed_text():
    hashing = HashingVectorizer(n_features=2**18, alternate_sign=False)
    model = AdaRegClassifier("adagrad", "diag", eta=0.5, epsilon=0.1)
    scores = []
    for chunk in range(12):
        words, labels = texts(25, seed=chunk)
        X = hashing.transform(words)
        if chunk:
            scores.append(model.score(X, labels))
        model.partial_fit(X, labels, classes=list(TOPICS))
    assert np.mean(scores[-4:]) > 0.95
    assert model.n_features_in_ == 2**18
    assert model.t_ == 300
    assert model.progressive_loss_ < 0.5
    assert np.count_nonzero(model.coef_) < 60  # weights only of words that came


def test_a_stream_of_hashed_features():
    hashing = FeatureHasher(n_features=64)
    rng = np.random.default_rng(0)
    model = AdaRegRegressor("adagrad", "diag", eta=0.5, epsilon=0.1)
    price = {"red": 1.0, "green": 2.0, "blue": 4.0}
    for _ in range(20):
        colours = rng.choice(list(price), size=20)
        y = np.array([price[colour] for colour in colours])
        model.partial_fit(hashing.transform([{"colour": colour} for colour in colours]), y)
    found = model.predict(hashing.transform([{"colour": colour} for colour in price]))
    np.testing.assert_allclose(found, list(price.values()), atol=0.1)


# --- other packages -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_dask_ml_incremental_is_partial_fit_block_by_block(cancer):
    wrappers = pytest.importorskip("dask_ml.wrappers")
    da = pytest.importorskip("dask.array")
    X, y = cancer
    blocks = da.from_array(X, chunks=(100, X.shape[1])), da.from_array(y, chunks=100)
    model = wrappers.Incremental(classifier(), scoring="accuracy", shuffle_blocks=False)
    model.fit(*blocks, classes=[0, 1])
    stream = classifier()
    for start in range(0, len(y), 100):
        stream.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    np.testing.assert_array_equal(model.estimator_.coef_, stream.coef_)
    np.testing.assert_array_equal(model.predict(blocks[0]).compute(), stream.predict(X))
    assert model.score(*blocks) > 0.9


@pytest.mark.filterwarnings("ignore")
def test_dask_ml_incremental_around_a_regressor(diabetes):
    wrappers = pytest.importorskip("dask_ml.wrappers")
    da = pytest.importorskip("dask.array")
    X, y = diabetes
    model = wrappers.Incremental(regressor(), scoring="r2")
    model.fit(da.from_array(X, chunks=(100, X.shape[1])), da.from_array(y, chunks=100))
    assert model.estimator_.t_ == len(y)
    assert model.score(X, y) > 0.4


@pytest.mark.filterwarnings("ignore")
def test_river_learns_row_by_row(iris, diabetes):
    compat, stream = pytest.importorskip("river.compat"), pytest.importorskip("river.stream")
    X, y = iris
    order = np.random.default_rng(0).permutation(150)
    wrapped = compat.convert_sklearn_to_river(classifier(), classes=[0, 1, 2])
    alone = classifier()
    for i, (x, label) in zip(order, stream.iter_array(X[order], y[order]), strict=True):
        assert wrapped.predict_one(x) in (0, 1, 2)
        wrapped.learn_one(x, label)
        alone.partial_fit(X[[i]], y[[i]], classes=[0, 1, 2])
    np.testing.assert_array_equal(wrapped.estimator.coef_, alone.coef_)
    assert sum(wrapped.predict_proba_one(x).values()) == pytest.approx(1.0)
    X, y = diabetes
    wrapped = compat.convert_sklearn_to_river(regressor())
    for x, value in stream.iter_array(X, y):
        wrapped.learn_one(x, value)
    np.testing.assert_array_equal(wrapped.estimator.coef_, regressor().partial_fit(X, y).coef_)
