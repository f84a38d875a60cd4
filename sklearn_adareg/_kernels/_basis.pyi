# Written by .ci/stubs.
from typing import Any

from ._potentials import Potential
class Basis:
    @staticmethod
    def allocate(L: int, D: int, epsilon: float, lasting: bool, room: int = ...) -> Any: ...
    def __init__(self, potential: Potential, delta: float, epsilon: float, arrays: dict) -> None: ...
