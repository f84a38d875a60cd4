"""Regret and its bounds as rounds are played."""

import numpy as np

from ..theory._record import course
from ._axes import axes_of, tidy

SLOPE_FROM = 0.1  # of the rounds: from there on slopes are fitted


class RegretDisplay:
    r"""The regret of an estimator against the best fixed weights in hindsight, and its bounds.

    It is recommended to use :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    rounds : ndarray of shape (points,)
        Numbers of rounds T.
    regret : ndarray of shape (points,)
        The loss of all rounds so far, minus that of the fixed weights that are best for them.
    run_bound : ndarray of shape (points,), default=None
        The bound of this very run against these weights, Theorem 1 or that of dual averaging.
    bound : ndarray of shape (points,), default=None
        The closed form, against all weights of the domain; NaN where nothing is proved.
    name : str, default=None
        The name of the estimator, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The regret.
    run_bound_line_ : matplotlib Line2D or None
        The bound of the run.
    bound_line_ : matplotlib Line2D or None
        The closed form.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    sklearn_adareg.regret.course : The numbers behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_adareg import AdaRegRegressor
    >>> from sklearn_adareg.displays import RegretDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 3))
    >>> y = X @ [0.5, -0.2, 0.1] + 0.1 * rng.normal(size=300)
    >>> model = AdaRegRegressor(
    ...     "ons", "full", eta="theory", epsilon="theory", domain="l2", radius=1.0, scaling=None, fit_intercept=False
    ... )
    >>> display = RegretDisplay.from_estimator(model, X, y)
    >>> bool(np.all(display.regret <= display.bound))
    True
    """

    __module__ = "sklearn_adareg.displays"  # the public path

    def __init__(self, *, rounds, regret, run_bound=None, bound=None, name=None):
        self.rounds = rounds
        self.regret = regret
        self.run_bound = run_bound
        self.bound = bound
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, sample_weight=None, points=25, name=None, ax=None, **kwargs):
        """Play the rows with a clone of the estimator, and draw its regret.

        Parameters
        ----------
        estimator : AdaRegClassifier or AdaRegRegressor
            With ``scaling=None`` and ``alpha=0``; fitted or not.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, in the order in which they are to be played.
        y : array-like of shape (n_samples,)
            Their targets: two classes, or one number each.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        points : int, default=25
            How many points the curves have.
        name : str, default=None
            The name in the legend; None is potential and structure.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : RegretDisplay
            The display, drawn.
        """
        found = course(estimator, X, y, sample_weight, points=points)
        potential = estimator.potential
        given = potential if isinstance(potential, str) else type(potential).__name__
        display = cls(
            rounds=found.rounds,
            regret=found.regret,
            run_bound=found.run_bound,
            bound=found.bound,
            name=f"{given}/{estimator.structure}" if name is None else name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, bounds=True, log=True, color=None, **kwargs):
        """Draw the regret and, dashed and dotted in the same colour, its bounds.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        bounds : bool, default=True
            Whether to draw the bounds too.
        log : bool, default=True
            Whether both axes are logarithmic. A regret that is not positive is then left out.
        color : color, default=None
            The colour of all lines; None is the next one of the axes.
        **kwargs : dict
            Passed to matplotlib's ``plot`` for the line of the regret.

        Returns
        -------
        display : RegretDisplay
            This object.
        """
        [ax] = axes_of(self, ax)
        name = "regret" if self.name is None else self.name
        regret = np.where(self.regret > 0, self.regret, np.nan) if log else self.regret
        style = {"lw": 2.0, "label": name, "color": color, **kwargs}
        [self.line_] = ax.plot(self.rounds, regret, **style)
        self.run_bound_line_ = self.bound_line_ = None
        lines = {"run_bound_line_": (self.run_bound, "--", "bound of the run")}
        lines["bound_line_"] = (self.bound, ":", "closed form")
        for attribute, (values, dashes, label) in lines.items():
            if bounds and values is not None and np.isfinite(values).any():
                own = {"color": self.line_.get_color(), "label": f"{name}: {label}"}
                [line] = ax.plot(self.rounds, values, ls=dashes, lw=1.5, **own)
                setattr(self, attribute, line)
        if log:
            ax.set_xscale("log")
            ax.set_yscale("log")
        tidy(ax)
        ax.set_xlabel("rounds")
        ax.set_ylabel("regret against the best fixed weights")
        ax.legend(frameon=False, fontsize=9)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def slope(self, start=SLOPE_FROM):
        """The slope of the regret in a doubly logarithmic picture, by least squares: 1/2 for √T, 0 for a constant.

        Parameters
        ----------
        start : float, default=0.1
            The share of the rounds from which on points count.

        Returns
        -------
        float
            NaN where fewer than two of these points have a positive regret.
        """
        late = (self.rounds >= start * self.rounds[-1]) & (self.regret > 0)
        if late.sum() < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.rounds[late]), np.log(self.regret[late]), 1)[0])
