"""Models of every configuration merge in pairs, and what comes of it predicts finite numbers and learns on."""

from itertools import product

import numpy as np
import pytest
from support.data import rows
from support.kernel_grid import OF_STRUCTURE

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, merge
from sklearn_adareg.model import _registry

TASKS = {
    "two classes": (AdaRegClassifier, "log_loss", lambda score: np.digitize(score, [0.0])),
    "three classes": (AdaRegClassifier, "log_loss", lambda score: np.digitize(score, [-0.5, 0.7])),
    "three classes, perceptron": (AdaRegClassifier, "perceptron", lambda score: np.digitize(score, [-0.5, 0.7])),
    "a target": (AdaRegRegressor, "squared_error", lambda score: score + 3.0),
    "counts": (AdaRegRegressor, "poisson", lambda score: np.round(np.abs(score))),
    "two targets": (AdaRegRegressor, "huber", lambda score: np.column_stack([score, -score])),
}
GRID = list(
    product(
        TASKS,
        ["auto", *_registry.POTENTIALS],
        ["auto", *_registry.STRUCTURES],
        _registry.UPDATES,
        [None, 50.0],
        [True, False],
    )
)
DOMAINS = [name for name in _registry.DOMAINS if name]


def merged(task, **params):
    """A model of two that have learnt from half of the rows each, and the rows."""
    cls, loss, targets = TASKS[task]
    X, score = rows(0, n=60)
    y = targets(score)
    classes = {"classes": np.unique(y)} if cls is AdaRegClassifier else {}

    def learnt(part):
        model = cls(loss=loss, **OF_STRUCTURE.get(params["structure"], {}), **params)
        return model.partial_fit(X[part], y[part], **classes)

    try:
        learnt(slice(0, 1))
    except ValueError:
        pytest.skip("these parameters are refused")
    models = [learnt(slice(0, 30)), learnt(slice(30, 60))]
    return merge(models), X, y


def assert_sound(model, X, y):
    assert model.t_ == len(X)
    assert np.isfinite(model.coef_).all()
    assert np.any(model.coef_ != 0.0)
    model.partial_fit(X, y)
    assert model.t_ == 2 * len(X)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.progressive_loss_)


@pytest.mark.parametrize(("task", "potential", "structure", "update", "half_life", "intercept"), GRID)
def test_models_merge_in_pairs(task, potential, structure, update, half_life, intercept):
    assert_sound(
        *merged(
            task, potential=potential, structure=structure, update=update, half_life=half_life, fit_intercept=intercept
        )
    )


@pytest.mark.parametrize("structure", _registry.STRUCTURES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_models_in_a_domain_merge_in_pairs(domain, structure):
    radius = {"radius": 1.0} if _registry.DOMAINS[domain].has_radius else {}
    assert_sound(*merged("a target", potential="adagrad", structure=structure, domain=domain, **radius))
