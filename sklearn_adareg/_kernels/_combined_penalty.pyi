# Written by .ci/stubs.
from typing import Any

from ._coordinatewise import Coordinatewise
from ._setting import Setting
class CombinedPenalty:
    @staticmethod
    def allocate(setting: Setting, stacks: int, width: int) -> Any: ...
    def __init__(self, structure: Coordinatewise, arrays: dict) -> None: ...
