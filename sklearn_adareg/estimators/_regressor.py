"""AdaRegRegressor: one target or several."""

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._kernels.prequential._records import Tracks
from ..model import _registry
from ..model._recipe import ModelShape
from ..model._rules import Registered
from ..model._validation import check_rows, shown
from ._base import BaseAdaReg, PrequentialMargins
from ._documentation import document, options


class AdaRegRegressor(RegressorMixin, BaseAdaReg):
    __module__ = "sklearn_adareg"  # the public path, which saved models keep
    __doc__ = document(
        """Linear regressor learnt online by adaptive regularization.

    The defaults need neither scaled features nor a learning rate: start with ``AdaRegRegressor()``, on arrays or, in chunks, by
    ``partial_fit``. The algorithm is that of :class:`AdaRegClassifier`: round :math:`t`, with weights :math:`x_t` and the gradient
    :math:`g_t` of the row's loss, takes the step :math:`x_{t+1} = \\Pi^{H_t^{-1}}(x_t - H_t g_t)` with
    :math:`H_t = \\psi(\\epsilon I + \\sum_{s \\le t} g_s g_s^\\top)`. A round costs :math:`O(\\mathrm{nnz})` for
    the structures ``"diag"`` and ``"iso"`` and :math:`O(d^2)` for ``"full"`` with the potential ``"ons"``.

    Several targets (y with two dimensions) are learnt side by side, each with its own weights and its own matrix :math:`G_t`; the
    structure ``"kronecker"`` has one for all of them.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights.
    {attributes}

    See Also
    --------
    AdaRegClassifier : The same for classes.
    sklearn.linear_model.SGDRegressor : Stochastic gradient descent with a step-size schedule.

    References
    ----------
    V. Gupta, T. Koren and Y. Singer, "A Unified Approach to Adaptive Regularization in Online and Stochastic Optimization", 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_adareg import AdaRegRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaRegRegressor(max_iter=1, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.45
    True
    """,
        independent="several targets",
        loss=f"""loss : {options(_registry.REGRESSION_LOSSES)}, default="squared_error"
    The loss. Choose it by the task (see the guide).
    {"; ".join(f'``"{name}"`` {e.summary}' for name, e in _registry.REGRESSION_LOSSES.items() if e.summary)}.
huber_delta : float, default=1.35
    The residual at which ``"huber"`` changes from quadratic to linear. Lower it if there are many outliers.
quantile : float, default=0.5
    The level of the quantile that ``"quantile"`` predicts.
insensitivity : float, default=0.1
    Residuals up to this size have loss 0 in the ``epsilon_insensitive`` losses. Set it to the error that you can tolerate.""",
    )

    _parameter_constraints = {
        **BaseAdaReg._parameter_constraints,
        "loss": [Registered(_registry.REGRESSION_LOSSES)],
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
        blocks="auto",
        rank=16,
        p=2.0,
        eta="auto",
        epsilon="auto",
        half_life="auto",
        refresh="auto",
        scaling="online",
        domain=None,
        radius=None,
        update="mirror_descent",
        alpha=0.0,
        l1_ratio=0.0,
        average="auto",
        fit_intercept=True,
        max_iter=None,
        tol=1e-3,
        n_iter_no_change=3,
        shuffle=True,
        warm_start=False,
        early_stopping=False,
        scoring="loss",
        validation_fraction=0.1,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self._store(locals())

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
            The fitted estimator.
        """
        return self._stream(X, y, sample_weight)

    def partial_fit_predict(self, X, y, sample_weight=None):
        """Learn from these rows as ``partial_fit`` does, and return what each was predicted to be just before it was learnt from.

        Row by row, this is what ``predict`` would have returned and then ``partial_fit`` have learnt, in one call at the speed of
        ``partial_fit``. The first row of a new model is predicted by weights of 0. With a domain and online scaling, or a
        penalty without an average, the model is published before each row, which costs O(d) a row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row. A row of weight 0 is predicted, and not learnt from.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            The prediction of each row before it was learnt from.
        """
        prequential = PrequentialMargins()
        self._stream(X, y, sample_weight, prequential)
        return self._predictions(prequential.values)

    def _stream(self, X, y, sample_weight, prequential=None):
        """The first or more rows of a stream."""
        learn = self._go_on if self.__sklearn_is_fitted__() else self._first_rows
        return learn(X, y, sample_weight, prequential)

    @_fit_context(prefer_skip_nested_validation=True)
    def _first_rows(self, X, y, sample_weight, prequential=None):
        return self._begin(X, y, sample_weight, prequential=prequential)

    def predict(self, X, return_std=False):
        """The prediction for each row: the margin, or its exponential where the loss has a log link.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to return the standard deviation of a new target about each prediction, too: the noise and the error of the
            weights, as in :class:`~sklearn.linear_model.BayesianRidge`. See ``coef_std_`` for what it needs. Costs :math:`O(d^2)` a
            row in addition, :math:`O(\\mathrm{nnz})` for the diagonal structure.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions; with ``return_std``, a pair of predictions and standard deviations of the same shape.
        """
        predictions = self._predictions(self._margins(X))
        if not return_std:
            return predictions
        bars = self._error_bars()
        std = np.hypot(bars.margin_std(check_rows(self, X)), np.sqrt(bars.dispersions))
        return predictions, std.reshape(predictions.shape)

    def predict_interval(self, X, coverage=0.9):
        """Prediction intervals whose long-run coverage in a stream holds for any distribution.

        By adaptive conformal inference: while learning, quantiles of the residuals of progressive predictions are tracked, the
        one of level p by :math:`q \\leftarrow q + \\gamma (1[r > m q] - (1 - p))` after each row with residual r, where m is a
        running mean of :math:`|r|`. An interval is the prediction and m times the quantiles of level
        :math:`(1 \\mp \\mathrm{coverage}) / 2`. If each row is predicted, then learnt, the fraction of targets outside differs from
        1 - ``coverage`` by O(1/T) after T rows, for any sequence of rows, also under drift. Ends may be infinite, as they are before
        the third row. Costs the same as ``predict``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        coverage : {0.5, 0.8, 0.9, 0.95, 0.99}, default=0.9
            The fraction of targets inside. These levels are tracked while learning.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends.

        References
        ----------
        I. Gibbs and E. Candès, "Adaptive Conformal Inference Under Distribution Shift", 2021.
        A. Angelopoulos, E. Candès and R. Tibshirani, "Conformal PID Control for Time Series Prediction", 2023.
        """
        check_is_fitted(self)
        if not any(coverage is level or coverage == level for level in Tracks.levels()):
            raise ValueError(
                f"coverage={shown(coverage)} is not followed while learning; pass one of "
                f"{', '.join(map(str, Tracks.levels()))}."
            )
        recipe = self._state.recipe
        tracks = self._read(lambda state: state.progress.tracks.copy())
        if not len(tracks) or not tracks[:, -1].any():
            raise ValueError("No residuals were followed here, which intervals are made of; learn from new rows.")
        predictions = self._decide(self._margins(X), None)
        ends = predictions[:, :, np.newaxis] + Tracks.ends(tracks, float(coverage))
        if _registry.REGRESSION_LOSSES[recipe.loss].nonnegative_targets:
            ends = np.maximum(ends, 0.0)
        return ends if recipe.rows_of_coef else ends[:, 0]

    def _predictions(self, margins):
        predictions = self._decide(margins, None)
        return predictions if self._state.recipe.rows_of_coef else predictions[:, 0]

    # ---- what the base asks -------------------------------------------------------------------------------------

    _targets_are_numbers = True

    def _tidy(self, y):
        # without the multi_output tag scikit-learn wants a column taken as a vector, with a warning
        column = y.ndim == 2 and y.shape[1] == 1
        return column_or_1d(y, warn=True) if column and _registry.loss(self.loss).nonnegative_targets else y

    def _encode(self, y, classes, weights):
        y = np.asarray(y, dtype=np.float64)
        if _registry.loss(self.loss).nonnegative_targets and (y < 0).any():
            raise ValueError(
                f"y has negative values, and loss={self.loss!r} models counts; use another loss, or shift y."
            )
        return np.ascontiguousarray(y.reshape(len(y), -1))

    def _shape_of_model(self, y, classes):
        several = np.ndim(y) == 2
        return ModelShape(n_outputs=np.shape(y)[1] if several else 1, rows_of_coef=several)

    def _decide(self, margins, classes):
        return _registry.REGRESSION_LOSSES[self._loss_in_use()].link.inverse(margins)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # what scikit-learn checks where there are several targets has negative ones
        # a tag is asked for before the loss is validated
        entry = _registry.REGRESSION_LOSSES.get(self.loss) if isinstance(self.loss, str) else None
        nonnegative = entry is not None and entry.nonnegative_targets
        tags.target_tags.multi_output = not nonnegative
        tags.target_tags.positive_only = nonnegative
        return tags
