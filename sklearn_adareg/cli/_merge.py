"""``adareg merge``: one model from several."""

from sklearn.pipeline import Pipeline

from ..merging._merge import merge
from ..persistence._model_files import check_name, save_model
from ..persistence._output_files import check_outputs
from ..streams._encoder import united
from ._files import load


def run(given):
    """Merge model files; a Pipeline keeps the encoder of the first, which has to be that of all."""
    check_name(given.output)
    paths = [*given.models, *([given.base] if given.base else [])]
    check_outputs([("the model", given.output)], paths)
    models = [load(path) for path in paths]
    pipelines = [isinstance(model, Pipeline) for model in models]
    if any(pipelines) != all(pipelines):
        raise ValueError("Some of these models read tables and some do not; merge models that were trained alike.")
    lasts = [model[-1] if isinstance(model, Pipeline) else model for model in models]
    if any(pipelines):
        for other, path in zip(models[1:], paths[1:], strict=True):
            if not _same_columns(other[0], models[0][0]):
                raise ValueError(
                    f"{path} encodes its columns otherwise than {paths[0]}; train them with the same columns and options."
                )
    base = lasts.pop() if given.base else None
    merged = merge(lasts, base=base)
    if any(pipelines):
        (name, _), (last, _) = models[0].steps
        merged = Pipeline([(name, united([model[0] for model in models])), (last, merged)])
    save_model(merged, given.output)


def _same_columns(one, other):
    facts = ("numeric_", "hashed_", "one_hot_", "n_features_out_", "missing")
    known = vars(one).keys() == vars(other).keys()
    return known and all(getattr(one, fact) == getattr(other, fact) for fact in facts)
