"""
A portfolio learnt day by day, beside the best one in hindsight
===============================================================

A constant rebalanced portfolio sells every day what has risen and buys what has fallen, so that each
stock keeps its share of the wealth. The best shares are known only in hindsight. The Online Newton
Step learns them: ``x`` are the shares, points of the simplex, a day's loss is minus the logarithm of
its growth, :math:`-\\log(r_t \\cdot x_t)` with :math:`r_t` the price relatives, and ``AdaReg`` needs
nothing but its gradient :math:`-r_t / (r_t \\cdot x_t)`.

What is lost to not knowing is at most of order log T, whatever the prices do, so that the rates of
growth approach each other. The prices here are simulated: a common trend, and for each stock swings
around it, which is where rebalancing gains; two of the four stocks fall.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sklearn_adareg import AdaReg, regret

DAYS, STOCKS, DIAMETER = 5000, 4, np.sqrt(2)


def price_relatives():
    """Prices of each day over those of the day before, within [.8, 1.25]."""
    rng = np.random.default_rng(1)
    trend = np.cumsum(rng.normal(0.0001, 0.006, DAYS + 1))
    logs = trend[:, None] + np.arange(DAYS + 1)[:, None] * [0, 0, -0.002, -0.002]
    swing = np.zeros(STOCKS)
    for day in range(1, DAYS + 1):
        swing = 0.3 * swing + rng.normal(0, [0.08, 0.08, 0.02, 0.04])
        logs[day] += swing
    return np.exp(np.clip(np.diff(logs, axis=0), np.log(0.8), np.log(1.25)))


def best_constant_shares(r):
    """Cover's iteration: each stock's share times its mean gain over the portfolio's."""
    x = np.full(STOCKS, 1 / STOCKS)
    for _ in range(2000):
        x = x * np.mean(r / (r @ x)[:, None], axis=0)
    return x


def learn_shares(r):
    """The shares of every day, each chosen before its prices, and the bound on the regret."""
    # −log(1 + s) ≥ −s + βs²/2 for all s = r·x*/r·x − 1 that can occur: what the bound asks of the loss
    s = np.max(r.max(axis=1) / r.min(axis=1)) - 1
    beta = 2 * (s - np.log1p(s)) / s**2
    steps = {"eta": 1 / beta, "epsilon": STOCKS / (beta * DIAMETER) ** 2}
    learner = AdaReg(STOCKS, "ons", "full", domain="simplex", radius=1.0, **steps)
    shares = np.empty((DAYS, STOCKS))
    for day in range(DAYS):
        shares[day] = learner.x
        learner.step(-r[day] / (r[day] @ shares[day]))
    return shares, regret.ons_bound(learner.G, DIAMETER, **steps)


def main(path="portfolio_selection.png"):
    r = price_relatives()
    shares, bound = learn_shares(r)
    best = best_constant_shares(r)
    gains = {
        "best constant shares, in hindsight": (r @ best, "0.55"),
        "shares learnt day by day (ONS)": (np.sum(r * shares, axis=1), "#0072b2"),
        "equal shares": (np.mean(r, axis=1), "#009e73"),
        "best single stock, in hindsight": (r[:, r.prod(axis=0).argmax()], "#e69f00"),
    }
    figure, axis = plt.subplots(figsize=(9, 4.6), layout="constrained")
    print(f"{'log-wealth':36}{'all days':>12}{'second half':>14}")
    for name, (gain, colour) in gains.items():
        logs = np.log(gain)
        print(f"{name:36}{logs.sum():12.2f}{logs[DAYS // 2 :].sum():14.2f}")
        axis.plot(np.cumsum(logs), color=colour, lw=1.8, label=name)
    behind = np.sum(np.log((r @ best) / np.sum(r * shares, axis=1)))
    print(f"\nregret {behind:.2f}, bound {bound:.2f}")
    print(f"shares learnt {shares[-1].round(2)}, in hindsight {best.round(2)}")
    axis.set(xlabel="days", ylabel="log-wealth", xlim=(0, DAYS))
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
