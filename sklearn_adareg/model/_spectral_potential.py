"""Potentials as Python sees them: what a user subclasses."""

import inspect
from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np
from sklearn.base import BaseEstimator


@lru_cache(maxsize=64)
def takes_t(method):
    """Whether a method has a parameter ``t``, the number of the round."""
    return "t" in inspect.signature(method).parameters


class SpectralPotential(BaseEstimator, ABC):
    r"""A spectral potential :math:`\Phi(H) = -\mathrm{tr}\,\phi(H)`, to be subclassed.

    Pass an instance as ``potential`` to :class:`AdaRegClassifier` or :class:`AdaRegRegressor` and the preconditioner of
    every structure becomes :math:`H_t = \psi(G_t)` with :math:`\psi = (\phi')^{-1}` on the eigenvalues. The step
    size belongs to :math:`\psi`: the estimator's ``eta`` is not used.

    ``psi`` runs with the interpreter's lock held, once a round for the structures ``"diag"`` and ``"iso"`` and once
    a decomposition for ``"full"``; it costs a Python call where the built-in potentials cost none. An exception in it
    stops that round: the rounds before it stand, and the exception reaches the caller.

    Parameters of ``__init__`` are those of a scikit-learn estimator: each is stored under its own name. Then ``clone``,
    ``get_params``, ``set_params`` and a search over ``potential__<parameter>`` work.

    Attributes
    ----------
    operator_antitone : bool
        Whether :math:`A \preceq B` implies :math:`\psi(B) \preceq \psi(A)`. Powers :math:`\lambda^{-a}` are for
        :math:`0 \le a \le 1`. Only then may a decomposition serve for several rounds.

    Notes
    -----
    A potential may vary with time: if ``psi`` has a second parameter ``t``, it is called with the number of the
    round, 1, 2, and so on, and :math:`H_t = \psi_t(G_t)` minimises :math:`G_t \bullet H + \Phi_t(H)`. Before the first
    round, :math:`H_0 = \psi_1(\varepsilon I)`. ``value`` then has the parameter ``t`` too. Theorem 1 holds with the
    changes of the potential added to its first bracket:

    .. math::

        \tfrac12 \Big( G_T \bullet H_T + \Phi_T(H_T) - \Phi_1(H_0)
        + \sum_{t=2}^T \big( \Phi_{t-1}(H_t) - \Phi_t(H_t) \big) \Big)
        + \tfrac12 \sum_{t=1}^T \Delta_t(x^*)

    The proof is the paper's: in its follow-the-leader lemma, round t's function of H becomes
    :math:`g_t g_t^\top \bullet H + \Phi_t(H) - \Phi_{t-1}(H)`. The added sum is at most 0 where :math:`\Phi_t` does not
    decrease in t. The sum over :math:`\Delta_t` telescopes on a bounded domain, and the bound on dual averaging holds,
    where :math:`H_t \preceq H_{t-1}`: for an operator-antitone :math:`\psi_t` that does not increase in t. A decomposition
    is certified to serve for several rounds only while :math:`\psi` stays the same, so a potential that varies with time
    costs one decomposition per round in the structure ``"full"``, whatever ``refresh`` is. Dual averaging with such a
    potential moves every weight in every round, which costs O(d) where the features are sparse, too.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_adareg import AdaRegClassifier, SpectralPotential
    >>> class FourthRoot(SpectralPotential):
    ...     operator_antitone = True
    ...     def psi(self, eigenvalues):
    ...         return 0.1 * eigenvalues**-0.25
    ...     def value(self, steps):
    ...         return 0.1**4 / 3 * np.sum(steps**-3.0)
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaRegClassifier(FourthRoot(), "diag", max_iter=5, tol=None, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True

    A step size that falls with time, and a search over its parameters:

    >>> from sklearn.model_selection import GridSearchCV
    >>> class Cooling(SpectralPotential):
    ...     def __init__(self, eta=0.5, power=0.1):
    ...         self.eta = eta
    ...         self.power = power
    ...     def psi(self, eigenvalues, t):
    ...         return self.eta * t**-self.power / np.sqrt(eigenvalues)
    >>> model = AdaRegClassifier(Cooling(), "diag", max_iter=1, random_state=0)
    >>> search = GridSearchCV(model, {"potential__power": [0.0, 0.1, 1.0]}, cv=3).fit(X, y)
    >>> search.best_params_["potential__power"] < 1.0
    True
    """

    __module__ = "sklearn_adareg"  # the public path, which saved models keep

    operator_antitone = False

    @property
    def time_varying(self):
        """Whether ``psi`` has a parameter ``t``."""
        return takes_t(type(self).psi)

    @abstractmethod
    def psi(self, eigenvalues):
        """Steps for eigenvalues of G: positive, finite, elementwise.

        A subclass may have a second parameter ``t``, the number of the round.

        Parameters
        ----------
        eigenvalues : ndarray of shape (n,)
            Positive eigenvalues.

        Returns
        -------
        ndarray of shape (n,)
            The eigenvalues of H.
        """

    def value(self, steps):
        """The potential Φ(H) = −Σ φ(h) from the eigenvalues of H, for the regret bounds.

        Where ``psi`` has a parameter ``t``, this has one too.

        Parameters
        ----------
        steps : ndarray of shape (n,)
            Eigenvalues of H.

        Returns
        -------
        float
            The potential.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no value(steps); define it as −Σφ(h) to evaluate regret bounds."
        )

    def __eq__(self, other):
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_same(mine[name], theirs[name]) for name in mine)

    def __hash__(self):
        return hash(type(self))


def _same(one, other):
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or bool(one == other)
