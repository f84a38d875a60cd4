"""scikit-learn's own checks, over a grid of instances."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.data import STRUCTURES

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry

BOTH = (AdaRegClassifier, AdaRegRegressor)
WEIGHTS_SCALE = "a weight scales one gradient, it does not repeat a round"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS_SCALE,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_SCALE,
}

INSTANCES = [
    *(cls() for cls in BOTH),
    *(cls(potential, structure) for cls in BOTH for potential in _registry.POTENTIALS for structure in STRUCTURES),
    *(AdaRegClassifier(loss=loss) for loss in _registry.CLASSIFICATION_LOSSES if loss != "log_loss"),
    *(AdaRegRegressor(loss=loss) for loss in _registry.REGRESSION_LOSSES if loss != "squared_error"),
    *(cls(early_stopping=True, validation_fraction=0.2) for cls in BOTH),
    *(cls("adagrad", "diag", update="dual_averaging") for cls in BOTH),
    *(cls("adagrad", "diag", domain="box", radius=1e3) for cls in BOTH),
]


@pytest.mark.every_case
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:early_stopping=True has no effect in partial_fit:UserWarning")
@parametrize_with_checks(INSTANCES, expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
