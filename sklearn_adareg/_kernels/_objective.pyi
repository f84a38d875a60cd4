# Written by .ci/stubs.
from ._units import Curvatures
from ._units import Offsets
from ._units import Residuals
class Objective:
    lanes: int
    K: int
    residuals: Residuals
    offsets: Offsets
    curvatures: Curvatures
    def __init__(self, lanes: int, K: int, residuals: Residuals, offsets: Offsets, curvatures: Curvatures) -> None: ...
