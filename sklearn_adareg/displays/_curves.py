"""Curves over rows and rounds: progressive losses with the risk certificate above them, regret with its bounds; and axes for them."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils._optional_dependencies import check_matplotlib_support

from ..model._validation import check_probability, shown
from ..theory._record import course

METRICS = {"loss": "mean_loss", "error_rate": "error_rate"}  # and their names in progressive_curve_


class ProgressiveLossDisplay:
    """The mean loss of rows before they were learnt from, with the risk certificate as a band above it.

    It is recommended to use :meth:`from_estimator` or, for several, :meth:`from_estimators`. All parameters are stored as attributes,
    lists with an element for each estimator.

    Parameters
    ----------
    rows : list of ndarray
        Numbers of rows.
    mean : list of ndarray
        The mean over these rows: of losses, clipped where there is a bound, or of mistakes.
    bound : list of ndarray or None
        The risk certificate after these rows; None where there is none.
    metric : {"loss", "error_rate"}, default="loss"
        What is drawn.
    delta : float or None, default=0.05
        The probability with which a bound may fail.
    names : list of str, default=None
        Names for the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The means.
    bands_ : list of matplotlib PolyCollection or None
        From the means to the bounds.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    AdaRegClassifier.risk_certificate : The bound after the last row.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_adareg import AdaRegClassifier
    >>> from sklearn_adareg.displays import ProgressiveLossDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaRegClassifier(random_state=0).fit(X, y)
    >>> display = ProgressiveLossDisplay.from_estimator(model, metric="error_rate")
    >>> bool(abs(display.bound[0][-1] - model.risk_certificate().error_rate) < 1e-9)
    True
    """

    __module__ = "sklearn_adareg.displays"  # the public path

    def __init__(self, *, rows, mean, bound, metric="loss", delta=0.05, names=None):
        self.rows, self.mean, self.bound, self.metric, self.delta = rows, mean, bound, metric, delta
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, *, metric="loss", delta=0.05, name=None, ax=None, **kwargs):
        """Draw the curve of a fitted estimator.

        Parameters
        ----------
        estimator : AdaRegClassifier or AdaRegRegressor, or a Pipeline that ends in one
            Fitted.
        metric : {"loss", "error_rate"}, default="loss"
            Whether to draw losses or, of a classifier, mistakes.
        delta : float or None, default=0.05
            The probability with which a bound may fail; None draws no bounds. Where a model has no certificate the legend says so.
        name : str, default=None
            The name in the legend; None is that of the class.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : ProgressiveLossDisplay
            The display, drawn.
        """
        named = {_last(estimator).__class__.__name__ if name is None else name: estimator}
        return cls.from_estimators(named, metric=metric, delta=delta, ax=ax, **kwargs)

    @classmethod
    def from_estimators(cls, estimators, *, metric="loss", delta=0.05, ax=None, **kwargs):
        """Draw the curves of several fitted estimators.

        Parameters
        ----------
        estimators : dict
            From names to fitted estimators.
        metric : {"loss", "error_rate"}, default="loss"
            Whether to draw losses or, of classifiers, mistakes.
        delta : float or None, default=0.05
            The probability with which each of the bounds may fail; None draws no bounds.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : ProgressiveLossDisplay
            The display, drawn.
        """
        if metric not in METRICS:
            raise ValueError(
                f"metric={shown(metric)} is not recorded while learning; pass one of {', '.join(map(repr, METRICS))}."
            )
        if delta is not None:
            check_probability(delta, "delta", 0.05)
        curves = [_curve(_last(estimator), metric, delta) for estimator in estimators.values()]
        rows, mean, bound = (list(column) for column in zip(*curves, strict=True))
        names = list(estimators)
        display = cls(rows=rows, mean=mean, bound=bound, metric=metric, delta=delta, names=names)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, start=32, log=True, **kwargs):
        """Draw lines and bands.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        start : int, default=32
            The number of rows to begin with: means and bounds of fewer say little. A curve that ends before is drawn whole.
        log : bool, default=True
            Whether the axis of rows is logarithmic.
        **kwargs : dict
            Passed to matplotlib's ``plot`` for the lines.

        Returns
        -------
        display : ProgressiveLossDisplay
            This object.
        """
        [ax] = axes_of(self, ax)
        self.lines_, self.bands_ = [], []
        names = self.names or [f"estimator {i}" for i in range(len(self.rows))]
        for rows, mean, bound, name in zip(self.rows, self.mean, self.bound, names, strict=True):
            late = rows >= (start if len(rows) and rows[-1] > start else 0)
            missing = bound is None and self.delta is not None
            style = {"lw": 2.0, "label": f"{name} (no certificate)" if missing else name, **kwargs}
            [line] = ax.plot(rows[late], mean[late], **style)
            band = None
            if bound is not None:
                own = {"color": line.get_color(), "alpha": 0.2, "lw": 0.0}
                band = ax.fill_between(rows[late], mean[late], bound[late], **own)
                label = f"{name}: certificate, probability {1 - self.delta:g}"
                ax.plot(rows[late], bound[late], color=line.get_color(), lw=1.0, ls="--", label=label)
            self.lines_.append(line)
            self.bands_.append(band)
        if log:
            ax.set_xscale("log")
        what = "loss" if self.metric == "loss" else "error rate"
        return _finished(self, ax, "rows", f"mean {what} of rows before they were learnt from")


def _last(estimator):
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _curve(estimator, metric, delta):
    """Rows, means and bounds, or None for these, of one estimator."""
    if metric == "error_rate" and not is_classifier(estimator):
        raise ValueError(
            f"{type(estimator).__name__} has no error rate, since its targets are numbers; pass metric='loss'."
        )
    recorded = estimator.progressive_curve_
    if delta is not None:
        rows, of_loss, of_errors = estimator._certificates_so_far(delta)
        found = of_loss if metric == "loss" else of_errors
        if found is not None:
            return rows, *found
    return recorded["rows"], recorded[METRICS[metric]], None


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
        self.rounds, self.regret, self.run_bound, self.bound, self.name = rounds, regret, run_bound, bound, name

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
        curves = {each: found[each] for each in ("rounds", "regret", "run_bound", "bound")}
        return cls(**curves, name=f"{given}/{estimator.structure}" if name is None else name).plot(ax=ax, **kwargs)

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
        for attribute, dashes, label in (("run_bound", "--", "bound of the run"), ("bound", ":", "closed form")):
            values = getattr(self, attribute)
            if bounds and values is not None and np.isfinite(values).any():
                own = {"color": self.line_.get_color(), "label": f"{name}: {label}"}
                [line] = ax.plot(self.rounds, values, ls=dashes, lw=1.5, **own)
                setattr(self, f"{attribute}_line_", line)
        if log:
            ax.set_xscale("log")
            ax.set_yscale("log")
        return _finished(self, ax, "rounds", "regret against the best fixed weights")

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


def _finished(display, ax, x, y):
    """The display, with axes that are named."""
    tidy(ax)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(frameon=False, fontsize=9)
    display.ax_, display.figure_ = ax, ax.figure
    return display


def axes_of(display, ax, count=1, width=6.0):
    """The given axes, or new ones of a figure of their own; ``count`` side by side."""
    check_matplotlib_support(f"{type(display).__name__}.plot")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(1, count, figsize=(width * count, 4.5), layout="constrained", squeeze=False)
        return list(ax[0])
    axes = list(ax) if count > 1 else [ax]
    if len(axes) != count:
        raise ValueError(
            f"{type(display).__name__} draws on {count} axes here, and ax has {len(axes)}; pass as many, or None."
        )
    return axes


def tidy(ax):
    """Without the box, with a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
