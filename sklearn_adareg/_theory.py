"""The value "theory" resolved: step size and epsilon for which the regret bounds are proved, and the rows they hold for."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import _registry
from ._rows import largest_norm


@dataclass
class Problem:
    """What a potential's theory can ask about a problem; ``limits`` are noted when they are asked for."""

    asked: str  # the parameters that are "theory", for messages
    loss: str
    D: int
    diameter: float
    sup_diameter: float
    block_diameter: float  # of the domain's projection onto the coordinates of a block, the largest
    find_limits: Callable
    limits: dict | None = None

    def exp_concavity(self):
        """The largest known β for the loss on these rows."""
        constant = _registry.loss(self.loss).exp_concavity
        if isinstance(constant, str):
            raise _undefined(self.asked, f"the loss {self.loss!r} {constant}, which ONS assumes")
        self.limits = self.find_limits()
        return constant(**{name: np.float64(value) for name, value in self.limits.items()})


def theory_steps(recipe, params, X, bounds):
    """The fields of a recipe that "theory" decides.

    Parameters
    ----------
    recipe : Recipe
        The recipe with "auto" in place of "theory".
    params : dict
        The estimator's parameters.
    X : matrix
        The rows of the first call.
    bounds : callable
        Gives the largest ``target`` and ``weight`` of the first call.
    """
    asked = " and ".join(f"{n}='theory'" for n in ("eta", "epsilon") if params[n] == "theory")
    domain = _registry.DOMAINS[recipe.domain]
    if not _registry.STRUCTURES[recipe.structure].takes_domains:
        raise _undefined(
            asked,
            f"the bound needs a bounded domain, and structure={recipe.structure!r} takes none",
        )
    if not domain.bounded:
        first, *others = _registry.names(_registry.DOMAINS, lambda entry: entry.bounded)
        raise ValueError(
            f"{asked} needs a bounded domain, since the bound is proved from its diameter, and domain={recipe.domain!r} has "
            f"none; pass domain={first} (or {', '.join(others)}) and a radius, or a number."
        )
    if recipe.half_life is not None:
        raise ValueError(
            f"{asked} needs half_life=None, since the bound is proved for a G that only grows; pass half_life=None, or a number as "
            f"{' and '.join(n for n in ('eta', 'epsilon') if params[n] == 'theory')}."
        )
    if params["scaling"] is not None:
        raise ValueError(
            f"{asked} needs scaling=None, since the bound is proved for features as they are; pass scaling=None, or a number."
        )
    if recipe.intercept:
        raise ValueError(
            f"{asked} needs fit_intercept=False, since a free intercept has no bounded domain; add a constant column instead, or "
            "pass a number."
        )
    problem = Problem(
        asked,
        recipe.loss,
        recipe.d,
        domain.diameter(recipe.radius, recipe.d),
        domain.sup_diameter(recipe.radius, recipe.d),
        domain.block_diameter(recipe.radius, max(recipe.block_sizes)),
        lambda: theory_limits(recipe, X, bounds()),
    )
    with np.errstate(all="ignore"):
        eta, epsilon = _bound(recipe, asked)(problem)
    if not (0.0 < eta < np.inf and 0.0 < epsilon < np.inf):
        sizes = ", ".join(f"{name} {value:.6g}" for name, value in (problem.limits or {}).items())
        raise _undefined(
            asked,
            f"the bound's eta is {eta:.3g} and its epsilon {epsilon:.3g} on rows whose largest sizes are {sizes}",
        )
    steps = {"limits": problem.limits}
    if params["eta"] == "theory":
        steps["eta"] = float(eta)
    if params["epsilon"] == "theory":
        steps["epsilon"] = float(epsilon)
    return steps


def theory_limits(recipe, X, bounds):
    """How large margins, targets and weights can get on these rows; ``bounds`` has the last two."""
    order = _registry.DOMAINS[recipe.domain].dual_norm
    return {"margin": recipe.radius * largest_norm(X, order), **bounds}


def check_limits(recipe, X, bounds):
    """Refuse rows beyond those that ``eta="theory"`` was computed from; they would void the bound."""
    for name, value in theory_limits(recipe, X, bounds).items():
        if value > recipe.limits[name]:
            raise ValueError(
                f"eta='theory' was computed for a largest {name} of {recipe.limits[name]:.6g} in the rows of the first call, and "
                f"these rows reach {value:.6g}; fit again on rows that show the whole range, or pass a number as eta."
            )


def _bound(recipe, asked):
    """The potential's theory in this structure."""
    theory = _registry.potential(recipe.potential).theory
    if not isinstance(theory, str):
        missing = f"no regret bound is known for this potential with structure={recipe.structure!r}"
        theory = theory.get(recipe.structure, missing)
    if isinstance(theory, str):
        raise _undefined(asked, theory)
    return theory


def _undefined(asked, reason):
    return ValueError(f"{asked} is not defined here: {reason}; pass a number.")
