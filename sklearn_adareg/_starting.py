"""A model that begins at weights that are given: x_1 is not 0 but ``coef_init`` and ``intercept_init``, in raw units.

The rows of ``fit`` are all known, so features get the units that they would have at the end, and the weights keep their raw values
while units would otherwise grow. Nothing else is changed: G_0, ridges, penalties and domains are those of any new model.
"""

import numpy as np
from scipy import sparse

from . import _recipe, _registry, _workers
from ._checks import shown
from ._kernels._block_point import BlockPoint, partition_of
from ._kernels._columns import Columns
from ._kernels._sketch_newton import SketchNewton

AT = {name: place for place, name in enumerate(Columns.names())}


def check_start(recipe, coef, intercept):
    """Weights (lanes, d) and (lanes,) from what was given, either of which may be None; refuses what is no start."""
    if recipe.dual:
        raise ValueError(
            "coef_init and intercept_init have no effect with update='dual_averaging', whose steps all begin at the point of the "
            "domain nearest 0; use update='mirror_descent'."
        )
    lanes, d = recipe.lanes, recipe.d
    given = np.zeros((lanes, d)) if coef is None else _numbers("coef_init", coef)
    if given.shape == (d,):
        given = given[np.newaxis]
    if given.shape != (lanes, d):
        raise ValueError(
            f"coef_init has shape {given.shape} and this model has weights of shape ({lanes}, {d}); pass the coef_ of a model of the "
            "same features and classes or targets."
        )
    start = (
        np.zeros(lanes)
        if intercept is None
        else np.atleast_1d(_numbers("intercept_init", intercept))
    )
    if start.shape != (lanes,):
        raise ValueError(
            f"intercept_init has shape {start.shape} and this model has {lanes} intercept(s); pass the intercept_ of a model of the "
            "same classes or targets."
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
    state.units_from_rows = True
    state.early = None  # coordinates would be chosen by learning the first rows anew, from 0
    for number, block in enumerate(state.blocks):
        arrays, lanes = block.arrays, block.lanes()
        w, b = coef[lanes], intercept[lanes]
        if block.recipe.shifted:
            arrays["offset"][:], arrays["started"][:] = b, 1.0
            b = np.zeros_like(b)
        if _registry.METHODS[block.recipe.method].newton:
            w = w / _enter_features(block, X)
        elif block.recipe.scaled:
            w = w * _set_units(block, X)
        x = np.concatenate([w, b[:, None]], axis=1)[:, : block.recipe.D]
        _write(block, np.tile(x, (block.recipe.rates, 1)))
        if "astray" in arrays:
            arrays["astray"][:] = 1.0  # the first round sees to the domain's gauge
        state.blocks[number] = (
            block.copy()
        )  # whose kernels are made from the arrays as they are now


def _write(block, x):
    structure = _workers.method_of(block).structure
    if isinstance(structure, BlockPoint):
        place = partition_of(structure.setting).place
        structure.arrays["cells"][0][:, place] = x
    elif isinstance(structure, SketchNewton):
        structure.field("x")[:] = x / structure.arrays["root"]
    else:
        structure.field("x")[:] = x
    if block.recipe.recent:
        structure.arrays["recent"][:] = x[: block.recipe.lanes].T


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


def _enter_features(block, X):
    """Let the features enter the matrices of Newton lanes with the ridges that these rows call for; their factors."""
    recipe, arrays = block.recipe, block.arrays
    columns = _statistics(X, bool(recipe.intercept))
    factors = columns[:, AT["factor"]].copy()
    ridges = columns[:, AT["ridge"]]
    present = np.flatnonzero(ridges > 0.0)
    kept = arrays["columns"][: recipe.d]
    kept[:, AT["factor"]], kept[:, AT["ridge"]] = factors, ridges
    kept[present, AT["entered"]] = np.arange(1.0, len(present) + 1.0)
    epsilons = np.repeat(np.zeros(recipe.rates) + np.asarray(recipe.epsilon), recipe.lanes)
    whole = len(arrays["P"])
    for lane, epsilon in enumerate(epsilons):
        if lane < whole:
            arrays["G"][lane, present, present] = epsilon * ridges[present]
            arrays["P"][lane, present, present] = 1.0 / (epsilon * ridges[present])
        else:
            arrays["diagonal"][lane - whole, present] = epsilon * ridges[present]
    return factors


def _statistics(X, centers):
    """What is known of each feature after all rows, with its values multiplied by a power of 2."""
    n, d = X.shape
    columns = np.zeros((d, len(AT)))
    X = sparse.csc_array(X)
    for i in range(d):
        values = X.data[X.indptr[i] : X.indptr[i + 1]].astype(np.float64)
        values = values[values != 0.0]
        largest = np.abs(values).max(initial=0.0)
        factor = 1.0 if largest == 0.0 else np.ldexp(1.0, -np.frexp(largest)[1])
        values = values * factor
        columns[i, AT["factor"]] = factor
        if len(values):
            columns[i, AT["seen"]] = len(values)
            columns[i, AT["first"]], columns[i, AT["second"]] = values.sum(), (values**2).sum()
            columns[i, AT["low"]], columns[i, AT["high"]] = values.min(), values.max()
    columns[:, AT["ridge"]] = Columns.squares(columns, float(n), centers)
    return columns
