"""Loops over vectors and small dense matrices: factors, eigenvalues, inverses; LAPACK."""
