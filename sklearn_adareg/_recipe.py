"""The recipe of a model: every resolved parameter that decides which kernels run and with which numbers.

A recipe is made once, when a model begins (``_auto.make_recipe``), and does not change. The kernels' objects are made from it
here, and nowhere else.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from . import _registry
from ._kernels import _losses
from ._kernels._setting import Setting


class ModelShape(NamedTuple):
    """The weight vectors (lanes) of a model."""

    lanes: int
    joint: bool = False  # they learn jointly, from one loss of all margins
    lanes_are_classes: bool = (
        False  # all read one target, the number of a class; otherwise one target each
    )
    rows_of_coef: bool = True  # ``coef_`` has a row per lane; otherwise it is a vector


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The resolved parameters of a model."""

    method: str  # a name of the registry's METHODS
    potential: object  # a name or a SpectralPotential
    potential_parameters: dict = field(default_factory=dict)
    paired: bool = False  # the faster lanes of a stack take the square of the potential's steps
    structure: str
    blocks: tuple | None = None  # the number of each feature's block, where the structure has any
    rank: int | None = None  # of a sketch, where the structure is one
    loss: str | None  # None in a state of version 0.1 until its estimator completes it
    loss_parameters: dict = field(default_factory=dict)
    degree: int = 0  # of the loss in the residual
    # the model's shape
    d: int
    lanes: int
    joint: bool
    lanes_are_classes: bool = False
    rows_of_coef: bool
    intercept: bool
    framed: bool = False  # the first rows choose the coordinates of dense features
    sparse: bool  # rows are sparse; decides the memory layout only
    # steps
    update: str
    eta: object  # a number, or a tuple of them in a stack
    epsilon: object  # a number, or a tuple of them in a committee
    kept: tuple = ()  # λ of each member of a committee; empty: that of half_life
    diagonal_members: int = 0  # the last ones of a committee, which keep the diagonal of G alone
    average: object
    as_published: bool = (
        False  # progressive losses are those of the published model; otherwise of the iterates
    )
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
    limits: dict | None = (
        None  # largest margin, target and weight that eta="theory" was computed for
    )

    @property
    def dual(self):
        """Whether the update is dual averaging."""
        return _registry.UPDATES[self.update].dual

    @property
    def plain(self):
        """Whether there is neither a domain nor a penalty."""
        return self.domain is None and not self.alpha

    @property
    def rates(self):
        """How many step sizes, or members of a committee, learn side by side."""
        several = _registry.METHODS[self.method].several
        return len(getattr(self, several)) if several else 1

    @property
    def block_sizes(self):
        """How many coordinates each matrix of the structure has: D, unless the structure has blocks."""
        if self.blocks is None:
            return (self.D,)
        return (*np.bincount(self.blocks).tolist(), *[1] * self.intercept)

    @property
    def shape(self):
        """The weight vectors."""
        return ModelShape(self.lanes, self.joint, self.lanes_are_classes, self.rows_of_coef)

    @property
    def D(self):
        """Coordinates of a weight vector: the features, and the intercept if there is one."""
        return self.d + self.intercept


def setting(recipe, lanes):
    """The numbers that the kernels of a block of lanes read: the one place where ``Setting`` is made."""
    return Setting(recipe, lanes)


def method_class(recipe):
    """The compiled class of the method."""
    return _registry.METHODS[recipe.method].kernel


def allocate(recipe, lanes):
    """The arrays of a new block of lanes."""
    return method_class(recipe).allocate(
        structure_class(recipe), setting(recipe, lanes), recipe.sparse
    )


def method_kernel(recipe, arrays):
    """The compiled method and structure, bound to the arrays of a block."""
    structure = structure_class(recipe)(
        setting(recipe, recipe.lanes), potential_kernel(recipe), domain_kernel(recipe), arrays
    )
    return method_class(recipe)(structure)


def structure_class(recipe):
    """The compiled class of the structure."""
    return _registry.STRUCTURES[recipe.structure].kernel(recipe)


def potential_kernel(recipe):
    """The compiled ψ."""
    entry = _registry.potential(recipe.potential)
    return entry.kernel(*(recipe.potential_parameters[name] for name in entry.parameters))


def domain_kernel(recipe):
    """The compiled projection."""
    return _registry.DOMAINS[recipe.domain].kernel(recipe.d, recipe.radius or 1.0)


def loss_kernel(recipe, first_lane=0):
    """The compiled loss of a block of lanes that begins with ``first_lane``."""
    entry = _registry.loss(recipe.loss)
    if recipe.lanes_are_classes and recipe.joint:
        return entry.joint_kernel()
    point = entry.kernel(*(recipe.loss_parameters[name] for name in entry.parameters))
    return _losses.OneVsRest(point, first_lane) if recipe.lanes_are_classes else point


def losses_by_lane(recipe):
    """Pairs of lanes that learn from one loss, and that loss: all of them jointly, or each by itself."""
    if recipe.joint:
        return [(np.arange(recipe.lanes), loss_kernel(recipe))]
    return [(np.array([lane]), loss_kernel(recipe, lane)) for lane in range(recipe.lanes)]


def to_plain(recipe):
    """A dict of plain values, which is what is pickled."""
    return dict(vars(recipe))


def from_plain(kept):
    """The recipe of a pickled dict."""
    return Recipe(**kept)


def with_loss(recipe, loss, parameters, lanes_are_classes):
    """The recipe of version 0.1, which did not hold its loss, completed."""
    return replace(
        recipe, loss=loss, loss_parameters=parameters, lanes_are_classes=lanes_are_classes
    )
