"""How a committee combines its members, in slow NumPy; every weight is from the rows before."""

import numpy as np
from reference import LOSSES
from reference_auto import CURVATURES, PARAMETERS, softmax_of

DISCOUNTS = (0.95, 0.99, 0.999, 1.0)


def exponential_weights(losses):
    p = np.exp(min(losses) - np.array(losses))
    return p / p.sum()


class Regression:
    """Newton steps for v in v·f."""

    def __init__(self, width):
        self.v, self.S = np.eye(width)[0], np.zeros((width, width))

    def learn(self, f, gradient, hessian, omega, fade, returned, Q):
        """Q: the quadratic of the penalty."""
        self.S = fade * self.S + returned * np.eye(len(self.v)) + omega * hessian + Q
        slope = omega * gradient + Q @ self.v
        self.v = self.v - np.linalg.solve(self.S + 10 * np.eye(len(self.v)), slope)

    def touch(self, w, l1, l2):
        """The Q of ½ v'Qv, which touches the penalty of the combination of w, (members, coefficients)."""
        m, size = self.v @ w, np.abs(w).max(axis=0)
        w, m = w[:, size > 0], np.maximum(np.abs(m), 0.1 * size)[size > 0]
        return (l1 / m + l2) * w @ w.T


class Committee:
    """Steady members by their averages, all by their iterates, and a choice between the two sides."""

    def __init__(self, loss, steady, members, K, l1=0.0, l2=0.0):
        self.loss, self.steady, self.K, self.l1, self.l2 = loss, steady, K, l1, l2
        self.stacked = K == 1
        self.recent = len(steady) < members
        self.steady_losses = np.zeros(len(steady) + self.stacked)
        self.discounted = np.zeros((len(DISCOUNTS), members))
        self.recent_losses, self.sides = np.zeros(len(DISCOUNTS) + self.stacked), np.zeros(2)
        self.surprise, self.rounds = 0.0, 0
        self.of_steady, self.of_all = Regression(len(steady)), Regression(members)
        self.total = self.weight = 0.0
        # penalties of each list of candidates, and the quadratics of the two regressions
        self.due = {"steady": 0.0, "all": 0.0, "ways": 0.0, "sides": 0.0}
        self.Q = [np.zeros((n, n)) for n in (len(steady), members)]

    def penalty(self, w):
        """R of coefficients, in the last two axes."""
        return (self.l1 * np.abs(w) + self.l2 / 2 * w**2).sum(axis=(-1, -2))

    def take_weights(self, averages, iterates, t):
        """The penalties of all candidates, from their coefficients (members, K, d); every 16 rounds."""
        if t > 16 and t % 16:
            return
        steady, recent = self.of_sides()
        a = averages[self.steady]

        def mixed(v, w):
            return self.penalty(np.tensordot(v, w, 1))

        ways = [mixed(exponential_weights(losses), iterates) for losses in self.discounted]
        self.due["steady"] = np.array(
            [*self.penalty(a), *[mixed(self.of_steady.v, a)] * self.stacked]
        )
        self.due["all"] = self.penalty(iterates)
        self.due["ways"] = np.array([*ways, *[mixed(self.of_all.v, iterates)] * self.stacked])
        self.due["sides"] = np.array([mixed(steady, a), mixed(recent, iterates)])
        self.Q = [
            regression.touch(w.reshape(len(w), -1), self.l1, self.l2)
            for regression, w in ((self.of_steady, a), (self.of_all, iterates))
        ]

    def of_sides(self):
        """Weights of the steady averages in their side, and of all iterates in theirs."""
        p = exponential_weights(self.steady_losses)
        n = len(self.steady)
        steady = p[:n] + (p[n] * self.of_steady.v if self.stacked else 0.0)
        q = exponential_weights(self.recent_losses)
        recent = sum(q[j] * exponential_weights(self.discounted[j]) for j in range(len(DISCOUNTS)))
        return steady, recent + (q[-1] * self.of_all.v if self.stacked else 0.0)

    def asleep(self):
        """The recent side rests: the steady one is a nat ahead, and not surprised."""
        if not self.recent or not len(self.steady) or self.rounds < 1000 or self.rounds % 256 < 64:
            return False
        lead = self.sides[1] + 2.0 - self.sides[0]
        return lead > 1.0 and 0.1 * self.surprise < 2 * 0.002 * self.sides[0] + 0.3

    def resting(self, epsilons):
        """The members that do not learn from the next row."""
        if self.rounds < 1000 or (self.recent and not self.asleep()):
            return []
        counts = np.abs(self.of_sides()[0])
        larger = np.array(epsilons)[self.steady] > epsilons[self.steady[0]]
        working = np.array(self.steady)[counts >= counts.max() * np.where(larger, 0.8, 0.01)]
        return [r for r in range(len(epsilons)) if r not in working]

    def combine(self, averages, iterates):
        steady, recent = self.of_sides()
        first = np.tensordot(steady, averages[self.steady], 1)
        if not self.recent or self.asleep():
            return first
        p = exponential_weights(self.sides + np.array([0.0, 2.0]))
        return p[0] * first + p[1] * np.tensordot(recent, iterates, 1)

    margins = combine

    def shares(self):
        """What each member counts, whether by its average or by its iterate; their sum is 1."""
        steady, recent = self.of_sides()
        p = exponential_weights(self.sides + np.array([0.0, 2.0])) if self.recent else [1.0, 0.0]
        counts = p[1] * np.abs(recent)
        counts[self.steady] += p[0] * np.abs(steady)
        return counts / counts.sum()

    def loss_at(self, margins, y, own):
        """A regression loss is of the residual; under a log link it is above that of the best margin."""
        if self.K > 1:
            return -np.log(softmax_of(margins)[int(y)])
        margin = margins[0]
        if self.loss == "poisson":
            m = own.offset + np.clip(margin, -15, 15) if own.shifted else margin
            least = y - y * np.log(y) if y > 0 else 0.0
            return max(0.0, LOSSES[self.loss](m, y, PARAMETERS)[0] - least)
        if not own.degree:
            return LOSSES[self.loss](margin, y, PARAMETERS)[0]
        r = (margin + own.offset - y) / own.rho
        return LOSSES[self.loss](r, 0.0, PARAMETERS)[0] * own.rho**own.degree

    def judge(self, averages, iterates, y, omega, own, t):
        in_units = bool(own.degree) or self.loss == "poisson"
        steady, recent = self.of_sides()
        f_steady, unit, cap = averages[self.steady], 1.0, 10.0
        self.weight += omega
        if in_units:
            value = self.loss_at(self.combine(averages, iterates), y, own)
            if self.total > 0:
                value = min(value, 400 * self.total / (self.weight - omega))
            self.total += omega * value
            unit, cap = 2 * self.total / self.weight, 200.0
        asleep, self.rounds = self.asleep(), self.rounds + 1
        if not unit > 0:
            return

        def counted(many, due):
            losses = np.array([self.loss_at(margins, y, own) for margins in many])
            return omega * np.minimum(cap, (losses + self.due[due] / omega) / unit)

        fade = (t / (t + 1)) ** 2
        candidates = list(f_steady)
        if self.stacked:
            candidates.append(self.of_steady.v @ f_steady)
        first, second = steady @ f_steady, recent @ iterates
        ways = [exponential_weights(losses) @ iterates for losses in self.discounted]
        if self.stacked:
            ways.append(self.of_all.v @ iterates)
        self.steady_losses = fade * self.steady_losses + counted(candidates, "steady")
        if self.stacked:
            self.learn(self.of_steady, f_steady, y, omega, own, fade, 0.0)
        if not self.recent:
            return
        of_sides = counted([first, second], "sides")
        self.surprise = 0.9 * self.surprise + of_sides[0]
        if asleep:
            return
        losses = counted(iterates, "all")
        self.discounted = np.array(DISCOUNTS)[:, None] * self.discounted + losses
        self.recent_losses = 0.998 * self.recent_losses + counted(ways, "ways")
        if self.stacked:
            self.learn(self.of_all, iterates, y, omega, own, 0.999, 0.01)
        self.sides = 0.998 * self.sides + of_sides

    def learn(self, regression, f, y, omega, own, fade, returned):
        """f is (members, 1)."""
        margins = regression.v @ f
        in_units = bool(own.degree) or self.loss == "poisson"
        if not in_units and np.abs(f).max() > 20:
            omega = omega * (20 / np.abs(f).max()) ** 2
        curvature_of = CURVATURES.get(self.loss, lambda m, y: 0.0)
        if own.degree:
            r = (margins[0] + own.offset - y) / own.rho
            slope = LOSSES[self.loss](r, 0.0, PARAMETERS)[1] / own.rho
            curvature = curvature_of(r, 0.0) / own.rho**2
        else:
            unit, m = 1.0, margins[0]
            if in_units:
                m = own.offset + np.clip(m, -15, 15) if own.shifted else m
                unit = own.rho * own.gradient_unit
            slope = LOSSES[self.loss](m, y, PARAMETERS)[1] / unit
            curvature = curvature_of(m, y) / unit
        gradient = slope * f[:, 0]
        hessian = max(curvature, slope**2) * np.outer(f[:, 0], f[:, 0])
        unit = own.rho * own.gradient_unit if in_units else 1.0
        Q = self.Q[regression is self.of_all] / unit
        regression.learn(f, gradient, hessian, omega, fade, returned, Q)
