# Written by .ci/stubs.
import numpy as np

from ._methods import Method
from ._records import Records
from ._rows import Rows
from ._records import Transcript
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
def run_rounds(method: Method, rows: Rows, order: np.ndarray, targets: np.ndarray, weights: np.ndarray, records: Records = ..., class_counts: np.ndarray = ..., transcript: Transcript = ...) -> Tally: ...
