# Written by .ci/stubs.
from typing import Any

from ._methods import Method
from ._setting import Setting
from ._structures import Structure
def layout(setting: Setting) -> Any: ...
class Candidates(Method):
    @classmethod
    def allocate(cls, structure: Any, setting: Setting, sparse: bool) -> Any: ...
    def __init__(self, structure: Structure) -> None: ...
