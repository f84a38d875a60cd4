"""What each parameter may be, and which do not go together; one sentence for each refusal.

Everything here is checked before any round is played, so nothing learnt is lost to a wrong parameter.
"""

import os
import sys
import warnings
from difflib import get_close_matches
from functools import partial
from math import log10
from numbers import Integral, Real
from operator import attrgetter

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from . import _registry
from ._spectral_potential import SpectralPotential
from ._validation import shown

LOSSES = (*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES)
LARGEST = sys.float_info.max
DEFAULT_RANK = 16
LARGEST_RADIUS = 1e60  # and its inverse the smallest, so that powers of it are finite


class Registered(StrOptions):
    """The names of a registry table as it is when a parameter is validated, and perhaps "auto"."""

    def __init__(self, table, *also):
        self.table, self.also = table, also
        super().__init__(set())

    @property
    def options(self):
        """The names."""
        return {*self.also, *self.table} - {None}

    @options.setter
    def options(self, value):
        """Set by the parent; the table has them."""

    def __str__(self):
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


COMMON_CONSTRAINTS = {
    "potential": [Registered(_registry.POTENTIALS, "auto"), SpectralPotential],
    "structure": [Registered(_registry.STRUCTURES, "auto")],
    "blocks": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), list, tuple],
    "rank": [Interval(Integral, 1, None, closed="left")],
    "p": [Interval(Real, 0, None, closed="neither")],
    "eta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "theory"})],
    "epsilon": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "theory"})],
    "half_life": [Interval(Real, 1, None, closed="left"), StrOptions({"auto"}), None],
    "refresh": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "scaling": [StrOptions({"online"}), None],
    "domain": [Registered(_registry.DOMAINS), None],
    "radius": [Interval(Real, 0, None, closed="neither"), None],
    "update": [Registered(_registry.UPDATES)],
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
    "scoring": [str, callable, None],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}
# What a running state was built from, and therefore may not change between calls of partial_fit.
LASTING = (
    "potential structure blocks rank loss p eta epsilon half_life refresh scaling domain radius update alpha l1_ratio "
    "average fit_intercept"
).split()


OTHER_NAMES = {
    **{"log": "log_loss", "logistic": "log_loss", "cross_entropy": "log_loss", "svm": "hinge"},
    **{"mse": "squared_error", "squared_loss": "squared_error", "l2": "squared_error"},
    **{"mae": "absolute_error", "absolute_loss": "absolute_error", "l1": "absolute_error"},
    **{"diagonal": "diag", "isotropic": "iso", "md": "mirror_descent", "da": "dual_averaging"},
}


def hint(params, constraints):
    """What may have been meant by a name that a parameter cannot have, in a sentence after a blank; or nothing."""
    for name, kinds in constraints.items():
        value = params[name]
        known = [option for kind in kinds if isinstance(kind, Registered) for option in kind.options]
        if not known or not isinstance(value, str) or value in known:
            continue
        if name == "potential" and value in (*LOSSES, *OTHER_NAMES):
            return f" {value!r} is a loss; pass loss={OTHER_NAMES.get(value, value)!r}."
        other = OTHER_NAMES.get(value)
        close = [other] if other in known else get_close_matches(value, known, 1)
        return f" Perhaps {close[0]!r} is meant." if close else ""
    return ""


def _check_scoring(scoring):
    """Refuse the name of a scorer that there is not, whether or not it will be asked."""
    from sklearn.metrics import get_scorer_names

    names = get_scorer_names()
    if scoring not in names:
        longer = [name for name in sorted(names) if scoring and name.startswith(scoring)]
        close = longer or get_close_matches(scoring, names, 1)
        what = f"perhaps {close[0]!r} is meant." if close else "see sklearn.metrics.get_scorer_names."
        raise ValueError(f"scoring={scoring!r} is not 'loss', and not the name of a scorer; {what}")


def check_pairs(params):
    """Refuse parameters that do not go together, and warn of those that would be ignored."""
    check_sizes(params)
    scoring = params.get("scoring")  # which saved models have not
    if isinstance(scoring, str) and scoring != "loss":
        _check_scoring(scoring)
    name, alpha, structure = params["domain"], params["alpha"], params["structure"]
    domain = _registry.DOMAINS[name]
    if domain.has_radius and params["radius"] is None:
        raise ValueError(
            f"domain={name!r} needs a radius, and radius is None; pass the size of the set, e.g. radius=1.0."
        )
    if domain.has_radius and not 1 / LARGEST_RADIUS <= float(params["radius"]) <= LARGEST_RADIUS:
        raise ValueError(
            f"radius={shown(params['radius'])} is outside of {1 / LARGEST_RADIUS:.0e} to {LARGEST_RADIUS:.0e}; scale the features "
            "so that the weights have another size."
        )
    if alpha > 0 and not domain.joint_prox:
        others = _registry.names(_registry.DOMAINS, lambda entry: entry.joint_prox)
        raise ValueError(
            f"alpha={shown(alpha)} with domain={name!r} is not supported, since a prox followed by a projection is not the joint "
            f"minimiser; use alpha=0 with this domain, or alpha with domain {', '.join(others)} or None."
        )
    if structure != "auto" and has_l1(params) and not may_take_l1(params, structure):
        others = _registry.names(_registry.STRUCTURES, lambda entry: entry.takes_l1)
        raise ValueError(
            f"l1_ratio > 0 with structure={structure!r} is not supported, since the L1 prox has no closed form there; use "
            f"structure {' or '.join(others)}, or l1_ratio=0."
        )
    check_structure(params)
    average = params["average"]
    if isinstance(average, Integral) and not isinstance(average, bool | np.bool_):
        raise ValueError(
            f"average={int(average)} is ambiguous, since True == 1; pass True for the uniform average or the float "
            f"{float(average)} for weights t**{float(average)}."
        )
    own_steps = params["potential"] != "auto" and _registry.potential(params["potential"]).has_own_step_size
    if not isinstance(params["eta"], str) and params["epsilon"] != "theory" and own_steps:
        raise ValueError(
            f"eta={shown(params['eta'])} has no effect with potential={params['potential']!r}, whose psi has its step size inside; "
            "leave eta='auto'."
        )
    given = {"blocks": not isinstance(params["blocks"], str), "rank": params["rank"] != DEFAULT_RANK}
    for parameter in (each for each, is_given in given.items() if is_given):
        others = _registry.names(_registry.STRUCTURES, attrgetter(f"has_{parameter}"))
        if structure == "auto" or not getattr(_registry.STRUCTURES[structure], f"has_{parameter}"):
            _warn_ignored(parameter, params, f"structure={structure!r}; use structure {' or '.join(others)}, or leave")
    if params["radius"] is not None and name is None:
        _warn_ignored("radius", params, "domain=None; pass a domain, or leave")
    if params["l1_ratio"] > 0 and not alpha > 0:
        _warn_ignored("l1_ratio", params, "alpha=0, that is without a penalty; pass alpha > 0, or leave")


def check_structure(params):
    """Refuse a domain, an update or a potential that the structure does not take."""
    structure = params["structure"]
    if structure == "auto":
        return
    entry = _registry.STRUCTURES[structure]
    if params["domain"] is not None and not entry.takes_domains:
        others = _registry.names(_registry.STRUCTURES, lambda entry: entry.takes_domains)
        raise ValueError(
            f"domain={params['domain']!r} with structure={structure!r} is not supported, since there is no projection in the norm "
            f"of its H; use domain=None, or structure {' or '.join(others)}."
        )
    if _registry.UPDATES[params["update"]].dual and entry.mirror_descent_only:
        others = _registry.names(_registry.UPDATES, lambda entry: not entry.dual)
        raise ValueError(
            f"update={params['update']!r} with structure={structure!r} is not supported, since steps of rank one need the gradient "
            f"of the round alone; use update={' or '.join(others)}."
        )
    potential = params["potential"]
    if entry.powers_only and potential != "auto" and not _registry.potential(potential).power:
        others = _registry.names(_registry.POTENTIALS, lambda entry: entry.power)
        raise ValueError(
            f"potential={potential!r} with structure={structure!r} is not supported, since each factor takes the root of a power "
            f"of its eigenvalues; use potential {' or '.join(others)}."
        )


def check_information(params):
    """Refuse an average of iterates where the model is the solution of a system."""
    if not isinstance(params["average"], str):
        raise ValueError(
            f"average={shown(params['average'])} with eta='auto' is not supported for structure='full' with potential 'auto' or "
            "'ons', whose model is solved for and has no iterates to average; leave average='auto', or pass a number as eta."
        )


def check_outputs(structure, outputs):
    """Refuse a structure that couples weight vectors for a model of one."""
    if _registry.STRUCTURES[structure].couples_outputs and outputs < 2:
        others = _registry.names(_registry.STRUCTURES, lambda entry: not entry.couples_outputs)
        raise ValueError(
            f"structure={structure!r} couples the weight vectors of several classes or targets, and this model has one; use "
            f"structure {' or '.join(others)}."
        )


def check_sizes(params):
    """Refuse what has no meaning as a number of threads, or as a floating-point number."""
    for name, value in params.items():
        if isinstance(value, Integral) and abs(value) > LARGEST:
            raise ValueError(f"{name} is an integer too large for a floating-point number; pass at most {LARGEST:.3g}.")
    if params["n_jobs"] == 0:
        raise ValueError(
            "n_jobs=0 asks for no thread at all; pass None or 1 for one, or -1 for as many as there are processors."
        )


told = set()  # what this process was warned of: a search would say it in every fit


def _warn_ignored(name, params, why):
    if (name, why) in told:
        return
    warnings.warn(
        f"{name}={shown(params[name])} has no effect with {why} {name} at its default.", UserWarning, stacklevel=7
    )
    told.add((name, why))  # after it: a warning that is an error stays one


def learns_steps(params):
    """Whether "auto" may learn the step size, where the pieces have a method for it."""
    learns = params["eta"] == "auto" and params["scaling"] == "online"
    return learns and not _registry.UPDATES[params["update"]].dual


def has_l1(params):
    """Whether there is an L1 penalty."""
    return params["alpha"] > 0 and params["l1_ratio"] > 0


def may_take_l1(params, structure):
    """Whether a structure takes an L1 penalty: its prox has a closed form, or Newton steps have one along each coordinate."""
    entry = _registry.STRUCTURES[structure]
    potential = params["potential"]
    newton = _registry.potential(entry.auto_potential if potential == "auto" else potential).newton
    return entry.takes_l1 or (entry.newton and newton and learns_steps(params))


def check_average(average, rounds):
    """Refuse averaging weights that would overflow."""
    if average is not True and average is not False and (average + 1.0) * log10(rounds + 2.0) > 280.0:
        raise ValueError(
            f"average={average!r} gives weights t**{average} that overflow within {rounds} rounds; use a smaller one (2.0 to 4.0 "
            "already forgets the start)."
        )


def check_forgetting(recipe):
    """Refuse a half-life where the kernels have none."""
    if not _registry.STRUCTURES[recipe.structure].forgets:
        others = _registry.names(_registry.STRUCTURES, lambda entry: entry.forgets)
        raise ValueError(
            f"half_life={shown(recipe.half_life)} with structure={recipe.structure!r} is not supported, since its matrices only "
            f"grow; use structure {', '.join(others)}, or half_life=None."
        )
    if not _registry.METHODS[recipe.method].forgets:
        raise ValueError(
            f"half_life={shown(recipe.half_life)} with eta='auto' is not supported for structure={recipe.structure!r}, whose method "
            f"{recipe.method!r} has no half-life of its own; pass a number as eta, or leave half_life='auto'."
        )


def check_memory(recipe):
    """Refuse a model that does not fit this machine's memory."""
    memory = _registry.STRUCTURES[recipe.structure].memory
    if memory is None:
        return
    outputs = recipe.n_outputs * recipe.rates
    if _registry.METHODS[recipe.method].learner:  # sums of each memory, which priors share
        joined = recipe.n_outputs * (recipe.n_outputs + 1) // 2 if recipe.coupled else recipe.n_outputs
        outputs = -(-joined * len(recipe.kept) // 3)  # the entry counts three matrices for each
    sketched = {} if recipe.rank is None else {"rank": recipe.rank, "whole": recipe.domain is not None}
    needed = sum(map(partial(memory, outputs, **sketched), recipe.block_sizes))
    try:
        held = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return  # this system does not tell; the allocation itself may fail
    if needed > 0.8 * held:
        small = _registry.names(_registry.STRUCTURES, lambda entry: entry.memory is None)
        raise ValueError(
            f"structure={recipe.structure!r} on {recipe.d} features would take {needed / 2**30:.1f} GiB and this machine has "
            f"{held / 2**30:.1f} GiB; use structure={' or '.join(small)}, which needs a few numbers per feature."
        )
