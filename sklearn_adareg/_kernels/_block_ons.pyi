# Written by .ci/stubs.
from typing import Any

from ._block import Block
from ._block_point import BlockPoint
from ._families import Family
from ._setting import Setting
class Inverses(Family):
    def __init__(self, own: BlockPoint, number: int) -> None: ...
class BlockONS(Block):
    @staticmethod
    def allocate_family(setting: Setting, size: Any, count: Any) -> Any: ...
    def make_matrices(self, number: Any) -> Any: ...
