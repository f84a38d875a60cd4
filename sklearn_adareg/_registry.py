"""Name → piece. Parameter constraints, documentation tables and test grids all derive from these tables.

A new loss, potential, structure or domain is one class in ``_kernels`` and one line here.
"""

from dataclasses import dataclass, field

from ._kernels import (
    _diag,
    _domains,
    _full_ons,
    _iso,
    _l2_ball,
    _losses,
    _newton,
    _potentials,
    _simplex,
    _spectral,
)
from ._potentials import SpectralPotential


@dataclass(frozen=True)
class Loss:
    """A loss and what the rest of the package needs to know about it."""

    kernel: type
    parameters: tuple = ()  # estimator parameters that the kernel takes
    probabilities: bool = False
    exp_concave: bool = False  # on bounded margins, in the paper's sense: no linear part
    degree: int = 0  # in the unit of the residual; 0 where there is none


@dataclass(frozen=True)
class Potential:
    """A built-in potential ψ(λ) = η λ^exponent."""

    kernel: type
    parameters: tuple = field(default=())


CLASSIFICATION_LOSSES = {
    "log_loss": Loss(_losses.LogLoss, probabilities=True, exp_concave=True),
    "hinge": Loss(_losses.Hinge),
    "squared_hinge": Loss(_losses.SquaredHinge, exp_concave=True),
    "modified_huber": Loss(_losses.ModifiedHuber, probabilities=True),
    "perceptron": Loss(_losses.Perceptron),
}
REGRESSION_LOSSES = {
    "squared_error": Loss(_losses.SquaredError, exp_concave=True, degree=2),
    "huber": Loss(_losses.Huber, ("huber_delta",), degree=2),
    "absolute_error": Loss(_losses.AbsoluteError, degree=1),
    "quantile": Loss(_losses.Quantile, ("quantile",), degree=1),
    "epsilon_insensitive": Loss(_losses.EpsilonInsensitive, ("insensitivity",), degree=1),
    "squared_epsilon_insensitive": Loss(
        _losses.SquaredEpsilonInsensitive, ("insensitivity",), degree=2
    ),
    "poisson": Loss(_losses.Poisson, exp_concave=True),
}
POTENTIALS = {
    "adagrad": Potential(_potentials.AdaGrad),
    "ons": Potential(_potentials.OnlineNewton),
    "pnorm": Potential(_potentials.PNorm, ("p",)),
}
STRUCTURES = {
    "full": lambda recipe: _full_kernel(recipe),
    "diag": lambda recipe: _diag.Diagonal,
    "iso": lambda recipe: _iso.IsotropicDual if _iso_unmultiplied(recipe) else _iso.Isotropic,
}
DOMAINS = {
    None: _domains.NoDomain,
    "l2": _l2_ball.L2Ball,
    "box": _domains.Box,
    "l1": _simplex.L1Ball,
    "simplex": _simplex.Simplex,
    "nonnegative": _domains.Nonnegative,
}
UPDATES = ("mirror_descent", "dual_averaging")


def _full_kernel(recipe):
    if recipe["newton"]:
        return _newton.Newton
    return _full_ons.FullONS if recipe["potential"] == "ons" else _spectral.FullSpectral


def _iso_unmultiplied(recipe):
    """Isotropic dual averaging moves every coordinate each round; alone, it can be kept as one product."""
    return recipe["update"] == "dual_averaging" and recipe["domain"] is None and not recipe["alpha"]


def potential_kernel(potential, p):
    """The compiled map ψ for a name or for a user's :class:`SpectralPotential`."""
    if isinstance(potential, SpectralPotential):
        return _potentials.Callback(potential.psi)
    entry = POTENTIALS[potential]
    return entry.kernel(*([p] if entry.parameters else []))
