"""The value "theory" resolved: step size and epsilon for which the regret bounds are proved, and the rows they hold for."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..model import _registry
from ..model._rows import largest_norm, most_parts

PARTS = "number of nonzero features or blocks in a row"  # among the limits, for messages
NOT_STRONGLY_CONVEX = "a loss of z·x is not strongly convex, which isotropic ONS assumes"


@dataclass
class Problem:
    """What a potential's theory can ask about a problem; ``limits`` are noted when they are asked for."""

    asked: str  # the parameters that are "theory", for messages
    recipe: object
    X: object  # the rows of the first call
    bounds: Callable  # gives the largest ``target`` and ``weight`` of the first call
    passes: int
    limits: dict | None = None  # that later rows must keep to
    sizes: dict = field(default_factory=dict)  # what was found of the rows, for messages

    def __post_init__(self):
        recipe, domain = self.recipe, _registry.DOMAINS[self.recipe.domain]
        self.D, self.parameters = recipe.d, recipe.potential_parameters
        self.diameter, self.sup_diameter = (f(recipe.radius, recipe.d) for f in (domain.diameter, domain.sup_diameter))
        # the b of AdaGrad's bound in this structure; over √D where all coordinates have one step size
        self.reach = reach(recipe)
        if _registry.STRUCTURES[recipe.structure].one_step_size:
            self.reach /= np.sqrt(recipe.D)

    def exp_concavity(self):
        """The largest known β for the loss on these rows."""
        self.sizes = self.limits = theory_limits(self.recipe, self.X, self.bounds())
        beta = exp_concavity_on(self.recipe, self.limits)
        if isinstance(beta, str):
            raise _undefined(self.asked, beta)
        return beta

    def mean_eigenvalue(self):
        """The largest that the mean eigenvalue of G_T − εI can be after as many rounds as the first call has."""
        recipe = self.recipe
        self.sizes = theory_limits(recipe, self.X, self.bounds())
        constants = loss_constants_on(recipe, self.sizes)
        if constants is None:
            raise _undefined(self.asked, f"the largest slope of the loss {recipe.loss!r} is not known")
        with np.errstate(all="ignore"):
            steepest = constants.lipschitz * np.float64(self.sizes["weight"]) * largest_norm(self.X, 2)
        rounds = self.X.shape[0] * self.passes
        mean_square = rounds / recipe.D
        if recipe.rank is not None and recipe.rank < recipe.D:  # what a sketch may add to every eigenvalue
            mean_square += rounds / (recipe.rank + 1)
        return steepest**2 * mean_square


def loss_constants(loss, *, margin, target=1.0, classes=2, **parameters):
    r"""Constants of a loss where margins and targets are bounded, :math:`|m| \le B` and :math:`|y| \le Y`.

    For a loss f of the margin m = z·x, as ``eta="theory"`` uses them:

    - ``lipschitz``: the largest :math:`|f'|`;
    - ``strong_convexity``: the least :math:`f''`;
    - ``exp_concavity``: a β with :math:`f(m) - f(n) \le s - \frac\beta2 s^2`, :math:`s = f'(m)(m - n)`, for all margins m and n,
      the exp-concavity of the paper;
    - ``lowest`` and ``largest``: the range of its values.

    A row of weight ω has ω times the first two, and β/ω. Their derivations are in ``sklearn_adareg/_loss_constants.py``.

    Parameters
    ----------
    loss : str
        The name of a loss of the estimators.
    margin : float
        The bound B. On a domain, :math:`r \|z\|_q` with the dual norm, largest over the rows.
    target : float, default=1.0
        The bound Y on the targets of a regression.
    classes : int, default=2
        The number of classes of ``"log_loss"``; beyond two it is that of the softmax, and the slope is that of one margin.
    **parameters : float
        Parameters of the loss: ``huber_delta``, ``quantile``, ``insensitivity``.

    Returns
    -------
    constants : LossConstants
        The constants.

    Examples
    --------
    >>> from sklearn_adareg.regret import loss_constants
    >>> loss_constants("squared_error", margin=2.0, target=3.0).exp_concavity
    0.04
    >>> loss_constants("squared_hinge", margin=3.0).lipschitz
    8.0
    """
    known = {**_registry.CLASSIFICATION_LOSSES, **_registry.REGRESSION_LOSSES}
    if loss not in known or known[loss].constants is None:
        raise ValueError(
            f"The constants of loss={loss!r} are not known; give {', '.join(name for name, own in known.items() if own.constants)}."
        )
    entry = known[loss]
    if set(parameters) != set(entry.parameters):
        raise ValueError(
            f"The loss {loss!r} has the parameters {list(entry.parameters)}, and {list(parameters)} were given; give those."
        )
    if not (0 <= margin < np.inf and 0 <= target < np.inf):
        raise ValueError(
            f"margin={margin!r} and target={target!r} must be finite and not negative; give bounds on absolute values."
        )
    joint = classes > 2 and entry.joint_constants is not None
    constants = entry.joint_constants if joint else entry.constants
    more = {"classes": classes} if joint else {}
    with np.errstate(all="ignore"):
        return constants(np.float64(margin), np.float64(target), **parameters, **more).as_floats()


def reach(recipe):
    """The b of the bounds for convex losses: the diameter of the domain in the norm that the structure asks for.

    H⁻¹ grows by matrices M ⪰ 0, and v'Mv ≤ ‖v‖² tr M. A diagonal M has v'Mv ≤ ‖v‖²_∞ tr M, one of blocks max_B ‖v_B‖² tr M.
    """
    domain, structure = _registry.DOMAINS[recipe.domain], _registry.STRUCTURES[recipe.structure]
    if structure.own_steps:
        return domain.sup_diameter(recipe.radius, recipe.d)
    if structure.has_blocks:
        return domain.block_diameter(recipe.radius, max(recipe.block_sizes))
    return domain.diameter(recipe.radius, recipe.d)


def loss_constants_on(recipe, sizes):
    """The constants of the loss where margins and targets are no larger than these; None if nothing is known of the loss."""
    loss = _registry.loss(recipe.loss)
    joint = recipe.joint and recipe.n_outputs > 1
    constants = loss.joint_constants if joint else loss.constants
    if constants is None:
        return None
    parameters = {name: recipe.loss_parameters[name] for name in loss.parameters}
    if joint:
        parameters["classes"] = recipe.n_outputs
    with np.errstate(all="ignore"):
        return constants(np.float64(sizes["margin"]), np.float64(sizes["target"]), **parameters)


def exp_concavity_on(recipe, sizes):
    """The β with which the losses of these rows have the curvature that ONS assumes in this structure; or why there is none."""
    structure = _registry.STRUCTURES[recipe.structure]
    if structure.one_step_size and recipe.D > 1:
        return NOT_STRONGLY_CONVEX
    if sizes.get(PARTS, 0) > 1:  # (g·d)² is Σ (g_B·d_B)² only where one of the g_B is not 0
        if structure.own_steps:
            return (
                "a loss of z·x is not coordinate-wise exp-concave, which diagonal ONS assumes, where a row has more than one nonzero "
                "feature"
            )
        return (
            "a loss of z·x is not exp-concave in each block by itself, which ONS in blocks assumes, where a row has nonzero features "
            "in more than one"
        )
    constants = loss_constants_on(recipe, sizes)
    if constants is None:
        return f"the loss {recipe.loss!r} has no known constant of exp-concavity, which ONS assumes"
    if constants.reason:
        return f"the loss {recipe.loss!r} {constants.reason}, which ONS assumes"
    with np.errstate(all="ignore"):
        return constants.exp_concavity / np.float64(sizes["weight"])


def theory_steps(recipe, params, X, bounds):
    """The fields of a recipe that "theory" decides; ``recipe`` has "auto" in its place, X are the rows of the first call, and
    ``bounds`` gives the largest ``target`` and ``weight`` of these."""
    names = [name for name in ("eta", "epsilon") if params[name] == "theory"]
    asked = " and ".join(f"{name}='theory'" for name in names)
    domain = _registry.DOMAINS[recipe.domain]
    if not _registry.STRUCTURES[recipe.structure].takes_domains:
        raise _undefined(asked, f"the bound needs a bounded domain, and structure={recipe.structure!r} takes none")
    if not domain.bounded:
        first, *others = _registry.names(_registry.DOMAINS, lambda entry: entry.bounded)
        raise ValueError(
            f"{asked} needs a bounded domain, since the bound is proved from its diameter, and domain={recipe.domain!r} has "
            f"none; pass domain={first} (or {', '.join(others)}) and a radius, or a number."
        )
    if recipe.half_life is not None:
        raise ValueError(
            f"{asked} needs half_life=None, since the bound is proved for a G that only grows; pass half_life=None, or a number as "
            f"{' and '.join(names)}."
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
    theory = _registry.potential(recipe.potential).theory
    if not isinstance(theory, str):
        missing = f"no regret bound is known for this potential with structure={recipe.structure!r}"
        theory = theory.get(recipe.structure, missing)
    if isinstance(theory, str):
        raise _undefined(asked, theory)
    problem = Problem(asked, recipe, X, bounds, params["max_iter"] or 1)
    with np.errstate(all="ignore"):
        eta, epsilon = theory(problem)
    if not (0.0 < eta < np.inf and 0.0 < epsilon < np.inf):
        sizes = ", ".join(f"{name} {value:.6g}" for name, value in problem.sizes.items())
        raise _undefined(
            asked, f"the bound's eta is {eta:.3g} and its epsilon {epsilon:.3g} on rows whose largest sizes are {sizes}"
        )
    steps = {"eta": float(eta), "epsilon": float(epsilon)}
    return {"limits": problem.limits, **{name: steps[name] for name in names}}


def theory_limits(recipe, X, bounds):
    """How large margins, targets and weights can get on these rows, and how many parts of H a row reaches; ``bounds`` has
    targets and weights."""
    order = _registry.DOMAINS[recipe.domain].dual_norm
    sizes = {"margin": recipe.radius * largest_norm(X, order), **bounds}
    structure = _registry.STRUCTURES[recipe.structure]
    if structure.own_steps:
        sizes[PARTS] = most_parts(X, np.arange(recipe.d))
    elif structure.has_blocks:
        sizes[PARTS] = most_parts(X, np.array(recipe.blocks))
    return sizes


def check_limits(recipe, X, bounds, parameters):
    """Refuse rows beyond those that ``eta="theory"`` was computed from, and another loss; they would void the bound."""
    for name, value in parameters.items():
        if value != recipe.loss_parameters[name]:
            raise ValueError(
                f"eta='theory' was computed for {name}={recipe.loss_parameters[name]!r}, and it is {value!r} now; set it back, or "
                "pass a number as eta."
            )
    for name, value in theory_limits(recipe, X, bounds).items():
        if name in recipe.limits and value > recipe.limits[name]:
            raise ValueError(
                f"eta='theory' was computed for a largest {name} of {recipe.limits[name]:.6g} in the rows of the first call, and "
                f"these rows reach {value:.6g}; fit again on rows that show the whole range, or pass a number as eta."
            )


def _undefined(asked, reason):
    return ValueError(f"{asked} is not defined here: {reason}; pass a number.")
