"""Newton steps on a sketch in slow NumPy: structure="sketch" with eta="auto" and the potential "ons"."""

import numpy as np

from reference.scaling import STEEP, mean_of


class SketchNewtonVector:
    """One member of one weight vector, in normalised coordinates: G = diag(Λ) + BᵀB, inverted as it is."""

    implicit = False

    def __init__(self, D, rank, epsilon, eta, share, residuals, intercept):
        self.rank, self.eta, self.share, self.residuals = min(rank, D), eta, share, residuals
        self.diagonal = np.full(D, epsilon)
        if intercept:
            self.diagonal[-1] = 0.1
        self.B, self.x, self.predicting = np.zeros((0, D)), np.zeros(D), []

    def average(self, gamma):
        return mean_of(self.predicting, gamma) if self.predicting else np.zeros_like(self.x)

    def change_units(self, growth):
        self.B = self.B / growth

    def shrink(self):
        """The largest directions, in coordinates in which Λ is I, stay; of the others Λ gets its share."""
        root = np.sqrt(self.diagonal)
        W = self.B / root
        lam, V = np.linalg.eigh(W.T @ W)
        lam, V = np.maximum(lam[::-1][: self.rank], 0.0), V[:, ::-1][:, : self.rank]
        kept = np.sqrt(lam)[:, None] * V.T
        dropped = np.sum(W**2, axis=0) - np.sum(kept**2, axis=0)
        self.diagonal = self.diagonal * (1 + self.share * np.maximum(dropped, 0.0))
        self.B = kept * root

    def step(self, z, slope, curvature, omega, factor, newtonian, implicit):
        if slope == 0 and curvature == 0:
            return
        u = np.linalg.solve(np.diag(self.diagonal) + self.B.T @ self.B, z)
        q, square, steep = z @ u, slope**2, self.residuals.loss in STEEP
        w = curvature if steep and curvature > 0 else (square + curvature) / 2
        length = self.eta * omega * slope / (1 + omega * (w + self.eta * curvature) * q)
        self.x = self.x - self.residuals.rho * length * u
        if not steep and curvature > 0:
            w = (min(square, 1000 * curvature) + curvature) / 2
        if w > 0 and z.any():
            if len(self.B) == 2 * self.rank:
                self.shrink()
            self.B = np.vstack([self.B, np.sqrt(omega * w) * z])
