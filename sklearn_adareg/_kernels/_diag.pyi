# Written by .ci/stubs.
from typing import Any

from ._coordinatewise import Coordinatewise
from ._domains import Domain
from ._potentials import Potential
from ._setting import Setting
def stay_narrow(wish: bool) -> Any: ...
class Diagonal(Coordinatewise):
    @staticmethod
    def fields(setting: Setting) -> Any: ...
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
