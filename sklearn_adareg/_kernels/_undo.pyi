# Written by .ci/stubs.
from typing import Any

class UndoLog:
    def __dealloc__(self) -> Any: ...
