# Written by .ci/stubs.
from typing import Any

class Inverse:
    @staticmethod
    def allocate(L: int, D: int, epsilon: float, room: int = ...) -> Any: ...
    def __init__(self, arrays: dict, whole: bool = ..., whole_G: bool = ...) -> None: ...
