"""
Prediction with expert advice: never far behind the best expert
===============================================================

Each round, ten experts advise and one follows a mixture of them: ``x`` are the weights, points of the
simplex. Then every expert's loss becomes known, and the loss of the mixture is their weighted mean,
so the gradient that ``AdaReg`` is given is the vector of losses itself.

Follow-the-leader, which trusts the expert that was best so far, is hard to beat while losses are
random. Against losses that alternate between the two leaders it loses a constant more in every round.
``AdaReg`` with the step size of its regret bound stays below that bound on both.

Run it as ``python examples/plot_expert_advice.py [figure.png]``.
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
    losses[1::2, 0], losses[::2, 1] = 0.0, 0.0
    losses[0, :2] = 0.5, 0.0
    return losses


def mixtures_of_adareg(losses):
    learner = AdaReg(EXPERTS, "adagrad", "iso", **STEPS, domain="simplex", radius=1.0)
    for loss in losses:
        yield learner.x
        learner.step(loss)


def mixtures_of_the_leader(losses):
    totals = np.zeros(EXPERTS)
    for loss in losses:
        yield np.eye(EXPERTS)[totals.argmin()]
        totals += loss


def bound(losses):
    """After every round; the trace of G is all that the isotropic structure needs."""
    means = STEPS["epsilon"] + np.cumsum(np.mean(losses**2, axis=1))
    options = {"structure": "iso", "eta": STEPS["eta"]}
    return [regret.adagrad_bound(np.full(EXPERTS, m), DIAMETER, **options) for m in means]


def main(path="expert_advice.png"):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    print(f"regret after {ROUNDS} rounds\n\n{'losses':14}{'AdaReg':>10}{'leader':>10}{'bound':>10}")
    for axis, losses in zip(axes, (random_losses(), alternating_losses()), strict=True):
        best = losses[:, losses.sum(axis=0).argmin()]
        curves = {"regret bound": (bound(losses), "0.6", ":")}
        for name, play, colour in (
            ("follow-the-leader", mixtures_of_the_leader, "#e69f00"),
            ("AdaReg", mixtures_of_adareg, "#0072b2"),
        ):
            suffered = [x @ loss for x, loss in zip(play(losses), losses, strict=True)]
            curves[name] = (np.cumsum(suffered - best), colour, "-")
        last = [curves[name][0][-1] for name in ("AdaReg", "follow-the-leader", "regret bound")]
        kind = "random" if axis is axes[0] else "alternating"
        print(f"{kind:14}" + "".join(f"{value:10.1f}" for value in last))
        for name, (curve, colour, style) in curves.items():
            axis.plot(curve, style, color=colour, lw=2, label=name)
        axis.set(title=f"{kind} losses", xlabel="rounds", xlim=(0, ROUNDS), ylim=(-20, 400))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("regret: loss minus that of the best expert")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
