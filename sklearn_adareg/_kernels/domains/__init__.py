"""Convex sets for the coefficients, and the exact projections onto them."""
