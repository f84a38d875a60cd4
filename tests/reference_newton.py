"""Newton steps in units of their own, in slow NumPy: eta="auto" where the structure is full.

Values of a column are kept, so that centre and ridge are worked out from their definitions.
"""

import numpy as np
from reference import LOSSES, project
from reference_auto import DEGREES, PARAMETERS, STEEP, Residuals, softmax_of


class NewtonLane:
    """One weight vector on centred rows, in raw units; P is the inverse of G."""

    def __init__(self, D, d, ridge_of_intercept):
        self.x, self.mean = np.zeros(D), np.zeros(D)
        self.P = np.zeros((D, D))
        self.P[d:, d:] = 1 / ridge_of_intercept
        self.subgradient = np.zeros(
            D
        )  # of ‖x‖₁, a mean over the rounds, the last ones counting most

    @property
    def G(self):
        """The inverse of P, in the coordinates that are in it."""
        seen = np.ix_(*2 * [np.flatnonzero(np.diag(self.P))])
        G = np.zeros_like(self.P)
        G[seen] = np.linalg.inv(self.P[seen])
        return G

    def move_centre(self, i, by):
        """z_i is now measured from c_i + by; the intercept makes up for it."""
        T = np.eye(len(self.x))
        T[-1, i] = by
        self.P = T @ self.P @ T.T
        self.x, self.mean = T @ self.x, T @ self.mean

    def raise_ridge(self, i, by):
        """A pseudo-row e_i of weight ``by`` and target 0."""
        column = self.P[i] / (1 + by * self.P[i, i])
        self.x, self.mean = (v - by * v[i] * column for v in (self.x, self.mean))
        self.P = self.P - by * np.outer(column, self.P[i])

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
        entering *= omega
        self.P = self.P - entering / (1 + entering * q) * np.outer(u, u)
        return -eta * omega * slope / (1 + omega * (w + eta * curvature) * q) * u


class Columns:
    """What a feature is measured from and what its ridge is, from the rows in which it is not 0."""

    def __init__(self, d, centring):
        self.centre, self.ridge = np.zeros(d), np.zeros(d)
        self.never_zero = np.full(d, centring)
        self.values = [[] for _ in range(d)]
        self.biggest = np.zeros(d)
        self.entered = []  # features that have a ridge, in the order in which they got it

    def take(self, z, lanes, epsilons):
        for i, value in enumerate(z):
            if value == 0:
                self.never_zero[i] = False
            else:
                self.values[i].append(value)
            centre = self.nearest_to_zero(i)
            if centre != self.centre[i]:
                for lane in lanes:
                    lane.move_centre(i, centre - self.centre[i])
                self.centre[i] = centre
        for i, value in enumerate(z):
            if value not in (0, self.centre[i]):
                self.renew_ridge(i, value, lanes, epsilons)
        return np.where(z != 0, z - self.centre, 0.0)

    def nearest_to_zero(self, i):
        values = self.values[i]
        if not self.never_zero[i] or min(values) < 0 < max(values):
            self.never_zero[i] = False
            return 0.0
        return min(values, key=abs)

    def renew_ridge(self, i, value, lanes, epsilons):
        """ε times root mean square times largest, renewed when that has grown by 1.2²."""
        values = np.array(self.values[i]) - self.centre[i]
        self.biggest[i] = max(self.biggest[i], abs(value - self.centre[i]))
        square = np.sqrt(np.mean(values**2)) * self.biggest[i]
        if square <= 1.2**2 * self.ridge[i]:
            return
        if self.ridge[i] == 0:
            self.entered.append(i)
        for lane, epsilon in zip(lanes, epsilons, strict=True):
            if self.ridge[i] == 0:
                lane.P[i, i] = 1 / (epsilon * square)
            else:
                lane.raise_ridge(i, epsilon * (square - self.ridge[i]))
        self.ridge[i] = square


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


def share_of(losses):
    p = np.exp(min(losses) - np.array(losses))
    return p / p.sum()


class Judge:
    """A member's loss at the margin that it would publish; a regression loss in units of its mean.

    Under a log link it is the loss above that of the best margin. No row counts more than 10.
    """

    def __init__(self, loss, members):
        self.loss, self.losses = loss, [0.0] * members
        self.total = self.weight = 0.0

    def loss_at(self, margin, y, residuals):
        if self.loss == "poisson":
            m = residuals.offset + np.clip(margin, -15, 15) if residuals.shifted else margin
            least = y - y * np.log(y) if y > 0 else 0.0
            return max(0.0, LOSSES[self.loss](m, y, PARAMETERS)[0] - least)
        if not residuals.degree:
            return LOSSES[self.loss](margin, y, PARAMETERS)[0]
        r = (margin + residuals.offset - y) / residuals.rho
        return LOSSES[self.loss](r, 0.0, PARAMETERS)[0] * residuals.rho**residuals.degree

    def add(self, margins, combined, y, omega, residuals):
        unit = 1.0
        self.weight += omega
        if residuals.degree or self.loss == "poisson":
            self.total += omega * self.loss_at(combined, y, residuals)
            unit = self.total / self.weight
        for r, margin in enumerate(margins):
            if unit > 0:
                self.losses[r] += omega * min(10.0, self.loss_at(margin, y, residuals) / unit)


def newton(
    Z,
    y,
    *,
    loss="log_loss",
    eta=2.0,
    epsilon=0.5,
    average=10.0,
    fit_intercept=True,
    sample_weight=None,
    n_classes=None,
    alpha=0.0,
    l1_ratio=0.0,
    domain=None,
    radius=None,
    zeros=False,
):
    """One pass; ``n_classes`` for softmax. (K, D) weights and the progressive loss.

    Several ``epsilon`` make a committee, and the loss is that of what it would publish. The penalty
    is that of one coordinate a round, as many times as there are: L2 a pseudo-row along it, L1 a
    prox in the norm of P⁻¹. What a step leads to is projected in that norm. ``zeros`` restores those
    of the L1 penalty where the average is published.
    """
    Z = np.asarray(Z, dtype=float)
    d = Z.shape[1]
    D, K = d + fit_intercept, n_classes or 1
    omega = np.ones(len(Z)) if sample_weight is None else sample_weight
    gamma = 0.0 if isinstance(average, bool) else average
    epsilons = np.repeat(np.atleast_1d(epsilon), K)
    committee = len(epsilons) > K
    lanes = [NewtonLane(D, d, ridge_of_intercept=0.1) for _ in epsilons]
    shifted = loss in (*DEGREES, "poisson") and fit_intercept
    residuals = [Residuals(loss, shifted) for _ in lanes]
    own, judge = Residuals(loss, shifted), Judge(loss, len(lanes))  # of the combination
    columns = Columns(d, centring=fit_intercept)
    t, C, total = 0, 0.0, 0.0
    for row in np.flatnonzero(omega > 0):
        t, w = t + 1, omega[row]
        C += t**gamma
        for each in (own, *residuals):
            each.meet(y[row])
        z = np.append(columns.take(Z[row], lanes, epsilons), 1.0)[:D]
        margins = np.array([lane.x @ z for lane in lanes])
        if n_classes:
            p, hit = softmax_of(margins), np.eye(K)[int(y[row])]
            value, slopes, curvatures = -np.log(p @ hit), p - hit, p * (1 - p)
        else:
            answers = [of.suffer(m, y[row], w) for of, m in zip(residuals, margins, strict=True)]
            (value, *_), slopes = answers[0], [slope for _, slope, _ in answers]
            curvatures = [curvature for *_, curvature in answers]
        if committee:
            shown = margins if average is False else np.array([lane.mean @ z for lane in lanes])
            combined = share_of(judge.losses) @ shown
            value, *_ = own.suffer(combined, y[row], w)
            judge.add(shown, combined, y[row], w, own)
        total += w * value
        for lane, of, slope, curvature in zip(
            lanes, residuals * (K if n_classes else 1), slopes, curvatures, strict=False
        ):
            lane.mean = lane.mean + t**gamma / C * (lane.x - lane.mean)
            if np.any(slopes):
                step = lane.step(z, slope, curvature, w, eta, loss in STEEP)
                lane.x = lane.x + of.rho * step
                H = lane.P + np.diag(1.0 * (np.diag(lane.P) == 0))
                lane.x = project(lane.x, H, domain, radius, d)
            if alpha and columns.entered:
                many = len(columns.entered)
                i = columns.entered[t % many]
                charge = alpha * many * of.rho / of.gradient_unit
                lane.shrink(i, (1 - l1_ratio) * charge, eta)
                if l1_ratio:
                    memory = min(1.0, (gamma + 1) * many / t)
                    lane.threshold(i, eta * l1_ratio * charge, memory)
    weights = np.array([lane.x if average is False else lane.mean for lane in lanes])
    shares = share_of(judge.losses)[None] if committee else np.eye(K)
    weights = shares @ weights
    if zeros:
        for k, share in enumerate(shares):
            unit = share @ [of.rho / of.gradient_unit for of in residuals]
            due = np.where(np.arange(D) < d, t * alpha * l1_ratio * unit, 0.0)
            weights[k] = lasso(
                np.tensordot(share, [lane.G for lane in lanes], 1),
                due * (share @ [lane.subgradient for lane in lanes]),
                due,
                weights[k],
            )
    if fit_intercept:
        weights[:, d] += own.offset - weights[:, :d] @ columns.centre
    return weights, total / omega.sum()
