"""The fitted model as a plain scikit-learn model: weights, and the limits of the values that they are multiplied with."""

import warnings
from importlib import import_module

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from ..model import _margins, _registry
from ..model._validation import copy_features

UNLIMITED = 1e300


def plain_model(estimator, limits=True):
    """A scikit-learn linear model with the weights of ``estimator``, behind a step that limits values if ``limits`` and it does."""
    shown = estimator._publish()
    coef, intercept = shown.coef, np.array(shown.intercept)
    if not limits or shown.limits is None or not (np.abs(shown.limits) < UNLIMITED).any():
        return copy_features(estimator, _linear_model(estimator, coef, intercept))
    step, coef, intercept = _limiting_step(estimator, shown.limits, coef, intercept)
    return make_pipeline(step, _linear_model(estimator, coef, intercept))


def limit_values(X, limits):
    """X, dense or sparse, with each value moved to the nearest one within the limits, (2, d)."""
    return _margins.limited(X.tocsr() if sparse.issparse(X) else X, limits)


def _limiting_step(estimator, limits, coef, intercept):
    """A fitted step that limits values, and the weights behind it.

    Dense values are brought to between 0 and 1 by scikit-learn's own scaler, which clips them there. It takes no sparse
    rows, and no feature without limits; then it is a function that moves values, of this package.
    """
    low, high = limits
    unlimited = (np.abs(limits) >= UNLIMITED).any(axis=0)
    weighted = np.asarray((coef != 0).sum(axis=0) if coef.ndim == 2 else coef != 0).ravel() > 0
    if estimator._state.recipe.sparse or (unlimited & weighted).any():
        step = FunctionTransformer(limit_values, validate=True, accept_sparse=True, kw_args={"limits": limits})
        return copy_features(estimator, step.fit(np.zeros((1, limits.shape[1])))), coef, intercept
    low, high = np.where(unlimited, 0.0, low), np.where(unlimited, 0.0, high)
    step = MinMaxScaler(clip=True).fit(np.stack([low, high]))
    intercept = intercept + np.asarray(coef @ low).ravel()
    widths = 1.0 / step.scale_
    coef = sparse.csr_matrix(coef.multiply(widths)) if sparse.issparse(coef) else coef * widths
    return copy_features(estimator, step), coef, intercept


def _linear_model(estimator, coef, intercept):
    """A scikit-learn model with these weights, of the class that predicts by this loss.

    It is first fitted on a few rows of one feature that is always 0, so that it has whatever attributes its class sets in this
    version of scikit-learn; its weights are then replaced.
    """
    entry = _registry.loss(estimator.loss)
    if not entry.plain:
        known = _registry.names(
            {**_registry.CLASSIFICATION_LOSSES, **_registry.REGRESSION_LOSSES}, lambda other: other.plain
        )
        raise ValueError(
            f"to_sklearn knows no scikit-learn model that predicts as loss={estimator.loss!r} does; use one of "
            f"{', '.join(known)}, or save this model itself."
        )
    classes = getattr(estimator, "classes_", None)
    targets = len(intercept)
    module, _, name = entry.plain.rpartition(".")
    model = getattr(import_module(module), name)()
    if "fit_intercept" in model.get_params():
        model.set_params(fit_intercept=bool(intercept.any() or estimator.fit_intercept))
    y = np.ones((2, targets) if coef.ndim == 2 else 2) if classes is None else classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that these rows tell nothing
        model.fit(np.zeros((len(y), 1)), y)
    for fact in ("rank_", "singular_"):  # of those rows
        vars(model).pop(fact, None)
    model.n_features_in_ = coef.shape[-1]
    if sparse.issparse(coef) and not hasattr(model, "sparsify"):
        coef = coef.toarray().reshape(-1 if coef.shape[0] == 1 else coef.shape)
    model.coef_ = coef.copy()
    alone = np.ndim(model.intercept_) == 0 and (len(intercept) == 1 or not intercept.any())
    model.intercept_ = float(intercept[0]) if alone else intercept
    return model
