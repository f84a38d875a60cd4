"""
Prediction with expert advice: never far behind the best expert
===============================================================

Each round, ten experts advise and one follows a mixture of them: ``x`` are the weights, points of the
simplex. Then every expert's loss becomes known, and the loss of the mixture is their weighted mean,
so the gradient that ``AdaReg`` is given is the vector of losses itself.

Follow-the-leader, which trusts the expert that was best so far, is hard to beat while losses are
random. Against losses that alternate between two leaders it loses a constant more in every round.
``AdaReg`` with the step size of its regret bound stays below that bound on both.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sklearn_adareg import AdaReg, regret

ROUNDS, EXPERTS, DIAMETER = 3000, 10, np.sqrt(2)
STEPS = {"eta": DIAMETER / np.sqrt(2 * EXPERTS), "epsilon": 1e-10}  # of the bound


def random_losses():
    """Uniform in [0, 1]; one expert is better by .04 in the mean."""
    losses = np.random.default_rng(0).uniform(size=(ROUNDS, EXPERTS))
    losses[:, 0] = np.maximum(losses[:, 0] - 0.045, 0)
    return losses


def alternating_losses():
    """The leader so far is the one to lose: 0 and 1 in turn for two experts, 1 for the others."""
    losses = np.ones((ROUNDS, EXPERTS))
    losses[1::2, 0], losses[::2, 1], losses[0, 0] = 0.0, 0.0, 0.5
    return losses


def mixtures_of_adareg(losses):
    learner = AdaReg(EXPERTS, "adagrad", "iso", **STEPS, domain="simplex", radius=1.0)
    for loss in losses:
        yield learner.x
        learner.step(loss)


def mixtures_of_the_leader(losses):
    return np.eye(EXPERTS)[np.argmin(np.cumsum(losses, axis=0) - losses, axis=1)]


PLAYERS = {"follow-the-leader": (mixtures_of_the_leader, "#e69f00"), "AdaReg": (mixtures_of_adareg, "#0072b2")}


def bound(losses):
    """After every round; the trace of G is all that the isotropic structure needs."""
    means = STEPS["epsilon"] + np.cumsum(np.mean(losses**2, axis=1))
    how = {"diameter": DIAMETER, "structure": "iso", "eta": STEPS["eta"]}
    return [regret.adagrad_bound(np.full(EXPERTS, mean), **how) for mean in means]


def main(path="expert_advice.png"):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    sequences, last = {"random": random_losses(), "alternating": alternating_losses()}, []
    for axis, (kind, losses) in zip(axes, sequences.items(), strict=True):
        best = losses[:, losses.sum(axis=0).argmin()]
        curves = {"regret bound": (bound(losses), "0.6", ":")}
        for name, (play, colour) in PLAYERS.items():
            incurred = [x @ loss for x, loss in zip(play(losses), losses, strict=True)]
            curves[name] = (np.cumsum(incurred - best), colour, "-")
        for name, (curve, colour, style) in curves.items():
            axis.plot(curve, style, color=colour, lw=2, label=name)
        last.append([curve[-1] for curve, *_ in curves.values()])
        axis.set(title=f"{kind} losses", xlabel="rounds", xlim=(0, ROUNDS), ylim=(-20, 400))
        axis.spines[["top", "right"]].set_visible(False)
    print(f"{f'regret after {ROUNDS} rounds':28}" + "".join(f"{kind:>14}" for kind in sequences))
    for name, *values in zip(curves, *last, strict=True):
        print(f"{name:28}" + "".join(f"{value:14.1f}" for value in values))
    axes[0].set(ylabel="regret: loss minus that of the best expert")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
