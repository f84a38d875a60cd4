"""``adareg info``: a card of a model."""

from copy import copy

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ..streams._encoder import KEPT, names_by_column
from ._files import load


def run(given):
    """Print the card."""
    print("\n".join(card(load(given.model), given.weights)))


def card(model, weights=10):
    """Lines on a model: what it is, what it has seen, how well it did, its largest weights."""
    encoder, last = (model[0], model[-1]) if isinstance(model, Pipeline) else (None, model)
    default = type(last)().get_params()
    changed = {name: value for name, value in last.get_params().items() if repr(value) != repr(default.get(name))}
    yield f"{type(last).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"
    if is_classifier(last):
        labels = [str(label) for label in last.classes_.tolist()]
        yield _line("classes", _listed(labels))
    yield _line("method", f"{last.method_}: potential {last.potential_}, structure {last.structure_}")
    if encoder is not None:
        yield from columns(encoder)
        yield _line("missing", encoder.missing)
    yield _line("features", f"{last.n_features_in_:,}")
    yield _line("rows", f"{last.t_:,}")
    yield _line("average loss", f"{last.progressive_loss_:.6g} (of each row before it was learnt from)")
    curve = getattr(last, "progressive_curve_", {})
    if "error_rate" in curve and len(curve["error_rate"]):
        yield _line("error rate", f"{curve['error_rate'][-1]:.6g} (likewise)")
    yield from _certificate(last)
    yield from _largest(last, encoder, weights)


def columns(encoder):
    """Lines on which columns are numbers and which are categories."""
    yield _line("numbers", _listed(encoder.numeric_))
    if encoder.hashed_:
        yield _line("hashed", f"{_listed(encoder.hashed_)}, into {encoder.n_hashed:,} columns")
        full = [name for name, values in encoder.hashed_values_.items() if len(values) >= KEPT]
        if full:
            yield _line("", f"{_listed(full)}: only the first {KEPT:,} values have names below")
    for name, values in encoder.one_hot_.items():
        yield _line("one-hot", f"{name}: {_listed(values)}")


def _certificate(model):
    """The bounds on the risk that the model can prove, or why it cannot."""
    try:
        found = model.risk_certificate()
    except ValueError as refusal:
        yield _line("certificate", f"none: {refusal}")
        return
    bounds = {"loss": found.loss, "error rate": found.error_rate}
    parts = [f"{name} ≤ {bound:.6g}" for name, bound in bounds.items() if bound is not None]
    proved = f"{', '.join(parts)}, each with probability {1 - found.delta:g}"
    yield _line("certificate", proved if parts else f"none: {found.missing}")


def _largest(model, encoder, count):
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.atleast_2d(model.coef_)
    names = _feature_names(model, encoder)
    several = len(coef) > 1
    yield _line("not zero", f"{np.count_nonzero(coef):,} of {coef.size:,} weights")
    flat = np.abs(coef).ravel()
    count = min(count, np.count_nonzero(flat))
    largest = np.argpartition(-flat, count - 1)[:count] if count else np.array([], dtype=int)
    if count:
        yield f"\n{'weight':>14}  feature" + ("  (class or target)" if several else "")
    for place in largest[np.argsort(-flat[largest], kind="stable")]:
        row, column = divmod(int(place), coef.shape[1])
        of = f"  ({_output(model, row)})" if several else ""
        sign, name = names(column)
        yield f"{sign * coef[row, column]:14.6g}  {name}{of}"
    for row, value in enumerate(np.atleast_1d(model.intercept_)):
        of = f"  ({_output(model, row)})" if several else ""
        yield f"{value:14.6g}  intercept{of}"


def _output(model, row):
    return model.classes_[row] if is_classifier(model) else f"target {row}"


def _feature_names(model, encoder):
    """From a column's number to (sign, name): the weight of ``name`` is sign × that of the column."""
    if encoder is None:
        names = getattr(model, "feature_names_in_", None)
        return lambda column: (1, str(column) if names is None else names[column])
    own = copy(encoder)  # 2^18 names are not made for ten of them
    own.hashed_ = []
    names = own.get_feature_names_out()
    hashed = names_by_column(encoder) if encoder.hashed_ else {}

    def named(column):
        if column < len(names):
            return 1, names[column]
        place = column - len(names)
        if place not in hashed:
            return 1, f"hashed_{place}: a value of {' or '.join(encoder.hashed_)} without a name"
        [(first, name), *others] = hashed[place]
        also = [f"{'' if sign == first else '−'}{other}" for sign, other in others]
        return first, name + (f" (shares its column with {', '.join(also)})" if also else "")

    return named


def _line(name, text):
    return f"{name:14}  {text}"


def _listed(names):
    shown = ", ".join(str(name) for name in names[:10])
    return f"{shown}{', …' if len(names) > 10 else ''} ({len(names)})" if names else "none"
