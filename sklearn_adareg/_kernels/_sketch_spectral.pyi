# Written by .ci/stubs.
from typing import Any

from ._domains import Domain
from ._potentials import Potential
from ._setting import Setting
from ._sketch import Sketch
class SketchSpectral(Sketch):
    @classmethod
    def allocate(cls, setting: Setting, sparse: bool) -> Any: ...
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
    def preconditioner(self) -> Any: ...
