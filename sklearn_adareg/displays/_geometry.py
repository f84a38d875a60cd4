"""The geometry that a model has learnt: the matrices G and H."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators._base import BaseAdaReg
from ..estimators._online import AdaReg
from ..model import _registry, _runtime
from ..model._guard import guard_of
from ..theory import _candidates
from ._curves import axes_of, tidy

KINDS = ("both", "spectrum", "matrix")
MOST_NAMES = 40  # features that can be named along an axis
MOST_FEATURES = 2000  # of a matrix that is drawn


class GeometryDisplay:
    r"""The matrices of a model: eigenvalues of G and of H, and a heat map of G with the names of the features.

    G is the sum of the squares of the gradients, H the matrix of the steps. In the heat map every entry is divided by the root of its
    two diagonal entries, as in a correlation: 1 and −1 are two features whose gradients always come together. Where G is a diagonal,
    there are dots instead: the step of each feature. Under ``scaling="online"`` both are in the units in which the model learns.

    The default learner has the sum of the curvatures of the rows as G, about the means of the features, and
    :math:`H = (G + \varepsilon D)^{-1}` of the candidate of the longest memory that counts most in ``coef_``; of a softmax with one
    matrix for all classes these are the blocks of a class. A feature that never varied has zeros.

    It is recommended to use :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    G : ndarray of shape (D, D) or (D,)
        The matrix, or its diagonal.
    H : ndarray of shape (D, D) or (D,)
        The matrix of the steps, in the same form.
    feature_names : list of str
        The names of the D coordinates.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The eigenvalues of G and of H.
    image_ : matplotlib AxesImage or None
        The heat map.
    dots_ : matplotlib Line2D or None
        The steps of the features.
    axes_ : list of matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_adareg import AdaRegClassifier
    >>> from sklearn_adareg.displays import GeometryDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AdaRegClassifier("adagrad", "full", max_iter=1).fit(X, y)
    >>> display = GeometryDisplay.from_estimator(model)
    >>> display.G.shape, display.feature_names[-1]
    ((31, 31), 'intercept')
    """

    __module__ = "sklearn_adareg.displays"  # the public path

    def __init__(self, *, G, H, feature_names):
        self.G, self.H, self.feature_names = G, H, feature_names

    @classmethod
    def from_estimator(cls, estimator, *, lane=0, kind="both", ax=None):
        """Draw the matrices of a fitted model.

        Parameters
        ----------
        estimator : AdaRegClassifier, AdaRegRegressor or AdaReg
            The model.
        lane : int, default=0
            Which of its matrices, if there are several: one for each class or target, in a stack once more for each step size.
        kind : {"both", "spectrum", "matrix"}, default="both"
            What to draw.
        ax : matplotlib Axes or list of two, default=None
            Axes to draw on, two for ``"both"``; None makes a figure.

        Returns
        -------
        display : GeometryDisplay
            The display, drawn.
        """
        G, H = _matrices(estimator, lane)
        return cls(G=G, H=H, feature_names=_names(estimator, len(G))).plot(ax=ax, kind=kind)

    def plot(self, ax=None, *, kind="both"):
        """Draw the eigenvalues, the matrix, or both.

        Parameters
        ----------
        ax : matplotlib Axes or list of two, default=None
            Axes to draw on, two for ``"both"``; None makes a figure.
        kind : {"both", "spectrum", "matrix"}, default="both"
            What to draw.

        Returns
        -------
        display : GeometryDisplay
            This object.
        """
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} is not known; give {', '.join(map(repr, KINDS))}.")
        axes = axes_of(self, ax, count=2 if kind == "both" else 1)
        self.lines_, self.image_, self.dots_ = [], None, None
        if kind != "matrix":
            self._draw_spectrum(axes[0])
        if kind != "spectrum":
            draw = self._draw_matrix if np.ndim(self.G) == 2 else self._draw_steps
            draw(axes[-1])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_spectrum(self, ax):
        for values, label, colour in ((self.G, "G", "#0072b2"), (self.H, "H", "#d55e00")):
            own = np.linalg.eigvalsh(values) if np.ndim(values) == 2 else values
            own = np.sort(own[own > 0])[::-1]
            self.lines_ += ax.plot(np.arange(1, len(own) + 1), own, "o-", ms=3, color=colour, label=label)
        ax.set_yscale("log")
        ax.set_xlabel("number")
        ax.set_ylabel("eigenvalue")
        ax.legend(frameon=False)
        tidy(ax)

    def _draw_matrix(self, ax):
        if len(self.G) > MOST_FEATURES:
            raise ValueError(
                f"A heat map of {len(self.G)} features cannot be read; pass kind='spectrum', or fit fewer than {MOST_FEATURES}."
            )
        size = np.sqrt(np.diagonal(self.G))
        with np.errstate(invalid="ignore", divide="ignore"):
            shown = np.where(np.outer(size, size) > 0, self.G / np.outer(size, size), 0.0)
        self.image_ = ax.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1)
        ax.figure.colorbar(self.image_, ax=ax, label="G, its diagonal scaled to 1", shrink=0.9)
        if len(shown) <= MOST_NAMES:
            places = np.arange(len(shown))
            ax.set_xticks(places, self.feature_names, rotation=90, fontsize=7)
            ax.set_yticks(places, self.feature_names, fontsize=7)
        else:
            ax.set_xlabel("feature")
            ax.set_ylabel("feature")

    def _draw_steps(self, ax):
        order = np.argsort(self.H)[::-1][:MOST_NAMES][::-1]
        [self.dots_] = ax.plot(self.H[order], np.arange(len(order)), "o", ms=4, color="#d55e00")
        ax.set_yticks(np.arange(len(order)), [self.feature_names[i] for i in order], fontsize=7)
        ax.set_xscale("log")
        whole = len(order) == len(self.H)
        ax.set_xlabel("step (H)" if whole else f"step (H), the {len(order)} largest")
        tidy(ax)


def _matrices(estimator, lane):
    """G and H of a weight vector, as they are kept: matrices, or diagonals."""
    if not isinstance(estimator, AdaReg | BaseAdaReg):
        raise ValueError(
            f"GeometryDisplay draws an AdaRegClassifier, an AdaRegRegressor or an AdaReg, and this is {type(estimator).__name__}; "
            "pass one of these, out of its pipeline."
        )
    if isinstance(estimator, BaseAdaReg):
        check_is_fitted(estimator)
    recipe = estimator._state.recipe
    if _registry.STRUCTURES[recipe.structure].couples_outputs:
        raise ValueError(
            f"structure={recipe.structure!r} has two matrices for all weight vectors together, and no G of one; use another."
        )

    def find():
        many = 0
        for block in estimator._state.blocks:
            if _registry.METHODS[recipe.method].learner:
                G, H = zip(*_candidates.geometry(block), strict=True)
            else:
                structure = _runtime.method_of(block).structure
                G, H = structure.accumulated(), structure.preconditioner()
            if lane < many + len(G):
                return G[lane - many], H[lane - many]
            many += len(G)
        raise ValueError(f"lane={lane!r} is not there, this model has {many}; give one from 0 on.")

    if isinstance(lane, bool) or lane != int(lane) or lane < 0:
        raise ValueError(f"lane={lane!r} is no number of a matrix; give one from 0 on.")
    G, H = find() if isinstance(estimator, AdaReg) else guard_of(estimator).read(find)
    D = recipe.D
    return tuple(A if np.ndim(A) == 2 else np.array(np.broadcast_to(A, D)) for A in (G, H))


def _names(estimator, D):
    """Of the coordinates."""
    given = getattr(estimator, "feature_names_in_", None)
    d = estimator._state.recipe.d
    names = [f"x{i}" for i in range(d)] if given is None else [str(name) for name in given]
    return [*names, "intercept"][:D]
