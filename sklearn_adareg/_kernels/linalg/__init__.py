"""Loops over vectors and small dense matrices: factors, eigenvalues; LAPACK."""
