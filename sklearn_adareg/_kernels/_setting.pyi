# Written by .ci/stubs.
from typing import Any

import numpy as np

class Setting:
    d: int
    D: int
    K: int
    R: int
    L: int
    recent: bool
    all_lanes: int
    intercept: bool
    joint: bool
    dual: bool
    averaging: bool
    scaled: bool
    relative: bool
    shifted: bool
    degree: int
    counted: bool
    zeros: bool
    weights_as_rows: bool
    epsilon: float
    l2: float
    l1: float
    gamma: float
    start: float
    refresh: float
    forgetting: float
    forgotten: float
    forgets: bool
    whole_lanes: int
    blocks: Any
    rank: int
    def __init__(self, recipe: Any, lanes: int) -> None: ...
    def kept_by(self, member: int) -> Any: ...
class Clock:
    def __init__(self, setting: Setting, now: np.ndarray) -> None: ...
