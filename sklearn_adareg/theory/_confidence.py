"""Upper bounds on a running mean of changing expectations that hold at every round at once.

Let ℓ_1, ℓ_2, … be losses and μ_t = E[ℓ_t | the rounds before]. For a fixed λ a product of factors with conditional expectation at
most 1 is a supermartingale; so is a mixture of such products over a distribution of λ that is fixed beforehand. By Ville's
inequality it reaches 1/δ at any time with probability at most δ, and solving "mixture < 1/δ" for the mean of μ_1 … μ_t gives a
bound that holds for all t together [Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic
confidence sequences", 2021].

The distribution has finitely many points, so that the mixture is an exact sum: λ is a function of u > 0, and ln u is distributed as
a Cauchy variable cut off and put on a grid. Its heavy tails cost ln(1 + distance²), so that the bound is near that of
the best fixed λ from hundreds to 10⁸ rounds. The beta mixture of that paper would need one constant mean: its λ depend on it.
"""

import numpy as np

WIDTH = 0.7  # of the Cauchy distribution of ln u
STEP = 0.125  # of the grid; the peak of the integrand is about 0.35 wide
LEAST, MOST = 1e-7, 30.0  # u: e^(−30) is as good as λ = −∞
ZERO_ONE_CENTER = 0.05  # u: the best one for some thousand mistakes, times 1 − error rate
BOUNDED_CENTER = 0.2  # u: the best one where losses have a variance process of a few hundred squared ranges
STEPS, PRECISION = 50, 1e-12  # of Newton's method


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
