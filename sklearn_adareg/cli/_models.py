"""Models that the command works with: those that it makes."""

from sklearn.pipeline import Pipeline

from ..estimators._base import BaseAdaReg
from ..persistence._model_files import load_model
from ..streams import TableEncoder


def load(path):
    """An estimator of this package, or a Pipeline of a TableEncoder and one; others are refused."""
    model = load_model(path)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [None, model]
    first, *between, last = steps
    for step, kind in ((first, TableEncoder), *((step, type(None)) for step in between), (last, BaseAdaReg)):
        if step is not None and not isinstance(step, kind):
            raise ValueError(
                f"{path} holds a {type(step).__name__}, and adareg works with the models that adareg train makes; use load_model in "
                "Python."
            )
    return model
