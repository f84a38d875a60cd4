"""Step 4 of Algorithm 1 in slow NumPy: the projection argmin_{x' in X} ‖x' − u‖ in the norm of H⁻¹.

In a norm that mixes coordinates it tries every face of the domain and keeps the one that meets the
optimality conditions: 3^d faces, so a full matrix with a box or an l1 ball wants d ≤ 7 or so. Like
`algorithm.py`, it imports nothing of the package.
"""

from itertools import product

import numpy as np

# With w the gradient of the domain's active constraints, optimality reads H⁻¹(u − x) = (w, 0):
# x = u − H (w, 0), intercept included. So it is enough to find w, and no H⁻¹ is needed.


def project(u, H, domain, radius, d):
    """The point of the domain (in the first d coordinates) nearest u in the norm of H⁻¹."""
    c, H_cc = u[:d], H[:d, :d]
    if d == 0 or inside(c, domain, radius):
        return u.copy()
    if domain == "l2":
        c, w = onto_l2(c, H_cc, radius)
    elif np.count_nonzero(H_cc - np.diag(np.diag(H_cc))) == 0:
        h = np.diag(H_cc)
        x_c = PROJECTIONS_DIAGONAL[domain](c, h, radius)
        c, w = x_c, (c - x_c) / h
    else:
        c, w = PROJECTIONS_FULL[domain](c, H_cc, radius)
    # c is u_c − H_cc w already, its zeros and bounds exact.
    return np.concatenate([c, u[d:] - H[d:, :d] @ w])


INSIDE = {
    None: lambda c, radius: True,
    "l2": lambda c, radius: np.sqrt(c @ c) <= radius,
    "box": lambda c, radius: np.max(np.abs(c)) <= radius,
    "l1": lambda c, radius: np.sum(np.abs(c)) <= radius,
    "simplex": lambda c, radius: False,
    "nonnegative": lambda c, radius: np.min(c) >= 0,
}


def inside(c, domain, radius):
    return INSIDE[domain](c, radius)


def root_of_decreasing(f, low, high):
    """Bisection to the last bit."""
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return high


def onto_l2(c, H, r):
    """c(μ) = (I + μH)⁻¹u with μ such that its norm is r, in the eigenbasis of H; w = μc."""
    h, V = np.linalg.eigh(H)
    u = V.T @ c
    # At the upper end every coordinate is below its share: |u_i| / (1 + μ h_i) ≤ |u_i| r / ‖u‖.
    mu = root_of_decreasing(lambda mu: np.linalg.norm(u / (1 + mu * h)) - r, 0.0, (np.linalg.norm(u) / r - 1) / h.min())
    x = V @ (u / (1 + mu * h))
    return x, mu * x


def onto_simplex_diagonal(u, h, r):
    """x_i = (u_i − μ h_i)_+ with μ such that they sum to r."""
    mu = root_of_decreasing(lambda mu: np.sum(np.maximum(u - mu * h, 0)) - r, np.max((u - r) / h), np.max(u / h))
    return np.maximum(u - mu * h, 0)


PROJECTIONS_DIAGONAL = {
    "box": lambda u, h, r: np.clip(u, -r, r),
    "nonnegative": lambda u, h, r: np.maximum(u, 0),
    "simplex": onto_simplex_diagonal,
    # Signs are kept; the magnitudes, known to sum to more than r, go to the simplex.
    "l1": lambda u, h, r: np.sign(u) * onto_simplex_diagonal(np.abs(u), h, r),
}


def best_face(x, w, violation, H):
    """The x and w of the face that meets the optimality conditions, of which there always is one.

    Two faces meet them only where they meet each other, so that a tie does no harm.
    """
    best = np.argmin(violation)
    scale = np.max(np.abs(x[best])) + np.max(np.abs(H @ w[best]))
    if not violation[best] <= 1e-9 * scale:
        raise ArithmeticError(f"no face is optimal: violation {violation[best]:.1e}")
    return x[best], w[best]


def onto_bounds(u, H, low, high):
    """low ≤ x ≤ high. A face says of each coordinate: at low (−1), between (0) or at high (1)."""
    sides = [s for s, bound in ((-1, low), (0, 0.0), (1, high)) if np.isfinite(bound)]
    s = np.array(list(product(sides, repeat=len(u))))
    bound = np.select([s < 0, s > 0], [low, high], 0.0)
    # Row i of the system: w_i = 0 between the bounds, (Hw)_i = u_i − bound_i at one.
    M = np.where((s == 0)[:, :, None], np.eye(len(u)), H)
    w = np.linalg.solve(M, np.where(s == 0, 0.0, u - bound)[:, :, None])[:, :, 0]
    x = np.where(s == 0, u - w @ H, bound)
    outside = np.where(s == 0, np.maximum(low - x, x - high), 0.0)
    wrong_sign = np.where(s == 0, 0.0, -s * w) * np.diag(H)
    return best_face(x, w, np.max(np.maximum(outside, wrong_sign), axis=1), H)


def onto_cap(u, H, r, signs):
    """Σ s_i x_i = r on the face with signs s: all of {−1, 0, 1} for l1, of {0, 1} for the simplex.

    w_i = μ s_i where s_i ≠ 0, and |w_i| ≤ μ (l1, hence μ ≥ 0) or w_i ≤ μ (simplex) where x_i = 0.
    """
    d = len(u)
    s = np.array([face for face in product(signs, repeat=d) if any(face)], dtype=float)
    zero = s == 0
    # The unknowns are (w, μ). Row i: (Hw)_i = u_i or w_i − μ s_i = 0; last row: s·Hw = s·u − r.
    M = np.zeros((len(s), d + 1, d + 1))
    M[:, :d, :d] = np.where(zero[:, :, None], H, np.eye(d))
    M[:, :d, d] = -s
    M[:, d, :d] = s @ H
    right = np.column_stack([np.where(zero, u, 0.0), s @ u - r])
    solution = np.linalg.solve(M, right[:, :, None])[:, :, 0]
    w, mu = solution[:, :d], solution[:, d:]
    x = np.where(zero, 0.0, u - w @ H)
    steepness = np.abs(w) if -1 in signs else w
    too_steep = np.max((steepness - mu) * np.diag(H), axis=1)
    wrong_sign = np.max(-s * x, axis=1)
    return best_face(x, w, np.maximum(too_steep, wrong_sign), H)


PROJECTIONS_FULL = {
    "box": lambda u, H, r: onto_bounds(u, H, -r, r),
    "nonnegative": lambda u, H, r: onto_bounds(u, H, 0.0, np.inf),
    "l1": lambda u, H, r: onto_cap(u, H, r, signs=(-1, 0, 1)),
    "simplex": lambda u, H, r: onto_cap(u, H, r, signs=(0, 1)),
}
DOMAINS = (None, "l2", "box", "l1", "simplex", "nonnegative")
