# Written by .ci/stubs.
from ._domains import Domain
from ._inverse import Inverse
class FreeStep:
    def __init__(self, domain: Domain, inverse: Inverse) -> None: ...
