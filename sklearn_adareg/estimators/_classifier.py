"""AdaRegClassifier: labels, one or several weight vectors, probabilities."""

import numpy as np
from scipy.stats import norm
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..model import _registry
from ..model._recipe import ModelShape
from ..model._rules import Registered
from ..model._state import class_numbers
from ..model._validation import check_probability, check_rows, shown
from ._base import BaseAdaReg, PrequentialMargins
from ._documentation import document, of_rows, options, those_with
from ._labels import NEEDS_CLASSES, at_least_two, distinct, encode, same_labels, two_numbers


def _gives_probabilities(estimator):
    """Whether the loss has probabilities behind its margins."""
    loss = estimator._loss_in_use()
    if _registry.CLASSIFICATION_LOSSES[loss].probabilities is None:
        others = _registry.names(_registry.CLASSIFICATION_LOSSES, lambda entry: entry.probabilities)
        raise AttributeError(
            f"probability estimates are not available for loss={loss!r}; use {' or '.join(others)}, or wrap "
            "the model in CalibratedClassifierCV."
        )
    return True


class AdaRegClassifier(ClassifierMixin, BaseAdaReg):
    __module__ = "sklearn_adareg"  # the public path, which saved models keep
    __doc__ = document(
        """Linear classifier learnt online by adaptive regularization.

    The defaults need neither scaled features nor a learning rate: start with ``AdaRegClassifier()``, on arrays or, in chunks, by
    ``partial_fit``. Rows are read one at a time. In round :math:`t`, with weights :math:`x_t` and the loss :math:`f_t` of the row,

    .. math::
        g_t = \\nabla f_t(x_t), \\quad G_t = G_{t-1} + g_t g_t^\\top, \\quad H_t = \\psi(G_t), \\quad
        x_{t+1} = \\Pi^{H_t^{-1}}(x_t - H_t g_t)

    where the ``potential`` is the map :math:`\\psi` on eigenvalues and the ``structure`` the set of matrices that :math:`H_t` may
    be. AdaGrad, the Online Newton Step, their diagonal versions and adaptive gradient descent are all of this form. The fitted
    model is the average of the iterates. A round costs :math:`O(\\mathrm{nnz})` for the structures ``"diag"`` and ``"iso"`` and
    :math:`O(d^2)` for ``"full"`` with the potential ``"ons"``.

    More than two classes are learnt jointly (softmax) for ``loss="log_loss"`` and one against the rest for the others. The
    structure ``"kronecker"`` has one pair of matrices for all of them.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights.
    {attributes}

    See Also
    --------
    AdaRegRegressor : The same for real targets.
    sklearn.linear_model.SGDClassifier : Stochastic gradient descent with a step-size schedule.

    References
    ----------
    V. Gupta, T. Koren and Y. Singer, "A Unified Approach to Adaptive Regularization in Online and Stochastic Optimization", 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_adareg import AdaRegClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaRegClassifier(max_iter=1, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """,
        independent="one against the rest",
        loss=f"""loss : {options(_registry.CLASSIFICATION_LOSSES)}, default="log_loss"
    The loss. Choose it by the task (see the guide).
    {those_with(_registry.CLASSIFICATION_LOSSES, lambda entry: entry.probabilities)} give probabilities.""",
        class_weight="""class_weight : dict, "balanced" or None, default=None
    Factors on the losses of the classes. Use ``"balanced"`` if rare classes matter as much as frequent ones: it gives all classes
    the same total weight: from the counts of all rows in ``fit``, from the counts up to and including each row in
    ``partial_fit``.""",
    )

    _parameter_constraints = {
        **BaseAdaReg._parameter_constraints,
        "loss": [Registered(_registry.CLASSIFICATION_LOSSES)],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        potential="auto",
        structure="auto",
        *,
        loss="log_loss",
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
        class_weight=None,
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

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from these rows, once, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may occur; required in the first call. To add classes later, if there are three or more, pass all known
            labels and the new ones: the weights of the known classes stay, and no prediction changes before a row of a new class is
            learnt from.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._stream(X, y, classes, sample_weight)

    def partial_fit_predict(self, X, y, classes=None, sample_weight=None, *, method="predict"):
        """Learn from these rows as ``partial_fit`` does, and return what each was predicted to be just before it was learnt from.

        Row by row, this is what ``predict`` (or ``method``) would have returned and then ``partial_fit`` have learnt, in one call at
        the speed of ``partial_fit``. The first row of a new model is predicted by weights of 0. With a domain and online scaling,
        or a penalty without an average, the model is published before each row, which costs O(d) a row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            As in ``partial_fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row. A row of weight 0 is predicted, and not learnt from.
        method : {"predict", "predict_proba", "predict_log_proba", "decision_function"}, default="predict"
            What to return for each row.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            What that method would have returned for each row before it was learnt from.
        """
        respond = self._response(method)
        prequential = PrequentialMargins()
        self._stream(X, y, classes, sample_weight, prequential)
        return respond(prequential.values, prequential.classes)

    def _response(self, method):
        """The function from margins and classes to what a method returns."""
        if method in ("predict_proba", "predict_log_proba"):
            _gives_probabilities(self)
        responses = {
            "predict": self._decide,
            "predict_proba": lambda margins, _: self._probabilities().values(margins),
            "predict_log_proba": lambda margins, _: self._probabilities().logarithms(margins),
            "decision_function": lambda margins, _: _one_column_as_vector(margins),
        }
        if method not in responses:
            raise ValueError(
                f"method={shown(method)} is not something that a classifier predicts; pass one of {', '.join(map(repr, responses))}."
            )
        return responses[method]

    def _stream(self, X, y, classes, sample_weight, prequential=None):
        """The first or more rows of a stream."""
        if vars(self).get("_state") is None:
            return self._first_rows(X, y, classes, sample_weight, prequential)
        if classes is not None and not same_labels(classes, self.classes_):
            return self._go_on(X, y, sample_weight, prequential, distinct(classes))
        return self._go_on(X, y, sample_weight, prequential)

    @_fit_context(prefer_skip_nested_validation=True)
    def _first_rows(self, X, y, classes, sample_weight, prequential=None):
        if classes is None:
            raise ValueError(NEEDS_CLASSES)
        if np.size(classes) == 0:
            raise ValueError("classes is empty, and a classifier needs at least two; pass all labels as classes=[...].")
        return self._begin(X, y, sample_weight, at_least_two(distinct(classes)), prequential)

    @property
    def classes_(self):
        """The labels, sorted."""
        return self._fitted_state().classes

    @of_rows(
        "ndarray of shape (n_samples,) or (n_samples, n_classes)",
        "Margins. With two classes, a positive margin predicts ``classes_[1]``.",
    )
    def decision_function(self, X):
        """Signed distances to the decision boundary, times the norm of ``coef_``."""
        return _one_column_as_vector(self._margins(X))

    @of_rows("ndarray of shape (n_samples,)", "Labels.")
    def predict(self, X):
        """The likeliest label of each row."""
        return self._decide(self._margins(X), self.classes_)

    @available_if(_gives_probabilities)
    @of_rows("ndarray of shape (n_samples, n_classes)", "Columns in the order of ``classes_``; every row sums to one.")
    def predict_proba(self, X):
        """Probabilities of the classes, for the losses that have them."""
        return self._probabilities().values(self._margins(X))

    @available_if(_gives_probabilities)
    @of_rows("ndarray of shape (n_samples, n_classes)", "Columns in the order of ``classes_``.")
    def predict_log_proba(self, X):
        """Logarithms of the probabilities, exact where the probabilities themselves round to 0 or 1."""
        return self._probabilities().logarithms(self._margins(X))

    @available_if(_gives_probabilities)
    def predict_proba_interval(self, X, coverage=0.95):
        """Confidence intervals of the probability of ``classes_[1]``, for two classes.

        With m the margin of a row and s its standard error, from the covariance that ``coef_std_`` is of, the ends are the
        probabilities at :math:`m \\mp q s`, q the normal quantile. So an interval covers the error of the weights, and shrinks
        to the probability as rows are learnt. Costs :math:`O(d^2)` a row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.95
            How often an interval contains the probability that a fit to infinitely many rows would give, if the model is right.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        check_is_fitted(self)
        check_probability(coverage, "coverage", 0.95)
        margins, bars = self._margins(X), self._error_bars()
        reach = norm.isf((1.0 - coverage) / 2) * bars.margin_std(check_rows(self, X))
        return np.column_stack([self._probabilities().values(margins + side * reach)[:, 1] for side in (-1, 1)])

    def _probabilities(self):
        return _registry.CLASSIFICATION_LOSSES[self._loss_in_use()].probabilities

    # ---- what the base asks -------------------------------------------------------------------------------------

    def _tidy(self, y):
        return y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)

    def _find_classes(self, y, weights):
        two = two_numbers(y) if not weights.any() else None
        if two is not None:
            return two
        if y.dtype.kind not in "iub":  # whole numbers are labels, whatever they are
            check_classification_targets(y)
        return at_least_two(np.unique(y[weights > 0] if weights.any() else y))

    _encode = staticmethod(encode)

    def _shape_of_model(self, y, classes):
        several = len(classes) > 2
        return ModelShape(
            n_outputs=len(classes) if several else 1,
            joint=_registry.CLASSIFICATION_LOSSES[self.loss].joint_kernel is not None,
            outputs_are_classes=several,
        )

    def _decide(self, margins, classes):
        if margins.size == 1:  # one row of two classes
            return classes[1:2].copy() if margins.item() > 0 else classes[:1].copy()
        best = (margins[:, 0] > 0).astype(int) if margins.shape[1] == 1 else margins.argmax(axis=1)
        return classes[best]

    def _has_class_weights(self):
        return self.class_weight is not None

    def _class_factors(self, targets, order, state, streaming):
        """``class_weight`` of the rows in ``order``. "balanced" counts all of them in ``fit``, and in a stream those up to each."""
        k = len(state.classes)
        numbers = class_numbers(targets[order, 0], state.classes)
        if self.class_weight != "balanced":
            unknown = set(self.class_weight) - set(state.classes.tolist())
            if unknown:
                raise ValueError(
                    f"class_weight has the label {shown(unknown.pop())}, which is not among the classes "
                    f"{shown(state.classes)}; remove it."
                )
            factors = np.array([self.class_weight.get(label, 1.0) for label in state.classes.tolist()], dtype=float)
            if not (np.isfinite(factors).all() and (factors >= 0).all()):
                raise ValueError(f"class_weight={self.class_weight!r} must hold finite numbers ≥ 0; correct it.")
            return factors[numbers]
        if not streaming:
            counts = np.bincount(numbers, minlength=k)
            return (len(numbers) / (k * np.maximum(counts, 1)))[numbers]
        so_far = state.class_counts + np.cumsum(np.eye(k)[numbers], axis=0)
        return so_far.sum(axis=1) / (k * so_far[np.arange(len(numbers)), numbers])


def _one_column_as_vector(margins):
    return margins[:, 0] if margins.shape[1] == 1 else margins
