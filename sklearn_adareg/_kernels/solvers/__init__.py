"""Batch solvers for quadratics and losses with an L1 penalty."""
