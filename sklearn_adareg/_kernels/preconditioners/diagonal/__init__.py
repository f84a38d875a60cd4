"""Structures diag and iso: coordinates that move by themselves."""
