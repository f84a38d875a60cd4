"""The first rows of a model that chooses its coordinates: they are kept, and learnt anew when better coordinates are known.

After STAGES rows the frame (``_frame``) is found from the rows so far, and the model is learnt anew from them in it; after the last
stage they are dropped. It then is the model that would have been learnt in that frame from the beginning. Between centring alone and
whitening the sum of the losses decides, each row predicted before it is learnt from.

Penalty and domain are about the weights of the features. Centring leaves these alone. Whitening mixes them, so what blocks do about a
penalty or a domain is not quite what was asked for: it is a candidate only where weights are well inside of the domain and the
penalty is slight, an L1 penalty, whose zeros it would lose, next to nothing.
"""

import numpy as np
from scipy import sparse

from . import _frame, _recipe, _workers
from ._state import new_blocks

STAGES = (32, 256, 1024)
WHITEN_FROM = 256  # rows
MOST_NUMBERS = 2**22  # that are kept
MOST_PRODUCTS = 2**29  # rows × features², for correlations
SLIGHT, NOTHING = (
    0.05,
    1e-6,
)  # of a row's curvature and gradient: an L2, and an L1 penalty that mixed features may have


def stages(recipe):
    """After how many rows the coordinates are chosen."""
    return tuple(stage for stage in STAGES if stage * recipe.d <= MOST_NUMBERS)


def rounds_to_next(state):
    """How many rounds may be played before coordinates are chosen again."""
    if state.early is None:
        return np.inf
    ahead = [stage for stage in stages(state.recipe) if stage > state.rounds]
    return ahead[0] - state.rounds if ahead else np.inf


def note(state, X, part, targets, weights):
    """Keep the rows that are about to be played."""
    kept, rounds = [], 0
    for rows in state.early:  # without those that stopped a round
        if rounds < state.rounds:
            kept.append(tuple(a[: state.rounds - rounds] for a in rows))
            rounds += len(kept[-1][0])
    own = weights[part] if len(weights) else np.ones(len(part))
    if rounds != state.rounds or rounds_to_next(state) == np.inf:  # others were played since
        state.early = None
    else:
        rows = X[part].toarray() if sparse.issparse(X) else np.array(X[part])
        state.early = (*kept, (rows, targets[part], own))


def renew(state):
    """Choose coordinates if it is time to, and learn the rows so far anew in them."""
    if state.early is None or state.rounds not in stages(state.recipe):
        return False
    rows, targets, weights = (np.concatenate(parts) for parts in zip(*state.early, strict=True))
    last = state.rounds == stages(state.recipe)[-1]
    frames = _candidates(state.recipe, rows.astype(np.float64))
    learnt = [
        outcome for frame in frames if (outcome := _learn(state, frame, rows, targets, weights))
    ]
    early = None if last or not frames else state.early
    if not learnt:  # nothing to centre, or rows that are too large in it
        state.early = early
        return False
    _, blocks, frame = min(learnt, key=lambda outcome: outcome[0])
    vars(state).update(blocks=blocks, frame=frame, early=early, publication=None)
    return True


def _candidates(recipe, rows):
    """The frames to choose from; none where most features are thin."""
    n, d = rows.shape
    found = _frame.describe(rows, recipe.intercept)
    if found is None:
        return []
    centre, spread = found
    if 2 * np.count_nonzero(spread) < d:
        return []
    frames = [_frame.centring(centre)]
    enough = min(n, MOST_PRODUCTS // d**2)
    if enough >= WHITEN_FROM:
        whitened = _frame.whitening(rows[:enough], centre, spread)
        frames += [] if whitened is None else [whitened]
    return frames


def _learn(state, frame, rows, targets, weights):
    """The loss of learning these rows in a frame, the blocks that have learnt them, and the frame; None if a round stops.

    None also where mixed coordinates would not do justice to a penalty or to the domain.
    """
    recipe = state.recipe
    blocks = new_blocks(recipe)
    loss = _workers.replay(blocks, frame, rows, targets, weights)
    if loss is None or (
        _frame.mixes(frame) and not recipe.plain and not _suits(recipe, blocks, frame)
    ):
        return None
    return loss, blocks, frame


def _suits(recipe, blocks, frame):
    """Whether weights are well inside of the domain, and the penalty is slight beside what rows add."""
    own, intercepts = _workers.in_frame(blocks)
    coef, _ = _frame.to_raw(frame, own, intercepts)
    domain = _recipe.domain_kernel(recipe)
    if not all(np.array_equal(domain.confine(2 * w), 2 * w) for w in (*own, *coef)):
        return False
    curvatures, gradients = _workers.scales_of_rows(blocks)
    l1, l2 = recipe.alpha * recipe.l1_ratio, recipe.alpha * (1 - recipe.l1_ratio)
    return l1 <= NOTHING * np.median(gradients) and l2 <= SLIGHT * np.median(curvatures)
