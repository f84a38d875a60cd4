# Written by .ci/stubs.
from typing import Any

from ._setting import Clock
from ._domains import Domain
from ._potentials import Potential
from ._setting import Setting
class Structure:
    setting: Setting
    potential: Potential
    domain: Domain
    clock: Clock
    arrays: dict
    tells: bool
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
    def prepare(self, widest: int) -> Any: ...
    def in_raw_units(self, weights: Any) -> Any: ...
    def accumulated(self) -> Any: ...
    def spectrum(self) -> Any: ...
    def preconditioner(self) -> Any: ...
