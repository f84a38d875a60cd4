"""Whether a recipe that was read from a file is one that parameters could have made.

Kernels trust a recipe: a step size that is NaN, a class loss with residuals in units of their own, or a stack without units would
lead them out of their arrays. Every field is held to the rules that parameters are held to when a model begins, fields that follow
from others to what follows. What "auto" chose is not compared with what it would choose today: earlier versions chose otherwise.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from ..model import _feature_blocks, _registry, _rules
from ..model._recipe import Recipe, first_unmet
from ..model._rows import LARGEST_INDEX
from ..model._rules import COMMON_CONSTRAINTS, Registered

POSITIVE = Interval(Real, 0, None, closed="neither")
SEVERAL = ("eta", "epsilon")  # fields that may have a value for each of some weight vectors
MEMORIES = ("kept", "diagonal_kept")  # λ of the candidates of a learner
MOST_CANDIDATES = 16  # of each of these
SHARED = ("potential", "structure", "domain", "radius", "update", "alpha", "l1_ratio", "refresh")
CONSTRAINTS = {
    **{name: COMMON_CONSTRAINTS[name] for name in SHARED},
    "method": [Registered(_registry.METHODS)],
    "rank": [*COMMON_CONSTRAINTS["rank"], None],
    "degree": [Interval(Integral, 0, 2, closed="both")],
    "d": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "n_outputs": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "blocks": [tuple, None],
    **{name: [POSITIVE, tuple] for name in SEVERAL},
    **{name: [tuple] for name in MEMORIES},
    "average": ["boolean", POSITIVE],
    "half_life": [Interval(Real, 1, None, closed="left"), None],
    "start": [Interval(Real, 0, None, closed="left")],
    "potential_parameters": [dict],
    "loss_parameters": [dict],
    "limits": [dict, None],
    **{name: ["boolean"] for name, field in Recipe.__dataclass_fields__.items() if field.type is bool},
}


def mismatch(recipe, classes, own_constraints):
    """Why no parameters make this recipe, in a clause; None if some do.

    ``own_constraints`` are those of the estimator's parameters, among them the losses that it has.
    """
    values = {name: vars(recipe)[name] for name in type(recipe).__dataclass_fields__}
    return (
        _out_of_range(values, {**CONSTRAINTS, "loss": own_constraints["loss"]})
        or _wrong_members(recipe)
        or _wrong_parameters(recipe, {**COMMON_CONSTRAINTS, **own_constraints})
        or _wrong_pairs(recipe)
        or _wrong_blocks(recipe)
        or first_unmet(
            (fits, f"its {name} is {values[name]!r}, which does not follow from the rest of its recipe")
            for name, fits in _what_follows(recipe, classes)
        )
    )


def _out_of_range(values, constraints):
    """Why some values are none that parameters may have, in a clause."""
    for name, value in values.items():
        if isinstance(value, Integral) and abs(value) > _rules.LARGEST:
            return f"its {name} is an integer too large for a floating-point number"
    try:
        known = {name: value for name, value in values.items() if name in constraints}
        validate_parameter_constraints(constraints, known, caller_name="its recipe")
    except ValueError as error:
        text = str(error).rstrip(".")
        return f"{text[0].lower()}{text[1:]}"
    return None


def _wrong_members(recipe):
    """Why the step sizes, priors and memories of a method are none, in a clause."""
    values = {name: vars(recipe)[name] for name in (*SEVERAL, *MEMORIES)}
    for name, value in values.items():
        if isinstance(value, tuple):
            allowed = [Interval(Real, 0, 1, closed="right")] if name in MEMORIES else [POSITIVE]
            numbers = dict(enumerate(value))
            if _out_of_range(numbers, {place: allowed for place in numbers}):
                return f"its {name} is {value!r}"
    method = _registry.METHODS[recipe.method]
    if method.several and not (isinstance(values[method.several], tuple) and recipe.rates):
        return f"its {method.several} has not a value for each of several members"
    for name in SEVERAL:
        value = values[name]
        fits = recipe.rates if method.several and not method.learner else None
        if isinstance(value, tuple) and name != method.several and len(value) != fits:
            return f"its {name} has {len(value)} values"
    return first_unmet(_of_candidates(recipe, method.learner))


def _of_candidates(recipe, learner):
    """The priors and memories of a learner, which other methods have not."""
    if not learner:
        for name in (*MEMORIES, "coupled"):
            yield not vars(recipe)[name], f"it has {name}, which its method {recipe.method!r} has not"
        return
    for name in ("epsilon", *MEMORIES):
        size = len(vars(recipe)[name])
        yield size <= MOST_CANDIDATES, f"its {name} has {size} values"
    descends = recipe.kept and list(recipe.kept) == sorted(recipe.kept, reverse=True)
    yield descends, f"its kept is {recipe.kept!r}, where the longest memory comes first"


def _wrong_parameters(recipe, constraints):
    """Why the parameters of its potential and of its loss, and the limits of "theory", are none, in a clause."""
    for name, entry_of in (("potential", _registry.potential), ("loss", _registry.loss)):
        found = vars(recipe)[f"{name}_parameters"]
        if found.keys() != set(entry_of(vars(recipe)[name]).parameters):
            return f"the parameters of its {name} are {found!r}"
        what = _out_of_range(found, constraints)
        if what is not None:
            return what
    limits = {} if recipe.limits is None else recipe.limits
    return _out_of_range(limits, {name: [Real] for name in limits})


def _wrong_pairs(recipe):
    """Why parts of a recipe do not go together, in a clause."""
    try:
        _rules.check_pairs(_parameters(recipe))
        _rules.check_outputs(recipe.structure, recipe.n_outputs)
        _rules.check_average(recipe.average, 1)
        if recipe.half_life is not None:
            _rules.check_forgetting(recipe)
        _rules.check_memory(recipe)
    except ValueError as refusal:
        return str(refusal).partition(";")[0]
    return None


def _parameters(recipe):
    """Parameters that such a recipe is made from, as far as rules between parameters go; without those that have no effect."""
    entry = _registry.potential(recipe.potential)
    learns = recipe.method != "algorithm1"
    return {
        **{name: vars(recipe)[name] for name in ("potential", "structure", "domain", "update")},
        "alpha": recipe.alpha,
        "average": "auto" if _registry.METHODS[recipe.method].learner else recipe.average,
        "radius": None if recipe.domain is None else recipe.radius,
        "l1_ratio": recipe.l1_ratio if recipe.alpha > 0 else 0.0,
        "eta": "auto" if learns or entry.has_own_step_size else recipe.eta,
        "epsilon": "auto",
        "scaling": "online" if learns else None,
        "blocks": "auto",
        "rank": _rules.DEFAULT_RANK,
        "n_jobs": None,
    }


def _wrong_blocks(recipe):
    if recipe.blocks is None:
        return None
    numbers = np.asarray(recipe.blocks)
    if numbers.dtype.kind != "i" or numbers.shape != (recipe.d,):
        return f"its blocks are not the numbers of the blocks of {recipe.d} features"
    ordered = np.array_equal(_feature_blocks.in_order(numbers), numbers)
    return None if ordered else "its blocks are not numbered in the order of their first features"


def _what_follows(recipe, classes):
    """Pairs of a field and whether it has a value that follows from others.

    A field that versions before had not may be at its default, at which models do without it.
    """
    potential, loss = _registry.potential(recipe.potential), _registry.loss(recipe.loss)
    structure, method = _registry.STRUCTURES[recipe.structure], _registry.METHODS[recipe.method]
    domain = _registry.DOMAINS[recipe.domain]
    n_classes = 0 if classes is None else len(classes)
    learner, online = method.learner, recipe.scaled
    learns = recipe.method != "algorithm1"
    forgets = recipe.half_life is not None
    stack = bool(method.several) and not (learner or method.newton_members)
    suits = (
        not (learner and not structure.newton)
        and not (method.newton_members and not (structure.newton_stack and recipe.plain))
        and not ((learner or method.newton_members) and not potential.newton)
        and not (stack and not (structure.stack and (potential.rates or recipe.paired)))
        and not (learns and recipe.dual)
    )
    pair = (recipe.potential, dict(recipe.potential_parameters))
    yield "loss", (n_classes > 0) == (recipe.loss in _registry.CLASSIFICATION_LOSSES)
    yield "joint", recipe.joint == (n_classes > 0 and loss.joint_kernel is not None)
    yield "outputs_are_classes", recipe.outputs_are_classes == (n_classes > 2)
    yield "n_outputs", not n_classes or recipe.n_outputs == (n_classes if n_classes > 2 else 1)
    yield "rows_of_coef", recipe.rows_of_coef or (not n_classes and recipe.n_outputs == 1)
    yield "method", suits
    # a half-life is the only memory of a learner
    yield "kept", not (learner and forgets) or recipe.kept == (0.5 ** (1.0 / recipe.half_life),)
    yield "diagonal_kept", not (recipe.diagonal_kept and forgets)
    yield "coupled", not recipe.coupled or (recipe.joint and recipe.n_outputs > 1)
    yield "eta", not learner or recipe.eta == 1.0
    yield "average", not learner or recipe.average is False
    yield "blocks", (recipe.blocks is not None) == structure.has_blocks
    yield "rank", (recipe.rank is not None) == structure.has_rank
    yield "degree", recipe.degree == loss.degree
    yield "refresh", recipe.refresh == 0.0 or potential.operator_antitone
    yield "start", recipe.start == (0.0 if learner else domain.start(recipe.radius, recipe.d))
    yield "scaled", online != learner if learns else True
    yield "relative", recipe.relative == (online and loss.degree > 0)
    yield "counted", recipe.counted in (False, online and loss.link.logarithmic)
    yield "shifted", recipe.shifted == bool(online and recipe.intercept and loss.starts_at_target)
    yield "weights_as_rows", not recipe.weights_as_rows or (online and potential.weights_as_rows)
    penalised = learns and not learner and recipe.alpha > 0 and recipe.l1_ratio > 0
    yield "zeros", not recipe.zeros or penalised
    yield "paired", not recipe.paired or (stack and recipe.rates == 2 and pair == structure.auto_pair)
    yield "transformed", not recipe.transformed or (recipe.paired and not recipe.sparse and not forgets)
    averaged = recipe.paired and not forgets and recipe.plain and recipe.average is not False
    yield "recent", not recipe.recent or averaged
