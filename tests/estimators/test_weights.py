"""Weights of rows and of classes: a factor on the loss, where zero is removal."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import compute_class_weight, compute_sample_weight
from support.data import STRUCTURES, UPDATES, estimator, rows

NAMES = np.array(["ant", "bee", "cat"])


def labelled(seed=0, n=90):
    """Rows, labels that are far from balanced, and weights of which a quarter are zero."""
    X, score = rows(seed, n=n)
    y = NAMES[np.digitize(score, [-0.5, 2.0])]
    weight = np.random.default_rng(seed).integers(0, 4, size=n) / 2.0
    return X, y, weight


def assert_same_model(found, expected):
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    assert found.t_ == expected.t_
    assert found.progressive_loss_ == expected.progressive_loss_


# --- zero is removal ------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_a_row_of_weight_zero_might_as_well_not_be_there(loss, structure, update, change):
    X, y, weight = labelled()
    if loss == "squared_error":
        y = X[:, :2] + 1.0
    keep = weight > 0
    params = {"loss": loss, "update": update, "alpha": 0.01, "max_iter": 3, "shuffle": True}
    models = [estimator("ons", structure, random_state=0, **params) for _ in range(2)]
    models[0].fit(change(X), y, weight)
    models[1].fit(change(X[keep]), y[keep], weight[keep])
    assert_same_model(*models)
    assert models[0].loss_curve_ == models[1].loss_curve_
    assert models[0].t_ == 3 * np.count_nonzero(keep)


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_zero_weights_are_removed_before_a_validation_set_is_split_off(loss):
    X, y, weight = labelled(n=200)
    if loss == "squared_error":
        y = X[:, 0] + 1.0
    keep = weight > 0
    params = {"loss": loss, "early_stopping": True, "max_iter": 5, "validation_fraction": 0.3}
    models = [estimator("ons", "full", random_state=0, **params) for _ in range(2)]
    models[0].fit(X, y, weight)
    models[1].fit(X[keep], y[keep], weight[keep])
    assert_same_model(*models)
    assert models[0].validation_scores_ == models[1].validation_scores_


def test_a_class_that_only_rows_of_weight_zero_have_is_no_class():
    X, y, _ = labelled()
    model = estimator().fit(X, y, (y != "bee").astype(float))
    np.testing.assert_array_equal(model.classes_, ["ant", "cat"])
    assert model.coef_.shape == (1, X.shape[1])


def test_a_chunk_of_weight_zero_changes_nothing():
    X, y, weight = labelled()
    model = estimator("ons", "full").partial_fit(X, y, NAMES, weight)
    coef, loss, t = model.coef_.copy(), model.progressive_loss_, model.t_
    model.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    np.testing.assert_array_equal(model.coef_, coef)
    assert (model.progressive_loss_, model.t_) == (loss, t)
    late = estimator("ons", "full").partial_fit(X, y, NAMES, np.zeros(len(y)))
    np.testing.assert_array_equal(late.coef_, np.zeros((3, X.shape[1])))
    assert late.t_ == 0
    assert_same_model(late.partial_fit(X, y, sample_weight=weight), model)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_a_class_of_weight_zero_is_removed_but_stays_a_class(loss):
    X, y, _ = labelled()
    keep = y != "bee"
    model = estimator(loss=loss, class_weight={"bee": 0}, max_iter=1).fit(X, y)
    removed = estimator(loss=loss).partial_fit(X[keep], y[keep], classes=NAMES)
    assert_same_model(model, removed)
    np.testing.assert_array_equal(model.classes_, NAMES)
    stream = estimator(loss=loss, class_weight={"bee": 0}).partial_fit(X, y, classes=NAMES)
    assert_same_model(stream, removed)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_class_of_weight_zero_is_removed_before_shuffling_and_splitting(early_stopping):
    X, y, _ = labelled(n=200)
    others, bees = np.flatnonzero(y != "bee"), np.flatnonzero(y == "bee")
    params = {"max_iter": 4, "shuffle": True, "early_stopping": early_stopping}
    models = [estimator("ons", "full", class_weight={"bee": 0}, random_state=0, **params) for _ in range(2)]
    models[0].fit(X, y)
    few = np.append(others, bees[:3])
    models[1].fit(X[few], y[few])
    assert_same_model(*models)
    if early_stopping:
        assert models[0].validation_scores_ == models[1].validation_scores_


# --- all zero -------------------------------------------------------------------------------------

NOTHING_TO_LEARN = "zero for every row, so there is nothing to learn; give at least one row"


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_all_weights_zero_is_an_error_in_fit(loss):
    X, y, _ = labelled()
    y = X[:, 0] if loss == "squared_error" else y
    model = estimator(loss=loss)
    with pytest.raises(ValueError, match=NOTHING_TO_LEARN):
        model.fit(X, y, np.zeros(len(y)))
    assert not hasattr(model, "coef_")


def test_all_classes_of_weight_zero_is_an_error_in_fit():
    X, y, weight = labelled()
    with pytest.raises(ValueError, match="zero for every row"):
        estimator(class_weight=dict.fromkeys(NAMES, 0.0)).fit(X, y)
    only_bees = np.where(y == "bee", weight, 0.0)
    with pytest.raises(ValueError):
        estimator(class_weight={"bee": 0.0}).fit(X, y, only_bees)


# --- weights of classes ---------------------------------------------------------------------------


@pytest.mark.parametrize("sample_weight", [False, True])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
def test_weights_of_classes_are_weights_of_their_rows(loss, structure, sample_weight):
    X, y, weight = labelled()
    weight = weight if sample_weight else np.ones(len(y))
    factors = {"ant": 2.5, "cat": 0.25}  # a label left out has weight 1
    each = weight * np.array([factors.get(label, 1.0) for label in y])
    params = {"loss": loss, "max_iter": 2, "shuffle": True, "random_state": 0}
    by_class = estimator("ons", structure, class_weight=factors, **params)
    by_row = estimator("ons", structure, **params)
    assert_same_model(by_class.fit(X, y, weight), by_row.fit(X, y, each))
    by_class = estimator("ons", structure, class_weight=factors, loss=loss)
    by_row = estimator("ons", structure, loss=loss)
    assert_same_model(by_class.partial_fit(X, y, NAMES, weight), by_row.partial_fit(X, y, NAMES, each))


def test_weights_of_two_classes_by_any_kind_of_label():
    X, score = rows(2)
    binary = np.where(score > 0, 3.0, 1.0)
    expected = estimator().fit(X, score > 0, binary)
    for labels, class_weight in [
        (score > 0, {True: 3.0}),
        (np.where(score > 0, 1, -1), {1: 3, -1: 1}),
        (np.where(score > 0, 1, -1), {np.int64(1): 3}),
        (np.where(score > 0, 1.0, 0.0), {1: 3}),
        (np.where(score > 0, "yes", "no"), {"yes": 3}),
        (np.where(score > 0, "yes", "no").astype(object), {"yes": 3}),
    ]:
        assert_same_model(estimator(class_weight=class_weight).fit(X, labels), expected)


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ({"bat": 1.0}, "class_weight has the label 'bat', which is not among the classes"),
        ({"ant": -1.0}, "must hold finite numbers ≥ 0"),
        ({"ant": np.nan}, "must hold finite numbers ≥ 0"),
        ("heavy", "class_weight"),
        ([1.0, 2.0, 3.0], "class_weight"),
    ],
)
def test_weights_of_classes_that_are_none(class_weight, words):
    X, y, _ = labelled()
    with pytest.raises(ValueError, match=words):
        estimator(class_weight=class_weight).fit(X, y)


def test_one_number_is_a_weight_for_all():
    X, y, _ = labelled()
    assert_same_model(estimator().fit(X, y, 2.0), estimator().fit(X, y, np.full(len(y), 2.0)))


# --- balanced -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample_weight", [False, True])
def test_balanced_in_fit_is_scikit_learns_balanced_on_the_rows_with_weight(sample_weight):
    X, y, weight = labelled()
    weight = weight if sample_weight else np.ones(len(y))
    live = weight > 0
    factors = dict(zip(NAMES, compute_class_weight("balanced", classes=NAMES, y=y[live]), strict=True))
    params = {"max_iter": 3, "shuffle": True, "random_state": 0}
    balanced = estimator("ons", "full", class_weight="balanced", **params).fit(X, y, weight)
    by_dict = estimator("ons", "full", class_weight=factors, **params).fit(X, y, weight)
    assert_same_model(balanced, by_dict)
    if not sample_weight:
        by_row = estimator("ons", "full", **params).fit(X, y, compute_sample_weight("balanced", y))
        np.testing.assert_allclose(balanced.coef_, by_row.coef_, rtol=1e-12)


def running_balance(y, counts):
    """Weights by the counts up to and including each row; adds to the counts."""
    weights = []
    for label in y:
        counts[label] += 1
        weights.append(sum(counts.values()) / (len(counts) * counts[label]))
    return np.array(weights)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("labels", [NAMES, NAMES[:2]])
def test_balanced_in_a_stream_is_by_the_counts_so_far(labels, loss):
    X, y, weight = labelled()
    y = np.where(np.isin(y, labels), y, labels[0])
    live = weight > 0
    factors = np.ones(len(y))
    factors[live] = running_balance(y[live], dict.fromkeys(labels, 0))  # no weight, no round
    balanced = estimator(loss=loss, class_weight="balanced")
    explicit = estimator(loss=loss)
    balanced.partial_fit(X, y, labels, weight)
    explicit.partial_fit(X, y, labels, weight * factors)
    np.testing.assert_allclose(balanced.coef_, explicit.coef_, rtol=1e-12, atol=1e-15)
    assert balanced.progressive_loss_ == pytest.approx(explicit.progressive_loss_, rel=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_a_balanced_stream_in_chunks_is_the_whole_to_the_bit(loss, structure):
    X, y, weight = labelled()
    make = {"loss": loss, "class_weight": "balanced"}
    whole = estimator("ons", structure, **make).partial_fit(X, y, NAMES, weight)
    for cuts in ([1, 2, 40], range(1, len(y))):
        stream = estimator("ons", structure, **make)
        for part in np.split(np.arange(len(y)), cuts):
            stream.partial_fit(X[part], y[part], NAMES, weight[part])
        np.testing.assert_array_equal(stream.coef_, whole.coef_)
        np.testing.assert_array_equal(stream.intercept_, whole.intercept_)


def test_a_stream_after_fit_goes_on_from_the_counts_of_fit():
    X, y, _ = labelled()
    counts = {label: int(np.sum(y[:60] == label)) for label in NAMES}
    first = compute_sample_weight("balanced", y[:60])
    later = running_balance(y[60:], counts)
    # However many epochs, each row is counted once.
    params = {"max_iter": 3, "shuffle": True, "random_state": 0}
    balanced = estimator("adagrad", "diag", class_weight="balanced", **params)
    explicit = estimator("adagrad", "diag", **params)
    balanced.fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    explicit.fit(X[:60], y[:60], first).partial_fit(X[60:], y[60:], sample_weight=later)
    np.testing.assert_allclose(balanced.coef_, explicit.coef_, rtol=1e-12)


def test_balance_is_what_a_rare_class_needs():
    """The point of it all: a class of one row in thirty is found, in fit and in a stream."""
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 1 / 30).astype(int)
    X = rng.normal(size=(3000, 3)) + 1.2 * y[:, None]
    found = {}
    for class_weight in (None, "balanced"):
        make = {"epsilon": 1.0, "class_weight": class_weight}
        fitted = estimator("adagrad", "full", max_iter=5, **make).fit(X, y)
        stream = estimator("adagrad", "full", **make).partial_fit(X, y, [0, 1])
        found[class_weight] = [np.mean(m.predict(X)[y == 1]) for m in (fitted, stream)]
    assert max(found[None]) < 0.4
    assert min(found["balanced"]) > 0.75
