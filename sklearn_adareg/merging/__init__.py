"""One model from several that learnt from different rows: evidence adds up, weights are its precision-weighted mean."""

from ._models import merge_models
from ._states import merge_states

__all__ = ["merge_models", "merge_states"]
