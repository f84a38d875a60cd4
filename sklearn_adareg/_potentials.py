"""Potentials as Python sees them: what a user subclasses."""

from abc import ABC, abstractmethod


class SpectralPotential(ABC):
    r"""A spectral potential :math:`\Phi(H) = -\mathrm{tr}\,\phi(H)`, to be subclassed.

    Pass an instance as ``potential`` to :class:`AdaRegClassifier` or :class:`AdaRegRegressor` and the preconditioner of
    every structure becomes :math:`H_t = \psi(G_t)` with :math:`\psi = (\phi')^{-1}` on the eigenvalues. The step
    size belongs to :math:`\psi`: the estimator's ``eta`` is not used.

    ``psi`` runs with the interpreter's lock held, once a round for the structures ``"diag"`` and ``"iso"`` and once
    a decomposition for ``"full"``; it costs a Python call where the built-in potentials cost none. An exception in it
    stops that round: the rounds before it stand, and the exception reaches the caller.

    Attributes
    ----------
    operator_antitone : bool
        Whether :math:`A \preceq B` implies :math:`\psi(B) \preceq \psi(A)`. Powers :math:`\lambda^{-a}` are for
        :math:`0 \le a \le 1`. Only then may a decomposition serve for several rounds.

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
    """

    operator_antitone = False

    @abstractmethod
    def psi(self, eigenvalues):
        """Steps for eigenvalues of G: positive, finite, elementwise.

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
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self):
        return hash((type(self), tuple(sorted(vars(self)))))
