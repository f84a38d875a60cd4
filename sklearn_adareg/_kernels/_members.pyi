# Written by .ci/stubs.
from typing import Any

from ._inverse import Inverse
from ._setting import Setting
from ._undo import UndoLog
class Members:
    inverse: Inverse
    @staticmethod
    def allocate(setting: Setting, ridge_of_intercept: float) -> Any: ...
    def __init__(self, setting: Setting, arrays: dict, undo: UndoLog, explicit: bool) -> None: ...
