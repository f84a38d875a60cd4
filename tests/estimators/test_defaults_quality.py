"""One pass of the defaults over raw data is close to a tuned batch model.

The share is (loss − batch) / (constant − batch) on held-out rows: 0 is the batch model, 1 the
constant. The batch models have scaled features and the penalty that is best on the very rows that
they are tested on. Bounds are what was measured over the shuffles, and some slack.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

SHUFFLES = 5
STRUCTURES = ("auto", "diag", "iso")
DATA = {  # loader, penalties of the batch model to choose from, bounds on the mean share
    "breast_cancer": (load_breast_cancer, (0.1, 0.3, 1, 3), (0.08, 0.22, 0.22)),
    "wine": (load_wine, (0.3, 1, 3, 10), (0.04, 0.25, 0.26)),
    "iris": (load_iris, (3, 10, 30, 100), (0.22, 0.45, 0.45)),
    "digits": (load_digits, (0.1, 0.3), (0.01, 0.03, 0.03)),
}
DIABETES = (0.05, 0.46, 0.46)


def shuffled(X, y, seed):
    """Two thirds to learn from, in that order, and the rest."""
    order = np.random.default_rng(seed).permutation(len(y))
    seen, rest = np.split(order, [2 * len(y) // 3])
    return X[seen], y[seen], X[rest], y[rest]


def classification_share(seen, labels, rest, truth, penalties, **params):
    classes = np.unique(labels)
    constant = log_loss(truth, np.tile(np.bincount(labels) / len(labels), (len(truth), 1)))
    batch = []
    for C in penalties:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=1000))
        batch.append(log_loss(truth, model.fit(seen, labels).predict_proba(rest)))
    online = AdaRegClassifier(**params).partial_fit(seen, labels, classes=classes)
    reached = log_loss(truth, online.predict_proba(rest))
    return (reached - min(batch)) / (constant - min(batch))


def regression_share(seen, labels, rest, truth, **params):
    constant = mean_squared_error(truth, np.full(len(truth), labels.mean()))
    batch = []
    for alpha in (0.1, 1.0, 10.0, 30.0, 100.0):
        model = make_pipeline(StandardScaler(), Ridge(alpha))
        batch.append(mean_squared_error(truth, model.fit(seen, labels).predict(rest)))
    reached = mean_squared_error(truth, AdaRegRegressor(**params).partial_fit(seen, labels).predict(rest))
    return (reached - min(batch)) / (constant - min(batch))


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("name", DATA)
def test_one_pass_of_the_classifier_is_close_to_the_tuned_batch_model(name, structure):
    load, penalties, bounds = DATA[name]
    X, y = load(return_X_y=True)
    shares = [
        classification_share(*shuffled(X, y, seed), penalties, structure=structure)
        for seed in range(2 if name == "digits" else SHUFFLES)
    ]
    assert np.mean(shares) < bounds[STRUCTURES.index(structure)]


@pytest.mark.parametrize(("structure", "bound"), list(zip(STRUCTURES, DIABETES, strict=True)))
def test_one_pass_of_the_regressor_is_close_to_the_tuned_batch_model(structure, bound):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    shares = [regression_share(*shuffled(X, y, seed), structure=structure) for seed in range(SHUFFLES)]
    assert np.mean(shares) < bound


@pytest.mark.parametrize("name", DATA)
def test_the_same_data_in_other_units_gives_the_same_answers(name):
    X, y = DATA[name][0](return_X_y=True)
    factors = np.exp(np.random.default_rng(0).uniform(-20, 20, size=X.shape[1]))
    seen, labels, rest, _ = shuffled(X, y, 0)
    for structure in STRUCTURES:
        raw = AdaRegClassifier(structure=structure).partial_fit(seen, labels, classes=np.unique(y))
        other = AdaRegClassifier(structure=structure).partial_fit(seen * factors, labels, classes=np.unique(y))
        expected = raw.decision_function(rest)
        np.testing.assert_allclose(
            other.decision_function(rest * factors), expected, rtol=0, atol=1e-6 * np.max(np.abs(expected))
        )


def test_diabetes_in_other_units_gives_the_same_predictions():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    factors = np.exp(np.random.default_rng(0).uniform(-20, 20, size=X.shape[1]))
    for structure in STRUCTURES:
        raw = AdaRegRegressor(structure=structure).partial_fit(X, y)
        other = AdaRegRegressor(structure=structure).partial_fit(X * factors, 1e-7 * y)
        np.testing.assert_allclose(1e7 * other.predict(X * factors), raw.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": 1e-11},
        {"alpha": 1e-11, "l1_ratio": 0.5},
        {"alpha": 1e-11, "l1_ratio": 1.0},
        {"domain": "box", "radius": 1e6},
        {"domain": "l2", "radius": 1e6},
        {"domain": "l1", "radius": 1e6},
    ],
    ids=str,
)
@pytest.mark.parametrize("structure", ["full", "diag", "iso"])
def test_a_penalty_or_a_domain_that_does_nothing_changes_nothing(params, structure):
    if structure == "full" and params.get("l1_ratio"):
        pytest.skip("with an L1 penalty one candidate is published")
    X, y = load_breast_cancer(return_X_y=True)
    free = AdaRegClassifier(structure=structure, max_iter=1, random_state=0).fit(X, y)
    bound = AdaRegClassifier(structure=structure, max_iter=1, random_state=0, **params).fit(X, y)
    assert bound.method_ == free.method_ != "algorithm1"
    np.testing.assert_allclose(bound.predict_proba(X), free.predict_proba(X), atol=1e-3)
