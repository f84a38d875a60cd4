"""A half-life: G_t = λ G_{t−1} + (1 − λ) ε I + g_t g_tᵀ, and sums and averages with the same λ.

What λ takes of the prior comes back, in every direction: without that, G would fall to 0 wherever no gradient comes, and one
gradient there would be a step without bound. G then is no longer increasing, H_t no longer decreasing, and Theorem 1, whose proof
needs that, is not claimed.

A coordinate (or block) that a row does not touch stands still, and k rounds are forgotten at once when it is next touched: λ^k G +
(1 − λ^k) ε is what k rounds without a gradient do, so rounds stay O(nnz).
"""
from libc.math cimport log1p

from ..state._setting cimport Setting

import numpy as np


cdef class Forgetting:
    """Powers of λ, those of small exponents from a table."""

    def __init__(self, Setting setting):
        self.lam, self.lost, self.log_lam = setting.forgetting, setting.forgotten, log1p(-setting.forgotten)
        exponents = np.arange(TABLED) * self.log_lam
        self.powers, self.losses = np.exp(exponents), -np.expm1(exponents)
