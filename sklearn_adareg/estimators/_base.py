"""What ``fit`` and ``partial_fit`` share: the conversation between an estimator and the kernels.

validate → rows → ``run_rounds`` without the GIL → totals → raise in a sentence, or make the new state the model.
"""

import time
import warnings
from abc import abstractmethod
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state

from .._kernels.loop import _rounds
from ..model import _auto, _interrupts, _kept_beginning, _rules, _runtime
from ..model._guard import guard_of
from ..model._state import State
from ..model._validation import check_columns, check_finite, check_rows_and_targets, shown, warn_if_too_small
from . import _minimiser
from ._callbacks import CallbackSupportMixin, Listeners, ProgressiveReport
from ._fitted import FittedLinearModel
from ._labels import FIRST, NONE, check_some_weight, check_weights, theory_bounds, times_class_weights, weighted_rows
from ._parameters import CheckedParameters
from ._stopping import TrainingSet, ValidationSet, Watch, hold_out

# parameters that version 0.1 had not, and the values that do as it did
NEWER_PARAMETERS = {"scoring": None, "blocks": "auto", "rank": 16, "half_life": None}
FEATURES = ("n_features_in_", "feature_names_in_")


class PrequentialMargins:
    """The margins that the rows of a call were predicted with, each before it was learnt from."""

    values = None  # (rows, n_outputs)
    classes = None  # that the weight vectors are about


class Batch(NamedTuple):
    """Rows to learn from, as the rounds take them."""

    state: State
    X: object
    y: np.ndarray
    targets: np.ndarray  # y as the loss kernel reads it
    weights: np.ndarray  # empty: all 1
    order: np.ndarray  # the rows of positive weight, which are the rounds


class StoppedRound(ValueError):
    """A round whose numbers are not finite; the rounds before it stand."""


class BaseAdaReg(CallbackSupportMixin, FittedLinearModel, CheckedParameters, BaseEstimator):
    """Algorithm 1 behind the scikit-learn interface; subclasses know about targets."""

    _state: State
    _revisits = False  # the rows of ``partial_fit`` were learnt from before, so their losses are not progressive
    _parameter_constraints = _rules.COMMON_CONSTRAINTS
    _doc_link_module = "sklearn_adareg"
    _doc_link_template = (
        "https://sklearn-adareg.readthedocs.io/en/latest/api/generated/"
        "sklearn_adareg.{estimator_name}.html#sklearn_adareg.{estimator_name}"
    )
    # ---- what a task says about its targets ---------------------------------------------------------------------

    _targets_are_numbers = False

    def _find_classes(self, y, weights):
        """The labels in y; None for a regressor."""
        return None

    def _tidy(self, y):
        """Targets in the shape that the task takes."""
        return y

    @abstractmethod
    def _encode(self, y, classes, weights):
        """Targets as the loss kernel reads them: float64, (n_rows, targets per row); rows of weight 0 may hold anything."""

    @abstractmethod
    def _shape_of_model(self, y, classes):
        """The ``ModelShape`` that these targets ask for."""

    @abstractmethod
    def _decide(self, margins, classes):
        """Predictions from margins."""

    def _has_class_weights(self):
        """Whether classes have weights, which ``_class_factors`` then gives for the rows in ``order``."""
        return False

    # ---- learning -----------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        coef_init=None,
        intercept_init=None,
    ):
        """Learn from all rows, in up to ``max_iter`` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; float32 and float64, C-contiguous or CSR, are read where they lie.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels; targets of a regressor, one for each row or several.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each row. A row of weight 0 is skipped.
        X_val, y_val : array-like, default=None
            Rows and targets for ``early_stopping=True``, instead of a fraction of X. In a Pipeline, ``X_val`` is transformed
            like X with ``Pipeline(..., transform_input=["X_val"])``.
        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of the rows of ``X_val``.
        coef_init, intercept_init : array-like of the shapes of ``coef_`` and ``intercept_``, default=None
            Weights to begin at, in raw units, those of a batch model for example; 0 without them. With ``method_="information"`` they
            are the centre of the prior. Elsewhere only :math:`x_1` changes, G starts at :math:`G_0` as usual, and features get the
            units of all rows at once. Penalties still shrink to 0. ``fit`` then starts a new model, whatever ``warm_start`` is.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        validation = ValidationSet(X_val, y_val, sample_weight_val)
        return self._fit(X, y, sample_weight, validation, (coef_init, intercept_init))

    def _fit(self, X, y, sample_weight, validation, start):
        """Up to ``max_iter`` passes; the new state replaces the old one if all went well."""
        given = (X, y, sample_weight)
        anew = not self.warm_start or any(part is not None for part in start)
        with guard_of(self).calls, self._features_restored_on_failure():
            earlier = None if anew or not self.__sklearn_is_fitted__() else self._state
            if earlier is not None:
                self._check_lasting()
            going_on = None if earlier is None else earlier.copy()
            finite = "theory" in (self.eta, self.epsilon)  # which reads the rows before
            state, X, y, targets, weights, order = self._take_in(
                X, y, sample_weight, going_on, in_order=not self.shuffle, finite=finite
            )
            rng = check_random_state(self.random_state)
            check_some_weight(weights, "class_weight times sample_weight")
            order, score = hold_out(self, TrainingSet(X, y, weights, order, state.classes), validation, rng)
            if any(part is not None for part in start):
                from . import _starting

                start = _starting.check_start(state.recipe, *start)
                check_finite(self, X)
                check_columns(X)
                _starting.begin_at(state, X[order], *start)
            if len(order) < X.shape[0]:
                check_finite(self, X)
                check_columns(X)  # also of the rows held out, which no round reads
            most = _auto.passes(self.get_params(deep=False), state.recipe, len(order))
            _rules.check_average(state.recipe.average, state.rounds + most * len(order))
            watch, listeners = Watch(self, most, score), Listeners(self, most, *given)

            def fitted(of=state):
                return {"_state": of.copy(), "_begun_with": self._lasting(), **watch.fitted_attributes()}

            finishes = _auto.finishes(self.get_params(deep=False), state.recipe)
            newton = None
            solves = most > 1 and state.recipe.method == "information" and _auto.rows_count_alike(state.recipe)
            for epoch in range(most):
                listeners.pass_begins()
                if solves:
                    if newton is None:
                        passing = rng.permutation(order) if self.shuffle else order
                        if earlier is None:
                            first = passing[: _minimiser.FIRST_ROWS]
                            self._play(state, X, first, targets, weights, True)
                        check_finite(self, X)
                        check_columns(X)
                        newton = _minimiser.AllRows(
                            state, X, passing, targets, weights, self.n_jobs, earlier is not None
                        )
                    watch.at_minimum = newton.step()
                    newton.end()
                    state.snapshot = None
                    settled = watch.pass_ends(newton.mean_loss(), state)
                    if listeners.pass_ends(fitted) or settled or watch.at_minimum:
                        break
                    continue
                passing = rng.permutation(order) if self.shuffle else order
                loss = self._play(state, X, passing, targets, weights, earlier is None and epoch == 0)
                settled = watch.pass_ends(loss, state)
                if listeners.pass_ends(fitted) or settled:
                    break
                if finishes:
                    from ._l1_finish import finish

                    if finish(state, X, order, targets, weights):
                        break
                finishes = False
            watch.warn_if_unfinished()
            self._adopt(watch.best_state or state, **watch.fitted_attributes())
            listeners.fit_ends(lambda: fitted(self._state))
        warn_if_too_small(X, self.coef_)
        return self

    def _begin(self, X, y, sample_weight, classes=None, prequential=None):
        """The first rows of a stream, and the state that they make."""
        if self.early_stopping:
            warnings.warn(
                "early_stopping=True has no effect in partial_fit, which makes one pass over the rows it is given; set "
                "early_stopping=False, or call fit.",
                UserWarning,
                stacklevel=6,
            )
        with guard_of(self).calls, self._features_restored_on_failure():
            if vars(self).get("_state") is not None:  # by another thread, while this one waited
                return self._go_on(X, y, sample_weight, prequential)
            batch = self._take_in(X, y, sample_weight, classes=classes, streaming=True)
            state = batch.state
            try:
                self._learn(batch, prequential)
            except BaseException as error:
                if state.rounds > 0 or isinstance(error, StoppedRound):
                    self._adopt(state, n_iter_=1, loss_curve_=[])  # the rounds before it stay learnt
                raise
            self._adopt(state, n_iter_=1, loss_curve_=[])
        return self

    def _go_on(self, X, y, sample_weight, prequential=None, classes=None):
        """More rows of a stream, in the order given; the rounds before one that fails stay learnt.

        ``classes``: those of the model and more, or None.
        """
        guard = vars(self).get("_guard") or guard_of(self)
        with guard.calls:
            before = state = self._state
            self._check_parameters()
            if classes is not None:
                from ._new_classes import with_more_classes

                state = with_more_classes(state, classes)
            batch = self._take_in(X, y, sample_weight, state, streaming=True)
            self._state = state
            try:
                return self._learn(batch, prequential)
            except BaseException:
                # classes join with the first row that is learnt from
                if state is not before and state.rounds == before.rounds:
                    self._state = before
                raise

    def _take_in(self, X, y, sample_weight, state=None, classes=None, streaming=False, in_order=True, finite=True):
        """What every call that learns begins with: rows validated, targets encoded, a state (a new one if none is given), weights."""
        anew = state is None
        if anew:  # the parameters of a running model were checked when it began
            parameters = self.get_params(deep=False)
            _rules.check_pairs(parameters)
        X, y = check_rows_and_targets(self, X, y, reset=anew, numeric=self._targets_are_numbers, finite=finite)
        y = self._tidy(y)
        weights = NONE if sample_weight is None else check_weights(sample_weight, X)
        if not streaming:
            check_some_weight(weights, "sample_weight")
        if not anew:
            classes = state.classes
        elif classes is None:
            classes = self._find_classes(y, weights)
        targets = self._encode(y, classes, weights)
        if anew:
            shape, names = self._shape_of_model(y, classes), getattr(self, "feature_names_in_", None)
            bounds = partial(theory_bounds, targets, weights)
            recipe = _auto.make_recipe(parameters, X, shape, bounds, sparse.issparse(X), names, in_order)
            state = State(recipe, classes)
        else:
            self._check_unchanged(X, y, targets, weights, state)
        one_row = sample_weight is None and X.shape[0] == 1
        order = FIRST if one_row else weighted_rows(X, weights)
        if self._has_class_weights():
            factors = self._class_factors(targets, order, state, streaming)
            weights, order = times_class_weights(weights, factors, order, len(targets))
        average = state.recipe.average
        if streaming and average > 25.0:  # smaller powers of t overflow after 10¹⁰ rounds
            _rules.check_average(average, state.rounds + len(order))
        return Batch(state, X, y, targets, weights, order)

    def _learn(self, batch, prequential=None):
        """Rounds of a stream; ``prequential`` takes the margins of all rows, each from before it was learnt from."""
        state, X, _, targets, weights, order = batch
        if prequential is None:
            if len(order) == 1 and not self.verbose and state.beginning is None:
                self._play_one(state, X, order, targets, weights)
            elif len(order):
                self._play(state, X, order, targets, weights, not self._revisits, streaming=True)
            return self
        margins = np.empty((X.shape[0], state.recipe.n_outputs))
        for rounds, passed_over in _runs(order, X.shape[0]):
            if len(rounds):
                self._play(state, X, rounds, targets, weights, True, streaming=True, margins=margins)
            if len(passed_over):
                margins[passed_over] = _runtime.margins_now(state, X[passed_over])
        prequential.values, prequential.classes = margins, state.classes
        return self

    def _check_unchanged(self, X, y, targets, weights, state):
        """A running state goes on only with rows and targets of the same shape."""
        recipe = state.recipe
        if X.shape[1] != recipe.d:
            raise ValueError(
                f"X has {X.shape[1]} features and this model learns {recipe.d}; pass the same features, or start anew with "
                "fit (warm_start=False)."
            )
        if state.classes is None and (targets.shape[1], y.ndim == 2) != (recipe.n_outputs, recipe.rows_of_coef):
            asked = self._shape_of_model(y, state.classes)
            raise ValueError(
                f"This model learns {recipe.n_outputs} weight vector(s) and y, of shape {np.shape(y)}, asks for "
                f"{asked.n_outputs}; pass targets of the same shape as before, or start anew with fit (warm_start=False)."
            )
        if recipe.limits is not None:
            parameters = {name: getattr(self, name) for name in recipe.loss_parameters}
            from ..theory._steps import check_limits

            check_limits(recipe, X, theory_bounds(targets, weights), parameters)
        kept = recipe.loss_parameters
        if kept and kept != (now := {name: getattr(self, name) for name in kept}):
            state.set_loss_parameters(now)

    def _play_one(self, state, X, order, targets, weights):
        """``_play`` for one row of a stream, without what only several need."""
        guard = self._guard
        if guard.waiting:
            guard.let_readers_pass()
        with guard.state, guard.rounds:
            rows, new = _runtime.rows_of(state, X), not self._revisits
            outcome = _runtime.play(state, rows, order, targets, weights, new, self.n_jobs)
        if outcome.status != _rounds.FINISHED:
            self._refuse(outcome, X, order)

    def _play(self, state, X, order, targets, weights, first_sight, streaming=False, margins=None):
        """One pass over ``order``; its weighted mean loss. ``margins``, by row number, takes those of before each round."""
        segments, guard = _runtime.Segments(state), guard_of(self)
        report, begins = None, first_sight and state.beginning is not None
        if self.verbose:
            report = ProgressiveReport(state, streaming, memory=lambda: guard.read(lambda: _runtime.memory(state)))
        rows = _runtime.rows_of(state, X)
        start, end, loss, weight = 0, len(order), 0.0, 0.0
        while start < end:
            _interrupts.check()
            length = segments.length()
            if report is not None:
                length = min(length, report.rounds_to_next_line())
            if begins:
                length = min(length, _kept_beginning.rounds_to_next(state))
            part = order[start : start + length]
            if begins:
                _kept_beginning.note(state, X, part, targets, weights)
            said = None if margins is None else np.empty((len(part), state.recipe.n_outputs))
            begun = time.perf_counter()
            if guard.waiting:
                guard.let_readers_pass()
            with guard.state, guard.rounds:
                outcome = _runtime.play(state, rows, part, targets, weights, first_sight, self.n_jobs, said)
                if begins and _kept_beginning.renew(state):
                    rows = _runtime.rows_of(state, X)
            if said is not None:
                margins[part[: outcome.rounds]] = said[: outcome.rounds]
            segments.played(outcome.rounds, time.perf_counter() - begun)
            start += outcome.rounds
            if outcome.status != _rounds.FINISHED:
                self._refuse(outcome, X, part)
            loss, weight = loss + outcome.loss, weight + outcome.weight
            if report is not None:
                report.add(outcome.loss, outcome.weight)
            begins = begins and state.beginning is not None
        if report is not None:
            report.close()
        return loss / weight if weight else float("nan")

    def _refuse(self, outcome, X, order):
        """Say why the rounds stopped, and at which row."""
        if outcome.status == _rounds.STRAY_COLUMN:
            check_columns(X)
        check_finite(self, X)
        raise StoppedRound(
            f"Stopped at row {order[outcome.rounds]}: {outcome.reason()}; scale the features (and y), or lower eta (now "
            f"{shown(self.eta)}). partial_fit keeps what it learnt before this row, fit keeps the model it had before the call."
        )

    def _adopt(self, state, **attributes):
        """Make this state the model."""
        lasting, accepted = self._lasting(), self._parameter_values()
        # in one step, so that another thread sees a whole model
        vars(self).update(attributes, _state=state, _begun_with=lasting, _accepted=accepted)

    @contextmanager
    def _features_restored_on_failure(self):
        """What validation noted about the features belongs to the state, not to a call that failed."""
        state = getattr(self, "_state", None)
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            if getattr(self, "_state", None) is state:
                for name in FEATURES:
                    vars(self).pop(name, None)
                    if name in before:
                        setattr(self, name, before[name])
            raise

    def _kept(self):
        """What a copy has: a state of its own, and no locks."""
        with guard_of(self).calls:  # not in the middle of a call that learns
            kept = super().__getstate__()
            if kept.get("_state") is not None:  # the next call may begin before all arrays are written
                kept = {**kept, "_state": kept["_state"].copy()}
        return {name: value for name, value in kept.items() if name not in ("_accepted", "_guard")}

    def __getstate__(self):
        kept = self._kept()
        if kept.get("_state") is not None:
            kept["_state"] = kept["_state"].to_plain()
        return kept

    def __deepcopy__(self, memo):
        """A model that goes on from here, without the checks of what is read."""
        kept = self._kept()
        state = kept.pop("_state", None)
        twin = memo[id(self)] = object.__new__(type(self))
        vars(twin).update(deepcopy(kept, memo))
        if state is not None:
            twin._state = state
        return twin

    def __setstate__(self, kept):
        """What is read is not trusted. Models of version 0.1 load too: a fitted attribute had another name."""
        super().__setstate__({**NEWER_PARAMETERS, **kept})
        if "validation_score_curve_" in vars(self):
            self.validation_scores_ = vars(self).pop("validation_score_curve_")
        if self.__sklearn_is_fitted__():
            from ..persistence._states import read_state_of

            self._state = read_state_of(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _runs(order, n_rows):
    """Rows in turn, as pairs: some that are rounds, and those after them that are not, for their weight is 0."""
    if len(order) == n_rows:
        return [(order, order[:0])]
    passed_over = np.setdiff1d(np.arange(n_rows), order)
    groups = np.split(passed_over, np.flatnonzero(np.diff(passed_over) > 1) + 1)
    ends = np.searchsorted(order, [group[0] for group in groups])
    parts = np.split(order, ends)
    return list(zip(parts, [*groups, passed_over[:0]], strict=True))
