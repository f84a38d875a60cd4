"""One model from several that learnt from different rows: evidence adds up, weights are its precision-weighted mean."""

from ._merge import merge_models

__all__ = ["merge_models"]
