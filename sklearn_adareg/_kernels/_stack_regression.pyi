# Written by .ci/stubs.
from typing import Any

class StackRegression:
    width: int
    @staticmethod
    def allocate(stacks: Any, width: Any, prefix: Any) -> Any: ...
    @staticmethod
    def prior() -> Any: ...
    def __init__(self, arrays: dict, prefix: str, K: int, joint: bool) -> None: ...
