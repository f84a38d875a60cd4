"""The entries of the registry: a kernel, and beside it every fact about it that the rest of the package asks for.

Code asks an entry for a fact and never compares names, so a new entry is served by all code there is. Optional facts have a
default that is safe for a piece of which nothing more is known.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

BOTH_WAYS = np.array([-1.0, 1.0])
FARTHEST = np.finfo(np.float64).max / 4  # up to here differences of margins can be represented
LARGEST_EXPONENT = np.log(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Link:
    """How the margin of a row becomes its prediction."""

    inverse: Callable  # margins → predictions
    logarithmic: bool = False  # the margin is the logarithm of the prediction


@dataclass(frozen=True, eq=False)
class Probabilities:
    """How margins, (rows, n_outputs), become probabilities of the classes and their logarithms."""

    values: Callable
    logarithms: Callable


def logistic(margins):
    """Logistic for two classes, softmax for more."""
    if margins.size == 1:  # without NumPy's machinery
        margin = margins.item()
        rare = math.exp(-abs(margin))
        likely, rare = 1.0 / (1.0 + rare), rare / (1.0 + rare)
        return np.array([[rare, likely] if margin > 0 else [likely, rare]])
    if margins.shape[1] > 1:
        return softmax(np.clip(margins, -FARTHEST, FARTHEST), axis=1)
    return expit(margins * BOTH_WAYS)


def log_logistic(margins):
    """Logarithms of ``logistic``, exact where the probabilities round to 0 or 1."""
    if margins.shape[1] > 1:
        return log_softmax(np.clip(margins, -FARTHEST, FARTHEST), axis=1)
    return log_expit(margins * BOTH_WAYS)


def clipped(margins):
    """Margins clipped to [−1, 1] and moved to [0, 1], as in SGDClassifier for the modified Huber loss."""
    odds = (np.clip(margins, -1, 1) + 1) / 2
    if odds.shape[1] == 1:
        return np.column_stack([1 - odds[:, 0], odds[:, 0]])
    total = odds.sum(axis=1, keepdims=True)
    return np.where(total > 0, odds / np.where(total > 0, total, 1), 1 / odds.shape[1])


def log_clipped(margins):
    """Logarithms of ``clipped``; −inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log(clipped(margins))


IDENTITY = Link(np.asarray)
LOG = Link(lambda margins: np.exp(np.minimum(margins, LARGEST_EXPONENT)), logarithmic=True)  # without overflow


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss of a margin and a target."""

    kernel: Callable  # takes the values of ``parameters``
    parameters: tuple = ()  # names of estimator parameters
    joint_kernel: Callable | None = None  # learns several classes jointly; None: one against the rest
    link: Link = IDENTITY
    probabilities: Probabilities | None = None
    # (largest margin, largest target, ``parameters`` by name) → LossConstants; None: nothing is known
    constants: Callable | None = None
    joint_constants: Callable | None = None  # of the joint kernel; it takes ``classes`` too
    degree: int = 0  # ℓ(ρr) = ρ^degree ℓ(r) in the residual r; 0: not a loss of the residual
    curved: bool = False  # it has a continuous slope, so that Newton steps come to its minimum
    has_minimiser: bool = True  # other than 0
    nonnegative_targets: bool = False
    # mean loss → φ, the ratio of E ℓ'² to E ℓ'' where the model is right; None: not known
    dispersion: Callable | None = None
    clip: tuple = (-np.inf, np.inf)  # what the loss of a row is clipped to, to be bounded
    plain: str = ""  # the scikit-learn model that makes the same predictions from the same weights; empty: none
    summary: str = ""  # a clause for the documentation

    @property
    def starts_at_target(self):
        """Whether margins can start from the first target: they are in its unit, or in that of its logarithm."""
        return self.degree > 0 or self.link.logarithmic


@dataclass(frozen=True, eq=False)
class Potential:
    """A map ψ from the eigenvalues of G to those of H."""

    kernel: Callable  # takes the values of ``parameters``
    parameters: tuple = ()  # names of estimator parameters
    operator_antitone: bool = False  # A ⪯ B implies ψ(B) ⪯ ψ(A), so a decomposition can be reused
    inverse: bool = False  # ψ(λ) = η/λ: a full H is an inverse, which rank-one updates keep in O(D²)
    power: bool = False  # ψ(λ) = η λ^(−a) for some a
    exponent: Callable | None = None  # ``parameters`` by name → that a, in (0, 1]; for regret bounds
    time_varying: bool = False  # ψ depends on the round, so H changes without a gradient
    has_own_step_size: bool = False  # ψ has its step size inside, and eta has no effect
    in_python: bool = False  # ψ is a Python function, called once for all coordinates of a round
    # what eta="auto" does
    newton: bool = False  # Newton steps, where the structure has them
    rates: tuple = ()  # the step sizes of a stack; empty: no stack
    weights_as_rows: bool = False  # a row of weight ω enters G as ω rows of weight 1; otherwise as ω²gg'
    auto: tuple = (0.5, 1.0)  # eta and epsilon where one step size is used
    auto_by_structure: Mapping = field(default_factory=dict)  # structures where they differ
    # structure → function of a theory.Problem that gives (eta, epsilon), or why there is none; a string: why there is none at all
    theory: Mapping | str = "no regret bound is known for this potential"
    value: Callable | None = None  # (eigenvalues of H, eta, p) → Φ(H), for regret bounds
    formula: str = ""  # ψ(λ), for the documentation

    def auto_steps(self, structure):
        """Eta and epsilon of "auto" in a structure, where one step size is used."""
        return self.auto_by_structure.get(structure, self.auto)


@dataclass(frozen=True, eq=False)
class Structure:
    """The matrices that H may be."""

    kernel: Callable  # a recipe → the compiled class
    takes_l1: bool = False  # the L1 prox has a closed form
    newton: bool = False  # has a kernel for Newton steps
    newton_stack: bool = False  # has a kernel for Newton steps of several members, combined
    stack: bool = False  # has a kernel for several step sizes side by side
    sparse_rounds: bool = False  # a round reads and changes only the coordinates of the row's nonzeros
    own_steps: bool = False  # every coordinate has a step size of its own
    one_step_size: bool = False  # all coordinates have the same step size
    couples_outputs: bool = False  # one H for all weight vectors of a model, of which it needs several
    takes_more_outputs: bool = False  # a running state can be given more weight vectors
    powers_only: bool = False  # takes roots of ψ that only a power has
    mirror_descent_only: bool = False
    takes_domains: bool = True  # has projections in the norm of H⁻¹
    forgets: bool = False  # has kernels for a half-life
    has_blocks: bool = False  # takes ``blocks``, which say what coordinates belong together
    has_rank: bool = False  # takes ``rank``, the number of directions to keep
    # G (where it has blocks: and the number of each coordinate's block) → the D eigenvalues of P_S G, for regret bounds
    spectrum: Callable | None = None
    tells_errors: bool = False  # G⁻¹ is a covariance, if features are uncorrelated where G has zeros
    auto_potential: str = "adagrad"  # what potential="auto" is
    auto_pair: tuple | None = None  # potential and its parameters where "auto" stacks ψ and ψ²
    # (n_outputs, D) → bytes, of each block if it has blocks; None: a few numbers per feature and weight vector
    memory: Callable | None = None
    summary: str = ""  # for the documentation


@dataclass(frozen=True, eq=False)
class Domain:
    """A convex set for ``coef_``."""

    kernel: Callable  # (d, radius) → the compiled projection
    has_radius: bool = False
    coordinatewise: bool = False  # the projection moves each coordinate by itself
    diameter: Callable | None = None  # (radius, d) → the Euclidean diameter; None: unbounded
    sup_diameter: Callable | None = None  # the same in the ∞-norm
    dual_norm: float | None = None  # order q for which |z·x| ≤ radius ‖z‖_q
    support: Callable | None = None  # (v, radius) → the largest v·w over the set; None: unbounded
    start: Callable = lambda radius, d: 0.0  # each coordinate of x_1, the point nearest 0
    formula: str = ""  # for the documentation

    @property
    def bounded(self):
        """Whether the set has a diameter."""
        return self.diameter is not None

    def block_diameter(self, radius, size):
        """The Euclidean diameter of the set's projection onto so many coordinates."""
        return self.sup_diameter(radius, 1) if size == 1 else self.diameter(radius, size)

    @property
    def joint_prox(self):
        """Whether the prox of a penalty followed by the projection minimises both jointly."""
        return self.coordinatewise


@dataclass(frozen=True, eq=False)
class Update:
    """What a step starts from."""

    dual: bool = False  # the first point and the sum of all gradients, not the last point and the last gradient
    formula: str = ""


@dataclass(frozen=True, eq=False)
class Method:
    """How a row becomes a loss and a step."""

    kernel: Callable  # gives the compiled class
    newton_members: bool = False  # its members take Newton steps, in units of the largest values
    has_bounds: bool = False  # its rounds are those of Algorithm 1, for which regret is bounded
    forgets: bool = False  # can have a half-life
    learner: bool = False  # plays its rounds itself: sums over rows, without a structure or potential
    several: str = ""  # the recipe's field with a value for each of the weight vectors that are combined
    prefix: str = ""  # of the arrays with the units of what predicts
