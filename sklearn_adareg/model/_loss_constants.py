r"""Constants of the losses where margins and targets are bounded: |m| ≤ B and |y| ≤ Y.

Each function derives its own in its docstring; here is what they are, for a loss f of the margin m:

- ``lipschitz``, γ: the largest |f'|.
- ``strong_convexity``, σ: the least f''. It is that of the margin: in the weights x a loss of z·x is flat across z.
- ``exp_concavity``: a β such that, with s = f'(m)(m − n), f(m) − f(n) ≤ s − (β/2)s² for all margins m and n. This is what the
  paper calls β-exp-concave; s is linear in the weights, so the loss is β-exp-concave in them too. By Taylor's theorem
  f(m) − f(n) ≤ s − (σ/2)(m − n)², and s² ≤ γ²(m − n)², so that β = σ/γ² will do.
- ``lowest`` and ``largest``: all values of f are between them.

A row of weight ω has ω times the loss, and the constants ωγ, ωσ and β/ω.
"""

from dataclasses import dataclass

import numpy as np

LINEAR_PARTS = "has linear parts and is not exp-concave"


@dataclass(frozen=True, kw_only=True)
class LossConstants:
    """Constants of a loss on bounded margins and targets, as :func:`loss_constants` finds them.

    Parameters
    ----------
    lipschitz : float
        The largest absolute slope.
    strong_convexity : float
        The least curvature.
    exp_concavity : float
        The β of exp-concavity in the paper's sense; 0 where there is none.
    lowest : float
        A lower bound on the loss.
    largest : float
        An upper bound on the loss.
    reason : str
        Why there is no exp-concavity, in a clause; empty where there is.

    Examples
    --------
    >>> from sklearn_adareg.regret import loss_constants
    >>> loss_constants("hinge", margin=2.0).reason
    'has linear parts and is not exp-concave'
    """

    __module__ = "sklearn_adareg.regret"  # the public path, which saved models keep

    lipschitz: float
    strong_convexity: float
    exp_concavity: float
    lowest: float
    largest: float
    reason: str = ""

    def as_floats(self):
        """The same in Python's own numbers.

        Returns
        -------
        constants : LossConstants
            The same constants.
        """
        fields = vars(self).items()
        return LossConstants(**{name: value if isinstance(value, str) else float(value) for name, value in fields})


def _constants(*values):
    return LossConstants(**dict(zip(LossConstants.__dataclass_fields__, values, strict=False)))


def _curved(lipschitz, strong_convexity, lowest, largest):
    """With β = σ/γ²."""
    return _constants(lipschitz, strong_convexity, strong_convexity / lipschitz**2, lowest, largest)


def _flat(lipschitz, lowest, largest, reason=LINEAR_PARTS):
    """Without curvature."""
    return _constants(lipschitz, 0.0, 0.0, lowest, largest, reason)


def log_loss(B, Y):
    """log(1 + exp(−ym)), y = ±1.

    With p(m) = 1/(1 + e^(−m)), f' = −y p(−ym) and f'' = p(m)p(−m). The slope is largest at ym = −B, where it is p(B); the curvature
    is least at |m| = B, where it is p(B)p(−B). β = σ/γ² = p(−B)/p(B) = e^(−B), and since both are at ym = −B there is no larger one.
    """
    p = 1 / (1 + np.exp(-B))
    return _curved(p, np.exp(-B) * p**2, np.log1p(np.exp(-B)), np.logaddexp(0.0, B))


def softmax(B, Y, classes):
    """log Σ exp(m_l) − m_y, in each of the K margins.

    The slopes are p_l − [l = y]. All margins within B of 0, p_y ≥ 1/(1 + (K − 1)e^(2B)), so no slope is beyond 1 − p_y, and
    f = −log p_y is between log(1 + (K − 1)e^(−2B)) and log(1 + (K − 1)e^(2B)). Adding one number to all margins changes nothing, so
    σ = 0. The Hessian diag(p) − pp' is above (p_y/(1 − p_y)) gg', g the gradient: the loss is exp-concave in all margins jointly. In
    each by itself it is not: with a matrix for each weight vector, ONS would need Σ_l (g_l d_l)², which (g·d)² does not bound.
    """
    others = (classes - 1) * np.exp(2 * B)
    return _flat(
        1 / (1 + 1 / others),
        np.log1p((classes - 1) * np.exp(-2 * B)),
        np.log1p(others),
        "is exp-concave in the weight vectors of all classes jointly, not in each by itself",
    )


def hinge(B, Y):
    """max(0, 1 − ym): slopes 0 and ±1; ym is between −B and B."""
    return _flat(1.0, np.maximum(0.0, 1 - B), 1 + B)


def perceptron(B, Y):
    """max(0, −ym): slopes 0 and ±1."""
    return _flat(1.0, 0.0, B)


def squared_hinge(B, Y):
    """max(0, 1 − ym)².

    |f'| = 2(1 − ym)₊ is largest at ym = −B. For B ≤ 1 there is no flat part, and f'' = 2. Otherwise σ = 0, and β is that of
    ``_squared_excess`` with the largest excess E = 1 + B.
    """
    return _squared_excess(B, 1 + B, np.maximum(0.0, 1 - B) ** 2, flat=B > 1)


def modified_huber(B, Y):
    """The squared hinge, linear below ym = −1: for B ≤ 1 it is the squared hinge. Beyond, |f'| ≤ 4 and −4ym is the largest value."""
    return squared_hinge(B, Y) if B <= 1 else _flat(4.0, 0.0, 4 * B)


def squared_error(B, Y):
    """½(m − y)²: f' = m − y, f'' = 1. The largest |f'| is B + Y, and β = 1/(B + Y)²."""
    return _curved(B + Y, np.float64(1.0), 0.0, (B + Y) ** 2 / 2)


def huber(B, Y, huber_delta):
    """½r² up to |r| = δ, linear beyond: where B + Y ≤ δ it is the squared error. |f'| ≤ min(δ, B + Y)."""
    if huber_delta >= B + Y:
        return squared_error(B, Y)
    return _flat(huber_delta, 0.0, huber_delta * (B + Y - huber_delta / 2))


def absolute_error(B, Y):
    """|m − y|: slopes ±1."""
    return _flat(1.0, 0.0, B + Y)


def quantile(B, Y, quantile):
    """q(y − m)₊ + (1 − q)(m − y)₊: slopes −q and 1 − q."""
    steepest = max(quantile, 1 - quantile)
    return _flat(steepest, 0.0, steepest * (B + Y))


def epsilon_insensitive(B, Y, insensitivity):
    """max(0, |m − y| − w): slopes 0 and ±1, and only 0 where B + Y ≤ w."""
    excess = np.maximum(0.0, B + Y - insensitivity)
    return _flat(1.0 if excess > 0 else 0.0, 0.0, excess)


def squared_epsilon_insensitive(B, Y, insensitivity):
    """max(0, |m − y| − w)²: the squared excess, of which the largest is E = B + Y − w. Without one (E ≤ 0) the loss is 0."""
    excess = B + Y - insensitivity
    if excess <= 0:
        return _flat(0.0, 0.0, 0.0, "is 0 on all these rows")
    return _squared_excess(B, excess, 0.0, flat=insensitivity > 0)


def _squared_excess(B, E, lowest, flat):
    """f = e₊², e linear in m with slope ±1 where positive, at most E; a flat part follows where e = 0.

    |f'| = 2e ≤ 2E. For β, let u = m − n > 0 lead from excess e towards the flat part: s = 2eu. As long as u ≤ e, f(m) − f(n) =
    s − u², and u² ≥ (β/2)s² for β ≤ 1/(2e²). Beyond, f(n) ≥ 0 gives f(m) − f(n) ≤ e² = s − (2eu − e²), and 2eu − e² ≥ (β/2)s² for
    β ≤ 1/(eu) − 1/(2u²), which falls in e, and in u where u ≥ e. Both are least at e = E, and at the largest u, which is 2B:
    1/(2E²) if 2B ≤ E or nothing is flat, and 1/(2BE) − 1/(8B²) otherwise. Away from the flat part f(m) − f(n) = s − u² again.
    """
    steepest, reach = 2 * E, 2 * B
    whole = not flat or reach <= E
    beta = 1 / (2 * E**2) if whole else 1 / (reach * E) - 1 / (2 * reach**2)
    return _constants(steepest, 0.0 if flat else 2.0, beta, lowest, E**2)


def poisson(B, Y):
    """exp(m) − ym, 0 ≤ y ≤ Y.

    f' = e^m − y is between e^(−B) − Y and e^B; f'' = e^m ≥ e^(−B). The least value over m is a concave function of y, so it is
    least for y = 0, at m = −B, or for y = Y, at m = log Y or the nearest there is. The largest is at a corner.
    """
    least, most = np.exp(-B), np.exp(B)
    with np.errstate(divide="ignore"):
        at_Y = np.clip(np.log(Y), -B, B)
    lowest, largest = np.minimum(least, np.exp(at_Y) - Y * at_Y), np.maximum(most, least + Y * B)
    return _curved(np.maximum(most, Y - least), least, lowest, largest)
