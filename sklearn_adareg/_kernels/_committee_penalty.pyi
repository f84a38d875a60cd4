# Written by .ci/stubs.
from typing import Any

from ._setting import Setting
from ._structures import Structure
class CommitteePenalty:
    @staticmethod
    def allocate(setting: Setting, groups: int, S: int, others: int) -> Any: ...
    def __init__(self, structure: Structure, steady_members: Any, others: int) -> None: ...
