"""The numbers of weight vectors in the arrays of a state, taken from one block to another that has more of them."""

import numpy as np

from . import _recipe


def output_axes(recipe):
    """For each array the axis that goes by weight vectors, and how many numbers each has along it: (axis, per weight vector).

    None for an array that belongs to no weight vector. Matrices over all weight vectors, whose two axes go by them, are left out.
    """
    few, more = (_recipe.allocate(recipe, outputs) for outputs in (3, 4))
    axes = {}
    for name, array in few.items():
        if isinstance(array, np.ndarray):
            growth = np.subtract(more[name].shape, array.shape)
            along = np.flatnonzero(growth)
            if len(along) < 2:
                axes[name] = (int(along[0]), int(growth[along[0]])) if len(along) else None
    return axes


def outputs_of(which, many, members):
    """Where the numbers of some of so many weight vectors are: member r of k is at r·many + k."""
    return (np.arange(members)[:, None] * many + which).ravel()


def copy_outputs(block, to, old, which, axes):
    """Give outputs ``to`` of a block what the outputs ``which`` of an older one have; and what belongs to no output."""
    for name, axis in axes.items():
        source, target = old.arrays[name], block.arrays[name]
        if axis is None:
            target[...] = source
            continue
        source, target = np.moveaxis(source, axis[0], 0), np.moveaxis(target, axis[0], 0)
        before, after = old.recipe.n_outputs, block.recipe.n_outputs
        target[outputs_of(to, after, axis[1])] = source[outputs_of(which, before, axis[1])]
        target[after * axis[1] :] = source[before * axis[1] :]  # numbers behind those of the weight vectors


def copy_known(block, blocks, places, axes):
    """Give a block what older ones know of its weight vectors, which are at these places among those of all blocks."""
    for old in blocks:
        own = places[old.outputs()] - block.first_output
        here = np.flatnonzero((own >= 0) & (own < block.recipe.n_outputs))
        copy_outputs(block, own[here], old, here, axes)
