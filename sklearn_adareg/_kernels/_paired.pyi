# Written by .ci/stubs.
from ._diag import Diagonal
from ._domains import Domain
from ._potentials import Potential
from ._setting import Setting
class PairedDiagonal(Diagonal):
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
