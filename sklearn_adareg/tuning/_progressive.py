"""ProgressiveSearch: the parameters of an online learner, chosen in one pass over the rows."""

import time
import warnings
from functools import partial
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, indexable

from ..estimators._documentation import of_rows
from ..estimators._labels import NEEDS_CLASSES
from ..model._interrupts import in_threads
from ._trials import Standing, Trial, cut, given, judge_by

FIRST_SHARE = 16  # of the rows in ``fit``: the first rung
FEWEST_ROWS = 512  # at the first rung in ``fit``
FIRST_RUNG, LAST_FIRST_RUNG = 1024, 2**14  # rows, in a stream, whose length is not known
ROWS_PER_FEATURE = 10  # with fewer, learners that will win later overfit and look worse than a constant


def _of_best_trial(method, what, returned):
    """The method of a search that its best trial answers; the search has it where the trial has."""

    def answers(self):
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator, method)  # its own error
        return True

    def ask(self, X):
        check_is_fitted(self)
        return getattr(self.best_estimator_, method)(X)

    ask.__name__, ask.__qualname__ = method, f"ProgressiveSearch.{method}"
    ask.__doc__ = f"{what} the best trial."
    return available_if(answers)(of_rows(returned, f"What its ``{method}`` returns.")(ask))


class ProgressiveSearch(MetaEstimatorMixin, BaseEstimator):
    """Search over parameters in one pass: trials learn side by side, and those that cannot win are dropped.

    All trials learn from the same rows, in the same order. Each row is predicted before it is learnt from, and the losses of
    these predictions are compared; no rows are held out. Whenever the number of rows has doubled, trials are compared with the
    leader by the losses since it last doubled. A trial is dropped if it would end behind the leader even if both go on to gain as
    they did since then, according to a confidence bound on the difference of the two, which is paired and so tight where both err on
    the same rows. Trials that cannot be told apart stay, up to half as many again as plain halving would keep. So with K
    trials the pass costs at most what about :math:`1.5 \\log_2 K` trials cost alone, and mostly half of that.

    Parameters
    ----------
    estimator : estimator
        With ``partial_fit``: of this package or of another.
    param_grid : dict, list of dict or iterable of dict
        As for :class:`~sklearn.model_selection.GridSearchCV`; or trials one by one, such as those of a
        :class:`~sklearn.model_selection.ParameterSampler`.
    scoring : str, callable or None, default=None
        How predictions are judged: a scorer of scikit-learn, by its name or as a callable. None is the log-loss for classifiers if
        all trials have probabilities, else the error rate; for regressors the squared error.
    delta : float, default=0.05
        Probability with which a trial that is as good as the leader may be dropped by the bound at one rung, if differences were
        normal; it is shared among the trials.
    min_rows : int or None, default=None
        Rows before trials are dropped for the first time. None: 10 for each feature, but at least 1/16 of the rows and
        512, and at most 1/4 of the rows, in ``fit``; 10 for each feature, from 1024 to 16384, in ``partial_fit``.
    refit : bool, default=True
        Whether ``fit`` fits the best trial on all rows afterwards, by its own ``fit``; the pass then ends as soon as one
        trial is left. Otherwise, and in ``partial_fit``, ``best_estimator_`` is the trial as it has learnt in the one pass.
    shuffle : bool, default=True
        Whether ``fit`` takes the rows in random order. ``partial_fit`` never does.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows.

    Attributes
    ----------
    best_estimator_ : estimator
        The best trial.
    best_params_ : dict
        Its parameters.
    best_index_ : int
        Its number in ``cv_results_``.
    best_score_ : float
        Its score in the last half of the rows: minus its mean loss, or what ``scoring`` gives.
    cv_results_ : dict of arrays
        ``params`` and ``param_*``; ``mean_test_score``, as ``best_score_``, and ``std_test_score``, of the predictions made before
        learning, in the last half of the rows that the trial has seen; ``rank_test_score``, in which a trial that was
        dropped earlier stands behind one that was dropped later; ``mean_fit_time`` in seconds; ``n_rows``, the rows learnt;
        ``dropped``.
    n_candidates_ : list of int
        Trials that were left after each rung.
    n_rows_ : int
        Rows seen.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string names.
    classes_ : ndarray
        The labels, for classifiers.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : By cross-validation, which takes many more passes.
    sklearn.model_selection.HalvingGridSearchCV : Successive halving by cross-validation on growing parts of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_adareg import AdaRegClassifier, ProgressiveSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = {"structure": ["full", "diag", "iso"], "eta": [0.001, "auto"]}
    >>> search = ProgressiveSearch(AdaRegClassifier(random_state=0), grid, random_state=0).fit(X, y)
    >>> search.best_params_["eta"]
    'auto'
    >>> search.score(X, y) > 0.95
    True
    """

    __module__ = "sklearn_adareg"  # the public path, which saved models keep

    _parameter_constraints = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "min_rows": [Interval(Integral, 2, None, closed="left"), None],
        "refit": ["boolean"],
        "shuffle": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        delta=0.05,
        min_rows=None,
        refit=True,
        shuffle=True,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator, self.param_grid, self.scoring, self.delta = estimator, param_grid, scoring, delta
        self.min_rows, self.refit, self.shuffle, self.n_jobs = min_rows, refit, shuffle, n_jobs
        self.random_state = random_state

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Search in one pass over the rows, and fit the best trial.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows, for learning and for the comparison.

        Returns
        -------
        self : object
            The fitted search.
        """
        X, y = indexable(X, y)
        rows = _num_samples(X)
        search = self._apart()
        search._begin(
            np.unique(y) if is_classifier(self.estimator) else None,
            min(rows, self.min_rows or _first_rung(X, max(FEWEST_ROWS, rows // FIRST_SHARE), rows // 4)),
            length=rows,
        )
        rng = check_random_state(self.random_state)
        order = rng.permutation(rows) if self.shuffle else np.arange(rows)
        search._go_on(X, y, sample_weight, order, alone_is_enough=self.refit)
        if self.refit:
            best = clone(self.estimator).set_params(**clone(search.best_params_, safe=False))
            begun = time.perf_counter()
            search.best_estimator_ = best.fit(X, y, **given(sample_weight=sample_weight))
            search.refit_time_ = time.perf_counter() - begun
        return self._become(search)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on with these rows, in their order: all trials learn from all of them, or none does if the call is stopped.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        classes : array-like, default=None
            All labels, for classifiers; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        self : object
            The search; ``best_estimator_`` is the leading trial.
        """
        search = self._apart()
        if hasattr(self, "_trials"):
            search._trials = [one.copy() if one.learns else one for one in self._trials]
        else:
            if is_classifier(self.estimator) and classes is None:
                raise ValueError(NEEDS_CLASSES)
            search._begin(
                None if classes is None else np.unique(classes),
                self.min_rows or _first_rung(X, FIRST_RUNG, LAST_FIRST_RUNG),
            )
        X, y = indexable(X, y)
        search._go_on(X, y, sample_weight, np.arange(_num_samples(X)))
        return self._become(search)

    def _apart(self):
        """A search that stands where this one does; what happens to it does not show here before ``_become``."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def _become(self, search):
        """Take over its attributes, all at once: an interrupt or another thread sees those of before or those of after."""
        self.__dict__ = vars(search)
        return self

    def _begin(self, classes, first_rung, length=np.inf):
        self._validate_params()
        if not hasattr(self.estimator, "partial_fit"):
            raise TypeError(
                f"ProgressiveSearch lets trials learn side by side, and {type(self.estimator).__name__} has no partial_fit; use "
                "GridSearchCV for it."
            )
        grid = self.param_grid
        settings = list(ParameterGrid(grid) if _is_grid(grid) else grid)
        if not settings:
            raise ValueError("param_grid has no trials; give at least one value for a parameter.")
        self._trials = [Trial(self.estimator, params, classes) for params in settings]
        self._judge = judge_by(self.scoring, [one.estimator for one in self._trials])
        self._rung = self._window = first_rung
        self._length, self._classes = length, classes
        self.n_rows_ = 0
        self.n_candidates_ = []

    def _go_on(self, X, y, sample_weight, order, alone_is_enough=False):
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        at, workers = 0, effective_n_jobs(self.n_jobs)
        while at < len(order):
            pieces, end = [], min(len(order), at + self._rung - self.n_rows_)
            for size, start, stop in cut(self.n_rows_, self.n_rows_ + end - at, self._window):
                rows = order[at + start - self.n_rows_ : at + stop - self.n_rows_]
                own = None if weights is None else weights[rows]
                pieces.append((size, start, _safe_indexing(X, rows), _safe_indexing(y, rows), own))
            active = [one for one in self._trials if one.learns]
            in_threads([partial(one.learn, pieces, self._judge) for one in active], workers)
            self.n_rows_ += end - at
            at = end
            self._drop_failed(active)
            if self.n_rows_ == self._rung:
                self._drop_beaten()
                self._window = self._rung
                self._rung *= 2
                if alone_is_enough and self.n_candidates_[-1] == 1:
                    break
        self._conclude()

    def _drop_failed(self, active):
        failed = [one for one in active if one.error is not None]
        for one in failed:
            warnings.warn(f"The trial {one.params} failed and is dropped: {one.error}", FitFailedWarning, stacklevel=4)
        if all(one.error is not None for one in self._trials):
            raise ValueError(f"All trials failed; the first said: {self._trials[0].error}")

    def _drop_beaten(self):
        """Drop those that cannot catch up with the leader; keep at most 3/2 of what halving would keep."""
        active = [one for one in self._trials if one.learns]
        standing = Standing(active, self.n_rows_ // 2)
        ahead = 1.0 - self.n_rows_ / max(self._length, self.n_rows_)
        behind = standing.beaten(self.delta / max(1, len(active) - 1), ahead)
        rungs = len(self.n_candidates_) + 1
        most = max(2, -(-3 * len(self._trials) // 2 ** (rungs + 1)))
        behind[np.lexsort((standing.hopes(), behind))[most:]] = True
        for one, dropped in zip(active, behind, strict=True):
            if dropped:
                one.dropped_at = self.n_rows_
        self.n_candidates_ = [*self.n_candidates_, int(len(active) - behind.sum())]

    def __setstate__(self, kept):
        """Searches of 0.2.0.dev0 load too."""
        renamed = {"_candidates": "_trials"}
        super().__setstate__({renamed.get(name, name): value for name, value in kept.items()})

    # ---- the result -------------------------------------------------------------------------------------------------

    def _conclude(self):
        """Rank the trials: who still learns, then who was dropped last; among those, by their losses."""
        found = self._trials
        since = [one.rows - one.rows // 2 for one in found]  # the last half
        losses = np.array([one.loss(rows) for one, rows in zip(found, since, strict=True)])
        keys = [
            (one.error is not None, -(one.dropped_at or np.inf), loss) for one, loss in zip(found, losses, strict=True)
        ]
        order = sorted(range(len(found)), key=keys.__getitem__)
        ranks = np.empty(len(found), dtype=np.int32)
        ranks[order] = np.arange(1, len(found) + 1)
        self.best_index_ = order[0]
        best = found[self.best_index_]
        self.best_params_ = best.params
        self.best_score_ = -float(losses[self.best_index_])
        self.best_estimator_ = best.estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(best.estimator, name):
                setattr(self, name, getattr(best.estimator, name))
        names = sorted({name for one in found for name in one.params})
        self.cv_results_ = {
            "mean_fit_time": np.array([one.seconds for one in found]),
            **{f"param_{name}": _column([one.params for one in found], name) for name in names},
            "params": [one.params for one in found],
            "mean_test_score": -losses,
            "std_test_score": np.array([one.spread(rows) for one, rows in zip(found, since, strict=True)]),
            "rank_test_score": ranks,
            "n_rows": np.array([one.rows for one in found]),
            "dropped": np.array([not one.learns for one in found]),
        }

    @property
    def classes_(self):
        """The labels."""
        check_is_fitted(self)
        return self.best_estimator_.classes_

    def score(self, X, y=None):
        """The score of the best trial: by ``scoring``, or by its own ``score``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like, default=None
            Targets.

        Returns
        -------
        float
            The score.
        """
        check_is_fitted(self)
        if self.scoring is None:
            return self.best_estimator_.score(X, y)
        return check_scoring(self.best_estimator_, scoring=self.scoring)(self.best_estimator_, X, y)

    predict = _of_best_trial("predict", "Predictions of", "ndarray")
    predict_proba = _of_best_trial("predict_proba", "Probabilities by", "ndarray of shape (n_samples, n_classes)")
    predict_log_proba = _of_best_trial(
        "predict_log_proba", "Logarithms of probabilities by", "ndarray of shape (n_samples, n_classes)"
    )
    decision_function = _of_best_trial("decision_function", "Margins by", "ndarray")

    def __sklearn_is_fitted__(self):
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.target_tags, tags.input_tags = own.target_tags, own.input_tags
        return tags


def _first_rung(X, least, most):
    """Rows after which trials are compared for the first time: some for each feature, within limits."""
    features = X.shape[1] if np.ndim(X) == 2 or hasattr(X, "shape") else 0
    return max(least, min(ROWS_PER_FEATURE * features, most))


def _is_grid(grid):
    if isinstance(grid, dict):
        return True
    lists = isinstance(grid, list | tuple) and all(isinstance(one, dict) for one in grid)
    return lists and all(np.iterable(v) and not isinstance(v, str) for one in grid for v in one.values())


def _column(settings, name):
    values = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=True)
    for place, params in enumerate(settings):
        if name in params:
            values[place] = params[name]
    return values
