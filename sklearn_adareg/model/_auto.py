"""The value "auto" resolved, and with it the recipe of a model.

"auto" learns the step size: Newton's method by sums in a structure that has it, with every loss, penalty and domain; a stack
of step sizes in one that has that, without domain and penalty. Elsewhere, and with dual averaging or raw features, it is one
step size that does well over many data sets.
"""

from dataclasses import replace

import numpy as np

from . import _registry, _rules
from ._recipe import Recipe
from ._rows import LARGEST_INDEX

FULL_UP_TO = 100  # "auto" takes the structure for few features up to this many
MOST_PASSES = 100  # of fit, where max_iter is None and its stopping rule decides
NEWTON_STEPS = 25  # of fit, at the most, where it ends at the minimiser
MORE_PASSES, ROWS_PER_FEATURE = 3, 20  # of fit, where step sizes are learnt
AUTO_AVERAGE = 2.0
AUTO_REFRESH = 0.5


# The learner by sums: the step size 1 is Newton's, and what varies is the prior and the memory.
PRIORS = (1e-6, 1e-2, 0.5, 8.0)  # times the variance of a feature
JOINT_PRIORS = (0.5, 8.0)  # of a softmax, each of whose candidates costs as much as its classes
PENALISED_JOINT_PRIORS = (1e-6, 0.5)
MEMORIES = (1.0, 0.998, 0.98)  # λ: what a round leaves of the rows before it
DIAGONAL_MEMORIES = (0.97, 0.9, 0.8)  # of the candidates that keep a diagonal alone
FEW_COORDINATES = 64  # up to which rows are read as dense ones, and there are diagonal candidates
MOST_COUPLED = 400  # classes times coordinates of a softmax that share one matrix
NEWTON_STACK = {"eta": (2.0, 8.0), "epsilon": 1.0, "average": 1.0}
STACK = {"epsilon": 1.0, "average": 1.0}


def passes(params, recipe, rows):
    """How many passes ``fit`` makes at the most.

    A model that learns its step size is nearly done after one pass. One or two more help where there are many rows
    per feature, overfit where there are few, and are not worth their time where there are very many.
    """
    if params["max_iter"] is not None:
        return params["max_iter"]
    if recipe.method == "information":
        return NEWTON_STEPS if rows_count_alike(recipe) else 1
    if params["early_stopping"] or recipe.method == "algorithm1":
        return MOST_PASSES
    return 1 if rows < ROWS_PER_FEATURE * recipe.d else MORE_PASSES


def rows_count_alike(recipe):
    """Whether sums over all rows are those of the learner: it forgets nothing."""
    return recipe.kept == (1.0,) and not recipe.diagonal_kept


def finishes(params, recipe):
    """Whether ``fit`` may end with Newton steps over the rows: under an L1 penalty, where no number of passes is asked for."""
    free = params["max_iter"] is None and not params["early_stopping"]
    free = free and recipe.half_life is None  # the rows count alike
    return free and recipe.zeros and _registry.loss(recipe.loss).curved


def resolve_names(params, d):
    """Potential and structure with "auto" replaced.

    The full structure is taken while features are few and the potential allows O(D²) rounds in it, unless an L1
    penalty rules it out.
    """
    potential, structure = params["potential"], params["structure"]
    few, many = _registry.AUTO_STRUCTURES
    if structure == "auto":
        quick = potential == "auto" or _registry.potential(potential).inverse
        allowed = not _rules.has_l1(params) or _rules.may_take_l1(params, few)
        structure = few if quick and allowed and d <= FULL_UP_TO else many
    if potential == "auto":
        potential = _registry.STRUCTURES[structure].auto_potential
    return potential, structure


def resolve_half_life(half_life):
    """Rounds, or None: "auto" is None wherever one step size, or one of the older methods, is used."""
    return None if half_life is None or half_life == "auto" else float(half_life)


def resolve_refresh(params, potential):
    """How much G may grow before it is decomposed anew: "auto" is 0 where the rounds are otherwise exact."""
    if not potential.operator_antitone:
        return 0.0
    refresh = params["refresh"]
    if refresh != "auto":
        return float(refresh)
    # Algorithm 1 to the letter: step sizes that were given, and features as they are
    exact = params["scaling"] is None and (params["eta"] != "auto" or potential.has_own_step_size)
    return 0.0 if exact else AUTO_REFRESH


def choose_method(params, potential, structure, loss):
    """The method by which "auto" learns the step size where the pieces have one, else "algorithm1"."""
    if _rules.learns_steps(params):
        starts_at_0 = _registry.DOMAINS[params["domain"]].start(params["radius"], 1) == 0.0
        if structure.newton and potential.newton and starts_at_0 and loss.has_minimiser:
            return "information"
        plain = params["domain"] is None and not params["alpha"]
        if structure.newton_stack and potential.newton and plain:
            return "newton_stack"
        if structure.stack and potential.rates:
            return "stack"
    return "algorithm1"


def choose_memories(params, few, joint, in_order):
    """λ of the candidates that keep sums of all products, the longest first, and of those that keep a diagonal.

    They forget where rows come in order, unless ``half_life`` says how much.
    """
    half_life = resolve_half_life(params["half_life"])
    if half_life is not None:
        return (0.5 ** (1.0 / half_life),), ()
    if params["half_life"] is None or not in_order:
        return MEMORIES[:1], ()
    # Diagonal candidates, and regressions on margins, leave a domain and have no zeros; an exponential of their sum is too much.
    steady = params["domain"] is not None or _rules.has_l1(params)
    steady = steady or _registry.loss(params["loss"]).link.logarithmic or not few
    if joint:
        return MEMORIES[:1], () if steady else DIAGONAL_MEMORIES[:1]
    return MEMORIES if few else MEMORIES[:2], () if steady else DIAGONAL_MEMORIES


def make_recipe(params, X, shape, theory_bounds, is_sparse, feature_names=None, in_order=True):
    """The resolved parameters that a state is built from.

    Of X, the rows of the first call, the width counts and, for ``eta="theory"``, the size; ``theory_bounds`` then gives the largest
    ``target`` and ``weight``. ``is_sparse`` decides the memory layout only; blocks may go by ``feature_names``. ``in_order``: rows
    come in their own order, so that the last ones may tell most about the next.
    """
    d = X.shape[1]
    if d > LARGEST_INDEX:
        raise ValueError(f"X has {d} features, and at most {LARGEST_INDEX} are supported; hash them to fewer columns.")
    potential, structure = resolve_names(params, d)
    _rules.check_outputs(structure, shape.n_outputs)
    entry, loss = _registry.potential(potential), _registry.loss(params["loss"])
    method = choose_method(params, entry, _registry.STRUCTURES[structure], loss)
    joint = shape.joint and shape.n_outputs > 1
    information = method == "information"
    intercept = bool(params["fit_intercept"])
    few = d + intercept <= FEW_COORDINATES
    kept, diagonal_kept = (), ()
    if information:
        kept, diagonal_kept = choose_memories(params, few, joint, in_order)
        _rules.check_information(params)
    potential_parameters = {name: params[name] for name in entry.parameters}
    pair = _registry.STRUCTURES[structure].auto_pair
    auto = params["potential"] == params["structure"] == "auto"
    paired = auto and method == "stack" and pair is not None
    if paired:
        potential, potential_parameters = pair
        entry = _registry.potential(potential)
    blocks = None
    if _registry.STRUCTURES[structure].has_blocks:
        from ._feature_blocks import resolve

        blocks = resolve(params["blocks"], X, feature_names)
    online = params["scaling"] == "online" and not information  # whose sums need no units
    half_life, plain = resolve_half_life(params["half_life"]), params["domain"] is None and not params["alpha"]
    recipe = Recipe(
        method=method,
        potential=potential,
        potential_parameters=dict(potential_parameters),
        paired=paired,
        transformed=paired and not is_sparse and half_life is None,
        structure=structure,
        blocks=blocks,
        rank=int(params["rank"]) if _registry.STRUCTURES[structure].has_rank else None,
        loss_parameters={name: params[name] for name in loss.parameters},
        degree=loss.degree,
        d=d,
        **shape._asdict(),
        intercept=intercept,
        sparse=is_sparse and not (information and few),
        recent=paired and plain and in_order and params["half_life"] == params["average"] == "auto",
        half_life=half_life,
        refresh=resolve_refresh(params, entry),
        start=0.0 if information else _registry.DOMAINS[params["domain"]].start(params["radius"], d),
        scaled=online,
        relative=online and loss.degree > 0,
        counted=online and loss.link.logarithmic,
        shifted=online and intercept and loss.starts_at_target,
        zeros=method not in ("algorithm1", "information") and params["average"] == "auto" and _rules.has_l1(params),
        weights_as_rows=online and params["eta"] == "auto" and entry.weights_as_rows,
        **{name: params[name] for name in ("loss", "domain", "radius", "update", "alpha", "l1_ratio")},
        kept=kept,
        diagonal_kept=diagonal_kept,
        coupled=information
        and joint
        and _registry.DOMAINS[params["domain"]].coordinatewise  # others project each class by itself
        and shape.n_outputs * (d + intercept) <= MOST_COUPLED,
        **_steps(params, entry, structure, method, joint),
    )
    if "theory" in (params["eta"], params["epsilon"]):
        from ..theory._steps import theory_steps

        recipe = replace(recipe, **theory_steps(recipe, params, X, theory_bounds))
    if recipe.half_life is not None:
        _rules.check_forgetting(recipe)
    _rules.check_memory(recipe)
    return recipe


def _steps(params, potential, structure, method, joint):
    """Eta, epsilon and average, with "auto" resolved."""
    eta, epsilon = potential.auto_steps(structure)
    of_joint = PENALISED_JOINT_PRIORS if params["alpha"] else JOINT_PRIORS
    priors = of_joint if joint else PRIORS
    auto = {
        "algorithm1": {"eta": eta, "epsilon": epsilon, "average": AUTO_AVERAGE},
        "information": {"eta": 1.0, "epsilon": priors, "average": False},
        "newton_stack": NEWTON_STACK,
        "stack": {**STACK, "eta": tuple(potential.rates)},
    }[method]
    steps = {name: auto[name] if isinstance(params[name], str) else params[name] for name in auto}
    if method == "information" and not isinstance(steps["epsilon"], tuple):
        steps["epsilon"] = (float(steps["epsilon"]),)
    if isinstance(steps["average"], np.bool_):
        steps["average"] = bool(steps["average"])
    return steps
