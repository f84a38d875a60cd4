# Written by .ci/stubs.
from typing import Any

from ._block_point import BlockPoint
from ._domains import Domain
from ._potentials import Potential
from ._setting import Setting
class Block(BlockPoint):
    @classmethod
    def allocate(cls, setting: Setting, sparse: bool) -> Any: ...
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
    def make_family(self, number: Any) -> Any: ...
