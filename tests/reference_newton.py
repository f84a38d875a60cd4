"""Newton steps in units of their own, in slow NumPy: eta="auto" where the structure is full.

Values of a column are kept, so that centre and ridge are worked out from their definitions.
"""

import numpy as np
from reference import LOSSES
from reference_auto import DEGREES, PARAMETERS, STEEP, Residuals, softmax_of
from reference_committee import Committee
from reference_domains import project

RIDGE_OF_INTERCEPT = 0.1


class NewtonLane:
    """One weight vector on centred rows, in raw units; P is the inverse of G, or of its diagonal."""

    def __init__(self, D, d, kept, epsilon, whole, eta=2.0):
        self.x, self.mean = np.zeros(D), np.zeros(D)
        self.P = np.zeros((D, D))
        self.P[d:, d:] = 1 / RIDGE_OF_INTERCEPT
        self.d, self.kept, self.epsilon, self.whole, self.eta = d, kept, epsilon, whole, eta
        self.subgradient = np.zeros(D)  # of ‖x‖₁, a mean over the rounds, the last counting most

    def move_centre(self, i, by):
        """z_i is now measured from c_i + by; the intercept makes up for it."""
        T = np.eye(len(self.x))
        T[-1, i] = by
        self.x, self.mean = T @ self.x, T @ self.mean
        if self.whole:
            self.P = T @ self.P @ T.T

    def raise_ridge(self, i, by):
        """A pseudo-row e_i of weight ``by`` and target 0."""
        column = self.P[i] / (1 + by * self.P[i, i])
        self.x, self.mean = (v - by * v[i] * column for v in (self.x, self.mean))
        self.P = self.P - by * np.outer(column, self.P[i])

    @property
    def G(self):
        """The inverse of P, in the coordinates that are in it."""
        seen = np.ix_(*2 * [np.flatnonzero(np.diag(self.P))])
        G = np.zeros_like(self.P)
        G[seen] = np.linalg.inv(self.P[seen])
        return G

    def shrink(self, i, by, eta):
        """An L2 penalty along e_i, which enters P and steps as a row with this curvature does."""
        q = by * self.P[i, i]
        self.x = self.x - eta * by * self.x[i] / (1 + (1 + eta) * q) * self.P[i]
        self.P = self.P - by / (1 + q) * np.outer(self.P[i], self.P[i])

    def threshold(self, i, by, memory):
        """argmin by·|x_i| + ½ ‖x − x_t‖² in the norm of P⁻¹."""
        taken = np.clip(self.x[i] / self.P[i, i], -by, by)
        self.x = self.x - taken * self.P[i]
        self.subgradient[i] += memory * (taken / by - self.subgradient[i])

    def step(self, z, slope, curvature, omega, eta, steep):
        u, square = self.P @ z, slope**2
        q = z @ u
        w = curvature if steep and curvature > 0 else (square + curvature) / 2
        entering = w
        if not steep and curvature > 0:
            entering = (min(square, 1000 * curvature) + curvature) / 2
        self.enter(z, entering * omega)
        return -eta * omega * slope / (1 + omega * (w + eta * curvature) * q) * u

    def enter(self, z, w):
        """G takes w z zᵀ."""
        if self.whole:
            u = self.P @ z
            self.P = self.P - w / (1 + w * (z @ u)) * np.outer(u, u)
        else:
            p = np.diag(self.P)
            self.P = np.diag(p / (1 + w * z**2 * p))

    def forget(self, t, entered, ridges):
        """G ← λG + (1 − λ)G_0; of a matrix the prior comes back in turns."""
        priors = [(i, self.epsilon * ridges[i]) for i in entered]
        priors += [(i, RIDGE_OF_INTERCEPT) for i in range(self.d, len(self.x))]
        many, lost = len(priors), 1 - self.kept
        self.P = self.P / self.kept
        turns = int(np.ceil(many * lost)) if self.whole else many
        for j in range(turns):
            i, prior = priors[(t * turns + j) % many]
            by = lost * many / turns * prior
            column = self.P[i].copy()
            self.P = self.P - by / (1 + by * column[i]) * np.outer(column, column)


class Columns:
    """What a feature is measured from and what its ridge is, from the rows in which it is not 0."""

    def __init__(self, d, centring):
        self.centring, self.t = centring, 0
        self.centre, self.ridge = np.zeros(d), np.zeros(d)
        self.values, self.distances = [[] for _ in range(d)], [[] for _ in range(d)]
        self.limit = np.zeros(d)
        self.entered = []  # features that have a ridge, in the order in which they got it

    def centred(self, z, lanes):
        """The row from its centres, which move first to where the rows before it say."""
        for i in range(len(z)):
            if self.centring and (z[i] != 0 or self.centre[i] != 0):
                by = z[i] if self.t == 0 else self.mean_shift(i)
                self.centre[i] += by
                if by and self.ridge[i] > 0:
                    for lane in lanes:
                        lane.move_centre(i, by)
        self.t += 1
        return z - self.centre

    def mean_shift(self, i):
        zeros = self.t - len(self.values[i])
        if 2 * len(self.values[i]) <= self.t:
            return -self.centre[i]
        away = np.concatenate([self.values[i], np.zeros(zeros)]) - self.centre[i]
        return away.mean() if 11 * away.sum() ** 2 > self.t * (away**2).sum() else 0.0

    def measure(self, z, zc, lanes):
        """Take the row in; its centred form as it is learnt from."""
        far = 1.0
        for i in np.flatnonzero(z):
            varied = [abs(v) for v in self.distances[i] if v != 0]
            if varied:
                mean = np.mean(varied)
                self.limit[i] *= 63 / 64 * (63 / 64 * self.limit[i] > 1000 * mean)
                limit = max(1000 * mean, self.limit[i])
                if abs(zc[i]) > limit:
                    far = max(far, abs(zc[i]) / mean)
                    self.limit[i] = min(16 * limit, abs(zc[i]))
        for i in np.flatnonzero(z):
            self.distances[i].append(zc[i] / far)
            self.values[i].append(self.centre[i] + zc[i] / far)
        for i in [*np.flatnonzero(z), *np.flatnonzero((z == 0) & (self.centre != 0))]:
            self.renew_ridge(i, lanes)
        return zc / far

    def renew_ridge(self, i, lanes):
        """ε times root mean square times largest, renewed when that has grown by 1.2²."""
        values, base = np.array(self.values[i]), 0.0
        if self.centring and 2 * len(values) > self.t:
            base = max(values.min(), 0.0) + min(values.max(), 0.0)
            values = np.concatenate([values, np.zeros(self.t - len(values))])
        square = np.sqrt(np.mean((values - base) ** 2)) * np.abs(values - base).max()
        if square <= 1.2**2 * self.ridge[i]:
            return
        if self.ridge[i] == 0:
            self.entered.append(i)
        for lane in lanes:
            if self.ridge[i] == 0:
                lane.P[i, i] = 1 / (lane.epsilon * square)
            else:
                lane.raise_ridge(i, lane.epsilon * (square - self.ridge[i]))
        self.ridge[i] = square


def loss_in_units(loss, margin, y, own):
    """The loss at a margin, whose parameters are in the unit of the residuals."""
    if not own.degree:
        return LOSSES[loss](margin, y, PARAMETERS)[0]
    return LOSSES[loss]((margin - y) / own.rho, 0.0, PARAMETERS)[0] * own.rho**own.degree


def confined(c, domain, radius):
    """A combination that a regression led out of the domain: balls scale it, intervals clip it."""
    if domain in ("l1", "l2"):
        return c / max(np.linalg.norm(c, 1 if domain == "l1" else 2) / radius, 1.0)
    low = {"box": -(radius or 0), "nonnegative": 0.0}.get(domain, -np.inf)
    return np.clip(c, low, radius if domain == "box" else np.inf)


def lasso(G, s, p, w):
    """argmin ½ (x − w)'G(x − w) − s·(x − w) + Σ p|x|, from its subgradients: coordinates to and fro."""
    x = w.copy()
    for _ in range(10_000):
        before = x.copy()
        for i in np.flatnonzero(np.diag(G) > 0):
            r = s[i] - G[i] @ (x - w)
            u = x[i] + r / G[i, i]
            x[i] = np.sign(u) * max(abs(u) - p[i] / G[i, i], 0.0)
        if np.max(np.abs(x - before)) <= 1e-15 * np.max(np.abs(x)):
            break
    return x


def newton(
    Z,
    y,
    *,
    loss="log_loss",
    members=((1.0, 0.5, True),),
    average=10.0,
    fit_intercept=True,
    sample_weight=None,
    n_classes=None,
    alpha=0.0,
    l1_ratio=0.0,
    domain=None,
    radius=None,
    as_published=False,
    zeros=False,
):
    """One pass; ``n_classes`` for softmax. (K, D) weights and the progressive loss.

    Members are (λ, ε, whether they keep the matrix). Several make a committee, and the loss is that of
    what it would publish. The L2 penalty is a pseudo-row along one coordinate a round, of as many times
    its weight as there are; what a step leads to is projected in the norm of P⁻¹. ``as_published``: the
    loss of a row is that of the model before it, which does not know the row's part in the offset.
    """
    Z = np.asarray(Z, dtype=float)
    d = Z.shape[1]
    D, K = d + fit_intercept, n_classes or 1
    omega = np.ones(len(Z)) if sample_weight is None else sample_weight
    gamma = 0.0 if isinstance(average, bool) else average
    lanes = [NewtonLane(D, d, *member) for member in members for _ in range(K)]
    shifted = loss in (*DEGREES, "poisson") and fit_intercept
    residuals = [Residuals(loss, shifted) for _ in lanes]
    own = Residuals(loss, shifted)  # of the combination
    committee = None
    if len(members) > 1:
        steady = [r for r, (kept, *_) in enumerate(members) if kept == 1]
        committee = Committee(
            loss, steady, len(members), K, l1=alpha * l1_ratio, l2=alpha * (1 - l1_ratio)
        )
    columns = Columns(d, centring=fit_intercept)
    forgets = any(kept < 1 for kept, *_ in members)
    t, C, total = 0, 0.0, 0.0
    for row in np.flatnonzero(omega > 0):
        t, w = t + 1, omega[row]
        C += t**gamma
        offset = own.offset
        for each in (own, *residuals):
            each.meet(y[row])
        zc = columns.centred(Z[row], lanes)
        full = np.append(zc, 1.0)[:D]
        iterates = np.array([lane.x @ full for lane in lanes]).reshape(-1, K)
        averages = np.array([lane.mean @ full for lane in lanes]).reshape(-1, K)
        z = np.append(columns.measure(Z[row], zc, lanes), 1.0)[:D]
        margins = np.array([lane.x @ z for lane in lanes])
        if n_classes:
            hit = np.eye(K)[int(y[row])]
            p = np.concatenate([softmax_of(m) for m in margins.reshape(-1, K)])
            hits = np.tile(hit, len(members))
            value, slopes, curvatures = -np.log(p[:K] @ hit), p - hits, p * (1 - p)
        else:
            answers = [of.suffer(m, y[row], w) for of, m in zip(residuals, margins, strict=True)]
            (value, *_), slopes = answers[0], [slope for _, slope, _ in answers]
            curvatures = [curvature for *_, curvature in answers]
        if committee:
            shown = iterates if average is False else averages
            combined = committee.margins(shown, iterates)
            resting = committee.resting([epsilon for _, epsilon, *_ in members])
            if n_classes:
                value = -np.log(softmax_of(combined)[int(y[row])])
            else:
                value, *_ = own.suffer(combined[0], y[row], w)
                if own.offset != offset and as_published:  # which the model did not know before
                    value = loss_in_units(loss, combined[0] + offset, y[row], own)
            committee.judge(shown, iterates, y[row], w, own, t)
        total += w * value
        for number, (lane, of, slope, curvature) in enumerate(
            zip(lanes, residuals, slopes, curvatures, strict=True)
        ):
            if average is not False and lane.kept == 1:
                lane.mean = lane.mean + t**gamma / C * (lane.x - lane.mean)
            if committee and number // K in resting:
                continue
            if np.any(slopes) or forgets:
                step = lane.step(z, slope, curvature, w, lane.eta, loss in STEEP)
                lane.x = lane.x + of.rho * step
                H = lane.P + np.diag(1.0 * (np.diag(lane.P) == 0))
                lane.x = project(lane.x, H, domain, radius, d)
            if alpha and columns.entered:
                many = len(columns.entered)
                i, charge = columns.entered[t % many], alpha * many * of.rho / of.gradient_unit
                lane.shrink(i, (1 - l1_ratio) * charge, lane.eta)
                if l1_ratio:
                    memory = min(1.0, many * max((gamma + 1) / t, 1 - lane.kept))
                    lane.threshold(i, lane.eta * l1_ratio * charge, memory)
            if lane.kept < 1:
                lane.forget(t, columns.entered, columns.ridge)
        if committee and alpha:
            coefs = [np.array([lane.x[:d] for lane in lanes]).reshape(-1, K, d)] * 2
            if average is not False:
                coefs[0] = np.array([lane.mean[:d] for lane in lanes]).reshape(-1, K, d)
            committee.take_weights(*coefs, t)
    iterates = np.array([lane.x for lane in lanes]).reshape(-1, K, D)
    averages = np.array([lane.mean for lane in lanes]).reshape(-1, K, D)
    if average is False:
        averages = iterates
    weights = averages[0] if committee is None else committee.combine(averages, iterates)
    if zeros:  # of the members' quadratics, each with what it counts
        shares = np.ones(1) if committee is None else committee.shares()
        rounds = [t if lane.kept == 1 else (1 - lane.kept**t) / (1 - lane.kept) for lane in lanes]
        for k in range(K):
            own_lanes, of = lanes[k::K], residuals[k::K]
            unit = shares @ [each.rho / each.gradient_unit for each in of]
            due = np.where(np.arange(D) < d, alpha * l1_ratio * unit, 0.0)
            G = [lane.G / n for lane, n in zip(own_lanes, rounds[k::K], strict=True)]
            weights[k] = lasso(
                np.tensordot(shares, G, 1),
                due * (shares @ [lane.subgradient for lane in own_lanes]),
                due,
                weights[k],
            )
    if fit_intercept:
        weights[:, d] += own.offset - weights[:, :d] @ columns.centre
    if committee is not None:
        for w in weights:
            w[:d] = confined(w[:d], domain, radius)
    return weights, total / omega.sum()
