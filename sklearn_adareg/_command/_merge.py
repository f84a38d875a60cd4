"""``adareg merge``: one model from several."""

from sklearn.pipeline import Pipeline

from .._model_files import load_model, save_model


def run(given):
    """Merge model files; a Pipeline keeps the encoder of the first, which has to be that of all."""
    merge = given.merge
    models = [load_model(path) for path in given.models]
    pipelines = [isinstance(model, Pipeline) for model in models]
    if any(pipelines) != all(pipelines):
        raise ValueError(
            "Some of these models read tables and some do not; merge models that were trained alike."
        )
    if not any(pipelines):
        save_model(merge(models), given.output)
        return
    first, *others = models
    for other, path in zip(others, given.models[1:], strict=True):
        if vars(other[0]).keys() != vars(first[0]).keys() or not _same_columns(other[0], first[0]):
            raise ValueError(
                f"{path} encodes its columns otherwise than {given.models[0]}; train them with the same columns and options."
            )
    merged = merge([model[-1] for model in models])
    save_model(Pipeline([*first.steps[:-1], (first.steps[-1][0], merged)]), given.output)


def _same_columns(one, other):
    facts = ("numeric_", "hashed_", "one_hot_", "n_features_out_", "missing")
    return all(getattr(one, fact) == getattr(other, fact) for fact in facts)
