"""Where the classes of saved models are now: pickles name the module that a class was in when they were written."""

from importlib import import_module
from importlib.machinery import ModuleSpec

# A module as version 0.1 or an early 0.2 had it → where its classes are now.
NOW = {
    "sklearn_adareg._bounds": "sklearn_adareg.theory._bounds",
    "sklearn_adareg._candidates": "sklearn_adareg.tuning._trials",
    "sklearn_adareg._certificates": "sklearn_adareg.theory._certificates",
    "sklearn_adareg._classifier": "sklearn_adareg.estimators._classifier",
    "sklearn_adareg._comparators": "sklearn_adareg.theory._comparators",
    "sklearn_adareg._core": "sklearn_adareg.estimators._online",
    "sklearn_adareg._loss_constants": "sklearn_adareg.model._loss_constants",
    "sklearn_adareg._potentials": "sklearn_adareg.model._spectral_potential",
    "sklearn_adareg._progress": "sklearn_adareg.model._prequential",
    "sklearn_adareg._recipe": "sklearn_adareg.model._recipe",
    "sklearn_adareg._regressor": "sklearn_adareg.estimators._regressor",
    "sklearn_adareg._search": "sklearn_adareg.tuning._progressive",
    "sklearn_adareg._state": "sklearn_adareg.model._state",
}
# Classes that had another name in these modules.
RENAMED = {"Candidate": "Trial"}


class _FormerModule:
    """A loader of a module that only passes on what is asked of it."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        home = import_module(NOW[module.__name__])
        module.__getattr__ = lambda name: getattr(home, RENAMED.get(name, name))


def find_spec(name):
    """The module of a former path; None where there was no such module."""
    return ModuleSpec(name, _FormerModule) if name in NOW else None
