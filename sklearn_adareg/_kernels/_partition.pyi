# Written by .ci/stubs.
from typing import Any

class Partition:
    D: int
    n_blocks: int
    n_families: int
    in_order: bool
    place: Any
    sizes: Any
    counts: Any
    def __init__(self, blocks: Any, intercept: bool) -> None: ...
