"""What ``fit`` and ``partial_fit`` share: the conversation between an estimator and the kernels.

validate → rows → ``run_rounds`` without the GIL → totals → raise in a sentence, or make the new state the model.
"""

from abc import abstractmethod
from contextlib import contextmanager
from functools import partial
from inspect import signature

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from . import _parameters
from ._callbacks import CallbackSupportMixin, Listeners
from ._checks import check_columns, check_finite, check_rows_and_targets
from ._fitted import FittedLinearModel
from ._kernels import _rounds
from ._state import State
from ._watching import ProgressiveReport, Watch

SEGMENT = 1 << 18  # rounds between two looks at the keyboard
FEATURES = ("n_features_in_", "feature_names_in_")


class BaseAdaReg(CallbackSupportMixin, FittedLinearModel, BaseEstimator):
    """Algorithm 1 behind the scikit-learn interface; subclasses know about targets."""

    _parameter_constraints = _parameters.COMMON_CONSTRAINTS
    _doc_link_module = "sklearn_adareg"
    _doc_link_template = (
        "https://sklearn-adareg.readthedocs.io/en/latest/api.html#sklearn_adareg.{estimator_name}"
    )

    @classmethod
    def _get_param_names(cls):
        """As scikit-learn finds them, once a class: a short fit would spend much of its time on looking at the signature."""
        if "_own_param_names" not in vars(cls):
            cls._own_param_names = tuple(super()._get_param_names())
        return list(cls._own_param_names)

    # ---- what a task says about its targets ---------------------------------------------------------------------

    _targets_are_numbers = False

    def _find_classes(self, y, weights):
        """The labels in y; None where there are none."""
        return None

    def _tidy(self, y):
        """Targets in the shape that the task takes."""
        return y

    @abstractmethod
    def _encode(self, y, classes, weights):
        """Targets as the loss kernel reads them: float64, (n_rows, targets a row); rows without weight may hold anything."""

    @abstractmethod
    def _shape_of_model(self, y, classes):
        """A dict: ``lanes`` weight vectors, whether they learn ``joint``ly, whether ``rows_of_coef`` are shown."""

    @abstractmethod
    def _loss_kernel(self, classes, lanes):
        """The compiled loss of a block of lanes."""

    @abstractmethod
    def _decide(self, margins, classes):
        """Predictions from margins."""

    def _class_factors(self, targets, live, state, streaming):
        """Factors on the weights of the rows, or None."""
        return None

    # ---- learning -----------------------------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight, X_val=None, y_val=None, sample_weight_val=None):
        """Up to ``max_iter`` passes; the new state replaces the old one when all went well."""
        given = (X, y, sample_weight)
        with self._features_restored_on_failure():
            earlier = self._state if self.warm_start and self.__sklearn_is_fitted__() else None
            X, y, weights = self._validate(
                X, y, sample_weight, reset=earlier is None, finite=not self._rounds_will_tell()
            )
            _check_some_weight(weights, "sample_weight")
            classes = earlier.classes if earlier else self._find_classes(y, weights)
            targets = self._encode(y, classes, weights)
            state = (
                self._new_state(X, y, targets, weights, classes)
                if earlier is None
                else earlier.copy()
            )
            if earlier:
                self._check_unchanged(X, y, targets, weights, state)
            rng = check_random_state(self.random_state)
            order = _live_rows(X, weights)
            weights, order = self._with_class_factors(
                weights, targets, order, state, streaming=False
            )
            _check_some_weight(weights, "class_weight times sample_weight")
            order, score = self._hold_out(
                X, y, weights, order, classes, rng, (X_val, y_val, sample_weight_val)
            )
            if self._rounds_will_tell() and len(order) < X.shape[0]:
                check_finite(self, X)
            most = _parameters.passes(self.get_params(deep=False), state.recipe, len(order))
            _parameters.check_average(state.recipe["average"], state.rounds + most * len(order))
            watch, listeners = Watch(self, most, score), Listeners(self, most, *given)

            def fitted(shown=state):
                return {"_state": shown.copy(), **_curves(watch)}

            for epoch in range(most):
                listeners.pass_begins()
                passing = rng.permutation(order) if self.shuffle else order
                loss = self._play(
                    state, X, passing, targets, weights, earlier is None and epoch == 0
                )
                settled = watch.pass_ends(loss, state)
                if listeners.pass_ends(fitted) or settled:
                    break
            watch.warn_if_unfinished()
            self._adopt(watch.best_state or state, **_curves(watch))
            listeners.fit_ends(lambda: fitted(self._state))
        return self

    def _begin(self, X, y, sample_weight, classes=None):
        """The first rows of a stream, and the state that they make."""
        with self._features_restored_on_failure():
            X, y, weights = self._validate(X, y, sample_weight, reset=True)
            targets = self._encode(y, classes, weights)
            state = self._new_state(X, y, targets, weights, classes)
            weights, order = self._rounds_of_stream(X, targets, weights, state)
            self._adopt(state, n_iter_=1, loss_curve_=[])
        return self._learn(state, X, order, targets, weights)

    def _go_on(self, X, y, sample_weight):
        """More rows of a stream, in the order given; the rounds before one that fails stay learnt."""
        state = self._state
        X, y, weights = self._validate(X, y, sample_weight, reset=False)
        targets = self._encode(y, state.classes, weights)
        self._check_unchanged(X, y, targets, weights, state)
        weights, order = self._rounds_of_stream(X, targets, weights, state)
        return self._learn(state, X, order, targets, weights)

    def _rounds_of_stream(self, X, targets, weights, state):
        """Weights and row numbers of the rounds to come."""
        order = _live_rows(X, weights)
        weights, order = self._with_class_factors(weights, targets, order, state, streaming=True)
        _parameters.check_average(state.recipe["average"], state.rounds + len(order))
        return weights, order

    def _learn(self, state, X, order, targets, weights):
        if len(order):
            self._play(state, X, order, targets, weights, True, streaming=True)
        return self

    def _rounds_will_tell(self):
        """Whether a pass over all rows may be what finds those that are not finite; theory looks at the rows before."""
        return "theory" not in (self.eta, self.epsilon)

    def _validate(self, X, y, sample_weight, reset, finite=True):
        """Checked parameters, rows, targets as given, and weights (empty: all 1)."""
        if reset:  # a running model has the parameters that were checked when it began
            _parameters.check_pairs(self.get_params(deep=False))
        X, y = check_rows_and_targets(
            self, X, y, reset=reset, numeric=self._targets_are_numbers, finite=finite
        )
        weights = np.empty(0)
        if sample_weight is not None:
            weights = _weights(sample_weight, X)
        return X, self._tidy(y), weights

    def _new_state(self, X, y, targets, weights, classes):
        shape = self._shape_of_model(y, classes)
        bounds = partial(_theory_bounds, targets, weights)
        recipe = _parameters.make_recipe(
            self.get_params(deep=False), X, shape, bounds, sparse.issparse(X)
        )
        return State(recipe, classes)

    def _check_unchanged(self, X, y, targets, weights, state):
        """A running state goes on only with the parameters that it was built from."""
        if X.shape[1] != state.recipe["d"]:
            raise ValueError(
                f"X has {X.shape[1]} features and this model learns {state.recipe['d']}; pass the same features, or start anew with "
                "fit (warm_start=False)."
            )
        for name, before in self._begun_with.items():
            now = getattr(self, name)
            if now is not before and now != before:
                raise ValueError(
                    f"{name} was {before!r} when this model began and is {now!r} now, and a running model cannot change it; "
                    f"set {name} back, or call fit (warm_start=False) to start anew."
                )
        asked = self._shape_of_model(y, state.classes)
        if any(asked[name] != state.recipe[name] for name in ("lanes", "rows_of_coef")):
            raise ValueError(
                f"This model learns {state.recipe['lanes']} weight vector(s) and y, of shape {np.shape(y)}, asks for "
                f"{asked['lanes']}; pass targets of the same shape as before, or start anew with fit (warm_start=False)."
            )
        _parameters.check_limits(state.recipe, X, partial(_theory_bounds, targets, weights))

    def _with_class_factors(self, weights, targets, order, state, streaming):
        """Weights times ``class_weight``, and the rows that then still have weight."""
        factors = self._class_factors(targets, order, state, streaming)
        if factors is None:
            return weights, order
        full = weights.copy() if len(weights) else np.ones(len(targets))
        full[order] *= factors
        return full, order[full[order] > 0]

    def _hold_out(self, X, y, weights, order, classes, rng, own):
        """Rows to learn from, and a score of a state on the others (None without early stopping)."""
        X_val, y_val, weights_val = own
        if (X_val is None) != (y_val is None):
            missing = "y_val" if y_val is None else "X_val"
            raise ValueError(
                f"X_val and y_val go together, and {missing} is missing; pass both or neither."
            )
        if X_val is None and weights_val is not None:
            raise ValueError(
                "sample_weight_val was passed without X_val and y_val; pass those too, or leave it out."
            )
        if X_val is not None and not self.early_stopping:
            raise ValueError(
                "X_val and y_val were passed to fit and early_stopping is False, so they would not be used; set "
                "early_stopping=True, or leave them out."
            )
        if not self.early_stopping:
            return order, None
        if X_val is not None:
            X_val, y_val = check_rows_and_targets(
                self, X_val, y_val, reset=False, numeric=self._targets_are_numbers
            )
            if weights_val is not None:
                weights_val = _weights(weights_val, X_val)
            self._encode(y_val, classes, np.empty(0))  # refuses labels that the model does not know
        else:
            order, held = self._split(order, y, classes, rng.randint(2**31 - 1))
            X_val, y_val = X[held], y[held]
            weights_val = weights[held] if len(weights) else None

        def score(state):
            margins = self._margins_of(X_val, *state.published())
            return self._score(y_val, self._decide(margins, classes), weights_val)

        return order, score

    def _split(self, order, y, classes, seed):
        """Rows to learn from and rows to hold out; classes keep their shares where each has rows enough for that."""
        stratify = None
        if classes is not None:
            counts = np.unique(y[order], return_counts=True)[1]
            held = int(np.ceil(self.validation_fraction * len(order)))
            if counts.min() > 1 and len(counts) <= min(held, len(order) - held):
                stratify = y[order]
        order, held = train_test_split(
            order, test_size=self.validation_fraction, random_state=seed, stratify=stratify
        )
        return np.sort(order), held

    def _play(self, state, X, order, targets, weights, first_sight, streaming=False):
        """One pass over ``order``; its weighted mean loss."""
        report = ProgressiveReport(state, quiet=not self.verbose, streaming=streaming)

        def loss(lanes):
            return self._loss_kernel(state.classes, lanes)

        state.at_first_sight(first_sight)
        rows = state.rows_of(X)
        learnt = 0
        try:
            for part in report.segments(order, SEGMENT):
                total, weight, played, status, structure = state.play(
                    rows, part, targets, weights, loss, self.n_jobs
                )
                learnt += played
                if first_sight:
                    state.loss_total += total
                    state.weight_total += weight
                if status == _rounds.STRAY_COLUMN:
                    check_columns(X)
                if status != _rounds.FINISHED:
                    check_finite(self, X)
                    self._raise(status, part[played], structure)
                report.add(total, weight)
        finally:
            if first_sight:
                state.count_classes(targets, order[:learnt])
        return report.close()

    def _raise(self, status, row, structure):
        """Say why the rounds stopped, and at which row."""
        if status == _rounds.POTENTIAL_FAILED and structure.potential.error is not None:
            raise structure.potential.error
        reasons = {
            _rounds.LOSS_OVERFLOW: "the loss is not finite",
            _rounds.GRADIENT_OVERFLOW: "the gradient is too large for its square to be represented",
            _rounds.STEP_OVERFLOW: "the step is too large, and a weight would not be finite",
            _rounds.POTENTIAL_FAILED: "the eigendecomposition did not converge",
            _rounds.PROJECTION_FAILED: "the projection onto the domain did not converge",
        }
        raise ValueError(
            f"Stopped at row {row}: {reasons[status]}; scale the features (and y), or lower eta (now {self.eta!r}). "
            "partial_fit keeps what it learnt before this row, fit keeps the model it had before the call."
        )

    def _adopt(self, state, **attributes):
        """Make this state the model."""
        self._state = state
        self._begun_with = {name: getattr(self, name) for name in _parameters.LASTING}
        for name, value in attributes.items():
            setattr(self, name, value)

    @contextmanager
    def _features_restored_on_failure(self):
        """What validation noted about the features goes with the state, not with a call that failed."""
        before = {name: getattr(self, name) for name in FEATURES if hasattr(self, name)}
        try:
            yield
        except BaseException:
            for name in FEATURES:
                vars(self).pop(name, None)
            vars(self).update(before)
            raise

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _curves(watch):
    curves = {"n_iter_": len(watch.losses), "loss_curve_": list(watch.losses)}
    if watch.score is not None:
        curves["validation_score_curve_"] = list(watch.scores)
    return curves


def _weights(sample_weight, X):
    """Validated weights; a stream may bring a chunk without any."""
    permissive = "allow_all_zero_weights" in signature(_check_sample_weight).parameters
    allow = {"allow_all_zero_weights": True} if permissive else {}
    return _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, **allow
    )


def _check_some_weight(weights, name):
    if len(weights) and not weights.any():
        raise ValueError(
            f"{name} is zero for every row, so there is nothing to learn; give at least one row a positive weight."
        )


def _live_rows(X, weights):
    """The rows that are rounds: those with weight."""
    return np.flatnonzero(weights) if len(weights) else np.arange(X.shape[0], dtype=np.intp)


def _theory_bounds(targets, weights):
    return {
        "target": float(np.abs(targets).max(initial=0.0)),
        "weight": float(weights.max()) if len(weights) else 1.0,
    }
