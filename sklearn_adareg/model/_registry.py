"""Name → entry. Parameter constraints, documentation, messages and test grids all derive from these tables.

A new loss, potential, structure or domain is one class in ``_kernels`` and one entry here. The tables are read when they are
needed, so an entry can also be added while the program runs.
"""

from functools import partial
from importlib import import_module

import numpy as np

from .._kernels.domains import _domains, _l2_ball, _polyhedra
from .._kernels.losses import _losses
from .._kernels.potentials import _potentials
from . import _entries, _loss_constants, _spectra
from ._entries import LOG, Domain, Loss, Method, Potential, Probabilities, Structure, Update
from ._spectral_potential import SpectralPotential

LINEAR_SVC = "sklearn.svm.LinearSVC"


def having(facts):
    """These facts of an entry, which are true."""
    return dict.fromkeys(facts.split(), True)


LEAST_PROBABILITY = 1e-3  # to which certificates clip probabilities, and to 1 minus it from above
CLASSIFICATION_LOSSES = {
    "log_loss": Loss(
        _losses.LogLoss,
        joint_kernel=_losses.Softmax,
        probabilities=Probabilities(_entries.logistic, _entries.log_logistic),
        constants=_loss_constants.log_loss,
        joint_constants=_loss_constants.softmax,
        dispersion=np.ones_like,
        clip=(-np.log1p(-LEAST_PROBABILITY), -np.log(LEAST_PROBABILITY)),
        curved=True,
        plain="sklearn.linear_model.LogisticRegression",
    ),
    "hinge": Loss(_losses.Hinge, constants=_loss_constants.hinge, plain=LINEAR_SVC),
    "squared_hinge": Loss(_losses.SquaredHinge, constants=_loss_constants.squared_hinge, curved=True, plain=LINEAR_SVC),
    "modified_huber": Loss(
        _losses.ModifiedHuber,
        probabilities=Probabilities(_entries.clipped, _entries.log_clipped),
        constants=_loss_constants.modified_huber,
        curved=True,
        plain=LINEAR_SVC,
    ),
    "perceptron": Loss(_losses.Perceptron, constants=_loss_constants.perceptron, has_minimiser=False, plain=LINEAR_SVC),
}


def _regression(kernel, constants, parameters=(), **facts):
    return Loss(kernel, parameters, constants=constants, plain="sklearn.linear_model.LinearRegression", **facts)


REGRESSION_LOSSES = {
    "squared_error": _regression(
        _losses.SquaredError,
        _loss_constants.squared_error,
        degree=2,
        curved=True,
        dispersion=lambda mean_loss: 2 * mean_loss,
    ),
    "huber": _regression(_losses.Huber, _loss_constants.huber, ("huber_delta",), degree=2, curved=True),
    "absolute_error": _regression(_losses.AbsoluteError, _loss_constants.absolute_error, degree=1),
    "quantile": _regression(_losses.Quantile, _loss_constants.quantile, ("quantile",), degree=1),
    "epsilon_insensitive": _regression(
        _losses.EpsilonInsensitive, _loss_constants.epsilon_insensitive, ("insensitivity",), degree=1
    ),
    "squared_epsilon_insensitive": _regression(
        _losses.SquaredEpsilonInsensitive,
        _loss_constants.squared_epsilon_insensitive,
        ("insensitivity",),
        degree=2,
        curved=True,
    ),
    "poisson": Loss(
        _losses.Poisson,
        link=LOG,
        constants=_loss_constants.poisson,
        curved=True,
        nonnegative_targets=True,
        plain="sklearn.linear_model.PoissonRegressor",
        summary="models counts, and ``predict`` gives their mean",
    ),
}

CORE_LOSSES = {"linear": Loss(_losses.Linear)}  # of AdaReg, whose callers have their own losses


def _adagrad_theory(problem):
    """The η that makes both terms of the bound equal, whatever G_T is."""
    return problem.reach / np.sqrt(2), TINY


def _pnorm_theory(problem):
    """The η whose bound is least in the worst case of T gradients of norm at most γ: both traces are largest where all
    eigenvalues of G_T are the same, and then the two terms are equal for this η."""
    p, largest = problem.parameters["p"], TINY + problem.mean_eigenvalue()
    return problem.reach * np.sqrt(p / (p + 1)) * largest ** ((1 - p) / (2 * p + 2)), TINY


def _ons_theory(problem):
    beta = problem.exp_concavity()
    return 1 / beta, problem.D / (beta * problem.diameter) ** 2


TINY = 1e-10  # epsilon="theory" where the bound asks for none
PROVED = ("full", "block", "sketch", "diag", "iso")  # structures with closed forms
POTENTIALS = {
    "adagrad": Potential(
        _potentials.AdaGrad,
        **having("operator_antitone power"),
        exponent=lambda: 0.5,
        rates=(0.5, 5.0),
        auto_by_structure={"block": (1.0, 1.0), "kronecker": (1.0, 1.0)},
        value=lambda h, eta, p: eta**2 * np.sum(1 / h),
        theory=dict.fromkeys(PROVED, _adagrad_theory),
        formula=r"\eta\lambda^{-1/2}",
    ),
    "ons": Potential(
        _potentials.OnlineNewton,
        **having("operator_antitone power inverse newton weights_as_rows"),
        exponent=lambda: 1.0,
        rates=(1.0, 10.0),
        value=lambda h, eta, p: -eta * np.sum(np.log(h)),
        auto=(1.0, 1.0),
        auto_by_structure={"full": (4.0, 1.0), "block": (3.0, 1.0), "kronecker": (16.0, 1.0)},
        theory=dict.fromkeys(PROVED, _ons_theory),
        formula=r"\eta\lambda^{-1}",
    ),
    "pnorm": Potential(
        _potentials.PNorm,
        ("p",),
        **having("operator_antitone power"),
        exponent=lambda p: 1 / (p + 1),
        rates=(0.5, 5.0),
        auto_by_structure={"block": (0.5, 1.0), "kronecker": (0.5, 1.0)},
        value=lambda h, eta, p: eta ** (p + 1) / p * np.sum(h**-p),
        theory=dict.fromkeys(PROVED, _pnorm_theory),
        formula=r"\eta\lambda^{-1/(p+1)}",
    ),
}


def _load(path):
    """A class in ``_kernels``, whose module is loaded when a model is made that runs on it."""
    module, name = path.rsplit(".", 1)
    return getattr(import_module(f".._kernels.{module}", __package__), name)


def _by_potential(of_inverse, of_others):
    """The class for ψ(λ) = η/λ, and that for any other ψ."""
    return lambda recipe: _load(of_inverse if potential(recipe.potential).inverse else of_others)


def _sketch_kernel(recipe):
    path = "preconditioners.sketch._sketch."
    if METHODS[recipe.method].newton_members:
        return _load(path + "SketchNewton")
    return _by_potential(path + "SketchONS", path + "SketchSpectral")(recipe)


def _iso_kernel(recipe):
    """Isotropic dual averaging moves every coordinate each round; without domain and penalty it is kept as one product."""
    if recipe.dual and recipe.plain:
        return _load("preconditioners.diagonal._isotropic.IsotropicDual")
    return _load("preconditioners.diagonal._isotropic.Isotropic")


def _sketch_memory(outputs, D, rank, whole):
    rank = min(rank, D)
    of_projections = 6 * D * D if whole else 0  # H as a matrix, and what the solvers copy
    return 8 * (outputs * (3 * rank * D + 10 * D + 20 * rank * rank) + of_projections)


STRUCTURES = {
    "full": Structure(
        _by_potential("preconditioners.full._full.FullONS", "preconditioners.full._full.FullSpectral"),
        **having("takes_more_outputs newton forgets tells_errors"),
        spectrum=_spectra.eigenvalues,
        auto_potential="ons",
        # three matrices per weight vector, and two to work in
        memory=lambda outputs, D: 8 * (3 * outputs + 2) * D * D,
        summary=r"any positive definite matrix (:math:`O(d^2)` per round)",
    ),
    "block": Structure(
        _by_potential("preconditioners.block._block.BlockONS", "preconditioners.block._block.BlockSpectral"),
        **having("takes_more_outputs forgets tells_errors has_blocks"),
        auto_potential="ons",
        spectrum=_spectra.of_blocks,
        # four matrices per weight vector or two and their corrections, and vectors
        memory=lambda outputs, D: 8 * outputs * D * (4 * D + 8),
        summary=r"block-diagonal matrices, see ``blocks`` (:math:`O(\sum n^2)` per round over the blocks that the row touches, "
        "of n features each)",
    ),
    "sketch": Structure(
        _sketch_kernel,
        **having("has_rank newton_stack"),
        auto_potential="ons",
        spectrum=_spectra.of_sketch,
        memory=_sketch_memory,
        summary=r"a multiple of the identity and ``rank`` directions beside it (:math:`O(\mathrm{rank} \cdot d)` per round)",
    ),
    "kronecker": Structure(
        lambda recipe: _load("preconditioners.kronecker._kronecker.Kronecker"),
        **having("couples_outputs powers_only mirror_descent_only"),
        takes_domains=False,
        auto_potential="ons",
        # six matrices per factor, and six numbers per weight; more where an L2 penalty makes steps of full rank
        memory=lambda outputs, D: 48 * (outputs * outputs + D * D) + 72 * outputs * D,
        summary=r"for several classes or targets, K of them, a Kronecker product of a K×K and a d×d matrix "
        "(:math:`O(K^2 + d^2 + Kd)` per round)",
    ),
    "diag": Structure(
        lambda recipe: _load(
            "preconditioners.diagonal._diagonal." + ("PairedDiagonal" if recipe.paired else "Diagonal")
        ),
        **having("takes_more_outputs takes_l1 stack sparse_rounds forgets tells_errors own_steps"),
        auto_pair=("pnorm", {"p": 2.0}),
        spectrum=_spectra.diagonal,
        summary=r"diagonal matrices (:math:`O(\mathrm{nnz})` per round)",
    ),
    "iso": Structure(
        _iso_kernel,
        **having("takes_more_outputs takes_l1 stack sparse_rounds forgets one_step_size"),
        spectrum=_spectra.mean_diagonal,
        summary=r"multiples of the identity (:math:`O(\mathrm{nnz})` per round)",
    ),
}


_stack = partial(_load, "aggregation._stack.Stack")
METHODS = {
    "algorithm1": Method(partial(_load, "aggregation._methods.Method"), has_bounds=True, forgets=True),
    "information": Method(partial(_load, "loop._learner.Learner"), learner=True, forgets=True, several="epsilon"),
    "newton_stack": Method(_stack, newton_members=True, several="eta", prefix="stack_"),
    "stack": Method(_stack, several="eta", prefix="stack_", forgets=True),
}
AUTO_STRUCTURES = ("full", "diag")  # of structure="auto": for few features, for many
DOMAINS = {
    None: Domain(_domains.NoDomain, coordinatewise=True),
    "l2": Domain(
        _l2_ball.L2Ball,
        has_radius=True,
        diameter=lambda r, d: 2 * r,
        sup_diameter=lambda r, d: 2 * r,
        dual_norm=2,
        support=lambda v, r: r * np.linalg.norm(v),
        formula=r"\|w\|_2 \le r",
    ),
    "box": Domain(
        _polyhedra.Box,
        has_radius=True,
        coordinatewise=True,
        diameter=lambda r, d: 2 * r * np.sqrt(d),
        sup_diameter=lambda r, d: 2 * r,
        dual_norm=1,
        support=lambda v, r: r * np.abs(v).sum(),
        formula=r"|w_i| \le r",
    ),
    "l1": Domain(
        _polyhedra.L1Ball,
        has_radius=True,
        diameter=lambda r, d: 2 * r,
        sup_diameter=lambda r, d: 2 * r,
        dual_norm=np.inf,
        support=lambda v, r: r * np.abs(v).max(),
        formula=r"\|w\|_1 \le r",
    ),
    "simplex": Domain(
        _polyhedra.Simplex,
        has_radius=True,
        diameter=lambda r, d: r * np.sqrt(2),
        sup_diameter=lambda r, d: r,
        dual_norm=np.inf,
        support=lambda v, r: r * np.max(v),
        start=lambda r, d: r / d,
        formula=r"w \ge 0, \sum w_i = r",
    ),
    "nonnegative": Domain(_polyhedra.Nonnegative, coordinatewise=True, formula=r"w \ge 0"),
}
UPDATES = {
    "mirror_descent": Update(formula=r"\Pi(x_t - H_t g_t)"),
    "dual_averaging": Update(dual=True, formula=r"\Pi(x_1 - H_t \sum_s g_s)"),
}


def loss(name):
    """The entry of a loss, of whatever task."""
    for table in (CLASSIFICATION_LOSSES, REGRESSION_LOSSES):
        if name in table:
            return table[name]
    return CORE_LOSSES[name]


def potential(given):
    """The entry of a name, or one made from a user's :class:`SpectralPotential`."""
    if not isinstance(given, SpectralPotential):
        return POTENTIALS[given]
    return Potential(
        lambda: _potentials.Callback(given.psi, given.time_varying),
        # a decomposition is certified to serve on for one ψ, not for the next
        operator_antitone=given.operator_antitone and not given.time_varying,
        time_varying=given.time_varying,
        has_own_step_size=True,
        in_python=True,
        value=None if type(given).value is SpectralPotential.value else given.value,
        auto=(1.0, 1.0),
        theory="a user's potential brings its own step size",
    )


def names(table, fact):
    """The names of the entries of which a fact is true, quoted, for messages: ``'box', 'nonnegative'``."""
    return [repr(name) for name, entry in table.items() if name is not None and fact(entry)]
