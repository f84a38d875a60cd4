"""Progressive losses as rows arrive, and the risk certificate above them."""

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ..model._validation import check_probability, shown
from ._axes import axes_of, tidy

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
        self.rows = rows
        self.mean = mean
        self.bound = bound
        self.metric = metric
        self.delta = delta
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
        tidy(ax)
        ax.set_xlabel("rows")
        what = "loss" if self.metric == "loss" else "error rate"
        ax.set_ylabel(f"mean {what} of rows before they were learnt from")
        ax.legend(frameon=False, fontsize=9)
        self.ax_, self.figure_ = ax, ax.figure
        return self


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
