"""Pictures of models, in scikit-learn's manner: ``from_estimator`` computes and draws, ``plot`` draws again. Extra ``plot``."""

from ._geometry import GeometryDisplay
from ._progressive_loss import ProgressiveLossDisplay
from ._regret import RegretDisplay

__all__ = ["GeometryDisplay", "ProgressiveLossDisplay", "RegretDisplay"]
