"""What is proved about the regret of a model, from its state: the closed form that fits it, or what stands in the way."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from ..model import _recipe, _registry, _runtime
from ..model._validation import shown
from . import _candidates, _steps
from ._closed_forms import kronecker_terms, ons_terms, pnorm_terms, spectral_terms

EXPONENTS = np.geomspace(1 / 50, 50, 25)  # p among which the best one is looked for
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class RegretBound:
    r"""An upper bound on the regret of a model, and what it is made of.

    It is about the rounds that the model has played, in their order: the sum of their losses, each of the iterate before the round,
    is above that of the best fixed weights of the domain by at most ``value``. Rows of several passes are rounds of each pass.

    Parameters
    ----------
    value : float or None
        The bound; None where nothing is proved.
    terms : dict
        What it is the sum of: ``"diameter"``, from the distance between the start and the best weights, and ``"gradients"``, from
        the size of the gradients. For the default learner, whose value is None, the inequality between its candidates, see Notes.
    missing : list of str
        Sentences: what stands in the way of a bound or, where there is one, of a better one.
    form : str
        The closed form, in the symbols of :mod:`sklearn_adareg.regret`.
    rounds : int
        The number of rounds T.
    diameter : float or None
        The b of the form.
    hindsight : dict
        For AdaGrad and the p-norm, what the form would have been with other parameters on the same :math:`G_T`: ``"eta"``, the best
        step size, with ``"value"``; ``"p"``, the best exponent between 1/50 and 50, with its own best step size and ``"value_at_p"``.
    candidates : dict
        For the default learner, the loss of each candidate and what the combination's may be above it, see Notes.

    Notes
    -----
    The default learner publishes margins :math:`m_t = \sum_k w_{kt} m_{kt}` of candidates, whose weights follow their losses by
    fixed share. It has no bound against the best fixed weights, but one against each of its candidates, with terms that are added
    up while it learns. With :math:`\ell` the loss of a row, convex in the margin, and :math:`\ell^c` what of it counts against a
    candidate,

    .. math:: \sum_t \ell_t(m_t) \le \sum_t \ell^c_t(m_{kt}) - \ln w_{k1} - \ln v_{r1} + \sum_t \bigl( -\ln(1 - a_t)
        + \delta_t + o_t + s_t \bigr)

    for every candidate k and every layer r, a fixed share of its own rate :math:`a_t`. ``terms`` has both sides, for the
    candidate and the layer with the smallest right side: ``"published"`` on the left; ``"best_candidate"``, ``"first_weights"``,
    ``"first_layer"``, ``"switches"``, ``"mixing"``, ``"beyond_cap"`` and ``"inactive"`` on the right. ``"switches"``,
    :math:`\delta` and o are those of the layer and of the fixed share over the layers, together.

    - ``"mixing"``, :math:`\delta_t = \sum_k w_{kt} \ell^c_t(m_{kt}) + \ln \sum_k w_{kt} e^{-\ell^c_t(m_{kt})}`: between 0 and
      :math:`c^2/8` where losses have a range of c.
    - ``"beyond_cap"``, :math:`o_t = \sum_k w_{kt} (\ell_t - \ell^c_t)(m_{kt})`: :math:`\ell^c` is at most 6 above the least loss
      among the candidates of the round.
    - ``"inactive"``, :math:`s_t = \ell_t(m_{rt}) - \sum_k w_{kt} \ell_t(m_{kt})` in rounds in which candidates take no part yet,
      of weak priors in the first rows. It may be negative.

    ``candidates`` has the same for each candidate by its name, as in ``candidate_weights_``: ``"loss"``, and ``"excess"``, the
    sum of the other terms, so that ``terms["published"]`` is at most the sum of the two. Losses are in nats, those of a
    regression in units of their own size at the time, with targets limited as in learning; all passes count. With several weight
    vectors that learn independently it is the sum over them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_adareg import AdaRegClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X /= abs(X).max(axis=0)
    >>> model = AdaRegClassifier(
    ...     "adagrad", "diag", eta="theory", epsilon="theory", domain="box", radius=1.0,
    ...     scaling=None, fit_intercept=False, max_iter=1, shuffle=False,
    ... )
    >>> bound = model.fit(X, y).regret_bound()
    >>> bound.form
    '(κη + b²/2η) tr G^(1/2)'
    >>> float(bound.value) == sum(bound.terms.values())
    True
    >>> AdaRegClassifier().fit(X, y).regret_bound().value is None
    True
    """

    __module__ = "sklearn_adareg.regret"  # the public path, which saved models keep

    value: float | None
    terms: dict
    missing: list
    form: str = ""
    rounds: int = 0
    diameter: float | None = None
    hindsight: dict = field(default_factory=dict)
    candidates: dict = field(default_factory=dict, repr=False)

    def __setstate__(self, kept):
        """Bounds of earlier versions had no candidates."""
        vars(self).update({"candidates": {}, **kept})


def regret_bound(state, diameter=None, exp_concave=None):
    """The bound of a state; ``exp_concave``: whether a caller who brings gradients says so, None where the loss is known."""
    recipe = state.recipe
    if diameter is not None and not 0.0 < diameter < np.inf:
        raise ValueError(
            f"diameter={shown(diameter)} is no distance; pass a positive number, or None for the diameter of the domain."
        )
    missing = list(_obstacles(recipe, diameter))
    if not state.one_run:
        missing.append(
            "This model is merged from several, or classes joined it later, and the bounds are about weights that have played all "
            "rounds; ask the models before they were merged."
        )
    if missing:
        terms, candidates, more = _of_combination(state)
        return RegretBound(value=None, terms=terms, missing=missing + more, rounds=state.rounds, candidates=candidates)
    if _registry.STRUCTURES[recipe.structure].couples_outputs:
        form = _kronecker_form(state, diameter)
    else:
        form = _form_of_outputs(state, diameter, exp_concave)
    return RegretBound(rounds=state.rounds, **form)


def _obstacles(recipe, diameter):
    """Sentences: why there is no closed form."""
    structure, domain = _registry.STRUCTURES[recipe.structure], _registry.DOMAINS[recipe.domain]
    potential = _registry.potential(recipe.potential)
    if not _registry.METHODS[recipe.method].has_bounds:
        yield (
            f"eta='auto' learns the step size by the method {recipe.method!r}, which is not Algorithm 1 and has no bound against the "
            "best fixed weights; pass scaling=None and a number or 'theory' as eta."
        )
    elif recipe.scaled or recipe.relative or recipe.counted or recipe.shifted:
        yield (
            "scaling='online' learns in units that change from round to round, and the bounds are proved for features and targets as "
            "they are; pass scaling=None."
        )
    if recipe.half_life is not None:
        yield (
            f"half_life={shown(recipe.half_life)} forgets gradients, and the bounds are proved for a G that only grows; pass "
            "half_life=None."
        )
    if recipe.alpha:
        yield f"alpha={shown(recipe.alpha)} adds a penalty, and the bounds are about the loss alone; pass alpha=0."
    if recipe.dual:
        yield (
            f"update={recipe.update!r} has a bound that measures each gradient by the matrix of the round before, which G_T does not "
            "tell; regret.record and regret.dual_averaging_bound compute it."
        )
    if diameter is None and not domain.bounded:
        if structure.takes_domains:
            yield (
                f"The bounds are proved from the diameter of the domain, and domain={recipe.domain!r} is unbounded; pass a bounded "
                "domain and its radius, or diameter, the largest distance of an iterate from the weights to compare with."
            )
        else:
            yield (
                f"The bounds are proved from the diameter of a domain, and structure={recipe.structure!r} takes none; pass diameter, "
                "the largest distance of an iterate from the weights to compare with."
            )
    elif diameter is None and recipe.intercept:
        yield (
            "fit_intercept=True leaves the intercept free, so that the domain has no diameter; add a constant column instead and "
            "pass fit_intercept=False, or pass diameter."
        )
    yield from _without_form(recipe, structure, potential)


def _without_form(recipe, structure, potential):
    """Pieces that have no closed form."""
    if potential.time_varying:
        yield (
            "A potential that varies with time has no closed form; regret.record and regret.theorem_1 compute its bound."
        )
    elif structure.couples_outputs:
        if potential.exponent is None or _exponent(recipe) != 0.5:
            yield (
                f"No bound is proved for structure={recipe.structure!r} with potential={recipe.potential!r}; with 'adagrad' one is."
            )
    elif structure.spectrum is None:
        yield f"No closed form is known for structure={recipe.structure!r}."
    elif potential.exponent is None:
        if potential.value is None:
            yield f"potential={recipe.potential!r} has no value, the Φ(H) that the bound is made of; define it."
        if not (potential.operator_antitone or structure.own_steps or structure.one_step_size):
            yield (
                f"potential={recipe.potential!r} is not declared operator-antitone, so H may grow from round to round; declare it, "
                "or use structure 'diag' or 'iso'."
            )


def _exponent(recipe):
    entry = _registry.potential(recipe.potential)
    return entry.exponent(**{name: recipe.potential_parameters[name] for name in entry.parameters})


# ---- the forms ------------------------------------------------------------------------------------------------------


def _form_of_outputs(state, diameter, exp_concave):
    """Each weight vector has an H of its own; the linear regret, and with it the bound, is the sum over them."""
    recipe = state.recipe
    structure, potential = _registry.STRUCTURES[recipe.structure], _registry.potential(recipe.potential)
    spectra = _spectra_of(state)
    b = _steps.reach(recipe) if diameter is None else diameter
    if potential.exponent is not None and not potential.inverse:
        return _power_form(recipe, structure, spectra, b)
    form = _convex_form(recipe, structure, potential, spectra, b)
    if not potential.inverse:
        return form
    reason = _why_not_curved(recipe, exp_concave)
    if reason:
        return {**form, "missing": [reason]}
    if diameter is None:
        b = _registry.DOMAINS[recipe.domain].diameter(recipe.radius, recipe.d)
    elif structure.own_steps or structure.has_blocks:  # this form has the Euclidean one
        b = diameter * np.sqrt(recipe.D if structure.own_steps else len(recipe.block_sizes))
    escaped = [block.arrays["escaped"] for block in state.blocks] if structure.has_rank else []
    added = np.concatenate(escaped) if escaped else np.zeros(len(spectra))
    parts = [
        ons_terms(spectrum, b, epsilon=recipe.epsilon, start=recipe.epsilon + more)
        for spectrum, more in zip(spectra, added, strict=True)
    ]
    terms = _total(parts, recipe.eta, 1.0)
    if sum(terms.values()) >= form["value"]:
        return form
    start = "(ε + ρ)" if structure.has_rank else "ε"
    return _form(f"{start}b²/2η + (η/2)(D + Σ log(λ/ε))", b, terms)


def _power_form(recipe, structure, spectra, b):
    """AdaGrad and the p-norm: ψ(λ) = ηλ^(−a), p = 1/a − 1."""
    a = _exponent(recipe)
    one = structure.one_step_size

    def of(p):
        parts = [pnorm_terms(own, b, p=p, one_step_size=one) for own in spectra]
        return _total(parts, 1.0, _refresh_factor(recipe, structure, 1 / (p + 1)))

    def best(p):
        return 2 * np.sqrt(np.prod(list(of(p).values())))

    own = of(1 / a - 1)
    terms = {"diameter": own["diameter"] / recipe.eta, "gradients": own["gradients"] * recipe.eta}
    rough = int(np.argmin([best(p) for p in EXPONENTS]))
    low, high = EXPONENTS[max(rough - 1, 0)], EXPONENTS[min(rough + 1, len(EXPONENTS) - 1)]
    near = minimize_scalar(lambda log_p: best(np.exp(log_p)), bounds=np.log([low, high]), method="bounded")
    if one:
        form = "b²/2h + ((p+1)/2p) h tr G, h = η(tr G/D)^(−1/(p+1))"
    elif a == 0.5:
        form = "(κη + b²/2η) tr G^(1/2)"
    else:
        form = "(b²/2η) tr G^(1/(p+1)) + κη((p+1)/2p) tr G^(p/(p+1))"
    hindsight = {
        "eta": float(np.sqrt(own["diameter"] / own["gradients"])),
        "value": float(best(1 / a - 1)),
        "p": float(np.exp(near.x)),
        "value_at_p": float(near.fun),
    }
    return {**_form(form, b, terms), "hindsight": hindsight}


def _convex_form(recipe, structure, potential, spectra, b):
    """Any other operator-antitone ψ, with Φ: what Theorem 1 gives on a bounded domain for convex losses."""
    one = structure.one_step_size
    parts = [
        spectral_terms(own, b, steps=h, change=change, one_step_size=one)
        for own, h, change in _steps_and_changes(recipe, potential, spectra)
    ]
    # 1/ψ is operator-monotone, and so concave: ψ(λ) ≤ (1 + δ)ψ((1 + δ)λ)
    terms = _total(parts, 1.0, _refresh_factor(recipe, structure, 1.0))
    return _form(f"b² tr(H⁻¹)/2{'D' if one else ''} + κ(tr(GH) + Φ(H) − Φ(H_0))/2", b, terms)


def _steps_and_changes(recipe, potential, spectra):
    """Of each weight vector: eigenvalues of P_S G_T, of H_T, and Φ(H_T) − Φ(H_0)."""
    psi = _recipe.potential_kernel(recipe)
    eta = 1.0 if potential.has_own_step_size else recipe.eta
    p = recipe.potential_parameters.get("p", 1.0)
    value = potential.value if potential.in_python else partial(potential.value, eta=eta, p=p)
    for spectrum in spectra:
        own = np.ascontiguousarray(spectrum)
        h, h0 = eta * psi(own), eta * psi(np.full(len(own), float(recipe.epsilon)))
        yield own, h, float(value(h) - value(h0))


def first_bracket(state):
    """The first term of Theorem 1, κ(G_T • H_T + Φ(H_T) − Φ(H_0))/2; NaN where Φ is not known or varies with time."""
    recipe = state.recipe
    structure, potential = _registry.STRUCTURES[recipe.structure], _registry.potential(recipe.potential)
    if potential.value is None or potential.time_varying:
        return np.nan
    exponent = 1.0 if potential.exponent is None else _exponent(recipe)
    kappa = _refresh_factor(recipe, structure, exponent)
    triples = _steps_and_changes(recipe, potential, _spectra_of(state))
    return 0.5 * kappa * sum(float(own @ h) + change for own, h, change in triples)


def _spectra_of(state):
    kernels = [_runtime.method_of(block).structure for block in state.blocks]
    own = np.concatenate([kernel.spectrum() for kernel in kernels])
    return np.maximum(own, state.recipe.epsilon)


def _kronecker_form(state, diameter):
    recipe = state.recipe
    [block] = state.blocks
    L, R = _runtime.method_of(block).structure.accumulated()
    kappa = (1.0 + recipe.refresh) ** 0.5
    terms = _total([kronecker_terms(L, R, diameter)], recipe.eta, kappa)
    return _form("(κη + b²/2η) tr L^(1/4) tr R^(1/4)", diameter, terms)


def _form(form, b, terms):
    """The fields of a bound that is the sum of these terms."""
    return {"value": sum(terms.values()), "terms": terms, "missing": [], "form": form, "diameter": float(b)}


def _total(parts, eta, kappa):
    """Terms for η = 1, summed, with η and κ."""
    return {
        "diameter": float(sum(part["diameter"] for part in parts) / eta),
        "gradients": float(sum(part["gradients"] for part in parts) * eta * kappa),
    }


def _refresh_factor(recipe, structure, exponent):
    """κ: an H from an older decomposition is at most so many times the present one."""
    kept_exactly = structure.own_steps or structure.one_step_size
    if kept_exactly or _registry.potential(recipe.potential).inverse:
        return 1.0
    return (1.0 + recipe.refresh) ** exponent


def _why_not_curved(recipe, exp_concave):
    """Why the logarithmic form of ONS is not proved, in a sentence; empty where it is."""
    form = "the logarithmic form of ONS"
    instead = "the value is that for convex losses, which grows with T"
    if exp_concave is not None:
        if exp_concave:
            return ""
        return f"For {form} pass exp_concave=True if your losses have the curvature that it assumes; {instead}."
    if recipe.limits is None:
        if _registry.STRUCTURES[recipe.structure].one_step_size and recipe.D > 1:
            return f"There is no proof of {form}: {_steps.NOT_STRONGLY_CONVEX}; {instead}."
        return (
            f"For {form} the losses must be 1/eta-exp-concave on all rows, which is known where eta='theory' was computed for their "
            f"sizes; {instead}."
        )
    beta = _steps.exp_concavity_on(recipe, recipe.limits)
    if isinstance(beta, str):
        return f"There is no proof of {form}: {beta}; {instead}."
    if 1.0 / recipe.eta > beta * (1.0 + ROUNDING):
        return (
            f"For {form} with eta={shown(recipe.eta)} the losses must be {1.0 / recipe.eta:.3g}-exp-concave, and they are known to "
            f"be {beta:.3g}-exp-concave; pass eta='theory'; {instead}."
        )
    return ""


# ---- a combination --------------------------------------------------------------------------------------------------


def _of_combination(state):
    """What holds between the candidates of the default learner: terms, right sides by candidate, and a sentence."""
    if not (_registry.METHODS[state.recipe.method].learner and state.one_run):
        return {}, {}, []
    problems = [own for block in state.blocks for own in _problems(block)]
    if any(np.isnan(own["delta"]).any() for own in problems):
        sentence = (
            "fit ended at the minimiser of one prior, which has all the weight since, so nothing is proved about its combination; a "
            "model that has learnt by partial_fit alone has terms."
        )
        return {}, {}, [sentence]
    parts = [_of_problem(own) for own in problems]
    rests = {name: float(sum(rest[name] for _, _, rest in parts)) for name in parts[0][2]}
    names = _candidates.names(state.recipe)
    losses, own = (sum(part[side][: len(names)] for part in parts) for side in (0, 1))
    published = rests.pop("published")
    rest = sum(rests.values())
    candidates = {
        name: {"loss": float(loss), "excess": float(excess + rest)}
        for name, loss, excess in zip(names, losses, own, strict=True)
    }
    best = int(np.argmin(losses + own))
    terms = {"published": published, "best_candidate": float(losses[best]), "first_weights": float(own[best]), **rests}
    sentence = (
        "Against each of its candidates the combination has a bound: terms['published'] is at most the sum of the other terms, and "
        "at most loss + excess of every entry of candidates. It bounds no candidate's own regret."
    )
    return terms, candidates, [sentence]


def _problems(block):
    """The sums of each combination of a block, by name."""
    sums = _runtime.method_of(block).bound_terms()
    shared = {name: sums.pop(name) for name in ("first", "first_layers")}
    for p in range(len(sums["least"])):
        yield {**{name: values[p] for name, values in sums.items()}, **shared}


def _of_problem(sums):
    """The capped losses of candidates, −ln of their first weights, and the other terms, by the layer that bounds best."""
    layers = len(sums["first_layers"])
    of_layers = {
        "first_layer": -np.log(sums["first_layers"]),
        "switches": sums["switches"][:layers] + sums["switches"][layers],
        "mixing": sums["delta"][:layers] + sums["delta"][layers],
        "beyond_cap": sums["beyond"][:layers] + sums["beyond"][layers],
        "inactive": sums["apart"],
    }
    best = int(np.argmin(sum(of_layers.values())))
    rest = {name: values[best] for name, values in of_layers.items()}
    rest["published"] = sums["published"] + sums["least"]
    return sums["losses"] + sums["least"], -np.log(sums["first"]), rest
