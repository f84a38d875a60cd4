r"""Regret bounds: Theorem 1 on a recorded run, and the closed forms it gives.

The estimators' ``regret_bound()`` gives the closed form that fits a fitted model, as a :class:`RegretBound`. :func:`record` plays
the rounds of an estimator and keeps every iterate, gradient and matrix. The rest is arithmetic on such a run, for checking it
against the theory or for drawing the two in one figure. The symbols, once for the whole module:

- :math:`x_1, \ldots, x_{T+1}`: the points that predicted, and the one after the last round;
- :math:`g_t`: the gradient of the loss :math:`f_t` at :math:`x_t`, D coordinates;
- :math:`G_T = \varepsilon I + \sum_t g_t g_t^T`;
- :math:`H_t = \psi(P_S G_t)`: the matrix of round t's step, :math:`H_0 = \psi(\varepsilon I)`;
- :math:`x^*`: any point of the domain, with which the run is compared.

A regularisation matrix is given as it is kept: a matrix (full), its diagonal (diag), or one number (iso). The bounds hold for
``scaling=None`` and ``alpha=0`` (or the L2 penalty of structure full, which is part of the gradient).

The closed forms are the last line before the paper simplifies log(1 + u) to log u: the simplified
line lies below what is proved when u is small.

References
----------
V. Gupta, T. Koren and Y. Singer, "A Unified Approach to Adaptive Regularization in Online and
Stochastic Optimization", 2017.
"""

from .model._loss_constants import LossConstants
from .theory._bounds import RegretBound
from .theory._closed_forms import adagrad_bound, kronecker_bound, ons_bound, pnorm_bound
from .theory._record import course, record
from .theory._runs import dual_averaging_bound, linear_regret, potential_value, theorem_1
from .theory._steps import loss_constants

__all__ = [
    "LossConstants",
    "RegretBound",
    "adagrad_bound",
    "course",
    "dual_averaging_bound",
    "kronecker_bound",
    "linear_regret",
    "loss_constants",
    "ons_bound",
    "pnorm_bound",
    "potential_value",
    "record",
    "theorem_1",
]
