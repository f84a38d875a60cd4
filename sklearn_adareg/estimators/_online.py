"""Algorithm 1 on gradients that the caller brings."""

import inspect
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from .._kernels.loop import _rounds
from ..model import _auto, _recipe, _registry, _rules, _runtime
from ..model._rows import LARGEST_INDEX
from ..model._state import State
from ..model._validation import CSR, FLOATS, check_columns, check_row_pointers, shown

NUMBER_OR_AUTO = [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})]
SHARED = ("potential", "structure", "rank", "p", "half_life", "refresh", "domain", "radius", "update")
CONSTRAINTS = {
    **{name: _rules.COMMON_CONSTRAINTS[name] for name in SHARED},
    "blocks": [None, Interval(Integral, 1, None, closed="left"), list, tuple],
    "dimension": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "eta": NUMBER_OR_AUTO,
    "epsilon": NUMBER_OR_AUTO,
    "average": ["boolean", Interval(Real, 0, None, closed="neither")],
}
# What an estimator has and a sequence of gradients has not.
FIXED = {"loss": "linear", "scaling": None, "fit_intercept": False, "alpha": 0.0, "l1_ratio": 0.0, "n_jobs": None}
LOSSES = {"loss": [StrOptions({FIXED["loss"]})]}  # that its states may have
FIRST_ROW = np.zeros(1, dtype=np.intp)
NO_WEIGHTS = np.empty(0)


def _of_structure(method, meaning):
    """An attribute that the structure tells of each weight vector, of which there is one."""
    return property(lambda self: getattr(self._structure(), method)()[0], doc=meaning)


class AdaReg:
    r"""Algorithm 1 on convex losses of your own: you compute the gradients, it takes the steps.

    In round t, predict with :math:`x_t` (``x``), and pass a (sub)gradient :math:`g_t` of your loss at :math:`x_t` to ``step``:

    .. math::

        G_t = G_{t-1} + g_t g_t^\top, \qquad H_t = \psi(P_S G_t), \qquad
        x_{t+1} = \Pi_X^{H_t^*}(x_t - H_t g_t)

    with :math:`G_0 = \varepsilon I` and :math:`x_1` the point of the domain nearest 0; or
    :math:`x_{t+1} = \Pi_X^{H_t^*}(x_1 - H_t \sum_s g_s)` with ``update="dual_averaging"``. These are the compiled
    rounds of :class:`AdaRegClassifier` and :class:`AdaRegRegressor`, without their intercept, units and penalties,
    so every bound of :mod:`sklearn_adareg.regret` applies.

    A round costs what it costs there: O(D³) for structure ``"full"``, whose G is decomposed in every round, O(D²) between
    decompositions with ``refresh`` above 0, and O(D²) with ``"ons"``, which needs none; that for each block that the gradient
    touches for ``"block"``, O(rank·D) for ``"sketch"``, O(nnz) for ``"diag"`` and ``"iso"``, and a call from Python, some
    10 µs. Reading ``x`` or ``average`` costs O(D), with ``"sketch"`` O(rank·D).

    Parameters
    ----------
    dimension : int
        Number of coordinates D.
    potential : str or SpectralPotential, default="adagrad"
        The potential, as in the estimators; ``"auto"`` is ``"ons"`` with structure ``"full"``, else ``"adagrad"``.
    structure : str, default="diag"
        The structure, as in the estimators; ``"auto"`` chooses by dimension and potential.
    eta : float or "auto", default="auto"
        The step size. ``"auto"`` is 4 for full ``"ons"``, 1 for ``"ons"`` otherwise, and .5: numbers that do well on
        gradients of size about 1.
    epsilon : float or "auto", default="auto"
        The initial value of G's diagonal; ``"auto"`` is 1.
    blocks : int, list or None, default=None
        The blocks of structure ``"block"``, which needs them: the size of blocks of coordinates that follow one another,
        or a list of groups of indices or slices.
    rank : int, default=16
        How many directions of G structure ``"sketch"`` keeps after a shrink, as in the estimators.
    p : float, default=2.0
        The exponent of the potential ``"pnorm"``.
    half_life : float, "auto" or None, default="auto"
        Rounds after which a gradient counts half, as in the estimators; ``"auto"`` and None never forget, which is the paper's
        algorithm.
    refresh : float or "auto", default="auto"
        How much G may grow before a full structure is decomposed anew, as in the estimators; ``"auto"`` is 0, the exact
        algorithm, where ``eta`` is a number or inside the potential, and .5 where it is ``"auto"``.
    domain : str or None, default=None
        The convex set that ``x`` is confined to.
    radius : float or None, default=None
        Its size.
    update : {"mirror_descent", "dual_averaging"}, default="mirror_descent"
        What a step starts from.
    average : bool or float, default=True
        The weights of the iterates in ``average``: all the same for True, :math:`t^\gamma` for a float γ; with False no
        average is kept, which saves D numbers.

    Attributes
    ----------
    x : ndarray of shape (D,)
        A copy of the iterate :math:`x_{t+1}`, which the next round predicts with.
    average : ndarray of shape (D,)
        The weighted average of the iterates that predicted, :math:`x_1, \ldots, x_t`.
    G : ndarray of shape (D, D) or (D,), or float
        :math:`P_S G_t` as it is kept: a matrix, its diagonal, or one number.
    H : ndarray of shape (D, D) or (D,), or float
        :math:`H_t` in the same form; with ``refresh`` that of the decomposition in use. Before the first round,
        :math:`H_0 = \psi(\varepsilon I)`.
    t : int
        Rounds played so far.

    See Also
    --------
    AdaRegClassifier : Classification with the losses of linear models.
    AdaRegRegressor : Regression.
    sklearn_adareg.regret.theorem_1 : The bound on the regret.

    Examples
    --------
    Prediction with the advice of three experts: x are their weights, and a round's gradient is their losses.

    >>> import numpy as np
    >>> from sklearn_adareg import AdaReg
    >>> losses = np.random.default_rng(0).uniform([0.2, 0.5, 0.4], 1.0, size=(1000, 3))
    >>> learner = AdaReg(3, "adagrad", "iso", domain="simplex", radius=1.0)
    >>> incurred = 0.0
    >>> for loss in losses:
    ...     incurred += loss @ learner.x
    ...     learner.step(loss)
    >>> bool(incurred < 1.02 * losses.sum(axis=0).min())
    True
    >>> learner.t, learner.x.argmax()
    (1000, np.int64(0))
    """

    __module__ = "sklearn_adareg"  # the public path, which saved models keep

    def __init__(
        self,
        dimension,
        potential="adagrad",
        structure="diag",
        *,
        eta="auto",
        epsilon="auto",
        blocks=None,
        rank=16,
        p=2.0,
        half_life="auto",
        refresh="auto",
        domain=None,
        radius=None,
        update="mirror_descent",
        average=True,
    ):
        given = {name: value for name, value in locals().items() if name != "self"}
        validate_parameter_constraints(CONSTRAINTS, given, caller_name="AdaReg")
        if blocks is None and structure != "auto" and _registry.STRUCTURES[structure].has_blocks:
            raise ValueError(
                f"structure={structure!r} needs blocks, since no rows tell which coordinates belong together; pass their size, e.g. "
                "blocks=8, or a list of groups of indices."
            )
        # "auto" would look at rows, and there are none
        params = {**FIXED, **given, "blocks": "auto" if blocks is None else blocks}
        _rules.check_pairs(params)
        shape = _recipe.ModelShape(n_outputs=1, rows_of_coef=False)
        self._given = given
        self._state = State(_auto.make_recipe(params, np.empty((0, dimension)), shape, None, is_sparse=False))

    def step(self, gradient, slope=1.0):
        """Play one round.

        Costs O(D²) for structure ``"full"`` with ``"ons"`` and O(D³) otherwise, O(nnz) for ``"diag"`` and ``"iso"``. A round
        whose numbers would not be finite is not played: it raises, and the state stays as it was.

        Parameters
        ----------
        gradient : array-like of shape (D,), or sparse matrix of shape (1, D)
            The gradient of the round's loss at ``x``; or, with ``slope``, the row z of a loss of :math:`z \\cdot x`.
        slope : float, default=1.0
            The factor on ``gradient``: the derivative of the loss with respect to :math:`z \\cdot x`.
        """
        state = self._state
        row = self._as_row(gradient)
        if np.ndim(slope) != 0:
            shape = np.shape(slope)
            raise ValueError(f"slope has shape {shape}, and one number multiplies the whole gradient; pass a float.")
        target = np.array([[slope]], dtype=np.float64)
        _rules.check_average(state.recipe.average, state.rounds + 1)
        outcome = _runtime.play(state, _runtime.rows_of(state, row), FIRST_ROW, target, NO_WEIGHTS, new=True)
        if outcome.status == _rounds.STRAY_COLUMN:
            check_columns(row)
        if outcome.status != _rounds.FINISHED:
            values = row.data if sparse.issparse(row) else row
            if not (np.isfinite(values).all() and np.isfinite(target).all()):
                raise ValueError(
                    "The gradient, or its slope, is NaN or infinite; pass finite numbers. The state is as it was before this call."
                )
            raise ValueError(
                f"Round {state.rounds + 1} was not played: {outcome.reason()}; scale the gradients, or lower eta (now "
                f"{shown(state.recipe.eta)}). The state is as it was before this call."
            )

    def _as_row(self, gradient):
        """The gradient as a matrix of one row that the kernels can read."""
        D = self._state.recipe.d
        if sparse.issparse(gradient):
            row = gradient.reshape(1, -1) if gradient.ndim == 1 else gradient
            row = row if type(row) in CSR else sparse.csr_array(row)
            if row.dtype not in FLOATS:
                row = row.astype(np.float64)
            check_row_pointers(row)
        else:
            row = np.asarray(gradient)
            if row.dtype not in FLOATS or not row.flags.c_contiguous:
                row = np.ascontiguousarray(row, dtype=np.float64)
            row = row[np.newaxis] if row.ndim == 1 else row
        if row.shape != (1, D):
            raise ValueError(
                f"The gradient has shape {np.shape(gradient)} and this learner has dimension {D}; pass one of shape ({D},), or a "
                f"sparse matrix of shape (1, {D})."
            )
        return row

    def regret_bound(self, *, diameter=None, exp_concave=False):
        r"""What is proved about the regret of the rounds so far, for convex losses whose gradients these were.

        Costs an eigendecomposition, O(D³), for structure ``"full"``, O(D) for ``"diag"`` and ``"iso"``.

        Parameters
        ----------
        diameter : float, default=None
            The b of the bound: no iterate was farther than this from the point to compare with, in the ∞-norm for structure
            ``"diag"``, in the coordinates of a block for ``"block"``. None is the diameter of the domain.
        exp_concave : bool, default=False
            Your word that the losses have the curvature that the potential ``"ons"`` assumes, with :math:`\beta = 1/\eta`;
            :func:`regret.ons_bound <sklearn_adareg.regret.ons_bound>` has it for each structure. Then the bound is logarithmic.

        Returns
        -------
        bound : RegretBound
            With ``value``, ``terms`` and ``missing``; see :class:`sklearn_adareg.regret.RegretBound`.
        """
        from ..theory import _bounds

        return _bounds.regret_bound(self._state, diameter, bool(exp_concave))

    def _structure(self):
        [block] = self._state.blocks
        return _runtime.method_of(block).structure

    x = _of_structure("last_iterate", "The iterate.")
    G = _of_structure("accumulated", "P_S G as it is kept.")
    H = _of_structure("preconditioner", "The matrix of the last step.")

    @property
    def average(self):
        """The weighted average of the iterates that predicted."""
        if self._state.recipe.average is False:
            raise AttributeError(
                "This AdaReg keeps no average, since it was made with average=False; make it with average=True."
            )
        return self._structure().average()[0]

    @property
    def t(self):
        """Rounds played so far."""
        return self._state.rounds

    def __repr__(self):
        parameters = inspect.signature(AdaReg).parameters
        shown_ones = [
            f"{name}={shown(value)}"
            for name, value in self._given.items()
            if value is not parameters[name].default and value != parameters[name].default
        ]
        return f"AdaReg({', '.join(shown_ones)})"

    def __getstate__(self):
        return {**vars(self), "_state": self._state.to_plain()}

    def __setstate__(self, kept):
        from ..persistence._states import read_state

        vars(self).update(kept)
        self._state = read_state(kept["_state"], LOSSES)
