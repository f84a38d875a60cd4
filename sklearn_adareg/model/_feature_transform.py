"""Coordinates in which dense features are centred and, where that helps, uncorrelated; found from the first rows.

A transform is a tuple (centre, start, partner, share): feature i becomes

    z̃_i = (z_i − c_i) − Σ_k share_k (z_j − c_j),    k from start_i to start_{i+1}, j = partner_k,

its residual in a regression on a few features that come before it in some order, so the map is triangular and can be undone. The
partners are a few *pivots*, common to all features, which take what all of them share, and the features that are most correlated
with it beyond that. A linear model of z̃ is a linear model of z.

Centres are medians and correlations are those of values cut at a few median deviations: rows of any size do no harm. A feature that
has one value in half of the rows, 0 say, is *thin*: it is measured from that value and takes no part in regressions.
"""

import numpy as np
from scipy import sparse

from ._recipe import first_unmet

PIVOTS, NEIGHBOURS = 8, 8
NOISE = 4.0  # times 1/√rows: correlations below are not distinguished from 0
FARTHEST = 12.0  # deviations from the median: where values are cut
RIDGE = 1e-3  # on correlations
FAINT = 0.01  # a remaining variance below counts as this
FOR_MEDIANS = 128  # rows, which is enough
LARGEST = 1e150  # values beyond are left as they are


def describe(rows, centred):
    """Centres, and the features that are not thin; None if values are too large to be subtracted.

    ``centred``: an intercept takes up what centring does; otherwise centres are 0.
    """
    if not max(rows.max(initial=0.0), -rows.min(initial=0.0)) < LARGEST:
        return None
    some = np.ascontiguousarray(rows[:: -(-len(rows) // FOR_MEDIANS)].T)
    centre = np.median(some, axis=1)
    spread = np.median(np.abs(some - centre[:, None]), axis=1)
    if not centred:
        centre = np.zeros_like(centre)
    return centre, spread


def centring(centre):
    """The transform that centres and does nothing else."""
    nothing = np.zeros(0, dtype=np.intc)
    return centre, np.zeros(len(centre) + 1, dtype=np.intc), nothing, np.zeros(0)


def whitening(rows, centre, spread):
    """The transform that also takes out correlations; None if there are none to speak of."""
    n, d = rows.shape
    thick = spread > 0.0
    units = np.where(thick, 1.4826 * spread, 1.0)
    values = np.clip((rows - centre) / units, -FARTHEST, FARTHEST)
    if centre.any():
        values -= values.mean(axis=0)
    deviation = np.sqrt((values * values).mean(axis=0))
    thick &= deviation > 0.0
    deviation = np.where(thick, deviation, 1.0)
    values = (values / deviation * thick).astype(np.float32)
    correlation = (values.T @ values / n).astype(np.float64)
    noise = NOISE / np.sqrt(n)
    pivots, left = _pivots(correlation, thick, noise)
    start, partners, shares = [0], [], []
    place = np.full(d, len(pivots))
    place[pivots] = np.arange(len(pivots))
    open_to = thick & (place == len(pivots))
    variance = np.maximum(np.diag(left), FAINT)
    scale = deviation * units
    size = np.abs(left)
    size /= np.sqrt(np.outer(variance, variance))
    size[~open_to], size[:, ~open_to] = 0.0, 0.0
    loud = np.tril(size > noise, -1)
    has_some = loud.any(axis=1)
    for i in range(d):
        chosen = pivots[: place[i]] if thick[i] else pivots[:0]
        if has_some[i]:
            near = np.flatnonzero(loud[i])
            near = near[np.argsort(-size[i, near], kind="stable")[:NEIGHBOURS]]
            chosen = np.concatenate([chosen, near])
        if len(chosen):
            among = correlation[np.ix_(chosen, chosen)] + RIDGE * np.eye(len(chosen))
            share = np.linalg.solve(among, correlation[i, chosen])
            partners.append(chosen)
            shares.append(share * scale[i] / scale[chosen])
        start.append(start[-1] + len(chosen))
    if not partners:
        return None
    share = np.concatenate(shares)
    if not np.isfinite(share).all():
        return None
    return centre, np.array(start, dtype=np.intc), np.concatenate(partners).astype(np.intc), share


def _pivots(correlation, thick, noise):
    """The features that explain most of all others, one after the other, and the covariance that they leave."""
    left, pivots = correlation.copy(), []
    enough = thick.sum() * noise**2 / 4
    for _ in range(PIVOTS):
        variance = np.diag(left)
        gain = (left**2).sum(axis=0) / np.maximum(variance, 5 * FAINT) - variance
        gain[~thick] = -1.0
        gain[pivots] = -1.0
        best = int(np.argmax(gain))
        if not gain[best] >= enough:
            break
        pivots.append(best)
        column = left[:, best] / np.sqrt(left[best, best] + RIDGE)
        left = left - np.outer(column, column)
    return np.array(pivots, dtype=np.intp), left


def mixes(transform):
    """Whether a coordinate is made of several features; otherwise a weight is that of its feature."""
    return len(transform[3]) > 0


def to_raw(transform, coef, intercept):
    """Weights in a transform as weights of the features themselves."""
    centre, start, partner, share = transform
    d = len(centre)
    coef = coef - coef @ sparse.csr_array((share, partner, start), shape=(d, d))
    return coef, intercept - coef @ centre


def mismatch(transform, d):
    """What is wrong with a transform that was read from a file, in a clause; None if nothing is."""
    return None if transform is None else first_unmet(_conditions(*transform, d))


def _conditions(centre, start, partner, share, d):
    kinds = [(centre, np.float64), (start, np.intc), (partner, np.intc), (share, np.float64)]
    arrays = all(isinstance(a, np.ndarray) and a.dtype == kind and a.ndim == 1 for a, kind in kinds)
    yield arrays, "its transform does not consist of arrays"
    yield np.isfinite(np.concatenate([centre, share])).all(), "its transform has numbers that are not finite"
    sizes = len(centre), len(start), len(partner)
    yield sizes == (d, d + 1, len(share)), "its transform has not the size of its features"
    follows = start[0] == 0 and start[-1] == len(partner) and (np.diff(start) >= 0).all()
    yield follows, "the parts of its transform do not follow one another"
    yield ((partner >= 0) & (partner < d)).all(), "its transform names a feature that there is not"
