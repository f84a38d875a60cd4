"""The default learner in slow NumPy: sums over rows, solved at the ends of blocks, and candidates combined by their losses.

For each memory λ, in raw coordinates z = (row, 1): G = Σ λ^(t−s) z zᵀ ⊗ H_s and r = Σ λ^(t−s) z (H_s m_s − g_s), H and g the
curvature and slope of a row at the margins m at which it was made a quadratic. A candidate is the minimiser of ½xᵀGx − rᵀx, its
prior, and the penalty over the domain, about the means of the features: so the kernel's centres, ranges and orders of
summation are not here.

A problem has C margins: all classes of a softmax, or one class against the rest, or one target.
"""

import numpy as np

from reference.domains import project
from reference.fixed_share import FixedShare
from reference.quadratics import DEGREES, LOSSES, softmax

PRIORS, JOINT_PRIORS = (1e-6, 1e-2, 0.5, 8.0), (0.5, 8.0)  # the latter of a softmax
PENALISED_JOINT_PRIORS = (1e-6, 0.5)
MEMORIES, DIAGONAL_MEMORIES = (1.0, 0.998, 0.98), (0.97, 0.9, 0.8)
KEPT, MOST, FRACTION, JOINT_FRACTION, PER_BLOCK, GROWTH, STEPS = 1024, 256, 40, 10, 25, 1.5, 4
REST_BELOW, CYCLE, TRIAL, RISEN, RECENT_ROWS, LEVEL_ROWS, EXTREME = 0.02, 256, 32, 2.5, 16, 1024, 4.0
ROWS_PER_WEIGHT, WEAK, RARE = 10, 0.1, 0.25
SHORT_PRIOR, PER_D_SHORT, DIAGONAL_PRIOR, PER_D, INTERCEPT_PRIOR = 0.25, 1.0, 0.5, 2.0, 0.1
LEAST_CURVATURE, DAMP, SLACK, LEAST_STEP, SETTLED = 1e-5, 0.05, 1e-3, 1e-3, 0.01
OF_SQUARES, RECENT = 4.0, 2.0
PART, OF_SIZE, RARE_ENTRIES, UNLIMITED, ROUNDING = 0.25, 3.0, 64, 1e300, 1e-26
JUMP, OF_LEVEL, OF_OBJECTIVE = 100.0, 1e-9, 1e-10


class Columns:
    """Means, variances and limits of d columns; deviations are from 0 where there are no ``offsets``.

    0 is within the limits of features, so that sparse rows need no look at it.
    """

    def __init__(self, d, offsets, targets=False):
        self.offsets, self.within = offsets, UNLIMITED if targets else 0.0
        self.mean, self.squares, self.mode, self.size = np.zeros((4, d))
        self.entries = np.zeros(d, dtype=int)
        self.low, self.high = np.full(d, -UNLIMITED), np.full(d, UNLIMITED)

    def limited(self, V):
        return np.clip(V, self.low, self.high)

    def add(self, V, before):
        if before == 0:
            self.mode = np.where(self.entries == 0, V[0] * self.offsets, self.mode)
            self.least, self.most = V[0], V[0]
        self.least, self.most = np.minimum(self.least, V.min(0)), np.maximum(self.most, V.max(0))
        for i in np.flatnonzero(self.entries < RARE_ENTRIES):  # what is known of few entries
            for size in abs(V[:, i] - self.mode[i]):
                if size > 0 and self.entries[i] < RARE_ENTRIES:
                    self.entries[i] += 1
                    if self.entries[i] > 1:
                        size = min(size, max(4 * self.size[i], self.high[i] - self.mean[i]))
                    self.size[i] += (size - self.size[i]) / self.entries[i]
        n, means = len(V), V.mean(axis=0)
        move = means - self.mean
        self.squares += ((V - means) ** 2).sum(axis=0) + move**2 * before * n / (before + n)
        self.mean = self.mean + move * n / (before + n)

    def restart(self, V):
        """The same of these rows alone."""
        self.mean, self.squares = np.zeros((2, V.shape[1]))
        self.add(V, 0)

    def variances(self, rows):
        if self.offsets:
            varied = self.squares > ROUNDING * rows * self.mean**2
            return np.where(varied, self.squares / rows, 0.0)
        return self.squares / rows + self.mean**2

    def reaches(self, rows):
        """The variance, or the square of a third of the largest distance where that is more."""
        mean, variances = self.mean * self.offsets, self.variances(rows)
        farthest = np.maximum(self.most - mean, mean - self.least) / OF_SIZE
        return np.where(variances > 0, np.maximum(variances, farthest**2), 0.0)

    def set_limits(self, rows, with_range):
        """√(t/4) deviations from the mean; in the beginning, where learning has no limits, all rows so far are within."""
        reach = np.sqrt(max(4.0, PART * rows) * self.squares / rows)
        reach = np.maximum(reach, OF_SIZE * self.size)
        least, most = (self.least, self.most) if with_range else (np.inf, -np.inf)
        reach = np.where((reach == 0) & (not with_range), UNLIMITED, reach)
        self.low = np.minimum(self.within, np.minimum(least, self.mean - reach))
        self.high = np.maximum(-self.within, np.maximum(most, self.mean + reach))

    def limits_of_kept(self, V):
        """No value counts more than a quarter of the squares of its column, and entries are whole up to thrice their median."""
        for i, v in enumerate(V.T):
            median = np.quantile(v, 0.5, method="lower") if self.offsets else 0.0
            a = np.sort(abs(v - median))[::-1]
            own = a[a > 0]
            self.mode[i], self.entries[i] = median, len(own)
            if len(own):
                self.size[i] = np.quantile(own, 0.5, method="lower")
            limit = max(largest_part(a), OF_SIZE * self.size[i]) or UNLIMITED
            self.low[i], self.high[i] = (min(self.within, median - limit), max(-self.within, median + limit))


def largest_part(a):
    """The largest L with L² ≤ ¼ Σ min(a², L²), from descending distances a."""
    for j in range(min(4, len(a))):
        L = np.sqrt((a[j:] ** 2).sum() / (1 / PART - j))
        if a[j] <= L:
            return L
    return 0.0


class Problem:
    """What one loss of C margins has learnt; ``learner`` has what all problems share."""

    def __init__(self, learner, C, loss, joint_classes):
        self.learner, self.C, self.loss, self.joint = learner, C, loss, loss == "softmax"
        self.degree = DEGREES.get(loss, 0)
        self.regression = self.degree > 0 or loss == "poisson"
        groups = [np.arange(C)] if joint_classes else [np.array([c]) for c in range(C)]
        self.groups = groups  # classes that share one matrix
        D, whole = learner.D, learner.whole
        self.G = np.zeros((len(learner.memories), C, D, C, D))
        self.r = np.zeros((len(learner.memories), C, D))
        self.x = np.zeros((whole, C, D))  # raw
        self.diagonal_x = np.zeros((len(learner.diagonals), C, D))  # about the centre
        self.diagonal_G = np.zeros((len(learner.diagonals), C, D))
        self.counts, self.level, self.units = np.zeros(max(C, 2)), np.zeros(2), np.zeros(2)
        self.margins = []  # of the rows held, at the candidates of their time
        self.read = []  # whether candidates that forget have read them
        self.wakes, self.decides, self.watched = 0, 0, (0.0, 0.0, 0.0)
        self.share = FixedShare(
            whole + len(learner.diagonals) + 1,
            C,
            len(learner.memories) > 1,
            len(learner.diagonals) > 0,
            len(learner.priors),
            lambda m: self.losses(m, self.y),
            self.quadratic_of_regression,
            self.regression,
        )

    # ---- losses -------------------------------------------------------------------------------------------------

    def losses(self, m, y):
        """Of margins (..., C)."""
        if self.joint:
            return softmax(m, y)[0]
        return LOSSES[self.loss](m[..., 0], y, self.scale)[0]

    @property
    def scale(self):
        """Of residuals; where all were 0, that of rounding."""
        if self.units[0] > 0:
            return np.sqrt(self.units[0] / self.units[1])
        level = self.constant()[0] if self.units[1] > 0 else 0.0
        return OF_LEVEL * abs(level) or 1.0

    @property
    def unit(self):
        """Of a row's loss; of counts their dispersion."""
        if self.loss == "poisson":
            return self.scale**2 / self.prior_unit
        return {0: 1.0, 1: self.scale, 2: self.scale**2}[self.degree]

    @property
    def prior_unit(self):
        """Of a row's curvature."""
        if self.loss == "poisson":
            return self.level[0] / self.level[1] if self.level[0] > 0 else 1.0
        return 1 / self.scale if self.degree == 1 else 1.0

    def quadratics(self, m, y, batch):
        """H (n, C, C) and Hm − g (n, C) of margins (n, C)."""
        if self.joint:
            p = softmax(m, y)[1]
            g = p - np.eye(self.C)[y.astype(int)]
            H = p[:, :, None] * np.eye(self.C) - p[:, :, None] * p[:, None, :]
            H = H + (0 if batch else DAMP) * g[:, :, None] * g[:, None, :]
            H += LEAST_CURVATURE * np.eye(self.C)
            for c in range(self.C):
                H[:, c, [e for group in self.groups if c not in group for e in group]] = 0
        else:
            _, g, h = LOSSES[self.loss](m[:, 0], y, self.scale)
            if self.loss == "log_loss":
                h = np.maximum(h, LEAST_CURVATURE) if batch else h + DAMP * g**2
            g, H = g[:, None], h[:, None, None]
        return H, np.einsum("nce,ne->nc", H, m) - g

    def quadratic_of_regression(self, m):
        _, g, h = LOSSES[self.loss](np.array(m), self.y, self.scale)
        return g, max(h, g * g) if self.loss == "log_loss" else h

    def constant(self):
        if not self.learner.intercept:
            return np.zeros(self.C)
        counts = self.counts + 0.5
        if self.joint:
            return np.log(counts * self.C / counts.sum())
        if self.loss == "log_loss":
            return np.log(counts[1:] / counts[:1])
        if not self.level[0] > 0:
            return np.zeros(1)
        ratio = self.level[1] / self.level[0]
        return np.array([-np.log(ratio) if self.loss == "poisson" else ratio])

    def find_level(self, y, weight):
        """The constant prediction: a mean, or by the quadratics of rows. All candidates start from the first target."""
        begins = self.level[0] == 0
        if self.loss == "poisson":
            self.level = self.level + weight * np.array([y, 1])
        else:
            m = y if begins else self.constant()[0]
            if not self.learner.intercept:
                m = y if begins else 0.0
            _, g, h = LOSSES[self.loss](np.array(m), y, self.scale)
            h, g = (h or 1.0, 0.0) if begins else (h, g)
            self.level = self.level + weight * np.array([h, h * m - g])
        if begins and self.learner.intercept and self.regression and self.level[0] > 0:
            d, centre = self.learner.d, self.learner.centre
            self.x[..., d] = self.constant() - self.x[..., :d] @ centre
            self.margins[-1] = np.tile(self.constant(), (self.learner.whole, 1))

    # ---- a row --------------------------------------------------------------------------------------------------

    def base(self, v):
        """The margins of all base candidates, (B, C), at a row in raw units."""
        solved = np.einsum("kcd,d->kc", self.x, v)
        diagonal = solved[self.leader(0)] + self.diagonal_x @ self.learner.about_centre(v)
        return np.concatenate([solved, diagonal, [self.constant()]])

    def predict(self, v):
        base = self.base(v)
        self.margins.append(base[: self.learner.whole])
        self.published = self.share.combine(base)
        if self.learner.l1:  # a mean of sparse weights is not sparse
            self.published = base[self.share.heaviest(self.learner.whole)]
        return self.published

    def learn(self, v, y, weight):
        t, unit, residual = self.learner.t + 1, 1.0, 0.0
        self.y = y
        if self.regression and self.level[0] > 0:
            mean = np.exp(self.published[0]) if self.loss == "poisson" else self.published[0]
            faded = 1 - RECENT / (t + RECENT)
            residual = mean - y
            self.units = faded * self.units + weight * np.array([(mean - y) ** 2, 1])
            unit = OF_SQUARES * self.unit if self.degree == 2 else self.unit
        self.published_loss = float(self.losses(np.reshape(self.published, (1, -1)), y)[0])
        self.read.append(not self.share.resting)
        self.share.learn(weight, unit, self.scale, t)
        self.diagonal_G *= np.reshape(self.learner.diagonals, (-1, 1, 1))
        if not self.share.resting and (not self.regression or self.level[0] > 0):
            self.step_diagonals(self.learner.about_centre(v), y, weight)
        if self.joint:
            self.counts[int(y)] += weight
        elif self.loss == "log_loss":
            self.counts[int(y > 0)] += weight
        else:
            self.find_level(y, weight)
        if self.share.may_rest:
            self.consider_rest(t, abs(residual) if self.loss == "poisson" else self.published_loss)

    def consider_rest(self, t, loss):
        """Candidates that forget rest where they weigh little, but for trials and while losses have risen."""
        mean, spread, lately = self.watched
        if not self.learner.begins and spread == 0:
            mean, spread, lately = loss, loss**2, loss
        elif not self.learner.begins:
            loss = min(loss, mean + EXTREME * np.sqrt(spread))
        lately += (loss - lately) / min(t, RECENT_ROWS)
        mean += (loss - mean) / min(t, LEVEL_ROWS)
        spread += ((loss - mean) ** 2 - spread) / min(t, LEVEL_ROWS)
        self.watched = mean, spread, lately
        if self.learner.begins:
            return
        if self.share.resting:
            if lately - mean > RISEN * np.sqrt(spread / (2 * RECENT_ROWS - 1)):
                self.wakes, self.decides = t, t + 2 * TRIAL
        elif t >= self.decides:
            self.decides = t + TRIAL
            if self.share.resting_part() < REST_BELOW:
                self.wakes, self.decides = t + CYCLE - TRIAL, t + CYCLE

    def step_diagonals(self, z, y, weight):
        """x ← x − 2g P z / (1 + (h' + 2h) zᵀPz), P = 1 / (λ-sums of h' z² + prior); rows without a slope are in no sum."""
        columns, first = self.learner, self.learner.whole
        for k, kept in enumerate(columns.diagonals):
            m = self.share.base[first + k]
            if self.joint:
                p = softmax(m, y)[1]
                g, h = p - np.eye(self.C)[int(y)], p * (1 - p)
            else:
                _, g, h = (np.reshape(n, 1) for n in LOSSES[self.loss](m[0], y, self.scale))
            own = h if self.regression else (g**2 + h) / 2
            squares = columns.variances
            if self.degree:
                squares = np.maximum(squares, columns.reaches * of_memory(kept))
            prior = np.full(columns.D, DIAGONAL_PRIOR)
            prior[: columns.d] = max(DIAGONAL_PRIOR, PER_D * columns.D) * squares
            there = prior > 0
            P = np.where(there, 1 / np.where(there, self.diagonal_G[k] + prior, 1), 0)
            q = P @ z**2
            f = 2 * weight * g / (1 + weight * (own + 2 * h) * q)
            self.diagonal_x[k] -= f[:, None] * P * z
            self.diagonal_G[k] += (f != 0)[:, None] * weight * own[:, None] * z**2 * there

    def shrink(self, factors):
        """Newton's method goes on from margins of the size that they had, where a feature's variance jumps."""
        d = self.learner.d
        less = self.x[..., :d] * (1 - factors)
        self.x[..., :d] -= less
        if self.learner.intercept:
            self.x[..., d] += less @ self.learner.centre

    def move(self, ratios, by):
        """Diagonal candidates keep their weights in units of reaches, then measure features from a centre that moves."""
        d = self.learner.d
        self.diagonal_x[..., :d] *= ratios
        self.diagonal_G[..., :d] /= ratios**2
        if self.learner.intercept:
            self.diagonal_x[..., d] += self.diagonal_x[..., :d] @ by

    # ---- solutions ----------------------------------------------------------------------------------------------

    def leader(self, memory):
        """The candidate at whose margins the rows of a memory are linearised."""
        priors = len(self.learner.priors)
        return self.share.leader(priors) if memory == 0 else priors + memory - 1

    def of_memory(self, memory):
        priors = len(self.learner.priors)
        return range(priors) if memory == 0 else [priors + memory - 1]

    def absorb(self, memory, V, m, y, weights, batch=False, anew=False, read=slice(None)):
        """Rows, the oldest first, join the sums of a memory, at the leading candidate's margins of m (n, candidates, C)."""
        V, m, y, weights = V[read], m[read], y[read], weights[read]
        kept = self.learner.memories[memory]
        H, f = self.quadratics(m[:, self.leader(memory)], y, batch)
        weights = weights * kept ** np.arange(len(V))[::-1]
        fade = 0.0 if anew else kept ** len(V)
        self.G[memory] = fade * self.G[memory] + np.einsum("n,nce,ni,nj->ciej", weights, H, V, V)
        self.r[memory] = fade * self.r[memory] + np.einsum("n,nc,ni->ci", weights, f, V)

    def prior(self, k, memory):
        """The ridge of each coordinate, and the point that it leads to, about the centre."""
        learner = self.learner
        epsilon, squares = learner.epsilons[k], learner.variances
        if memory > 0 and self.degree:
            squares = np.maximum(squares, learner.reaches * of_memory(learner.memories[memory]))
        if memory == 0 and epsilon >= WEAK:
            squares = np.maximum(squares, learner.reaches * RARE)
        ridge = np.full(learner.D, INTERCEPT_PRIOR)
        ridge[: learner.d] = epsilon * squares
        goal = np.zeros((self.C, learner.D))
        if memory > 0:
            goal += self.x[self.leader(0)]
        if learner.intercept:
            goal[:, learner.d] = self.constant()
        return ridge * self.prior_unit, goal

    def solved(self, k, memory):
        """The minimiser of candidate k, in raw coordinates."""
        learner, d, D = self.learner, self.learner.d, self.learner.D
        S = learner.to_centre()
        ridge, goal = self.prior(k, memory)
        mass = learner.mass[memory]
        there = np.append(learner.variances > 0, np.ones(int(learner.intercept), dtype=bool))
        unseen = np.where(
            there, 0.0, 1.0
        )  # a feature that has not varied has no part, but in a ball it is a coordinate
        there = there | (learner.domain[0] in ("l2", "l1", "simplex"))
        x = np.array(self.x[k])
        for group in self.groups:
            G = self.G[memory][np.ix_(group, range(D), group, range(D))]
            A = np.einsum("ai,ciej,bj->caeb", S, G, S)
            b = self.r[memory][group] @ S.T + ridge * goal[group]
            at = np.flatnonzero(np.tile(there, len(group)))
            n = D * len(group)
            l2 = np.append(np.full(d, learner.l2 * mass), [0.0] * learner.intercept)
            A = A.reshape(n, n) + np.diag(np.tile(ridge + l2 + unseen, len(group)))
            found = np.zeros(n)
            free = np.tile(np.arange(D) >= d, len(group))[at]
            l1 = np.where(free, 0.0, learner.l1 * mass)
            found[at] = minimum(A[np.ix_(at, at)], b.ravel()[at], l1, free, *learner.domain)
            x[group] = found.reshape(len(group), D) @ S
        return x

    def prior_value(self, x, k):
        """Half the squares that the prior and the penalty of the longest memory ask for, at a raw point."""
        learner, d = self.learner, self.learner.d
        ridge, goal = self.prior(k, 0)
        about = np.array(x)
        if learner.intercept:
            about[:, d] += x[:, :d] @ learner.columns.mean
        penalty = learner.l2 / 2 * (x[:, :d] ** 2).sum() + learner.l1 * abs(x[:, :d]).sum()
        return (ridge * (about - goal) ** 2).sum() / 2 + learner.mass[0] * penalty

    def improve(self, memory, V, y, weights, whole):
        """Each candidate of a memory moves to its minimiser, halved until the loss of these rows does not grow; ``whole``: they are
        all rows, and the prior is judged too. The decrease for the leading candidate."""
        gain, leader = 0.0, self.leader(memory)
        for k in self.of_memory(memory):
            move, step = self.solved(k, memory) - self.x[k], 1.0
            if self.loss != "squared_error" and len(V):

                def value(step, k=k, move=move):
                    x = self.x[k] + step * move
                    total = weights @ self.losses(V @ x.T, y)
                    return total + (self.prior_value(x, k) if whole else 0.0)

                before = value(0.0)
                slack = 0.0 if whole else SLACK * weights.sum() * self.unit
                while not value(step) <= before + slack + OF_OBJECTIVE * abs(before):
                    step *= 0.5
                    if step < LEAST_STEP:
                        step = 0.0
                        break
                if k == leader and step:
                    gain = before - value(step)
            self.x[k] += step * move
        return gain

    def refit(self, V, y, weights):
        """Newton's method on all rows kept."""
        for _ in range(STEPS):
            m = np.einsum("kcd,nd->nkc", self.x, V)
            self.absorb(0, V, m, y, weights, batch=True, anew=True)
            gain = self.improve(0, V, y, weights, whole=True)
            if self.loss == "squared_error" or not gain > SETTLED * self.unit:
                break

    def begin_memory(self, memory, V, y, weights):
        """The sums of a memory that forgets from all rows kept, at the point of the leading candidate."""
        self.x[self.leader(memory)] = self.x[self.leader(0)]
        m = np.einsum("kcd,nd->nkc", self.x, V)
        self.absorb(memory, V, m, y, weights, batch=True, anew=True)

    def weights(self):
        """What is published, in raw units."""
        S, centre = self.learner.to_centre(), self.constant()
        diagonal = self.diagonal_x @ S + self.x[self.leader(0)]
        constant = np.zeros((1, self.C, self.learner.D))
        if self.learner.intercept:
            constant[0, :, self.learner.d] = centre
        if self.learner.l1:
            return self.x[self.share.heaviest(self.learner.whole)]
        return np.tensordot(self.share.shares(), np.concatenate([self.x, diagonal, constant]), 1)


def of_memory(kept):
    return 9 / max(4.0, PART / (1 - kept))


def minimum(A, b, l1, free, domain, radius):
    """The minimiser of ½ xᵀAx − bᵀx + Σ l1_i |x_i| over the domain, which does not concern the free coordinates."""
    x = np.linalg.solve(A, b)
    if domain in ("l2", "l1", "simplex"):  # free ones, which come last, follow
        return project(x, np.linalg.inv(A), domain, radius, len(x) - free.sum())
    low, high = {"box": (-radius, radius), "nonnegative": (0, np.inf)}.get(domain, (-np.inf, np.inf))
    low, high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
    if not l1.any() and ((low <= x) & (x <= high)).all():
        return x
    for _ in range(20_000):  # by coordinates
        before = x.copy()
        for i in range(len(x)):
            goal = x[i] + (b[i] - A[i] @ x) / A[i, i]
            goal = np.sign(goal) * max(abs(goal) - l1[i] / A[i, i], 0)
            x[i] = min(max(goal, low[i]), high[i])
        if abs(x - before).max() <= 1e-13 * abs(x).max():
            break
    return x


class Learner:
    """All problems of a model; the rows that are held are those of the beginning, later those of the current block."""

    def __init__(self, d, problems, loss, C=1, *, targets=0, fit_intercept=True, priors=(), memories=(1.0,), diagonals=(),
                 coupled=True, alpha=0.0, l1_ratio=0.0, domain=None, radius=1.0):  # fmt: skip
        self.d, self.D, self.intercept = d, d + fit_intercept, bool(fit_intercept)
        self.priors, self.memories, self.diagonals = priors, memories, diagonals
        self.fraction = JOINT_FRACTION if loss == "softmax" else FRACTION
        self.whole = len(priors) + len(memories) - 1
        short = max(SHORT_PRIOR, PER_D_SHORT * self.D)
        self.epsilons = [*priors, *[short] * (len(memories) - 1)]
        self.l2, self.l1 = alpha * (1 - l1_ratio), alpha * l1_ratio
        self.domain = domain, radius
        self.t, self.begins, self.anew = 0, True, 1
        self.columns, self.targets = (Columns(d, self.intercept), Columns(targets, True, targets=True))
        self.variances, self.reaches, self.centre = np.zeros((3, d))
        self.mass, self.due = np.zeros(len(memories)), np.ones(len(memories))
        self.absorbed = np.zeros(len(memories), dtype=int)
        self.held, self.held_y, self.held_weights = [], [], []
        self.problems = [Problem(self, C, loss, coupled) for _ in range(problems)]

    def to_centre(self):
        """S: z about the centre is S (row, 1), and raw weights are x S."""
        S = np.eye(self.D)
        if self.intercept:
            S[: self.d, self.d] = -self.centre
        return S

    def about_centre(self, v):
        return self.to_centre() @ v

    def with_one(self, V):
        return np.hstack([V, np.ones((len(V), 1))]) if self.intercept else np.array(V)

    def y_of(self, problem, Y):
        """Targets of a problem; those of a regression within their limits."""
        Y = np.asarray(Y)
        return self.targets.limited(Y)[..., problem] if self.targets.mean.size else Y[..., problem]

    def wake(self):
        """Weak priors take part from so many rows a weight on."""
        every, strong = len(self.priors) == 1 or self.l1 > 0, np.array(self.priors) >= WEAK
        for problem in self.problems:
            share, n = problem.share, len(self.priors)
            share.active[:n] = every | strong | (self.t >= ROWS_PER_WEIGHT * self.D)
            share.resting = self.t < problem.wakes

    def play(self, row, y, weight=1.0):
        """The margins that are published for a row, before it is learnt from."""
        limited = self.columns.limited(row)
        v = self.with_one(limited[None])[0]
        self.wake()
        margins = np.concatenate([problem.predict(v) for problem in self.problems])
        for p, problem in enumerate(self.problems):
            problem.learn(v, self.y_of(p, y), weight)
        learnt_y = y if self.begins or not self.targets.mean.size else self.targets.limited(y)
        self.held.append(row if self.begins else limited)
        self.held_y.append(learnt_y)
        self.held_weights.append(weight)
        self.t += 1
        beyond = self.begins and np.any(limited != row)
        if self.t >= self.due[0] or beyond:
            self.absorb_all()
        else:
            for l in range(1, len(self.memories)):
                if self.t >= self.due[l]:
                    first = self.absorbed[l]
                    self.absorb(l)
                    self.improve(l, first=len(self.held) if first == len(self.held) else first)
                    self.settle(l)
        return margins

    def rows(self, first):
        V = self.with_one(np.array(self.held[first:]).reshape(-1, self.d))
        return V, np.array(self.held_y[first:]), np.array(self.held_weights[first:])

    def absorb(self, l):
        first = self.absorbed[l]
        V, Y, weights = self.rows(first)
        ages = np.arange(len(V))[::-1]
        self.mass[l] = self.mass[l] * self.memories[l] ** len(V) + (self.memories[l] ** ages).sum()
        for p, problem in enumerate(self.problems):
            read = np.array(problem.read[first:], dtype=bool) if l else slice(None)
            problem.absorb(l, V, np.array(problem.margins[first:]), self.y_of(p, Y), weights, read=read)

    def improve(self, l, first=None, whole=False):
        first = self.absorbed[l] if first is None else first
        V, Y, weights = self.rows(first)
        for p, problem in enumerate(self.problems):
            if l and len(V) and not any(problem.read[first:]):
                continue
            problem.improve(l, V, self.y_of(p, Y), weights, whole)

    def settle(self, l):
        self.absorbed[l] = len(self.held)
        rows = 1 / (1 - self.memories[l]) if self.memories[l] < 1 else self.t
        begins = self.begins and self.fraction == FRACTION
        block = int(min(self.t, rows) / self.fraction * (1 + self.t / KEPT if begins else 1))
        block = max(block, self.D // PER_BLOCK, self.D // 2 if l else 1)
        self.due[l] = self.t + max(1, min(block, MOST))

    def absorb_all(self):
        """The end of a block of the longest memory."""
        ends = self.begins and len(self.held) >= KEPT
        for l in range(len(self.memories)):
            self.absorb(l)
        self.describe()
        fits = self.begins and (ends or self.t >= self.anew)
        if ends:
            self.columns.limits_of_kept(np.array(self.held))
            self.held = list(self.columns.limited(np.array(self.held)))
            self.columns.restart(np.array(self.held))
            self.know()
            if self.targets.mean.size:
                self.targets.limits_of_kept(np.array(self.held_y))
                self.held_y = list(self.targets.limited(np.array(self.held_y)))
                self.targets.restart(np.array(self.held_y))
        if fits:
            V, Y, weights = self.rows(0)
            for p, problem in enumerate(self.problems):
                problem.refit(V, self.y_of(p, Y), weights)
            if ends:
                for l in range(1, len(self.memories)):
                    self.mass[l] = (self.memories[l] ** np.arange(len(V))).sum()
                    for p, problem in enumerate(self.problems):
                        problem.begin_memory(l, V, self.y_of(p, Y), weights)
            self.anew = np.ceil(GROWTH * self.t)
        for l in range(int(fits), len(self.memories)):
            whole = self.begins and l == 0
            self.improve(l, first=0 if whole else None, whole=whole)
        if ends or not self.begins:
            self.begins, self.held, self.held_y, self.held_weights = False, [], [], []
            for problem in self.problems:
                problem.margins, problem.read = [], []
        for l in range(len(self.memories)):
            self.settle(l)

    def describe(self):
        new = len(self.held) - self.absorbed[0]
        self.columns.add(np.array(self.held[-new:]), self.t - new)
        self.columns.set_limits(self.t, with_range=self.begins)
        if self.targets.mean.size:
            self.targets.add(np.array(self.held_y[-new:]), self.t - new)
            if self.begins:
                self.targets.limits_of_kept(np.array(self.held_y))
            else:
                self.targets.set_limits(self.t, with_range=False)
        self.know()

    def know(self):
        """Variances and the centre as they are now."""
        before, old, self.variances = self.reaches, self.variances, self.columns.variances(self.t)
        self.reaches = self.columns.reaches(self.t)
        both = (before > 0) & (self.reaches > before)
        ratios = np.sqrt(np.where(both, before, 1) / np.where(both, self.reaches, 1))
        centre = self.columns.mean if self.intercept else np.zeros(self.d)
        jumped = (old > 0) & (self.variances > JUMP * old)
        kept = np.sqrt(np.where(jumped, old, 1) / np.where(jumped, self.variances, 1))
        for problem in self.problems:
            problem.shrink(kept)
            problem.move(ratios, centre - self.centre)
        self.centre = centre.copy()

    def weights(self):
        self.wake()
        return np.concatenate([problem.weights() for problem in self.problems])


def information(
    Z, y, *, loss, n_classes=0, sample_weight=None, fit_intercept=True, epsilon=None, half_life="auto", **params
):
    """A learner that has read all rows, and the margins that it published before each (those of weight 0 are no rows).

    ``y`` are labels −1 and 1, class numbers of ``n_classes``, or targets (n,) or (n, outputs).
    """
    joint, regression = loss == "softmax", loss in DEGREES or loss == "poisson"
    targets = np.asarray(y, dtype=float).reshape(len(Z), -1)
    if n_classes and not joint:
        targets = np.where(targets == np.arange(n_classes), 1.0, -1.0)
    memories = (MEMORIES[:1] if joint else MEMORIES) if half_life == "auto" else (0.5 ** (1 / (half_life or np.inf)),)
    diagonals = (DIAGONAL_MEMORIES[:1] if joint else DIAGONAL_MEMORIES) if half_life == "auto" else ()
    zeros = params.get("alpha") and params.get("l1_ratio")
    diagonals = () if params.get("domain") or zeros or loss == "poisson" else diagonals
    auto = (PENALISED_JOINT_PRIORS if params.get("alpha") else JOINT_PRIORS) if joint else PRIORS
    priors = auto if epsilon is None else (epsilon,)
    outputs = targets.shape[1]
    shapes = {"problems": outputs, "C": n_classes if joint else 1, "targets": outputs if regression else 0}
    choice = {"priors": priors, "memories": memories, "diagonals": diagonals}
    learner = Learner(Z.shape[1], loss=loss, fit_intercept=fit_intercept, **shapes, **choice, **params)
    weights = np.ones(len(Z)) if sample_weight is None else sample_weight
    played = np.flatnonzero(weights > 0)
    margins = [learner.play(Z[i], targets[i], weights[i]) for i in played]
    return learner, np.array(margins)
