"""Merging models that learnt from different rows."""

from ..estimators._base import BaseAdaReg
from . import merge_models


def merge(models, base=None):
    r"""One model as if it had seen the rows of all.

    *The default learner* (``method_="information"``). Models that still hold all of their rows are joined while these are at most
    1,024: the merged model is that of one stream, to which the rows came by turns. Beyond, and of older models, the sums that it is
    solved with add up, moved to one reference c, the mean of all rows:

    .. math::

        G = \sum_k S_k G_k S_k^\top, \qquad r = \sum_k S_k r_k, \qquad S_k = I + (c_k - c)\, e_b^\top.

    The prior is in none of them, so it counts once, and every candidate is solved from the sums. For the squared error they are
    those of all limited rows, exactly; for other losses each row is a quadratic where its own model was. Means, variances, class
    counts and losses add up, and limits of values follow from them. The weights of candidates are products of what each model has
    made of the weights at first. A candidate that knows all rows gets back what the models have paid more than once for
    learning it, :math:`\sum_k \tfrac12 \log\det(I + R^{-1} G_k) - \tfrac12 \log\det(I + R^{-1} G)` with R its prior: where the
    signal is weak, each of many models is better off with a constant prediction, and all together are not.

    *Other methods.* The evidence of a model is :math:`M = G - G_0`, in raw units. It adds up, and the weights are its
    precision-weighted mean: with :math:`x_1` where the models began and sums over the models,

    .. math::

        G = G_0 + \sum M, \qquad x = x_1 + (P + \textstyle\sum M)^{-1} \sum (P + M)(x - x_1).

    Features get the largest unit of all, offsets the mean, classes those of all; raw weights are kept. Losses, counts and curves
    add up. A domain is projected onto at the end. The models stay as they are, and the new one goes on learning.

    P is :math:`G_0` for ONS and Newton steps. For other potentials it is :math:`0.1\,\varepsilon\sqrt{t}\,I` after t rounds, a
    fifth of that for the faster weight vectors of a stack: a weight that few rounds have touched is less sure than its evidence says.

    Costs O(D³) per model and weight vector for structure ``"full"``, as much for each block of ``"block"``, O(rank² · D) for
    ``"sketch"`` and O(D) for ``"diag"`` and ``"iso"``; joining rows costs what learning them did.

    Parameters
    ----------
    models : list of estimators
        Fitted models of the same kind and with the same parameters.
    base : estimator, default=None
        The model that all of them went on from, by ``copy.deepcopy`` or from a file. What it has learnt counts once.

    Returns
    -------
    estimator
        A new model.

    See Also
    --------
    sklearn_adareg.AdaRegClassifier.merge : The same for two models.

    Notes
    -----
    *What is exact.* G, units, counts and progressive losses are sums, maxima and means by counts: what one pass over all rows would
    have added up from the same gradients. For structures ``"full"``, ``"block"``, ``"diag"`` and ``"iso"`` the merged model does not
    depend on the order or the grouping of the models, up to rounding. The sums of gradients of dual averaging are exact, and its
    iterate follows from them.

    For the default learner this holds of models that hold no rows. Which young models are joined depends on their order, and so do
    their combinations, in the way in which those of one stream depend on the order of its rows; a little of the grouping is in
    diagonal candidates.

    *What is not.* Every model has taken its gradients at its own weights, so the merged weights are not those of one pass, but near
    them where the loss is close to quadratic in the range that the models differ by. Where each model has few rows, or many
    features that few rows have, one more pass from the merged model helps. Averages of iterates are merged like the iterates. A
    sketch is shrunk to its rank again, and Kronecker factors add up although sums of Kronecker products are none: there the
    order matters, within the error of the structure. What combines the step sizes of a stack, or follows the last rows, was learnt on
    the margins of each model. Where rows are sorted by their labels no model knows what tells the classes apart, and neither does the
    sum of what they know. The coordinates that dense models of more than 100 features choose are those of the model with
    the most rounds. What models with a half-life have not forgotten adds up, so the merged model remembers more for a while.
    ``progressive_loss_`` is that of the models, and its curve that of rows that came to them by turns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_adareg import AdaRegRegressor, merge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=400)
    >>> models = [AdaRegRegressor().partial_fit(X[k::4], y[k::4]) for k in range(4)]
    >>> model = merge(models)
    >>> model.t_, model.coef_.round(1)
    (400, array([ 1. , -2. ,  0.5]))
    """
    models = list(models)
    if not models:
        raise ValueError("There are no models to merge; pass a list of at least one.")
    for model in models if base is None else [*models, base]:
        if not isinstance(model, BaseAdaReg):
            raise ValueError(
                f"merge takes models of AdaRegClassifier or AdaRegRegressor, and one of these is {type(model).__name__}; pass the "
                "models themselves, out of their pipelines."
            )
    return merge_models(models, base)
