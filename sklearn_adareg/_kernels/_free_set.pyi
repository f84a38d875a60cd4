# Written by .ci/stubs.
class FreeSet:
    d: int
    n: int
    steps: int
    def __init__(self, d: int, n: int) -> None: ...
