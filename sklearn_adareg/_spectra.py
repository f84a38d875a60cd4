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
