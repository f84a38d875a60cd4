"""AdaRegRegressor: one target or several."""

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from . import _registry
from ._base import BaseAdaReg


class AdaRegRegressor(RegressorMixin, BaseAdaReg):
    __doc__ = "filled in from _documentation"

    _parameter_constraints = {
        **BaseAdaReg._parameter_constraints,
        "loss": [StrOptions(set(_registry.REGRESSION_LOSSES))],
        "huber_delta": [Interval(Real, 0, None, closed="neither")],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "insensitivity": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        potential="auto",
        structure="auto",
        *,
        loss="squared_error",
        huber_delta=1.35,
        quantile=0.5,
        insensitivity=0.1,
        p=2.0,
        eta="auto",
        epsilon="auto",
        scaling=None,
        domain=None,
        radius=None,
        update="mirror_descent",
        alpha=0.0,
        l1_ratio=0.0,
        average=2.0,
        fit_intercept=True,
        max_iter=100,
        tol=1e-3,
        n_iter_no_change=3,
        shuffle=True,
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.potential = potential
        self.structure = structure
        self.loss = loss
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.insensitivity = insensitivity
        self.p = p
        self.eta = eta
        self.epsilon = epsilon
        self.scaling = scaling
        self.domain = domain
        self.radius = radius
        self.update = update
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.average = average
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, in up to ``max_iter`` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; float32 and float64, C-contiguous or CSR, are read where they lie.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row. A row of weight 0 is no round at all.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from these rows, once, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row.

        Returns
        -------
        self : object
            The estimator, having learnt.
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X):
        """The prediction for each row: the margin, or its exponential for ``loss="poisson"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        margins = self._margins(X)
        if self.loss == "poisson":
            margins = np.exp(margins)
        return margins if self._state.recipe["several"] else margins[:, 0]

    # ---- what the base asks -------------------------------------------------------------------------------------

    def _encode(self, y):
        y = np.asarray(y, dtype=np.float64)
        if self.loss == "poisson" and (y < 0).any():
            raise ValueError(
                "y has negative values, and loss='poisson' models counts; use another loss, or shift y."
            )
        return np.ascontiguousarray(y.reshape(len(y), -1))

    def _lanes(self, targets):
        return targets.shape[1]

    def _loss_kernel(self):
        entry = _registry.REGRESSION_LOSSES[self.loss]
        return entry.kernel(*(getattr(self, name) for name in entry.parameters))

    def _shape(self, coef, intercept):
        return (coef if self._state.recipe["several"] else coef[0]), intercept
