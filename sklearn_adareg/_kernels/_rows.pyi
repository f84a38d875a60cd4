# Written by .ci/stubs.
from typing import Any

VECTOR: int
def padded(rows: int, columns: int) -> Any: ...
def where_vectors_begin(array: Any) -> Any: ...
class Rows:
    n_rows: int
    d: int
    D: int
    widest: int
class DenseRows(Rows):
    def __init__(self, X: Any, fit_intercept: bool, drop_zeros: bool = ..., drop_many: bool = ..., frame: Any = ...) -> None: ...
class SparseRows(Rows):
    def __init__(self, X: Any, fit_intercept: bool, drop_zeros: bool = ..., as_dense: bool = ..., frame: Any = ...) -> None: ...
