"""The numbers of weight vectors in the arrays of a state, taken from one block to another that has more of them."""

import numpy as np

from . import _recipe


def lane_axes(recipe):
    """For each array the axis that goes by weight vectors, and how many numbers each has along it: (axis, per lane).

    None for an array that belongs to no weight vector. Matrices over all weight vectors, whose two axes go by them, are left out.
    """
    few, more = (_recipe.allocate(recipe, lanes) for lanes in (3, 4))
    axes = {}
    for name, array in few.items():
        if isinstance(array, np.ndarray):
            growth = np.subtract(more[name].shape, array.shape)
            along = np.flatnonzero(growth)
            if len(along) < 2:
                axes[name] = (int(along[0]), int(growth[along[0]])) if len(along) else None
    return axes


def lanes_of(which, many, members):
    """Where the numbers of some of so many weight vectors are: member r of k is at r·many + k."""
    return (np.arange(members)[:, None] * many + which).ravel()


def copy_lanes(block, to, old, which, axes):
    """Give lanes ``to`` of a block what the lanes ``which`` of an older one have; and what belongs to no lane."""
    for name, axis in axes.items():
        source, target = old.arrays[name], block.arrays[name]
        if axis is None:
            target[...] = source
            continue
        source, target = np.moveaxis(source, axis[0], 0), np.moveaxis(target, axis[0], 0)
        before, after = old.recipe.lanes, block.recipe.lanes
        target[lanes_of(to, after, axis[1])] = source[lanes_of(which, before, axis[1])]
        target[after * axis[1] :] = source[before * axis[1] :]  # numbers behind those of the lanes


def copy_known(block, blocks, places, axes):
    """Give a block what older ones know of its weight vectors, which are at these places among those of all blocks."""
    for old in blocks:
        own = places[old.lanes()] - block.first_lane
        here = np.flatnonzero((own >= 0) & (own < block.recipe.lanes))
        copy_lanes(block, own[here], old, here, axes)
