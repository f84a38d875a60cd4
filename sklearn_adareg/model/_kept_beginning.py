"""The first rows of a model that chooses its coordinates: they are kept, and learnt anew when better coordinates are known.

After STAGES rows the feature transform is found from the rows so far, and the model is learnt anew from them with it; after the last
stage they are dropped. It then is the model that would have been learnt with that transform from the beginning. Between centring
alone and whitening the sum of the losses decides, each row predicted before it is learnt from.

Penalty and domain are about the weights of the features. Centring leaves these alone. Whitening mixes them, so what blocks do about a
penalty or a domain is not quite what was asked for: it is a candidate only where weights are well inside of the domain and the
penalty is slight, an L1 penalty, whose zeros it would lose, next to nothing.
"""

import numpy as np
from scipy import sparse

from . import _feature_transform, _recipe, _registry, _runtime
from ._state import new_blocks, rows_held

STAGES = (32, 256, 1024)
WHITEN_FROM = 256  # rows
MOST_NUMBERS = 2**22  # that are kept
MOST_PRODUCTS = 2**29  # rows × features², for correlations
# of a row's curvature and gradient: an L2, and an L1 penalty that mixed features may have
SLIGHT, NOTHING = 0.05, 1e-6


def stages(recipe):
    """After how many rows the coordinates are chosen."""
    return tuple(stage for stage in STAGES if stage * recipe.d <= MOST_NUMBERS)


def rounds_to_next(state):
    """How many rounds may be played before coordinates are chosen again."""
    if state.beginning is None:
        return np.inf
    ahead = [stage for stage in stages(state.recipe) if stage > state.rounds]
    return ahead[0] - state.rounds if ahead else np.inf


def note(state, X, part, targets, weights):
    """Keep the rows that are about to be played."""
    kept, rounds = [], 0
    for rows in state.beginning:  # without those that stopped a round
        if rounds < state.rounds:
            kept.append(tuple(a[: state.rounds - rounds] for a in rows))
            rounds += len(kept[-1][0])
    own = weights[part] if len(weights) else np.ones(len(part))
    if rounds != state.rounds or rounds_to_next(state) == np.inf:  # others were played since
        state.beginning = None
    else:
        rows = X[part].toarray() if sparse.issparse(X) else np.array(X[part])
        state.beginning = (*kept, (rows, targets[part], own))


def renew(state):
    """Choose coordinates if it is time to, and learn the rows so far anew in them."""
    if state.beginning is None or state.rounds not in stages(state.recipe):
        return False
    rows, targets, weights = (np.concatenate(parts) for parts in zip(*state.beginning, strict=True))
    last = state.rounds == stages(state.recipe)[-1]
    transforms = _trials(state.recipe, rows.astype(np.float64))
    learnt = [outcome for transform in transforms if (outcome := _learn(state, transform, rows, targets, weights))]
    beginning = None if last or not transforms else state.beginning
    if not learnt:  # nothing to centre, or rows that are too large in it
        state.beginning = beginning
        return False
    _, blocks, transform = min(learnt, key=lambda outcome: outcome[0])
    vars(state).update(blocks=blocks, feature_transform=transform, beginning=beginning, snapshot=None)
    return True


def forget(state):
    """Keep no row from here on: coordinates stay as they are, and a learner has sums alone."""
    state.beginning = None
    if not _registry.METHODS[state.recipe.method].learner:
        return
    for block in state.blocks:
        if rows_held(block.recipe, block.arrays):
            _runtime.method_of(block).forget_rows()
            state.snapshot = None
        block.forget_rows()  # and what is left of those that were kept before


def _trials(recipe, rows):
    """The transforms to choose from; none where most features are thin."""
    n, d = rows.shape
    found = _feature_transform.describe(rows, recipe.intercept)
    if found is None:
        return []
    centre, spread = found
    if 2 * np.count_nonzero(spread) < d:
        return []
    transforms = [_feature_transform.centring(centre)]
    enough = min(n, MOST_PRODUCTS // d**2)
    if enough >= WHITEN_FROM:
        whitened = _feature_transform.whitening(rows[:enough], centre, spread)
        transforms += [] if whitened is None else [whitened]
    return transforms


def _learn(state, transform, rows, targets, weights):
    """The loss of learning these rows in a transform, the blocks that have learnt them, and the transform; None if a round stops.

    None also where mixed coordinates would not do justice to a penalty or to the domain.
    """
    recipe = state.recipe
    blocks = new_blocks(recipe)
    loss = _runtime.replay(blocks, transform, rows, targets, weights)
    leaves_alone = recipe.plain or not _feature_transform.mixes(transform)
    suits = loss is not None and (leaves_alone or _suits(recipe, blocks, transform))
    return (loss, blocks, transform) if suits else None


def _suits(recipe, blocks, transform):
    """Whether weights are well inside of the domain, and the penalty is slight beside what rows add."""
    own, intercepts = _runtime.in_block_coordinates(blocks)
    coef, _ = _feature_transform.to_raw(transform, own, intercepts)
    domain = _recipe.domain_kernel(recipe)
    if not all(np.array_equal(domain.confine(2 * w), 2 * w) for w in (*own, *coef)):
        return False
    structures = [_runtime.method_of(block).structure for block in blocks]
    curvatures = np.concatenate([structure.curvatures_of_rows() for structure in structures])
    gradients = np.concatenate([structure.gradients_of_rows() for structure in structures])
    l1, l2 = recipe.alpha * recipe.l1_ratio, recipe.alpha * (1 - recipe.l1_ratio)
    return l1 <= NOTHING * np.median(gradients) and l2 <= SLIGHT * np.median(curvatures)
