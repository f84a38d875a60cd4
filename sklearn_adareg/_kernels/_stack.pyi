# Written by .ci/stubs.
from typing import Any

class Stack:
    K: int
    R: int
    width: int
    joint: bool
    learning: bool
    @staticmethod
    def allocate(K: int, R: int, joint: bool, averaging: bool) -> Any: ...
    def __init__(self, K: int, R: int, joint: bool, arrays: dict) -> None: ...
    def published(self, averages: Any, lasts: Any) -> Any: ...
