"""How ``fit`` of the default learner ends: Newton's method on all rows, to the minimiser of the chosen prior.

The first rows are learnt as a stream, which gives a point near the minimiser, progressive losses, and the limits of values. Then
every step reads all rows once: their quadratics at the present point add up to new sums, which replace the former ones, and the
minimiser of these is the next point, halved where the objective would grow.

The prior is the one whose estimated leave-one-out loss is least: removing a row of leverage v = zᵀ(G + R)⁻¹z moves its own margin by
g v / (1 − h v). Where a loss has no such formula here it is the one with the least progressive losses. Under a penalty that is
stronger than a usual prior it is the weakest, since the penalty is what was asked for.
"""

from functools import partial

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import LinAlgError, cho_factor, solve_triangular
from scipy.special import expit

from ..model import _interrupts, _runtime
from ..model._margins import limited

FIRST_ROWS = 2048  # learnt as a stream
# Rows whose leave-one-out losses decide between the priors, fewer where features are many. A prior may cost or win a few nats over
# all rows, so few rows tell nothing.
JUDGED, FEWEST, PRODUCTS = 8192, 512, 10_000_000
SETTLED = 0.05  # nats that a step still gains: after it the distance to the minimiser is far below a standard error
PENALISED_SETTLED = 1e-6  # the same under a penalty or in a domain, whose zeros and bounds are to be exact
AT_LEAST = 0.5  # times a feature's variance: a penalty that strong takes the prior's part
SMALLEST_STEP = 1e-4
NUMBERS_AT_ONCE = 20_000_000  # products between two looks at the keyboard


class AllRows:
    """Newton steps over all rows of a fit, in the blocks of a state."""

    def __init__(self, state, X, order, targets, weights, n_jobs, earlier):
        self.state, self.targets, self.weights = state, targets, weights
        self.X, self.order, self.n_jobs = X, order, n_jobs
        self.rows = _runtime.rows_of(state, X)
        self.learners = [_runtime.method_of(block) for block in state.blocks]
        self.total = float(len(order) if not len(weights) else weights[order].sum())
        self.before = None
        penalised = state.recipe.alpha > 0.0 or state.recipe.domain is not None
        self.least_gain = PENALISED_SETTLED if penalised else SETTLED
        played = order[:0] if earlier else order[:FIRST_ROWS]
        for learner in self.learners:
            learner.begin_sums()
        self.losses = self._add(played, False)
        self.losses = [a + b for a, b in zip(self.losses, self._add(order[len(played) :], True), strict=True)]
        leaders = [learner.leaders() for learner in self.learners]
        self.chosen = [self._choose(k) for k in range(len(self.learners))]
        # whether the sums are those at the candidates that are minimised
        self.at_chosen = all(map(np.array_equal, leaders, self.chosen))
        for learner, chosen in zip(self.learners, self.chosen, strict=True):
            learner.lead_with(chosen)

    def _add(self, order, new):
        """The losses of rows whose quadratics join the sums, of each learner."""
        recipe = self.state.recipe
        part = max(256, NUMBERS_AT_ONCE // (recipe.D**2 * recipe.n_outputs))
        losses = [0.0] * len(self.learners)
        for start in range(0, len(order), part):
            _interrupts.check()
            tasks = [partial(self._add_part, k, order[start : start + part], new) for k in range(len(self.learners))]
            found = (
                [task() for task in tasks]
                if len(tasks) == 1
                else _interrupts.in_threads(tasks, effective_n_jobs(self.n_jobs))
            )
            losses = [a + b for a, b in zip(losses, found, strict=True)]
        return losses

    def _add_part(self, k, order, new):
        block = self.state.blocks[k]
        targets = self.targets
        if targets.shape[1] > 1:
            targets = np.ascontiguousarray(targets[:, block.outputs()])
        losses = self.learners[k].add_rows(self.rows[k], order, targets, self.weights, new)
        if not isinstance(losses, np.ndarray):
            raise ValueError(
                "A row is too large for its square to be represented; scale the features. The model is the one from before the call."
            )
        return losses

    def mean_loss(self):
        """Of all rows, at the point where they were last read."""
        return float(sum(losses.sum() for losses in self.losses)) / self.total

    def _objectives(self):
        return [
            losses + learner.priors_at(learner.points(), chosen)
            for learner, losses, chosen in zip(self.learners, self.losses, self.chosen, strict=True)
        ]

    def step(self):
        """Move to the minimiser of the sums, and read all rows there; whether the next step would gain nothing to speak of."""
        if self.before is None:
            self.before = self._objectives() if self.at_chosen else [np.full(len(c), np.inf) for c in self.chosen]
        starts = [learner.points().copy() for learner in self.learners]
        settled, goals = self.at_chosen, []
        for learner, chosen in zip(self.learners, self.chosen, strict=True):
            goal, gains = learner.solutions()
            gain = gains[np.arange(len(chosen)), chosen] / learner.loss_units()
            settled = settled and bool((gain < self.least_gain).all())
            goals.append(goal)
            learner.points()[:] = goal
        if settled or self.learners[0].is_quadratic():  # whose sums are the same everywhere
            return True
        length = [np.ones(len(chosen)) for chosen in self.chosen]
        while True:
            for learner in self.learners:
                learner.empty_sums()
            self.losses = self._add(self.order, False)
            after = self._objectives()
            worse = [~(b <= a + 1e-9 * np.abs(b)) for a, b in zip(self.before, after, strict=True)]
            if not any(w.any() for w in worse):
                break
            for learner, start, goal, own, w in zip(self.learners, starts, goals, length, worse, strict=True):
                own[w] = np.where(own[w] > SMALLEST_STEP, 0.5 * own[w], 0.0)
                shape = own[:, np.newaxis, np.newaxis]
                learner.points()[:] = start + shape * (goal - start)
            if all((own[w] == 0.0).all() for own, w in zip(length, worse, strict=True)):
                for learner in self.learners:
                    learner.empty_sums()
                self.losses = self._add(self.order, False)
                return True
        gained = [
            np.max((a - b) / learner.loss_units())
            for a, b, learner in zip(self.before, after, self.learners, strict=True)
        ]
        self.before, self.at_chosen = after, True
        return bool(max(gained) < SETTLED * self.least_gain)

    def end(self):
        """The chosen priors are what is published, and the next block begins."""
        for learner, chosen in zip(self.learners, self.chosen, strict=True):
            learner.lead_with(chosen)
            learner.settle_all()

    # ---- the prior ------------------------------------------------------------------------------------------------

    def _choose(self, k):
        """The candidates of a learner that are to be minimised, one for each problem."""
        learner, recipe = self.learners[k], self.state.recipe
        leaders = learner.leaders()
        if len(recipe.epsilon) == 1:
            return leaders
        takes_part = learner.takes_part()
        if recipe.alpha * self.total >= AT_LEAST * np.median(learner.variances_of_columns()):
            return np.full_like(leaders, np.argmax(takes_part))
        derivatives = DERIVATIVES.get(recipe.loss)
        joint = recipe.joint and recipe.n_outputs > 1
        if derivatives is None or joint or recipe.domain is not None:
            return leaders
        rows = self.order[: max(FEWEST, min(JUDGED, PRODUCTS // recipe.D**2))]
        losses = self._leave_one_out(k, rows, derivatives)
        chosen = np.argmin(np.where(takes_part, losses, np.inf), axis=1)
        return chosen

    def _leave_one_out(self, k, rows, derivatives):
        """Estimated leave-one-out losses of candidates, (problems, priors)."""
        learner, block = self.learners[k], self.state.blocks[k]
        X = limited(self.X[rows], learner.limits())
        X = X if isinstance(X, np.ndarray) else X.toarray()
        weights = self.weights[rows] if len(self.weights) else np.ones(len(rows))
        targets = self.targets[rows]
        if targets.shape[1] > 1:
            targets = targets[:, block.outputs()]
        means = learner.means()
        Z = X - means[: X.shape[1]]
        if block.recipe.intercept:
            Z = np.column_stack([Z, np.ones(len(Z))])
        priors, outputs = len(block.recipe.epsilon), block.recipe.n_outputs
        points = learner.solutions_about(means)  # (problems, priors, D)
        found = np.full((outputs, priors), np.inf)
        for e in range(priors):
            for p, (A, _, coordinate, _) in enumerate(learner.systems(e)):
                y = targets[:, 0 if targets.shape[1] == 1 else p]
                if block.recipe.outputs_are_classes:
                    y = np.where(y == block.first_output + p, 1.0, -1.0)
                try:
                    factor = cho_factor(A + 1e-12 * np.diag(np.diag(A)), lower=True)[0]
                except LinAlgError:
                    continue
                own = Z[:, coordinate]
                leverage = (solve_triangular(factor, own.T, lower=True, check_finite=False) ** 2).sum(axis=0)
                margins = own @ points[p, e, coordinate]
                loss, slope, curvature = derivatives
                pull = weights * leverage
                left = np.maximum(1.0 - pull * curvature(margins, y), 1e-3)
                found[p, e] = np.average(loss(margins + pull * slope(margins, y) / left, y), weights=weights)
        return found


# loss, slope and curvature at a margin; two classes are −1 and 1
DERIVATIVES = {
    "log_loss": (
        lambda m, y: np.logaddexp(0.0, -y * m),
        lambda m, y: -y * expit(-y * m),
        lambda m, y: expit(m) * expit(-m),
    ),
    "squared_error": (lambda m, y: 0.5 * (m - y) ** 2, lambda m, y: m - y, lambda m, y: np.ones_like(m)),
}
