"""What ``fit`` and ``partial_fit`` share: the conversation between an estimator and the kernels.

validate → rows → ``run_rounds`` without the GIL → a tally → raise in a sentence, or publish ``coef_``.
"""

import warnings
from abc import abstractmethod
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _parameters
from ._kernels import _rounds
from ._rows import make_rows
from ._state import State

SEGMENT = 1 << 18  # rounds between two looks at the keyboard


class BaseAdaReg(BaseEstimator):
    """Algorithm 1 behind the scikit-learn interface; subclasses know about targets."""

    _parameter_constraints = _parameters.COMMON_CONSTRAINTS

    # ---- what a task says about its targets ---------------------------------------------------------------------

    @abstractmethod
    def _encode(self, y):
        """Targets as the loss kernel reads them: float64, (n_rows, targets a row)."""

    @abstractmethod
    def _lanes(self, targets):
        """How many weight vectors learn side by side."""

    @abstractmethod
    def _loss_kernel(self):
        """The compiled loss."""

    # ---- learning -----------------------------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight):
        """Up to ``max_iter`` passes; the new state replaces the old one when all went well."""
        X, targets, weights = self._prepare(X, y, sample_weight, reset=True)
        earlier = getattr(self, "_state", None) if self.warm_start else None
        if earlier is None:
            state = State(self._recipe(X, y, targets, weights))
        else:
            self._check_unchanged(X, targets, weights, earlier)
            state = earlier.copy()
        rows = make_rows(X, state.recipe)
        rng = check_random_state(self.random_state)
        order = _live_rows(X, weights)
        curve, best, patience = [], np.inf, 0
        for _ in range(self.max_iter):
            epoch = rng.permutation(order) if self.shuffle else order
            first_sight = earlier is None and not curve
            curve.append(self._play(state, rows, epoch, targets, weights, first_sight))
            if self.tol is not None:
                patience = patience + 1 if curve[-1] > best - self.tol else 0
                best = min(best, curve[-1])
                if patience >= self.n_iter_no_change:
                    break
        else:
            if self.tol is not None and self.max_iter > 1:
                warnings.warn(
                    f"max_iter={self.max_iter} passes were made before the loss stopped improving by tol={self.tol}; "
                    "raise max_iter or tol, or set tol=None to make exactly max_iter passes.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        self._adopt(state)
        self.n_iter_, self.loss_curve_ = len(curve), curve
        return self

    def _partial_fit(self, X, y, sample_weight):
        """One pass in the order given; the rounds before one that fails stay learnt."""
        first = getattr(self, "_state", None) is None
        X, targets, weights = self._prepare(X, y, sample_weight, reset=first)
        if first:
            state = State(self._recipe(X, y, targets, weights))
        else:
            state = self._state
            self._check_unchanged(X, targets, weights, state)
        rows = make_rows(X, state.recipe)
        try:
            mean = self._play(state, rows, _live_rows(X, weights), targets, weights, True)
        finally:
            if state.rounds or first:
                self._adopt(state)
        self.n_iter_ = 1
        self.loss_curve_ = [*getattr(self, "loss_curve_", []), mean]
        return self

    def _prepare(self, X, y, sample_weight, reset):
        """Validated rows, encoded targets, and weights (empty: all 1)."""
        params = self.get_params(deep=False)
        _parameters.check_pairs(params)
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C",
            y_numeric=False,
            multi_output=True,
        )
        targets = self._encode(y)
        weights = self._weigh(X, y, sample_weight)
        if isinstance(self.average, Real) and not isinstance(self.average, bool):
            rounds = getattr(getattr(self, "_state", None), "rounds", 0) + X.shape[0] * self.max_iter
            if (float(self.average) + 1.0) * np.log10(rounds + 2.0) > 280.0:
                raise ValueError(
                    f"average={self.average!r} gives weights t**{self.average} that overflow within {rounds} rounds; use a "
                    "smaller one (2.0 to 4.0 already forgets the start)."
                )
        return X, targets, weights

    def _weigh(self, X, y, sample_weight):
        if sample_weight is None:
            return np.empty(0)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError(
                "sample_weight is zero for every row, so there is nothing to learn; give at least one row a positive weight."
            )
        return weights

    def _recipe(self, X, y, targets, weights):
        recipe = _parameters.make_recipe(
            self.get_params(deep=False),
            X,
            self._lanes(targets),
            _theory_bounds(targets, weights),
            sparse.issparse(X),
        )
        return {**recipe, "several": np.ndim(y) == 2}

    def _check_unchanged(self, X, targets, weights, state):
        """A running state goes on only with the parameters that it was built from."""
        now = {name: getattr(self, name) for name in _parameters.LASTING}
        for name, value in now.items():
            if value != self._begun_with[name]:
                raise ValueError(
                    f"{name} was {self._begun_with[name]!r} when this model began and is {value!r} now, and a running model cannot "
                    f"change it; set {name} back, or call fit (warm_start=False) to start anew."
                )
        if state.recipe["lanes"] != self._lanes(targets):
            raise ValueError(
                f"This model learns {state.recipe['lanes']} weight vector(s) and y asks for {self._lanes(targets)}; pass the same "
                "targets as before, or start anew with fit (warm_start=False)."
            )
        _parameters.check_limits(state.recipe, X, _theory_bounds(targets, weights))

    def _play(self, state, rows, order, targets, weights, first_sight):
        """One pass over ``order``; the weighted mean loss."""
        loss, structure = self._loss_kernel(), state.structure()
        total = weight = 0.0
        for start in range(0, len(order), SEGMENT):
            part = order[start : start + SEGMENT]
            tally = _rounds.run_rounds(rows, part, targets, weights, loss, structure)
            total += tally.loss
            weight += tally.weight
            if first_sight:
                state.loss_total += tally.loss
                state.weight_total += tally.weight
            if tally.status != _rounds.FINISHED:
                self._raise(tally.status, part[tally.rounds], structure)
        return total / weight if weight else 0.0

    def _raise(self, status, row, structure):
        """Say why the rounds stopped, and at which row."""
        if status == _rounds.POTENTIAL_FAILED and structure.potential.error is not None:
            raise structure.potential.error
        reasons = {
            _rounds.LOSS_OVERFLOW: "the loss is not finite",
            _rounds.GRADIENT_OVERFLOW: "the gradient is too large for its square to be represented",
            _rounds.POTENTIAL_FAILED: "the eigendecomposition did not converge",
            _rounds.PROJECTION_FAILED: "the projection onto the domain did not converge",
        }
        raise ValueError(
            f"Stopped at row {row}: {reasons[status]}; scale the features (and y), or lower eta (now {self.eta!r}). "
            "The model is as it was before this row in partial_fit, and as it was before the call in fit."
        )

    def _adopt(self, state):
        """Make this state the model."""
        self._state = state
        self._begun_with = {name: getattr(self, name) for name in _parameters.LASTING}
        self._published = None
        recipe = state.recipe
        self.potential_, self.structure_ = recipe["potential"], recipe["structure"]
        self.eta_, self.epsilon_ = recipe["eta"], recipe["epsilon"]

    # ---- the fitted model ---------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self):
        return getattr(self, "_state", None) is not None

    def _publish(self):
        """Coefficients and intercepts as the user sees them, worked out when first asked for after learning."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"This {type(self).__name__} has learnt nothing yet; call fit or partial_fit first."
            )
        if self._published is None:
            self._published = list(self._shape(*self._state.published()))
        return self._published

    @abstractmethod
    def _shape(self, coef, intercept):
        """Lanes to the shapes of this task's ``coef_`` and ``intercept_``."""

    @property
    def coef_(self):
        """Weights of the features."""
        return self._publish()[0]

    @property
    def intercept_(self):
        """The constant in the decision function."""
        return self._publish()[1]

    @property
    def t_(self):
        """Rounds played so far."""
        self._publish()
        return self._state.rounds

    @property
    def progressive_loss_(self):
        """Mean loss of the rows at first sight, each predicted before it was learnt from."""
        self._publish()
        weight = self._state.weight_total
        return self._state.loss_total / weight if weight else float("nan")

    def sparsify(self):
        """Turn ``coef_`` into a sparse matrix, which saves memory when most of it is zero.

        Returns
        -------
        self : object
            The fitted estimator; learning on, or ``densify``, makes ``coef_`` dense again.
        """
        check_is_fitted(self)
        published = self._publish()
        published[0] = sparse.csr_matrix(np.atleast_2d(published[0]))
        return self

    def densify(self):
        """Turn ``coef_`` back into an array.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        self._published = None
        return self

    def _margins(self, X):
        """X·coef + intercept, (n_rows, lanes)."""
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, accept_sparse="csr", accept_large_sparse=True, dtype=[np.float64, np.float32]
        )
        coef, intercept = self._publish()
        coef = coef if sparse.issparse(coef) else np.atleast_2d(coef)
        return safe_sparse_dot(X, coef.T, dense_output=True) + intercept

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _live_rows(X, weights):
    """The rows that are rounds: those with weight."""
    return np.flatnonzero(weights) if len(weights) else np.arange(X.shape[0], dtype=np.intp)


def _theory_bounds(targets, weights):
    return {
        "target": float(np.abs(targets).max(initial=0.0)),
        "weight": float(weights.max()) if len(weights) else 1.0,
    }

