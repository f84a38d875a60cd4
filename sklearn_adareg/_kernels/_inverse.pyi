# Written by .ci/stubs.
from typing import Any

class Inverse:
    @staticmethod
    def allocate(L: int, D: int, epsilon: float) -> Any: ...
    def __init__(self, arrays: dict, whole: bool = ...) -> None: ...
