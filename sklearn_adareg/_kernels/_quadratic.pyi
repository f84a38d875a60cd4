# Written by .ci/stubs.
class ActiveSet:
    d: int
    patience: int
    def __init__(self, d: int) -> None: ...
