"""What ``fit`` and ``partial_fit`` share: the conversation between an estimator and the kernels.

validate → rows → ``run_rounds`` without the GIL → totals → raise in a sentence, or make the new state the model.
"""

import time
import warnings
from abc import abstractmethod
from contextlib import contextmanager
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from . import _auto, _early, _finish, _registry, _rules, _starting, _theory, _workers
from ._callbacks import CallbackSupportMixin, Listeners
from ._checks import check_columns, check_finite, check_rows_and_targets, shown
from ._fitted import FittedLinearModel
from ._guard import guard_of
from ._holdout import TrainingSet, hold_out
from ._kernels import _rounds
from ._new_classes import with_more_classes
from ._parameters import CheckedParameters
from ._reporting import ProgressiveReport
from ._saved import check_state
from ._state import State
from ._stopping import Watch
from ._weights import (
    check_some_weight,
    check_weights,
    rows_of_positive_weight,
    theory_bounds,
    times_class_weights,
)

NEWER_PARAMETERS = {
    "scoring": None,
    "blocks": "auto",
    "rank": 16,
    "half_life": None,
}  # that version 0.1 had not, and the values that do as it did
FEATURES = ("n_features_in_", "feature_names_in_")


class Told:
    """What the rows of a call were predicted to be, each before it was learnt from."""

    margins = None  # (rows, lanes)
    classes = None  # that the lanes are about


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

    def _class_factors(self, targets, order, state, streaming):
        """Factors on the weights of the rows in ``order``, or None."""
        return None

    # ---- learning -----------------------------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight, validation, start):
        """Up to ``max_iter`` passes; the new state replaces the old one if all went well."""
        given = (X, y, sample_weight)
        anew = not self.warm_start or any(part is not None for part in start)
        with guard_of(self).calls, self._features_restored_on_failure():
            earlier = None if anew or not self.__sklearn_is_fitted__() else self._state
            X, y, weights = self._validate(
                X, y, sample_weight, reset=earlier is None, finite=not self._rounds_check_rows()
            )
            check_some_weight(weights, "sample_weight")
            classes = earlier.classes if earlier else self._find_classes(y, weights)
            targets = self._encode(y, classes, weights)
            if earlier is None:
                in_order = not self.shuffle
                state = self._new_state(X, y, targets, weights, classes, in_order)
            else:
                state = earlier.copy()
                self._check_lasting()
                self._check_unchanged(X, y, targets, weights, state)
            rng = check_random_state(self.random_state)
            weights, order = self._weights_and_rounds(X, targets, weights, state, streaming=False)
            check_some_weight(weights, "class_weight times sample_weight")
            order, score = hold_out(
                self,
                TrainingSet(X, y, weights, order, classes),
                validation,
                rng,
            )
            if any(part is not None for part in start):
                start = _starting.check_start(state.recipe, *start)
                check_finite(self, X)
                check_columns(X)
                _starting.begin_at(state, X[order], *start)
            if self._rounds_check_rows() and len(order) < X.shape[0]:
                check_finite(self, X)
                check_columns(X)  # also of the rows held out, which no round reads
            most = _auto.passes(self.get_params(deep=False), state.recipe, len(order))
            _rules.check_average(state.recipe.average, state.rounds + most * len(order))
            watch, listeners = Watch(self, most, score), Listeners(self, most, *given)

            def fitted(of=state):
                return {
                    "_state": of.copy(),
                    "_begun_with": self._lasting(),
                    **watch.fitted_attributes(),
                }

            finishes = _auto.finishes(self.get_params(deep=False), state.recipe)
            for epoch in range(most):
                listeners.pass_begins()
                passing = rng.permutation(order) if self.shuffle else order
                loss = self._play(
                    state, X, passing, targets, weights, earlier is None and epoch == 0
                )
                settled = watch.pass_ends(loss, state)
                if listeners.pass_ends(fitted) or settled:
                    break
                if finishes and _finish.finish(state, X, order, targets, weights):
                    break
                finishes = False
            watch.warn_if_unfinished()
            self._adopt(watch.best_state or state, **watch.fitted_attributes())
            listeners.fit_ends(lambda: fitted(self._state))
        return self

    def _first_state(self, X, y, sample_weight):
        """A new state, and what its first pass over these rows takes."""
        X, y, weights = self._validate(X, y, sample_weight, reset=True)
        check_some_weight(weights, "sample_weight")
        classes = self._find_classes(y, weights)
        targets = self._encode(y, classes, weights)
        state = self._new_state(X, y, targets, weights, classes)
        weights, order = self._weights_and_rounds(X, targets, weights, state, streaming=False)
        return state, X, targets, weights, order

    def _begin(self, X, y, sample_weight, classes=None, told=None):
        """The first rows of a stream, and the state that they make."""
        if self.early_stopping:
            warnings.warn(
                "early_stopping=True has no effect in partial_fit, which makes one pass over the rows it is given; set "
                "early_stopping=False, or call fit.",
                UserWarning,
                stacklevel=6,
            )
        with guard_of(self).calls, self._features_restored_on_failure():
            if self.__sklearn_is_fitted__():  # by another thread, while this one waited
                return self._go_on(X, y, sample_weight, told)
            X, y, weights = self._validate(X, y, sample_weight, reset=True)
            targets = self._encode(y, classes, weights)
            state = self._new_state(X, y, targets, weights, classes)
            weights, order = self._weights_and_rounds(X, targets, weights, state, streaming=True)
            try:
                self._learn(state, X, order, targets, weights, told)
            except BaseException as error:
                if state.rounds > 0 or isinstance(error, StoppedRound):
                    self._adopt(
                        state, n_iter_=1, loss_curve_=[]
                    )  # the rounds before it stay learnt
                raise
            self._adopt(state, n_iter_=1, loss_curve_=[])
        return self

    def _go_on(self, X, y, sample_weight, told=None, classes=None):
        """More rows of a stream, in the order given; the rounds before one that fails stay learnt.

        ``classes``: those of the model and more, or None.
        """
        with guard_of(self).calls:
            state = self._state
            self._check_parameters()
            X, y, weights = self._validate(X, y, sample_weight, reset=False)
            if classes is not None:
                state = with_more_classes(state, classes)
            targets = self._encode(y, state.classes, weights)
            self._check_unchanged(X, y, targets, weights, state)
            weights, order = self._weights_and_rounds(X, targets, weights, state, streaming=True)
            before, self._state = self._state, state
            try:
                return self._learn(state, X, order, targets, weights, told)
            except BaseException:
                # classes join with the first row that is learnt from
                if state is not before and state.rounds == before.rounds:
                    self._state = before
                raise

    def _learn(self, state, X, order, targets, weights, told=None):
        """Rounds of a stream; ``told`` is given the margins of all rows, each from before it was learnt from."""
        if told is None:
            if len(order) == 1 and not self.verbose and state.early is None:
                self._play_one(state, X, order, targets, weights)
            elif len(order):
                self._play(state, X, order, targets, weights, not self._revisits, streaming=True)
            return self
        margins = np.empty((X.shape[0], state.recipe.lanes))
        for rounds, passed_over in _runs(order, X.shape[0]):
            if len(rounds):
                self._play(
                    state, X, rounds, targets, weights, True, streaming=True, margins=margins
                )
            if len(passed_over):
                margins[passed_over] = _workers.margins_now(state, X[passed_over])
        told.margins, told.classes = margins, state.classes
        return self

    def _rounds_check_rows(self):
        """Whether rows that are not finite may be found by the rounds themselves; theory reads the rows before."""
        return "theory" not in (self.eta, self.epsilon)

    def _validate(self, X, y, sample_weight, reset, finite=True):
        """Checked parameters, rows, targets as given, and weights (empty: all 1)."""
        if reset:  # the parameters of a running model were checked when it began
            _rules.check_pairs(self.get_params(deep=False))
        X, y = check_rows_and_targets(
            self, X, y, reset=reset, numeric=self._targets_are_numbers, finite=finite
        )
        return X, self._tidy(y), check_weights(sample_weight, X)

    def _new_state(self, X, y, targets, weights, classes, in_order=True):
        recipe = _auto.make_recipe(
            self.get_params(deep=False),
            X,
            self._shape_of_model(y, classes),
            partial(theory_bounds, targets, weights),
            sparse.issparse(X),
            getattr(self, "feature_names_in_", None),
            in_order,
        )
        return State(recipe, classes)

    def _check_unchanged(self, X, y, targets, weights, state):
        """A running state goes on only with rows and targets of the same shape."""
        recipe = state.recipe
        if X.shape[1] != recipe.d:
            raise ValueError(
                f"X has {X.shape[1]} features and this model learns {recipe.d}; pass the same features, or start anew with "
                "fit (warm_start=False)."
            )
        asked = self._shape_of_model(y, state.classes)
        if (asked.lanes, asked.rows_of_coef) != (recipe.lanes, recipe.rows_of_coef):
            raise ValueError(
                f"This model learns {recipe.lanes} weight vector(s) and y, of shape {np.shape(y)}, asks for "
                f"{asked.lanes}; pass targets of the same shape as before, or start anew with fit (warm_start=False)."
            )
        if recipe.limits is not None:
            parameters = {name: getattr(self, name) for name in recipe.loss_parameters}
            _theory.check_limits(recipe, X, theory_bounds(targets, weights), parameters)
        if recipe.loss_parameters:
            self._set_loss(state)

    def _set_loss(self, state):
        """Give the state's loss the parameter values of this estimator."""
        names = _registry.loss(self.loss).parameters
        lanes_are_classes = state.classes is not None and len(state.classes) > 2
        state.set_loss(self.loss, {name: getattr(self, name) for name in names}, lanes_are_classes)

    def _weights_and_rounds(self, X, targets, weights, state, streaming):
        """Weights times class weights, and the rows of positive weight."""
        order = rows_of_positive_weight(X, weights)
        factors = self._class_factors(targets, order, state, streaming)
        weights, order = times_class_weights(weights, factors, order, len(targets))
        if streaming:
            _rules.check_average(state.recipe.average, state.rounds + len(order))
        return weights, order

    def _play_one(self, state, X, order, targets, weights):
        """``_play`` for one row of a stream, without what only several need."""
        guard = guard_of(self)
        if guard.waiting:
            guard.let_readers_pass()
        with guard.state, guard.rounds:
            outcome = _workers.play(
                state,
                _workers.rows_of(state, X),
                order,
                targets,
                weights,
                not self._revisits,
                self.n_jobs,
            )
        self._check_outcome(outcome, X, order)

    def _play(self, state, X, order, targets, weights, first_sight, streaming=False, margins=None):
        """One pass over ``order``; its weighted mean loss. ``margins``, by row number, takes those of before each round."""
        segments, guard = _workers.Segments(state), guard_of(self)
        report = ProgressiveReport(
            state,
            quiet=not self.verbose,
            streaming=streaming,
            memory=lambda: guard.read(lambda: _workers.memory(state)),
        )
        rows = _workers.rows_of(state, X)
        one_by_one = margins is not None and not _workers.tells(state)
        start, end = 0, len(order)
        while start < end:
            length = 1
            if end > 1 and not one_by_one:
                length = int(
                    min(
                        segments.length(),
                        report.rounds_to_next_line(),
                        _early.rounds_to_next(state),
                    )
                )
            part = order[start : start + length]
            if first_sight and state.early is not None:
                _early.note(state, X, part, targets, weights)
            said = None
            if one_by_one:
                margins[part] = _workers.margins_now(state, X[part])
            elif margins is not None:
                said = np.empty((len(part), state.recipe.lanes))
            begun = time.perf_counter()
            guard.let_readers_pass()
            with guard.state, guard.rounds:
                outcome = _workers.play(
                    state, rows, part, targets, weights, first_sight, self.n_jobs, said
                )
                if first_sight and state.early is not None and _early.renew(state):
                    rows = _workers.rows_of(state, X)
            if said is not None:
                margins[part[: outcome.rounds]] = said[: outcome.rounds]
            segments.played(outcome.rounds, time.perf_counter() - begun)
            start += outcome.rounds
            self._check_outcome(outcome, X, part)
            report.add(outcome.loss, outcome.weight)
        return report.close()

    def _check_outcome(self, outcome, X, order):
        """If the rounds stopped, say why, and at which row."""
        if outcome.status == _rounds.FINISHED:
            return
        if outcome.status == _rounds.STRAY_COLUMN:
            check_columns(X)
        check_finite(self, X)
        raise StoppedRound(
            f"Stopped at row {order[outcome.rounds]}: {outcome.reason()}; scale the features (and y), or lower eta (now "
            f"{shown(self.eta)}). partial_fit keeps what it learnt before this row, fit keeps the model it had before the call."
        )

    def _adopt(self, state, **attributes):
        """Make this state the model."""
        self._state = state
        self._begun_with = self._lasting()
        self._accepted = self._parameter_values()
        for name, value in attributes.items():
            setattr(self, name, value)

    @contextmanager
    def _features_restored_on_failure(self):
        """What validation noted about the features belongs to the state, not to a call that failed."""
        state = getattr(self, "_state", None)
        before = {name: getattr(self, name) for name in FEATURES if hasattr(self, name)}
        try:
            yield
        except BaseException:
            if getattr(self, "_state", None) is state:
                for name in FEATURES:
                    vars(self).pop(name, None)
                vars(self).update(before)
            raise

    def __getstate__(self):
        with guard_of(self).calls:  # not in the middle of a call that learns
            kept = super().__getstate__()
            if (
                kept.get("_state") is not None
            ):  # the next call may begin before all arrays are written
                kept = {**kept, "_state": kept["_state"].copy()}
        return {name: value for name, value in kept.items() if name not in ("_accepted", "_guard")}

    def __setstate__(self, kept):
        """Models of version 0.1 load too: their states do not know their loss, and a fitted attribute had another name."""
        super().__setstate__({**NEWER_PARAMETERS, **kept})
        if "validation_score_curve_" in vars(self):
            self.validation_scores_ = vars(self).pop("validation_score_curve_")
        if self.__sklearn_is_fitted__() and self._state.recipe.loss is None:
            self._set_loss(self._state)
        if self.__sklearn_is_fitted__():
            check_state(self._state)

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
