"""The numbers of a problem that do not change while it learns, the clock that counts its rounds, and how they are forgotten."""
from libc.math cimport exp, expm1, log, log1p

import numpy as np

LARGEST_WHOLE_POWER = 64


cdef class Setting:
    """The part of a recipe that the kernels read, for so many of its weight vectors."""

    def __init__(self, recipe, Py_ssize_t vectors):
        self.d, self.D = recipe.d, recipe.d + recipe.intercept
        self.K, self.R, self.L = vectors, recipe.rates, vectors * recipe.rates
        self.eta = np.repeat(np.zeros(self.R) + np.asarray(recipe.eta, dtype=np.float64), vectors)
        self.recent = recipe.recent
        self.all_vectors = self.L + vectors * recipe.recent
        self.intercept, self.joint = recipe.intercept, recipe.joint
        self.dual = recipe.dual
        self.averaging = recipe.average is not False
        self.gamma = 0.0 if isinstance(recipe.average, bool) else recipe.average
        self.scaled, self.relative, self.shifted = recipe.scaled, recipe.relative, recipe.shifted
        self.degree, self.counted, self.weights_as_rows = recipe.degree, recipe.counted, recipe.weights_as_rows
        rate = 0.0 if recipe.half_life is None else -log(2.0) / recipe.half_life
        self.forgetting, self.forgotten = exp(rate), -expm1(rate)
        self.epsilon, self.refresh, self.start = recipe.epsilon, recipe.refresh, recipe.start
        self.blocks = None if recipe.blocks is None else np.asarray(recipe.blocks, dtype=np.intp)
        self.zeros = recipe.zeros
        self.rank = recipe.rank or 0
        self.l2, self.l1 = recipe.alpha * (1.0 - recipe.l1_ratio), recipe.alpha * recipe.l1_ratio


cdef class Clock:
    """Rounds t, averaging weights c_t = t^γ and their sum C_t = λ C_{t−1} + c_t."""

    def __init__(self, Setting setting, double[::1] now):
        self.owner, self.now = now, &now[0]
        self.t = now[0]
        self.gamma = setting.gamma
        self.forgetting, self.forgotten = setting.forgetting, setting.forgotten
        self.log_forgetting = log1p(-setting.forgotten)
        self.whole = <int> self.gamma if self.gamma.is_integer() and self.gamma <= LARGEST_WHOLE_POWER else -1


cdef class Forgetting:
    """A half-life: G_t = λ G_{t−1} + (1 − λ) ε I + g_t g_tᵀ, and sums and averages with the same λ.

    What λ takes of the prior comes back, in every direction: without that, G would fall to 0 wherever no gradient comes, and one
    gradient there would be a step without bound. G then is no longer increasing, H_t no longer decreasing, and Theorem 1, whose proof
    needs that, is not claimed.

    A coordinate (or block) that a row does not touch stands still, and k rounds are forgotten at once when it is next touched: λ^k G
    + (1 − λ^k) ε is what k rounds without a gradient do, so rounds stay O(nnz).

    Powers of λ with small exponents come from a table.
    """

    def __init__(self, Setting setting):
        self.lam, self.lost, self.log_lam = setting.forgetting, setting.forgotten, log1p(-setting.forgotten)
        exponents = np.arange(TABLED) * self.log_lam
        self.powers, self.losses = np.exp(exponents), -np.expm1(exponents)
