"""Online linear models on the AdaReg meta-algorithm, for scikit-learn."""

from . import displays, distributed, regret, streams
from ._certificates import RiskCertificate
from ._classifier import AdaRegClassifier
from ._core import AdaReg
from ._merge import merge
from ._model_files import load_model, save_model
from ._potentials import SpectralPotential
from ._regressor import AdaRegRegressor
from ._search import ProgressiveSearch

__version__ = "0.2.0.dev0"
__all__ = [
    "AdaReg",
    "AdaRegClassifier",
    "AdaRegRegressor",
    "ProgressiveSearch",
    "RiskCertificate",
    "SpectralPotential",
    "displays",
    "distributed",
    "load_model",
    "merge",
    "regret",
    "save_model",
    "streams",
]
