"""Potentials: the map from eigenvalues of G to those of H."""
