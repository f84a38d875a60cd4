# Written by .ci/stubs.
from typing import Any

class Directions:
    L: int
    D: int
    rank: int
    room: int
    @staticmethod
    def allocate(L: int, D: int, rank: int) -> Any: ...
    def __init__(self, arrays: dict) -> None: ...
    def accumulated(self, epsilon: float) -> Any: ...
