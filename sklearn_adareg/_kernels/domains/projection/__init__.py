"""Solvers of projections in the norm of H⁻¹: active sets, the secular equation."""
