"""Online linear models on the AdaReg meta-algorithm, for scikit-learn."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what __getattr__ loads
    from . import displays, distributed, regret, streams
    from .estimators._classifier import AdaRegClassifier
    from .estimators._online import AdaReg
    from .estimators._regressor import AdaRegRegressor
    from .merging._merge import merge
    from .model._spectral_potential import SpectralPotential
    from .persistence._model_files import load_model, save_model
    from .theory._certificates import RiskCertificate
    from .tuning._progressive import ProgressiveSearch

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
_MODULES = ("displays", "distributed", "regret", "streams")
_HOMES = {
    "AdaReg": "estimators._online",
    "AdaRegClassifier": "estimators._classifier",
    "AdaRegRegressor": "estimators._regressor",
    "ProgressiveSearch": "tuning._progressive",
    "RiskCertificate": "theory._certificates",
    "SpectralPotential": "model._spectral_potential",
    "load_model": "persistence._model_files",
    "merge": "merging._merge",
    "save_model": "persistence._model_files",
}


def __getattr__(name):
    """Public names whose modules are loaded when they are first used."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})


class _FormerPaths:
    """Finds modules by the paths that models of earlier versions were saved with."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("sklearn_adareg._"):
            return None
        from .persistence._former_paths import find_spec

        return find_spec(name)


sys.meta_path.append(_FormerPaths)
