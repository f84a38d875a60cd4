"""The fitted model as a user sees it, computed from the state when it is first read after learning."""

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from ..model import _kept_beginning, _runtime
from ..model._guard import guard_of
from ..model._margins import margins
from ..model._state import Snapshot
from ..model._validation import check_rows


def _of_recipe(name, meaning):
    """An attribute that is in the recipe of the state."""
    return property(lambda self: getattr(self._fitted_state().recipe, name), doc=meaning)


class FittedLinearModel:
    """Fitted attributes that are views of ``_state``, and the margins that predictions start from."""

    def __sklearn_is_fitted__(self):
        return getattr(self, "_state", None) is not None

    def _fitted_state(self):
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"This {type(self).__name__} has learnt nothing yet; call fit or partial_fit first.")
        return self._state

    def _read(self, compute):
        """What ``compute`` makes of the state as it is between two segments of rounds."""
        state = self._fitted_state()
        return guard_of(self).read(lambda: compute(state))

    def _loss_in_use(self):
        """The loss that the model learnt with, or is going to; the parameter may have been set since."""
        state = getattr(self, "_state", None)
        return self.loss if state is None else state.recipe.loss

    def _publish(self):
        """The model of the last finished round or, while rounds are played, the one that was last shown."""
        state = self._fitted_state()
        shown = state.snapshot
        return shown if is_current(shown, state) else self._publish_anew(state, shown)

    def _publish_anew(self, state, shown):
        guard = guard_of(self)
        # while rounds are played, unless columns were shown alone since
        if shown is not None and guard.rounds.locked() and state.runtime.looked_up[0] <= shown.rounds:
            return shown

        def compute():
            coef, intercept = _runtime.published(state)
            coef = coef if state.recipe.rows_of_coef else coef[0]
            state.snapshot = Snapshot(state.rounds, coef, intercept, _runtime.limits(state))
            return state.snapshot

        return guard.read(compute)

    @property
    def coef_(self):
        """Weights of the features."""
        return self._publish().coef

    @property
    def intercept_(self):
        """The constants in the decision function."""
        return self._publish().intercept

    @property
    def t_(self):
        """Rounds played so far."""
        return self._fitted_state().rounds

    @property
    def progressive_loss_(self):
        """Weighted mean loss of the rows at first sight, each predicted before it was learnt from."""
        loss, weight = self._read(lambda state: (state.progress.total("loss"), state.progress.total("weight")))
        return loss / weight if weight else float("nan")

    @property
    def progressive_curve_(self):
        """The course of ``progressive_loss_``, and for classifiers of the rate of mistakes: means so far and since the last point."""
        return self._read(lambda state: state.progress.curve(state.classes))

    @property
    def memory_(self):
        """The effective number of rows in use now."""
        return self._read(_runtime.memory)

    @property
    def candidate_weights_(self):
        """What each candidate of the default learner counts in ``coef_``, by its name."""
        from ..theory._candidates import weights_by_name

        return self._read(weights_by_name)

    method_ = _of_recipe("method", '"algorithm1", or where "auto" learns "information", "stack" or "newton_stack".')
    potential_ = _of_recipe("potential", "The potential in use.")
    structure_ = _of_recipe("structure", "The structure in use.")
    eta_ = _of_recipe("eta", "The step size in use.")
    epsilon_ = _of_recipe("epsilon", "The epsilon in use.")
    half_life_ = _of_recipe("half_life", "The half-life in use, in rounds; None where nothing is forgotten.")
    average_ = _of_recipe("average", "The average in use: True, False or the power of t.")

    @property
    def validation_score_curve_(self):
        """The name of ``validation_scores_`` in version 0.1."""
        if "validation_scores_" not in vars(self):
            raise AttributeError(
                f"This {type(self).__name__} has no validation_scores_; fit it with early_stopping=True."
            )
        return self.validation_scores_

    def risk_certificate(self, delta=0.05):
        """Upper bounds on the expected loss and error rate, from the progressive losses: no test rows are needed.

        Each row is predicted before it is learnt from, so the losses of these predictions are those of new rows. A confidence
        sequence turns them into bounds that hold with probability 1 - ``delta`` at every round at once: you may read them after
        every row, and stop at any of them. For the error rate it is a sub-Bernoulli mixture, for the log-loss, with probabilities
        clipped to [0.001, 0.999], empirical Bernstein. Other losses are unbounded and have no bound. Each of the two bounds may
        fail with probability ``delta``. Later passes do not count.

        The bounds are on the expected loss of a model drawn at random from those of the rounds. They need independent and identically
        distributed rows of weight 1. Costs O(1), whatever the number of rows.

        Parameters
        ----------
        delta : float, default=0.05
            The probability with which a bound may fail.

        Returns
        -------
        RiskCertificate
            With ``loss``, ``error_rate``, ``delta``, ``rounds``, ``predictor`` and ``assumptions``.

        References
        ----------
        S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences",
        The Annals of Statistics 49, 2021.
        """
        from ..theory import _certificates

        check_is_fitted(self)
        blocks = self._begun_with.get("blocks", self.blocks)
        return self._read(lambda state: _certificates.certify(state, blocks, delta))

    def _certificates_so_far(self, delta):
        """The course of the certificates, for displays."""
        from ..theory import _certificates

        blocks = self._begun_with.get("blocks", self.blocks)
        return self._read(lambda state: _certificates.course(state, blocks, delta))

    @property
    def coef_std_(self):
        """Standard errors of ``coef_``."""
        std = self._error_bars().std()[:, : self._state.recipe.d]
        return std if self._state.recipe.rows_of_coef else std[0]

    @property
    def intercept_std_(self):
        """Standard errors of ``intercept_``; 0 where none is learnt."""
        std, recipe = self._error_bars().std(), self._state.recipe
        return std[:, recipe.d].copy() if recipe.intercept else np.zeros(len(std))

    def _error_bars(self):
        """The standard errors of the model as it is now, or a refusal in a sentence."""
        from ..theory import _error_bars

        state = self._fitted_state()
        why_not = _error_bars.refusal(state)
        if why_not:
            raise _error_bars.NoErrorBars(why_not)
        return self._read(lambda state: _error_bars.ErrorBars(state, self.shuffle))

    def sparsify(self):
        """Turn ``coef_`` into a sparse matrix, which saves memory when most of it is zero.

        More learning, or ``densify``, makes it dense again. The matrix is a ``csr_array`` where scikit-learn's
        ``sparse_interface`` setting asks for one.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        shown = self._publish()
        coef = shown.coef.toarray() if sparse.issparse(shown.coef) else shown.coef
        container = sparse.csr_array if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix
        self._state.snapshot = shown._replace(coef=container(np.atleast_2d(coef)))
        return self

    def densify(self):
        """Turn ``coef_`` back into an array.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        self._state.snapshot = None
        return self

    def to_sklearn(self, *, limits=True):
        """A plain scikit-learn model with the same predictions, for deployment.

        It holds the weights and nothing of what learning needs, so its file is small, other programs load it without this
        package, and converters such as skl2onnx know it. It is a copy, and does not change when this model learns from more rows.

        A model that limits values (``method_="information"``) becomes a ``Pipeline``: a ``MinMaxScaler`` that clips each feature to
        its limits, and the model, whose weights are those of the scaled features. A model that learnt from sparse rows of more than
        64 features has a ``FunctionTransformer`` of a function of this package there instead, which takes sparse rows.

        Parameters
        ----------
        limits : bool, default=True
            False gives the model alone, with ``coef_`` and ``intercept_`` as they are: the predictions are the same for rows
            whose values are within the limits.

        Returns
        -------
        LogisticRegression, LinearSVC, LinearRegression or PoissonRegressor, or a Pipeline of a step and one
            By the loss: ``LogisticRegression`` for ``"log_loss"``, ``LinearSVC`` for the other losses of classifiers (it has no
            probabilities, so those of ``"modified_huber"`` are lost), ``PoissonRegressor`` for ``"poisson"``, ``LinearRegression``
            for the other losses of regressors. Its own hyperparameters are at their defaults and mean nothing.
        """
        from ..persistence._plain_model import plain_model

        check_is_fitted(self)
        return plain_model(self, limits)

    def forget_rows(self):
        """Drop the first rows, which a model keeps while it is young.

        A model with ``method_="information"`` keeps its first 1024 rows, and learns from all of them anew each time they have
        grown by half; one of several step sizes on more than 100 dense features keeps rows until it has chosen their coordinates.
        They are in its copies and its files. This method learns from them once more, where they are kept for that, and
        removes them: the model goes on from sums over rows, as it would after its beginning.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        guard = guard_of(self)
        with guard.calls, guard.state:
            state = self._state.copy()
            _kept_beginning.forget(state)
            self._state = state
        return self

    def merge(self, other):
        """One model as if it had seen the rows of this model and of another one, both of which stay as they are.

        Parameters
        ----------
        other : estimator
            A fitted model of the same kind and with the same parameters.

        Returns
        -------
        estimator
            A new model, which goes on learning.

        See Also
        --------
        sklearn_adareg.merge : The same for any number of models, with what is exact and what is not.
        """
        from ..merging import merge_models

        check_is_fitted(self)
        return merge_models([self, other])

    def regret_bound(self, *, diameter=None):
        r"""What is proved about the regret of this model: the closed form that fits it, at the :math:`G_T` that it has.

        The regret is the loss of all rounds so far, each of the iterate before the round, minus that of the best fixed weights of
        the domain. For AdaGrad and the p-norm the bound holds for every loss, for ONS in its logarithmic form where ``eta`` is
        ``"theory"``; ``refresh`` and the sketch are in it. The default parameters have no such bound, and ``missing`` says
        why. Costs an eigendecomposition, O(D³), for the structure ``"full"``, O(D) for ``"diag"`` and ``"iso"``.

        Parameters
        ----------
        diameter : float, default=None
            The b of the bound: no iterate was farther than this from the weights to compare with, the intercept included. It is
            Euclidean, in the ∞-norm for structure ``"diag"``, in the coordinates of a block for ``"block"``. None is the
            diameter of the domain. Iterates of an unbounded domain are known from :func:`regret.record
            <sklearn_adareg.regret.record>`.

        Returns
        -------
        bound : RegretBound
            With ``value``, ``terms`` and ``missing``; see :class:`sklearn_adareg.regret.RegretBound`.
        """
        from ..theory import _bounds

        check_is_fitted(self)
        return self._read(lambda state: _bounds.regret_bound(state, diameter))

    def _margins(self, X):
        """X·coef + intercept, (n_rows, n_outputs)."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        X = check_rows(self, X)
        state = self._state
        shown = state.snapshot
        if not is_current(shown, state):
            if type(X) is not np.ndarray and _runtime.few_columns(state, X):
                result = guard_of(self).read(lambda: _runtime.margins_at(state, X))
                if result is not None:
                    return result
            shown = self._publish_anew(state, shown)
        coef = shown.coef if shown.coef.ndim == 2 else shown.coef.reshape(1, -1)
        return margins(X, coef, shown.intercept, shown.limits)


def is_current(shown, state):
    """Whether this is what the state has learnt so far."""
    return shown is not None and shown.rounds == state.rounds
