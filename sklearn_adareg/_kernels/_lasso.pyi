# Written by .ci/stubs.
from typing import Any

def minimised(G: Any, s: Any, p: Any, lower: Any, upper: Any, w: Any, most_sweeps: int = ..., tol: float = ...) -> Any: ...
