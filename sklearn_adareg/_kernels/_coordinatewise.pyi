# Written by .ci/stubs.
from typing import Any

from ._coordinates import Coordinates
from ._domains import Domain
from ._potentials import Potential
from ._setting import Setting
class Coordinatewise(Coordinates):
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
    def prepare(self, widest: int) -> Any: ...
