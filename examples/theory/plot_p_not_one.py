"""
The exponent of the p-norm: AdaGrad's p = 1 is not the best
===========================================================

The p-norm potential steps with :math:`H = \\eta\\, G^{-1/(p+1)}`: AdaGrad for p = 1, a fixed step size for large p, nearly the Online
Newton Step for small p. With the best step size for each p, its bound is

.. math:: b \\sqrt{\\tfrac{p+1}{p} \\operatorname{Tr} G_T^{1/(p+1)} \\operatorname{Tr} G_T^{p/(p+1)}}.

The product of the traces is least at p = 1, the factor before it falls in p: together they are least somewhat above 1, and the
more equal the eigenvalues of :math:`G_T` are, the larger that p is.

The first 800 digits of the digits data, even against odd, on the ball. For each p the p-norm plays with the step size of its theory,
which needs the number of rows and the largest slope, and its regret is least above 1, too.

Run it as ``python examples/theory/plot_p_not_one.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sklearn_adareg import AdaRegClassifier, regret

EXPONENTS = 2.0 ** np.arange(-2, 5)
COLOURS = {"full": "#009e73", "diag": "#0072b2"}


def main(path="p_not_one.png"):
    X, y = load_digits(return_X_y=True)
    X, y = X[:800, X.any(axis=0)] / 16, y[:800] % 2
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    print(f"{'structure':12}{'p':>8}{'regret':>10}{'closed form':>13}{'best in hindsight':>19}")
    for structure, colour in COLOURS.items():
        found = []
        for p in EXPONENTS:
            model = AdaRegClassifier(
                "pnorm",
                structure,
                p=p,
                eta="theory",
                epsilon="theory",
                domain="l2",
                radius=3.0,
                scaling=None,
                fit_intercept=False,
            )
            own = regret.course(model, X, y, points=1)
            best = model.partial_fit(X, y, classes=[0, 1]).regret_bound().hindsight["value"]
            found.append((own.regret[0], own.bound[0], best))
            print(f"{structure:12}{p:8.3f}{found[-1][0]:10.1f}{found[-1][1]:13.1f}{best:19.1f}")
        regrets, bounds, best = np.array(found).T
        axes[0].plot(EXPONENTS, regrets, "o-", color=colour, label=structure)
        axes[1].plot(EXPONENTS, bounds, "o:", color=colour, label=f"{structure}, step size of theory")
        axes[1].plot(EXPONENTS, best, "o-", mfc="white", color=colour, label=f"{structure}, best in hindsight")
    for ax, title in zip(axes, ("regret", "bound"), strict=True):
        ax.set(title=title, xlabel="p", xscale="log", ylim=(0, None))
        ax.axvline(1.0, color="0.6", lw=1, ls="--", zorder=0)
        ax.set_xticks(EXPONENTS, [f"{p:g}" for p in EXPONENTS], minor=False)
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].annotate("AdaGrad", (1.0, axes[0].get_ylim()[1]), (4, -12), textcoords="offset points")
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
