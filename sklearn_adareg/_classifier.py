"""AdaRegClassifier: labels, one or several weight vectors, probabilities."""

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import column_or_1d

from . import _registry
from ._base import BaseAdaReg
from ._kernels import _losses


def _gives_probabilities(estimator):
    """Whether the loss has probabilities behind its margins."""
    if not _registry.CLASSIFICATION_LOSSES[estimator.loss].probabilities:
        raise AttributeError(
            f"probability estimates are not available for loss={estimator.loss!r}; use 'log_loss' or 'modified_huber', or wrap "
            "the model in CalibratedClassifierCV."
        )
    return True


class AdaRegClassifier(ClassifierMixin, BaseAdaReg):
    __doc__ = "filled in from _documentation"

    _parameter_constraints = {
        **BaseAdaReg._parameter_constraints,
        "loss": [StrOptions(set(_registry.CLASSIFICATION_LOSSES))],
    }

    def __init__(
        self,
        potential="auto",
        structure="auto",
        *,
        loss="log_loss",
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
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row. A row of weight 0 is no round at all.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        continues = self.warm_start and self.__sklearn_is_fitted__()
        return self._learn_classes(
            lambda: self._fit(X, y, sample_weight), None if continues else _labels(y), keep=continues
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from these rows, once, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row.

        Returns
        -------
        self : object
            The estimator, having learnt.
        """
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError(
                "partial_fit needs classes in its first call, since later rows may bring labels that these lack; pass all labels "
                "as classes=[...]."
            )
        if not first and classes is not None and not np.array_equal(unique_labels(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differs from the first call's {self.classes_!r}, and a running model cannot change them; "
                "leave classes out, or start anew with fit."
            )
        return self._learn_classes(
            lambda: self._partial_fit(X, y, sample_weight), unique_labels(classes) if first else None, keep=not first
        )

    def _learn_classes(self, learn, classes, keep):
        """Run ``learn`` with these classes; on failure the earlier ones stay if nothing was learnt."""
        earlier = getattr(self, "classes_", None)
        if not keep:
            if len(classes) < 2:
                raise ValueError(
                    f"y has one class, {classes[0]!r}, and a classifier needs at least two; pass rows of every class, or "
                    "all labels as classes to partial_fit."
                )
            self.classes_ = classes
        try:
            return learn()
        except BaseException:
            if not keep and not (earlier is None and self.__sklearn_is_fitted__()):
                if earlier is None:
                    del self.classes_
                else:
                    self.classes_ = earlier
            raise

    def decision_function(self, X):
        """Signed distances to the decision boundary, times the norm of ``coef_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Margins; positive speaks for ``classes_[1]`` when there are two classes.
        """
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X):
        """The likeliest label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        margins = self._margins(X)
        best = (margins[:, 0] > 0).astype(int) if margins.shape[1] == 1 else margins.argmax(axis=1)
        return self.classes_[best]

    @available_if(_gives_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, for ``log_loss`` and ``modified_huber``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; every row sums to one.
        """
        margins = self._margins(X)
        if self.loss == "log_loss":
            if margins.shape[1] > 1:
                return softmax(margins, axis=1)
            return np.column_stack([expit(-margins[:, 0]), expit(margins[:, 0])])
        odds = (np.clip(margins, -1, 1) + 1) / 2
        if odds.shape[1] == 1:
            return np.column_stack([1 - odds[:, 0], odds[:, 0]])
        total = odds.sum(axis=1, keepdims=True)
        return np.where(total > 0, odds / np.where(total > 0, total, 1), 1 / odds.shape[1])

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities, exact where the probabilities themselves round to 0 or 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        if self.loss != "log_loss":
            with np.errstate(divide="ignore"):
                return np.log(self.predict_proba(X))
        margins = self._margins(X)
        if margins.shape[1] > 1:
            return log_softmax(margins, axis=1)
        return np.column_stack([log_expit(-margins[:, 0]), log_expit(margins[:, 0])])

    # ---- what the base asks -------------------------------------------------------------------------------------

    def _encode(self, y):
        y = column_or_1d(y, warn=True)
        known = np.isin(y, self.classes_)
        if not known.all():
            raise ValueError(
                f"y has the label {y[~known][0]!r}, which is not among the classes {self.classes_!r}; drop those rows, or start "
                "anew with all labels in classes."
            )
        numbers = np.searchsorted(self.classes_, y).astype(np.float64)
        if self._lanes() == 1:
            numbers = 2.0 * numbers - 1.0
        return np.ascontiguousarray(numbers.reshape(-1, 1))

    def _lanes(self, targets=None):
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _loss_kernel(self):
        if self._lanes() == 1:
            return _registry.CLASSIFICATION_LOSSES[self.loss].kernel()
        if self.loss == "log_loss":
            return _losses.Softmax()
        return _losses.OneVsRest(_registry.CLASSIFICATION_LOSSES[self.loss].kernel())

    def _shape(self, coef, intercept):
        return coef, intercept


def _labels(y):
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    return np.unique(y)
