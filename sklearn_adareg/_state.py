"""What lives between calls: a recipe (plain parameters) and the arrays of its structure. The only thing that is pickled."""

import numpy as np

from . import _registry
from ._kernels._structures import Setting

FORMAT = 1


class State:
    """A model in the making.

    Parameters
    ----------
    recipe : dict
        The resolved parameters that decide which kernels run, with which numbers.
    """

    def __init__(self, recipe):
        self.recipe = recipe
        self.arrays = self._structure_class().allocate(self._setting(), recipe["sparse"])
        self.loss_total = 0.0  # weighted losses of rows at first sight
        self.weight_total = 0.0
        self._structure = None

    @property
    def rounds(self):
        """Rounds played so far."""
        return int(self.arrays["clock"][0])

    def structure(self):
        """The compiled structure, bound to this state's arrays."""
        if self._structure is None:
            recipe = self.recipe
            potential = _registry.potential_kernel(recipe["potential"], recipe["p"])
            domain = _registry.DOMAINS[recipe["domain"]](recipe["d"], recipe["radius"] or 1.0)
            self._structure = self._structure_class()(
                self._setting(), potential, domain, self.arrays
            )
        return self._structure

    def published(self):
        """Coefficients (lanes, d) and intercepts (lanes,) of the fitted model."""
        weights = self.structure().published()
        d = self.recipe["d"]
        intercepts = weights[:, d] if self.recipe["intercept"] else np.zeros(len(weights))
        return np.ascontiguousarray(weights[:, :d]), np.array(intercepts)

    def copy(self):
        """An independent state that goes on from here."""
        twin = object.__new__(State)
        twin.__setstate__(self.__getstate__())
        twin.arrays = {name: _copied(value) for name, value in self.arrays.items()}
        return twin

    def _setting(self):
        recipe = self.recipe
        names = ("d", "lanes", "intercept", "eta", "epsilon", "average", "alpha", "l1_ratio", "start")
        return Setting(
            dual=recipe["update"] == "dual_averaging", **{name: recipe[name] for name in names}
        )

    def _structure_class(self):
        return _registry.STRUCTURES[self.recipe["structure"]](self.recipe)

    def __getstate__(self):
        kept = {name: value for name, value in vars(self).items() if name != "_structure"}
        return {"format": FORMAT, **kept}

    def __setstate__(self, kept):
        kept = dict(kept)
        found = kept.pop("format")
        if found > FORMAT:
            raise ValueError(
                f"This model was saved in format {found} by a newer sklearn_adareg, which this version (format {FORMAT}) "
                "cannot read; upgrade sklearn_adareg."
            )
        vars(self).update(kept, _structure=None)


def _copied(value):
    """A copy in the same memory layout."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
