# Written by .ci/stubs.
from typing import Any

import numpy as np

from ._setting import Clock
from ._losses import Loss
from ._objective import Objective
from ._setting import Setting
from ._structures import Structure
class Method:
    setting: Setting
    structure: Structure
    objective: Objective
    arrays: dict
    clock: Clock
    first_sight: bool
    margins: np.ndarray
    slopes: np.ndarray
    watched: bool
    as_published: bool
    @classmethod
    def allocate(cls, structure: Any, setting: Setting, sparse: bool) -> Any: ...
    @staticmethod
    def allocate_units(setting: Setting, lanes: Any, prefix: Any = ...) -> Any: ...
    def objective_of(self, lanes: Any, prefix: Any = ...) -> Any: ...
    def __init__(self, structure: Structure) -> None: ...
    def bind_loss(self, loss: Loss) -> Any: ...
    def watch(self, shown: bool, as_published: bool) -> Any: ...
    def published(self, *at: Any) -> Any: ...
    def with_offsets(self, weights: Any, *at: Any) -> Any: ...
    def memory(self) -> Any: ...
