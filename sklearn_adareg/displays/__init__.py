"""Pictures of models, in scikit-learn's manner: ``from_estimator`` computes and draws, ``plot`` draws again. Extra ``plot``."""

from ._curves import ProgressiveLossDisplay, RegretDisplay
from ._geometry import GeometryDisplay

__all__ = ["GeometryDisplay", "ProgressiveLossDisplay", "RegretDisplay"]
