"""What is known of the rows at first sight, as the estimators show it."""

import numpy as np

from .._kernels.prequential import _records
from ._recipe import DamagedState

NAMES = ("rows", "loss", "weight", "mistakes", "clipped", "variance")  # as ``_records`` has them
COUNT = NAMES.index  # where a sum lies
WEIGHTED, POINTS = len(NAMES), len(NAMES) + 1


class Progress:
    """Sums over the rows at first sight, and the same at points of a grid; pickled with the state.

    Attributes
    ----------
    sums : ndarray
        Of rows, weighted losses, weights, mistakes, clipped losses and their variance process, as ``_records`` has them.
    points : ndarray
        The sums at the rounds of the grid.
    tracks : ndarray
        Quantiles of residuals, of each target of a regressor, as ``_tracks`` has them.
    """

    def __init__(self, targets=0):
        self.sums, self.points = _records.allocate()
        self.tracks = _records.Tracks.allocate(targets)

    def copy(self):
        """Independent records that go on from here."""
        twin = object.__new__(Progress)
        vars(twin).update((name, array.copy()) for name, array in vars(self).items())
        return twin

    def total(self, name):
        """A sum over all rows at first sight: "rows", "loss", "weight", "mistakes", "clipped" or "variance"."""
        return float(self.sums[COUNT(name)])

    @property
    def weighted(self):
        """Whether a row came with another weight than 1, or rows came before records were kept."""
        return bool(self.sums[WEIGHTED])

    def grid(self, name):
        """A sum at the points of the grid, and at the last row."""
        column, count = COUNT(name), int(self.sums[POINTS])
        at, rows = self.points[:count, column], self.total("rows")
        complete = rows == 0 or (count and self.points[count - 1, COUNT("rows")] == rows)
        return at.copy() if complete else np.append(at, self.sums[column])

    def curve(self, classes):
        """Means so far and since the last point, by name."""
        rows, weight = self.grid("rows"), self.grid("weight")
        curve = {"rows": rows.astype(np.int64)}
        curve["mean_loss"], curve["mean_loss_since"] = _means(self.grid("loss"), weight)
        if classes is not None:
            curve["error_rate"], curve["error_rate_since"] = _means(self.grid("mistakes"), rows)
        return curve

    def to_plain(self):
        """A dict of arrays, which is what is pickled: the points that there are."""
        points = self.points[: int(self.sums[POINTS])]
        return {"sums": self.sums, "points": points, "tracks": self.tracks}

    @classmethod
    def from_plain(cls, kept):
        """The records of a pickled dict; its arrays may be read-only."""
        progress = cls()
        try:
            progress.sums = np.array(kept["sums"], dtype=np.float64)
            progress.points[: len(kept["points"])] = kept["points"]
            if "tracks" in kept:
                progress.tracks = np.array(kept["tracks"], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedState("its records are incomplete") from error
        return progress

    @classmethod
    def of_earlier_version(cls, loss, weight):
        """Records of a model that kept two sums only: its curve begins with the rows to come."""
        progress = cls()
        progress.sums[COUNT("loss")], progress.sums[COUNT("weight")] = loss, weight
        progress.sums[WEIGHTED] = 1.0
        return progress


def _means(sums, counts):
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / counts, np.diff(sums, prepend=0.0) / np.diff(counts, prepend=0.0)
