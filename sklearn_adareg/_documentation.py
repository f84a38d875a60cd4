"""The parameters that both estimators share, documented once; class docstrings are filled in from here."""

COMMON = {
    "p": """p : float, default=2.0
    Power of the potential ``"pnorm"``: :math:`\\psi(\\lambda) = \\eta\\lambda^{-1/(p+1)}`; ``p=1`` is ``"adagrad"``.""",
    "eta": """eta : float, "auto" or "theory", default="auto"
    Step size :math:`\\eta`. ``"auto"`` needs no choice: with ``scaling="online"`` and neither domain nor penalty the full
    structure takes Newton steps and the others stack two step sizes that learn side by side; elsewhere it is a number that does well
    over many data sets. ``"theory"`` is the value that the paper's regret bound is proved for; it needs a bounded domain,
    ``fit_intercept=False`` and ``scaling=None``.""",
    "epsilon": """epsilon : float, "auto" or "theory", default="auto"
    :math:`G_0 = \\epsilon I`: how much evidence there is before the first row.""",
    "refresh": """refresh : float, default=0.5
    :math:`\\delta`: with the full structure and a potential other than ``"ons"``, a decomposition of G serves
    until G may have grown beyond
    :math:`1+\\delta` times what it was, which is certified; the regret bound grows by at most
    :math:`(1+\\delta)^a`, :math:`a` the power of
    :math:`\\psi`. 0 decomposes in every round.""",
    "scaling": """scaling : "online" or None, default="online"
    ``"online"`` learns in units that the data bring along, so that the model does not depend on units: features count in the largest
    value that they have had, residuals in their root mean square; ``huber_delta``, ``insensitivity`` and ``tol`` are
    in units of residuals
    then. Domain and penalty stay in raw units. ``None`` takes features as they are.""",
    "domain": """domain : {"l2", "box", "l1", "simplex", "nonnegative"} or None, default=None
    Where ``coef_`` must lie: :math:`\\|w\\|_2 \\le r`, :math:`|w_i| \\le r`, :math:`\\|w\\|_1 \\le r`, :math:`w \\ge
    0, \\sum w_i = r`, or
    :math:`w \\ge 0`. Projections are exact, in the norm of :math:`H_t^{-1}`. The intercept is free.""",
    "radius": """radius : float, default=None
    The :math:`r` of the domain; ``"nonnegative"`` needs none.""",
    "update": """update : {"mirror_descent", "dual_averaging"}, default="mirror_descent"
    :math:`x_{t+1} = \\Pi(x_t - H_t g_t)` or :math:`\\Pi(x_1 - H_t \\sum_s g_s)`.""",
    "alpha": """alpha : float, default=0.0
    Strength of the penalty :math:`\\alpha(\\frac{1-\\rho}{2}\\|w\\|_2^2 + \\rho\\|w\\|_1)` on ``coef_``. Many passes reach the
    optimum of ``LogisticRegression(C=1/(n*alpha))``, ``Ridge(alpha=n*alpha)`` and ``Lasso(alpha=alpha)``.""",
    "l1_ratio": """l1_ratio : float, default=0.0
    The :math:`\\rho` of the penalty: 0 is L2, 1 is L1 (structures ``"diag"`` and ``"iso"``).""",
    "average": """average : bool, float or "auto", default="auto"
    The fitted model is :math:`\\sum_t c_t x_t / \\sum_t c_t` over the iterates that predicted, with :math:`c_t = 1` for ``True`` and
    :math:`c_t = t^\\gamma` for a float :math:`\\gamma`; ``False`` takes the last iterate. ``"auto"`` is an average that
    forgets the start: :math:`\\gamma` is 20 for Newton steps, 1 for a stack, 2 elsewhere.""",
    "fit_intercept": """fit_intercept : bool, default=True
    Whether to learn a constant; it is one more coordinate, whose feature is 1.""",
    "max_iter": """max_iter : int or None, default=None
    The most passes that ``fit`` makes; ``partial_fit`` always makes one. ``None`` makes three where the step size is learnt and there
    are 20 rows or more for each feature, one where there are fewer (more would fit their noise), and up to 100 elsewhere.""",
    "tol": """tol : float or None, default=1e-3
    ``fit`` stops when the mean loss (the validation score with ``early_stopping``) has not improved by ``tol`` in
    ``n_iter_no_change`` passes; ``None`` makes all ``max_iter`` passes.""",
    "n_iter_no_change": """n_iter_no_change : int, default=3
    Passes without improvement to wait for.""",
    "shuffle": """shuffle : bool, default=True
    Whether ``fit`` shuffles the rows before each pass; ``partial_fit`` never does.""",
    "warm_start": """warm_start : bool, default=False
    Whether ``fit`` goes on from the whole state of the earlier calls, for up to ``max_iter`` more passes.""",
    "early_stopping": """early_stopping : bool, default=False
    Whether to stop by the score on held-out rows and keep the best model.""",
    "validation_fraction": """validation_fraction : float, default=0.1
    Share of the rows to hold out, unless ``X_val`` and ``y_val`` are passed to ``fit``. Classes keep their shares where each has
    rows enough.""",
    "n_jobs": """n_jobs : int or None, default=None
    Threads for weight vectors that learn independently ({independent}). The model is the same whatever their number.""",
    "verbose": """verbose : int, default=0
    Whether to print, at rounds 1, 2, 4, 8, …, the mean loss so far and since the last line.""",
    "random_state": """random_state : int, RandomState instance or None, default=None
    Seed of the shuffling and of the held-out share.""",
}
FIRST = """potential : {"auto", "adagrad", "ons", "pnorm"} or SpectralPotential, default="auto"
    The potential: step sizes :math:`\\psi(\\lambda)` are :math:`\\eta\\lambda^{-1/2}`, :math:`\\eta\\lambda^{-1}`,
    :math:`\\eta\\lambda^{-1/(p+1)}`, or your own. ``"auto"`` takes ``"ons"`` where the structure is full and ``"adagrad"``
    elsewhere.
structure : {"auto", "full", "diag", "iso"}, default="auto"
    Which preconditioners are allowed: any positive definite matrix (:math:`O(d^2)` a round), a diagonal one or a multiple of the
    identity (:math:`O(\\mathrm{nnz})` a round). ``"auto"`` takes ``"full"`` for few features and ``"diag"`` for many."""
ATTRIBUTES = """intercept_ : ndarray of shape (n_vectors,)
    The constants.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the features, when X had string names.
t_ : int
    Rounds played so far.
n_iter_ : int
    Passes that the last ``fit`` made.
loss_curve_ : list of float
    Mean loss of each pass.
validation_score_curve_ : list of float
    Score on the held-out rows after each pass; with ``early_stopping``.
progressive_loss_ : float
    Mean loss of the rows at first sight, each predicted before it was learnt from: an honest estimate that needs no held-out rows.
potential_, structure_, eta_, epsilon_, average_ : object
    What "auto" and "theory" came to."""


def document(text, *, independent, loss, own=()):
    """Put the shared parameters and attributes where ``text`` has {parameters} and {attributes}."""
    common = {**COMMON, "n_jobs": COMMON["n_jobs"].format(independent=independent)}
    order = list(common)
    for name, after, entry in own:
        order.insert(order.index(after) + 1, name)
        common[name] = entry
    parameters = "\n".join([FIRST, loss, *(common[name] for name in order)])
    return text.replace("{parameters}", _indent(parameters)).replace(
        "{attributes}", _indent(ATTRIBUTES)
    )


def _indent(entries):
    return entries.replace("\n", "\n    ")
