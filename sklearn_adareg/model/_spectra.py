"""Eigenvalues of P_S G, the projection of a matrix G onto each structure."""

import numpy as np


def eigenvalues(A):
    """Of a symmetric matrix, or of a diagonal one given by its diagonal."""
    A = np.asarray(A, dtype=float)
    if A.ndim == 1:
        return A
    if A.ndim == 2 and A.shape[0] == A.shape[1]:
        return np.linalg.eigvalsh(A)
    raise ValueError(f"Expected a square matrix or its diagonal, got shape {A.shape}.")


def diagonal(G):
    """The diagonal of G, which may be given as its diagonal."""
    return G if G.ndim == 1 else np.diagonal(G)


def mean_diagonal(G):
    """tr(G)/D, D times."""
    own = diagonal(G)
    return np.full(len(own), np.mean(own))


def of_blocks(G, numbers):
    """Of the blocks of G; ``numbers`` has the number of each coordinate's block. G may be its diagonal if all have size 1."""
    sizes = np.bincount(numbers)
    if G.ndim == 1 and sizes.max() > 1:
        raise ValueError("Blocks of several coordinates need the matrix G_T, not its diagonal.")
    if G.ndim == 1:
        return G
    members = [np.flatnonzero(numbers == number) for number in range(len(sizes))]
    return np.concatenate([np.linalg.eigvalsh(G[np.ix_(own, own)]) for own in members])


def escaped_mass(own, rank, epsilon=0.0):
    """The most that shrinking a sketch can take from a direction, for the D eigenvalues of G_T = εI + Σgg'.

    min over k ≤ rank of Σ_(i > k) (λ_i − ε)/(rank + 1 − k), the largest eigenvalues first; 0 where rank ≥ D.
    """
    own = np.sort(np.maximum(own - epsilon, 0.0))[::-1]
    if rank >= len(own):
        return 0.0
    tails = np.cumsum(own[::-1])[::-1]  # Σ_(i > k) for k = 0, 1, …
    kept = np.arange(rank + 1)
    return float(np.min(tails[kept] / (rank + 1 - kept)))


def of_sketch(G, rank, epsilon=0.0):
    """Upper bounds on the eigenvalues of the sketch of G: it is above G by at most the mass that shrinking takes."""
    own = eigenvalues(G)
    return own + escaped_mass(own, rank, epsilon)
