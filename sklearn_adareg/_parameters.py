"""Rules between parameters, "auto" and "theory" resolved; one sentence for each refusal.

What is found here is found before any round is played, so nothing learnt is ever lost to a wrong parameter.
"""

import os
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from . import _registry
from ._potentials import SpectralPotential
from ._rows import LARGEST_INDEX, largest_norm

FULL_UP_TO = 100  # "auto" takes the full structure up to this many features
MOST_PASSES = 100  # of fit, where max_iter is None and its stopping rule decides
MORE_PASSES, ROWS_A_FEATURE = 3, 20  # of fit, where step sizes are learnt
BALLS = ("l2", "box", "l1", "simplex")  # the domains that have a radius
AUTO_AVERAGE = 2.0
NEWTON = {"eta": 2.0, "epsilon": 0.5, "average": 20.0}
STACK = {"epsilon": 1.0, "average": 1.0}
STACK_RATES = {"adagrad": (0.5, 5.0), "pnorm": (0.5, 5.0), "ons": (1.0, 10.0)}
# eta and epsilon of "auto" where one step size has to do, by (potential, structure)
AUTO_STEPS = {
    ("ons", "full"): (4.0, 1.0),
    ("ons", "diag"): (1.0, 1.0),
    ("ons", "iso"): (1.0, 1.0),
}
AUTO_STEP = (0.5, 1.0)

COMMON_CONSTRAINTS = {
    "potential": [StrOptions({"auto", *_registry.POTENTIALS}), SpectralPotential],
    "structure": [StrOptions({"auto", *_registry.STRUCTURES})],
    "p": [Interval(Real, 0, None, closed="neither")],
    "eta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "theory"})],
    "epsilon": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "theory"})],
    "refresh": [Interval(Real, 0, None, closed="left")],
    "scaling": [StrOptions({"online"}), None],
    "domain": [StrOptions({name for name in _registry.DOMAINS if name}), None],
    "radius": [Interval(Real, 0, None, closed="neither"), None],
    "update": [StrOptions(set(_registry.UPDATES))],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    "average": ["boolean", Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    "fit_intercept": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "warm_start": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}
# What a running state was built from, and therefore may not change between calls of partial_fit.
LASTING = "potential structure loss p eta epsilon refresh scaling domain radius update alpha l1_ratio average fit_intercept".split()


def check_pairs(params):
    """Refuse parameters that do not go together."""
    domain, alpha, structure = params["domain"], params["alpha"], params["structure"]
    if domain in BALLS and params["radius"] is None:
        raise ValueError(
            f"domain={domain!r} needs a radius, and radius is None; pass the size of the set, e.g. radius=1.0."
        )
    if alpha > 0 and domain in ("l2", "l1", "simplex"):
        raise ValueError(
            f"alpha={alpha!r} with domain={domain!r} is not supported, since a prox followed by a projection is not the joint "
            "minimiser; use alpha=0 with this domain, or alpha with domain 'box', 'nonnegative' or None."
        )
    if alpha > 0 and params["l1_ratio"] > 0 and structure == "full":
        raise ValueError(
            "l1_ratio > 0 with structure='full' is not supported, since the L1 prox has no closed form in the norm of a full "
            "matrix; use structure 'diag' or 'iso', or l1_ratio=0."
        )
    average = params["average"]
    if isinstance(average, Integral) and not isinstance(average, bool | np.bool_):
        raise ValueError(
            f"average={average!r} is ambiguous, since True == 1; pass True for the uniform average or the float "
            f"{float(average)} for weights t**{float(average)}."
        )


def passes(params, recipe, rows):
    """How many passes ``fit`` makes at the most.

    Left to itself, a model that learns its step size is as good as done after one pass: two more are worth their
    time where rows are many for the features, and only fit the noise where they are few.
    """
    if params["max_iter"] is not None:
        return params["max_iter"]
    if params["early_stopping"] or not (recipe["newton"] or recipe["rates"] > 1):
        return MOST_PASSES
    return MORE_PASSES if rows >= ROWS_A_FEATURE * recipe["d"] else 1


def check_average(average, rounds):
    """Refuse averaging weights that would overflow."""
    if (
        average is not True
        and average is not False
        and (average + 1.0) * np.log10(rounds + 2.0) > 280.0
    ):
        raise ValueError(
            f"average={average!r} gives weights t**{average} that overflow within {rounds} rounds; use a smaller one (2.0 to 4.0 "
            "already forgets the start)."
        )


def resolve_names(params, d):
    """Potential and structure with "auto" replaced.

    Full ONS is quadratic in the features, so it is taken while they are few; diagonal AdaGrad beyond, and where an L1
    penalty rules the full matrix out.
    """
    potential, structure = params["potential"], params["structure"]
    l1 = params["alpha"] > 0 and params["l1_ratio"] > 0
    if structure == "auto":
        second_order = potential in ("auto", "ons")
        structure = "full" if second_order and d <= FULL_UP_TO and not l1 else "diag"
    if potential == "auto":
        potential = "ons" if structure == "full" else "adagrad"
    return potential, structure


def make_recipe(params, X, shape, theory_bounds, is_sparse):
    """The resolved parameters that a state is built from.

    Parameters
    ----------
    params : dict
        The estimator's parameters.
    X : matrix
        The rows of the first call: their width counts, and for ``eta="theory"`` their size.
    shape : dict
        ``lanes`` weight vectors, whether they learn ``joint``ly, whether ``rows_of_coef`` are shown, whether it is a
        ``regression`` and of which ``degree`` its loss is in the residual.
    theory_bounds : callable
        Gives the largest ``target`` and ``weight`` of the first call, for ``eta="theory"``.
    is_sparse : bool
        Whether rows are sparse; decides the memory layout only.
    """
    d = X.shape[1]
    if d > LARGEST_INDEX:
        raise ValueError(
            f"X has {d} features, and at most {LARGEST_INDEX} are supported; hash them to fewer columns."
        )
    potential, structure = resolve_names(params, d)
    online = params["scaling"] == "online"
    recipe = {
        "potential": potential,
        "structure": structure,
        "d": d,
        **shape,
        "intercept": bool(params["fit_intercept"]),
        "start": params["radius"] / d if params["domain"] == "simplex" else 0.0,
        "sparse": is_sparse,
        "limits": None,
        "scaled": online,
        "relative": online and shape["degree"] > 0,
        "counted": online and shape["regression"] and shape["degree"] == 0,
        "shifted": online and shape["regression"] and bool(params["fit_intercept"]),
        "rates": 1,
        "refresh": _refresh(params["refresh"], potential),
        "newton": False,
        "lighter": online and potential == "ons" and params["eta"] == "auto",
        **{name: params[name] for name in ("p", "domain", "radius", "update", "alpha", "l1_ratio")},
    }
    _set_steps(recipe, params)
    if "theory" in (params["eta"], params["epsilon"]):
        _set_theory(recipe, params, X, theory_bounds)
    if structure == "full":
        _check_memory(recipe)
    return recipe


def _refresh(delta, potential):
    """How far G may grow before its decomposition is renewed; only an antitone ψ allows for any growth."""
    antitone = isinstance(potential, str) or potential.operator_antitone
    return float(delta) if antitone else 0.0


def _set_steps(recipe, params):
    """Eta, epsilon and average, with "auto" resolved.

    Where nothing but the loss is asked for, "auto" learns the step size: Newton steps in the full structure, a stack
    of two step sizes in the others. A domain, a penalty, dual averaging or raw features get one step size that
    does well over many data sets.
    """
    potential, structure = recipe["potential"], recipe["structure"]
    eta, epsilon = AUTO_STEPS.get((potential, structure), AUTO_STEP)
    auto = {"eta": eta, "epsilon": epsilon, "average": AUTO_AVERAGE}
    plain = (
        recipe["domain"] is None and not recipe["alpha"] and recipe["update"] == "mirror_descent"
    )
    if not isinstance(potential, str):
        if not isinstance(params["eta"], str) and params["epsilon"] != "theory":
            raise ValueError(
                f"eta={params['eta']!r} has no effect with potential={potential!r}, whose psi has its step size inside; "
                "leave eta='auto'."
            )
        auto["eta"] = 1.0
    elif params["eta"] == "auto" and recipe["scaled"] and plain:
        if structure != "full":
            auto = {**STACK, "eta": STACK_RATES.get(potential, (0.5, 5.0))}
            recipe["rates"] = len(auto["eta"])
        elif potential == "ons":
            auto = NEWTON
            recipe.update(newton=True, scaled=False)
    for name, value in auto.items():
        given = params[name]
        recipe[name] = value if isinstance(given, str) else given
    if isinstance(recipe["average"], np.bool_):
        recipe["average"] = bool(recipe["average"])


def _check_memory(recipe):
    D = recipe["d"] + recipe["intercept"]
    needed = 8 * (3 * recipe["lanes"] + 2) * D * D  # three matrices a lane, and two to work in
    try:
        held = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return  # no such question on this system: the allocation answers it
    if needed > 0.8 * held:
        raise ValueError(
            f"structure='full' on {recipe['d']} features would take {needed / 2**30:.1f} GiB and this machine has "
            f"{held / 2**30:.1f} GiB; use structure='diag', which needs a few numbers a feature."
        )


def _set_theory(recipe, params, X, bounds):
    """The step size and epsilon that the paper's regret bounds are proved for."""
    asked = " and ".join(f"{n}='theory'" for n in ("eta", "epsilon") if params[n] == "theory")
    potential, structure, r, d = (
        recipe["potential"],
        recipe["structure"],
        recipe["radius"],
        recipe["d"],
    )
    if recipe["domain"] not in BALLS:
        raise ValueError(
            f"{asked} needs a bounded domain, since the bound is proved from its diameter, and domain={recipe['domain']!r} has "
            "none; pass domain='l2' (or 'box', 'l1', 'simplex') and a radius, or a number."
        )
    if params["scaling"] is not None:
        raise ValueError(
            f"{asked} needs scaling=None, since the bound is proved for features as they are; pass scaling=None, or a number."
        )
    if recipe["intercept"]:
        raise ValueError(
            f"{asked} needs fit_intercept=False, since a free intercept has no bounded domain; add a constant column instead, or "
            "pass a number."
        )
    reason = _no_theory(potential, structure, params["loss"])
    if reason:
        raise ValueError(f"{asked} is not defined here: {reason}; pass a number.")
    diameter = {"l2": 2 * r, "box": 2 * r * np.sqrt(d), "l1": 2 * r, "simplex": r * np.sqrt(2)}
    diameter_inf = {"l2": 2 * r, "box": 2 * r, "l1": 2 * r, "simplex": r}
    b = diameter[recipe["domain"]]
    if potential == "adagrad":
        etas = {
            "full": b / np.sqrt(2),
            "diag": diameter_inf[recipe["domain"]] / np.sqrt(2),
            "iso": b / np.sqrt(2 * d),
        }
        eta, epsilon = etas[structure], 1e-10
    else:
        limits = theory_limits(recipe, X, bounds)
        beta = _exp_concavity(params["loss"], **limits)
        eta, epsilon = 1 / beta, d / (beta * b) ** 2
        recipe["limits"] = limits
    if params["eta"] == "theory":
        recipe["eta"] = float(eta)
    if params["epsilon"] == "theory":
        recipe["epsilon"] = float(epsilon)


def _no_theory(potential, structure, loss):
    if not isinstance(potential, str):
        return "a user's potential brings its own step size"
    if potential == "pnorm":
        return "the p-norm's step size needs G_T, which is known only at the end"
    if potential == "ons" and structure == "diag":
        return "a loss of z·x is not coordinate-wise exp-concave, which diagonal ONS assumes"
    if potential == "ons" and structure == "iso":
        return "a loss of z·x is not strongly convex, which isotropic ONS assumes"
    losses = {**_registry.CLASSIFICATION_LOSSES, **_registry.REGRESSION_LOSSES}
    if potential == "ons" and not losses[loss].exp_concave:
        return f"the loss {loss!r} has linear parts and is not exp-concave, which ONS assumes"
    return None


def theory_limits(recipe, X, bounds):
    """How large margins, targets and weights can get on these rows."""
    order = {"l2": 2, "box": 1, "l1": np.inf, "simplex": np.inf}[recipe["domain"]]
    return {"margin": recipe["radius"] * largest_norm(X, order), **bounds()}


def check_limits(recipe, X, bounds):
    """Rows beyond those that ``eta="theory"`` was computed from would void the bound."""
    if recipe["limits"] is None:
        return
    for name, value in theory_limits(recipe, X, bounds).items():
        if value > recipe["limits"][name]:
            raise ValueError(
                f"eta='theory' was computed for a largest {name} of {recipe['limits'][name]:.6g} in the rows of the first call, and "
                f"these rows reach {value:.6g}; fit again on rows that show the whole range, or pass a number as eta."
            )


def _exp_concavity(loss, margin, target, weight):
    """The largest β we can prove for ω ℓ(z·x, y) with |z·x| ≤ margin, |y| ≤ target and ω ≤ weight."""
    B = margin
    if loss == "log_loss":
        beta = np.exp(-B)
    elif loss == "squared_error":
        beta = 1 / (B + target) ** 2
    elif loss == "squared_hinge":
        beta = 1 / (2 * (1 + B) ** 2) if B <= 1 else (3 * B - 1) / (8 * B**2 * (1 + B))
    else:  # poisson
        beta = np.exp(-B) / max(np.exp(B), target) ** 2
    return beta / weight
