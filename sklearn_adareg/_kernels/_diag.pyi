# Written by .ci/stubs.
from typing import Any

from ._coordinatewise import Coordinatewise
from ._structures import Setting
class Diagonal(Coordinatewise):
    @staticmethod
    def fields(setting: Setting) -> Any: ...
