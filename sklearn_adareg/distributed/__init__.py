"""Learning where the rows are: shards learn by themselves, models travel, and a tree of merges makes one of them."""

from ._fit import fit
from ._shards import ShardError

__all__ = ["ShardError", "fit"]
