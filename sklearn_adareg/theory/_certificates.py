"""What the losses of rows at first sight prove about the expected loss.

It takes upper bounds on a running mean of changing expectations that hold at every round at once.

Let ℓ_1, ℓ_2, … be losses and μ_t = E[ℓ_t | the rounds before]. For a fixed λ a product of factors with conditional expectation at
most 1 is a supermartingale; so is a mixture of such products over a distribution of λ that is fixed beforehand. By Ville's
inequality it reaches 1/δ at any time with probability at most δ, and solving "mixture < 1/δ" for the mean of μ_1 … μ_t gives a
bound that holds for all t together [Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic
confidence sequences", 2021].

The distribution has finitely many points, so that the mixture is an exact sum: λ is a function of u > 0, and ln u is distributed as
a Cauchy variable cut off and put on a grid. Its heavy tails cost ln(1 + distance²), so that the bound is near that of
the best fixed λ from hundreds to 10⁸ rounds. The beta mixture of that paper would need one constant mean: its λ depend on it.
"""

from dataclasses import dataclass

import numpy as np

from ..model import _registry
from ..model._validation import check_probability

WIDTH = 0.7  # of the Cauchy distribution of ln u
STEP = 0.125  # of the grid; the peak of the integrand is about 0.35 wide
LEAST, MOST = 1e-7, 30.0  # u: e^(−30) is as good as λ = −∞
ZERO_ONE_CENTER = 0.05  # u: the best one for some thousand mistakes, times 1 − error rate
BOUNDED_CENTER = 0.2  # u: the best one where losses have a variance process of a few hundred squared ranges
STEPS, PRECISION = 50, 1e-12  # of Newton's method


@dataclass(frozen=True)
class RiskCertificate:
    """Upper bounds on the expected loss and error rate of the models of the rounds, as ``risk_certificate`` returns them.

    Parameters
    ----------
    loss : float or None
        The bound on the expected loss, which is clipped to ``clip``. None where nothing is proved, since the loss is unbounded.
    error_rate : float or None
        The bound on the probability of a wrong label. None for a regressor.
    delta : float
        The probability with which each of the two bounds may fail, at whatever round one stops.
    rounds : int
        Rows at first sight that the bounds are from.
    mean_loss, mean_error_rate : float or None
        The means over these rows that the bounds are above.
    clip : tuple or None
        The interval that the loss of a row is clipped to.
    predictor : str
        Which predictor the bounds speak of.
    assumptions : tuple of str
        What they need.
    missing : str
        Why there is no bound on the loss; empty where there is one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_adareg import AdaRegClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = AdaRegClassifier(random_state=0).fit(X, y).risk_certificate(delta=0.05)
    >>> found.rounds, found.mean_error_rate < found.error_rate < 0.15
    (569, True)
    """

    __module__ = "sklearn_adareg"  # the public path, which saved models keep

    loss: float | None
    error_rate: float | None
    delta: float
    rounds: int
    mean_loss: float | None
    mean_error_rate: float | None
    clip: tuple | None
    predictor: str
    assumptions: tuple
    missing: str = ""

    def __str__(self):
        lines = []
        if self.loss is not None:
            lines.append(f"loss ≤ {self.loss:.6g} (mean so far {self.mean_loss:.6g})")
        if self.error_rate is not None:
            lines.append(f"error rate ≤ {self.error_rate:.6g} (mean so far {self.mean_error_rate:.6g})")
        if self.missing:
            lines.append(f"no bound on the loss: {self.missing}")
        lines.append(f"each with probability {1 - self.delta:g}, from {self.rounds:,} rows")
        return "\n".join([*lines, f"of: {self.predictor}", *(f"if: {a}" for a in self.assumptions)])


ASSUMPTIONS = (
    "Rows are independent and identically distributed; if they are not, the bounds are on the mean of the conditional expectations "
    "of the rounds' losses, given the rows before.",
    "No row was seen before, and features were not computed with the help of later rows.",
    "The model was not chosen among others by these losses; to choose among k, divide delta by k.",
)
UNBOUNDED = "loss={!r} is unbounded, and then no number of rows bounds its expectation without a further assumption."


def refusal(state, blocks):
    """Why the losses of this state prove nothing, in a sentence; None if they do. ``blocks`` is the estimator's parameter."""
    progress, recipe = state.progress, state.recipe
    if progress.weighted:
        return (
            "This model has learnt from rows with weights other than 1, or before losses were recorded, and a risk certificate "
            "counts rows alike; fit without sample_weight and class_weight."
        )
    if progress.total("rows") == 0:
        return "This model has no losses of rows at first sight; fit it anew, or call partial_fit."
    if state.units_from_rows:
        return (
            "coef_init takes the units of the features from all rows before these are predicted, so their losses prove nothing; fit "
            "without coef_init and intercept_init."
        )
    if recipe.limits is not None:
        return (
            'eta="theory" and epsilon="theory" take their sizes from the rows of the first call before these are predicted, so their '
            "losses prove nothing; pass numbers."
        )
    if recipe.blocks is not None and isinstance(blocks, str):
        return (
            'blocks="auto" looks at the rows of the first call before these are predicted, so their losses prove nothing; pass '
            "blocks, e.g. blocks=8."
        )
    return None


def certify(state, blocks, delta):
    """The certificate of a state as it is now."""
    check_probability(delta, "delta", 0.05)
    why_not = refusal(state, blocks)
    if why_not:
        raise ValueError(why_not)
    progress, clip = state.progress, _registry.loss(state.recipe.loss).clip
    rounds = progress.total("rows")
    loss, error_rate = bounds(clip, state.classes, delta, progress.total)
    return RiskCertificate(
        loss=None if loss is None else float(loss[0]),
        error_rate=None if error_rate is None else float(error_rate[0]),
        delta=float(delta),
        rounds=int(rounds),
        mean_loss=None if loss is None else progress.total("clipped") / rounds,
        mean_error_rate=None if error_rate is None else progress.total("mistakes") / rounds,
        clip=None if loss is None else tuple(float(end) for end in clip),
        predictor=_predictor(state, clip),
        assumptions=ASSUMPTIONS,
        missing="" if loss is not None else UNBOUNDED.format(state.recipe.loss),
    )


def course(state, blocks, delta):
    """Rows, and pairs of means and bounds at these: of losses and of mistakes, None where there is no bound."""
    if refusal(state, blocks):
        return None, None, None
    sums, clip = state.progress.grid, _registry.loss(state.recipe.loss).clip
    rows = sums("rows")
    loss, error_rate = bounds(clip, state.classes, delta, sums)
    return (
        rows.astype(np.int64),
        None if loss is None else (sums("clipped") / rows, loss),
        None if error_rate is None else (sums("mistakes") / rows, error_rate),
    )


def bounds(clip, classes, delta, sums):
    """Bounds on the loss and on the error rate, where there are any; ``sums`` gives a sum or its course by name."""
    loss = error_rate = None
    low, high = clip
    if np.isfinite(low) and np.isfinite(high):
        reach = high - min(low, 0.0)  # the mean of no losses, which predicts the first, is 0
        loss = bernstein_bound(sums("clipped"), sums("variance"), sums("rows"), reach, delta)
        loss = np.minimum(loss, high)
    if classes is not None:
        error_rate = zero_one_bound(sums("mistakes"), sums("rows"), delta)
    return loss, error_rate


def _predictor(state, clip):
    rounds = int(state.progress.total("rows"))
    text = f"the model that was published before a round that is drawn at random, each of the {rounds:,} rows at first sight alike"
    probabilities = state.classes is not None and np.isfinite(clip).all()
    if probabilities:
        least = np.exp(-clip[1])
        text += (
            f"; the bound on the loss also of the average of their probabilities, each clipped to [{least:.3g}, "
            f"{np.exp(-clip[0]):.3g}]"
        )
    return text + "; not of the average of their weights, nor of the model as it is now."


def _mixture(center):
    """Points u and logarithms of their probabilities."""
    logs = np.arange(np.log(LEAST), np.log(MOST), STEP)
    weights = 1.0 / (WIDTH**2 + (logs - np.log(center)) ** 2)
    return np.exp(logs), np.log(weights / weights.sum())


def zero_one_bound(mistakes, rounds, delta):
    r"""A bound on the mean of the conditional error rates, from the number of mistakes.

    With :math:`\lambda = -u` the factor of a round with error rate p is :math:`e^{-u\ell} / (1 - p + p e^{-u})`. Its logarithm is
    convex in p, so t of them are at least :math:`e^{-uS} (1 - \bar p + \bar p e^{-u})^{-t}` with S the mistakes and
    :math:`\bar p` the mean of the changing rates (a sub-Bernoulli process). Costs about 1,000 exponentials for each element.

    ``mistakes`` and ``rounds``, S and t, are numbers or arrays; ``delta`` is the probability with which the bound may fail at some
    round. Returns an array of bounds, at most 1.
    """
    u, log_weights = _mixture(ZERO_ONE_CENTER)
    lost = -np.expm1(-u)
    mistakes, rounds = _columns(mistakes, rounds)

    def terms(mean):
        left = np.maximum(1.0 - mean * lost, np.finfo(np.float64).tiny)
        return log_weights - u * mistakes - rounds * np.log(left), rounds * lost / left

    with_one = -np.expm1(-(u * mistakes - log_weights - np.log(delta)) / rounds) / lost
    return _crossing(terms, np.minimum(with_one.min(axis=1), 1.0), delta)


def bernstein_bound(total, variance, rounds, reach, delta):
    r"""A bound on the mean of the conditional expectations of bounded losses, by empirical Bernstein.

    With predictions :math:`\hat\ell_t` made before the losses and :math:`\ell_t \le \hat\ell_t + c`, the factor of a round is
    :math:`\exp\{\lambda(\mu_t - \ell_t) - \psi(\lambda)(\ell_t - \hat\ell_t)^2\}`,
    :math:`\psi(\lambda) = (-\log(1 - c\lambda) - c\lambda) / c^2` (Theorem 4 of the paper above); :math:`c\lambda = 1 - e^{-u}`.

    ``total`` and ``variance`` are the sums of :math:`\ell_t` and of :math:`(\ell_t - \hat\ell_t)^2`, numbers or arrays as ``rounds``,
    t; ``reach`` is c; ``delta`` is the probability with which the bound may fail at some round. Returns an array of bounds.
    """
    u, log_weights = _mixture(BOUNDED_CENTER)
    rates = -np.expm1(-u) / reach
    penalties = (u + np.expm1(-u)) / reach**2
    total, variance, rounds = _columns(total, variance, rounds)

    def terms(excess):
        return log_weights + rates * excess - penalties * variance, rates

    with_one = (penalties * variance - log_weights - np.log(delta)) / rates
    return (total[:, 0] + _crossing(terms, with_one.min(axis=1), delta)) / rounds[:, 0]


def _columns(*numbers):
    """Arrays of shape (n, 1)."""
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(n, dtype=np.float64)) for n in numbers))
    return [array[:, np.newaxis] for array in arrays]


def _crossing(terms, start, delta):
    """Where Σ exp(terms), whose logarithm is convex and increasing, reaches 1/δ; ``start`` where it is below at ``start``.

    Newton's method from above stays above, so that what it returns is a bound at whatever iterate it stops.
    """
    x = start
    for _ in range(STEPS):
        exponents, slopes = terms(x[:, np.newaxis])
        largest = exponents.max(axis=1, keepdims=True)
        shares = np.exp(exponents - largest)
        total = shares.sum(axis=1)
        height = np.log(total) + largest[:, 0] + np.log(delta)
        step = np.maximum(height, 0.0) * total / (shares * slopes).sum(axis=1)
        x = x - step
        if (step <= PRECISION * x).all():
            break
    return x
