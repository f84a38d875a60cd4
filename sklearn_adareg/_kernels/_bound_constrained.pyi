# Written by .ci/stubs.
from ._metric import Metric
class ActiveSet:
    d: int
    patience: int
    def __init__(self, metric: Metric) -> None: ...
