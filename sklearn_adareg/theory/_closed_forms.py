"""Regret bounds as functions of G_T; :mod:`sklearn_adareg.regret` has the symbols."""

from numbers import Integral

import numpy as np

from ..model import _registry
from ..model._feature_blocks import block_numbers
from ..model._spectra import eigenvalues, escaped_mass


def adagrad_bound(G_T, diameter, *, structure="full", blocks=None, rank=None, eta=None, refresh_factor=1.0):
    r"""The regret bound of AdaGrad: full, diagonal, isotropic (adaptive gradient descent).

    .. math::

        \text{full, block, sketch, diag:}\quad (\kappa\eta + b^2/2\eta)\, \mathrm{tr}\, \tilde G_T^{1/2}
        \qquad \text{iso:}\quad (\kappa c + b^2/2c)\, (\mathrm{tr}\, G_T)^{1/2},
        \; c = \eta\sqrt D

    where :math:`\tilde G_T` is :math:`G_T` (full), its blocks (block) or its diagonal (diag), and b is the diameter of the
    domain: Euclidean for full and iso, in the ∞-norm for diag, and for block the largest Euclidean diameter of its projection
    onto the coordinates of a block. For a sketch it is :math:`G_T + \rho I`, which is above every sketch of that rank, with

    .. math:: \rho = \min_{k \le \mathrm{rank}} \frac{1}{\mathrm{rank} + 1 - k} \sum_{i > k} \lambda_i(G_T)

    (0 if the rank is at least D), the error term of S-AdaGrad (Feinberg et al. 2023). The sketch that a run has ended with,
    :attr:`AdaReg.G <sklearn_adareg.AdaReg>`, is smaller: with that for :math:`G_T` and structure "full", the bound holds as well.

    It is :func:`pnorm_bound` with p = 1, and holds for mirror descent with convex losses. Costs O(D³) for full, O(D) otherwise.

    Parameters
    ----------
    G_T : array-like of shape (D, D) or (D,)
        The sum :math:`\varepsilon I + \sum_t g_t g_t^T`, or its diagonal if that is all there is or all that the structure reads.
    diameter : float
        The b of the bound: no two points of the domain are farther apart. The largest distance of an
        iterate of the run from :math:`x^*` will do.
    structure : {"full", "block", "sketch", "diag", "iso"}, default="full"
        The structure of :math:`H_t`.
    blocks : int or list, default=None
        The blocks of structure "block", as the estimators take them, of the D coordinates.
    rank : int, default=None
        The rank of structure "sketch".
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
        G_T, diameter, p=1.0, structure=structure, blocks=blocks, rank=rank, eta=eta, refresh_factor=refresh_factor
    )


def pnorm_bound(G_T, diameter, *, p=2.0, structure="full", blocks=None, rank=None, eta=None, refresh_factor=1.0):
    r"""The regret bound of the p-norm potential.

    .. math::

        \frac{b^2}{2\eta}\, \mathrm{tr}\, \tilde G_T^{1/(p+1)}
        + \kappa\eta\, \frac{p+1}{2p}\, \mathrm{tr}\, \tilde G_T^{p/(p+1)}

    where :math:`\tilde G_T = P_S G_T` is :math:`G_T` (full), its blocks (block, with b the largest
    diameter in the coordinates of a block), :math:`G_T + \rho I` (sketch, see :func:`adagrad_bound`),
    its diagonal (diag, with b in the ∞-norm) or
    :math:`(\mathrm{tr}\, G_T / D) I` (iso, where the first trace is divided by D).
    It holds for mirror descent with convex losses. Costs O(D³) for full, O(D) otherwise.

    Parameters
    ----------
    G_T : array-like of shape (D, D) or (D,)
        The sum :math:`\varepsilon I + \sum_t g_t g_t^T`, or its diagonal if that is all there is or all that the structure reads.
    diameter : float
        The b of the bound: no two points of the domain are farther apart. The largest distance of an
        iterate of the run from :math:`x^*` will do.
    p : float, default=2.0
        The exponent.
    structure : {"full", "block", "sketch", "diag", "iso"}, default="full"
        The structure of :math:`H_t`.
    blocks : int or list, default=None
        The blocks of structure "block", as the estimators take them, of the D coordinates.
    rank : int, default=None
        The rank of structure "sketch".
    eta : float, default=None
        The step size; None is the best one, which needs :math:`G_T` and so hindsight:
        :math:`b \sqrt{\frac{p}{p+1} \mathrm{tr}\, G_T^{1/(p+1)} / \mathrm{tr}\, G_T^{p/(p+1)}}` for full, block and diag.
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
    spectrum = _projected_spectrum(G_T, structure, blocks, rank)
    one_step_size = _registry.STRUCTURES[structure].one_step_size
    terms = pnorm_terms(spectrum, diameter, p=p, one_step_size=one_step_size)
    if eta is None:
        eta = np.sqrt(terms["diameter"] / terms["gradients"])
    return float(terms["diameter"] / eta + refresh_factor * eta * terms["gradients"])


def ons_bound(G_T, diameter, *, epsilon, eta, structure="full", blocks=None, rank=None):
    r"""The regret bound of the Online Newton Step: full, diagonal, isotropic.

    .. math::

        \frac{\varepsilon\beta b^2}{2} + \frac{1}{2\beta} \left( D
        + \log\frac{\det \tilde G_T}{\varepsilon^D} \right), \qquad \beta = 1/\eta

    where :math:`\tilde G_T = P_S G_T`. For a sketch, :math:`\tilde G_T = G_T + \rho I` as in :func:`adagrad_bound` (there of
    :math:`G_T - \varepsilon I`), and :math:`\varepsilon + \rho` replaces :math:`\varepsilon` in the first term: as in Sketched
    Online Newton (Luo et al. 2016), no curvature pays for what a shrink adds. The bound holds for mirror descent, and asks for
    more than convexity, namely for all x, y of the domain :math:`f_t(x) - f_t(y) \le g \cdot (x-y) - q` with
    :math:`g = \nabla f_t(x)` and

    - full, sketch: :math:`q = \frac\beta2 (g \cdot (x-y))^2`, exp-concave losses;
    - block: :math:`q = \frac\beta2 \sum_B (g_B \cdot (x_B-y_B))^2` over the blocks B;
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
        The sum :math:`\varepsilon I + \sum_t g_t g_t^T`, or its diagonal if that is all there is or all that the structure reads.
    diameter : float
        The b of the bound, Euclidean in every structure. The distance :math:`\|x_1 - x^*\|` will do.
    epsilon : float
        The :math:`\varepsilon` of :math:`G_0 = \varepsilon I`.
    eta : float
        The step size, :math:`1/\beta`.
    structure : {"full", "block", "sketch", "diag", "iso"}, default="full"
        The structure of :math:`H_t`.
    blocks : int or list, default=None
        The blocks of structure "block", as the estimators take them, of the D coordinates.
    rank : int, default=None
        The rank of structure "sketch".

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_adareg.regret import ons_bound
    >>> round(ons_bound([2.0, 4.0], diameter=2.0, epsilon=1.0, eta=1.0), 4)
    4.0397
    """
    spectrum = _projected_spectrum(G_T, structure, blocks, rank, epsilon)
    start = epsilon
    if _registry.STRUCTURES[structure].has_rank:  # no curvature pays for what a shrink adds
        start += escaped_mass(eigenvalues(G_T), rank, epsilon)
    terms = ons_terms(spectrum, diameter, epsilon=epsilon, start=start)
    return float(terms["diameter"] / eta + eta * terms["gradients"])


def kronecker_bound(L_T, R_T, diameter, *, eta=None, rank=1, refresh_factor=1.0):
    r"""The regret bound of AdaGrad with a Kronecker product: Shampoo.

    .. math::

        (\kappa r \eta + b^2/2\eta)\, \mathrm{tr}\, L_T^{1/4}\, \mathrm{tr}\, R_T^{1/4}

    where :math:`L_T = \varepsilon I + \sum_t g_t g_t^T` and
    :math:`R_T = \varepsilon I + \sum_t g_t^T g_t` of gradients :math:`g_t` that are matrices of rank
    r at most. Those of a linear model, slopes times row, have rank 1; an L2 penalty takes that to
    the smaller of K and D.

    It is Theorem 7 of the paper that introduces Shampoo, for any step size: :math:`r \varepsilon I +
    \sum_t \mathrm{vec}(g_t)\, \mathrm{vec}(g_t)^T \preceq r\, L_T^{1/2} \otimes R_T^{1/2}`, so that
    the sum of the squared dual norms of the gradients is at most :math:`2 r\, \mathrm{tr}(L_T^{1/4}
    \otimes R_T^{1/4})`. It holds for the structure ``"kronecker"`` with the potential
    ``"adagrad"`` and convex losses; no bound is claimed for the other potentials. Costs O(K³ + D³).

    Parameters
    ----------
    L_T : array-like of shape (K, K)
        The matrix of the weight vectors at the end of the run.
    R_T : array-like of shape (D, D)
        The matrix of the coordinates.
    diameter : float
        The b of the bound: the largest Euclidean distance, over all K·D numbers, of an iterate from :math:`x^*`.
    eta : float, default=None
        The step size; None is the best one, :math:`b/\sqrt{2r}`.
    rank : int, default=1
        The largest rank r of a gradient.
    refresh_factor : float, default=1.0
        The factor :math:`\kappa` by which the matrix of a step may exceed that of :math:`L_t` and
        :math:`R_t`: :math:`(1 + \delta)^{1/2}` for ``refresh`` :math:`\delta`.

    Returns
    -------
    float

    References
    ----------
    V. Gupta, T. Koren and Y. Singer, "Shampoo: Preconditioned Stochastic Tensor Optimization", 2018.

    Examples
    --------
    >>> from sklearn_adareg.regret import kronecker_bound
    >>> kronecker_bound([[16.0]], [[81.0, 0.0], [0.0, 1.0]], diameter=2.0, eta=1.0)
    24.0
    """
    terms = kronecker_terms(L_T, R_T, diameter, rank=rank)
    if eta is None:
        eta = np.sqrt(terms["diameter"] / terms["gradients"])
    return float(terms["diameter"] / eta + refresh_factor * eta * terms["gradients"])


# The two terms of each form for η = 1: "diameter" is to be divided by η, "gradients" multiplied by it and by κ.


def pnorm_terms(spectrum, diameter, *, p, one_step_size):
    """Of AdaGrad (p = 1) and the p-norm, from the eigenvalues of P_S G_T."""
    stability = 0.5 * diameter**2 * np.sum(spectrum ** (1 / (p + 1)))
    if one_step_size:
        # H⁻¹ grows by multiples of I, so vᵀMv = ‖v‖² tr(M)/D where the others have only ≤ tr(M).
        stability /= len(spectrum)
    bracket = (p + 1) / (2 * p) * np.sum(spectrum ** (p / (p + 1)))
    return {"diameter": stability, "gradients": bracket}


def ons_terms(spectrum, diameter, *, epsilon, start):
    """Of ONS where the losses have the curvature that it assumes; ``start``: ε, and what a sketch has added to it."""
    bracket = len(spectrum) + np.sum(np.log(spectrum / epsilon))
    return {"diameter": 0.5 * start * diameter**2, "gradients": 0.5 * bracket}


def spectral_terms(spectrum, diameter, *, steps, change, one_step_size):
    """Of any ψ that is operator-antitone, for losses that are convex and no more: Theorem 1 with v'H⁻¹v ≤ b² tr H⁻¹.

    ``steps``: the eigenvalues of H_T, its step size included; ``change``: Φ(H_T) − Φ(H_0). For η = 1.
    """
    stability = 0.5 * diameter**2 * np.sum(1 / steps)
    if one_step_size:
        stability /= len(spectrum)
    return {"diameter": stability, "gradients": 0.5 * (np.sum(spectrum * steps) + change)}


def kronecker_terms(L_T, R_T, diameter, *, rank=1):
    """Of AdaGrad with a Kronecker product."""
    trace = np.prod([np.sum(eigenvalues(factor) ** 0.25) for factor in (L_T, R_T)])
    return {"diameter": 0.5 * diameter**2 * trace, "gradients": rank * trace}


def _projected_spectrum(G_T, structure, blocks, rank, epsilon=0.0):
    """Eigenvalues of P_S G_T, all D of them; of a sketch, the most that they can be."""
    known = {name: entry.spectrum for name, entry in _registry.STRUCTURES.items() if entry.spectrum}
    if structure not in known:
        *others, last = map(repr, known)
        raise ValueError(f"structure={structure!r} is not known; give {', '.join(others)} or {last}.")
    G_T = np.asarray(G_T, dtype=float)
    if _registry.STRUCTURES[structure].has_rank:
        if not isinstance(rank, Integral) or rank < 1:
            raise ValueError(f"structure={structure!r} needs its rank, a positive integer; got {rank!r}.")
        return known[structure](G_T, rank, epsilon)
    if not _registry.STRUCTURES[structure].has_blocks:
        return known[structure](G_T)
    if blocks is None or isinstance(blocks, str):
        raise ValueError(
            f"structure={structure!r} needs blocks, an integer or a list of groups of coordinates; got {blocks!r}."
        )
    return known[structure](G_T, block_numbers(blocks, len(G_T)))
