# Written by .ci/stubs.
from typing import Any

from ._inverse import Inverse
from ._setting import Setting
class Fading:
    @staticmethod
    def allocate(setting: Setting, lanes: int) -> Any: ...
    def __init__(self, setting: Setting, inverse: Inverse, arrays: dict) -> None: ...
