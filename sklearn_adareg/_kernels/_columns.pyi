# Written by .ci/stubs.
from typing import Any

import numpy as np

class Columns:
    @staticmethod
    def allocate(d: int) -> Any: ...
    def __init__(self, records: np.ndarray) -> None: ...
    def __dealloc__(self) -> Any: ...
