"""The parameters of an estimator: checked once, and those that a running model was built from kept."""

from copy import copy
from functools import cache
from operator import attrgetter

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError

from .._kernels.data._small_arrays import same_objects
from ..model import _rules
from ..model._spectral_potential import SpectralPotential
from ..model._validation import same_value, shown

PLAIN = frozenset({str, int, float, bool, type(None)})  # types of values that never change
MOST_ACCEPTED = 1000
READ_LASTING = attrgetter(*_rules.LASTING)
# classes, and types and values of their parameters, that validation has accepted
_accepted_values = set()


class CheckedParameters:
    """A mixin, before scikit-learn's ``BaseEstimator``; ``_begun_with`` has the parameters that the state was built from."""

    def _store(self, given):
        """Each parameter under its own name, from the local variables of ``__init__``."""
        vars(self).update((name, given[name]) for name in self._names())

    @classmethod
    def _get_param_names(cls):
        """As scikit-learn has them, in a list that the caller may change."""
        return list(cls._names())

    @classmethod
    @cache
    def _names(cls):
        """As scikit-learn finds them, once per class: reading the signature would take much of the time of a short fit."""
        return tuple(super()._get_param_names())

    @classmethod
    @cache
    def _reader(cls):
        """The function from an estimator to the values of all its parameters."""
        return attrgetter(*cls._names())

    def _check_parameters(self):
        """Check the parameters of a running model, if any was set since they were last checked."""
        values = vars(self)
        if same_objects(values, self._names(), values.get("_accepted", ())):
            if isinstance(self.potential, SpectralPotential):
                self._check_lasting()  # its own parameters may have been set
            return
        self._check_lasting()
        self._validate_params()
        _rules.check_sizes(self.get_params(deep=False))
        self._accepted = self._parameter_values()

    def _parameter_values(self):
        """The values of all parameters, in the order of their names."""
        return self._reader()(self)

    def _validate_params(self):
        """As scikit-learn does it, once for each combination of plain values, which it takes a good part of a short fit to check."""
        values = self._parameter_values()
        kinds = tuple(map(type, values))
        plain = PLAIN.issuperset(kinds)
        if plain and (type(self), kinds, values) in _accepted_values:
            return
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            hint = _rules.hint(self.get_params(deep=False), self._parameter_constraints)
            if not hint:
                raise
            raise InvalidParameterError(f"{error}{hint}") from None
        if plain:
            if len(_accepted_values) >= MOST_ACCEPTED:
                _accepted_values.clear()
            _accepted_values.add((type(self), kinds, values))

    def _check_lasting(self):
        """A running state goes on only with the parameters that it was built from."""
        for name, before in self._begun_with.items():
            now = getattr(self, name)
            if now is not before and _differ(now, before):
                raise ValueError(
                    f"{name} was {shown(before)} when this model began and is {shown(now)} now, and a running model cannot "
                    f"change it; set {name} back, or call fit (warm_start=False) to start anew."
                )

    def _lasting(self):
        """Those parameters; a user's potential as it is now, since its own parameters may be set later."""
        values = dict(zip(_rules.LASTING, READ_LASTING(self), strict=True))
        if isinstance(self.potential, SpectralPotential):
            values["potential"] = copy(self.potential)
        return values


def _differ(now, before):
    """Whether two values of a parameter differ; NumPy's numbers do not compare with integers beyond their range."""
    try:
        with np.errstate(over="ignore"):
            return not same_value(now, before)
    except OverflowError:
        return True
