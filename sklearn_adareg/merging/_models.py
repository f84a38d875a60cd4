"""One model from several: what is checked before their states are merged, and what beside the state is."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..model._guard import guard_of
from ..model._validation import same_value, shown
from ._states import merge_states


def merge_models(models, base=None, finally_=True):
    """A new estimator like the first of these, that has learnt what all of them have.

    ``finally_``: otherwise it is to be merged with others of the same base.
    """
    first = models[0]
    everyone = models if base is None else [*models, base]
    _check_alike(everyone)
    states = []
    for model in everyone:
        with guard_of(model).calls:  # not in the middle of a call that learns
            states.append(model._state.copy())
    _check_base(models, base)
    merged = clone(first)
    with np.errstate(all="ignore"):
        state = merge_states(states[: len(models)], None if base is None else states[-1], finally_)
    _check_finite(state)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, name):
            setattr(merged, name, getattr(first, name))
    merged._adopt(state, n_iter_=max(model.n_iter_ for model in models), loss_curve_=_mean_curve(models))
    return merged


def _check_finite(state):
    """Refuse what nothing could be learnt from, or read from a file."""
    arrays = [array for block in state.blocks for array in block.arrays.values() if isinstance(array, np.ndarray)]
    if not all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f"):
        raise ValueError(
            "These models cannot be merged, since sums of their numbers are beyond the largest double; scale the features, or learn "
            "all rows with one model."
        )


def _check_alike(models):
    first = models[0]
    for model in models:
        check_is_fitted(model)
        if type(model) is not type(first):
            raise ValueError(
                f"A {type(first).__name__} cannot be merged with a {type(model).__name__}; merge models of one kind."
            )
        for name, value in model._begun_with.items():
            if not same_value(value, first._begun_with[name]):
                raise ValueError(
                    f"These models cannot be merged, since {name} is {shown(first._begun_with[name])} in one and {shown(value)} in "
                    "another; merge models that were made with the same parameters."
                )
        names = [getattr(each, "feature_names_in_", None) for each in (first, model)]
        if all(each is not None for each in names) and not np.array_equal(*names):
            raise ValueError(
                "These models cannot be merged, since their features have different names or another order; give every model the "
                "same columns."
            )


def _check_base(models, base):
    if base is None:
        return
    for model in models:
        if model.t_ < base.t_:
            raise ValueError(
                f"A model that has played {model.t_} rounds cannot have gone on from the base, which has played {base.t_}; pass the "
                "model that all of them were copied from, or leave base out."
            )


def _mean_curve(models):
    """The mean loss of each pass, over as many passes as all models have made."""
    curves = [getattr(model, "loss_curve_", []) for model in models]
    passes = min(map(len, curves))
    weights = [max(model._state.progress.total("weight"), 1e-300) for model in models]
    return [float(np.average([c[k] for c in curves], weights=weights)) for k in range(passes)]
