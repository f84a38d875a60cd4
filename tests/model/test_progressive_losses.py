"""``progressive_loss_`` is the loss of what the model says before it learns from a row, whatever the configuration."""

import warnings
from itertools import product
from zlib import crc32

import numpy as np
import pytest
from scipy import sparse
from support.kernel_grid import rows_in_many_units, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _recipe, _registry, _runtime

GRID = {
    "potential": ["auto", "adagrad", "ons", "pnorm"],
    "structure": ["auto", "full", "block", "sketch", "kronecker", "diag", "iso"],
    "update": list(_registry.UPDATES),
    "domain": list(_registry.DOMAINS),
    "average": ["auto", True, False, 2.0],
    "penalty": [{}, {"alpha": 0.02}, {"alpha": 0.02, "l1_ratio": 1.0}],
    "scaling": ["online", None],
    "eta": ["auto", 0.3],
    "half_life": ["auto", 20.0],
}
LOSSES = ["log_loss", "softmax", "squared_error", "huber", "poisson", "hinge", "targets"]
SHORT = 300  # configurations of the short suite
ROWS = 50


def configurations():
    """The whole grid in a fixed random order, each with a loss that goes by its number."""
    found = []
    for values in product(*GRID.values()):
        params = dict(zip(GRID, values, strict=True))
        number = crc32(repr(params).encode())
        found.append((number, LOSSES[number // 1000 % len(LOSSES)], params))
    return [each[1:] for each in sorted(found, key=lambda each: each[0])]


def make(loss, params):
    """An estimator; None where a parameter has nothing to do in it."""
    params = dict(params)
    params.update(params.pop("penalty"))
    structure, domain = _registry.STRUCTURES.get(params["structure"]), _registry.DOMAINS[params["domain"]]
    if structure is not None and structure.couples_outputs:
        loss = {"log_loss": "softmax", "hinge": "softmax"}.get(loss, loss if loss == "softmax" else "targets")
    if domain.has_radius:
        params["radius"] = 0.3
    if structure is not None and structure.has_blocks:
        params["blocks"] = 2
    if structure is not None and structure.has_rank:
        params["rank"] = 2
    cls = AdaRegClassifier if loss in (*_registry.CLASSIFICATION_LOSSES, "softmax") else AdaRegRegressor
    return cls(loss={"softmax": "log_loss", "targets": "squared_error"}.get(loss, loss), **params), loss


def data(loss, number):
    """Rows whose units change, dense or sparse, targets and weights."""
    X, score, weight = rows_in_many_units(number % 5, ROWS)
    y = np.column_stack([score, 3.0 - score]) if loss == "targets" else target(loss, score)
    return sparse.csr_array(X) if number % 2 else X, y, weight


def loss_of(state, margins, target, before):
    """The loss of one row at margins, in the unit of the residuals; the default learner has that of before the row."""
    recipe = state.recipe
    units = before if recipe.method == "information" and before is not None else _runtime.residual_units(state)
    kernel = _recipe.loss_kernel(recipe)
    if recipe.joint and recipe.outputs_are_classes:
        return kernel(margins, np.array([float(target)]))[0]
    total = 0.0
    for margin, y, unit in zip(margins, np.atleast_1d(target).astype(float), units, strict=True):
        scale = unit if recipe.degree else 1.0
        total += scale**recipe.degree * kernel(np.array([margin / scale]), np.array([y / scale]))[0]
    return total


def compare(loss, params, number):
    """What the model says of its rows, and the mean of the losses of what it published before each; None if it is refused."""
    model, loss = make(loss, params)
    X, y, weight = data(loss, number)
    first = {"classes": np.unique(y)} if isinstance(model, AdaRegClassifier) else {}
    total = count = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(ROWS):
            row, own = X[[i]], weight[[i]]
            begun = hasattr(model, "t_")
            margins = model._margins(row)[0] if begun else None
            units = _runtime.residual_units(model._state) if begun else None
            try:
                model.partial_fit(row, y[[i]], sample_weight=own, **first)
            except ValueError as error:
                if "Stopped at row" in str(error):
                    break
                return None
            state = model._state
            if margins is None:
                margins = np.full(state.recipe.n_outputs, state.recipe.start) * row.sum()
            if own[0] > 0.0:
                total += own[0] * loss_of(state, margins, y[i], units)
                count += own[0]
    return model.progressive_loss_, total / count


def check(numbers):
    """The claim, of so many configurations that are not refused; those whose rounds explode have no digits to compare."""
    grid, compared = configurations(), 0
    for number in numbers:
        loss, params = grid[number]
        said = compare(loss, params, number)
        if said is not None and said[1] < 1e6:
            assert said[0] == pytest.approx(said[1], rel=1e-7, abs=1e-12), (number, loss, params)
            compared += 1
    return compared


def test_progressive_losses_are_those_of_what_was_published():
    assert check(range(SHORT)) > SHORT // 3


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_progressive_losses_of_the_whole_grid(part):
    assert check(range(part, len(configurations()), 16)) > 800
