"""Merging models that learnt from different rows: evidence adds up, weights are its precision-weighted mean.

Here is what is checked and what stands around the structures: records, classes, and coordinates that a model has chosen.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._kernels.preconditioners.block import _block
from .._kernels.preconditioners.diagonal import _coordinatewise
from .._kernels.preconditioners.full import _full
from .._kernels.preconditioners.kronecker import _kronecker
from .._kernels.preconditioners.sketch import _sketch
from .._kernels.prequential import _records
from ..estimators._base import BaseAdaReg
from ..estimators._new_classes import wider_learners
from ..model import _feature_transform, _recipe, _registry, _runtime
from ..model._guard import guard_of
from ..model._prequential import NAMES, POINTS, WEIGHTED, Progress
from ..model._state import State, copy_known, output_axes
from ..model._validation import copy_features, same_value, shown
from ._context import MergeContext
from ._information import merge_learners
from ._matrices import merge_blocks, merge_coordinatewise, merge_full, merge_kronecker
from ._methods import merge_method, merge_units
from ._sketches import merge_newton_sketch, merge_sketch


def merge(models, base=None):
    r"""One model as if it had seen the rows of all.

    *The default learner* (``method_="information"``). Models that still hold all of their rows are joined while these are at most
    1,024: the merged model is that of one stream, to which the rows came by turns. Beyond, and of older models, the sums that it is
    solved with add up, moved to one reference c, the mean of all rows:

    .. math::

        G = \sum_k S_k G_k S_k^\top, \qquad r = \sum_k S_k r_k, \qquad S_k = I + (c_k - c)\, e_b^\top.

    The prior is in none of them, so it counts once, and every candidate is solved from the sums. For the squared error they are
    those of all limited rows, exactly; for other losses each row is a quadratic where its own model was. Means, variances, class
    counts and losses add up, and limits of values follow from them. The weights of candidates are products of what each model has
    made of the weights at first. A candidate that knows all rows gets back what the models have paid more than once for
    learning it, :math:`\sum_k \tfrac12 \log\det(I + R^{-1} G_k) - \tfrac12 \log\det(I + R^{-1} G)` with R its prior: where the
    signal is weak, each of many models is better off with a constant prediction, and all together are not.

    *Other methods.* The evidence of a model is :math:`M = G - G_0`, in raw units. It adds up, and the weights are its
    precision-weighted mean: with :math:`x_1` where the models began and sums over the models,

    .. math::

        G = G_0 + \sum M, \qquad x = x_1 + (P + \textstyle\sum M)^{-1} \sum (P + M)(x - x_1).

    Features get the largest unit of all, offsets the mean, classes those of all; raw weights are kept. Losses, counts and curves
    add up. A domain is projected onto at the end. The models stay as they are, and the new one goes on learning.

    P is :math:`G_0` for ONS and Newton steps. For other potentials it is :math:`0.1\,\varepsilon\sqrt{t}\,I` after t rounds, a
    fifth of that for the faster weight vectors of a stack: a weight that few rounds have touched is less sure than its evidence says.

    Costs O(D³) per model and weight vector for structure ``"full"``, as much for each block of ``"block"``, O(rank² · D) for
    ``"sketch"`` and O(D) for ``"diag"`` and ``"iso"``; joining rows costs what learning them did.

    Parameters
    ----------
    models : list of estimators
        Fitted models of the same kind and with the same parameters.
    base : estimator, default=None
        The model that all of them went on from, by ``copy.deepcopy`` or from a file. What it has learnt counts once.

    Returns
    -------
    estimator
        A new model.

    See Also
    --------
    sklearn_adareg.AdaRegClassifier.merge : The same for two models.

    Notes
    -----
    *What is exact.* G, units, counts and progressive losses are sums, maxima and means by counts: what one pass over all rows would
    have added up from the same gradients. For structures ``"full"``, ``"block"``, ``"diag"`` and ``"iso"`` the merged model does not
    depend on the order or the grouping of the models, up to rounding. The sums of gradients of dual averaging are exact, and its
    iterate follows from them.

    For the default learner this holds of models that hold no rows. Which young models are joined depends on their order, and so do
    their combinations, in the way in which those of one stream depend on the order of its rows; a little of the grouping is in
    diagonal candidates.

    *What is not.* Every model has taken its gradients at its own weights, so the merged weights are not those of one pass, but near
    them where the loss is close to quadratic in the range that the models differ by. Where each model has few rows, or many
    features that few rows have, one more pass from the merged model helps. Averages of iterates are merged like the iterates. A
    sketch is shrunk to its rank again, and Kronecker factors add up although sums of Kronecker products are none: there the
    order matters, within the error of the structure. What combines the step sizes of a stack, or follows the last rows, was learnt on
    the margins of each model. Where rows are sorted by their labels no model knows what tells the classes apart, and neither does the
    sum of what they know. The coordinates that dense models of more than 100 features choose are those of the model with
    the most rounds. What models with a half-life have not forgotten adds up, so the merged model remembers more for a while.
    ``progressive_loss_`` is that of the models, and its curve that of rows that came to them by turns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_adareg import AdaRegRegressor, merge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=400)
    >>> models = [AdaRegRegressor().partial_fit(X[k::4], y[k::4]) for k in range(4)]
    >>> model = merge(models)
    >>> model.t_, model.coef_.round(1)
    (400, array([ 1. , -2. ,  0.5]))
    """
    models = list(models)
    if not models:
        raise ValueError("There are no models to merge; pass a list of at least one.")
    for model in models if base is None else [*models, base]:
        if not isinstance(model, BaseAdaReg):
            raise ValueError(
                f"merge takes models of AdaRegClassifier or AdaRegRegressor, and one of these is {type(model).__name__}; pass the "
                "models themselves, out of their pipelines."
            )
    return merge_models(models, base)


def merge_models(models, base=None, finally_=True):
    """A new estimator like the first of these, that has learnt what all of them have.

    ``finally_``: otherwise it is to be merged with others of the same base.
    """
    first = models[0]
    everyone = models if base is None else [*models, base]
    _check_models(everyone)
    states = []
    for model in everyone:
        with guard_of(model).calls:  # not in the middle of a call that learns
            states.append(model._state.copy())
    _check_base(models, base)
    merged = clone(first)
    with np.errstate(all="ignore"):
        state = merge_states(states[: len(models)], None if base is None else states[-1], finally_)
    _check_finite(state)
    copy_features(first, merged)
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


def _check_models(models):
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


# ---- states ----------------------------------------------------------------------------------------------------------


MAY_DIFFER = ("sparse", "limits", "loss_parameters", "n_outputs", "outputs_are_classes")


def merge_states(states, base=None, finally_=True):
    """The state of all rows; what the states have from ``base``, which all went on from, counts once."""
    everyone = [*states] + ([] if base is None else [base])
    classes = states[0].classes
    if classes is not None:
        classes = np.unique(np.concatenate([state.classes for state in everyone]))
        check_classes([state.classes for state in everyone], classes)
    _check_states(everyone)
    if len(states) == 1:
        return with_classes(states[0], classes).copy()
    everyone = [with_classes(state, classes) for state in everyone]
    transformed = [state for state in everyone if state.feature_transform is not None]
    transform = None
    if transformed:  # the coordinates of the model that has learnt most
        transform = max(transformed, key=lambda state: state.rounds).feature_transform
        everyone = [in_coordinates_of(state, transform) for state in everyone]
    states = everyone[: len(states)]
    base = None if base is None else everyone[-1]
    recipe, sparse_rows = states[0].recipe, any(state.recipe.sparse for state in states)
    limits = recipe.limits
    if limits is not None:
        limits = {name: max(each.recipe.limits[name] for each in states) for name in limits}
    merged = State(replace(recipe, sparse=sparse_rows, limits=limits), classes)
    merged.feature_transform, merged.beginning, merged.one_run = transform, None, False
    merged.units_from_rows = any(state.units_from_rows for state in states)
    progresses = [state.progress for state in states]
    merged.progress = merge_progress(progresses, None if base is None else base.progress)
    begun = 0.0 if base is None else base.progress.total("rows")
    new_seen = np.array([progress.total("rows") - begun for progress in progresses])
    if classes is not None:
        merged.class_counts = sum(state.class_counts for state in states)
        if base is not None:
            merged.class_counts = merged.class_counts - (len(states) - 1) * base.class_counts
    learners = _registry.METHODS[merged.recipe.method].learner
    for number, block in enumerate(merged.blocks):
        if learners:
            own = None if base is None else base.blocks[number]
            merge_learners(block, [state.blocks[number] for state in states], own)
            continue
        new = _runtime.method_of(block)
        methods = [_runtime.method_of(state.blocks[number]) for state in states]
        own = None if base is None else _runtime.method_of(base.blocks[number])
        context = MergeContext(block.recipe, methods, own, new_seen, finally_)
        merge_units(context, new.arrays)
        merge_structure(context, new.structure)
        merge_method(context, new)
    return merged.copy()  # whose kernels are made anew, from the arrays as they are now


def _check_states(states):
    """Refuse models whose matrices are about different things."""
    first = _recipe.to_plain(states[0].recipe)
    for state in states[1:]:
        values = _recipe.to_plain(state.recipe)
        for name in sorted(values, key=lambda name: name not in REASONS):  # the one that explains others first
            value = values[name]
            if name in MAY_DIFFER or same_value(value, first[name]):
                continue
            why = REASONS.get(name, "give all models the same parameters, and let them learn in the same way")
            raise ValueError(
                f"These models cannot be merged, since {name} is {shown(first[name])} in one and {shown(value)} in another; {why}."
            )
    if states[0].classes is None:
        outputs = {state.recipe.n_outputs for state in states}
        if len(outputs) > 1:
            raise ValueError(
                f"These models cannot be merged, since they have {' and '.join(map(str, sorted(outputs)))} targets; merge models of "
                "the same targets."
            )


OTHERS = "learn with partial_fit in all of them or with a shuffled fit in all of them, which have other candidates"
REASONS = {
    "d": "merge models of the same features",
    "blocks": "pass blocks as groups of features, since blocks='auto' finds them in the first rows of each model",
    "coupled": "pass the same classes to the first partial_fit of every model, which decide whether these share a matrix",
    **dict.fromkeys(("kept", "epsilon", "eta", "diagonal_kept"), OTHERS),
}


MERGERS = {  # of a compiled class, and of its subclasses that have none of their own
    _coordinatewise.Coordinatewise: merge_coordinatewise,
    _full.FullMatrix: merge_full,
    _block.Block: merge_blocks,
    _sketch.Sketch: merge_sketch,
    _sketch.SketchNewton: merge_newton_sketch,
    _kronecker.Kronecker: merge_kronecker,
}


def merge_structure(context, new):
    """Fill the arrays of a new structure from those of the models."""
    for kind in type(new).__mro__:
        if kind in MERGERS:
            MERGERS[kind](context, new)
            return
    raise ValueError(
        f"Models with structure={context.recipe.structure!r} cannot be merged, since nothing says how their matrices add up; fit one "
        "model on all rows."
    )


# ---- records of the rows at first sight ------------------------------------------------------------------------------


KEPT = len(NAMES)
STEP, NEXT = POINTS + 1, POINTS + 2
LARGEST = 1e300  # sum, so that differences are numbers


def merge_progress(progresses, base=None):
    """The records of all models; what comes from ``base`` counts once."""
    merged = Progress()
    tracks = [progress.tracks for progress in progresses]
    merged.tracks = _records.Tracks.merged(tracks, None if base is None else base.tracks)
    total = sum(map(_sums, progresses))
    if base is not None:
        total = total - (len(progresses) - 1) * _sums(base)
    grid, step, soon = _records.grid(int(total[0]))
    merged.sums[:KEPT] = total
    merged.sums[WEIGHTED] = max(progress.sums[WEIGHTED] for progress in progresses)
    merged.sums[POINTS], merged.sums[STEP], merged.sums[NEXT] = len(grid), step, soon
    merged.points[: len(grid)] = _curve(progresses, base, grid)
    return merged


def _curve(progresses, base, grid):
    """The sums at the points of the grid: up to the base's rows its own, then those of all models, each at its share of rows."""
    begun = 0.0 if base is None else base.total("rows")
    new = np.array([progress.total("rows") - begun for progress in progresses])
    out = np.zeros((len(grid), KEPT))
    early = grid <= begun
    if base is not None:
        out[early] = _at(base, grid[early])
        out[~early] = _sums(base)
    share = (grid[~early] - begun) / max(new.sum(), 1.0)
    for progress, rows in zip(progresses, new, strict=True):
        out[~early] += _at(progress, begun + share * rows)
        if base is not None:
            out[~early] -= _sums(base)
    out[:, 0] = grid
    return out


def _at(progress, rows):
    """The sums of one model after so many rows, straight between its points."""
    known = np.concatenate([[0.0], progress.grid("rows")])
    columns = [np.interp(rows, known, np.concatenate([[0.0], progress.grid(n)])) for n in NAMES]
    return np.minimum(np.stack(columns, axis=1), LARGEST)


def _sums(progress):
    return np.minimum(progress.sums[:KEPT], LARGEST)


# ---- weight vectors of a model that does not know all classes --------------------------------------------------------


def check_classes(parts, classes):
    """Refuse to bring together models of which one has two classes and knows no others."""
    for part in parts:
        if len(part) == 2 < len(classes):
            raise ValueError(
                f"A model of the two classes {shown(part)} has one weight vector and cannot be merged with one of {shown(classes)}, "
                "which has one for each; pass all classes to the first partial_fit of every model."
            )


def with_classes(state, classes):
    """A state that knows these classes: those that are new to it have no evidence."""
    if state.classes is None or np.array_equal(state.classes, classes):
        return state
    places = np.searchsorted(classes, state.classes)
    grown = State(replace(state.recipe, n_outputs=len(classes)), classes)
    np.put(grown.class_counts, places, state.class_counts)
    grown.progress, grown.feature_transform = state.progress.copy(), state.feature_transform
    grown.beginning = state.beginning
    if _registry.METHODS[state.recipe.method].learner:
        grown.blocks = wider_learners(state, grown.recipe, places)
        return grown
    axes = output_axes(grown.recipe)
    for block in grown.blocks:
        copy_known(block, state.blocks, places, axes)
    return grown


# ---- coordinates that another model has chosen -----------------------------------------------------------------------


def in_coordinates_of(state, transform):
    """The state with its weights in other coordinates. The sums of squares, which are about each feature's own part, stay."""
    own = state.feature_transform
    if own is transform or (own is not None and all(map(np.array_equal, own, transform))):
        return state
    state = state.copy()
    for block in state.blocks:
        arrays, d = block.arrays, block.recipe.d
        scale = np.where(arrays["scale"] > 0.0, arrays["scale"], 1.0)
        for name in ("x", "u"):
            if name in arrays["fields"]:
                cells = arrays["cells"][arrays["fields"].index(name)]
                weights = cells.T / scale
                intercept = weights[:, d] if block.recipe.intercept else np.zeros(len(weights))
                coef = weights[:, :d]
                if own is not None:
                    coef, intercept = _feature_transform.to_raw(own, coef, intercept)
                coef, intercept = from_raw(transform, coef, intercept)
                weights[:, :d] = coef
                if block.recipe.intercept:
                    weights[:, d] = intercept
                cells[:] = (weights * scale).T
    state.feature_transform = transform
    return state


def from_raw(transform, coef, intercept):
    """Weights of the features as weights in a transform: what ``to_raw`` undoes."""
    centre, start, partner, share = transform
    d = len(centre)
    intercept = intercept + coef @ centre
    map_ = sparse.eye_array(d, format="csc") - sparse.csr_array((share, partner, start), shape=(d, d)).T
    return np.atleast_2d(spsolve(map_.tocsc(), coef.T).T.reshape(coef.shape)), intercept
