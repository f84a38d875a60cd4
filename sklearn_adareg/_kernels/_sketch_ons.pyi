# Written by .ci/stubs.
from ._domains import Domain
from ._potentials import Potential
from ._setting import Setting
from ._sketch import Sketch
class SketchONS(Sketch):
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
