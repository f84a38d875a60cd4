"""A model that begins at weights that are given: x_1 is not 0 but ``coef_init`` and ``intercept_init``, in raw units.

The method "information" has no units: all its candidates begin there, and their prior is centred there. Elsewhere the rows of ``fit``
are all known, so features get the units that they would have at the end, and the weights keep their raw values while units would
otherwise grow. Nothing else is changed: G_0, penalties and domains are those of any new model.
"""

import numpy as np
from scipy import sparse

from .._kernels.aggregation._fixed_share import positions
from .._kernels.loop._learner import Layout
from .._kernels.preconditioners.block._block import Block, partition_of
from .._kernels.preconditioners.sketch._sketch import SketchNewton
from ..model import _recipe, _registry, _runtime
from ..model._validation import shown


def check_start(recipe, coef, intercept):
    """Weights (n_outputs, d) and (n_outputs,) from what was given, either of which may be None; refuses what is no start."""
    if recipe.dual:
        raise ValueError(
            "coef_init and intercept_init have no effect with update='dual_averaging', whose steps all begin at the point of the "
            "domain nearest 0; use update='mirror_descent'."
        )
    outputs, d = recipe.n_outputs, recipe.d
    given = np.zeros((outputs, d)) if coef is None else _numbers("coef_init", coef)
    if given.shape == (d,):
        given = given[np.newaxis]
    if given.shape != (outputs, d):
        raise ValueError(
            f"coef_init has shape {given.shape} and this model has weights of shape ({outputs}, {d}); pass the coef_ of a model of "
            "the same features and classes or targets."
        )
    start = np.zeros(outputs) if intercept is None else np.atleast_1d(_numbers("intercept_init", intercept))
    if start.shape != (outputs,):
        raise ValueError(
            f"intercept_init has shape {start.shape} and this model has {outputs} intercept(s); pass the intercept_ of a model of "
            "the same classes or targets."
        )
    if not recipe.intercept and start.any():
        raise ValueError(
            f"intercept_init={shown(intercept)} has no place with fit_intercept=False; leave it out, or set fit_intercept=True."
        )
    domain = _recipe.domain_kernel(recipe)
    if any(not np.array_equal(domain.confine(w), w) for w in given):
        raise ValueError(
            f"coef_init is outside of domain={recipe.domain!r}; pass weights inside of it, or leave out the domain."
        )
    return given, start


def _numbers(name, value):
    numbers = np.asarray(value.toarray() if sparse.issparse(value) else value, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} has values that are NaN or infinite; pass finite numbers.")
    return numbers


def begin_at(state, X, coef, intercept):
    """Put a new state where it is to begin, in the units of these rows."""
    if _registry.METHODS[state.recipe.method].learner:
        for block in state.blocks:
            own, layout = block.outputs(), Layout(block.recipe, block.recipe.n_outputs)
            place_candidates(block.arrays, layout, coef[own], intercept[own])
        return
    state.units_from_rows = True
    state.beginning = None  # coordinates would be chosen by learning the first rows anew, from 0
    for number, block in enumerate(state.blocks):
        arrays, outputs = block.arrays, block.outputs()
        w, b = coef[outputs], intercept[outputs]
        if block.recipe.shifted:
            arrays["offset"][:], arrays["started"][:] = b, 1.0
            b = np.zeros_like(b)
        if block.recipe.scaled:
            w = w * _set_units(block, X)
        x = np.concatenate([w, b[:, None]], axis=1)[:, : block.recipe.D]
        _write(block, np.tile(x, (block.recipe.rates, 1)))
        if "astray" in arrays:
            arrays["astray"][:] = 1.0  # the first round sees to the domain's gauge
        state.blocks[number] = block.copy()  # whose kernels are made from the arrays as they are now


def place_candidates(arrays, layout, coef, intercept):
    """Put all candidates of new arrays of a learner at raw weights, which their prior is centred at, and publish these.

    ``coef`` is (outputs, d), ``intercept`` (outputs,). The weights of candidates are those of a new model for the candidates that are
    there, and 0 for the constant prediction and for parts of candidates, which a share of each row brings back.
    """
    P, C, d, whole = layout.P, layout.C, layout.d, layout.whole
    coef = coef.reshape(P, C, d)
    arrays["origin"][:, :, :d] = coef
    x = arrays["x"][:, :, : whole * C].reshape(P, layout.room, whole, C)
    x[:, :d] = coef.transpose(0, 2, 1)[:, :, None, :]
    if layout.intercept:
        x[:, d] = (intercept.reshape(P, C) + coef @ arrays["centre"][:d])[:, None, :]
    arrays["x"][:, :, : whole * C] = x.reshape(P, layout.room, whole * C)
    shares = arrays["shares"]
    others = np.setdiff1d(np.arange(shares.shape[2]), positions(layout.B, len(layout.priors))[0, :whole])
    shares[:, :, others] = 0.0
    shares /= shares.sum(axis=2, keepdims=True)


def _write(block, x):
    structure = _runtime.method_of(block).structure
    if isinstance(structure, Block):
        place = partition_of(structure.setting).place
        structure.arrays["cells"][0][:, place] = x
    elif isinstance(structure, SketchNewton):
        structure.field("x")[:] = x / structure.arrays["root"]
    else:
        structure.field("x")[:] = x
    if block.recipe.recent:
        structure.arrays["recent"][:] = x[: block.recipe.n_outputs].T


def _set_units(block, X):
    """Units of the largest value of each feature, 1 where there is none."""
    largest = np.abs(X).max(axis=0)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else np.asarray(largest)
    unit = np.where(largest > 0.0, largest, 1.0).astype(np.float64)
    for name in ("scale", "peak"):
        if name in block.arrays:
            block.arrays[name][: len(unit)] = unit
            if block.recipe.intercept:
                block.arrays[name][-1] = 1.0
    return unit
