"""diag and iso: evidence of each coordinate, or of all together."""

import numpy as np

from .._kernels.preconditioners.diagonal import _isotropic
from ._points import averages, start_of, sums_of_gradients, write_means, write_point


def put_cells(new):
    def put(name, values):
        new.field(name)[:] = values

    return put


def merge_coordinatewise(context, new):
    scale, ratios = context.units()
    _, _, moves = context.offsets()
    isotropic = isinstance(new, _isotropic.Isotropic)
    diagonal = "G" in new.arrays["fields"]
    epsilon = context.setting.epsilon

    def read(structure):
        if not diagonal:
            return (structure.accumulated() - epsilon)[:, None]
        kept = structure.kept()
        G = kept * structure.field("G") + (1.0 - kept) * epsilon
        return np.maximum(G - epsilon, 0.0) * ratios[id(structure)] ** 2

    evidence, base_evidence = context.new_evidence(read)
    evidence = [np.maximum(M, 0.0) for M in evidence]
    context.write_units(new.arrays, scale)
    if diagonal:
        put_cells(new)("G", epsilon + base_evidence + sum(evidence))
    if isotropic:  # where units may differ the evidence of each coordinate is kept, and is what it is judged by
        levels = epsilon + base_evidence + sum(evidence)
        new.arrays["trace"][:] = context.D * levels.mean(axis=1)
    for name in ("last", "charged"):
        if name in new.arrays:
            new.arrays[name][:] = context.total
    new.arrays["astray"][:] = 1.0  # the next round sees to the domain, and its gauge
    if context.recipe.dual:
        _write_coordinatewise_sums(context, new, ratios, moves, evidence, base_evidence)
    else:
        write_means(context, new, evidence, base_evidence, ratios, moves, put_cells(new))


def _write_coordinatewise_sums(context, new, ratios, moves, evidence, base_evidence):
    """Dual averaging: x = x_1 − HΣg."""
    unmultiplied = isinstance(new, _isotropic.IsotropicDual)
    fade = "fade" if unmultiplied and "fade" in new.arrays else None

    def kept(structure):
        if unmultiplied:
            return structure.arrays["fade"][0] if fade else 1.0
        return structure.kept()

    new.arrays["clock"][:] = context.total, context.averaging_weight()  # which steps depend on
    theta = sums_of_gradients(context, ratios, kept)
    if context.recipe.intercept and any(move.any() for move in moves.values()):
        theta = _with_moved_intercept(context, new, theta, moves)
    put_cells(new)("theta", theta)
    average = averages(context, ratios, moves, evidence, base_evidence)
    rate, _ = new.present_rates()
    h = rate * new.present_steps()
    if unmultiplied:
        new.arrays["step"][:] = h[:, 0]
        if average is not None:
            put_cells(new)("u", average * context.averaging_weight())
        return
    x = start_of(context, ratios) - h * theta
    put_cells(new)("x", x)
    if new.arrays.get("last") is not None:
        x = new.last_iterate()  # with the penalty of all rounds
    write_point(context, new, x, x if average is None else average, put_cells(new))


def _with_moved_intercept(context, new, theta, moves):
    """Offsets differ: the intercept is brought to where the mean of the intercepts is."""
    rate, _ = new.present_rates()
    h = rate * new.present_steps()
    d = context.recipe.d
    shares = context.rounds / max(context.rounds.sum(), 1.0)
    move = sum(share * moves[id(structure)] for share, structure in zip(shares, context.structures, strict=True))
    theta = theta.copy()
    theta[:, d] -= move / h[:, d]
    return theta
