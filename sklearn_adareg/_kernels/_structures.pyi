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
    by_columns: bool
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
    def prepare(self, widest: int) -> Any: ...
    def in_raw_units(self, weights: Any, *at: Any) -> Any: ...
    def mixture(self, of_averages: Any, of_iterates: Any, *at: Any) -> Any: ...
    def accumulated(self) -> Any: ...
    def preconditioner(self) -> Any: ...
