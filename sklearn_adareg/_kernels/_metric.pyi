# Written by .ci/stubs.
class Metric:
    d: int
    ridge: float
    factorizations: int
    def __init__(self, d: int) -> None: ...
