"""The fitted model as a plain scikit-learn model: weights and nothing else."""

import warnings
from importlib import import_module

import numpy as np
from scipy import sparse

from . import _registry


def plain_model(estimator):
    """A scikit-learn linear model with the weights of ``estimator``.

    The model is first fitted on a few rows of one feature that is always 0, so that it has whatever attributes its class sets in
    this version of scikit-learn; its weights are then replaced.
    """
    entry = _registry.loss(estimator.loss)
    if not entry.plain:
        known = _registry.names(
            {**_registry.CLASSIFICATION_LOSSES, **_registry.REGRESSION_LOSSES},
            lambda other: other.plain,
        )
        raise ValueError(
            f"to_sklearn knows no scikit-learn model that predicts as loss={estimator.loss!r} does; use one of "
            f"{', '.join(known)}, or save this model itself."
        )
    classes = getattr(estimator, "classes_", None)
    targets = len(estimator.intercept_)
    module, _, name = entry.plain.rpartition(".")
    model = getattr(import_module(module), name)()
    if "fit_intercept" in model.get_params():
        model.set_params(fit_intercept=bool(estimator.fit_intercept))
    y = np.ones((2, targets) if estimator.coef_.ndim == 2 else 2) if classes is None else classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that these rows tell nothing
        model.fit(np.zeros((len(y), 1)), y)
    for fact in ("rank_", "singular_"):  # of those rows
        vars(model).pop(fact, None)
    for fact in ("n_features_in_", "feature_names_in_"):
        if fact in vars(estimator):
            setattr(model, fact, getattr(estimator, fact))
    coef, intercept = estimator.coef_, np.array(estimator.intercept_)
    if sparse.issparse(coef) and not hasattr(model, "sparsify"):
        coef = coef.toarray().reshape(-1 if estimator.coef_.shape[0] == 1 else coef.shape)
    model.coef_ = coef.copy()
    model.intercept_ = float(intercept[0]) if np.ndim(model.intercept_) == 0 else intercept
    return model
