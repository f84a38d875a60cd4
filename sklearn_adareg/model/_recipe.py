"""The recipe of a model: every resolved parameter that decides which kernels run and with which numbers.

A recipe is made once, when a model begins (``_auto.make_recipe``), and does not change. The kernels' objects are made from it
here, and nowhere else.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._kernels.losses import _losses
from .._kernels.state._setting import Setting
from . import _registry


class DamagedState(ValueError):
    """A saved model whose parts do not fit together."""

    def __init__(self, what):
        self.what = what = " ".join(what.split())  # values may be shown in several lines
        super().__init__(
            f"This saved model cannot be read, since {what}; the file is damaged or was changed, so fit the model again."
        )


def first_unmet(checks):
    """The first clause among pairs of whether something fits and a clause if not; None if all do. Later pairs are not asked for."""
    return next((clause for fits, clause in checks if not fits), None)


class ModelShape(NamedTuple):
    """The weight vectors of a model."""

    n_outputs: int
    joint: bool = False  # they learn jointly, from one loss of all margins
    outputs_are_classes: bool = False  # all read one target, the number of a class; otherwise one target each
    rows_of_coef: bool = True  # ``coef_`` has a row per weight vector; otherwise it is a vector


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The resolved parameters of a model."""

    method: str  # a name of the registry's METHODS
    potential: object  # a name or a SpectralPotential
    potential_parameters: dict = field(default_factory=dict)
    paired: bool = False  # the faster weight vectors of a stack take the square of the potential's steps
    structure: str
    blocks: tuple | None = None  # the number of each feature's block, where the structure has any
    rank: int | None = None  # of a sketch, where the structure is one
    loss: str
    loss_parameters: dict = field(default_factory=dict)
    degree: int = 0  # of the loss in the residual
    # the model's shape
    d: int
    n_outputs: int
    joint: bool
    outputs_are_classes: bool = False
    rows_of_coef: bool
    intercept: bool
    transformed: bool = False  # the first rows choose the coordinates of dense features
    sparse: bool  # rows are sparse; decides the memory layout only
    # steps
    update: str
    eta: object  # a number, or a tuple of them in a stack
    epsilon: object  # a number, or a tuple of them: the priors of candidates
    kept: tuple = ()  # λ of each memory of the candidates; empty: that of half_life
    diagonal_kept: tuple = ()  # λ of the candidates that keep a diagonal alone
    coupled: bool = False  # the classes of a softmax share one matrix
    average: object
    recent: bool = False  # a stack also has an iterate and a regression with a short memory
    half_life: float | None = None  # rounds after which gradients count half; None: never
    refresh: float
    start: float = 0.0  # each coefficient of x_1
    # units
    scaled: bool = False  # features in units of the largest value seen
    relative: bool = False  # residuals in units of their root mean square
    counted: bool = False  # a log link, in units of residuals and curvatures
    shifted: bool = False  # margins start from the first target
    weights_as_rows: bool = False  # a row of weight ω enters G as ω rows
    # domain and penalty
    domain: str | None
    radius: float | None
    alpha: float
    l1_ratio: float
    zeros: bool = False  # of an L1 penalty are restored in the published average
    limits: dict | None = None  # largest margin, target and weight that eta="theory" was computed for

    @cached_property
    def dual(self):
        """Whether the update is dual averaging."""
        return _registry.UPDATES[self.update].dual

    @property
    def plain(self):
        """Whether there is neither a domain nor a penalty."""
        return self.domain is None and not self.alpha

    @cached_property
    def rates(self):
        """How many step sizes, or priors, learn side by side."""
        several = _registry.METHODS[self.method].several
        return len(getattr(self, several)) if several else 1

    @property
    def block_sizes(self):
        """How many coordinates each matrix of the structure has: D, unless the structure has blocks."""
        return (self.D,) if self.blocks is None else (*np.bincount(self.blocks).tolist(), *[1] * self.intercept)

    @cached_property
    def D(self):
        """Coordinates of a weight vector: the features, and the intercept if there is one."""
        return self.d + self.intercept

    @cached_property
    def method_class(self):
        """The compiled class of the method."""
        return _registry.METHODS[self.method].kernel()

    @cached_property
    def structure_class(self):
        """The compiled class of the structure."""
        return _registry.STRUCTURES[self.structure].kernel(self)


def allocate(recipe, outputs):
    """The arrays of a new block of weight vectors."""
    if _registry.METHODS[recipe.method].learner:
        return recipe.method_class.allocate(recipe, outputs)
    return recipe.method_class.allocate(recipe.structure_class, Setting(recipe, outputs), recipe.sparse)


def method_kernel(recipe, arrays):
    """The compiled method and structure, bound to the arrays of a block."""
    if _registry.METHODS[recipe.method].learner:
        return recipe.method_class(recipe, arrays, domain_kernel(recipe))
    kernel, setting = recipe.structure_class, Setting(recipe, recipe.n_outputs)
    if hasattr(kernel, "lay_out"):
        kernel.lay_out(arrays, recipe.sparse)
    structure = kernel(setting, potential_kernel(recipe), domain_kernel(recipe), arrays)
    return recipe.method_class(structure)


def potential_kernel(recipe):
    """The compiled ψ."""
    entry = _registry.potential(recipe.potential)
    return entry.kernel(*map(recipe.potential_parameters.get, entry.parameters))


def domain_kernel(recipe):
    """The compiled projection."""
    return _registry.DOMAINS[recipe.domain].kernel(recipe.d, recipe.radius or 1.0)


def loss_kernel(recipe, first_output=0):
    """The compiled loss of a block of weight vectors that begins with ``first_output``."""
    entry = _registry.loss(recipe.loss)
    if recipe.outputs_are_classes and recipe.joint:
        return entry.joint_kernel()
    point = entry.kernel(*map(recipe.loss_parameters.get, entry.parameters))
    return _losses.OneVsRest(point, first_output) if recipe.outputs_are_classes else point


def to_plain(recipe):
    """A dict of plain values, which is what is pickled."""
    return {name: vars(recipe)[name] for name in Recipe.__dataclass_fields__}


REMOVED = ("diagonal_members", "as_published")  # fields that saved recipes may have


def from_plain(kept):
    """The recipe of a pickled dict."""
    return Recipe(**{name: value for name, value in kept.items() if name not in REMOVED})
