"""
Logarithmic regret where losses are curved, the square root where they are not
==============================================================================

The Online Newton Step uses the curvature of the squared error: against the best fixed weights in hindsight it loses no more than
a multiple of :math:`\\log T`. Without curvature nobody can do better than :math:`\\sqrt T` in the worst case, and AdaGrad attains
that: its opponent here plays linear losses whose gradient is the sign of the iterate, so every round costs what a step was worth.

On doubly logarithmic axes :math:`\\sqrt T` is a line of slope 1/2, and a logarithm is nearly flat. Slopes are fitted from T/10 on.
Theorem 1 (dashed) is about linear losses; the closed form of ONS (dotted) knows the curvature, and ends below it.

Run it as ``python examples/theory/plot_logarithmic_regret.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sklearn_adareg import AdaReg, AdaRegRegressor
from sklearn_adareg.displays import RegretDisplay

ROUNDS, FEATURES, RADIUS = 20_000, 2, 1.0


def ons_on_curved_losses():
    """Squared error of a noisy linear model in the ball, with the step size of the theory."""
    rng = np.random.default_rng(0)
    X = rng.choice([-0.5, 0.5], size=(ROUNDS, FEATURES))
    y = X @ [0.4, -0.2] + rng.choice([-1.0, 1.0], size=ROUNDS)
    steps = {"eta": "theory", "epsilon": 1.0, "scaling": None, "fit_intercept": False}
    model = AdaRegRegressor("ons", "full", domain="l2", radius=RADIUS, **steps)
    return model, X, y


def adagrad_on_linear_losses():
    """The regret after each of a grid of rounds, and the closed form: x* is the best corner of the box."""
    learner = AdaReg(FEATURES, "adagrad", "diag", eta=np.sqrt(2) * RADIUS, epsilon=1e-10, domain="box", radius=RADIUS)
    grid = np.unique(np.geomspace(1, ROUNDS, 25).astype(int))
    loss, theta, regret, bound = 0.0, np.zeros(FEATURES), [], []
    for t in range(1, ROUNDS + 1):
        gradient = np.where(learner.x >= 0, 1.0, -1.0)
        loss, theta = loss + gradient @ learner.x, theta + gradient
        learner.step(gradient)
        if t in grid:
            regret.append(loss + RADIUS * np.abs(theta).sum())
            bound.append(learner.regret_bound().value)
    return RegretDisplay(rounds=grid, regret=np.array(regret), bound=np.array(bound), name="adagrad, linear losses")


def main(path="logarithmic_regret.png"):
    _, ax = plt.subplots(figsize=(8.5, 5.2), layout="constrained")
    newton = RegretDisplay.from_estimator(*ons_on_curved_losses(), ax=ax, color="#009e73", name="ons, squared errors")
    adagrad = adagrad_on_linear_losses().plot(ax=ax, color="#0072b2")
    print(f"{'':26}{'slope':>8}{'regret':>10}{'closed form':>13}")
    for display in (newton, adagrad):
        display.line_.set_label(f"{display.name}: slope {display.slope():.2f}")
        print(f"{display.name:26}{display.slope():8.2f}{display.regret[-1]:10.2f}{display.bound[-1]:13.2f}")
    rounds = adagrad.rounds[adagrad.rounds >= ROUNDS / 10]
    guide = 0.5 * adagrad.regret[-1] * np.sqrt(rounds / ROUNDS)
    ax.plot(rounds, guide, color="0.5", lw=1)
    ax.annotate(r"$\sqrt{T}$", (rounds[3], guide[3]), (4, -14), textcoords="offset points")
    print(f"{'square root':26}{0.5:8.2f}")
    if newton.slope() > 0.2 or abs(adagrad.slope() - 0.5) > 0.05:
        raise AssertionError("a slope is not what the theory says")
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("The Online Newton Step on curved losses, AdaGrad against an opponent", loc="left")
    ax.figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
