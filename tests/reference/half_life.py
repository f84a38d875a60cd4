"""G of Algorithm 1 with a half-life, in slow NumPy: what is forgotten, and how the prior returns.

With λ = 2^(−1/h), G_t = λ G_{t−1} + (1 − λ) ε I + g_t g_tᵀ: what λ takes of the prior comes back in every direction. Where H = η G⁻¹
is kept by rank-one updates (ONS, full and block), the prior comes back in some coordinates a round, in turn, and after the step:

    G_t = λ G_{t−1} + g_t g_tᵀ for the step, then G_t += (n/m)(1 − λ) ε Σ e_i e_iᵀ over the next m = ⌈n(1 − λ)⌉ of n coordinates.

A block that rows do not touch stands still. When it is next touched, what the k rounds between would have done is done at once, with
λ^k in place of λ. λ = 1, no half-life, is the paper's G.
"""

import numpy as np


def forgetting(half_life):
    return 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)


def discounted(c, lam):
    """c_t λ^(T−t), the weights of rounds 1 … T after round T."""
    return np.asarray(c, dtype=float) * lam ** np.arange(len(c) - 1.0, -1.0, -1.0)


class Memory:
    """G of one weight vector; ``in_turn``: the lists of coordinates in which the prior returns in turn."""

    def __init__(self, D, epsilon, lam, in_turn=()):
        self.G, self.epsilon, self.lam = epsilon * np.eye(D), epsilon, lam
        self.in_turn = [list(block) for block in in_turn] if lam < 1 else []
        self.others = [i for i in range(D) if not any(i in block for block in self.in_turn)]
        self.turn, self.idle = [0] * len(self.in_turn), [0] * len(self.in_turn)

    def catch_up(self, touched):
        """What the blocks that are touched have missed."""
        for number, block in enumerate(self.in_turn):
            if self.idle[number] and touched[block].any():
                keep = self.lam ** self.idle[number]
                self.G[np.ix_(block, block)] *= keep
                self.give_back(number, 1 - keep)
                self.idle[number] = 0

    def take(self, g, touched):
        """G of the round's step."""
        self.catch_up(touched)
        prior = np.zeros(len(g))
        prior[self.others] = (1 - self.lam) * self.epsilon
        kept = self.G.copy()
        self.G = self.lam * self.G + np.diag(prior) + np.outer(g, g)
        for number, block in enumerate(self.in_turn):
            of_block = np.ix_(block, block)
            self.G[of_block] = kept[of_block]
            if not touched[block].any():
                self.idle[number] += 1
                continue
            self.G[of_block] = self.lam * self.G[of_block] + np.outer(g[block], g[block])
        return self.G

    def end_round(self, touched):
        """What comes back after the step."""
        for number, block in enumerate(self.in_turn):
            if touched[block].any():
                self.give_back(number, 1 - self.lam)

    def give_back(self, number, forgotten):
        """(n/m) · forgotten · ε to each of the next m coordinates of a block."""
        block = self.in_turn[number]
        n = len(block)
        m = max(1, min(n, int(np.ceil(n * forgotten - 1e-9))))
        for _ in range(m):
            i = block[self.turn[number]]
            self.G[i, i] += n / m * forgotten * self.epsilon
            self.turn[number] = (self.turn[number] + 1) % n
