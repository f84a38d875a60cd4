# Written by .ci/stubs.
from typing import Any

from ._losses import Loss
from ._methods import Method
from ._setting import Setting
from ._structures import Structure
class Stack(Method):
    width: int
    @classmethod
    def allocate(cls, structure: Any, setting: Setting, sparse: bool) -> Any: ...
    def __init__(self, structure: Structure) -> None: ...
    def bind_loss(self, loss: Loss) -> Any: ...
    def published(self, *at: Any) -> Any: ...
