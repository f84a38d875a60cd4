r"""Regret bounds: Theorem 1 on a recorded run, and the closed forms it gives.

Everything here is arithmetic on what an online run leaves behind, for checking a run against
the theory or for drawing the two in one figure. The symbols, once for the whole module:

- :math:`x_1, \ldots, x_{T+1}`: the points that predicted, and the one after the last round;
- :math:`g_t`: the gradient of the loss :math:`f_t` at :math:`x_t`, D coordinates;
- :math:`G_T = \varepsilon I + \sum_t g_t g_t^T`;
- :math:`H_t = \psi(P_S G_t)`: the matrix of round t's step, :math:`H_0 = \psi(\varepsilon I)`;
- :math:`x^*`: any point of the domain, with which the run is compared.

A regularisation matrix is given as it is kept: a matrix (full), its diagonal (diag), or one
number (iso). The bounds hold for ``scaling=None`` and ``alpha=0`` (or the L2 penalty of
structure full, which is part of the gradient).

The closed forms are the last line before the paper simplifies log(1 + u) to log u: the simplified
line lies below what is proved when u is small.

References
----------
V. Gupta, T. Koren and Y. Singer, "A Unified Approach to Adaptive Regularization in Online and
Stochastic Optimization", 2017.
"""

import numpy as np

__all__ = [
    "adagrad_bound",
    "dual_averaging_bound",
    "linear_regret",
    "ons_bound",
    "pnorm_bound",
    "potential_value",
    "theorem_1",
]


def linear_regret(x, g, x_star):
    r"""Regret of the linearised losses, an upper bound on the regret of convex ones.

    .. math:: \sum_{t=1}^T g_t \cdot (x_t - x^*) \;\ge\; \sum_{t=1}^T f_t(x_t) - f_t(x^*)

    Costs O(TD).

    Parameters
    ----------
    x : array-like of shape (T, D) or (T + 1, D)
        The iterates; one after the last round is left out.
    g : array-like of shape (T, D)
        The gradients.
    x_star : array-like of shape (D,)
        The point to compare with.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import linear_regret
    >>> linear_regret([[0.0], [-1.0]], [[1.0], [-1.0]], [2.0])
    1.0
    """
    g = np.asarray(g, dtype=float)
    x = np.asarray(x, dtype=float)[: len(g)]
    return float(np.sum(g * (x - np.asarray(x_star, dtype=float))))


def potential_value(H, potential, *, eta=None, p=2.0):
    r"""Value :math:`\Phi(H) = -\mathrm{tr}\,\phi(H)` of a spectral potential.

    - ``adagrad``: :math:`\eta^2\, \mathrm{tr}\, H^{-1}`
    - ``pnorm``: :math:`(\eta^{p+1}/p)\, \mathrm{tr}\, H^{-p}`
    - ``ons``: :math:`-\eta \log\det H`, with :math:`\eta = 1/\beta`

    Costs O(D³) for a matrix (its eigenvalues), O(D) for a diagonal.

    Parameters
    ----------
    H : array-like of shape (D, D) or (D,)
        A positive definite matrix, or the diagonal of a diagonal one.
    potential : {"adagrad", "pnorm", "ons"} or object
        An object has a method ``value(h)``, which takes the D eigenvalues of H and returns
        :math:`-\sum_i \phi(h_i)`; eta and p are then its own affair.
    eta : float, default=None
        The step size; needed by the named potentials.
    p : float, default=2.0
        The exponent of ``pnorm``.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import potential_value
    >>> potential_value([0.5, 0.25], "adagrad", eta=1.0)
    6.0
    """
    h = _eigenvalues(H)
    if not isinstance(potential, str):
        return float(potential.value(h))
    if potential not in ("adagrad", "pnorm", "ons"):
        raise ValueError(
            f"potential={potential!r} is not known; give 'adagrad', 'pnorm', 'ons' or an object with a method value(h)."
        )
    if eta is None:
        raise ValueError(f"The value of potential {potential!r} depends on eta; give eta.")
    if potential == "ons":
        return float(-eta * np.sum(np.log(h)))
    if potential == "adagrad":
        p = 1.0
    return float(eta ** (p + 1) / p * np.sum(h**-p))


def theorem_1(x, g, H, x_star, *, H0, epsilon, potential, eta=None, p=2.0, refresh_factor=1.0):
    r"""Theorem 1: the bound on the regret of any mirror descent run.

    .. math::

        \tfrac12 \kappa \left( G_T \bullet H_T + \Phi(H_T) - \Phi(H_0) \right)
        + \tfrac12 \sum_{t=1}^T \Delta_t(x^*), \qquad
        \Delta_t(x^*) = \|x_t - x^*\|^2_{H_t^{-1}} - \|x_{t+1} - x^*\|^2_{H_t^{-1}}

    It holds for every structure, every convex domain and every sequence of convex losses. Costs
    O(TD³) for matrices, O(TD) for diagonals and scalars.

    Parameters
    ----------
    x : array-like of shape (T + 1, D)
        The iterates :math:`x_1, \ldots, x_{T+1}`.
    g : array-like of shape (T, D)
        The gradients.
    H : array-like of shape (T, D, D), (T, D) or (T,)
        The matrices of the steps, or their diagonals, or one number each.
    x_star : array-like of shape (D,)
        The point to compare with, in the domain.
    H0 : array-like of shape (D, D) or (D,), or float
        The matrix before the first round, :math:`\psi(\varepsilon I)`.
    epsilon : float
        The :math:`\varepsilon` of :math:`G_0 = \varepsilon I`.
    potential : {"adagrad", "pnorm", "ons"} or object
        As in :func:`potential_value`.
    eta : float, default=None
        The step size; needed by the named potentials.
    p : float, default=2.0
        The exponent of ``pnorm``.
    refresh_factor : float, default=1.0
        The factor :math:`\kappa`: a run that steps with an older :math:`H_\tau`, where
        :math:`H_t \preceq H_\tau \preceq \kappa H_t`, pays this factor on the first bracket.
        With the decomposition renewed before :math:`G_t` outgrows
        :math:`(1 + \delta) G_\tau` and :math:`\psi(\lambda) \propto \lambda^{-\alpha}`,
        :math:`\kappa = (1 + \delta)^\alpha`. H holds the older matrices then.

    Returns
    -------
    float

    Examples
    --------
    One round of diagonal AdaGrad with eta = 2 and epsilon = 1, in one dimension:
    g = √3, so that G goes from 1 to 4 and H from 2 to 1.

    >>> from sklearn_adareg.regret import linear_regret, theorem_1
    >>> x, g, H = [[0.0], [-(3**0.5)]], [[3**0.5]], [[1.0]]
    >>> bound = theorem_1(
    ...     x, g, H, [-1.0], H0=[2.0], epsilon=1.0, potential="adagrad", eta=2.0
    ... )
    >>> round(bound, 3), round(linear_regret(x, g, [-1.0]), 3)
    (3.232, 1.732)
    """
    if refresh_factor < 1:
        raise ValueError(
            f"refresh_factor={refresh_factor!r} is below 1, but an older H is never smaller "
            "than the present one; give (1 + delta) ** alpha."
        )
    x, g, H, H0, x_star = _recorded_run(x, g, H, H0, x_star)
    if len(x) != len(g) + 1:
        raise ValueError(
            f"x has {len(x)} rows for {len(g)} gradients; Theorem 1 also needs the iterate after the last round."
        )
    last = np.broadcast_to(H[-1], (len(g), *H.shape[1:]))
    trace = np.sum(H[-1]) if H.ndim == 2 else np.trace(H[-1])
    bracket = (
        epsilon * trace
        + _sum_of_squares(g, last)
        + potential_value(H[-1], potential, eta=eta, p=p)
        - potential_value(H0, potential, eta=eta, p=p)
    )
    # ‖a‖² − ‖b‖² as (a − b)·(a + b): one solve, and nothing cancels far from x*.
    stability = np.sum((x[:-1] - x[1:]) * _solve(H, x[:-1] + x[1:] - 2 * x_star))
    return float(0.5 * refresh_factor * bracket + 0.5 * stability)


def dual_averaging_bound(x, g, H, x_star, *, H0):
    r"""The bound on the regret of a dual averaging run.

    .. math::

        \tfrac12 \|x^* - x_1\|^2_{H_T^{-1}} + \tfrac12 \sum_{t=1}^T \|g_t\|^2_{H_{t-1}}

    The gradient is measured by the matrix of the round before, since :math:`x_t` was chosen with
    it: a gradient far larger than all before it makes this bound larger than Theorem 1. It holds
    while :math:`H_t \preceq H_{t-1}`, so for every operator-antitone :math:`\psi`, and for older
    :math:`H_\tau` too, if they are what H holds. Costs O(TD²), and O(D³) once, for matrices;
    O(TD) for diagonals and scalars.

    Parameters
    ----------
    x : array-like of shape (T, D) or (T + 1, D)
        The iterates, of which only the first matters.
    g : array-like of shape (T, D)
        The gradients.
    H : array-like of shape (T, D, D), (T, D) or (T,)
        The matrices of the steps, or their diagonals, or one number each.
    x_star : array-like of shape (D,)
        The point to compare with, in the domain.
    H0 : array-like of shape (D, D) or (D,), or float
        The matrix before the first round, :math:`\psi(\varepsilon I)`.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import dual_averaging_bound
    >>> dual_averaging_bound([[0.0], [-1.0]], [[1.0]], [[0.5]], [-1.0], H0=[1.0])
    1.5
    """
    x, g, H, H0, x_star = _recorded_run(x, g, H, H0, x_star)
    if H0.ndim == 1 and H.ndim == 3:
        H0 = np.diag(H0)
    elif H0.ndim == 2 and H.ndim == 2:
        H0 = np.diagonal(H0)
    before = np.concatenate([H0[np.newaxis], H[:-1]])
    away = (x_star - x[0])[np.newaxis]
    distance = np.sum(away * _solve(H[-1:], away))
    return float(0.5 * distance + 0.5 * _sum_of_squares(g, before))


def adagrad_bound(G_T, diameter, *, structure="full", eta=None, refresh_factor=1.0):
    r"""The regret bound of AdaGrad: full, diagonal, isotropic (adaptive gradient descent).

    .. math::

        \text{full, diag:}\quad (\kappa\eta + b^2/2\eta)\, \mathrm{tr}\, \tilde G_T^{1/2}
        \qquad \text{iso:}\quad (\kappa c + b^2/2c)\, (\mathrm{tr}\, G_T)^{1/2},
        \; c = \eta\sqrt D

    where :math:`\tilde G_T` is :math:`G_T` (full) or its diagonal (diag), and b is the diameter of
    the domain: Euclidean for full and iso, in the ∞-norm for diag.

    It is :func:`pnorm_bound` with p = 1, and holds for mirror descent with convex losses. Costs
    O(D³) for full, O(D) otherwise.

    Parameters
    ----------
    G_T : array-like of shape (D, D) or (D,)
        The sum :math:`\varepsilon I + \sum_t g_t g_t^T`, or its diagonal if that is all there is or
        all that the structure reads.
    diameter : float
        The b of the bound: no two points of the domain are farther apart. The largest distance of an
        iterate of the run from :math:`x^*` will do.
    structure : {"full", "diag", "iso"}, default="full"
        The structure of :math:`H_t`.
    eta : float, default=None
        The step size; None is the best one, :math:`b/\sqrt2` (iso: :math:`b/\sqrt{2D}`).
    refresh_factor : float, default=1.0
        The factor :math:`\kappa` of :func:`theorem_1`.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import adagrad_bound
    >>> adagrad_bound([4.0, 9.0], diameter=2.0, structure="diag", eta=1.0)
    15.0
    """
    return pnorm_bound(
        G_T, diameter, p=1.0, structure=structure, eta=eta, refresh_factor=refresh_factor
    )


def pnorm_bound(G_T, diameter, *, p=2.0, structure="full", eta=None, refresh_factor=1.0):
    r"""The regret bound of the p-norm potential.

    .. math::

        \frac{b^2}{2\eta}\, \mathrm{tr}\, \tilde G_T^{1/(p+1)}
        + \kappa\eta\, \frac{p+1}{2p}\, \mathrm{tr}\, \tilde G_T^{p/(p+1)}

    where :math:`\tilde G_T = P_S G_T` is :math:`G_T` (full), its diagonal (diag, with b in the
    ∞-norm) or :math:`(\mathrm{tr}\, G_T / D) I` (iso, where the first trace is divided by D).
    It holds for mirror descent with convex losses. Costs O(D³) for full, O(D) otherwise.

    Parameters
    ----------
    G_T : array-like of shape (D, D) or (D,)
        The sum :math:`\varepsilon I + \sum_t g_t g_t^T`, or its diagonal if that is all there is or
        all that the structure reads.
    diameter : float
        The b of the bound: no two points of the domain are farther apart. The largest distance of an
        iterate of the run from :math:`x^*` will do.
    p : float, default=2.0
        The exponent.
    structure : {"full", "diag", "iso"}, default="full"
        The structure of :math:`H_t`.
    eta : float, default=None
        The step size; None is the best one, which needs :math:`G_T` and so hindsight:
        :math:`b \sqrt{\frac{p}{p+1} \mathrm{tr}\, G_T^{1/(p+1)} / \mathrm{tr}\, G_T^{p/(p+1)}}`
        for full and diag.
    refresh_factor : float, default=1.0
        The factor :math:`\kappa` of :func:`theorem_1`.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import pnorm_bound
    >>> round(pnorm_bound([8.0, 1.0], diameter=2.0, p=2.0, structure="diag", eta=1.0), 6)
    9.75
    """
    spectrum = _projected_spectrum(G_T, structure)
    stability = 0.5 * diameter**2 * np.sum(spectrum ** (1 / (p + 1)))
    if structure == "iso":
        # H⁻¹ grows by multiples of I, so vᵀMv = ‖v‖² tr(M)/D where the others have only ≤ tr(M).
        stability /= len(spectrum)
    bracket = (p + 1) / (2 * p) * np.sum(spectrum ** (p / (p + 1)))
    if eta is None:
        eta = np.sqrt(stability / bracket)
    return float(stability / eta + refresh_factor * eta * bracket)


def ons_bound(G_T, diameter, *, epsilon, eta, structure="full"):
    r"""The regret bound of the Online Newton Step: full, diagonal, isotropic.

    .. math::

        \frac{\varepsilon\beta b^2}{2} + \frac{1}{2\beta} \left( D
        + \log\frac{\det \tilde G_T}{\varepsilon^D} \right), \qquad \beta = 1/\eta

    where :math:`\tilde G_T = P_S G_T`. It holds for mirror descent, and asks for more than
    convexity, namely for all x, y of the domain :math:`f_t(x) - f_t(y) \le g \cdot (x-y) - q`
    with :math:`g = \nabla f_t(x)` and

    - full: :math:`q = \frac\beta2 (g \cdot (x-y))^2`, exp-concave losses;
    - diag: :math:`q = \frac\beta2 \sum_i g_i^2 (x_i-y_i)^2`, coordinate-wise exp-concave losses,
      which the losses of a linear model are not;
    - iso: :math:`q = \frac{\beta}{2D} \|g\|^2 \|x-y\|^2`, which α-strongly convex losses with
      :math:`\|g\| \le \gamma` meet for :math:`\beta \le \alpha D/\gamma^2`.

    With :math:`\|g_t\| \le \gamma` and nothing else known of the gradients, put
    :math:`(\varepsilon + \gamma^2 T) I` for :math:`G_T` (iso:
    :math:`(\varepsilon + \gamma^2 T/D) I`). There is no refresh factor: the curvature pays for
    the growth of :math:`G_t` round by round, and an older :math:`G_\tau` would let it come due
    in another round. Costs O(D³) for full, O(D) otherwise.

    Parameters
    ----------
    G_T : array-like of shape (D, D) or (D,)
        The sum :math:`\varepsilon I + \sum_t g_t g_t^T`, or its diagonal if that is all there is or
        all that the structure reads.
    diameter : float
        The b of the bound, Euclidean in every structure. The distance :math:`\|x_1 - x^*\|` will do.
    epsilon : float
        The :math:`\varepsilon` of :math:`G_0 = \varepsilon I`.
    eta : float
        The step size, :math:`1/\beta`.
    structure : {"full", "diag", "iso"}, default="full"
        The structure of :math:`H_t`.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import ons_bound
    >>> round(ons_bound([2.0, 4.0], diameter=2.0, epsilon=1.0, eta=1.0), 4)
    4.0397
    """
    spectrum = _projected_spectrum(G_T, structure)
    bracket = len(spectrum) + np.sum(np.log(spectrum / epsilon))
    return float(epsilon * diameter**2 / (2 * eta) + eta / 2 * bracket)


def _eigenvalues(A):
    A = np.asarray(A, dtype=float)
    if A.ndim == 1:
        return A
    if A.ndim == 2 and A.shape[0] == A.shape[1]:
        return np.linalg.eigvalsh(A)
    raise ValueError(f"Expected a square matrix or its diagonal, got shape {A.shape}.")


def _projected_spectrum(G_T, structure):
    """Eigenvalues of P_S G_T, all D of them."""
    G_T = np.asarray(G_T, dtype=float)
    if structure == "full":
        return _eigenvalues(G_T)
    if structure not in ("diag", "iso"):
        raise ValueError(f"structure={structure!r} is not known; give 'full', 'diag' or 'iso'.")
    diagonal = G_T if G_T.ndim == 1 else np.diagonal(G_T)
    return diagonal if structure == "diag" else np.full(len(diagonal), np.mean(diagonal))


def _recorded_run(x, g, H, H0, x_star):
    """The run as arrays of agreeing shapes, scalar H written out as diagonals."""
    x, g, H, H0, x_star = (np.asarray(a, dtype=float) for a in (x, g, H, H0, x_star))
    if g.ndim != 2 or len(g) == 0:
        raise ValueError(f"g must have shape (T, D) with T ≥ 1, got {g.shape}.")
    n_rounds, n_coordinates = g.shape
    if H.ndim == 1:
        H = np.repeat(H[:, np.newaxis], n_coordinates, axis=1)
    if H0.ndim == 0:
        H0 = np.full(n_coordinates, H0)
    if len(H) != n_rounds or any(n != n_coordinates for n in H.shape[1:]):
        raise ValueError(f"H of shape {H.shape} does not fit g of shape {g.shape}.")
    if any(n != n_coordinates for n in (*H0.shape, *x.shape[1:], *x_star.shape)):
        raise ValueError(
            f"H0, x and x_star of shapes {H0.shape}, {x.shape} and {x_star.shape} do not fit g of shape {g.shape}."
        )
    return x, g, H, H0, x_star


def _sum_of_squares(v, H):
    """Σ_t ‖v_t‖²_{H_t}."""
    Hv = H * v if H.ndim == 2 else np.matmul(H, v[:, :, np.newaxis])[:, :, 0]
    return np.sum(v * Hv)


def _solve(H, v):
    """H_t⁻¹ v_t, row by row."""
    if H.ndim == 2:
        return v / H
    return np.linalg.solve(H, v[:, :, np.newaxis])[:, :, 0]
