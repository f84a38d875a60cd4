"""fit and partial_fit as a user sees them: epochs, curves, predictions, probabilities, threads."""

import os
import threading
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, log_expit
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, r2_score
from support.data import POTENTIALS, STRUCTURES, UPDATES, FourthRoot, estimator, learn, rows, target, weights_of

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

X, SCORE = rows(0, n=80)
Y = target("log_loss", SCORE)


# --- epochs ---------------------------------------------------------------------------------------


def test_fit_counts_its_passes_and_rounds():
    model = estimator(max_iter=7, shuffle=True, average=False).fit(X, Y)
    assert model.n_iter_ == len(model.loss_curve_) == 7
    assert model.t_ == 7 * 80
    assert model.loss_curve_[0] == pytest.approx(model.progressive_loss_)
    assert model.loss_curve_[-1] < model.loss_curve_[0]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_loss_curve_is_the_mean_loss_of_each_pass(structure):
    """Each row's loss by the iterate that met it, weighted; only the first pass is progressive."""
    Z, y, weight = X[:30], Y[:30], np.random.default_rng(0).uniform(0.5, 2, size=30)
    model = estimator("adagrad", structure, max_iter=2, average=False).fit(Z, y, weight)
    slow, means = estimator("adagrad", structure, average=False), []
    for _ in range(2):
        losses = []
        for i in range(30):
            margin = slow.decision_function(Z[i : i + 1])[0] if hasattr(slow, "t_") else 0.0
            losses.append(np.logaddexp(0, -y[i] * margin))
            learn(slow, Z[i : i + 1], y[i : i + 1], weight[i : i + 1])
        means.append(np.average(losses, weights=weight))
    np.testing.assert_allclose(model.loss_curve_, means, rtol=1e-10)
    assert model.progressive_loss_ == pytest.approx(means[0], rel=1e-10)


def test_the_progressive_loss_goes_on_with_partial_fit():
    model = learn(estimator(), X[:50], Y[:50])
    first = model.progressive_loss_
    learn(model, X[50:], Y[50:])
    assert model.progressive_loss_ == pytest.approx(learn(estimator(), X, Y).progressive_loss_, rel=1e-13)
    assert model.progressive_loss_ != first


def test_every_pass_visits_every_row_once_in_another_order():
    """On one-hot rows the order between features does not matter to diag, but each visit does."""
    Z, y = np.eye(30), np.linspace(-1, 1, 30)
    make = {"loss": "squared_error", "fit_intercept": False, "average": False, "max_iter": 3}
    still = estimator(**make).fit(Z, y)
    shuffled = estimator(**make).set_params(shuffle=True, random_state=0).fit(Z, y)
    np.testing.assert_allclose(shuffled.coef_, still.coef_, rtol=1e-12)
    make = {"max_iter": 1, "shuffle": True}
    one, same, other = (estimator(random_state=seed, **make).fit(X, Y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.coef_, same.coef_)
    assert not np.allclose(one.coef_, other.coef_, rtol=1e-6)
    assert not np.allclose(one.coef_, estimator().fit(X, Y).coef_, rtol=1e-6)
    twice = estimator(random_state=0, **make).set_params(max_iter=2, warm_start=True).fit(X, Y)
    again = estimator(random_state=0, **make).set_params(warm_start=True).fit(X, Y).fit(X, Y)
    assert not np.allclose(twice.coef_, again.coef_, rtol=1e-9)  # a new order for each pass


def test_rows_without_weight_are_dropped_before_shuffling():
    live = np.arange(80) % 4 > 0
    make = {"max_iter": 3, "shuffle": True, "random_state": 0}
    some = estimator(**make).fit(X, Y, live.astype(float))
    without = estimator(**make).fit(X[live], Y[live])
    np.testing.assert_array_equal(weights_of(some), weights_of(without))
    assert some.t_ == 3 * live.sum()


def test_fit_stops_when_the_loss_no_longer_improves_by_tol():
    make = {"max_iter": 50, "shuffle": True, "random_state": 0}
    for patience in (1, 4):
        model = estimator(**make).set_params(tol=1e9, n_iter_no_change=patience).fit(X, Y)
        assert model.n_iter_ == 1 + patience
    patient = estimator(**make).set_params(tol=1e-3).fit(X, Y)
    exact = estimator(**make).set_params(tol=1e-2).fit(X, Y)
    assert exact.n_iter_ < patient.n_iter_ < 50
    assert estimator(**make).fit(X, Y).n_iter_ == 50  # tol=None


def test_running_out_of_passes_is_said_once_and_one_pass_is_a_choice():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 passes .* tol=1e-09") as caught:
        estimator(max_iter=2).set_params(tol=1e-9).fit(X, Y)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator(max_iter=1).set_params(tol=1e-9).fit(X, Y)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_warm_start_goes_on_from_the_whole_state(potential, structure, update):
    make = {"update": update, "alpha": 0.01}
    at_once = estimator(potential, structure, max_iter=3, **make).fit(X, Y)
    warm = estimator(potential, structure, warm_start=True, **make)
    learn(warm, X, Y)
    for _ in range(2):
        warm.fit(X, Y)
    np.testing.assert_array_equal(weights_of(warm), weights_of(at_once))
    assert warm.t_ == 3 * 80
    assert warm.n_iter_ == 1  # of this call
    assert warm.progressive_loss_ == pytest.approx(at_once.progressive_loss_, rel=1e-13)
    cold = estimator(potential, structure, **make).fit(X, Y)
    once = weights_of(cold).copy()
    np.testing.assert_array_equal(weights_of(cold.fit(X, Y)), once)
    assert cold.t_ == 80


def test_fit_starts_anew_with_new_parameters_features_and_classes():
    model = estimator().fit(X, Y)
    model.set_params(potential="ons", structure="full", loss="hinge")
    model.fit(X[:, :3], np.where(SCORE > 0, "up", "down"))
    assert model.coef_.shape == (1, 3)
    assert model.n_features_in_ == 3
    assert list(model.classes_) == ["down", "up"]
    assert (model.potential_, model.structure_) == ("ons", "full")


# --- fitted attributes ----------------------------------------------------------------------------


def test_the_shapes_of_the_fitted_model():
    classifier, regressor = AdaRegClassifier(max_iter=1).fit(X, Y), AdaRegRegressor(max_iter=1)
    assert classifier.coef_.shape == (1, 5)
    assert classifier.intercept_.shape == (1,)
    regressor.fit(X, SCORE)
    assert regressor.coef_.shape == (5,)
    assert regressor.intercept_.shape == (1,)
    assert regressor.predict(X).shape == (80,)
    for model in (classifier, regressor):
        assert model.coef_.dtype == model.intercept_.dtype == np.float64
        assert model.n_features_in_ == 5
    without = AdaRegRegressor(fit_intercept=False, max_iter=1).fit(X, SCORE)
    np.testing.assert_array_equal(without.intercept_, [0.0])


def test_auto_says_what_it_took():
    small = AdaRegClassifier(max_iter=1).fit(X, Y)
    assert (small.potential_, small.structure_) == ("ons", "full")
    wide = sparse.random(20, 3000, density=0.01, format="csr", random_state=0)
    large = AdaRegClassifier(max_iter=1).fit(wide, np.resize([0, 1], 20))
    assert large.structure_ == "diag"
    assert large.potential_ in POTENTIALS
    for model in (small, large):
        assert np.all(np.asarray(model.eta_) > 0)
        assert np.all(np.asarray(model.epsilon_) > 0)
    lasso = AdaRegClassifier(max_iter=1, alpha=0.1, l1_ratio=1.0).fit(X, Y)
    assert lasso.structure_ == "full"
    lasso = AdaRegClassifier(max_iter=1, alpha=0.1, l1_ratio=1.0, eta=1.0).fit(X, Y)
    assert lasso.structure_ == "diag"  # Algorithm 1 has no L1 prox in a full matrix
    custom = AdaRegClassifier(FourthRoot(), "full", max_iter=1).fit(X, Y)
    assert custom.potential_ == FourthRoot()


def test_numpys_booleans_are_booleans():
    for plain in (True, False):
        numpys = estimator(average=np.bool_(plain)).fit(X, Y)
        np.testing.assert_array_equal(numpys.coef_, estimator(average=plain).fit(X, Y).coef_)
        numpys = estimator(fit_intercept=np.bool_(plain)).fit(X, Y)
        np.testing.assert_array_equal(numpys.coef_, estimator(fit_intercept=plain).fit(X, Y).coef_)


def test_feature_names_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = estimator().fit(frame, Y)
    assert list(model.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(model.coef_, estimator().fit(X, Y).coef_)


def test_all_nine_algorithms_learn_real_data():
    Z, y = load_breast_cancer(return_X_y=True)
    Z /= np.abs(Z).max(axis=0)
    for potential in POTENTIALS:
        for structure in STRUCTURES:
            Zs = Z[:, :12] if structure == "full" else Z  # eigenbases of 31 columns take their time
            model = AdaRegClassifier(potential, structure, max_iter=5, tol=None, random_state=0)
            assert model.fit(Zs, y).score(Zs, y) > 0.85
    Z, y = load_diabetes(return_X_y=True)
    Z, y = Z / np.abs(Z).max(axis=0), y / y.max()
    for potential in POTENTIALS:
        for structure in STRUCTURES:
            model = AdaRegRegressor(potential, structure, max_iter=20, tol=None, random_state=0)
            assert model.fit(Z, y).score(Z, y) > 0.3


# --- predictions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [[-1, 1], [0, 1], ["no", "yes"], [False, True], [2.0, 7.0]])
def test_predictions_agree_with_each_other(labels):
    y = np.array(labels)[(SCORE > 0).astype(int)]
    model = estimator("ons", "full").fit(X, y)
    np.testing.assert_array_equal(model.classes_, labels)
    margins = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), margins, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[(margins > 0).astype(int)])
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities[:, 1], expit(margins), rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(model.predict_log_proba(X)[:, 0], log_expit(-margins), rtol=1e-12)
    assert model.score(X, y) == accuracy_score(y, model.predict(X)) > 0.7
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(X)), probabilities, rtol=1e-12)


def test_log_probabilities_hold_where_probabilities_round_to_zero():
    model = estimator().fit(X, Y)
    far = 1e6 * X[:1]
    margin = model.decision_function(far)[0]
    assert abs(margin) > 1e4
    np.testing.assert_allclose(model.predict_log_proba(far).min(), -abs(margin))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_modified_huber_probabilities_are_those_of_sgd_classifier(n_classes):
    y = np.digitize(SCORE, np.quantile(SCORE, np.arange(1, n_classes) / n_classes))
    ours = estimator("ons", "diag", loss="modified_huber", max_iter=5).fit(X, y)
    theirs = SGDClassifier(loss="modified_huber", max_iter=5, tol=None).fit(X, y)
    theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
    wide = np.vstack([X, 100 * X, 0 * X])  # margins beyond ±1, and rows that no class wants
    np.testing.assert_allclose(ours.predict_proba(wide), theirs.predict_proba(wide), rtol=1e-12)
    assert len(np.unique(ours.predict_proba(X))) > 10
    with np.errstate(divide="ignore"):
        expected = np.log(ours.predict_proba(wide))
    np.testing.assert_allclose(ours.predict_log_proba(wide), expected)


def test_only_losses_with_probabilities_have_them():
    have = {
        loss
        for loss in _registry.CLASSIFICATION_LOSSES
        if hasattr(AdaRegClassifier(loss=loss), "predict_proba")
        and hasattr(AdaRegClassifier(loss=loss), "predict_log_proba")
    }
    assert have == {"log_loss", "modified_huber"}
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
        _ = AdaRegClassifier(loss="hinge").predict_proba
    assert "not available for loss='hinge'" in str(caught.value.__cause__)
    assert not hasattr(AdaRegClassifier(loss="nonsense"), "predict_proba")
    assert not hasattr(AdaRegRegressor(), "predict_proba")


@pytest.mark.parametrize("loss", list(_registry.REGRESSION_LOSSES))
def test_regressors_predict_margins_and_poisson_their_exponential(loss):
    y = target(loss, SCORE)
    model = estimator("adagrad", "diag", loss=loss, max_iter=20).fit(X, y)
    margins = X @ model.coef_ + model.intercept_
    expected = np.exp(margins) if loss == "poisson" else margins
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)
    assert model.score(X, y) == pytest.approx(r2_score(y, expected))
    assert not hasattr(model, "decision_function")


def test_losses_have_the_parameters_they_are_named_for():
    """The quantile leaves its share below, and the insensitive zone is where nothing is learnt."""
    low, high = (
        estimator("adagrad", "full", loss="quantile", quantile=q, max_iter=40).fit(X, SCORE) for q in (0.1, 0.9)
    )
    assert np.mean(low.predict(X) > SCORE) < 0.25
    assert np.mean(high.predict(X) > SCORE) > 0.75
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        still = estimator(loss=loss, insensitivity=2 * np.abs(SCORE).max()).fit(X, SCORE)
        assert not still.coef_.any()
        assert estimator(loss=loss).fit(X, SCORE).coef_.any()
    square, huber = estimator(loss="squared_error"), estimator(loss="huber", huber_delta=1e6)
    np.testing.assert_array_equal(square.fit(X, SCORE).coef_, huber.fit(X, SCORE).coef_)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_sparsify_and_densify(loss):
    Z, y = np.column_stack([X, np.zeros(80)]), target(loss, SCORE)
    model = estimator("adagrad", "diag", loss=loss).fit(Z, y)
    coef, predicted = model.coef_.copy(), model.predict(Z)
    assert np.count_nonzero(coef) == 5
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_)
    assert model.coef_.nnz == np.count_nonzero(coef)
    np.testing.assert_allclose(model.predict(Z), predicted)
    np.testing.assert_allclose(model.predict(sparse.csr_array(Z)), predicted)
    model.sparsify()
    assert model.densify() is model
    np.testing.assert_array_equal(model.coef_, coef)
    twin = estimator("adagrad", "diag", loss=loss).fit(Z, y)
    for each in (model.sparsify(), twin):
        learn(each, Z, y)
    np.testing.assert_array_equal(model.coef_, twin.coef_)


# --- threads --------------------------------------------------------------------------------------

WORK = np.random.default_rng(0).normal(size=(15_000, 150)).astype(np.float32)
LABELS = np.resize([-1, 1], len(WORK))


def one_long_pass(structure):
    """A tenth of a second or so in one call of the kernels; general powers are slow."""
    if structure == "full":
        return estimator("ons", "full").fit(WORK[:10_000, :100], LABELS[:10_000])
    return estimator("pnorm", structure, p=2.5).fit(WORK, LABELS)


def run_in_threads(n_threads):
    threads = [threading.Thread(target=one_long_pass, args=("diag",)) for _ in range(n_threads)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def longest_silence(work):
    """While a thread works: the longest time without a tick of this one, as a share of it all."""
    thread = threading.Thread(target=work)
    ticks = [time.perf_counter()]
    thread.start()
    while thread.is_alive():
        time.sleep(0.001)
        ticks.append(time.perf_counter())
    return np.max(np.diff(ticks)) / (ticks[-1] - ticks[0])


@pytest.mark.parametrize("structure", ["diag", "full"])
def test_python_goes_on_while_a_model_learns(structure):
    """Were the interpreter's lock held for the pass, this thread would be silent for all of it."""
    silences = []
    while len(silences) < 10 and min(silences, default=1.0) > 0.4:  # other work may be in the way
        silences.append(longest_silence(lambda: one_long_pass(structure)))
    assert min(silences) <= 0.4


def test_silence_is_what_a_held_lock_sounds_like():
    assert longest_silence(lambda: sum(range(5_000_000))) > 0.6


def test_two_threads_fit_two_models_in_the_time_of_one():
    if (os.cpu_count() or 1) < 2:
        pytest.skip("two cores are needed")
    ratios = []
    for _ in range(6):
        ratios.append(run_in_threads(2) / run_in_threads(1))
        if ratios[-1] <= 1.3:
            return
    load = os.getloadavg()[0]
    shared = "PYTEST_XDIST_WORKER" in os.environ  # another worker has the second core; -n 0 has both
    if load > 1.5 or shared:
        pytest.skip(f"the cores have other work (load {load:.1f}, best ratio {min(ratios):.2f})")
    assert min(ratios) <= 1.3
