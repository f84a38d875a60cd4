"""The value "auto" resolved, and with it the recipe of a model.

"auto" learns the step size: Newton steps in a structure that has them, also with an L2 penalty or a domain that contains 0; a stack
of step sizes in one that has that, without domain and penalty. Elsewhere, and with dual averaging or raw features, it is one
step size that does well over many data sets.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from . import _blocks, _registry, _rules, _theory
from ._recipe import Recipe

FULL_UP_TO = 100  # "auto" takes the structure for few features up to this many
MOST_PASSES = 100  # of fit, where max_iter is None and its stopping rule decides
MORE_PASSES, ROWS_PER_FEATURE = 3, 20  # of fit, where step sizes are learnt
PASSES_OF_COMMITTEE = 2
ROWS_FOR_ONE_PASS = (
    1000  # per feature and class: beyond that a second pass hardly changes the model
)
AUTO_AVERAGE = 2.0
NEWTON = {"eta": 2.0, "epsilon": 0.5, "average": 20.0}


class Member(NamedTuple):
    """A Newton learner of a committee."""

    kept: float  # λ: what a round leaves of the rows before it
    epsilon: float
    whole: bool  # keeps the matrix; otherwise its diagonal, which is enough where memory is short
    eta: float = NEWTON["eta"]


# The larger prior is for few rows, which overfit. The matrices of a softmax, one per class, leave out how classes depend on
# each other: where classes are well apart longer steps are better. One with many weights has too few rows for several of them.
STEADY = (Member(1.0, 0.5, True), Member(1.0, 8.0, True))
STEADY_OF_MANY_WEIGHTS = (Member(1.0, 0.5, True), Member(1.0, 2.0, False))
STEADY_JOINT = (
    Member(1.0, 0.5, True),
    Member(1.0, 0.5, True, 4.0),
    Member(1.0, 8.0, True),
    Member(1.0, 2.0, False),
)
MANY_WEIGHTS = 1000  # classes times features
FORGETTING = (Member(0.998, 0.25, True), Member(0.97, 0.5, False), Member(0.9, 0.5, False))
NEWTON_STACK = {"eta": (2.0, 8.0), "epsilon": 1.0, "average": 1.0}
STACK = {"epsilon": 1.0, "average": 1.0}


def passes(params, recipe, rows):
    """How many passes ``fit`` makes at the most.

    A model that learns its step size is nearly done after one pass. One or two more help where there are many rows
    per feature, overfit where there are few, and are not worth their time where there are very many.
    """
    if params["max_iter"] is not None:
        return params["max_iter"]
    if params["early_stopping"] or recipe.method == "algorithm1":
        return MOST_PASSES
    if rows < ROWS_PER_FEATURE * recipe.d:
        return 1
    if recipe.method != "committee":
        return MORE_PASSES
    weights = recipe.d * (recipe.lanes if recipe.joint else 1)
    return PASSES_OF_COMMITTEE if rows < ROWS_FOR_ONE_PASS * weights else 1


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


def choose_method(params, potential, structure):
    """The method by which "auto" learns the step size where the pieces have one, else "algorithm1".

    Newton steps of several members make a committee, unless epsilon is given.
    """
    if _rules.learns_steps(params):
        domain = _registry.DOMAINS[params["domain"]]
        if structure.newton and potential.newton and domain.start(params["radius"], 1) == 0.0:
            return "committee" if params["epsilon"] == "auto" else "newton"
        plain = params["domain"] is None and not params["alpha"]
        if structure.newton_stack and potential.newton and plain:
            return "newton_stack"
        if structure.stack and potential.rates:
            return "stack"
    return "algorithm1"


def choose_members(params, method, joint_weights, in_order):
    """The members of a committee, those with matrices first; none for another method.

    ``joint_weights`` is the number of weights of a softmax, 0 where weight vectors learn independently.

    Members forget where rows come in order, unless ``half_life`` or ``average`` says how much.
    """
    if method != "committee":
        return ()
    members = STEADY
    if joint_weights:
        members = STEADY_JOINT if joint_weights <= MANY_WEIGHTS else STEADY_OF_MANY_WEIGHTS
    if in_order and params["half_life"] == "auto" and params["average"] == "auto":
        members += FORGETTING
    return tuple(sorted(members, key=lambda member: not member.whole))


def make_recipe(params, X, shape, theory_bounds, is_sparse, feature_names=None, in_order=True):
    """The resolved parameters that a state is built from.

    Parameters
    ----------
    params : dict
        The estimator's parameters.
    X : matrix
        The rows of the first call: their width counts, and for ``eta="theory"`` their size.
    shape : ModelShape
        The weight vectors.
    theory_bounds : callable
        Gives the largest ``target`` and ``weight`` of the first call, for ``eta="theory"``.
    is_sparse : bool
        Whether rows are sparse; decides the memory layout only.
    feature_names : ndarray or None
        The names of the features, by which blocks may name them.
    in_order : bool
        Whether rows come in their own order, so that the last ones may tell most about the next.
    """
    d = X.shape[1]
    _rules.check_width(d)
    potential, structure = resolve_names(params, d)
    _rules.check_lanes(structure, shape.lanes)
    entry, loss = _registry.potential(potential), _registry.loss(params["loss"])
    method = choose_method(params, entry, _registry.STRUCTURES[structure])
    joint = shape.joint and shape.lanes > 1
    members = choose_members(params, method, shape.lanes * d if joint else 0, in_order)
    potential_parameters = {name: params[name] for name in entry.parameters}
    pair = _registry.STRUCTURES[structure].auto_pair
    auto = params["potential"] == params["structure"] == "auto"
    paired = auto and method == "stack" and pair is not None
    if paired:
        potential, potential_parameters = pair
        entry = _registry.potential(potential)
    online, intercept = params["scaling"] == "online", bool(params["fit_intercept"])
    recipe = Recipe(
        method=method,
        potential=potential,
        potential_parameters=dict(potential_parameters),
        paired=paired,
        framed=paired and not is_sparse and resolve_half_life(params["half_life"]) is None,
        structure=structure,
        blocks=_blocks.resolve(params["blocks"], X, feature_names)
        if _registry.STRUCTURES[structure].has_blocks
        else None,
        rank=int(params["rank"]) if _registry.STRUCTURES[structure].has_rank else None,
        loss=params["loss"],
        loss_parameters={name: params[name] for name in loss.parameters},
        degree=loss.degree,
        d=d,
        **shape._asdict(),
        intercept=intercept,
        sparse=is_sparse,
        recent=paired
        and in_order
        and params["half_life"] == params["average"] == "auto"
        and params["domain"] is None
        and not params["alpha"],
        half_life=resolve_half_life(params["half_life"]),
        as_published=params["average"] == "auto" and isinstance(params["average"], str),
        refresh=float(params["refresh"]) if entry.operator_antitone else 0.0,
        start=_registry.DOMAINS[params["domain"]].start(params["radius"], d),
        scaled=online
        and not _registry.METHODS[method].newton,  # Newton steps have units of their own
        relative=online and loss.degree > 0,
        counted=online and loss.link.logarithmic,
        shifted=online and intercept and loss.starts_at_target,
        zeros=method != "algorithm1" and params["average"] == "auto" and _rules.has_l1(params),
        weights_as_rows=online and params["eta"] == "auto" and entry.weights_as_rows,
        **{name: params[name] for name in ("domain", "radius", "update", "alpha", "l1_ratio")},
        kept=tuple(member.kept for member in members) if params["half_life"] == "auto" else (),
        diagonal_members=sum(not member.whole for member in members),
        **_steps(params, entry, structure, method, members),
    )
    if "theory" in (params["eta"], params["epsilon"]):
        recipe = replace(recipe, **_theory.theory_steps(recipe, params, X, theory_bounds))
    _rules.check_forgetting(recipe)
    _rules.check_memory(recipe)
    return recipe


def _steps(params, potential, structure, method, members):
    """Eta, epsilon and average, with "auto" resolved."""
    eta, epsilon = potential.auto_steps(structure)
    auto = {
        "algorithm1": {"eta": eta, "epsilon": epsilon, "average": AUTO_AVERAGE},
        "newton": NEWTON,
        "committee": {
            **NEWTON,
            "eta": tuple(member.eta for member in members),
            "epsilon": tuple(member.epsilon for member in members),
        },
        "newton_stack": NEWTON_STACK,
        "stack": {**STACK, "eta": tuple(potential.rates)},
    }[method]
    steps = {name: auto[name] if isinstance(params[name], str) else params[name] for name in auto}
    if isinstance(steps["average"], np.bool_):
        steps["average"] = bool(steps["average"])
    return steps
