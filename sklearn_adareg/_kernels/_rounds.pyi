# Written by .ci/stubs.
from typing import Any

import numpy as np

from ._losses import Loss
from ._rows import Rows
from ._structures import Structure
FINISHED: int
STRAY_COLUMN: int
LOSS_OVERFLOW: int
GRADIENT_OVERFLOW: int
STEP_OVERFLOW: int
POTENTIAL_FAILED: int
PROJECTION_FAILED: int
class Tally:
    loss: float
    weight: float
    rounds: int
    status: int
def run_rounds(rows: Rows, order: np.ndarray, targets: np.ndarray, weights: np.ndarray, loss: Loss, structure: Structure) -> Any: ...
