"""Which structure is merged how."""

from .._kernels.preconditioners.block import _block
from .._kernels.preconditioners.diagonal import _coordinatewise
from .._kernels.preconditioners.full import _full
from .._kernels.preconditioners.kronecker import _kronecker
from .._kernels.preconditioners.sketch import _sketch
from ._blocks import merge_blocks
from ._diagonal import merge_coordinatewise
from ._matrices import merge_full, merge_kronecker
from ._sketches import merge_newton_sketch, merge_sketch

MERGERS = {  # of a compiled class, and of its subclasses that have none of their own
    _coordinatewise.Coordinatewise: merge_coordinatewise,
    _full.FullMatrix: merge_full,
    _block.Block: merge_blocks,
    _sketch.Sketch: merge_sketch,
    _sketch.SketchNewton: merge_newton_sketch,
    _kronecker.Kronecker: merge_kronecker,
}


def merge_structure(context, new):
    """Fill the arrays of a new structure from those of the models."""
    for kind in type(new).__mro__:
        if kind in MERGERS:
            MERGERS[kind](context, new)
            return
    raise ValueError(
        f"Models with structure={context.recipe.structure!r} cannot be merged, since nothing says how their matrices add up; fit one "
        "model on all rows."
    )
