"""skops keeps a model without pickle: it asks for trust in the type of the model and in nothing else."""

import numpy as np
import pytest
from support.data import STRUCTURES, UPDATES, estimator, rows, target

sio = pytest.importorskip("skops.io")
# All that a user has to trust, as the guide gives it.
TRUSTED = {
    "log_loss": "sklearn_adareg.AdaRegClassifier",
    "hinge": "sklearn_adareg.AdaRegClassifier",
    "squared_error": "sklearn_adareg.AdaRegRegressor",
}


def learnt(loss, **params):
    X, score = rows(1)
    model = estimator(loss=loss, **params)
    return model.fit(X[:45], target(loss, score)[:45]), X, target(loss, score)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", ["adagrad", "ons"])
def test_a_model_goes_on_after_skops(potential, structure, update, loss):
    make = {"potential": potential, "structure": structure, "update": update}
    model, X, y = learnt(loss, **make, early_stopping=True, random_state=0)
    file = sio.dumps(model)
    asked = sio.get_untrusted_types(data=file)
    assert asked == [TRUSTED[loss]]
    twin = sio.loads(file, trusted=asked)
    np.testing.assert_array_equal(twin.coef_, model.coef_)
    for each in (twin, model):
        each.partial_fit(X[45:], y[45:])
    np.testing.assert_array_equal(twin.coef_, model.coef_)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    assert twin.loss_curve_ == model.loss_curve_
    assert twin.validation_scores_ == model.validation_scores_


def test_several_classes_and_targets_ask_for_no_more():
    X, score = rows(1)
    classes = np.array(["a", "b", "c"])[np.digitize(score, [-0.5, 2.0])]
    for loss, y in [("log_loss", classes), ("hinge", classes), ("squared_error", X[:, :3])]:
        model = estimator(loss=loss, class_weight="balanced") if y is classes else estimator(loss=loss)
        file = sio.dumps(model.fit(X, y))
        asked = sio.get_untrusted_types(data=file)
        assert asked == [TRUSTED[loss]]
        np.testing.assert_array_equal(sio.loads(file, trusted=asked).predict(X), model.predict(X))


def test_without_trust_nothing_is_loaded():
    model, *_ = learnt("log_loss")
    with pytest.raises(Exception, match="Untrusted types"):
        sio.loads(sio.dumps(model))
