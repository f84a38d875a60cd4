"""The parameters and attributes that both estimators share, documented once; lists of names come from the registry."""

from ..model import _registry


def options(table, *also):
    """The values of a parameter as numpydoc writes them: ``{"auto", "full", "diag"}``."""
    return "{" + ", ".join(_quoted([*also, *(name for name in table if name is not None)])) + "}"


def those_with(table, fact, joiner=" and "):
    """The names of the entries of which a fact is true, as code."""
    names = [name for name, entry in table.items() if name is not None and fact(entry)]
    return joiner.join(f"``{name}``" for name in _quoted(names))


def _quoted(names):
    return [f'"{name}"' for name in names]


def _formulas(table):
    return ", ".join(f":math:`{entry.formula}`" for entry in table.values() if entry.formula)


def _summaries(table):
    return "; ".join(f'``"{name}"``: {entry.summary}' for name, entry in table.items())


FEW, MANY = _registry.AUTO_STRUCTURES
ONS_BY_DEFAULT = those_with(
    _registry.STRUCTURES, lambda entry: entry.auto_potential == _registry.STRUCTURES[FEW].auto_potential
)
TAKE_L1 = those_with(_registry.STRUCTURES, lambda entry: entry.takes_l1)
NO_RADIUS = those_with(_registry.DOMAINS, lambda entry: not entry.has_radius)
FIRST = f"""potential : {options(_registry.POTENTIALS, "auto")} or SpectralPotential, default="auto"
    The potential, as the step sizes :math:`\\psi(\\lambda)` that it gives to eigenvalues :math:`\\lambda` of :math:`G_t`: in
    this order {_formulas(_registry.POTENTIALS)}; or an object of your own. ``"auto"`` is
    ``"{_registry.STRUCTURES[FEW].auto_potential}"`` for the structures {ONS_BY_DEFAULT} and
    ``"{_registry.STRUCTURES[MANY].auto_potential}"`` for the others; if the structure is
    ``"auto"``, too, more than 100 features get two ``"pnorm"`` learners. Leave it at ``"auto"`` unless you compare algorithms.
structure : {options(_registry.STRUCTURES, "auto")}, default="auto"
    The matrices that :math:`H_t` may be. {_summaries(_registry.STRUCTURES)}.
    ``"auto"`` is ``"{FEW}"`` for up to 100 features and ``"{MANY}"`` for more, or where the potential or an L1 penalty
    needs a diagonal. Use ``"full"`` if features are correlated and :math:`O(d^2)` per row is affordable, ``"diag"`` if not."""
COMMON = {
    "blocks": """blocks : "auto", int or list, default="auto"
    The blocks of features of the structure ``"block"``; the intercept is a block of its own. An integer n makes blocks of n
    features that follow one another. A list has one group of features for each block: indices, a slice, or feature names;
    features in no group are blocks of their own. The groups of a fitted ColumnTransformer are
    ``blocks=list(transformer.output_indices_.values())``. ``"auto"`` is one block for up to 32 features. For up to 3,000 features
    and dense rows it groups features whose correlation in the first 2,000 rows of the first call stands out from noise, in blocks
    of at most 32; elsewhere, and where the first call has fewer than 50 rows, it is 8. Pass groups if you know which features
    belong together.""",
    "rank": """rank : int, default=16
    Number of directions of :math:`G_t` that the structure ``"sketch"`` keeps after a shrink; up to twice as many are in memory. If it
    is at least the number of features, plus one for the intercept, the structure is ``"full"``. Raise it if features are
    correlated in many directions; time and memory grow with it.""",
    "p": """p : float, default=2.0
    Power of the potential ``"pnorm"``: :math:`\\psi(\\lambda) = \\eta\\lambda^{-1/(p+1)}`; ``p=1`` is ``"adagrad"``.
    With larger values steps become shorter more slowly; search over 0.5, 1, 2 and 4.""",
    "eta": """eta : float, "auto" or "theory", default="auto"
    Step size :math:`\\eta`. With ``"auto"``, ``scaling="online"`` and mirror descent, no step size is needed: the full structure with
    the potential ``"ons"`` solves for the weights from sums over the rows, with any penalty or domain (``method_`` is
    ``"information"``, ``eta_`` 1, Newton's step); the diagonal and isotropic structures combine two step sizes (a stack), also with a
    penalty or a domain; the structure sketch combines Newton steps if there is neither. Elsewhere ``"auto"`` is a number that was
    chosen over many data sets. ``"theory"`` is the value for which the paper's regret bound is proved; it needs a bounded domain,
    ``fit_intercept=False`` and ``scaling=None``. Leave it at ``"auto"``; if you pass a number, search over powers of 2 around
    1.""",
    "epsilon": """epsilon : float, "auto" or "theory", default="auto"
    The initial value of G's diagonal, :math:`G_0 = \\epsilon I`. Larger values make early steps shorter.
    Raise it if early predictions are too extreme. Where ``method_`` is ``"information"`` it is the strength of the prior, a ridge of
    ``epsilon`` times the variance of each feature so far. ``"auto"`` learns there with several priors side by side, which
    ``epsilon_`` has as a tuple, and weighs them by their progressive losses; a number is the only prior.""",
    "half_life": """half_life : float, "auto" or None, default="auto"
    Number of rows, at least 1, after which a row has half its weight: with :math:`\\lambda = 2^{-1/h}`,
    :math:`G_t = \\lambda G_{t-1} + (1-\\lambda)\\epsilon I + g_t g_t^\\top`, and averages, sums of gradients and units forget
    likewise, so that the model follows a stream that changes. ``None`` never forgets, which is the paper's algorithm. ``"auto"``
    learns with several memories side by side where ``method_`` is ``"information"`` and rows come in order; it
    never forgets in a ``fit`` that shuffles, nor where ``eta`` is a number. A number is the only memory. The regret bounds are proved
    for ``None``. Set it to the number of rows over which the relation between features and target stays about the same.""",
    "refresh": """refresh : float or "auto", default="auto"
    :math:`\\delta`, for the structures full, block and sketch with a potential other than ``"ons"``, and for kronecker: the
    eigendecomposition (of each block or factor; of the rows of a sketch) is reused until the matrix could exceed
    :math:`1+\\delta` times the decomposed one; a Cholesky test certifies that it does not. The regret bound grows by at most
    :math:`(1+\\delta)^a`, where :math:`-a` is the power of :math:`\\psi`. 0 decomposes in every round, at :math:`O(D^3)` each, and
    is the exact algorithm. ``"auto"`` is 0 with ``scaling=None`` and a step size that is given (``eta`` a number or
    ``"theory"``, or inside a potential of your own), and 0.5 otherwise. Pass 0.5 there for rounds of mostly :math:`O(D^2)`.""",
    "scaling": """scaling : "online" or None, default="online"
    ``"online"`` makes the model independent of units: features are divided by the largest absolute value seen so far, residuals by
    their running root mean square; where ``method_`` is ``"information"``, priors are measured with the variances of the features so
    far, and a value far beyond those before it is limited. ``huber_delta``, ``insensitivity`` and ``tol`` are then in units of
    residuals; domain and penalty stay in raw units. ``None`` takes features and targets as they are: use it if the features are
    scaled already, or for the paper's algorithm without changes. Features whose values are all below 1e-150 count as 0: their
    squares are not represented, or their weights.""",
    "domain": f"""domain : {options(_registry.DOMAINS)} or None, default=None
    The set in which ``coef_`` must lie: in this order {_formulas(_registry.DOMAINS)}.
    Projections are exact, in the norm of :math:`H_t^{{-1}}`. The intercept is not constrained.
    Use it for known facts, such as coefficients that cannot be negative; to shrink coefficients, use ``alpha``.""",
    "radius": f"""radius : float, default=None
    The :math:`r` of the domain, in raw units; required with a domain, except for {NO_RADIUS}.""",
    "update": f"""update : {options(_registry.UPDATES)}, default="mirror_descent"
    The next point :math:`x_{{t+1}}`: in this order {_formulas(_registry.UPDATES)}. Dual averaging multiplies all
    gradients by the current :math:`H_t`. Keep mirror descent if you want the learnt step sizes of ``eta="auto"``.""",
    "alpha": """alpha : float, default=0.0
    Strength of the penalty :math:`\\alpha(\\frac{1-\\rho}{2}\\|w\\|_2^2 + \\rho\\|w\\|_1)` on ``coef_``. After many passes the model
    approaches that of ``LogisticRegression(C=1/(n*alpha))``, ``Ridge(alpha=n*alpha)`` and ``Lasso(alpha=alpha)``. Start with 0; where
    there are fewer than 20 rows per feature, search from 1e-6 to 1e-2.""",
    "l1_ratio": f"""l1_ratio : float, default=0.0
    The :math:`\\rho` of the penalty: 0 is L2, 1 is L1 (structures {TAKE_L1}, and ``"{FEW}"`` with its defaults). With
    ``average="auto"`` zeros are restored in the published model of a stack, and a ``fit`` without ``max_iter`` minimises a smooth
    loss with its penalty by proximal Newton steps over the rows. Set it to 1 to select features.""",
    "average": """average : bool, float or "auto", default="auto"
    The fitted model is the average :math:`\\sum_t c_t x_t / \\sum_t c_t` of the iterates that made predictions, with
    :math:`c_t = 1` for ``True`` and :math:`c_t = t^\\gamma` for a float :math:`\\gamma`; ``False`` is the last iterate. ``"auto"``
    is a :math:`\\gamma` of 1 for a stack and 2 elsewhere, which gives early iterates little weight. Where ``method_`` is
    ``"information"`` the model is the solution of a system and has no iterates: there it has to be ``"auto"``, and ``average_`` is
    False. Use ``True``, with a number as ``eta``, for the model of the regret bounds.""",
    "fit_intercept": """fit_intercept : bool, default=True
    Whether to learn an intercept. It is one more coordinate, whose feature is 1. Set it to False if features and target are
    centred.""",
    "max_iter": """max_iter : int or None, default=None
    Maximum number of passes of ``fit``; ``partial_fit`` always makes one. ``None`` is 100; where several step sizes are learnt
    (``method_`` is ``"stack"`` or ``"newton_stack"``) it is 3 for 20 rows or more per feature and 1 for fewer, where more would
    overfit; where ``method_`` is ``"information"`` and nothing is forgotten, a pass is a Newton step over all rows, and there are up
    to 25 until the minimiser is reached. Set it to 1 to read each row once; raise it together with ``early_stopping`` or
    ``alpha``.""",
    "tol": """tol : float or None, default=1e-3
    ``fit`` stops when the mean training loss (the validation score with ``early_stopping``) has not improved by ``tol`` in
    ``n_iter_no_change`` passes. ``None`` makes all ``max_iter`` passes. Lower it to converge further.""",
    "n_iter_no_change": """n_iter_no_change : int, default=3
    Number of passes without improvement after which ``fit`` stops. Raise it if ``loss_curve_`` is noisy.""",
    "shuffle": """shuffle : bool, default=True
    Whether ``fit`` shuffles the rows before each pass; ``partial_fit`` never does. Set it to False if the order is that of time.""",
    "warm_start": """warm_start : bool, default=False
    Whether ``fit`` continues from the state of the earlier calls, for up to ``max_iter`` more passes. To continue with new rows, call
    ``partial_fit``.""",
    "early_stopping": """early_stopping : bool, default=False
    Whether ``fit`` stops by the score on held-out rows and keeps the best model. ``partial_fit`` does not use it. Set it to True if
    several passes overfit.""",
    "scoring": """scoring : str, callable or None, default="loss"
    The score on the held-out rows, for ``early_stopping``. ``"loss"`` is the negative mean loss. Other strings are scikit-learn's
    names of scores, a callable is called with (estimator, X, y), and ``None`` is the estimator's ``score``.""",
    "validation_fraction": """validation_fraction : float, default=0.1
    Fraction of the rows to hold out, unless ``X_val`` and ``y_val`` are passed to ``fit``. The split is stratified by class if each
    class has enough rows. Raise it if the validation scores are noisy.""",
    "n_jobs": """n_jobs : int or None, default=None
    Number of threads for weight vectors that learn independently ({independent}); None is 1 thread, -1 all cores. The model does not
    depend on it.""",
    "verbose": """verbose : int, default=0
    Set it to 1 to print, at rounds 1, 2, 4, 8, …, the mean loss so far and since the last line, and ``memory_``.""",
    "random_state": """random_state : int, RandomState instance or None, default=None
    Seed of the shuffling and of the split of ``early_stopping``. Pass an int for the same model in each run.""",
}
ATTRIBUTES = """intercept_ : ndarray of shape (n_vectors,)
    The intercepts.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the features, if X had string names.
t_ : int
    Number of rounds so far: rows of positive weight learnt from, once per pass; once where ``fit`` takes Newton steps over all rows.
n_iter_ : int
    Number of passes of the last ``fit``.
loss_curve_ : list of float
    Mean loss of each pass.
validation_scores_ : list of float
    Score on the held-out rows after each pass; with ``early_stopping``.
validation_score_curve_ : list of float
    The same list, under its name in version 0.1.
coef_std_ : ndarray of the shape of `coef_`
    Standard errors of the weights, from the matrix that they are solved with. For ``loss="squared_error"`` and ``"log_loss"``, in
    the full structure; for two classes or targets also in the block and diagonal ones with ``potential="ons"``, ``eta=3.0`` and
    ``average=20.0``, where features are uncorrelated across blocks and have mean 0. They need 50 rows or more per weight, rows of
    weight 1, and no forgetting. Elsewhere an AttributeError says what is missing.
intercept_std_ : ndarray of shape (n_vectors,)
    Standard errors of the intercepts.
progressive_loss_ : float
    Mean loss of the predictions that were made for each row in the first pass, before it was learnt from: a validation loss without
    held-out rows. They are those of the model published before the row, which ``partial_fit_predict`` returns; the first row is
    predicted by weights of 0, on a simplex by equal ones.
progressive_curve_ : dict of ndarrays
    ``progressive_loss_`` against the number of ``rows`` of the first pass: ``mean_loss`` so far and ``mean_loss_since`` the last
    point; for classifiers also ``error_rate`` and ``error_rate_since``. Points are at rows 1, 2, 4, 8, …, at up to 256 multiples
    of a power of two, and at the last row; they do not depend on how the rows came in chunks.
    ``pandas.DataFrame(progressive_curve_)`` is a table of it.
memory_ : float
    The effective number of rows in use now, :math:`\\sum_k w_k (1-\\lambda_k^t)/(1-\\lambda_k)` over the candidates, with
    :math:`t` where :math:`\\lambda_k = 1`: candidate k multiplies the weight of earlier rows by :math:`\\lambda_k` at each row, and
    :math:`w_k` is the size of its weight in ``candidate_weights_``, normalised. The constant prediction counts with all rows.
    Beyond 100 features the learner with a short memory counts with its 100 rows, the others with all. With
    :math:`\\lambda = 2^{-1/h}` for a ``half_life`` of h there is one memory; where nothing is forgotten it is ``t_``. It falls
    when a stream changes and grows back. Every pass of ``fit`` counts its rows again, but for Newton steps over all rows.
candidate_weights_ : dict of float or ndarray
    With ``method_="information"``, what each candidate counts in ``coef_``, by its name: ``"prior 0.5"`` for a prior of the longest
    memory, ``"memory 500"`` for a shorter one in rows, ``"diagonal memory 33"``, and ``"constant"`` for the constant prediction.
    Halves of a candidate count as such parts of it and of the constant, and a regression on the candidates by its
    coefficients, so a weight may be negative. They are arrays with one number for each target or class that learns by itself.
method_ : str
    The method in use: ``"algorithm1"``, the paper's algorithm with one step size; where ``eta="auto"`` learns the step size,
    ``"information"`` (Newton's method from sums over the rows, with several priors and memories, combined by their progressive
    losses), ``"stack"`` (several step sizes combined) or
    ``"newton_stack"`` (Newton steps on two sketches, combined).
potential_, structure_, eta_, epsilon_, half_life_, average_ : object
    The values in use, after "auto" and "theory" were resolved. ``eta_`` and ``epsilon_`` are tuples where several are learnt with.
    Where ``method_`` is ``"information"``, ``eta_`` is 1.0, ``epsilon_`` always a tuple, of priors, and ``average_`` False."""


def document(text, *, independent, loss, class_weight=None):
    """Put the shared parameters and attributes where ``text`` has {parameters} and {attributes}."""
    entries = [FIRST, loss]
    for name, entry in COMMON.items():
        entries.append(entry.format(independent=independent) if name == "n_jobs" else entry)
        if name == "fit_intercept" and class_weight:
            entries.append(class_weight)
    parameters = "\n".join(entries)
    for name, entries in (("{parameters}", parameters), ("{attributes}", ATTRIBUTES)):
        text = text.replace(name, entries.replace("\n", "\n    "))
    return text


def of_rows(returned, meaning):
    """A method that takes rows and nothing else: its docstring goes on with what it takes and returns."""

    def complete(method):
        method.__doc__ = f"""{method.__doc__}

        Parameters
        ----------
        X : {{array-like, sparse matrix}} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {returned}
            {meaning}
        """
        return method

    return complete
