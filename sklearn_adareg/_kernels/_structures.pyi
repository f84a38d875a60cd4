# Written by .ci/stubs.
from typing import Any

import numpy as np

from ._domains import Domain
from ._potentials import Potential
class Setting:
    d: int
    D: int
    L: int
    rates: int
    degree: int
    joint: bool
    K: int
    intercept: bool
    dual: bool
    averaging: bool
    scaled: bool
    relative: bool
    shifted: bool
    lighter: bool
    epsilon: float
    ridge: float
    lasso: float
    gamma: float
    start: float
    refresh: float
    def __init__(self, *, d: int, lanes: int, intercept: bool, eta: Any, epsilon: float, dual: bool = ..., average: Any = ..., alpha: float = ..., l1_ratio: float = ..., start: float = ..., scaled: bool = ..., relative: bool = ..., shifted: bool = ..., rates: int = ..., joint: bool = ..., refresh: float = ..., degree: int = ..., lighter: bool = ...) -> None: ...
class Clock:
    def __init__(self, setting: Setting, now: np.ndarray) -> None: ...
class Structure:
    setting: Setting
    potential: Potential
    domain: Domain
    clock: Clock
    arrays: dict
    def __init__(self, setting: Setting, potential: Potential, domain: Domain, arrays: dict) -> None: ...
    @staticmethod
    def allocate_units(setting: Setting) -> Any: ...
    def in_raw_units(self, weights: Any) -> Any: ...
    def published(self) -> Any: ...
