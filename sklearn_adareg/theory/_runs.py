"""Theorem 1 and its relatives on a recorded run; :mod:`sklearn_adareg.regret` has the symbols."""

import numpy as np

from ..model import _registry
from ..model._spectra import eigenvalues
from ..model._spectral_potential import takes_t


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


def potential_value(H, potential, *, eta=None, p=2.0, t=1):
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
        An object has a method ``value(h)``, which takes the D eigenvalues of H and returns :math:`-\sum_i \phi(h_i)`; eta and p
        are then its own affair. One that varies with time has the method ``value(h, t)``.
    eta : float, default=None
        The step size; needed by the named potentials.
    p : float, default=2.0
        The exponent of ``pnorm``.
    t : int, default=1
        The round, for a potential that varies with time.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import potential_value
    >>> potential_value([0.5, 0.25], "adagrad", eta=1.0)
    6.0
    """
    h = eigenvalues(H)
    if not isinstance(potential, str):
        varies = takes_t(type(potential).value)
        return float(potential.value(h, t=t) if varies else potential.value(h))
    known = {name: entry.value for name, entry in _registry.POTENTIALS.items() if entry.value}
    if potential not in known:
        raise ValueError(
            f"potential={potential!r} is not known; give {', '.join(map(repr, known))} or an object with a method value(h)."
        )
    if eta is None:
        raise ValueError(f"The value of potential {potential!r} depends on eta; give eta.")
    return float(known[potential](h, eta, p))


def theorem_1(x, g, H, x_star, *, H0, epsilon, potential, refresh_factor=1.0, **parameters):
    r"""Theorem 1: the bound on the regret of any mirror descent run.

    .. math::

        \tfrac12 \kappa \left( G_T \bullet H_T + \Phi(H_T) - \Phi(H_0) \right)
        + \tfrac12 \sum_{t=1}^T \Delta_t(x^*), \qquad
        \Delta_t(x^*) = \|x_t - x^*\|^2_{H_t^{-1}} - \|x_{t+1} - x^*\|^2_{H_t^{-1}}

    It holds for every structure, every convex domain and every sequence of convex losses. For a
    potential that varies with time (see :class:`~sklearn_adareg.SpectralPotential`), the bracket is
    :math:`G_T \bullet H_T + \Phi_T(H_T) - \Phi_1(H_0) + \sum_{t=2}^T (\Phi_{t-1}(H_t) - \Phi_t(H_t))`.
    Costs O(TD³) for matrices, O(TD) for diagonals and scalars.

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
    refresh_factor : float, default=1.0
        The factor :math:`\kappa`: a run that steps with an older :math:`H_\tau`, where
        :math:`H_t \preceq H_\tau \preceq \kappa H_t`, pays this factor on the first bracket.
        With the decomposition renewed before :math:`G_t` outgrows
        :math:`(1 + \delta) G_\tau` and :math:`\psi(\lambda) \propto \lambda^{-\alpha}`,
        :math:`\kappa = (1 + \delta)^\alpha`. H holds the older matrices then.
    **parameters : float
        ``eta`` and ``p`` of a named potential, as in :func:`potential_value`.

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
        + potential_value(H[-1], potential, t=len(g), **parameters)
        - potential_value(H0, potential, **parameters)
        + _changes(H, potential)
    )
    # ‖a‖² − ‖b‖² as (a − b)·(a + b): one solve, and nothing cancels far from x*.
    stability = np.sum((x[:-1] - x[1:]) * _solve(H, x[:-1] + x[1:] - 2 * x_star))
    return float(0.5 * refresh_factor * bracket + 0.5 * stability)


def dual_averaging_bound(x, g, H, x_star, *, H0):
    r"""The bound on the regret of a dual averaging run.

    .. math::

        \tfrac12 \|x^* - x_1\|^2_{H_T^{-1}} + \tfrac12 \sum_{t=1}^T \|g_t\|^2_{H_{t-1}}

    The gradient is measured by the matrix of the round before, since :math:`x_t` was chosen with it: a gradient far larger than
    all before it makes this bound larger than Theorem 1. It holds while :math:`H_t \preceq H_{t-1}`, so for every
    operator-antitone :math:`\psi`, and for older :math:`H_\tau` too, if they are what H holds. Costs O(TD²), and O(D³) once, for
    matrices; O(TD) for diagonals and scalars.

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


def _changes(H, potential):
    """Σ_{t≥2} Φ_{t−1}(H_t) − Φ_t(H_t); 0 for a potential that stays the same."""
    if isinstance(potential, str) or not takes_t(type(potential).value):
        return 0.0
    return sum(
        potential_value(H[t - 1], potential, t=t - 1) - potential_value(H[t - 1], potential, t=t)
        for t in range(2, len(H) + 1)
    )


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
    return v / H if H.ndim == 2 else np.linalg.solve(H, v[:, :, np.newaxis])[:, :, 0]
