"""Records of the rows at first sight: sums add up, and the curve is that of rows that came to the models by turns."""

import numpy as np

from .._kernels.prequential import _quantile_tracks, _records
from ..model._prequential import NAMES, POINTS, WEIGHTED, Progress

KEPT = len(NAMES)
STEP, NEXT = POINTS + 1, POINTS + 2
LARGEST = 1e300  # sum, so that differences are numbers


def merge_progress(progresses, base=None):
    """The records of all models; what comes from ``base`` counts once."""
    merged = Progress()
    tracks = [progress.tracks for progress in progresses]
    merged.tracks = _quantile_tracks.merged(tracks, None if base is None else base.tracks)
    total = sum(map(_sums, progresses))
    if base is not None:
        total = total - (len(progresses) - 1) * _sums(base)
    grid, step, soon = _records.grid(int(total[0]))
    merged.sums[:KEPT] = total
    merged.sums[WEIGHTED] = max(progress.sums[WEIGHTED] for progress in progresses)
    merged.sums[POINTS], merged.sums[STEP], merged.sums[NEXT] = len(grid), step, soon
    merged.points[: len(grid)] = _curve(progresses, base, grid)
    return merged


def _curve(progresses, base, grid):
    """The sums at the points of the grid: up to the base's rows its own, then those of all models, each at its share of rows."""
    begun = 0.0 if base is None else base.total("rows")
    new = np.array([progress.total("rows") - begun for progress in progresses])
    out = np.zeros((len(grid), KEPT))
    early = grid <= begun
    if base is not None:
        out[early] = _at(base, grid[early])
        out[~early] = _sums(base)
    share = (grid[~early] - begun) / max(new.sum(), 1.0)
    for progress, rows in zip(progresses, new, strict=True):
        out[~early] += _at(progress, begun + share * rows)
        if base is not None:
            out[~early] -= _sums(base)
    out[:, 0] = grid
    return out


def _at(progress, rows):
    """The sums of one model after so many rows, straight between its points."""
    known = np.concatenate([[0.0], progress.grid("rows")])
    columns = [np.interp(rows, known, np.concatenate([[0.0], progress.grid(n)])) for n in NAMES]
    return np.minimum(np.stack(columns, axis=1), LARGEST)


def _sums(progress):
    return np.minimum(progress.sums[:KEPT], LARGEST)
