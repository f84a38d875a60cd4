"""Dask collections: tasks beside their partitions, in one graph that ends in the merged model."""

import numpy as np

from ._shards import Task


def partitions(shards):
    """The delayed partitions of a Dask collection, or of a pair or triple of collections; None if this is something else."""
    parts = shards if isinstance(shards, tuple) and 2 <= len(shards) <= 3 else (shards,)
    if not all(hasattr(part, "__dask_graph__") and hasattr(part, "to_delayed") for part in parts):
        return None
    if len(parts) == 1:
        if not hasattr(parts[0], "npartitions") or hasattr(parts[0], "chunks"):
            raise TypeError(
                "A Dask array alone has no targets; pass a pair (X, y) of arrays, or a Dask dataframe and the name of its target."
            )
        return list(parts[0].to_delayed())
    blocks = _aligned(parts)
    counts = {len(block) for block in blocks}
    if len(counts) > 1:
        raise ValueError(
            f"The collections have {' and '.join(map(str, sorted(counts)))} partitions; give them the same partitions, by "
            "repartition or rechunk."
        )
    return list(zip(*blocks, strict=True))


def _aligned(parts):
    """The partitions of each collection; arrays in chunks of whole rows, as the first one has them."""
    first = parts[0]
    if hasattr(first, "chunks") and first.ndim > 1 and first.numblocks[1] > 1:
        first = first.rechunk({1: -1})
    found = [first]
    for part in parts[1:]:
        if hasattr(part, "chunks") and hasattr(first, "chunks") and part.chunks[0] != first.chunks[0]:
            known = not np.isnan([*part.chunks[0], *first.chunks[0]]).any()
            part = part.rechunk({0: first.chunks[0]}) if known else part
        found.append(part)
    return [
        part.to_delayed().ravel().tolist() if hasattr(part, "chunks") else list(part.to_delayed()) for part in found
    ]


class Engine:
    """The graph: rows are in its leaves, and only its root comes to this process."""

    def __init__(self):
        from dask import compute, delayed

        self.compute, self.delayed = compute, delayed

    def task(self, *facts):
        return self.last(Task, *facts)

    def last(self, function, *arguments):
        return self.delayed(function, pure=False)(*arguments)

    def run(self, function, calls):
        return [self.last(function, *arguments) for arguments in calls]

    def results(self, found):
        return self.compute(*found)
