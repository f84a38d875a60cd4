"""The default learner is what its slow reference says: limits, blocks, beginning, sums, proposals, candidates and their weights."""

import numpy as np
import pytest
from reference.information import information
from reference.stack import confined
from scipy import sparse
from support.kernel_grid import LOSSES, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _auto, _registry

pytestmark = pytest.mark.filterwarnings("ignore:radius=.* has no effect:UserWarning")

RADIUS, RTOL = 0.3, 1e-6
MINIMISED = [loss for loss in LOSSES if _registry.loss(loss).has_minimiser]
VARIANTS = [
    {},
    {"fit_intercept": False},
    {"half_life": 20.0},
    {"half_life": None, "alpha": 0.02},
    {"epsilon": 2.0},
    {"alpha": 0.05, "l1_ratio": 1.0, "epsilon": 2.0},
    {"alpha": 0.05, "l1_ratio": 0.5, "domain": "box", "radius": RADIUS, "epsilon": 2.0},
    {"domain": "l2", "radius": RADIUS, "epsilon": 2.0},
    {"domain": "l1", "radius": RADIUS, "epsilon": 2.0},
    {"domain": "nonnegative", "epsilon": 2.0},
]


def stream(loss, n, classes=0, outputs=0, seed=7):
    """Rows in which a feature is not centred, one grows and one value is far away; weights, some of them 0."""
    Z, score, weight = rows(seed, n, zeros=0.2)
    Z[n // 3, 1], Z[:, 3] = 40, Z[:, 3] + 3
    Z[n // 2 :, 2] *= 4
    if classes:
        y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
        y[:classes], weight[:classes] = np.arange(classes), 1.0
    elif outputs:
        y = np.array([target(loss, score * (k + 1) + k * Z[:, k % 4]) for k in range(outputs)]).T
    else:
        y = target(loss, score)
        if loss in _registry.CLASSIFICATION_LOSSES:  # a kink is hit exactly while there is one class
            y[:2], weight[:2] = [1, -1], 1.0
        else:
            y[n // 4] *= 20
    return Z, y, weight


def assert_equals_reference(loss, Z, y, weight, coupled=True, **params):
    regression = loss in _registry.REGRESSION_LOSSES
    cls = AdaRegRegressor if regression else AdaRegClassifier
    labels = np.unique(y)
    classes = 0 if regression or len(labels) == 2 else len(labels)
    learner, margins = information(Z, y, loss=loss, n_classes=classes, sample_weight=weight, coupled=coupled, **params)
    expected = learner.weights()
    if params.get("domain"):
        for w in expected:
            w[:4] = confined(w[:4], params["domain"], params.get("radius"))
    known = {} if regression else {"classes": labels}
    for X in (Z, sparse.csr_array(Z)):
        model = cls(loss="log_loss" if loss == "softmax" else loss, **params)
        known_weight = {} if weight is None else {"sample_weight": weight}
        method = {} if regression else {"method": "decision_function"}
        shown = model.partial_fit_predict(X, y, **known, **known_weight, **method)
        found = np.atleast_2d(model.coef_)
        if model.fit_intercept:
            found = np.column_stack([found, np.ravel(model.intercept_)])
        np.testing.assert_allclose(found, expected, rtol=RTOL, atol=RTOL * abs(expected).max())
        shown = np.log(shown) if loss == "poisson" else shown
        shown = shown.reshape(len(Z), -1)[weight > 0 if weight is not None else slice(None)]
        np.testing.assert_allclose(shown, margins, rtol=RTOL, atol=RTOL * abs(margins).max())


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("loss", MINIMISED)
def test_sixty_rows(loss, variant):
    Z, y, weight = stream(loss, 60)
    for w in (None, weight):
        assert_equals_reference(loss, Z, y, w, **variant)


@pytest.mark.parametrize("variant", VARIANTS[:5], ids=str)
@pytest.mark.parametrize("coupled", [True, False])
def test_a_softmax(coupled, variant, monkeypatch):
    if not coupled:
        monkeypatch.setattr(_auto, "MOST_COUPLED", 0)
    Z, y, weight = stream("softmax", 200, classes=3)
    for w in (None, weight):
        assert_equals_reference("softmax", Z, y, w, coupled, **variant)


@pytest.mark.parametrize("variant", VARIANTS[5:9], ids=str)
def test_classes_apart_with_a_penalty_or_a_domain(variant, monkeypatch):
    monkeypatch.setattr(_auto, "MOST_COUPLED", 0)
    Z, y, weight = stream("softmax", 100, classes=3)
    assert_equals_reference("softmax", Z, y, weight, coupled=False, **variant)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_six_targets(loss, variant):
    Z, y, weight = stream(loss, 80, outputs=6)
    assert_equals_reference(loss, Z, y, weight, **variant)


@pytest.mark.parametrize("loss", [*MINIMISED, "softmax"])
def test_the_beginning_ends(loss):
    """At row 1,024: limits from all rows, and sums alone from then on."""
    Z, y, weight = stream(loss, 1400, classes=3 * (loss == "softmax"))
    assert_equals_reference(loss, Z, y, None)
    assert_equals_reference(loss, Z, y, weight + 0.5, half_life=300.0)


@pytest.mark.parametrize(
    ("loss", "d", "noise"), [("log_loss", 6, 3.0), ("squared_error", 12, 0.3), ("softmax", 3, 0.3)]
)
def test_candidates_that_forget_rest_and_wake_when_the_rule_changes(loss, d, noise):
    """The stream rests at some time after its beginning, and is awake soon after its weights change their signs."""
    rng, n = np.random.default_rng(3), 2200
    Z, w = rng.normal(size=(n, d)), rng.normal(size=d)
    score = Z @ w * np.where(np.arange(n) < 1800, 1.0, -1.0) + noise * rng.normal(size=n)
    y = score if loss == "squared_error" else np.digitize(score, [0.0] if loss == "log_loss" else [-0.7, 0.7])
    assert_equals_reference(loss, Z, 2 * y - 1 if loss == "log_loss" else y, None)
    model = (AdaRegRegressor if loss == "squared_error" else AdaRegClassifier)()
    known = {} if loss == "squared_error" else {"classes": np.unique(y)}
    rests = []
    for t in range(n):
        model.partial_fit(Z[t : t + 1], y[t : t + 1], **known)
        rests.append(model.t_ < model._state.blocks[0].arrays["rests"][0, 0])
    assert not any(rests[:1000])
    assert 0.2 < np.mean(rests[1100:1800]) < 0.95
    assert not any(rests[1830:1860])
